package dialog

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/veltui/veltui/internal/action"
	"github.com/veltui/veltui/ui/draw"
	"github.com/veltui/veltui/ui/fetch"
	"github.com/veltui/veltui/ui/keys"
)

// Whatever was typed before the dialog was seen answers nothing.
func TestDeafAtFirst(t *testing.T) {
	b := newBench(t)
	b.write("yd")
	b.keys("enter")
	b.at(StageChoosing)
	b.keys("enter")
	b.write("prod-east/crm-old")
	b.keys("enter", "d", "y", "q", "esc")
	if b.stage != StageChoosing || b.closed || b.fake.done() != "" || len(b.exitLines) != 0 || b.quit {
		t.Fatalf("a deaf dialog did something: %q", b.fake.done())
	}
	// Keys make the moment longer: the letters of a long name, typed at any usual pace, stay without effect.
	for range 40 {
		b.pass(150 * time.Millisecond)
		b.keys("d")
		b.awaitGrace()
	}
	if b.stage != StageChoosing || b.fake.done() != "" {
		t.Fatal("a name that was begun too early ran a command")
	}
	b.shows("Keys pressed before you could read this were ignored.")
	b.pass(graceQuiet - time.Millisecond)
	b.keys("d")
	b.pass(2 * time.Millisecond)
	b.awaitGrace()
	if !b.IgnoresKeys() {
		t.Error("a key did not make the deaf moment longer")
	}
	b.pass(graceQuiet)
	b.awaitGrace()
	b.keys("d")
	if b.stage != StageApplying {
		t.Errorf("the dialog is deaf for ever:\n%s", b.frame())
	}
}

func TestWrongNamesDoNothingAndSaySo(t *testing.T) {
	for _, typed := range []string{"", "y", "yes", "crm-old", "prod-east", "prod-east/crm-ol", "prod-east/crm-oldd", "PROD-EAST/crm-old", "prod-east/ crm-old", "dev/crm-old"} {
		b := newBench(t)
		b.open()
		b.keys("enter")
		b.write(typed)
		b.keys("enter")
		if b.stage != StageTyping || b.fake.done() != "" {
			t.Errorf("%q: stage %d, applied %q", typed, b.stage, b.fake.done())
		}
		b.shows("so nothing was done")
	}
}

// Letters that are keys elsewhere are letters in the field.
func TestTheFieldTakesEveryLetter(t *testing.T) {
	b := newBench(t)
	b.open()
	b.keys("enter")
	b.write("dyqwnr?fm/jkgG")
	if got := b.input.Value(); got != "dyqwnr?fm/jkgG" || b.fake.done() != "" || b.quit || b.fake.looked != 1 {
		t.Errorf("the field holds %q; applied %q", got, b.fake.done())
	}
	b.keys("esc")
	if b.stage != StageChoosing {
		t.Error("esc does not leave the field")
	}
}

// A paste fills the field, but confirms nothing, even with a line break in it.
func TestPasteDoesNotConfirm(t *testing.T) {
	b := newBench(t)
	b.open()
	b.HandlePaste(tea.PasteMsg{Content: "prod-east/crm-old\n"})
	b.shows("Press enter first, then paste.")
	b.keys("enter")
	b.HandlePaste(tea.PasteMsg{Content: "prod-east/crm-old\n"})
	if b.stage != StageTyping || b.fake.done() != "" || b.input.Value() != "prod-east/crm-old" {
		t.Fatalf("stage %d, field %q", b.stage, b.input.Value())
	}
	b.keys("enter")
	b.at(StageResult)
}

// After a terminal was made narrow and wide again the whole name is seen.
func TestFieldAfterAResize(t *testing.T) {
	b := newBench(t)
	b.open()
	b.keys("enter")
	b.draw(20, 12)
	b.write("prod-east/crm-old")
	b.draw(20, 12)
	b.shows(draw.UnicodeGlyphs.Cursor + " prod-east/crm-old")
}

func TestEscTwiceStops(t *testing.T) {
	b := newBench(t)
	begun := make(chan struct{})
	b.fake.set(func() { b.fake.apply = interrupted(begun) })
	b.open()
	b.confirm()
	<-begun
	b.until("it is being sent", func() bool { s := b.currentRun.lastState(); return s.hasReached(action.StepSend) })
	// An arrow key that a slow line tears apart.
	b.keys("esc", "[", "A")
	if b.isStopping || b.stopRequested {
		t.Fatal("a torn arrow key stops it")
	}
	b.keys("esc")
	b.shows("Stop? esc again stops it, q again stops it and quits; any other key goes on.")
	b.keys("esc")
	b.at(StageResult)
	b.shows("Stopped: nothing was written.", "You stopped it")
	if b.quit {
		t.Error("esc left the program")
	}
}

