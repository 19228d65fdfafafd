package narrate

import (
	"strings"
	"testing"
	"time"

	"github.com/veltui/veltui/internal/velero/veleroapi"
	"github.com/veltui/veltui/watch"
)

func texts(lines []Line) string {
	var all []string
	for _, l := range lines {
		all = append(all, l.Text)
	}
	return strings.Join(all, "|")
}

// What had ended before, what is read late, and what is not up to date is no news.
func TestNews(t *testing.T) {
	w := newWorld()
	w.ends("old", veleroapi.RestorePhaseFailed, 1)
	w.items("crm", 10, 1000)
	w.items("web", 10, 1000)
	var n NewsTracker
	syncing := w.assess()
	syncing.Snapshot.Sources[0].State = watch.SourceSyncing
	if got := n.CollectLines(syncing); len(got) != 0 {
		t.Errorf("while the cluster is read: %q", texts(got))
	}
	if got := n.CollectLines(w.assess()); len(got) != 0 {
		t.Errorf("at the start: %q", texts(got))
	}
	w.ends("read-late", veleroapi.RestorePhasePartiallyFailed, 1) // it ended at noon, as veltui began
	w.jobs["read-late"].Completed = noon.Add(-time.Minute)
	w.at = noon.Add(time.Minute)
	w.items("crm", 20, 1000)
	if got := n.CollectLines(w.assess()); len(got) != 0 {
		t.Errorf("while jobs run: %q", texts(got))
	}
	w.ends("crm", veleroapi.RestorePhaseCompleted, 0)
	w.health.State = watch.Stale
	if got := n.CollectLines(w.assess()); len(got) != 0 {
		t.Errorf("while the API server is away: %q", texts(got))
	}
	w.health.State = watch.Live
	got := n.CollectLines(w.assess())
	if len(got) != 1 || got[0].Priority != Normal || !strings.HasPrefix(got[0].Text, "restore crm: ") {
		t.Errorf("crm has ended: %q", texts(got))
	}
	w.ends("short", veleroapi.RestorePhaseFailed, 0) // nobody saw it run
	if got := n.CollectLines(
		w.assess(),
	); len(got) != 1 || got[0].Priority != Urgent ||
		!strings.HasPrefix(got[0].Text, "restore short: ") {
		t.Errorf("a short one failed: %q", texts(got))
	}
	w.ends("invalid", veleroapi.RestorePhaseFailedValidation, 0) // Velero dates no end of it
	w.jobs["invalid"].Completed, w.jobs["invalid"].LastChanged = time.Time{}, noon.Add(time.Minute)
	if got := n.CollectLines(
		w.assess(),
	); len(got) != 1 || got[0].Priority != Urgent ||
		!strings.HasPrefix(got[0].Text, "restore invalid: ") {
		t.Errorf("one was not valid: %q", texts(got))
	}
	// The server started anew after web had begun: nobody works on it.
	w.at = noon.Add(time.Hour)
	w.server.StartedAt = noon.Add(50 * time.Minute)
	if got := n.CollectLines(
		w.assess(),
	); len(got) != 1 || got[0].Priority != Urgent ||
		!strings.HasPrefix(got[0].Text, "restore web is orphaned: ") {
		t.Errorf("web is orphaned: %q", texts(got))
	}
	w.at = w.at.Add(time.Minute)
	if got := n.CollectLines(w.assess()); len(got) != 0 {
		t.Errorf("it still is: %q", texts(got))
	}
}

func TestCallsAreFew(t *testing.T) {
	var c Notifications
	expect := func(after time.Duration, want string, wantWait time.Duration) {
		t.Helper()
		if text, wait := c.NextNotification(noon.Add(after)); text != want || wait != wantWait {
			t.Errorf("after %s: %q, %s; want %q, %s", after, text, wait, want, wantWait)
		}
	}
	expect(0, "", 0)
	c.AddLines(Line{"1", "one", Normal})
	expect(0, "one", 0)
	expect(time.Second, "", 0)
	c.AddLines(Line{"2", "two", Normal}, Line{"3", "three is stuck", Urgent}, Line{"4", "four", Normal})
	expect(2*time.Second, "", 8*time.Second)
	c.AddLines(Line{"3", "three failed", Urgent})
	expect(-time.Hour, "", notificationGap) // the clock was put back
	expect(notificationGap, "three failed (and 2 more jobs)", 0)
	expect(time.Hour, "", 0)
}
