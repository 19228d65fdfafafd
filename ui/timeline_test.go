package ui

import (
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/velero/veleroapi"
	"github.com/veltui/veltui/watch"
)

// TestTimelineKeepsWhatWasSeen while the job's screen was closed, and after it
// is opened again.
func TestTimelineKeepsWhatWasSeen(t *testing.T) {
	look := func(prev *job.Job, phase veleroapi.BackupPhase, version string, back time.Duration) *job.Job {
		b := &veleroapi.Backup{
			ObjectMeta: meta("storied", time.Hour),
			Status:     veleroapi.BackupStatus{Phase: phase, StartTimestamp: ptr(ago(time.Hour))},
		}
		b.ResourceVersion, b.UID = version, types.UID("uid-storied")
		return job.Fold(prev, job.Observation{Backup: b, ObservedAt: noon.Add(-back)})
	}
	first := look(nil, veleroapi.BackupPhaseInProgress, "1", 30*time.Minute)
	m := screen(t, snapshotOf(first), 120, 40)
	press(t, m, "enter", "7", "esc")
	snap := snapshotOf(look(first, veleroapi.BackupPhaseFinalizing, "2", 20*time.Minute))
	snap.Events = []watch.ClusterEvent{
		{
			At:     noon.Add(-10 * time.Minute),
			Until:  noon.Add(-8 * time.Minute),
			Kind:   watch.EventOutage,
			Reason: "connection refused",
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
