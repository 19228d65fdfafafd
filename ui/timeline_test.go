package ui

import (
	"strings"
	"testing"
	"time"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/watch"
)

// TestTimelineKeepsWhatWasSeen while the job's screen was closed, and after it
// is opened again.
func TestTimelineKeepsWhatWasSeen(t *testing.T) {
	look := func(prev *job.Job, phase velerov1.BackupPhase, version string, back time.Duration) *job.Job {
		b := &velerov1.Backup{
			ObjectMeta: meta("storied", time.Hour),
			Status:     velerov1.BackupStatus{Phase: phase, StartTimestamp: ptr(ago(time.Hour))},
		}
		b.ResourceVersion, b.UID = version, types.UID("uid-storied")
		return job.Next(prev, job.Input{Backup: b, At: noon.Add(-back)})
	}
	first := look(nil, velerov1.BackupPhaseInProgress, "1", 30*time.Minute)
	m := screen(t, snapshotOf(first), 120, 40)
	press(t, m, "enter", "7", "esc")
	snap := snapshotOf(look(first, velerov1.BackupPhaseFinalizing, "2", 20*time.Minute))
	snap.Seen = []watch.Seen{
		{
			At:    noon.Add(-10 * time.Minute),
			Until: noon.Add(-8 * time.Minute),
			What:  watch.SeenOutage,
			Why:   "connection refused",
		},
	}
	show(m, snap)
	for range 2 {
		press(t, m, "enter", "7")
		frame := plain(checkFrame(t, m))
		for _, words := range []string{"phase InProgress -> Finalizing", "no longer reached the API server: connection refused", "all was live again, after 2m"} {
			if !strings.Contains(frame, words) {
				t.Errorf("%q is not on the page:\n%s", words, frame)
			}
		}
		if got := copied(
			press(t, m, "y"),
			m,
		); len(got) != 1 || strings.Contains(got[0], "\n") ||
			!strings.Contains(m.notice, "one event") {
			t.Errorf("y copied %q and said %q", got, m.notice)
		}
		if got := copied(
			press(t, m, "Y"),
			m,
		); len(got) != 1 || !strings.Contains(got[0], "phase InProgress -> Finalizing") ||
			strings.Contains(got[0], "\x1b") {
			t.Errorf("Y copied %q", got)
		}
		press(t, m, "esc")
	}
}
