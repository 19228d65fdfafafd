package ui

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/veltui/veltui/internal/action"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/ui/dialog"
)

// On a terminal that cannot show what would be done nothing can be confirmed.
func TestNothingIsConfirmedUnread(t *testing.T) {
	b := newBench(t, 39, 11)
	b.open()
	b.confirm()
	if b.fake.done() != "" {
		t.Error("confirmed on a terminal that cannot show what would be done")
	}
	b.shows("too small")
}

// dialogFrames are the dialog's states.
var dialogFrames = []struct {
	name string
	show func(t *testing.T, b *bench)
}{
	{"looking", func(_ *testing.T, b *bench) {
		b.fake.slow = true
		b.keys("f")
		b.pass(12 * time.Second)
		b.reaches(dialog.StageGathering)
	}},
	{"unseen", func(_ *testing.T, b *bench) {
		b.fake.unseen = errors.New("gave up after 6 attempts: reading restore crm-old: " + errLost.Error())
		b.keys("f")
		b.reaches(dialog.StageEvidenceFailed)
	}},
	{"plan", func(_ *testing.T, b *bench) { b.open() }},
	{"plan-end", func(_ *testing.T, b *bench) { b.open(); b.keys("end") }},
	{"orphan", func(_ *testing.T, b *bench) {
		b.fake.change = []func(*action.Evidence){func(e *action.Evidence) {
			e.Server.Pods[0].StartedAt, e.Server.Pods[0].Created = noon.Add(-10*time.Minute), noon.Add(-10*time.Minute)
			e.Artifacts, e.StoredCounts, e.QueuedBackups = e.Artifacts[:1], nil, []string{"nightly-erp", "nightly-web"}
			e.Artifacts[0].Presence = job.Presence{State: job.Absent}
		}}
		b.open()
	}},
	{"refused", func(_ *testing.T, b *bench) {
		b.fake.change = []func(*action.Evidence){func(e *action.Evidence) {
			e.Artifacts, e.StoredCounts = e.Artifacts[:1], nil
			e.Artifacts[0].Presence = job.Presence{Unchecked: "the storage location is not reachable"}
		}}
		b.open()
	}},
	{"typing", func(_ *testing.T, b *bench) { b.open(); b.keys("enter"); b.write("prod-east/crm-o") }},
	{"wrong", func(_ *testing.T, b *bench) { b.open(); b.keys("enter", "c", "r", "m", "enter") }},
	{"retrying", func(_ *testing.T, b *bench) { b.retrying() }},
	{"asked", func(_ *testing.T, b *bench) { b.retrying(); b.keys("esc") }},
	{"stopping", func(_ *testing.T, b *bench) { b.retrying(); b.keys("esc", "esc") }},
	{"observing", func(_ *testing.T, b *bench) {
		b.retrying()
		b.tells(0, action.Progress{Step: action.StepObserve})
		b.tells(0, action.Progress{Step: action.StepObserve, Phase: "FinalizingPartiallyFailed"})
		b.sees("so far: ")
		b.pass(9 * time.Second)
	}},
	{"settled", func(t *testing.T, b *bench) {
		b.retrying()
		b.ends(settled(b.plan(t)))
	}},
	{"reverted", func(t *testing.T, b *bench) {
		b.retrying()
		b.ends(action.Outcome{State: action.StateReverted, Sent: action.Landed, Plan: b.plan(t), Phase: "InProgress",
			Message: "somebody wrote InProgress over it: a Velero server still worked on it"})
	}},
	{"doubtful", func(_ *testing.T, b *bench) { b.retrying(); b.ends(dialog.ErrStopped) }},
	{"changed", func(t *testing.T, b *bench) {
		b.retrying()
		b.ends(
			action.Outcome{
				State:   action.StateChanged,
				Sent:    action.NotSent,
				Phase:   "InProgress",
				Message: "it was changed since the plan was shown; nothing was written",
				Plan:    b.plan(t, func(e *action.Evidence) { e.MayPatch, e.MayPatchReason = action.No, "no rule" }),
			},
		)
	}},
	{"summary", func(_ *testing.T, b *bench) {
		b.keys("m", "down", "m", "down", "m", "f")
		b.reaches(dialog.StageChoosing)
		b.confirm()
		b.reaches(dialog.StageResult)
		b.keys("enter")
		b.sees("2 of 3: ")
		b.reaches(dialog.StageChoosing)
		b.keys("n")
		b.sees("3 of 3: ")
		b.reaches(dialog.StageChoosing)
		b.keys("esc")
		b.reaches(dialog.StageSummary)
	}},
}

// plan is what the evidence about crm-old asks for.
func (b *bench) plan(t *testing.T, change ...func(*action.Evidence)) action.Plan {
	return draftOf(gatheredFor(t, b.fake.jobs["crm-old"], change...), action.Request{Context: "prod-east"})
}

func TestGoldenDialogFrames(t *testing.T) {
	for _, frame := range dialogFrames {
		t.Run(frame.name, func(t *testing.T) {
			t.Parallel() // it waits for the deaf moments to pass
			b := newBench(t, 80, 24)
			frame.show(t, b)
			for _, size := range [][2]int{{80, 24}, {120, 40}, {40, 12}} {
				b.Update(tea.WindowSizeMsg{Width: size[0], Height: size[1]})
				if frame.name == "plan-end" {
					b.keys("end")
				}
				golden(t, fmt.Sprintf("finalize-%s-%dx%d", frame.name, size[0], size[1]), plain(checkFrame(t, b.Model)))
			}
		})
	}
	t.Run("ascii", func(t *testing.T) {
		b := newBench(t, 80, 24, func(o *Options) { o.ASCII, o.NoColor = true, true })
		b.open()
		if i := strings.IndexFunc(b.frame(), func(r rune) bool { return r > 126 }); i >= 0 {
			t.Errorf("an ASCII frame holds %q", b.frame()[i:i+4])
		}
		golden(t, "finalize-plan-ascii-80x24", plain(checkFrame(t, b.Model)))
	})
	t.Run("marked", func(t *testing.T) {
		b := newBench(t, 80, 24)
		press(t, b.Model, "m", "down", "m")
		golden(t, "marked-80x24", plain(checkFrame(t, b.Model)))
	})
	t.Run("help", func(t *testing.T) {
		b := newBench(t, 80, 60)
		b.open()
		press(t, b.Model, "?")
		golden(t, "finalize-help-80x60", plain(checkFrame(t, b.Model)))
	})
}
