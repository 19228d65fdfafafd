package cmd

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/veltui/veltui/internal/velero/veleroapi"
	"github.com/veltui/veltui/internal/view/document"
)

// hostileLog is a stored log in which others have written.
const hostileLog = `time="2026-11-21T01:00:00Z" level=info msg="Setting up" restore=velero/said
time="2026-11-21T01:00:01Z" level=warning msg="odd" restore=velero/said
goroutine 1 [running]:
time="2026-11-21T01:00:02Z" level=error msg="cannot ` + "\x1b[2J" + `" error="no ` + "\u202e" + `way" restore=velero/said
time="2026-11-21T01:00:03Z" level=info msg="done" restore=velero/said
`

func TestLogs(t *testing.T) {
	b := control(t)
	s := openStore(t, b)
	s.files = map[string]string{"RestoreLog/said": hostileLog}
	s.stored(t, b, "b-logs", veleroapi.BackupPhaseCompleted)
	for name, phase := range map[string]veleroapi.RestorePhase{"said": veleroapi.RestorePhaseCompleted, "unsaid": veleroapi.RestorePhaseCompleted} {
		b.create(t, &veleroapi.Restore{ObjectMeta: metav1.ObjectMeta{Namespace: "velero", Name: name},
			Spec: veleroapi.RestoreSpec{BackupName: "b-logs"}, Status: veleroapi.RestoreStatus{Phase: phase}})
	}
	for _, c := range []struct {
		args           []string
		code           int
		stdout, stderr []string
		silence        string
	}{
		{[]string{"restore/said"}, ExitOK, []string{"Setting up", "goroutine 1", `cannot \x1b[2J`, `no \u202eway`, "done"}, nil, "\x1b"},
		{[]string{"restore/said", "-f"}, ExitOK, []string{"done"}, nil, "\x1b"},
		{[]string{"restore", "said", "--level", "warning"}, ExitOK, []string{"odd", "goroutine 1", "cannot"}, nil, "Setting up"},
		{[]string{"restore/said", "--level", "warn", "--since", "1s"}, ExitOK, nil, []string{"no line about restore said in the last 1s was logged"}, "odd"},
		{[]string{"restore/unsaid"}, ExitError, nil, []string{"the log of restore unsaid", "not in the object store"}, "said "},
		{[]string{"restore/said", "--read-only"}, ExitError, nil, []string{"read-only", "DownloadRequest"}, "Setting up"},
		{[]string{"restore/nobody"}, ExitError, nil, []string{"not found"}, "Setting up"},
		{[]string{"restore/said", "-o", "yaml"}, ExitUsage, nil, []string{"expected text or json"}, "Setting up"},
		{[]string{"restore/said", "--level", "loud"}, ExitUsage, nil, []string{"--level loud: expected trace"}, "Setting up"},
		{[]string{"restore/said", "--since", "-5m"}, ExitUsage, nil, []string{"above zero"}, "Setting up"},
		{[]string{"restores"}, ExitUsage, nil, []string{"expected one KIND/NAME"}, "Setting up"},
	} {
		stdout, stderr, code := b.run(t, append([]string{"logs", "-n", "velero"}, c.args...)...)
		if code != c.code || !holdsAll(stdout, c.stdout...) || !holdsAll(stderr, c.stderr...) ||
			strings.Contains(stdout, c.silence) ||
			len(c.stderr) == 0 && stderr != "" ||
			len(c.stdout) == 0 && stdout != "" {
			t.Errorf(
				"%q: exit code %d, want %d\n%s%s\nwant %q and %q, not %q",
				c.args,
				code,
				c.code,
				stdout,
				stderr,
				c.stdout,
				c.stderr,
				c.silence,
			)
		}
	}
	stdout, stderr, code := b.run(t, "logs", "-n", "velero", "restore/said", "-o", "json", "--level", "error")
	var l document.LogLine
	if err := json.Unmarshal([]byte(stdout), &l); err != nil || code != ExitOK || stderr != "" {
		t.Fatalf("exit code %d, %v: %s%s", code, err, stdout, stderr)
	}
	if l.Level != "error" || l.Text != `cannot \x1b[2J` || l.Error != `no \u202eway` ||
		l.Fields["restore"] != "velero/said" ||
		l.Time.IsZero() ||
		l.Time.Second() != 2 {
		t.Errorf("%+v", l)
	}
}

