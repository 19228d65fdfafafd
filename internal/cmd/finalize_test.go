package cmd

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/veltui/veltui/internal/diagnosis"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/velero/veleroapi"
	"github.com/veltui/veltui/internal/view/document"
)

// veleroPod is a server whose container started at the given time.
func (b *bed) veleroPod(t *testing.T, started time.Time) {
	t.Helper()
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "velero",
			Name:      "velero-0",
			Labels:    map[string]string{"component": "velero", "deploy": "velero"},
		},
		Spec: corev1.PodSpec{
			Containers:                    []corev1.Container{{Name: "velero", Image: "velero/velero:v1.18.3"}},
			TerminationGracePeriodSeconds: new(int64),
		},
	}
	b.create(t, pod)
	pod.Status = corev1.PodStatus{Phase: corev1.PodRunning, ContainerStatuses: []corev1.ContainerStatus{
		{
			Name:  "velero",
			Ready: true,
			State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(started)}},
		},
	}}
	if err := b.client.Status().Update(t.Context(), pod); err != nil {
		t.Fatal(err)
	}
}

// inProgress is a restore that began that long ago.
func inProgress(name string, ago time.Duration) *veleroapi.Restore {
	start := metav1.NewTime(time.Now().Add(-ago).Truncate(time.Second))
	return restore(name, veleroapi.RestoreStatus{Phase: veleroapi.RestorePhaseInProgress, StartTimestamp: &start,
		Progress: &veleroapi.RestoreProgress{ItemsRestored: 7, TotalItems: 9}})
}

// quiet makes a job that nobody who works on it has written to for an hour. The
// API server notes the time of each write itself, but takes back what it has
// noted where something else changes too.
func (b *bed) quiet(t *testing.T, o client.Object) {
	t.Helper()
	b.create(t, o)
	b.age(t, o)
}

// age makes a job look as if nobody who works on it had written to it for an hour.
func (b *bed) age(t *testing.T, o client.Object) {
	t.Helper()
	if err := b.client.Get(t.Context(), client.ObjectKeyFromObject(o), o); err != nil {
		t.Fatal(err)
	}
	ago := metav1.NewTime(time.Now().Add(-time.Hour).Truncate(time.Second))
	noted := o.GetManagedFields()
	for i := range noted {
		noted[i].Time = &ago
	}
	o.SetManagedFields(noted)
	o.SetLabels(map[string]string{"example.org/touched": "yes"})
	if err := b.client.Update(t.Context(), o, client.FieldOwner("kubectl-label")); err != nil {
		t.Fatal(err)
	}
	for _, f := range o.GetManagedFields() {
		if f.Manager != "kubectl-label" && !f.Time.Equal(&ago) {
			t.Fatalf("noted are %+v", o.GetManagedFields())
		}
	}
}

func (b *bed) restorePhase(t *testing.T, name string) string {
	t.Helper()
	var r veleroapi.Restore
	if err := b.client.Get(t.Context(), client.ObjectKey{Namespace: "velero", Name: name}, &r); err != nil {
		t.Fatal(err)
	}
	return string(r.Status.Phase)
}

func TestExplain(t *testing.T) {
	b := control(t)
	b.create(t, inProgress("explained", time.Hour))
	b.create(t, restore("partly", veleroapi.RestoreStatus{Phase: veleroapi.RestorePhasePartiallyFailed, Errors: 2}))
	b.create(
		t,
		restore("failed", veleroapi.RestoreStatus{Phase: veleroapi.RestorePhaseFailed, FailureReason: "no \x1b[2Jluck"}),
	)
	b.create(t, restore("done", veleroapi.RestoreStatus{Phase: veleroapi.RestorePhaseCompleted}))
	for _, c := range []struct {
		args []string
		code int
		want []string
	}{
		{[]string{"explain", "restore/partly"}, ExitPartiallyFailed, []string{"phase PartiallyFailed", "2 errors"}},
		{[]string{"explain", "restore/failed"}, ExitFailed, []string{"phase Failed", "luck"}},
		{[]string{"explain", "restore", "done"}, ExitOK, []string{"Completed", "(watch"}},
		{[]string{"explain", "restore/explained"}, ExitOK, []string{"no Velero server runs", "verdict: progressing", "7 of 9 items (watch"}},
	} {
		stdout, stderr, code := b.run(t, c.args...)
		if code != c.code || stderr != "" || !holdsAll(stdout, c.want...) || strings.Contains(stdout, "\x1b") {
			t.Errorf("%v: exit code %d, %q, %q", c.args, code, stdout, stderr)
		}
	}
	stdout, _, code := b.run(t, "explain", "restore/explained", "-o", "json")
	var e document.Explanation
	if err := json.Unmarshal([]byte(stdout), &e); err != nil || code != ExitOK {
		t.Fatalf("exit code %d, %v: %s", code, err, stdout)
	}
	if e.Kind != "Explanation" || e.Job.Name != "explained" || e.Verdict.State != "progressing" ||
		len(e.Verdict.Facts) == 0 ||
		e.Verdict.Facts[0].Source == "" {
		t.Errorf("%+v", e)
	}
	for _, args := range [][]string{{"explain"}, {"explain", "restores"}, {"explain", "restore/a", "restore/b"}, {"explain", "pod/a"}, {"explain", "restore/a", "-o", "table"}} {
		if _, stderr, code := b.run(t, args...); code != ExitUsage || stderr == "" {
			t.Errorf("%v: exit code %d, %q", args, code, stderr)
		}
	}
	if _, stderr, code := b.run(t, "explain", "restore/nope"); code != ExitError || !holdsAll(stderr, "not found") {
		t.Errorf("exit code %d, %q", code, stderr)
	}
}

