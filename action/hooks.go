package action

import (
	"time"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"

	"github.com/veltui/veltui/velero"
)

// Hook is a pod that asks a restore to run a command in it.
type Hook struct {
	// Pod is NAMESPACE/NAME.
	Pod       string
	Container string
	Created   time.Time
	// Waits is how long Velero waits for the container, zero if without limit.
	Waits time.Duration
	// Blocked is why the container cannot start, such as ImagePullBackOff,
	// empty if it runs or may yet start.
	Blocked string
}

// hookBlocked is how long a container must have been unable to start.
const hookBlocked = 30 * time.Minute

// hungHook is a hook that a restore waits for without limit and that cannot run,
// nil if there is none, or if that is not certain. From 1.14 to 1.18.2 the
// finalizer waits for all hooks without limit; since 1.18.3 the server's
// --resource-timeout bounds it (restore_finalizer_controller.go
// WaitRestoreExecHook, Velero issues 9744 and 9749).
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

// mayHaveHooks reports whether a restore may wait for hooks: only a look at its
// pods could tell that it does not.
func (e *Evidence) mayHaveHooks() bool {
	r, ok := e.Job.Object.(*velerov1.Restore)
	return ok && (len(r.Spec.Hooks.Resources) > 0 || len(e.Hooks) > 0 || e.HooksSeen != Yes)
}

// hookAdvice says what a restore that is finalized may wait for.
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
