package dialog

import (
	"strings"
	"testing"

	"github.com/veltui/veltui/internal/action"
	"github.com/veltui/veltui/ui/draw"
)

// A dry run that was carried out, and a request that is about another backup now, are shown with the command that takes
// them back, also where only a dry run was wanted, and are told on the user's own terminal.
func TestOutcomesToUndo(t *testing.T) {
	theme, err := draw.LoadTheme("dark")
	if err != nil {
		t.Fatal(err)
	}
	for _, state := range []action.OutcomeState{action.StateCarriedOut, action.StateMisdirected} {
		o := runOutcome{
			Outcome: action.Outcome{
				State:        state,
				Sent:         action.Landed,
				Message:      "it was written",
				UndoCommands: []string{"kubectl undo"},
			},
		}
		shown := strings.Join(
			o.renderOutcome(draw.Canvas{Theme: theme, Width: 80, Height: 24, Glyphs: &draw.UnicodeGlyphs}, nil),
			"\n",
		)
		for _, want := range []string{"To undo it", "kubectl undo", "It was written"} {
			if !strings.Contains(shown, want) {
				t.Errorf("%s: %q is not in\n%s", state, want, shown)
			}
		}
		if strings.Contains(shown, "nothing was written") || strings.Contains(shown, "Done") {
			t.Errorf("%s:\n%s", state, shown)
		}
	}
}

// A job that was made anew under its name is another one: the dialog does not
// go on with it as if it were the one that was chosen.
func TestFinalizeIsNotLedToAnotherJobOfThatName(t *testing.T) {
	b := newBench(t)
	b.fake.set(func() { b.fake.change = func(e *action.Evidence) { e.Job.UID = "another" } })
	b.begin(b.gatherEvidence())
	b.at(StageEvidenceFailed)
	b.listen()
	b.shows("there is a new restore/crm-old")
	b.confirm()
	if b.fake.done() != "" {
		t.Errorf("executed: %s", b.fake.done())
	}
}
