//go:build unix

package terminal

import (
	"testing"

	tea "charm.land/bubbletea/v2"
)

// TestStopsQueuedTogetherAreOneStop: what was queued before the program stopped does not stop it once more.
func TestStopsQueuedTogetherAreOneStop(t *testing.T) {
	control := newJobControl()
	if control.filterMessage(tea.SuspendMsg{}) == nil {
		t.Fatal("the first stop is dropped")
	}
	if control.filterMessage(tea.SuspendMsg{}) != nil {
		t.Error("the second stop would stop the program once more when it goes on")
	}
	control.filterMessage(tea.ResumeMsg{})
	if control.filterMessage(tea.SuspendMsg{}) == nil {
		t.Error("a stop after the program went on is dropped")
	}
}
