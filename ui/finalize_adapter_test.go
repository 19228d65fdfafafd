package ui

import (
	"strings"
	"testing"

	"github.com/veltui/veltui/action"
	"github.com/veltui/veltui/ui/dialog"
)

// Nobody is told that nothing was written where something was, or may have been.
func TestOutcomeNeverCallsSomethingNothing(t *testing.T) {
	for _, state := range []action.State{action.Refused, action.Changed, action.Unfinished} {
		for _, sent := range []action.Sent{action.Partly, action.Doubtful, action.NotSent} {
			o := outcomeOf(&action.Outcome{State: state, Sent: sent, Message: "the API server refused it"}, nil, false, nil)
			text := strings.ToLower(o.Headline + " " + o.Remains)
			denied := strings.Contains(text, "nothing was written") || strings.Contains(text, "nothing has changed")
			if denied != (sent == action.NotSent) {
				t.Errorf("%s, %s: %s %s", state, sent, o.Headline, o.Remains)
			}
		}
	}
}

// A job that was made anew under its name is another one: the dialog does not
// go on with it as if it were the one that was chosen.
func TestFinalizeIsNotLedToAnotherJobOfThatName(t *testing.T) {
	b := newBench(t, 80, 24)
	b.fake.change = append(b.fake.change, func(e *action.Evidence) {
		j := *e.Job
		j.UID = "another"
		e.Job = &j
	})
	b.keys("f")
	b.reaches(dialog.Unseen)
	b.shows("there is a new restore/crm-old")
	b.confirm()
	if b.fake.done() != "" {
		t.Errorf("executed: %s", b.fake.done())
	}
}
