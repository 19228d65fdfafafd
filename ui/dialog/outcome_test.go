package dialog

import (
	"errors"
	"strings"
	"testing"

	"github.com/veltui/veltui/internal/action"
	"github.com/veltui/veltui/ui/draw"
)

// Nobody is told that nothing was written where something was, or may have been.
func TestOutcomeNeverCallsSomethingNothing(t *testing.T) {
	for _, state := range []action.State{action.Refused, action.Changed, action.Unfinished} {
		for _, sent := range []action.Sent{action.Partly, action.Doubtful, action.NotSent} {
			o := outcome{Outcome: action.Outcome{State: state, Sent: sent, Message: "the API server refused it"}}
			end := o.ending(nil)
			text := strings.ToLower(end.headline + " " + end.remains)
			denied := strings.Contains(text, "nothing was written") || strings.Contains(text, "nothing has changed")
			if denied != (sent == action.NotSent) {
				t.Errorf("%s, %s: %s", state, sent, text)
			}
		}
	}
}

// A dry run that was carried out, and a request that is about another backup now, are shown with the command that takes
// them back, also where only a dry run was wanted, and are told on the user's own terminal.
func TestOutcomesToUndo(t *testing.T) {
	theme, err := draw.LoadTheme("dark")
	if err != nil {
		t.Fatal(err)
	}
	for _, state := range []action.State{action.CarriedOut, action.Misdirected} {
		o := outcome{
			Outcome: action.Outcome{
				State:   state,
				Sent:    action.Landed,
				Message: "it was written",
				Undo:    []string{"kubectl undo"},
			},
		}
		shown := strings.Join(
			o.lines(draw.Canvas{Theme: theme, Width: 80, Height: 24, Glyphs: &draw.Unicode}, nil),
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

// What is said of an action about no running job does not send a person to finalize or to restart the server.
func TestEndingsOfProposals(t *testing.T) {
	for _, state := range []action.State{action.Settled, action.NoEffect, action.Moving, action.Reverted, action.Deleted, action.Changed, action.Refused, action.Altered, action.Unfinished, action.CarriedOut, action.Misdirected} {
		for _, sent := range []action.Sent{action.NotSent, action.Landed, action.Doubtful} {
			o := outcome{
				Outcome: action.Outcome{State: state, Sent: sent, Phase: "PHASE"},
				err:     errors.New("timed out"),
			}
			end := o.ending(nil)
			o.propose(&end)
			text := end.headline + " " + end.remains
			for _, wrong := range []string{"job", "finalize", "estart", "patch", "PHASE", "sync", ": it is"} {
				if strings.Contains(text, wrong) && (state != action.Moving || wrong != "estart") {
					t.Errorf("%s, %s: %q has %q", state, sent, text, wrong)
				}
			}
		}
	}
}

// A job that was made anew under its name is another one: the dialog does not
// go on with it as if it were the one that was chosen.
func TestFinalizeIsNotLedToAnotherJobOfThatName(t *testing.T) {
	b := newBench(t)
	b.fake.set(func() { b.fake.change = func(e *action.Evidence) { e.Job.UID = "another" } })
	b.begin(b.look())
	b.at(Unseen)
	b.listen()
	b.shows("there is a new restore/crm-old")
	b.confirm()
	if b.fake.done() != "" {
		t.Errorf("executed: %s", b.fake.done())
	}
}

// A schedule has no phase that tells of its pause: what became of it is not put in those words.
func TestRevertedPauseNamesNoPhase(t *testing.T) {
	o := outcome{
		Outcome: action.Outcome{State: action.Reverted, Sent: action.Landed, Phase: "Enabled"},
		applied: action.Plan{Action: action.Pause},
	}
	if end := o.ending(nil); end.headline != "Reverted." || strings.Contains(end.remains, "server") {
		t.Errorf("%q, %q", end.headline, end.remains)
	}
}
