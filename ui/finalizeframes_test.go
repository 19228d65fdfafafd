package ui

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/veltui/veltui/finalize"
	"github.com/veltui/veltui/job"
)

// Every stage on every size fits, and where nothing can be read nothing can be
// confirmed.
func TestDialogFitsEverywhere(t *testing.T) {
	for _, frame := range dialogFrames {
		b := newBench(t, 80, 24)
		frame.show(t, b)
		for width := 10; width < 140; width += 13 {
			for _, height := range []int{2, 3, 5, 8, 12, 17, 24, 50} {
				b.Update(tea.WindowSizeMsg{Width: width, Height: height})
				checkFrame(t, b.Model)
				for _, k := range []string{"down", "end", "pgup", "home"} {
					press(t, b.Model, k)
					checkFrame(t, b.Model)
				}
				if t.Failed() {
					t.Fatalf("%s at %dx%d:\n%s", frame.name, width, height, b.frame())
				}
			}
		}
	}
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
	{"looking", func(t *testing.T, b *bench) { press(t, b.Model, "f"); b.now = b.now.Add(12 * time.Second); b.listen() }},
	{"unseen", func(t *testing.T, b *bench) {
		press(t, b.Model, "f")
		b.Update(evidenceGathered{number: b.dialog.number, err: errors.New("gave up after 6 attempts: reading restore crm-old: " + errLost.Error())})
		b.listen()
	}},
	{"plan", func(t *testing.T, b *bench) { b.planOf("crm-old") }},
	{"plan-end", func(t *testing.T, b *bench) { b.planOf("crm-old"); press(t, b.Model, "end") }},
	{"orphan", func(t *testing.T, b *bench) {
		press(t, b.Model, "down", "down", "down")
		b.planOf("nightly-crm", func(e *finalize.Evidence) {
			e.Server.Running[0].StartedAt = noon.Add(-30 * time.Second)
			e.At = noon.Add(3 * time.Minute)
			e.Artifacts, e.Counts, e.Queued = e.Artifacts[:1], nil, []string{"nightly-erp", "nightly-web"}
			e.Artifacts[0].Presence = job.Presence{State: job.Absent}
		})
	}},
	{"refused", func(t *testing.T, b *bench) {
		b.planOf("crm-old", func(e *finalize.Evidence) {
			e.Artifacts, e.Counts = e.Artifacts[:1], nil
			e.Artifacts[0].Presence = job.Presence{Why: "the storage location is not reachable"}
		})
	}},
	{"typing", func(t *testing.T, b *bench) {
		b.planOf("crm-old")
		press(t, b.Model, "enter")
		for _, r := range "prod-east/crm-o" {
			press(t, b.Model, string(r))
		}
	}},
	{"wrong", func(t *testing.T, b *bench) {
		b.planOf("crm-old")
		press(t, b.Model, "enter", "c", "r", "m", "enter")
	}},
	{"retrying", func(t *testing.T, b *bench) { b.retrying() }},
	{"asked", func(t *testing.T, b *bench) { b.retrying(); press(t, b.Model, "esc") }},
	{"stopping", func(t *testing.T, b *bench) { b.retrying(); press(t, b.Model, "esc", "esc") }},
	{"observing", func(t *testing.T, b *bench) {
		b.retrying()
		b.dialog.run.tell(finalize.Progress{Step: finalize.StepObserve}, b.now)
		b.dialog.run.tell(finalize.Progress{Step: finalize.StepObserve, Phase: "FinalizingPartiallyFailed"}, b.now)
		b.now = b.now.Add(9 * time.Second)
		b.Update(runProgressed{b.dialog.number, b.dialog.run.read()})
	}},
	{"settled", func(t *testing.T, b *bench) {
		b.retrying()
		b.end(settled(*b.dialog.choice().plan), nil)
	}},
	{"reverted", func(t *testing.T, b *bench) {
		b.retrying()
		b.end(finalize.Outcome{State: finalize.Reverted, Sent: finalize.Landed, Plan: *b.dialog.choice().plan, Phase: "InProgress",
			Message: "somebody wrote InProgress over it: a Velero server still worked on it"}, nil)
	}},
	{"doubtful", func(t *testing.T, b *bench) {
		b.retrying()
		b.end(finalize.Outcome{State: finalize.Unfinished, Sent: finalize.Doubtful, Plan: *b.dialog.choice().plan, Phase: "InProgress",
			Message: "patch: you stopped it; the patch was sent, and whether it was carried out is not known"}, errStopped)
	}},
	{"changed", func(t *testing.T, b *bench) {
		b.retrying()
		now := draftOf(evidenceOf(t, b.fake.jobs["crm-old"], func(e *finalize.Evidence) { e.MayPatch, e.MayPatchWhy = finalize.No, "no rule" }), finalize.Request{})
		b.end(finalize.Outcome{State: finalize.Changed, Sent: finalize.NotSent, Plan: now, Phase: "InProgress",
			Message: "it was changed since the plan was shown; nothing was written"}, nil)
	}},
	{"summary", func(t *testing.T, b *bench) {
		press(t, b.Model, "m", "down", "m", "down", "m", "f")
		b.dialog.ends = []string{"InProgress -> Failed: settled: it is Failed and stayed so for 70s", "skipped", ""}
		b.dialog.enter(stageSummary)
		b.listen()
	}},
}

func TestGoldenDialogFrames(t *testing.T) {
	for _, frame := range dialogFrames {
		for _, size := range [][2]int{{80, 24}, {120, 40}, {40, 12}} {
			name := fmt.Sprintf("finalize-%s-%dx%d", frame.name, size[0], size[1])
			t.Run(name, func(t *testing.T) {
				b := newBench(t, size[0], size[1])
				frame.show(t, b)
				golden(t, name, plain(checkFrame(t, b.Model)))
			})
		}
	}
	t.Run("ascii", func(t *testing.T) {
		for _, frame := range dialogFrames {
			b := newBench(t, 80, 24, func(o *Options) { o.ASCII, o.NoColor = true, true })
			frame.show(t, b)
			if i := strings.IndexFunc(b.frame(), func(r rune) bool { return r > 126 }); i >= 0 {
				t.Errorf("%s: an ASCII frame holds %q", frame.name, b.frame()[i:i+4])
			}
		}
		b := newBench(t, 80, 24, func(o *Options) { o.ASCII, o.NoColor = true, true })
		b.planOf("crm-old")
		golden(t, "finalize-plan-ascii-80x24", plain(checkFrame(t, b.Model)))
	})
	t.Run("marked", func(t *testing.T) {
		b := newBench(t, 80, 24)
		press(t, b.Model, "m", "down", "m")
		golden(t, "marked-80x24", plain(checkFrame(t, b.Model)))
	})
	t.Run("help", func(t *testing.T) {
		b := newBench(t, 80, 60)
		b.planOf("crm-old")
		press(t, b.Model, "?")
		golden(t, "finalize-help-80x60", plain(checkFrame(t, b.Model)))
	})
}
