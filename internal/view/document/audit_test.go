package document

import (
	"encoding/json"
	"testing"

	"github.com/veltui/veltui/internal/action"
)

// What landed is known although veltui did not live to note the end.
func TestAuditOfAnAttemptThatWasKilled(t *testing.T) {
	send := func(target string) action.Entry {
		return action.Entry{Event: "send", Target: target, Patch: json.RawMessage(`[]`)}
	}
	landed := func(target string) action.Entry { return action.Entry{Event: "landed", Target: target} }
	for want, entries := range map[action.Sent][]action.Entry{
		"":            {send("a")},
		action.Landed: {send("a"), send("a"), landed("a")},
		action.Partly: {send("a"), landed("a"), send("b")},
	} {
		a := &Audit{attempts: map[string]int{}}
		a.add(action.Entry{Event: "begin"})
		for _, e := range entries {
			a.add(e)
		}
		if got := a.Items[0].Sent; got != want {
			t.Errorf("%v: %q, not %q", entries, got, want)
		}
	}
}
