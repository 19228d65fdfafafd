package testbed

import (
	"os"
	"testing"
)

// ScopeVar is the environment variable that says how much is tested: "more", as .ci/run does, also what takes too long
// for somebody who waits for it; "all" every combination that tests otherwise sample.
const ScopeVar = "VELTUI_TESTS"

// WantsMore reports whether more is to be tested than what somebody waits for.
func WantsMore() bool { return os.Getenv(ScopeVar) == "more" || os.Getenv(ScopeVar) == "all" }

// RequireMore skips a test that somebody who waits does without.
func RequireMore(t testing.TB) {
	t.Helper()
	if !WantsMore() {
		t.Skip("slow: runs with " + ScopeVar + "=more, as in .ci/run")
	}
}
