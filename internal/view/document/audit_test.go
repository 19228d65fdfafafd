package document

import (
	"encoding/json"
	"testing"

	"github.com/veltui/veltui/internal/action"
)

// What landed is known although veltui did not live to note the end.
func TestAuditOfAnAttemptThatWasKilled(t *testing.T) {
	send := func(target string) action.AuditEntry {
		return action.AuditEntry{Event: "send", Target: target, Patch: json.RawMessage(`[]`)}
	}
	landed := func(target string) action.AuditEntry { return action.AuditEntry{Event: "landed", Target: target} }
	for want, entries := range map[action.SentState][]action.AuditEntry{
		"":                  {send("a")},
		action.Landed:       {send("a"), send("a"), landed("a")},
		action.PartlyLanded: {send("a"), landed("a"), send("b")},
	} {
		a := &Audit{attempts: map[string]int{}}
		a.addEntry(action.AuditEntry{Event: "begin"})
		for _, e := range entries {
			a.addEntry(e)
		}
		if got := a.Items[0].Sent; got != want {
			t.Errorf("%v: %q, not %q", entries, got, want)
		}
	}
}
