package cmd

import (
	"bufio"
	"encoding/json"
	"fmt"
	"strings"
	"syscall"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/veltui/veltui/internal/stored/results"
	"github.com/veltui/veltui/internal/velero/veleroapi"
	"github.com/veltui/veltui/internal/view/document"
)

// quotaResults are those of a restore into a namespace with a quota, and one
// message that would steer a terminal.
func quotaResults() string {
	var messages []string
	for i := range 7 {
		messages = append(
			messages,
			fmt.Sprintf(
				`"error restoring pods/ops/worker-%[1]d: pods \"worker-%[1]d\" is forbidden: exceeded quota: compute"`,
				i,
			),
		)
	}
	return `{"errors": {"namespaces": {"ops": [` + strings.Join(
		messages,
		",",
	) + `]}}, "warnings": {"cluster": ["could not restore, ClusterRole:ops already exists. \u001b[2JWarning: it differs"]}}`
}

func TestResults(t *testing.T) {
	b := control(t)
	s := openStore(t, b)
	s.files = map[string]string{
		"RestoreResults/into-quota": quotaResults(),
		"RestoreResults/wordless":   `{"errors": {"velero": [""]}}`,
	}
	s.stored(t, b, "b-results", veleroapi.BackupPhaseCompleted)
	for name, status := range map[string]veleroapi.RestoreStatus{
		"into-quota":   {Phase: veleroapi.RestorePhasePartiallyFailed, Errors: 8, Warnings: 1},
		"lost-results": {Phase: veleroapi.RestorePhaseFailed, FailureReason: "found a restore with status \"InProgress\""},
		"wordless":     {Phase: veleroapi.RestorePhasePartiallyFailed, Errors: 1},
		"all-well":     {Phase: veleroapi.RestorePhaseCompleted},
		"not-valid":    {Phase: veleroapi.RestorePhaseFailedValidation, ValidationErrors: []string{"backup not found"}},
		"goes-on":      {Phase: veleroapi.RestorePhaseInProgress, Progress: &veleroapi.RestoreProgress{TotalItems: 9, ItemsRestored: 4}},
		"is-waiting":   {Phase: veleroapi.RestorePhaseWaitingForPluginOperations, Errors: 2},
	} {
		b.create(t, &veleroapi.Restore{ObjectMeta: metav1.ObjectMeta{Namespace: "velero", Name: name},
			Spec: veleroapi.RestoreSpec{BackupName: "b-results"}, Status: status})
	}
	for _, c := range []struct {
		args    []string
		code    int
		says    []string
		silence string
	}{
		{[]string{"restore/into-quota"}, ExitPartiallyFailed, []string{
			"restore velero/into-quota, phase PartiallyFailed: 7 errors, 1 warning", "The status counts 8 errors and 1 warning.",
			"errors, namespace ops (7)", "  7x is forbidden: exceeded quota: compute", "      pods/worker-0, worker-1, worker-2 and 4 more",
			"warnings, cluster (1)", "ClusterRole/ops", `already exists. \x1b[2JWarning`,
			"\ncause: A ResourceQuota of the namespace refuses objects (QuotaExceeded)\n",
			"next: Raise the quota of the namespace", "get resourcequotas -A",
		}, "veltui results"},
		{[]string{"restore/into-quota", "--all"}, ExitPartiallyFailed, []string{"worker-4, worker-5, worker-6"}, "more"},
		{[]string{"restore/lost-results"}, ExitFailed, []string{"Velero stored no results of it.", "Failure reason: found a restore"}, "errors,"},
		{[]string{"restore/wordless"}, ExitPartiallyFailed, []string{"errors, velero (1)\n  (no message)\n"}, "status counts"},
		{[]string{"restore/all-well"}, ExitOK, []string{"No errors and no warnings."}, "status counts"},
		{[]string{"restore/not-valid"}, ExitFailed, []string{"Velero did not start it", "backup not found"}, "stored"},
		{[]string{"restore", "goes-on"}, ExitOK, []string{"when all items are done", "The server's log cannot be read: no pod of Velero's server was seen"}, "errors,"},
		{[]string{"restore/is-waiting"}, ExitOK, []string{"2 errors", "Velero has not stored the results yet."}, "errors, n"},
	} {
		stdout, stderr, code := b.run(t, append([]string{"results", "-n", "velero"}, c.args...)...)
		if code != c.code || !holdsAll(stdout, c.says...) || strings.Contains(stdout, c.silence) || stderr != "" {
			t.Errorf(
				"%q: exit code %d, want %d\n%s%s\nwant %q, not %q",
				c.args,
				code,
				c.code,
				stdout,
				stderr,
				c.says,
				c.silence,
			)
		}
	}
	for _, c := range []struct {
		args []string
		says string
	}{
		{nil, ": a ResourceQuota of the namespace refuses objects"},
		{[]string{"--read-only"}, "what its 8 errors say was not read: read-only"},
	} {
		stdout, stderr, code := b.run(t, append([]string{"explain", "-n", "velero", "restore/into-quota"}, c.args...)...)
		if code != ExitPartiallyFailed || !strings.Contains(stdout, c.says) || stderr != "" {
			t.Errorf("explain %q: exit code %d, want %q in\n%s%s", c.args, code, c.says, stdout, stderr)
		}
	}
	stdout, stderr, code := b.run(t, "results", "-n", "velero", "restore/into-quota", "-o", "json")
	var d document.Results
	if err := json.Unmarshal([]byte(stdout), &d); err != nil || code != ExitPartiallyFailed {
		t.Fatalf("exit code %d, %v: %s%s", code, err, stdout, stderr)
	}
	if d.Kind != "Results" || !d.Complete || d.Job.Name != "into-quota" || len(d.Messages) != 2 {
		t.Fatalf("%+v", d)
	}
	if d.Cause == nil || d.Cause.Reason != "QuotaExceeded" || d.Next == nil || len(d.Next.Commands) != 1 {
		t.Errorf("cause %+v, next %+v", d.Cause, d.Next)
	}
	if m := d.Messages[0]; m.Severity != "error" || m.Scope != "namespace" || m.Namespace != "ops" || m.Count != 7 || len(m.Resources) != 7 ||
		m.Resources[6] != (results.Resource{Kind: "pods", Namespace: "ops", Name: "worker-6"}) ||
		m.Text != "is forbidden: exceeded quota: compute" ||
		!strings.HasPrefix(m.Example, "error restoring pods/ops/worker-0: ") {
		t.Errorf("%+v", m)
	}
	stdout, _, _ = b.run(t, "results", "-n", "velero", "restore/all-well", "-o", "json")
	if d = (document.Results{}); json.Unmarshal([]byte(stdout), &d) != nil || d.Cause != nil || d.Next != nil {
		t.Errorf("of one that is well: %s", stdout)
	}
	stdout, _, _ = b.run(t, "results", "-n", "velero", "restore/goes-on", "-o", "json")
	if d = (document.Results{}); json.Unmarshal([]byte(stdout), &d) != nil || d.Complete || d.ServerLog == nil ||
		!strings.Contains(d.ServerLog.Error, "no pod of") ||
		d.ServerLog.Messages == nil {
		t.Errorf("of one that goes on: %s", stdout)
	}
	for _, args := range [][]string{{"results"}, {"results", "restores"}, {"results", "restore/a", "-o", "table"}} {
		if _, stderr, code := b.run(t, args...); code != ExitUsage {
			t.Errorf("%q: exit code %d: %s", args, code, stderr)
		}
	}
}

