package ui

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/veltui/veltui/internal/assess"
	"github.com/veltui/veltui/internal/diagnosis"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/velero"
	"github.com/veltui/veltui/ui/fetch"
)

// lookPace is how long the next look at an open job waits.
const lookPace = 30 * time.Second

// watcher looks closer, and its looks end when the test says so.
type watcher struct {
	seen       assess.CloserLook
	err, ended error
}

func (w *watcher) Look(ctx context.Context, j *job.Job) (assess.CloserLook, error) {
	if w.err != nil {
		return assess.CloserLook{}, w.err
	}
	w.ended = ctx.Err()
	return w.seen, w.ended
}

// lookFixture is a dashboard with a restore that is silent, one that moves, and
// a clock that the test moves.
type lookFixture struct {
	*Model
	now  time.Time
	asks int
	last tea.Cmd
}

func newLookFixture(t *testing.T, w *watcher) *lookFixture {
	f := &lookFixture{now: noon}
	f.Model = screen(t, stageful(), 120, 40, func(o *Options) {
		fake(o).looker = w
		o.Clock = func() time.Time { return f.now }
	})
	f.currentCluster.closerLooks.lastLook.ResetForKey(nil) // the first look is never taken
	f.currentCluster.closerLooks.scheduler = assess.LookScheduler{}
	start := f.currentCluster.jobDependencies.Start
	f.currentCluster.jobDependencies.Start = func(work func(context.Context) tea.Msg) (tea.Cmd, context.CancelFunc) {
		f.asks++
		cmd, cancel := start(work)
		f.last = cmd
		return cmd, cancel
	}
	return f
}

// after lets time pass and judges again, as the slow clock does.
func (f *lookFixture) after(d time.Duration) {
	f.now = f.now.Add(d)
	f.Update(reassessedMsg{f.currentCluster, f.currentCluster.estimates.AssessSnapshot(f.currentCluster.assessment.Source, f.now)})
}

// answer ends the look that is under way.
func (f *lookFixture) answer(t *testing.T) {
	t.Helper()
	taken, ok := f.last().(fetch.Message)
	if !ok {
		t.Fatal("the look brought nothing")
	}
	f.Update(taken)
	f.after(0)
}

// beforehand ends the look that the list takes at what does not move, and lets time
// pass until the next is due.
func (f *lookFixture) beforehand(t *testing.T) {
	t.Helper()
	if f.asks != 1 {
		t.Fatalf("%d looks at what does not move", f.asks)
	}
	f.answer(t)
	f.asks, f.now = 0, f.now.Add(lookPace)
}

func (f *lookFixture) verdict(t *testing.T, name string) diagnosis.Verdict {
	t.Helper()
	for _, j := range f.currentCluster.assessment.Snapshot.Jobs {
		if j.Name == name {
			return f.currentCluster.assessment.AssessJob(j).Verdict
		}
	}
	t.Fatalf("there is no %s", name)
	return diagnosis.Verdict{}
}

// TestOpenJobIsLookedAtCloser: at once, again every half minute, never twice at
// a time, and what is found is said on the page and in the row.
func TestOpenJobIsLookedAtCloser(t *testing.T) {
	w := &watcher{seen: assess.CloserLook{At: noon, Evidence: diagnosis.JobEvidence{
		LogChecked: true,
		ServerLog: velero.JobLog{
			GaveUp: velero.LogLine{
				At:   noon.Add(-40 * time.Minute),
				Text: "Error updating restore's status from InProgress to Finalizing",
			},
			LostPhase: "Finalizing",
		},
	},
		Facts: []diagnosis.Fact{{Supports: true, Text: "you may patch it, as tester", Source: "rbac"}}}}
	f := newLookFixture(t, w)
	before := f.verdict(t, "crm-old")
	press(t, f.Model, "/", "c", "r", "m", "-", "o", "l", "d", "enter")
	f.beforehand(t)
	press(t, f.Model, "enter")
	f.after(time.Second)
	f.after(time.Minute)
	if f.asks != 1 {
		t.Fatalf("%d looks while one is under way", f.asks)
	}
	f.answer(t)
	if got := f.verdict(t, "crm-old"); got.Reason != diagnosis.LostPatch || got.Summary() == before.Summary() {
		t.Errorf("after the look: %s: %s", got.Reason, got.Summary())
	}
	frame := plain(checkFrame(t, f.Model))
	for _, words := range []string{"could not save its status", "you may patch it, as tester"} {
		if !strings.Contains(frame, words) {
			t.Errorf("the page does not say %q:\n%s", words, frame)
		}
	}
	looked := f.asks
	f.after(lookPace - 2*time.Second)
	f.after(time.Second)
	if f.asks > looked+1 {
		t.Errorf("%d looks within half a minute", f.asks-looked)
	}
	f.after(lookPace)
	if f.asks != looked+1 {
		t.Errorf("%d looks after half a minute, want 1 more", f.asks-looked)
	}
	last := f.last
	press(t, f.Model, "esc")
	if taken, _ := last().(fetch.Message); !errors.Is(w.ended, context.Canceled) {
		t.Errorf("the screen is closed, and its look goes on: %v", w.ended)
	} else if _, changed := taken.Deliver(); changed {
		t.Error("the screen is closed, and its look is taken")
	}
	if frame := plain(checkFrame(t, f.Model)); !strings.Contains(frame, "could not save its status") {
		t.Errorf("the row does not say what the page said:\n%s", frame)
	}
	f.after(10 * time.Minute)
	if got := f.verdict(t, "crm-old"); strings.Contains(got.Summary(), "could not save") {
		t.Error("a look of ten minutes ago is still used")
	}
}

// TestLooksAreNotWasted on a job that moves, on none, and while the API server is
// away.
func TestLooksAreNotWasted(t *testing.T) {
	f := newLookFixture(t, &watcher{})
	press(t, f.Model, "/", "s", "h", "o", "p", "-", "r", "enter")
	f.beforehand(t)
	press(t, f.Model, "enter")
	f.after(0)
	if f.findJobScreen() == nil || f.asks != 0 {
		t.Errorf("%d looks at a job that moves", f.asks)
	}
}

// TestLookThatFails says so beside the verdict, and takes nothing from what was
// found before.
func TestLookThatFails(t *testing.T) {
	w := &watcher{err: errors.New("restores.velero.io is forbidden")}
	f := newLookFixture(t, w)
	press(t, f.Model, "/", "c", "r", "m", "-", "o", "l", "d", "enter")
	f.beforehand(t)
	press(t, f.Model, "enter")
	f.answer(t)
	if frame := plain(checkFrame(t, f.Model)); !strings.Contains(frame, "could not look closer: restores.velero.io") {
		t.Errorf("it is not said:\n%s", frame)
	}
	w.err, w.seen = nil, assess.CloserLook{At: noon, Evidence: diagnosis.JobEvidence{
		LogChecked: true,
		ServerLog: velero.JobLog{
			GaveUp:    velero.LogLine{At: noon.Add(-40 * time.Minute), Text: "gave up"},
			LostPhase: "Finalizing",
		},
	}}
	f.after(lookPace)
	f.answer(t)
	w.err = errors.New("no answer in time")
	f.after(lookPace)
	f.answer(t)
	if got := f.verdict(t, "crm-old"); got.Reason != diagnosis.LostPatch {
		t.Errorf("a look that failed took what was found: %s", got.Reason)
	}
	press(t, f.Model, "r")
	if !f.currentCluster.closerLooks.lastLook.IsPending() {
		t.Error("r does not look again at once")
	}
}
