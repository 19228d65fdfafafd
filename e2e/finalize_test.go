//go:build e2e

package e2e

import (
	"bytes"
	"errors"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/veltui/veltui/e2e/lab"
)

// finalize runs `veltui finalize` on a restore without asking, and returns its
// exit code and what it printed.
func finalize(t *testing.T, name string, args ...string) (code int, printed string) {
	t.Helper()
	path, err := veltui()
	must(t, err)
	args = append([]string{"finalize", "restore/" + name, "--yes", "--reason", "end-to-end test", "--kubeconfig", theLab.Kubeconfig(), "-n", lab.Namespace}, args...)
	cmd := exec.CommandContext(patient(t), path, args...)
	cmd.Env = veltuiTells.cmd.Env
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err = cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), out.String()
}

// TestFinalizeLeavesWorkAlone asks to finalize a restore that a live server
// works on: it must be refused, and nothing be written.
func TestFinalizeLeavesWorkAlone(t *testing.T) {
	must(t, theLab.VeleroWith(patient(t)))
	before := heldRestore(t, "at-work")
	code, printed := finalize(t, "at-work")
	if code != 6 {
		t.Errorf("veltui finalize ended with %d, want 6 (refused):\n%s", code, printed)
	}
	live, err := theLab.Restore(patient(t), "at-work")
	must(t, err)
	if was := before.Last().Object.GetResourceVersion(); live.ResourceVersion != was {
		t.Errorf("the restore was written to: version %s, was %s", live.ResourceVersion, was)
	}
	must(t, theLab.OpenGate("at-work"))
	h := ended(t, "Restore", "at-work")
	wantEnd(t, h, "Completed")
	wantTold(t, h)
}

// finalizeLost moves a restore on whose last patch was lost (see lost): Velero
// itself must then end it, and it must stay so. veltui refuses for as long as
// the server may still be trying to write that patch.
func finalizeLost(t *testing.T, name string) {
	t.Helper()
	ctx := patient(t)
	code, printed := finalize(t, name, "--observe", "20s")
	for code == 6 && strings.Contains(printed, "it tries to write its last status") {
		select {
		case <-time.After(5 * time.Second):
		case <-ctx.Done():
			t.Fatalf("veltui refuses for ever:\n%s", printed)
		}
		code, printed = finalize(t, name, "--observe", "20s")
	}
	t.Logf("veltui finalize:\n%s", printed)
	if code != 0 {
		t.Fatalf("veltui finalize ended with %d", code)
	}
	h := ended(t, "Restore", name)
	wantEnd(t, h, "Completed")
	wantPhases(t, h, restored)
	wantTold(t, h)
	if h.Text("completionTimestamp") == "" {
		t.Error("the restore has no completion time: it was not Velero that ended it")
	}
}
