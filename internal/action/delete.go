package action

import (
	"strings"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/veltui/veltui/internal/diagnosis"
	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/sanitize"
	"github.com/veltui/veltui/internal/velero"
)

// DeletionOf is the action that deletes a backup or restore.
func DeletionOf(kind job.Kind) Name { return Name("delete-" + kind.Word()) }

// deletingRestore deletes a Restore as `velero restore delete` does (pkg/cmd/cli/restore/delete.go; 1.14 to 1.18.3),
// if it is as it was seen. A finalizer holds it until Velero has deleted its files.
func deletingRestore() definition {
	return definition{
		name:          DeleteRestore,
		gather:        gatherRestoreDeletion,
		fill:          fillRestoreDeletion,
		nothing:       "delete nothing",
		marks:         deleted,
		deletes:       true,
		removes:       true,
		observe:       observing(observeRestoreDeletion),
		endedByVelero: true,
		event:         "Deleted",
		did:           done("deleted it"),
		ages:          func(e *Evidence) bool { return endedByPerson(e.Object) },
	}
}

// deletable reads what is to be deleted, which must exist and have ended.
func (g *gathering) deletable(into any) bool {
	o, e := g.e.proposal, g.e
	kind, name, phase := job.Kind(e.Object.GetKind()), e.Object.GetName(), sanitize.String(phaseOf(e.Object))
	what := kind.Word() + "/" + name
	ended := velero.TerminalPhase(phase)
	if g.named(jobKind(kind), name, into, "") == nil {
		return false
	}
	o.ledger.Note(ended, diagnosis.SourceAPI, job.LastWritten(e.Object), "%s is %s", what, orNone(phase))
	switch {
	case e.Object.GetDeletionTimestamp() != nil:
		o.refuse(
			refuse(
				"A Velero server releases it once its storage location is available; see both with veltui check.",
				"%s is being deleted%s",
				what,
				human.Clause(", held by ", sanitize.String(strings.Join(e.Object.GetFinalizers(), ", "))),
			),
		)
	case !ended && phase != velero.PhaseDeleting:
		o.refuse(
			refuse(
				"Wait until it has ended: veltui wait "+what+"; what does not move: veltui explain "+what,
				"%s has not ended, and deleting it does not stop it",
				what,
			),
		)
	case runsOn(e.Object, e.At):
		o.refuse(
			refuse(
				"Try again once Velero no longer writes to it.",
				"somebody wrote the phase of %s, and Velero goes on with it",
				what,
			),
		)
	}
	return true
}

// gatherRestoreDeletion also finds the restore's files. Velero leaves them if the backup is gone, and keeps the Restore
// while the location is unavailable (pkg/controller/restore_controller.go deleteExternalResources; 1.14 to 1.18.3).
func gatherRestoreDeletion(g *gathering) {
	var r velerov1.Restore
	if !g.deletable(&r) {
		return
	}
	g.ask(func() { g.may("delete", job.Restore) }, g.servers, func() { g.restoreFiles(&r) })
}

// restoreFiles notes what becomes of a restore's files.
func (g *gathering) restoreFiles(r *velerov1.Restore) {
	var b velerov1.Backup
	l, why := &g.e.proposal.ledger, ""
	if err := g.get(jobKind(job.Backup), r.Spec.BackupName, &b); isGone(err) || r.Spec.BackupName == "" {
		l.Doubts(diagnosis.SourceAPI, g.e.At, "its backup no longer exists: its files stay in the object store")
	} else if g.seen("reading the backup", err, &why) {
		g.locationNamed(b.Spec.StorageLocation)
		there := g.e.Location != nil && g.e.Location.Phase == velero.LocationAvailable
		l.Note(
			there,
			diagnosis.SourceAPI,
			g.e.At,
			"its files are in storage location %s, which is %savailable",
			b.Spec.StorageLocation,
			map[bool]string{false: "not known to be "}[there],
		)
	}
}

func fillRestoreDeletion(e *Evidence, p *Plan) bool {
	p.Title, p.targets = "delete restore "+p.Name, []*unstructured.Unstructured{e.Object}
	p.Will = []string{"delete restore " + p.Name + ", only if nothing has changed it since"}
	p.WillNot = []string{"delete what it restored: the objects and their data stay"}
	p.Then = []string{"Velero deletes its files (log, results, lists) from the object store"}
	p.Commands = veleroCommand(p, "restore", "delete", p.Name, "--confirm")
	return true
}

// observeRestoreDeletion waits until the restore is gone.
func observeRestoreDeletion(x *execution, o *unstructured.Unstructured, late bool) error {
	if late {
		return x.stop(
			NoEffect,
			"it is marked for deletion, and held by %s until a Velero server has deleted its files; see veltui check",
			human.List(o.GetFinalizers(), 3),
		)
	}
	return nil
}