// The demo's pods have logs that grow; the test bed has no kubelet.
func TestLogsFromPods(t *testing.T) {
	h := startHeadless(t)
	name := func(kind, begins string) string {
		t.Helper()
		stdout, stderr, _ := h.run(t, "get", kind, "-o", "name")
		for n := range strings.Lines(stdout) {
			if n = strings.TrimSpace(n); strings.Contains(n, begins) {
				return n
			}
		}
		t.Fatalf("no %s: %s%s", begins, stdout, stderr)
		return ""
	}
	media, running := name("backups", "media-nightly"), name("restores", "everything-to-dr")

	// What is stuck has no stored log; the container that ran before has ended.
	stdout, stderr, code := h.run(t, "logs", "restore/crm-rollback", "--read-only")
	if code != ExitOK ||
		!holdsAll(stdout, "restore=velero/crm-rollback", "Error updating restore's status from InProgress") ||
		stderr != "" {
		t.Errorf("crm-rollback: exit code %d\n%s%s", code, stdout, stderr)
	}
	// So are its warnings, where its results must not be downloaded.
	stdout, stderr, code = h.run(t, "results", "restore/crm-rollback", "--read-only")
	if code != ExitError ||
		!holdsAll(
			stdout,
			"The results cannot be read.",
			"So far, from the server's log: 0 errors, 1 warning.",
			"not exact counts",
			"warnings, velero (1)",
			"connection refused",
		) ||
		!strings.Contains(stderr, "read-only") {
		t.Errorf("results of crm-rollback: exit code %d\n%s%s", code, stdout, stderr)
	}
	stdout, stderr, _ = h.run(t, "results", "restore/crm-rollback", "--read-only", "-o", "json")
	var d document.Results
	if err := json.Unmarshal(
		[]byte(stdout),
		&d,
	); err != nil || d.Complete || len(d.Messages) != 0 || d.ServerLog == nil || d.ServerLog.Warnings != 1 || len(d.ServerLog.Messages) != 1 ||
		d.ServerLog.Error != "" {
		t.Errorf("results of crm-rollback: %v, %+v\n%s%s", err, d.ServerLog, stdout, stderr)
	}
	stdout, stderr, code = h.run(t, "logs", "restore/ops-rollback", "--read-only")
	if code != ExitOK || !holdsAll(stdout, "restore=velero/ops-rollback") ||
		!holdsAll(stderr, "the stored log cannot be read: read-only", "still have") {
		t.Errorf("ops-rollback: exit code %d\n%.300s%s", code, stdout, stderr)
	}
	for line := range strings.Lines(stdout) {
		if !strings.Contains(line, "ops-rollback") {
			t.Errorf("a line of another: %s", line)
		}
	}
	eventually(t, "a node-agent logs about the volumes", func() bool {
		stdout, _, code = h.run(t, "logs", media, "--volumes")
		return code != ExitOK || holdsAll(stdout, "[node-agent-", "dataupload=velero/media-nightly")
	})
	if code != ExitOK {
		t.Errorf("volumes: exit code %d\n%s", code, stdout)
	}

	// What comes is printed when it comes; an interrupt ends it, and a reader that
	// goes too.
	follow := func() (*exec.Cmd, *bufio.Scanner, *bytes.Buffer) {
		cmd := exec.Command(h.cmd.Path, "--kubeconfig", h.kubeconfig, "logs", media, "-f", "--volumes")
		cmd.Env = h.cmd.Env
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		var errOut bytes.Buffer
		cmd.Stderr = &errOut
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = cmd.Process.Kill(); _ = out.Close() })
		return cmd, bufio.NewScanner(out), &errOut
	}
	cmd, lines, errOut := follow()
	if !lines.Scan() {
		t.Fatalf("nothing came: %s", errOut)
	}
	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	for lines.Scan() {
	}
	if _ = cmd.Wait(); cmd.ProcessState.ExitCode() != ExitInterrupted || strings.Contains(errOut.String(), "error") {
		t.Errorf("interrupted: exit code %d\n%s", cmd.ProcessState.ExitCode(), errOut)
	}
	piped := exec.Command(
		"sh",
		"-c",
		`"$0" --kubeconfig "$1" logs "$2" | head -1; exit 0`,
		h.cmd.Path,
		h.kubeconfig,
		running,
	)
	piped.Env = h.cmd.Env
	if out, err := piped.CombinedOutput(); err != nil || bytes.Count(out, []byte("\n")) != 1 {
		t.Errorf("into head: %v\n%s", err, out)
	}
}