// TestResultsWithoutDownloads holds that what is known is printed where nothing
// may be asked for, and that this is said.
func TestResultsWithoutDownloads(t *testing.T) {
	b := control(t)
	b.create(t, restore("unread", veleroapi.RestoreStatus{Phase: veleroapi.RestorePhasePartiallyFailed, Errors: 3}))
	see := []string{"get", "list", "watch"}
	config, err := b.AddUserWithRules(
		t.Context(),
		"results-viewer",
		"velero",
		rbacv1.PolicyRule{APIGroups: []string{"velero.io"}, Resources: []string{"backups", "restores"}, Verbs: see},
	)
	if err != nil {
		t.Fatal(err)
	}
	viewer, err := b.KubeconfigFor(config, "results-viewer.kubeconfig")
	if err != nil {
		t.Fatal(err)
	}
	b.create(t, restore("unended", veleroapi.RestoreStatus{Phase: veleroapi.RestorePhaseInProgress}))
	if stdout, stderr, code := b.run(
		t,
		"results",
		"-n",
		"velero",
		"restore/unended",
		"--kubeconfig",
		viewer,
	); code != ExitOK ||
		stderr != "" ||
		!holdsAll(
			stdout,
			"The server's log cannot be read: ",
			"you need list and get on pods, and get on pods/log, in namespace velero",
		) {
		t.Errorf("without the right to read pods: exit code %d\n%s%s", code, stdout, stderr)
	}
	for _, c := range []struct {
		args []string
		says string
	}{
		{[]string{"--read-only"}, "read-only: to read this, veltui would have to create a DownloadRequest"},
		{[]string{"--kubeconfig", viewer}, "you may not create downloadrequests.velero.io in namespace velero"},
	} {
		stdout, stderr, code := b.run(t, append([]string{"results", "-n", "velero", "restore/unread"}, c.args...)...)
		if code != ExitError || !holdsAll(stdout, "phase PartiallyFailed: 3 errors", "The results cannot be read.") ||
			!strings.Contains(stderr, c.says) {
			t.Errorf("%q: exit code %d\n%s%s", c.args, code, stdout, stderr)
		}
	}
	var left veleroapi.DownloadRequestList
	if err := b.client.List(t.Context(), &left); err != nil || len(left.Items) > 0 {
		t.Errorf("%d download requests, %v", len(left.Items), err)
	}
}

// TestStoredIsAwaitedAloud: where no server runs, nobody answers the
// DownloadRequest for a minute, and a person is told what takes so long.
func TestStoredIsAwaitedAloud(t *testing.T) {
	b := control(t)
	(&store{url: "https://127.0.0.1:1"}).stored(t, b, "b", veleroapi.BackupPhaseCompleted)
	b.create(t, restore("unanswered", veleroapi.RestoreStatus{Phase: veleroapi.RestorePhasePartiallyFailed, Errors: 3}))
	for command, says := range map[string]string{"results": "send the results of restore unanswered", "logs": "send the log of restore unanswered"} {
		cmd := b.command(t, command, "-n", "velero", "restore/unanswered")
		stderr, err := cmd.StderrPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		line, err := bufio.NewReader(stderr).ReadString('\n')
		if err != nil || !holdsAll(line, "waiting for Velero", says) {
			t.Errorf("%s says %q, %v", command, line, err)
		}
		if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
			t.Error(err)
		}
		if err := cmd.Wait(); err == nil {
			t.Errorf("%s ended well", command)
		}
	}
}
