package action

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/veltui/veltui/internal/diagnosis"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/sanitize"
	"github.com/veltui/veltui/internal/velero"
	"github.com/veltui/veltui/internal/velero/veleroapi"
)

// findHungHook returns a hook that never runs and that a restore waits for without limit, nil if there is none or
// that is uncertain.
func (e *Evidence) findHungHook() *velero.RestoreHook {
	return diagnosis.FindHungHook(e.Job, e.buildWorld())
}

// mayHaveHooks reports whether a restore may have hooks: only reading its pods rules them out.
func (e *Evidence) mayHaveHooks() bool {
	r, ok := e.Job.Object.(*veleroapi.Restore)
	return ok && (len(r.Spec.Hooks.Resources) > 0 || len(e.RestoreHooks) > 0 || !e.HooksChecked)
}

// hookAdvice says what to do about a restore that a server finalizes: the restore waits for its volumes, its hooks
// and its storage location, and only what may hold it now is named.
func hookAdvice(e *Evidence) string {
	v, known := e.serverVersion()
	location := ""
	if l := e.Location; l != nil && l.Phase == velero.LocationUnavailable {
		location = "Get the storage location " + l.Name + " back: Velero reads the backup there, and tries again by itself. "
	}
	switch {
	case !e.mayHaveHooks() && location != "":
		return strings.TrimSpace(location)
	case !e.mayHaveHooks():
		return "Wait: Velero waits for volume claims to be bound."
	case known && !v.Before(velero.Version{1, 18, 3}):
		return location + "Wait: Velero waits for volume claims to be bound, and for hooks until the server's " +
			"--resource-timeout."
	case e.findHungHook() != nil:
		h := e.findHungHook()
		return hookRepairAdvice(h) + " Restarting the server ends the wait too, but then the hooks never run."
	}
	return location + "Wait, and check the pods whose hooks it may wait for. Restarting the server ends the wait, " +
		"but then the hooks never run."
}

// hookRepairAdvice says how a hook that never runs could run: a hook of a container that does not exist cannot.
func hookRepairAdvice(h *velero.RestoreHook) string {
	what := "the hook of pod " + h.Pod + " in container " + h.Container +
		" cannot run (" + h.BlockedReason + "), and Velero waits for it without limit."
	if h.IsRepairable() {
		return "Get pod " + h.Pod + " to start: " + what
	}
	return "Nothing makes it go on by itself: " + what
}

func (g *gatherer) fetchHooks() {
	j := g.evidence.Job
	if j.Kind != job.Restore || j.IsTerminal() || j.Stage == job.StageQueued {
		return
	}
	pods := corev1.PodList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PodList"}}
	err := g.client.List(
		g.ctx,
		&pods,
		"",
		metav1.ListOptions{LabelSelector: jobLabelSelector(veleroapi.RestoreNameLabel, j.Name)},
	)
	if !g.checkAnswer("listing restored pods", err, nil) {
		return
	}
	g.evidence.HooksChecked = true
	restore, ok := j.Object.(*veleroapi.Restore)
	if !ok {
		return
	}
	g.evidence.RestoreHooks = velero.ListRestoreHooks(restore, pods.Items, g.evidence.ServerLog.Hook, g.evidence.Now)
	for i := range g.evidence.RestoreHooks {
		h := &g.evidence.RestoreHooks[i]
		h.Pod, h.Container = sanitize.String(h.Pod), sanitize.String(h.Container)
	}
}
