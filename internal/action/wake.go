package action

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/veltui/veltui/internal/diagnosis"
	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/velero"
)

// How long nothing must have changed before another look of Velero's could help.
const (
	wakeStart               = 2 * time.Minute  // a backup that left the queue starts within seconds
	wakeFinalizer           = 5 * time.Minute  // without operations a backup is finalized within seconds
	wakeFinalizerOperations = 30 * time.Minute // with them its contents are downloaded and stored again
)

// wakeAction touches the job, so that Velero looks at it again.
type wakeAction struct{ baseApplicable }

func (wakeAction) name() Name { return Wake }

func (wakeAction) marks() marks { return woken }

func (wakeAction) event() string { return "Woken" }

func (wakeAction) did(*Plan) string { return "woke it" }

func (wakeAction) observe(ctx context.Context, x *execution, late bool) error {
	if _, err := x.readSubject(ctx); err != nil {
		return err
	}
	switch from := x.plan.From; {
	case x.out.Phase != from:
		return x.stop(Settled, "Velero continued: it is %s now", x.out.Phase)
	case late:
		return x.stop(
			NoEffect,
			"it is still %s after %s: Velero did not pick it up",
			from,
			human.Duration(x.f.o.Observe),
		)
	}
	return nil
}

// fill: the controllers look at a backup that is ready to start only when it is changed, and not at their start
// (backup_controller.go SetupWithManager); the backup finalizer looks at every change, and after errors in ever longer
// intervals. A restore's finalizer waits for claims and hooks, where waking does nothing, so a restore is never woken.
func (wakeAction) fill(e *Evidence, w *Plan) bool {
	j := e.Job
	finalizing := j.Phase == velero.PhaseFinalizing || j.Phase == velero.PhaseFinalizingPartly
	starting := j.Phase == velero.PhaseReadyToStart
	needed := wakeFinalizer
	if j.Operations.Attempted > 0 || e.uploads() > 0 {
		needed = wakeFinalizerOperations
	}
	switch {
	case j.Deleting,
		j.Kind != job.Backup,
		!starting && !finalizing,
		e.Server.Visible && len(e.Server.Pods) == 0,
		len(e.blinding()) > 0:
		return false
	case !e.handled(), finalizing && (e.LocationGone || e.logMoves()), starting && e.inWorkQueue():
		return false // Velero does not look at it, cannot do more than it does, or is at it
	case starting && e.quiet() < wakeStart, finalizing && e.quiet() < needed:
		return false
	}
	w.Title = "wake it"
	w.targets = []*unstructured.Unstructured{e.Object}
	w.Why = fmt.Sprintf(
		"it has been %s for %s; Velero looks at it again when it changes",
		j.Phase,
		human.Duration(e.quiet()),
	)
	w.Will = []string{
		"add annotations that say who woke it and when, only if nothing has changed it since; the phase stays as it is",
	}
	if starting {
		w.Then = append(w.Then, "Velero's server starts the backup within seconds, if it can")
	} else {
		w.Then = append(
			w.Then,
			"Velero's finalizer tries again at once, instead of after its growing delay of up to 17 minutes",
		)
	}
	if o := e.owner(); o == ownerUnknown {
		w.WillNot = append(w.WillNot, "help if no Velero server is running; veltui cannot tell: "+unseen(e))
	}
	w.refuse(mayPatch(e))
	return true
}

// handled reports whether the server runs a controller for the job's phase.
func (e *Evidence) handled() bool { return diagnosis.Handled(e.Job, e.world()) }

// inWorkQueue reports whether a backup that is ready to start was changed since the
// server's start, which put it into the work queue, and every worker has another
// (backup_controller.go SetupWithManager, MaxConcurrentReconciles, since 1.18).
func (e *Evidence) inWorkQueue() bool {
	if len(e.Server.Pods) == 0 || e.Server.Flags.ConcurrentBackups <= 0 {
		return false
	}
	busy := 0
	for _, o := range e.Others {
		if o.Kind == job.Backup && o.Phase == velero.PhaseInProgress {
			busy++
		}
	}
	started := e.Server.Pods[len(e.Server.Pods)-1].StartedAt
	return busy >= e.Server.Flags.ConcurrentBackups && job.LastWritten(e.Object).After(started)
}
