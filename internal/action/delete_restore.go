package action

import (
	"context"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/veltui/veltui/internal/diagnosis"
	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/velero"
)

// deleteRestoreAction deletes a Restore as `velero restore delete` does (pkg/cmd/cli/restore/delete.go; 1.14 to
// 1.18.3), if it is as it was seen. A finalizer holds it until Velero has deleted its files.
type deleteRestoreAction struct{ baseApplicable }

func (deleteRestoreAction) name() Name { return DeleteRestore }

func (deleteRestoreAction) verb() verb { return deletes }

func (deleteRestoreAction) restsOnAges(e *Evidence) bool { return endedByPerson(e.Object) }

func (deleteRestoreAction) refusedTitle() string { return "delete nothing" }

func (deleteRestoreAction) marks() marks { return deleted }

func (deleteRestoreAction) event() string { return "Deleted" }

func (deleteRestoreAction) did(*Plan) string { return "deleted it" }

func (deleteRestoreAction) endedByVelero() bool { return true }

// gather also finds the restore's files. Velero leaves them if the backup is gone, and keeps the Restore
// while the location is unavailable (pkg/controller/restore_controller.go deleteExternalResources; 1.14 to 1.18.3).
func (deleteRestoreAction) gather(g *gathering) {
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

func (deleteRestoreAction) fill(e *Evidence, p *Plan) bool {
	p.Title, p.targets = "delete restore "+p.Name, []*unstructured.Unstructured{e.Object}
	p.Will = []string{"delete restore " + p.Name + ", only if nothing has changed it since"}
	p.WillNot = []string{"delete what it restored: the objects and their data stay"}
	p.Then = []string{"Velero deletes its files (log, results, lists) from the object store"}
	p.Commands = veleroCommand(p, "restore", "delete", p.Name, "--confirm")
	return true
}

// observe waits until the restore is gone.
func (deleteRestoreAction) observe(ctx context.Context, x *execution, late bool) error {
	o, err := x.once(ctx, x.subject)
	switch {
	case isGone(err) || err == nil && o.GetUID() != x.subject.GetUID():
		return x.stop(Settled, "the %s is deleted", x.plan.Kind.Word())
	case err != nil:
		return err
	}
	x.showPhase(o)
	if late {
		return x.stop(
			NoEffect,
			"it is marked for deletion, and held by %s until a Velero server has deleted its files; see veltui check",
			human.List(o.GetFinalizers(), 3),
		)
	}
	return nil
}