// For a job that does not move it is also said what finalize would do, to one
// who may not see pods too.
func TestExplainNamesTheRemedies(t *testing.T) {
	b := control(t)
	b.create(t, restore("waits", veleroapi.RestoreStatus{Phase: veleroapi.RestorePhaseNew}))
	cfg, err := b.AddUserWithRules(t.Context(), "reader", "velero", rbacv1.PolicyRule{
		APIGroups: []string{"velero.io"}, Resources: []string{"*"}, Verbs: []string{"get", "list", "watch"}})
	if err != nil {
		t.Fatal(err)
	}
	kubeconfig, err := b.KubeconfigFor(cfg, "reader")
	if err != nil {
		t.Fatal(err)
	}
	args := []string{"explain", "restore/waits", "--kubeconfig", kubeconfig, "-n", "velero"}
	stdout, stderr, code := b.run(t, args...)
	if code != ExitOK || stderr != "" || !holdsAll(stdout, "verdict: unknown", "finalize would refuse: ", "pods",
		"you may not patch it, as reader", "which phases the CRD allows") {
		t.Errorf("exit code %d, %q\n%s", code, stderr, stdout)
	}
	stdout, _, code = b.run(t, append(args, "-o", "json")...)
	var e document.Explanation
	if err := json.Unmarshal(
		[]byte(stdout),
		&e,
	); err != nil || code != ExitOK || e.Finalize == nil ||
		e.Finalize.Action != "refuse" {
		t.Errorf("exit code %d, %v\n%s", code, err, stdout)
	}
	if _, stderr, code := b.run(
		t,
		append(args, "--artifacts", "--read-only")...); code != ExitUsage ||
		!holdsAll(stderr, "read-only") {
		t.Errorf("exit code %d, %q", code, stderr)
	}
}

func TestExplainExitCodes(t *testing.T) {
	for _, c := range []struct {
		phase string
		state diagnosis.State
		want  int
	}{
		{"InProgress", diagnosis.Stuck, ExitRefused},
		{"InProgress", diagnosis.Orphaned, ExitRefused},
		{"InProgress", diagnosis.Progressing, ExitOK},
		{"Queued", diagnosis.Waiting, ExitOK},
		{"Finalizing", diagnosis.Quiet, ExitOK},
		{"InProgress", diagnosis.Unknown, ExitOK},
		{"Completed", "", ExitOK},
		{"PartiallyFailed", "", ExitPartiallyFailed},
		{"Failed", "", ExitFailed},
		{"FailedValidation", "", ExitFailed},
	} {
		var said strings.Builder
		if got := reportExitError(
			jobExitError(&job.Job{Phase: c.phase}, verdictIn(c.state)),
			&said,
		); got != c.want ||
			said.Len() > 0 {
			t.Errorf("%s, %s: exit code %d, want %d; said %q", c.phase, c.state, got, c.want, said.String())
		}
	}
}

