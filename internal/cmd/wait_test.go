package cmd

import (
	"encoding/json"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/veltui/veltui/internal/velero/veleroapi"
	"github.com/veltui/veltui/internal/view/document"
)

// waiting is a `veltui wait` that goes on.
type waiting struct {
	*exec.Cmd
	out, errs *strings.Builder
	ended     chan struct{}
}

// waits starts one in namespace velero.
func waits(t *testing.T, cmd *exec.Cmd) *waiting {
	t.Helper()
	w := &waiting{cmd, &strings.Builder{}, &strings.Builder{}, make(chan struct{})}
	cmd.Stdout, cmd.Stderr = w.out, w.errs
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	go func() {
		_ = cmd.Wait()
		close(w.ended)
	}()
	return w
}

func (w *waiting) code(t *testing.T) int {
	t.Helper()
	select {
	case <-w.ended:
		return w.ProcessState.ExitCode()
	case <-time.After(patience):
		t.Fatalf("%q does not end", w.Args)
		return -1
	}
}

func (b *bed) set(t *testing.T, r *veleroapi.Restore, phase veleroapi.RestorePhase, done int) {
	t.Helper()
	r.Status.Phase = phase
	r.Status.Progress = &veleroapi.RestoreProgress{ItemsRestored: done, TotalItems: 40}
	if err := b.client.Update(t.Context(), r); err != nil {
		t.Fatal(err)
	}
}

// What is so already ends the waiting at once, with the exit code of the state.
func TestWaitForWhatIsSo(t *testing.T) {
	b := control(t)
	now := metav1.Now()
	for name, phase := range map[string]veleroapi.RestorePhase{"wait-good": veleroapi.RestorePhaseCompleted, "wait-partly": veleroapi.RestorePhasePartiallyFailed,
		"wait-failed": veleroapi.RestorePhaseFailed, "wait-invalid": veleroapi.RestorePhaseFailedValidation} {
		b.create(t, restore(name, veleroapi.RestoreStatus{Phase: phase, StartTimestamp: &now, Errors: 2}))
	}
	b.create(
		t,
		restore(
			"wait-refused",
			veleroapi.RestoreStatus{
				Phase:            veleroapi.RestorePhaseFailedValidation,
				ValidationErrors: []string{"backup not found"},
			},
		),
	)
	b.create(t, inProgress("wait-running", time.Minute))
	for args, want := range map[string]struct {
		code      int
		out, errs string
	}{
		"restore/wait-good":               {ExitOK, "restore/wait-good: Completed, 2 errors", ""},
		"restore wait-partly":             {ExitPartiallyFailed, "restore/wait-partly: PartiallyFailed, 2 errors", ""},
		"restore/wait-failed":             {ExitFailed, "restore/wait-failed: Failed", ""},
		"restore/wait-invalid":            {ExitFailed, "FailedValidation", ""},
		"restore/wait-refused":            {ExitFailed, "FailedValidation: backup not found", ""},
		"restore/wait-failed --for ended": {ExitOK, "restore/wait-failed: Failed", ""},
		"restore/wait-failed --for jsonpath={.status.phase}=Failed": {ExitOK, "restore/wait-failed: Failed", ""},
		"restore/wait-good --for phase=InProgress":                  {ExitError, "", "error: restore/wait-good: ended without --for phase=InProgress: Completed"},
		"restore/wait-good --for stuck --for phase=Failed":          {ExitError, "", "error: restore/wait-good: ended without --for stuck or phase=Failed: Completed"},
		"restore/wait-good --for stuck --for completed":             {ExitOK, "restore/wait-good: Completed", ""},
		"restore/wait-good restore/wait-partly restore/wait-good":   {ExitPartiallyFailed, "restore/wait-partly: PartiallyFailed", ""},
		"restore/wait-running --for stage=items":                    {ExitOK, "phase InProgress for 1m", ""},
		"restore/wait-running --for create":                         {ExitOK, "restore/wait-running: exists", ""},
		"restore/wait-running --timeout 1s":                         {ExitTimeout, "timed out: phase InProgress", ""},
		"restore/wait-nope":                                         {ExitError, "", "error: restore/wait-nope: not found in namespace velero"},
		"restore/wait-nope --for delete":                            {ExitOK, "restore/wait-nope: does not exist", ""},
		"restore/wait-nope --wait-for-creation --timeout 1s":        {ExitTimeout, "it does not exist", "Waiting: restore wait-nope does not exist"},
		"restore/wait-good --for phas=InProgress":                   {ExitUsage, "", "must be completed, ended"},
		"restore/wait-good --for create --for completed":            {ExitUsage, "", "--wait-for-creation"},
		"restores":                        {ExitUsage, "", "expected KIND/NAME"},
		"restore/wait-good --notify drum": {ExitUsage, "", "must be one of none, bell"},
		"restore/wait-good backup/wait-nope --for completed --for=end": {ExitUsage, "", "must be completed, ended"},
	} {
		t.Run(args, func(t *testing.T) {
			t.Parallel()
			out, errs, code := b.run(t, append([]string{"wait", "-n", "velero"}, strings.Fields(args)...)...)
			if code != want.code || !strings.Contains(out, want.out) || want.out == "" && out != "" ||
				!strings.Contains(errs, want.errs) {
				t.Errorf("exit code %d, %q\n%s", code, out, errs)
			}
		})
	}
}

