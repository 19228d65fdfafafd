package finalize

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/veltui/veltui/job"
	"github.com/veltui/veltui/velero"
)

// How long nothing must have changed before another look of Velero's could help.
const (
	// wakeStart: a backup that left the queue starts within seconds.
	wakeStart = 2 * time.Minute
	// wakeFinalizer: finalizing takes seconds as a rule, but needs the store.
	wakeFinalizer = 5 * time.Minute
)

// Ways finds the ways out that the evidence speaks for, the gentlest first;
// none for a job that moves. Of the request the phase does not count. The rules
// are those of velero's controllers: what makes them look again
// (pkg/controller/*_controller.go, SetupWithManager), who hears spec.cancel
// (pkg/controller/data_upload_controller.go), and what a restart marks Failed
// (pkg/cmd/server/server.go).
func Ways(e Evidence, r Request) []Way {
	var found []Way
	for _, find := range []func(*Evidence, *Way) bool{wake, cancelVolumes, restart} {
		w := Way{Kind: e.Job.Kind, Namespace: e.Job.Namespace, Name: e.Job.Name, UID: e.Job.UID, Phase: phaseOf(e.Object),
			request: r, evidence: e}
		if !find(&e, &w) {
			continue
		}
		if v := checkReason(r); v.refusal != "" {
			w.Refusal, w.Advice = v.refusal, v.advice
		}
		found = append(found, w)
	}
	return found
}

// wake: the controllers look at a backup that is ready to start only when it is
// changed, and not at their start; the finalizers look at every change, and
// after errors in ever longer intervals.
func wake(e *Evidence, w *Way) bool {
	j := e.Job
	finalizing := j.Phase == velero.PhaseFinalizing || j.Phase == velero.PhaseFinalizingPartly
	starting := j.Phase == velero.PhaseReadyToStart && j.Kind == job.Backup
	switch {
	case j.Deleting, !starting && !finalizing, e.Server.Visible && !e.owner().live():
		return false
	case starting && e.quiet() < wakeStart, finalizing && e.quiet() < wakeFinalizer:
		return false
	}
	w.Action, w.Title = Wake, "wake it"
	w.targets = []*unstructured.Unstructured{e.Object}
	w.Why = fmt.Sprintf("it has been %s for %s; Velero looks at it again when it is changed", j.Phase, words(e.quiet()))
	w.Will = []string{"write annotations that say who woke it and when, only if nothing has changed it since; the phase stays as it is"}
	if starting {
		w.Then = append(w.Then, "Velero's server starts the backup within seconds, if it is able to")
	} else {
		w.Then = append(w.Then, "Velero's finalizer tries again at once, instead of after its growing delay of up to 17 minutes")
		if j.Kind == job.Restore {
			w.WillNot = append(w.WillNot, "help if the finalizer waits for a hook that never ends (Velero issues 9744, 9749): only a restart of the server does")
		}
	}
	if o := e.owner(); o == ownerUnknown {
		w.WillNot = append(w.WillNot, "help if no Velero server runs, which could not be found out: "+unseen(e))
	}
	w.Commands = []string{kubectl(w.request, j.Namespace, "annotate", resource(j.Kind), j.Name,
		AnnotationWokenAt+"="+e.At.UTC().Format(time.RFC3339), "--overwrite", "--resource-version="+e.Object.GetResourceVersion())}
	if v := mayPatch(e); v.refusal != "" {
		w.Refusal, w.Advice = v.refusal, v.advice
	}
	return true
}
