//go:build e2e

package e2e

import "testing"

func TestFullBackup(t *testing.T) {
	h := fullBackup(t)
	wantEnd(t, h, "Completed")
	wantTold(t, h)
	wantPhases(t, h, backupPhases(t, ran...))
	last := h.LastState().Progress
	if last == nil || last.Done != last.Total || last.Total < 1700 {
		t.Errorf("final progress %v, want at least 1,700 items, all done", last)
	}
}
