//go:build e2e

package e2e

import "testing"

// wantWaited holds that veltui waits no longer for a job that has ended, and says how.
func wantWaited(t *testing.T, subject string, code int) {
	t.Helper()
	if got, printed := runVeltui(t, "wait", subject, "--timeout", "1m"); got != code {
		t.Errorf("veltui wait %s ended with %d, want %d: %s", subject, got, code, printed)
	}
}
