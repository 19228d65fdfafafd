package diagnosis

import (
	"time"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"

	"github.com/veltui/veltui/job"
)

// defaultHookTimeout is what a hook gets that names none
// (pkg/podexec/pod_command_executor.go, defaultTimeout).
const defaultHookTimeout = 30 * time.Second

// backupHookTimeout is the longest that one hook of a backup's spec may take,
// zero if it asks for none. Velero runs hooks in the order of the items, so the
// count stands still meanwhile (pkg/backup/backup.go, handleItemBlockPreHooks and
// handleItemBlockPostHooks).
func backupHookTimeout(j *job.Job) time.Duration {
	b, ok := j.Object.(*velerov1.Backup)
	if !ok {
		return 0
	}
	longest := time.Duration(0)
	for _, r := range b.Spec.Hooks.Resources {
		for _, hooks := range [][]velerov1.BackupResourceHook{r.PreHooks, r.PostHooks} {
			for _, h := range hooks {
				if h.Exec != nil && h.Exec.Timeout.Duration > 0 {
					longest = max(longest, h.Exec.Timeout.Duration)
				} else if h.Exec != nil {
					longest = max(longest, defaultHookTimeout)
				}
			}
		}
	}
	return longest
}
