//go:build e2e

package e2e

import (
	"bytes"
	"os/exec"
	"strings"
	"testing"

	"github.com/veltui/veltui/e2e/lab"
)

// wantWaited holds that veltui waits no longer for a job that has ended, and says how.
func wantWaited(t *testing.T, subject string, code int) {
	t.Helper()
	if got, printed := runVeltui(t, "wait", subject, "--timeout", "1m"); got != code {
		t.Errorf("veltui wait %s ended with %d, want %d: %s", subject, got, code, printed)
	}
}

// startWaiting has veltui wait for a job that is not there yet. What it returns holds that
// veltui ended by itself, with that exit code, and said how the job ended.
func startWaiting(t *testing.T, subject string, code int, says string) (ended func()) {
	t.Helper()
	path, err := veltui()
	must(t, err)
	cmd := exec.CommandContext(
		patient(t),
		path,
		"wait",
		subject,
		"--wait-for-creation",
		"--timeout",
		"5m",
		"--kubeconfig",
		theLab.Kubeconfig(),
		"-n",
		lab.Namespace,
	)
	cmd.Env = veltuiTells.cmd.Env
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	must(t, cmd.Start())
	return func() {
		t.Helper()
		_ = cmd.Wait() // the exit code says it
		if got := cmd.ProcessState.ExitCode(); got != code || !strings.Contains(out.String(), subject+": "+says) {
			t.Errorf("veltui wait %s ended with %d, want %d: %s", subject, got, code, &out)
		}
	}
}
