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

// These constants are how long nothing must have changed before another reconciliation by Velero could help.
const (
	wakeStartDelay      = 2 * time.Minute  // a backup that left the queue starts within seconds
	wakeFinalizerDelay  = 5 * time.Minute  // without operations a backup is finalized within seconds
	wakeOperationsDelay = 30 * time.Minute // with operations its contents are downloaded and stored again
)

// wakeAction touches the job, so that Velero reconciles it again.
type wakeAction struct{ baseApplicable }

func (wakeAction) actionKind() Kind { return Wake }

func (wakeAction) annotationPrefix() annotationPrefix { return wokenPrefix }

func (wakeAction) eventReason() string { return "Woken" }

func (wakeAction) doneText(*Plan) string { return "woke it" }

func (wakeAction) observeEffect(ctx context.Context, x *execution, late bool) error {
	if _, err := x.readSubject(ctx); err != nil {
		return err
	}
	switch from := x.plan.FromPhase; {
	case x.outcome.Phase != from:
		return x.endExecution(StateSettled, "Velero continued: it is %s now", x.outcome.Phase)
	case late:
		return x.endExecution(
			StateNoEffect,
			"it is still %s after %s: Velero did not pick it up",
			from,
			human.Duration(x.engine.options.ObserveFor),
		)
	}
	return nil
}

// fillPlan touches a backup that Velero does not reconcile by itself. The controllers look at a backup that is ready
// to start only when it changes, and not at their start (backup_controller.go SetupWithManager); the backup finalizer
// looks at every change, and after errors at ever longer intervals. A restore's finalizer waits for claims and hooks,
// where waking does nothing, so a restore is never woken.
func (wakeAction) fillPlan(e *Evidence, w *Plan) bool {
	j := e.Job
	finalizing := j.Phase == velero.PhaseFinalizing || j.Phase == velero.PhaseFinalizingPartiallyFailed
	starting := j.Phase == velero.PhaseReadyToStart
	needed := wakeFinalizerDelay
	if j.Operations.Attempted > 0 || e.countMoverVolumes() > 0 {
		needed = wakeOperationsDelay
	}
	switch {
	case j.Deleting,
		j.Kind != job.Backup,
		!starting && !finalizing,
		e.Server.Visible && len(e.Server.Pods) == 0,
		len(e.malformedBlockers()) > 0:
		return false
	case !e.hasController(), finalizing && (e.LocationMissing || e.isLogFresh()), starting && e.isInWorkQueue():
		return false // Velero does not look at it, cannot do more, or is working on it
	case starting && e.quietDuration() < wakeStartDelay, finalizing && e.quietDuration() < needed:
		return false
	}
	w.Title = "wake it"
	w.targets = []*unstructured.Unstructured{e.Object}
	w.EvidenceText = fmt.Sprintf(
		"it has been %s for %s; Velero looks at it again when it changes",
		j.Phase,
		human.Duration(e.quietDuration()),
	)
	w.Will = []string{
		"add annotations that say who woke it and when, only if nothing has changed it since; the phase stays as it is",
	}
	if starting {
		w.Afterwards = append(w.Afterwards, "Velero's server starts the backup within seconds, if it can")
	} else {
		w.Afterwards = append(
			w.Afterwards,
			"Velero's finalizer tries again at once, instead of after its growing delay of up to 17 minutes",
		)
	}
	if o := e.findJobOwner(); o == ownerUnknown {
		w.WillNot = append(w.WillNot, "help if no Velero server is running; veltui cannot tell: "+serverUncheckedReason(e))
	}
	w.applyRefusal(checkMayPatch(e))
	return true
}

// hasController reports whether the server runs a controller for the job's phase.
func (e *Evidence) hasController() bool { return diagnosis.IsHandled(e.Job, e.buildWorld()) }

// isInWorkQueue reports whether a backup that is ready to start was changed since the server's start, which put it
// into the work queue, while every worker is busy with another backup (backup_controller.go SetupWithManager,
// MaxConcurrentReconciles, since 1.18).
func (e *Evidence) isInWorkQueue() bool {
	if len(e.Server.Pods) == 0 || e.Server.Flags.ConcurrentBackups <= 0 {
		return false
	}
	busy := 0
	for _, o := range e.OtherJobs {
		if o.Kind == job.Backup && o.Phase == velero.PhaseInProgress {
			busy++
		}
	}
	started := e.Server.Pods[len(e.Server.Pods)-1].StartedAt
	return busy >= e.Server.Flags.ConcurrentBackups && job.LastWritten(e.Object).After(started)
}