// q leaves only when it is known what was sent; ctrl+c asks for it at once.
func TestLeavingInMidRetry(t *testing.T) {
	for _, pressed := range [][]string{{"q", "q"}, {"esc", "q"}, {"ctrl+c"}} {
		b := newBench(t)
		begun := make(chan struct{})
		b.fake.set(func() { b.fake.apply = interrupted(begun) })
		b.open()
		b.confirm()
		<-begun
		b.keys(pressed[0])
		if b.quit {
			t.Fatalf("%q leaves before anything is known", pressed[0])
		}
		if len(pressed) > 1 {
			b.shows("Stop?")
		}
		b.keys(pressed[1:]...)
		b.until("the program ends", func() bool { return b.quit })
		b.shows("Stopped: nothing was written.") // it is drawn once more
		if said := b.ExitMessages(); len(said) != 1 || !strings.Contains(said[0], "unfinished") ||
			!strings.Contains(said[0], "not carried out") {
			t.Errorf("%q: said %q", pressed, said)
		}
	}
}

// The program's end waits for the application's last word.
func TestPartingWaitsForTheApplication(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	b := newBench(t)
	begun := make(chan struct{})
	b.fake.set(func() { b.fake.apply = interrupted(begun) })
	b.currentRun = newPlanRun(b.currentJob(), planOf("crm-old", nil), false, b.options)
	go b.currentRun.applyPlan(ctx)
	<-begun
	cancel(errors.New("hangup"))
	if said := b.ExitMessages(); len(said) != 1 || !strings.Contains(said[0], "hangup") ||
		!strings.Contains(said[0], "not carried out") {
		t.Errorf("said %q", said)
	}
	// One that the end overtook is never begun.
	late := newPlanRun(b.currentJob(), planOf("crm-old", nil), false, b.options)
	b.currentRun = late
	before := b.fake.done()
	if said := b.ExitMessages(); len(said) != 0 {
		t.Errorf("said %q", said)
	}
	if late.applyPlan(t.Context()); b.fake.done() != before {
		t.Error("an application began after the program's end")
	}
}

func TestLateAnswersAreDropped(t *testing.T) {
	b := newBench(t)
	late := <-b.msgs
	again := b.gatherEvidence()
	late.(fetch.Message).Deliver()
	if b.stage != StageGathering {
		t.Error("a late answer was taken for the present one")
	}
	b.begin(again)
	b.at(StageChoosing)
}

// What cannot be done can only be read, whatever the key.
func TestARefusalCannotBeApplied(t *testing.T) {
	b := newBench(t)
	b.fake.set(func() { b.fake.change = refuse })
	b.begin(b.gatherEvidence())
	b.open()
	b.shows("Refused ", "Helps ", "Options (w cycles)")
	for _, key := range []string{"enter", "d", "y"} {
		b.notice = ""
		b.keys(key)
		if b.notice == "" || b.stage != StageChoosing || b.fake.done() != "" {
			t.Fatalf("%s: notice %q, stage %d, applied %q", key, b.notice, b.stage, b.fake.done())
		}
	}
	b.keys("w")
	b.shows("Plan InProgress -> Failed", "Press enter to apply; you will be asked to type prod-east/crm-old")
	b.confirm()
	b.at(StageResult)
	if got := b.fake.done(); got != "InProgress -> Failed dry=false" {
		t.Errorf("applied %q", got)
	}
}

// A change leads to a new plan, whose name is typed anew.
func TestAChangeMakesANewPlan(t *testing.T) {
	b := newBench(t)
	fewer := func(e *action.Evidence) { e.StoredCounts.Errors = 2 }
	apply := func(_ context.Context, p action.Plan, _ bool, _ func(action.Progress)) (action.Outcome, error) {
		next := planOf("crm-old", fewer)
		if p.IsEquivalent(&next) {
			return settled(p), nil
		}
		return action.Outcome{State: action.StateChanged, Sent: action.NotSent, Plan: next, Message: "it was changed"}, nil
	}
	b.fake.set(func() { b.fake.apply = apply })
	b.open()
	b.confirm()
	b.at(StageResult)
	b.listen()
	b.shows("Now " + finishAnew + " (enter looks at this new plan)")
	b.keys("enter")
	b.listen()
	b.shows("The job has changed, so this is a new plan. Review it again.")
	b.keys("enter", "enter")
	b.shows("You typed nothing, so nothing was done.")
	b.write("prod-east/crm-old")
	b.keys("enter")
	b.at(StageResult)
	if got := b.fake.done(); got != finish+" dry=false; "+finishAnew+" dry=false" {
		t.Errorf("applied %q", got)
	}
}