// TestWaitFollows a job through its phases, one that is made later, one that is made
// again, and one that is deleted.
func TestWaitFollows(t *testing.T) {
	b := control(t)
	r := inProgress("wait-follow", time.Second)
	b.create(t, r)
	args := []string{"wait", "-n", "velero", "restore/wait-follow"}
	completed := waits(t, b.command(t, append(args, "-o", "json")...))
	finalizing := waits(t, b.command(t, append(args, "--for", "phase=finalizing")...))
	both := waits(t, b.command(t, append(args, "restore/wait-later", "--wait-for-creation")...))
	eventually(t, "all of them see it", func() bool {
		return !slices.ContainsFunc(
			[]*waiting{completed, finalizing, both},
			func(w *waiting) bool { return !strings.Contains(w.errs.String(), "estore wait-follow") },
		)
	})
	b.set(t, r, veleroapi.RestorePhaseInProgress, 20)
	b.set(t, r, veleroapi.RestorePhaseFinalizing, 40) // for no time at all
	b.set(t, r, veleroapi.RestorePhaseCompleted, 40)
	if code := finalizing.code(t); code != ExitOK {
		t.Errorf("--for phase=finalizing ends with exit code %d: %s", code, finalizing.out)
	}
	if code := completed.code(t); code != ExitOK {
		t.Errorf("exit code %d: %s", code, completed.out)
	}
	var result document.WaitResult
	if err := json.Unmarshal(
		[]byte(completed.out.String()),
		&result,
	); err != nil || len(result.Items) != 1 || result.Items[0].Result != "met" ||
		result.Items[0].Condition != "completed" || result.Items[0].Job.Phase != "Completed" ||
		result.Kind != "WaitResult" {
		t.Errorf("%v: %s", err, completed.out)
	}
	b.create(t, restore("wait-later", veleroapi.RestoreStatus{Phase: veleroapi.RestorePhasePartiallyFailed}))
	if code := both.code(
		t,
	); code != ExitPartiallyFailed ||
		!holdsAll(both.out.String(), "wait-follow: Completed", "wait-later: PartiallyFailed") {
		t.Errorf("exit code %d: %s", code, both.out)
	}

	again := inProgress("wait-again", time.Second)
	b.create(t, again)
	args = []string{"wait", "-n", "velero", "restore/wait-again"}
	gone := waits(t, b.command(t, args...))
	deleted := waits(t, b.command(t, append(args, "--for=delete")...))
	remade := waits(t, b.command(t, append(args, "--wait-for-creation")...))
	interrupted := waits(t, b.command(t, append(args, "--wait-for-creation")...))
	eventually(t, "all of them see it", func() bool {
		return !slices.ContainsFunc(
			[]*waiting{gone, deleted, remade, interrupted},
			func(w *waiting) bool { return !strings.Contains(w.errs.String(), "estore wait-again") },
		)
	})
	if err := b.client.Delete(t.Context(), again); err != nil {
		t.Fatal(err)
	}
	if code := gone.code(
		t,
	); code != ExitError ||
		!strings.Contains(gone.errs.String(), "error: restore/wait-again: was deleted") {
		t.Errorf("exit code %d: %s", code, gone.errs)
	}
	if code := deleted.code(t); code != ExitOK {
		t.Errorf("exit code %d: %s", code, deleted.errs)
	}
	b.create(t, restore("wait-again", veleroapi.RestoreStatus{Phase: veleroapi.RestorePhaseCompleted}))
	if code := remade.code(t); code != ExitOK || !strings.Contains(remade.errs.String(), "was deleted") {
		t.Errorf("exit code %d: %s", code, remade.errs)
	}
	if code := interrupted.code(t); code != ExitOK {
		t.Errorf("exit code %d: %s", code, interrupted.errs)
	}
}

