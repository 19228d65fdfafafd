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
	"github.com/veltui/veltui/internal/testbed"
)

// runVeltui runs a command of veltui to its end, and returns its exit code and
// what it printed.
func runVeltui(t *testing.T, args ...string) (code int, printed string) {
	t.Helper()
	return runVeltuiAt(t, theLab.Kubeconfig(), args...)
}

// runVeltuiAt is runVeltui for the cluster of a kubeconfig.
func runVeltuiAt(t *testing.T, kubeconfig string, args ...string) (code int, printed string) {
	t.Helper()
	path, err := veltui()
	must(t, err)
	cmd := exec.CommandContext(patient(t), path, append(args, "--kubeconfig", kubeconfig, "-n", lab.Namespace)...)
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

// document is the JSON in what veltui printed: on a busy machine, it says before on
// standard error what it waits for.
func document(printed string) []byte {
	return []byte(printed[max(strings.IndexByte(printed, '{'), 0):])
}

// The exit codes of veltui that are checked here.
const (
	exitPartiallyFailed = 3
	exitError           = 1
	exitRefused         = 6
)

// TestFinalizeLeavesWorkAlone asks to finalize a restore that a live server
// works on: it must be refused, and nothing be written.
func TestFinalizeLeavesWorkAlone(t *testing.T) {
	must(t, theLab.EnsureVelero(patient(t)))
	before := heldRestore(t, "at-work")
	for {
		code, printed := runVeltui(t, "finalize", "restore/at-work", "--yes", "--reason", "end-to-end test")
		if code != exitRefused {
			t.Fatalf("veltui finalize ended with %d, want %d (refused):\n%s", code, exitRefused, printed)
		}
		now := liveJob(t, "Restore", "at-work")
		written := now.LastEvent().Object.GetResourceVersion() != before.LastEvent().Object.GetResourceVersion()
		if written && now.LastState().Progress.Done != before.LastState().Progress.Done {
			before = now // Velero was not at the gate yet
			continue
		}
		if written {
			t.Errorf(
				"the restore was written to: version %s, was %s",
				now.LastEvent().Object.GetResourceVersion(),
				before.LastEvent().Object.GetResourceVersion(),
			)
		}
		break
	}
	must(t, theLab.OpenGate("at-work"))
	h := ended(t, "Restore", "at-work")
	wantEnd(t, h, "Completed")
	wantTold(t, h)
}

// awaitFinalizable waits until veltui would move a job on to a phase. It
// refuses for as long as the server may still be trying to write the lost
// patch, or to mark the job, and while nobody answers what is stored: after an
// outage Velero takes up DownloadRequests only a minute or so later.
func awaitFinalizable(t *testing.T, job, phase string) {
	t.Helper()
	ctx := patient(t)
	for {
		code, printed := runVeltui(t, "finalize", job, "--phase", phase, "--dry-run=server")
		if code == 0 {
			return
		}
		if code != exitRefused {
			t.Fatalf("veltui finalize --dry-run=server ended with %d:\n%s", code, printed)
		}
		select {
		case <-time.After(5 * time.Second):
		case <-ctx.Done():
			t.Fatalf("veltui refuses for ever:\n%s", printed)
		}
	}
}

// finalizeByCommand lets `veltui finalize` move a job on, as a runbook would.
func finalizeByCommand(t *testing.T, job, phase string) {
	t.Helper()
	awaitFinalizable(t, job, phase)
	code, printed := runVeltui(
		t,
		"finalize",
		job,
		"--phase",
		phase,
		"--yes",
		"--reason",
		"end-to-end test",
		"--observe",
		"20s",
	)
	t.Logf("veltui finalize:\n%s", printed)
	if code != 0 {
		t.Fatalf("veltui finalize ended with %d", code)
	}
}

// finalizeThroughOutage answers the question of `veltui finalize` on a terminal
// when the API server has just died, and brings that back once veltui has met
// it: the patch must land then. Velero takes a minute to go on after that, and longer if
// its own watches are slow to come back.
func finalizeThroughOutage(t *testing.T, kind, name string) {
	t.Helper()
	c := startConsole(t, "finalize", kind+"/"+name)
	want := testbed.ContextName + "/" + name
	c.sees(t, "Type "+want+" to confirm:")
	must(t, theLab.KillAPIServer())
	c.typesKeys(t, want+"\r")
	c.sees(t, "reading the evidence again", "attempt 2")
	must(t, theLab.StartAPIServer(patient(t)))
	c.sees(t, "settled: it is ")
	c.ends(t)
	must(t, bothFollow(patient(t), "after-"+name))
}

// finalizeByKeyboard moves a job on in the dashboard, as far as to where it
// observes what comes of it.
func finalizeByKeyboard(t *testing.T, name string, plan ...string) *console {
	t.Helper()
	c := openConsole(t)
	c.types(t, "/"+name+"\r")
	c.seesRow(t, name, "quiet")
	c.types(t, "f")
	c.sees(
		t,
		append(
			[]string{"Finalize", "Very high", "is stored, newer than the job's start", "enter type the name"},
			plan...)...)
	c.types(t, "\r")
	want := testbed.ContextName + "/" + name
	c.sees(t, "Type "+want+" and press enter:")
	c.types(t, name+"\r")
	c.sees(t, "That is not "+want+", so nothing was done.")
	c.types(t, strings.Repeat("\x7f", len(name))+want+"\r")
	// Velero may end the job before the screen is drawn again.
	c.awaits(t, "the change applied", func() bool {
		screen := c.ScreenText()
		return strings.Contains(screen, "The change was applied.") || strings.Contains(screen, "You can close this") ||
			strings.Contains(screen, "Done: it is")
	})
	return c
}

// settles waits until the dashboard has observed that a job stays as it is.
func (c *console) settles(t *testing.T, phase string) {
	t.Helper()
	c.sees(t, "Done: it is "+phase+".", "stayed so for", "enter close")
	c.types(t, "\r")
	c.sees(t, "Active")
	c.quits(t)
}

// finalizing is the phase from which Velero's finalizers end a job in another.
var finalizing = map[string]string{"Completed": "Finalizing", "PartiallyFailed": "FinalizingPartiallyFailed"}

// wantFinalizedAsSeen is wantFinalized for a job that was finalized while
// everybody could watch: no phase may be missing.
func wantFinalizedAsSeen(t *testing.T, kind, name, phase string) {
	t.Helper()
	wantFinalized(t, kind, name, phase)
	h := recorder.JobHistory(kind, name)
	before := []string{"", "InProgress"}
	if kind == "Backup" {
		before = backupPhases(t, "InProgress")
	}
	wantPhases(t, h, append(before, finalizing[phase], phase))
	wantTold(t, h)
}

// wantFinalized checks that Velero itself ended a job that veltui moved on, in
// the phase in which it would have ended, and that veltui wrote once.
func wantFinalized(t *testing.T, kind, name, phase string) {
	t.Helper()
	h := ended(t, kind, name)
	wantEnd(t, h, phase)
	if to := h.LastEvent().Object.GetAnnotations()["veltui.io/finalized-to"]; to != finalizing[phase] {
		t.Errorf("veltui moved it to %q, want %q", to, finalizing[phase])
	}
	if h.StatusText("completionTimestamp") == "" {
		t.Error("it has no completion time: it was not Velero that ended it")
	}
	attempts := map[string]bool{}
	for _, e := range h {
		if attempt, ok := e.Object.GetAnnotations()["veltui.io/finalized-attempt"]; ok {
			attempts[attempt] = true
		}
	}
	if len(attempts) != 1 {
		t.Errorf("veltui wrote %d times: %v", len(attempts), attempts)
	}
	if phase == "PartiallyFailed" && h.StatusNumber("errors") == 0 {
		t.Error("the errors that the lost patch carried are gone")
	}
	code, printed := runVeltui(t, "explain", kind+"/"+name)
	if want := map[string]int{"Completed": 0, "PartiallyFailed": exitPartiallyFailed}[phase]; code != want ||
		!strings.Contains(printed, "phase "+phase) {
		t.Errorf("veltui explain ended with %d, want %d:\n%s", code, want, printed)
	}
}
