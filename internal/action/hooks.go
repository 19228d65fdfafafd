package action

import (
	"strings"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/veltui/veltui/internal/diagnosis"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/sanitize"
	"github.com/veltui/veltui/internal/velero"
)

// hungHook is a hook that a restore waits for without limit and that never runs, nil if there is none, or if that is
// not certain.
func (e *Evidence) hungHook() *velero.RestoreHook {
	return diagnosis.HungHook(e.Job, e.world())
}

// mayHaveHooks: only a look at a restore's pods rules out hooks.
func (e *Evidence) mayHaveHooks() bool {
	r, ok := e.Job.Object.(*velerov1.Restore)
	return ok && (len(r.Spec.Hooks.Resources) > 0 || len(e.Hooks) > 0 || !e.HooksSeen)
}

// hookAdvice is what to do about a restore that a server finalizes: it waits for its volumes, its hooks and its store,
// and only what may hold it now is named.
func hookAdvice(e *Evidence) string {
	v, known := e.version()
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
	case e.hungHook() != nil:
		h := e.hungHook()
		return hookRepair(h) + " Restarting the server ends the wait too, but then the hooks never run."
	}
	return location + "Wait, and check the pods whose hooks it may wait for. Restarting the server ends the wait, " +
		"but then the hooks never run."
}

// hookRepair is what lets a hook run that never does: of a container that does not exist nothing does.
func hookRepair(h *velero.RestoreHook) string {
	what := "the hook of pod " + h.Pod + " in container " + h.Container +
		" cannot run (" + h.Blocked + "), and Velero waits for it without limit."
	if h.Repairable() {
		return "Get pod " + h.Pod + " to start: " + what
	}
	return "Nothing makes it go on by itself: " + what
}

func (g *gathering) hooks() {
	j := g.e.Job
	if j.Kind != job.Restore || j.Terminal() || j.Stage == job.StageQueued {
		return
	}
	pods := corev1.PodList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PodList"}}
	err := g.client.List(
		g.ctx,
		&pods,
		"",
		metav1.ListOptions{LabelSelector: labeled(velerov1.RestoreNameLabel, j.Name)},
	)
	if !g.seen("listing restored pods", err, nil) {
		return
	}
	g.e.HooksSeen = true
	restore, ok := j.Object.(*velerov1.Restore)
	if !ok {
		return
	}
	g.e.Hooks = velero.RestoreHooks(restore, pods.Items, g.e.Log.Hook, g.e.At)
	for i := range g.e.Hooks {
		h := &g.e.Hooks[i]
		h.Pod, h.Container = sanitize.String(h.Pod), sanitize.String(h.Container)
	}
}
