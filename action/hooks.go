package action

import (
	"time"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/veltui/veltui/internal/sanitize"
	"github.com/veltui/veltui/job"
	"github.com/veltui/veltui/velero"
)

// Hook is a pod that asks a restore to run a command in it.
type Hook struct {
	Pod       string // NAMESPACE/NAME
	Container string
	Created   time.Time
	Waits     time.Duration // how long Velero waits for the container, zero if without limit
	// Blocked is why the container cannot start, such as ImagePullBackOff, empty if it runs or may yet start.
	Blocked string
}

const hookBlocked = 30 * time.Minute // how long a container must have been unable to start

// hungHook is a hook that a restore waits for without limit and that cannot run, nil if there is none, or if that is
// not certain. From 1.14 to 1.18.2 the finalizer waits for all hooks without limit; since 1.18.3 the server's
// --resource-timeout bounds it (restore_finalizer_controller.go WaitRestoreExecHook, Velero issues 9744 and 9749).
func (e *Evidence) hungHook() *Hook {
	v, known := e.version()
	if !known || v.Before(velero.Version{1, 14, 0}) || !v.Before(velero.Version{1, 18, 3}) || e.HooksSeen != Yes {
		return nil
	}
	for i := range e.Hooks {
		if h := &e.Hooks[i]; h.Blocked != "" && h.Waits == 0 && e.At.Sub(h.Created) >= hookBlocked {
			return h
		}
	}
	return nil
}

// mayHaveHooks: only a look at a restore's pods rules out hooks.
func (e *Evidence) mayHaveHooks() bool {
	r, ok := e.Job.Object.(*velerov1.Restore)
	return ok && (len(r.Spec.Hooks.Resources) > 0 || len(e.Hooks) > 0 || e.HooksSeen != Yes)
}

func hookAdvice(e *Evidence) string {
	if !e.mayHaveHooks() {
		return "Wait: Velero waits for volume claims to be bound."
	}
	v, known := e.version()
	switch {
	case known && !v.Before(velero.Version{1, 18, 3}):
		return "Wait: Velero waits for volume claims to be bound, and for hooks until the server's --resource-timeout."
	case e.hungHook() != nil:
		return "Get pod " + e.hungHook().Pod + " to start: its hook cannot run (" + e.hungHook().Blocked + "), and Velero waits for it without limit. Restarting the server ends the wait too, but then the hooks never run."
	}
	return "Wait, and check the pods whose hooks it may wait for. Restarting the server ends the wait, but then the hooks never run."
}

// The annotations by which a pod asks a restore to run a command in it (internal/hook/item_hook_handler.go).
const (
	hookCommand   = "post.hook.restore.velero.io/command"
	hookContainer = "post.hook.restore.velero.io/container"
	hookWait      = "post.hook.restore.velero.io/wait-timeout"
)

func (g *gathering) hooks() {
	j := g.e.Job
	if j.Kind != job.Restore || j.Terminal() || j.Stage == job.StageQueued {
		return
	}
	pods := corev1.PodList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PodList"}}
	err := g.client.List(g.ctx, &pods, "", metav1.ListOptions{LabelSelector: labeled(velerov1.RestoreNameLabel, j.Name)})
	if !g.seen("listing restored pods", err, nil) {
		return
	}
	g.e.HooksSeen = Yes
	for i := range pods.Items {
		if h, asked := hookOf(&pods.Items[i]); asked {
			g.e.Hooks = append(g.e.Hooks, h)
		}
	}
}

func hookOf(p *corev1.Pod) (Hook, bool) {
	if p.Annotations[hookCommand] == "" {
		return Hook{}, false
	}
	h := Hook{Pod: sanitize.String(p.Namespace + "/" + p.Name), Container: sanitize.String(p.Annotations[hookContainer]), Created: p.CreationTimestamp.Time}
	if d, err := time.ParseDuration(p.Annotations[hookWait]); err == nil {
		h.Waits = max(0, d)
	}
	for _, c := range p.Status.ContainerStatuses {
		first := p.Annotations[hookContainer] == "" && len(p.Spec.Containers) > 0 && c.Name == p.Spec.Containers[0].Name
		if w := c.State.Waiting; w != nil && (first || c.Name == p.Annotations[hookContainer]) && cannotStart[w.Reason] {
			h.Blocked = w.Reason
		}
	}
	return h, true
}

var cannotStart = map[string]bool{
	"ImagePullBackOff": true, "ErrImagePull": true, "ErrImageNeverPull": true, "InvalidImageName": true,
	"CreateContainerConfigError": true, "CreateContainerError": true, "CrashLoopBackOff": true,
}