// TestWaitIsToldOfAStuckJob as `veltui explain` is, also where the verdict stands on
// more than the job.
func TestWaitIsToldOfAStuckJob(t *testing.T) {
	h := startHeadless(t, "--scene", scenes+"restore-patch-lost.yaml")
	_, _, explained := h.run(t, "explain", "restore/crm-rollback")
	for _, flag := range []string{"--for=stuck", "--fail-on-stuck"} {
		out, errs, code := h.run(t, "wait", "restore/crm-rollback", flag, "--timeout", "1m")
		if code != explained || code != ExitRefused ||
			!holdsAll(out, "restore/crm-rollback: phase InProgress for ", "stuck: finished restoring") ||
			!strings.Contains(errs, "Stuck: restore crm-rollback") {
			t.Errorf("%s: exit code %d, and %d of explain: %s%s", flag, code, explained, out, errs)
		}
	}
}

// TestWaitAsksLittle: one job, its volumes and a heartbeat, and no list of anything else
// while it moves.
func TestWaitAsksLittle(t *testing.T) {
	b := control(t)
	r := inProgress("wait-little", time.Second)
	r.Status.Progress.ItemsRestored = 1
	b.create(t, r)
	proxy := b.counted(t)
	w := waits(
		t,
		through(proxy.Kubeconfig(), b.command(t, "wait", "-n", "velero", "restore/wait-little", "--no-artifacts")),
	)
	eventually(t, "it is seen", func() bool { return strings.Contains(w.errs.String(), "estore wait-little") })
	b.set(t, r, veleroapi.RestorePhaseInProgress, 20)
	eventually(t, "it moves", func() bool { return strings.Contains(w.errs.String(), "50 percent") })
	b.set(t, r, veleroapi.RestorePhaseCompleted, 40)
	if code := w.code(t); code != ExitOK {
		t.Fatalf("exit code %d: %s", code, w.errs)
	}
	for asked := range proxy.ReadTraffic().RequestCounts {
		if strings.Contains(asked, "pods") || strings.HasSuffix(asked, "/backups") ||
			strings.Contains(asked, "uploads") ||
			strings.Contains(asked, "schedules") {
			t.Errorf("it asks %s", asked)
		}
	}
}

// TestWaitOnATerminal draws bars in place, and leaves nothing behind.
func TestWaitOnATerminal(t *testing.T) {
	b := control(t)
	r := inProgress("wait-drawn", time.Second)
	r.Status.Progress.ItemsRestored = 1
	b.create(t, r)
	c := openConsole(
		t,
		b,
		80,
		24,
		"wait",
		"-n",
		"velero",
		"restore/wait-drawn",
		"restore/wait-none",
		"--wait-for-creation",
		"--notify",
		"bell",
	)
	c.sees(t, "wait-drawn", "wait-none", "does not exist")
	b.set(t, r, veleroapi.RestorePhaseInProgress, 10)
	c.sees(t, "25%", "10/40", "Items")
	eventually(t, "title and progress say 25%", func() bool {
		raw := c.OutputText()
		return strings.Contains(raw, "\x1b]9;4;1;25") && strings.Contains(raw, "veltui: restore/wait-drawn 25%")
	})
	b.set(t, r, veleroapi.RestorePhasePartiallyFailed, 40)
	c.sees(t, "PartiallyFailed")
	if raw := c.OutputText(); strings.Count(raw, "\a") < 1 || strings.Contains(raw, "\x1b[?1049h") ||
		strings.Contains(raw, "\x1b[?25l") {
		t.Errorf("no bell, or the screen is taken: %q", raw)
	}
	if err := c.Cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	if code := c.exits(t); code != ExitInterrupted {
		t.Errorf("exit code %d", code)
	}
	raw := c.OutputText()
	if strings.TrimSpace(c.ScreenText()) != "" ||
		strings.LastIndex(raw, "\x1b]9;4;0") < strings.LastIndex(raw, "\x1b]9;4;1") ||
		!strings.HasSuffix(raw, "\x1b[23;2t") {
		t.Errorf("something is left: %q\n%s", raw[max(0, len(raw)-200):], c.ScreenText())
	}
}

