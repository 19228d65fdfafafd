package velero

import (
	"path"
	"slices"
	"time"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// HookState is how far the hooks of one container are.
type HookState string

const (
	HookOver   HookState = "over"   // run, or given up
	HookRuns   HookState = "runs"   // the log shows it, or its container came up a moment ago
	HookMayRun HookState = "mayRun" // its container may still come up
	HookNever  HookState = "never"  // its container cannot come up, or does not exist
)

// RestoreHook stands for the hooks that a restore runs in one container of a restored pod.
type RestoreHook struct {
	Pod       string // NAMESPACE/NAME
	Container string
	Created   time.Time
	Waits     time.Duration // how long Velero waits for the pod's containers, zero if without limit
	State     HookState
	// Blocked is why they never run, such as ImagePullBackOff, empty where State is another.
	Blocked string
}

const (
	// hookMargin is added to time-outs of hooks before they count as passed.
	hookMargin = 5 * time.Minute
	// defaultExecTimeout is what a hook gets that names none (pkg/podexec/pod_command_executor.go defaultTimeout).
	defaultExecTimeout = 30 * time.Second
)

// The annotations by which a pod asks a restore to run a command in it (internal/hook/item_hook_handler.go).
const (
	hookCommand   = "post.hook.restore.velero.io/command"
	hookContainer = "post.hook.restore.velero.io/container"
	hookWait      = "post.hook.restore.velero.io/wait-timeout"
	hookExec      = "post.hook.restore.velero.io/exec-timeout"
	hookReady     = "post.hook.restore.velero.io/wait-for-ready"
)

// RestoreHooks are the hooks that a restore runs in the pods that it restored, as Velero lists them: what a
// pod's annotations ask for, else what the restore's spec asks for in it (internal/hook/item_hook_handler.go
// GroupRestoreExecHooks, 1.14 to 1.18.3), with names as the API server sent them. logged is the hook that the
// server's log shows at work, in the clock of now.
func RestoreHooks(r *velerov1.Restore, pods []corev1.Pod, logged LoggedHook, now time.Time) []RestoreHook {
	var found []RestoreHook
	for i := range pods {
		found = append(found, podHooks(&pods[i], execHooks(r, &pods[i]), logged, now)...)
	}
	return found
}

// Repairable reports whether a person can make a hook run that never does: a container that the pod lacks stays away.
func (h *RestoreHook) Repairable() bool { return h.Blocked != noSuchContainer }

// WaitsForEver is a hook that Velero waits for without limit and that never runs, nil if there is none, or if another
// one runs meanwhile. From 1.14 to 1.18.2 the finalizer waits for all hooks without limit; since 1.18.3 the server's
// --resource-timeout bounds it (restore_finalizer_controller.go WaitRestoreExecHook, Velero issues 9744 and 9749).
func WaitsForEver(hooks []RestoreHook, v Version) *RestoreHook {
	runs := slices.ContainsFunc(hooks, func(h RestoreHook) bool { return h.State == HookRuns })
	if runs || !v.within(Version{1, 14, 0}, Version{1, 18, 3}) {
		return nil
	}
	for i := range hooks {
		if h := &hooks[i]; h.State == HookNever && h.Waits == 0 {
			return h
		}
	}
	return nil
}

// execHook is one command, with its container's name filled in.
type execHook struct {
	container   string
	waits, exec time.Duration
	ready       bool
}

func execHooks(r *velerov1.Restore, p *corev1.Pod) []execHook {
	if len(p.Spec.Containers) == 0 {
		return nil
	}
	first := p.Spec.Containers[0].Name
	if p.Annotations[hookCommand] != "" {
		waits, _ := time.ParseDuration(p.Annotations[hookWait])
		exec, _ := time.ParseDuration(p.Annotations[hookExec])
		h := execHook{
			container: p.Annotations[hookContainer],
			waits:     waits,
			exec:      exec,
			ready:     p.Annotations[hookReady] == "true",
		}
		if h.container == "" {
			h.container = first
		}
		return []execHook{h}
	}
	var found []execHook
	for i := range r.Spec.Hooks.Resources {
		if !hooksApply(&r.Spec.Hooks.Resources[i], p) {
			continue
		}
		for _, hook := range r.Spec.Hooks.Resources[i].PostHooks {
			if hook.Exec == nil {
				continue
			}
			h := execHook{
				container: hook.Exec.Container,
				waits:     hook.Exec.WaitTimeout.Duration,
				exec:      hook.Exec.ExecTimeout.Duration,
			}
			h.ready = hook.Exec.WaitForReady != nil && *hook.Exec.WaitForReady
			if h.container == "" {
				h.container = first
			}
			found = append(found, h)
		}
	}
	return found
}

// hooksApply reports whether hooks of the spec are for a pod (GetRestoreHooksFromSpec,
// ResourceHookSelector.applicableTo).
func hooksApply(spec *velerov1.RestoreResourceHookSpec, p *corev1.Pod) bool {
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

// podHooks are the hooks of one pod by container. They wait together, for as long as the most patient one, and run one
// after the other (wait_exec_hook_handler.go HandleHooks, maxHookWait).
func podHooks(p *corev1.Pod, hooks []execHook, logged LoggedHook, now time.Time) []RestoreHook {
	waits, exec := time.Duration(0), time.Duration(0)
	patient := false
	for _, h := range hooks {
		waits, patient = max(waits, h.waits), patient || h.waits <= 0
		switch { // ExecutePodCommand: without a limit below zero
		case h.exec < 0:
			h.exec = Endless
		case h.exec == 0:
			h.exec = defaultExecTimeout
		}
		exec = min(exec+min(h.exec, Endless), Endless)
	}
	if patient {
		waits = 0
	}
	var found []RestoreHook
	for _, h := range hooks {
		if slices.ContainsFunc(found, func(f RestoreHook) bool { return f.Container == h.container }) {
			continue
		}
		ready := slices.ContainsFunc(hooks, func(o execHook) bool { return o.container == h.container && o.ready })
		f := RestoreHook{
			Pod:       p.Namespace + "/" + p.Name,
			Container: h.container,
			Created:   p.CreationTimestamp.Time,
			Waits:     waits,
		}
		f.State, f.Blocked = hookState(p, h.container, ready, exec, now)
		inContainer := logged.Container == "" || logged.Container == h.container
		if logged.Pod == p.Namespace+"/"+p.Name && inContainer &&
			now.Sub(logged.At) <= max(logged.Timeout, defaultExecTimeout)+hookMargin {
			f.State, f.Blocked = HookRuns, ""
		}
		switch {
		case f.Blocked == noSuchContainer:
			f.Waits = 0 // nothing notes that Velero leaves it out, whatever it would wait
		case waits > 0 && f.State != HookRuns && now.Sub(f.Created) > waits+hookMargin:
			f.State, f.Blocked = HookOver, ""
		}
		found = append(found, f)
	}
	return found
}

const noSuchContainer = "the pod has no such container"

// hookState is how far the hooks of a container are, which may take as long as exec once it is up: Velero needs to see
// it up once (isContainerUp). A container that crashes again and again does come up.
func hookState(
	p *corev1.Pod,
	container string,
	ready bool,
	exec time.Duration,
	now time.Time,
) (_ HookState, blocked string) {
	switch {
	case !slices.ContainsFunc(p.Spec.Containers, func(c corev1.Container) bool { return c.Name == container }):
		return HookNever, noSuchContainer
	case p.Status.Phase == corev1.PodSucceeded, p.Status.Phase == corev1.PodFailed:
		return HookOver, "" // Velero gives them up
	}
	old := now.Sub(p.CreationTimestamp.Time) >= HookHangs
	s := statusOf(p, container)
	switch {
	case s != nil && s.State.Running != nil && ready && !s.Ready:
		return HookMayRun, ""
	case s != nil && s.State.Running != nil && now.Sub(s.State.Running.StartedAt.Time) > exec+hookMargin:
		return HookOver, ""
	case s != nil && s.State.Running != nil:
		return HookRuns, ""
	}
	for i := range p.Status.InitContainerStatuses {
		if why := neverStarts(&p.Status.InitContainerStatuses[i]); why != "" && old {
			return HookNever, why
		}
	}
	if s != nil && old {
		if why := neverStarts(s); why != "" {
			return HookNever, why
		}
	}
	return HookMayRun, ""
}

// neverStarts is why a container that never ran cannot start until a person mends it.
func neverStarts(s *corev1.ContainerStatus) string {
	if s.State.Waiting == nil || s.RestartCount > 0 || s.LastTerminationState.Terminated != nil ||
		!cannotStart[s.State.Waiting.Reason] {
		return ""
	}
	return s.State.Waiting.Reason
}

var cannotStart = map[string]bool{
	"ImagePullBackOff": true, "ErrImagePull": true, "ErrImageNeverPull": true, "InvalidImageName": true,
	"CreateContainerConfigError": true, "CreateContainerError": true,
}
