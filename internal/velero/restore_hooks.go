package velero

import (
	"path"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/veltui/veltui/internal/velero/veleroapi"
)

// HookState is how far the hooks of a container are.
type HookState string

const (
	HookEnded     HookState = "over"   // run, or given up
	HookRunning   HookState = "runs"   // the log shows it, or its container has just started
	HookPending   HookState = "mayRun" // its container may still start
	HookNeverRuns HookState = "never"  // its container cannot start, or does not exist
)

// RestoreHook stands for all hooks that a restore runs in one container of a restored pod.
type RestoreHook struct {
	Pod       string // NAMESPACE/NAME
	Container string
	Created   time.Time
	Timeout   time.Duration // how long Velero waits for the pod's containers, zero if without limit
	State     HookState
	// BlockedReason is why the hooks never run, such as ImagePullBackOff, empty in other states.
	BlockedReason string
}

const (
	// hookMargin is added to time-outs of hooks before they count as passed.
	hookMargin = 5 * time.Minute
	// defaultExecTimeout is the time-out of a hook that gives none (pkg/podexec/pod_command_executor.go defaultTimeout).
	defaultExecTimeout = 30 * time.Second
)

// The annotations with which a pod asks a restore to run a command in it (internal/hook/item_hook_handler.go).
const (
	hookCommandAnnotation      = "post.hook.restore.velero.io/command"
	hookContainerAnnotation    = "post.hook.restore.velero.io/container"
	hookWaitTimeoutAnnotation  = "post.hook.restore.velero.io/wait-timeout"
	hookExecTimeoutAnnotation  = "post.hook.restore.velero.io/exec-timeout"
	hookWaitForReadyAnnotation = "post.hook.restore.velero.io/wait-for-ready"
)

// ListRestoreHooks returns the hooks that a restore runs in the pods that it restored, as Velero lists them: the hooks
// in a pod's annotations, else those that the restore's spec has for the pod (internal/hook/item_hook_handler.go
// GroupRestoreExecHooks, 1.14 to 1.18.3), with names as the API server sent them. logged is the hook that runs by the
// server's log, in the clock of now.
func ListRestoreHooks(r *veleroapi.Restore, pods []corev1.Pod, logged LoggedHook, now time.Time) []RestoreHook {
	var found []RestoreHook
	for i := range pods {
		found = append(found, podHooks(&pods[i], execHooks(r, &pods[i]), logged, now)...)
	}
	return found
}

// IsRepairable reports whether a person can make a hook run that never runs by itself: a container that the pod lacks
// stays missing.
func (h *RestoreHook) IsRepairable() bool { return h.BlockedReason != noSuchContainer }

// FindEndlessHook returns a hook that Velero waits for without a limit and that never runs, nil if there is none, or
// if another hook runs meanwhile. From 1.14 to 1.18.2 the finalizer waits for all hooks without a limit; since 1.18.3
// the server's --resource-timeout bounds the wait (restore_finalizer_controller.go WaitRestoreExecHook, Velero issues
// 9744 and 9749).
func FindEndlessHook(hooks []RestoreHook, v Version) *RestoreHook {
	runs := slices.ContainsFunc(hooks, func(h RestoreHook) bool { return h.State == HookRunning })
	if runs || !v.isWithin(Version{1, 14, 0}, Version{1, 18, 3}) {
		return nil
	}
	for i := range hooks {
		if h := &hooks[i]; h.State == HookNeverRuns && h.Timeout == 0 {
			return h
		}
	}
	return nil
}

// execHook is a command, with its container's name filled in.
type execHook struct {
	container                string
	waitTimeout, execTimeout time.Duration
	waitForReady             bool
}

func execHooks(r *veleroapi.Restore, p *corev1.Pod) []execHook {
	if len(p.Spec.Containers) == 0 {
		return nil
	}
	first := p.Spec.Containers[0].Name
	if p.Annotations[hookCommandAnnotation] != "" {
		waits, _ := time.ParseDuration(p.Annotations[hookWaitTimeoutAnnotation])
		exec, _ := time.ParseDuration(p.Annotations[hookExecTimeoutAnnotation])
		h := execHook{
			container:    p.Annotations[hookContainerAnnotation],
			waitTimeout:  waits,
			execTimeout:  exec,
			waitForReady: p.Annotations[hookWaitForReadyAnnotation] == "true",
		}
		if h.container == "" {
			h.container = first
		}
		return []execHook{h}
	}
	var found []execHook
	for i := range r.Spec.Hooks.Resources {
		if !appliesToPod(&r.Spec.Hooks.Resources[i], p) {
			continue
		}
		for _, hook := range r.Spec.Hooks.Resources[i].PostHooks {
			if hook.Exec == nil {
				continue
			}
			h := execHook{
				container:   hook.Exec.Container,
				waitTimeout: hook.Exec.WaitTimeout.Duration,
				execTimeout: hook.Exec.ExecTimeout.Duration,
			}
			h.waitForReady = hook.Exec.WaitForReady != nil && *hook.Exec.WaitForReady
			if h.container == "" {
				h.container = first
			}
			found = append(found, h)
		}
	}
	return found
}