// TestWaitForAnAPIServerThatIsAway from the start: --timeout bounds that too, and with
// time left veltui goes on, and says so.
func TestWaitForAnAPIServerThatIsAway(t *testing.T) {
	b := control(t)
	b.create(t, restore("wait-away", veleroapi.RestoreStatus{Phase: veleroapi.RestorePhasePartiallyFailed}))
	for _, output := range []string{"text", "json"} {
		out, errs, code := b.run(
			t,
			"wait",
			"restore/wait-away",
			"--server",
			"https://127.0.0.1:1",
			"--timeout",
			"2s",
			"-o",
			output,
		)
		if code != ExitTimeout ||
			!strings.Contains(out, "timeout") &&
				!holdsAll(out, "restore/wait-away: timed out: veltui could not look whether it exists", "refused") {
			t.Errorf("-o %s: exit code %d: %s%s", output, code, out, errs)
		}
	}
	// What no time mends ends it at once, and without --timeout a server that is away does.
	for flags, says := range map[string]string{
		"--server https://nowhere.invalid --timeout 10m":    "there is no such API server: ",
		"--tls-server-name elsewhere.example --timeout 2m":  "certificate",
		"--server https://127.0.0.1:1 --request-timeout 1s": "refused",
	} {
		w := waits(
			t,
			b.command(t, append([]string{"wait", "-n", "velero", "restore/wait-away"}, strings.Fields(flags)...)...),
		)
		if code := w.code(t); code != ExitError || !strings.Contains(w.errs.String(), says) {
			t.Errorf("%s: exit code %d: %s%s", flags, code, w.out, w.errs)
		}
	}
	if err := b.KillAPIServer(); err != nil {
		t.Fatal(err)
	}
	w := waits(
		t,
		b.command(t, "wait", "-n", "velero", "restore/wait-away", "--request-timeout", "1s", "--timeout", "10m"),
	)
	eventually(
		t,
		"that nothing answers is said",
		func() bool { return strings.Contains(w.errs.String(), "No connection yet: ") },
	)
	if err := b.StartAPIServer(t.Context()); err != nil {
		t.Fatal(err)
	}
	if code := w.code(
		t,
	); code != ExitPartiallyFailed || !strings.Contains(w.errs.String(), "Connected.") ||
		strings.Count(w.errs.String(), "No connection yet") != 1 {
		t.Errorf("exit code %d: %s%s", code, w.out, w.errs)
	}
}

// TestWaitOutlivesTheAPIServer that is away while the job ends.
func TestWaitOutlivesTheAPIServer(t *testing.T) {
	b := control(t)
	r := inProgress("wait-outage", time.Second)
	b.create(t, r)
	w := waits(t, b.command(t, "wait", "-n", "velero", "restore/wait-outage"))
	eventually(t, "it is seen", func() bool { return strings.Contains(w.errs.String(), "estore wait-outage") })
	if err := b.KillAPIServer(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the outage is said", func() bool { return strings.Contains(w.errs.String(), "Connection lost") })
	if err := b.StartAPIServer(t.Context()); err != nil {
		t.Fatal(err)
	}
	b.set(t, r, veleroapi.RestorePhasePartiallyFailed, 40)
	if code := w.code(t); code != ExitPartiallyFailed || !strings.Contains(w.errs.String(), "Connected again") {
		t.Errorf("exit code %d: %s", code, w.errs)
	}
}
