package action

import (
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/veltui/veltui/internal/diagnosis"
	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/velero"
	"github.com/veltui/veltui/internal/velero/veleroapi"
)

// deleteRestoreAction deletes a Restore as `velero restore delete` does (pkg/cmd/cli/restore/delete.go; 1.14 to
// 1.18.3), if the Restore is unchanged. A finalizer keeps it until Velero has deleted its files.
type deleteRestoreAction struct{ baseApplicable }

func (deleteRestoreAction) actionKind() Kind { return DeleteRestore }

func (deleteRestoreAction) requestVerb() requestVerb { return verbDelete }

func (deleteRestoreAction) restsOnAges(e *Evidence) bool { return isEndedByPerson(e.Object) }

func (deleteRestoreAction) refusedTitle() string { return "delete nothing" }

func (deleteRestoreAction) annotationPrefix() annotationPrefix { return deletedPrefix }

func (deleteRestoreAction) eventReason() string { return "Deleted" }

func (deleteRestoreAction) doneText(*Plan) string { return "deleted it" }

func (deleteRestoreAction) waitsForVelero() bool { return true }

// gatherFacts also reads the location of the restore's files. Velero leaves the files if the backup no longer exists,
// and keeps the Restore while the location is unavailable (pkg/controller/restore_controller.go
// deleteExternalResources; 1.14 to 1.18.3).
func (deleteRestoreAction) gatherFacts(g *gatherer) {
	var r veleroapi.Restore
	if !g.checkDeletable(&r) {
		return
	}
	g.runQueries(
		func() { g.checkRequestAccess("delete", job.Restore) },
		g.noteServers,
		func() { g.noteRestoreFiles(&r) },
	)
}

// noteRestoreFiles notes what happens to a restore's files.
func (g *gatherer) noteRestoreFiles(r *veleroapi.Restore) {
	var b veleroapi.Backup
	l, why := &g.evidence.proposal.facts, ""
	if err := g.readTyped(jobGVK(job.Backup), r.Spec.BackupName, &b); isServerNotFound(err) || r.Spec.BackupName == "" {
		l.AddDoubt(diagnosis.SourceAPI, g.evidence.Now, "its backup no longer exists: its files stay in the object store")
	} else if g.checkAnswer("reading the backup", err, &why) {
		g.fetchNamedLocation(b.Spec.StorageLocation)
		there := g.evidence.Location != nil && g.evidence.Location.Phase == velero.LocationAvailable
		l.AddFact(
			there,
			diagnosis.SourceAPI,
			g.evidence.Now,
			"its files are in storage location %s, which is %savailable",
			b.Spec.StorageLocation,
			map[bool]string{false: "not known to be "}[there],
		)
	}
}

func (deleteRestoreAction) fillPlan(e *Evidence, p *Plan) bool {
	p.Title, p.targets = "delete restore "+p.Name, []*unstructured.Unstructured{e.Object}
	p.Will = []string{"delete restore " + p.Name + ", only if nothing has changed it since"}
	p.WillNot = []string{"delete what it restored: the objects and their data stay"}
	p.Afterwards = []string{"Velero deletes its files (log, results, lists) from the object store"}
	p.Commands = buildVeleroCommand(p, "restore", "delete", p.Name, "--confirm")
	return true
}

// observeEffect waits until the restore is deleted.
func (deleteRestoreAction) observeEffect(ctx context.Context, x *execution, late bool) error {
	o, err := x.readOnce(ctx, x.observedObject)
	switch {
	case isServerNotFound(err) || err == nil && o.GetUID() != x.observedObject.GetUID():
		return x.endExecution(StateSettled, "the %s is deleted", x.plan.Kind.Noun())
	case err != nil:
		return err
	}
	x.reportPhase(o)
	if late {
		return x.endExecution(
			StateNoEffect,
			"it is marked for deletion, and held by %s until a Velero server has deleted its files; see veltui check",
			human.JoinNames(o.GetFinalizers(), 3),
		)
	}
	return nil
}