func TestFinalizeOrphan(t *testing.T) {
	b := control(t)
	b.quiet(t, inProgress("orphan", time.Hour))
	b.veleroPod(t, time.Now().Add(-10*time.Minute))
	// The restore was written after that start, but not by Velero.
	args := []string{"finalize", "restore/orphan", "--phase", "Failed", "--reason", "INC-1"}
	stdout, stderr, code := b.run(t, append(args, "--dry-run=server")...)
	if code != ExitOK ||
		!holdsAll(stdout, "plan: InProgress -> Failed", "it will", "kubectl", "checked: ", "nothing was written") {
		t.Fatalf("dry run: exit code %d\n%s\n%s", code, stdout, stderr)
	}
	if _, stderr, code = b.run(t, args...); code != ExitUsage || !holdsAll(stderr, "--yes") {
		t.Errorf("without a terminal: exit code %d, %q", code, stderr)
	}
	for _, readOnly := range []func(*exec.Cmd){
		func(cmd *exec.Cmd) { cmd.Args = append(cmd.Args, "--read-only") },
		func(cmd *exec.Cmd) { cmd.Env = append(cmd.Env, "VELTUI_READ_ONLY=1") },
	} {
		cmd := b.command(t, append(args, "--yes")...)
		readOnly(cmd)
		out, _ := cmd.CombinedOutput()
		if code := cmd.ProcessState.ExitCode(); code != ExitRefused || strings.Count(string(out), "read-only") != 1 {
			t.Errorf("read-only: exit code %d\n%s", code, out)
		}
	}
	if phase := b.restorePhase(t, "orphan"); phase != "InProgress" {
		t.Fatalf("phase %s before anything was to be written", phase)
	}
	cmd := b.command(t, append(args, "--yes", "--observe", "1s", "-o", "json")...)
	state := t.TempDir()
	cmd.Env = append(cmd.Env, "XDG_STATE_HOME="+state)
	out, err := cmd.Output()
	var d document.Finalization
	if err != nil || json.Unmarshal(out, &d) != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if d.Plan.To != "Failed" || d.Outcome.State != "settled" || d.Outcome.Sent != "landed" || len(d.Facts) == 0 ||
		b.restorePhase(t, "orphan") != "Failed" {
		t.Errorf("%s", out)
	}
	if _, err := os.Stat(filepath.Join(state, "veltui", "finalize", "finalize.jsonl")); err != nil {
		t.Error(err)
	}
	stdout, _, code = b.run(t, append(args, "--yes")...)
	if code != ExitRefused || !holdsAll(stdout, "refused: it has ended") {
		t.Errorf("again: exit code %d\n%s", code, stdout)
	}
}

// Nobody answers DownloadRequests here, so nothing can be proven.
func TestFinalizeRefusesWithoutProof(t *testing.T) {
	b := control(t)
	b.create(t, inProgress("unproven", time.Minute))
	b.veleroPod(t, time.Now().Add(-time.Hour))
	stdout, _, code := b.run(t, "finalize", "restore/unproven", "--phase", "Finalizing", "--yes", "--read-only")
	if code != ExitRefused || !holdsAll(stdout, "refused: ", "unknown or contradicting:") {
		t.Errorf("exit code %d\n%s", code, stdout)
	}
	if phase := b.restorePhase(t, "unproven"); phase != "InProgress" {
		t.Errorf("phase %s", phase)
	}
}

// A store that does not answer takes a minute; a person is told what takes so
// long.
func TestFinalizeSaysWhatItWaitsFor(t *testing.T) {
	said, stderr := io.Pipe()
	c := newCLI(nil, nil, nil)
	c.stdio.streams.ErrOut = stderr
	waiting := c.stdio.warnSlow(waitingForAnswerText)
	waiting("whether RestoreResults is stored")
	line, err := bufio.NewReader(said).ReadString('\n')
	waiting("")
	if err != nil || !holdsAll(line, "waiting for Velero", "whether RestoreResults is stored") {
		t.Errorf("says %q, %v", line, err)
	}
}

// On a terminal the context and the name must be typed in full.
func TestFinalizeAsks(t *testing.T) {
	b := control(t)
	b.quiet(t, inProgress("asked", time.Hour)) // no server runs
	contextName := currentContext(t, b)
	for _, c := range []struct {
		typed, says, phase string
		code               int
	}{
		{"y\n", "nothing was done", "InProgress", ExitError},
		{"asked\n", "nothing was done", "InProgress", ExitError},
		{contextName + "/asked\n", "settled", "Failed", ExitOK},
	} {
		cmd := b.command(t, "finalize", "restore/asked", "--phase", "Failed", "--observe", "1s")
		console := startConsole(t, cmd, 200, 100)
		console.sees(t, "Type "+contextName+"/asked to confirm")
		console.typesKeys(t, c.typed)
		console.sees(t, c.says)
		if code := console.exits(t); code != c.code || b.restorePhase(t, "asked") != c.phase {
			t.Errorf("typed %q: exit code %d, phase %s", c.typed, code, b.restorePhase(t, "asked"))
		}
	}
}

