package diagnosis

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"

	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/job"
)

// defaultHookTimeout is what a hook gets that names none
// (pkg/podexec/pod_command_executor.go, defaultTimeout).
const defaultHookTimeout = 30 * time.Second

// longestHooks bounds what is added up: a time-out of years says nothing.
const longestHooks = 1000 * time.Hour

// seeHook: a hook that the log shows to have begun and whose time is not over; else one
// that the spec asks for. In how many pods that runs, and which pods ask for a hook by
// annotation, is not known.
func (a *assessment) seeHook() sight {
	h := a.evidence().Log.Hook
	ran, limit := a.loggedAgo(h.At), cmp.Or(h.Timeout, defaultHookTimeout)
	if !h.At.IsZero() && ran <= limit+waitMargin {
		which, where, whose := strings.TrimPrefix(h.Phase+"-hook", "-"), "container "+h.Container, "in container "+human.Shorten(h.Container, 60)
		if h.Pod != "" {
			where, whose = where+" of pod "+h.Pod, "of pod "+human.Shorten(h.Pod, 60)
		}
		return sight{shown: true, since: h.At.Add(-a.env.ServerAhead), limit: limit, what: "the " + which + " in " + where,
			note: func() {
				a.Supports(SourceLog, h.At, "the server runs the %s %s in %s", which, human.Shorten(h.Name, 60), where)
			},
			summary: fmt.Sprintf("; %s %s runs for %s of %s", which, whose, human.Duration(ran), human.Duration(limit))}
	}
	if hook := backupHookTimeout(a.j); hook > defaultHookTimeout && a.quiet() < hook+waitMargin {
		return sight{shown: true, what: "the hooks of its spec",
			note: func() {
				a.Supports(SourceWatch, a.Now, "its spec asks for a hook that may take %s", human.Duration(hook))
			},
			summary: fmt.Sprintf(", quiet for %s; a hook may take %s", a.quietWords(), human.Duration(hook))}
	}
	return sight{note: func() {
		a.Doubts(SourceWatch, a.Now, "veltui has not checked whether a pod asks for a hook by annotation")
	}}
}

// hungHook is a hook that cannot run and that Velero waits for without limit.
func (a *assessment) hungHook() (Verdict, bool) {
	e := a.evidence()
	if e.HungHook == "" {
		return Verdict{}, false
	}
	fact := a.Supports(SourcePod, a.Now, "pod %s asks for a hook and cannot start: %s", e.HungHook, e.HungHookWhy)
	return a.stuck(ByRefusal(fact), HookHung, "Get pod "+e.HungHook+" to start: its hook then runs, and all goes on. A restart of the server ends the restore with its hooks never run.",
		"finalizing for %s; waits without limit for the hook of pod %s, which cannot start (%s)", a.quietWords(), human.Shorten(e.HungHook, 60), e.HungHookWhy), true
}

// backupHookTimeout is how long the hooks of a backup's spec may take for one pod,
// zero if it asks for none. Velero runs a pod's hooks one after the other, each
// with its own time-out, and the count stands still meanwhile (pkg/backup/backup.go,
// handleItemBlockPreHooks and handleItemBlockPostHooks; internal/hook/
// item_hook_handler.go, HandleHooks).
func backupHookTimeout(j *job.Job) time.Duration {
	b, ok := j.Object.(*velerov1.Backup)
	if !ok {
		return 0
	}
	longest := time.Duration(0)
	for _, post := range []bool{false, true} {
		sum := time.Duration(0)
		for _, r := range b.Spec.Hooks.Resources {
			hooks := r.PreHooks
			if post {
				hooks = r.PostHooks
			}
			for _, h := range hooks {
				if h.Exec != nil && h.Exec.Timeout.Duration > 0 {
					sum = min(sum+h.Exec.Timeout.Duration, longestHooks)
				} else if h.Exec != nil {
					sum += defaultHookTimeout
				}
			}
		}
		longest = max(longest, sum)
	}
	return longest
}