// appliesToPod reports whether hooks of the spec apply to a pod (GetRestoreHooksFromSpec,
// ResourceHookSelector.applicableTo).
func appliesToPod(spec *veleroapi.RestoreResourceHookSpec, p *corev1.Pod) bool {
	matches := func(pattern string) bool {
		ok, err := path.Match(pattern, p.Namespace)
		return err == nil && ok
	}
	if slices.ContainsFunc(spec.ExcludedNamespaces, matches) {
		return false
	}
	if len(spec.IncludedNamespaces) > 0 && !slices.ContainsFunc(spec.IncludedNamespaces, matches) {
		return false
	}
	if spec.LabelSelector == nil {
		return true
	}
	selector, err := metav1.LabelSelectorAsSelector(spec.LabelSelector)
	return err == nil && selector.Matches(labels.Set(p.Labels))
}

// podHooks returns the hooks of one pod by container. They wait together, for as long as the hook with the longest
// wait, and run one after the other (wait_exec_hook_handler.go HandleHooks, maxHookWait).
func podHooks(p *corev1.Pod, hooks []execHook, logged LoggedHook, now time.Time) []RestoreHook {
	waits, exec := time.Duration(0), time.Duration(0)
	patient := false
	for _, h := range hooks {
		waits, patient = max(waits, h.waitTimeout), patient || h.waitTimeout <= 0
		switch { // ExecutePodCommand: no limit if below zero
		case h.execTimeout < 0:
			h.execTimeout = Unlimited
		case h.execTimeout == 0:
			h.execTimeout = defaultExecTimeout
		}
		exec = min(exec+min(h.execTimeout, Unlimited), Unlimited)
	}
	if patient {
		waits = 0
	}
	var found []RestoreHook
	for _, h := range hooks {
		if slices.ContainsFunc(found, func(f RestoreHook) bool { return f.Container == h.container }) {
			continue
		}
		ready := slices.ContainsFunc(hooks, func(o execHook) bool { return o.container == h.container && o.waitForReady })
		f := RestoreHook{
			Pod:       p.Namespace + "/" + p.Name,
			Container: h.container,
			Created:   p.CreationTimestamp.Time,
			Timeout:   waits,
		}
		f.State, f.BlockedReason = hookState(p, h.container, ready, exec, now)
		inContainer := logged.Container == "" || logged.Container == h.container
		if logged.Pod == p.Namespace+"/"+p.Name && inContainer &&
			now.Sub(logged.At) <= max(logged.Timeout, defaultExecTimeout)+hookMargin {
			f.State, f.BlockedReason = HookRunning, ""
		}
		switch {
		case f.BlockedReason == noSuchContainer:
			f.Timeout = 0 // nothing notes that Velero leaves it out, whatever its time-out
		case waits > 0 && f.State != HookRunning && now.Sub(f.Created) > waits+hookMargin:
			f.State, f.BlockedReason = HookEnded, ""
		}
		found = append(found, f)
	}
	return found
}

const noSuchContainer = "the pod has no such container"

// hookState returns how far the hooks of a container are. They may take as long as exec once the container runs:
// Velero needs to see it running only once (isContainerUp). A container in a crash loop does run at times.
func hookState(
	p *corev1.Pod,
	container string,
	ready bool,
	exec time.Duration,
	now time.Time,
) (_ HookState, blocked string) {
	switch {
	case !slices.ContainsFunc(p.Spec.Containers, func(c corev1.Container) bool { return c.Name == container }):
		return HookNeverRuns, noSuchContainer
	case p.Status.Phase == corev1.PodSucceeded, p.Status.Phase == corev1.PodFailed:
		return HookEnded, "" // Velero gives up the hooks
	}
	old := now.Sub(p.CreationTimestamp.Time) >= HungHookAfter
	pod := ReadPodState(p)
	c := pod.FindContainer(container)
	switch {
	case c != nil && c.IsRunning && ready && !c.Ready:
		return HookPending, ""
	case c != nil && c.IsRunning && now.Sub(c.StartedAt) > exec+hookMargin:
		return HookEnded, ""
	case c != nil && c.IsRunning:
		return HookRunning, ""
	}
	for i := range pod.InitContainers {
		if why := startObstacle(&pod.InitContainers[i]); why != "" && old {
			return HookNeverRuns, why
		}
	}
	if c != nil && old {
		if why := startObstacle(c); why != "" {
			return HookNeverRuns, why
		}
	}
	return HookPending, ""
}

// startObstacle returns why a container that never ran cannot start until a person mends it, or an empty string.
func startObstacle(c *ContainerState) string {
	if c.Restarts > 0 || c.LastEnd != nil || !unstartableReasons[c.WaitingReason] {
		return ""
	}
	return c.WaitingReason
}

var unstartableReasons = map[string]bool{
	"ImagePullBackOff": true, "ErrImagePull": true, "ErrImageNeverPull": true, "InvalidImageName": true,
	"CreateContainerConfigError": true, "CreateContainerError": true,
}