func TestAnApplicationIsShownAsItGoes(t *testing.T) {
	b := newBench(t)
	b.retrying()
	b.shows(
		"InProgress -> FinalizingPartiallyFailed",
		"▶ send it",
		"attempt 4: connect: connection refused",
		"attempt 5 in 7s",
		"9m09s left of the deadline.",
		"veltui is sending the change. Before each retry it reads the job again.",
		"· watch the result",
	)
	b.pass(8 * time.Second)
	b.shows("attempt 5 is under way")
	b.currentRun.reportProgress(action.Progress{Step: action.StepObserve}, b.now())
	b.currentRun.reportProgress(action.Progress{Step: action.StepObserve, Phase: "Finalizing"}, b.now())
	b.shows("so far: Finalizing", "until it has ended, and for at least 1m10s", "veltui now watches the result")
	if strings.Contains(b.frame(), "deadline") {
		t.Error("observing has no deadline")
	}
	b.keys("esc", "esc")
	b.shows("Stopping. Finding out what was sent ...")
	b.at(StageResult)
}

// Every stage on every size fits.
func TestEveryStageFits(t *testing.T) {
	for name, show := range map[string]func(b *bench){
		"looking": func(*bench) {},
		"unseen": func(b *bench) {
			b.fake.set(func() { b.fake.err = errors.New("gave up after 6 attempts: connection refused") })
			b.begin(b.gatherEvidence())
			b.at(StageEvidenceFailed)
		},
		"plan": func(b *bench) { b.open() },
		"refusal": func(b *bench) {
			b.fake.set(func() { b.fake.change = refuse })
			b.begin(b.gatherEvidence())
			b.at(StageChoosing)
		},
		"typing":  func(b *bench) { b.open(); b.keys("enter"); b.write("prod-east/wrong"); b.keys("enter") },
		"running": func(b *bench) { b.retrying() },
		"asked":   func(b *bench) { b.retrying(); b.keys("esc") },
		"ended":   func(b *bench) { b.open(); b.confirm(); b.at(StageResult) },
		"summary": func(b *bench) { b.enterStage(StageSummary) },
	} {
		b := newBench(t, "crm-old", "db-restore")
		show(b)
		for width := 10; width < 140; width += 13 {
			for _, height := range []int{1, 2, 3, 5, 8, 12, 17, 24, 50} {
				b.draw(width, height)
				for _, m := range []keys.Motion{keys.Down, keys.Bottom, keys.PageUp, keys.Top} {
					b.scrollText(m)
					b.draw(width, height)
				}
				if t.Failed() {
					t.Fatalf("%s at %dx%d", name, width, height)
				}
			}
		}
	}
}

// What must be typed is shown whole, however long a cluster's name is, and the
// field is always seen.
func TestLongContextNames(t *testing.T) {
	long := "arn:aws:eks:eu-central-1:123456789012:cluster/customer-facing-production-blue"
	for _, size := range [][2]int{{80, 22}, {40, 10}} {
		b := newBench(t)
		b.options.Context = long
		b.open()
		b.keys("enter")
		b.write("arn")
		frame := ansi.Strip(strings.Join(b.draw(size[0], size[1]), "\n"))
		flat := strings.NewReplacer("│", "", " ", "", "\n", "").Replace(frame)
		if !strings.Contains(flat, long+"/crm-old") || !strings.Contains(frame, draw.UnicodeGlyphs.Cursor+" arn") {
			t.Errorf("at %v:\n%s", size, frame)
		}
	}
}

// Where a key is enough, neither a paste nor the last key of a paste that the terminal does not mark is that key.
func TestPasteConfirmsNoPause(t *testing.T) {
	b := newBench(t)
	b.open()
	plan := b.planChoices[0]
	plan.Action = action.Pause
	b.planChoices = []action.Plan{plan}
	b.HandlePaste(tea.PasteMsg{Content: "shop\n"})
	b.shows("A paste does nothing here.")
	for _, key := range []string{"s", "h", "o", "p", "enter"} {
		b.pass(time.Millisecond)
		b.keys(key)
	}
	if b.stage != StageChoosing || b.fake.done() != "" {
		t.Fatalf("an unmarked paste applied %q", b.fake.done())
	}
	b.shows("as from a paste, so nothing was done")
	b.pass(keys.BurstInterval)
	b.keys("enter")
	if b.stage != StageApplying {
		t.Errorf("enter does not apply it:\n%s", b.frame())
	}
}