// Interrupted at the question: nothing is done, and at once.
func TestFinalizeInterrupted(t *testing.T) {
	b := control(t)
	b.quiet(t, inProgress("interrupted", time.Hour))
	cmd := b.command(t, "finalize", "restore/interrupted", "--phase", "Failed")
	console := startConsole(t, cmd, 200, 100)
	console.sees(t, "to confirm")
	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	if code := console.exits(t); code != ExitInterrupted || b.restorePhase(t, "interrupted") != "InProgress" {
		t.Errorf("exit code %d, phase %s", code, b.restorePhase(t, "interrupted"))
	}
}

func currentContext(t *testing.T, b *bed) string {
	t.Helper()
	data, err := os.ReadFile(b.Kubeconfig())
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range strings.Split(string(data), "\n") {
		if name, found := strings.CutPrefix(line, "current-context: "); found {
			return strings.TrimSpace(name)
		}
	}
	t.Fatalf("no context in %s", data)
	return ""
}

func exitOf(err error) int {
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return exit.ExitCode()
	}
	return ExitOK
}

// Told to end in the middle of retrying: nothing half done, and both the last
// line and the log say that the patch was sent, and that it is unknown whether it was
// applied: a 503 excludes nothing.
func TestFinalizeSignalInMidRetry(t *testing.T) {
	b := control(t)
	for _, signal := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		t.Run(signal.String(), func(t *testing.T) {
			t.Parallel()
			name := "signalled-" + strconv.Itoa(int(signal))
			b.quiet(t, inProgress(name, time.Hour)) // no server runs
			var sent atomic.Int32
			kubeconfig := b.proxied(t, 0, func(w http.ResponseWriter, r *http.Request) bool {
				if r.Method != http.MethodPatch || r.URL.Query().Has("dryRun") {
					return false
				}
				sent.Add(1)
				http.Error(w, "the API server is on its way out", http.StatusServiceUnavailable)
				return true
			})
			state := t.TempDir()
			cmd := through(
				kubeconfig,
				b.command(t, "finalize", "restore/"+name, "--phase", "Failed", "--yes", "-o", "json"),
			)
			cmd.Env = append(cmd.Env, "XDG_STATE_HOME="+state)
			var stdout bytes.Buffer
			cmd.Stdout = &stdout
			messages, err := cmd.StderrPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			lines := bufio.NewScanner(messages)
			for lines.Scan() {
				if strings.HasPrefix(lines.Text(), "patch: attempt 2:") {
					if err := cmd.Process.Signal(signal); err != nil {
						t.Fatal(err)
					}
				}
			}
			err = cmd.Wait()
			if want := 128 + int(signal); exitOf(err) != want {
				t.Errorf("%v, want exit code %d", err, want)
			}
			var d document.Finalization
			if err := json.Unmarshal(
				stdout.Bytes(),
				&d,
			); err != nil || d.Outcome.State != "unfinished" || d.Outcome.Sent != "in doubt" ||
				!strings.Contains(d.Outcome.Message, "unknown whether it was applied") {
				t.Errorf("%v\n%s", err, stdout.String())
			}
			if phase := b.restorePhase(t, name); phase != "InProgress" || sent.Load() < 2 {
				t.Errorf("phase %s after %d attempts", phase, sent.Load())
			}
			log, err := os.ReadFile(filepath.Join(state, "veltui", "finalize", "finalize.jsonl"))
			entries := strings.Split(strings.TrimSpace(string(log)), "\n")
			if last := entries[len(entries)-1]; err != nil || !holdsAll(last, `"event":"end"`, `"sent":"in doubt"`) {
				t.Errorf("%v; the log ends with %s", err, last)
			}
		})
	}
}

// verdictIn is a verdict of a state.
func verdictIn(state diagnosis.State) diagnosis.Verdict {
	if state == diagnosis.Stuck || state == diagnosis.Orphaned {
		return diagnosis.NewProven(state, diagnosis.ProveOwnerGone(diagnosis.Fact{Text: "gone"}), diagnosis.Reason{}, "")
	}
	return diagnosis.NewUnproven(diagnosis.UnprovenState(state), diagnosis.Reason{}, "")
}
