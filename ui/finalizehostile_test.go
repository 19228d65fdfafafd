package ui

import (
	"strings"
	"testing"

	"github.com/veltui/veltui/finalize"
)

// Nobody is told that nothing was written where something was, or may have been.
func TestOutcomeNeverCallsSomethingNothing(t *testing.T) {
	for _, state := range []finalize.State{finalize.Refused, finalize.Changed, finalize.Unfinished} {
		for _, sent := range []finalize.Sent{finalize.Partly, finalize.Doubtful, finalize.NotSent} {
			b := newBench(t, 80, 24)
			b.retrying()
			b.end(finalize.Outcome{State: state, Sent: sent, Message: "the API server refused it"}, nil)
			b.at(stageEnded)
			text := strings.ToLower(b.frame())
			denied := strings.Contains(text, "nothing was written") || strings.Contains(text, "nothing has changed")
			if denied && sent != finalize.NotSent || !denied && sent == finalize.NotSent {
				t.Errorf("%s, %s:\n%s", state, sent, b.frame())
			}
		}
	}
}

// A job that was made anew under its name is another one: the dialog does not
// go on with it as if it were the one that was chosen.
func TestFinalizeIsNotLedToAnotherJobOfThatName(t *testing.T) {
	b := newBench(t, 80, 24)
	b.fake.change = append(b.fake.change, func(e *finalize.Evidence) {
		j := *e.Job
		j.UID = "another"
		e.Job = &j
	})
	b.keys("f")
	b.at(stageUnseen)
	b.shows("there is another restore/crm-old")
	b.listen()
	b.confirm()
	if b.fake.done() != "" {
		t.Errorf("executed: %s", b.fake.done())
	}
}

func TestSentence(t *testing.T) {
	for text, want := range map[string]string{"": "", "émile woke it": "Émile woke it.", "it is": "It is.", "\xff": "\uFFFD."} {
		if got := sentence(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
