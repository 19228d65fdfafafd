package cmd

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/velero/veleroapi"
	"github.com/veltui/veltui/internal/view/document"
)

func TestGetPrintsTheNumbersOfTheResources(t *testing.T) {
	b := control(t)
	started := metav1.NewTime(time.Now().Add(-time.Minute).Truncate(time.Second))
	b.create(
		t,
		restore("numbers", veleroapi.RestoreStatus{
			Phase:          veleroapi.RestorePhaseInProgress,
			StartTimestamp: &started,
			Progress: &veleroapi.RestoreProgress{
				ItemsRestored: 17,
				TotalItems:    40,
			},
			RestoreItemOperationsAttempted: 3,
			RestoreItemOperationsCompleted: 1,
		}),
	)
	b.create(t, &veleroapi.Backup{
		ObjectMeta: metav1.ObjectMeta{Namespace: "velero", Name: "numbers"},
		Status: veleroapi.BackupStatus{
			Phase:         veleroapi.BackupPhaseFailed,
			FailureReason: "no luck",
			Errors:        2,
			Warnings:      3,
		},
	})
	b.create(t, restore("fresh", veleroapi.RestoreStatus{}))

	stdout, stderr, code := b.run(t, "get", "-o", "json")
	if code != ExitOK || stderr != "" {
		t.Fatalf("exit code %d, messages %q", code, stderr)
	}
	got := list(t, stdout)
	if got.APIVersion != "veltui/v1" || got.Kind != "JobList" {
		t.Errorf("document is %s %s", got.APIVersion, got.Kind)
	}
	var restores veleroapi.RestoreList
	var backups veleroapi.BackupList
	if err := b.client.List(t.Context(), &restores, client.InNamespace("velero")); err != nil {
		t.Fatal(err)
	}
	if err := b.client.List(t.Context(), &backups, client.InNamespace("velero")); err != nil {
		t.Fatal(err)
	}
	if want := len(restores.Items) + len(backups.Items); len(got.Items) != want {
		t.Errorf("%d jobs, the API server has %d", len(got.Items), want)
	}
	items := map[string]document.Job{}
	for _, item := range got.Items {
		items[item.Kind+"/"+item.Name] = item
	}
	for _, r := range restores.Items {
		item := items["Restore/"+r.Name]
		if item.UID != string(r.UID) || item.Phase != string(r.Status.Phase) || item.Errors != r.Status.Errors ||
			item.Operations.Attempted != r.Status.RestoreItemOperationsAttempted || item.Operations.Completed != r.Status.RestoreItemOperationsCompleted {
			t.Errorf("restore %s is %+v, but in the cluster %+v", r.Name, item, r.Status)
		}
		switch {
		case r.Status.Progress == nil:
			if item.Items != nil {
				t.Errorf("restore %s has items %+v, but no progress in the cluster", r.Name, item.Items)
			}
		case item.Items == nil || item.Items.Done != r.Status.Progress.ItemsRestored || item.Items.Total != r.Status.Progress.TotalItems:
			t.Errorf("restore %s has items %+v, in the cluster %+v", r.Name, item.Items, r.Status.Progress)
		}
		if start := r.Status.StartTimestamp; start != nil && !item.StartedAt.Equal(start.Time) {
			t.Errorf("restore %s started at %v, in the cluster at %v", r.Name, item.StartedAt, start)
		}
	}
	failed := items["Backup/numbers"]
	if failed.FailureReason != "no luck" || failed.Errors != 2 || failed.Warnings != 3 || failed.Verdict != nil {
		t.Errorf("the failed backup is %+v", failed)
	}
}

func TestGetFormats(t *testing.T) {
	b := control(t)
	b.create(t, restore("formats", veleroapi.RestoreStatus{Phase: veleroapi.RestorePhaseCompleted}))
	for _, c := range []struct {
		args []string
		code int
		want []string // in stdout, or in stderr if the code is not 0
	}{
		{[]string{"get", "restore/formats"}, 0, []string{"KIND", "NAME", "STAGE", "restore", "formats", "Completed"}},
		{[]string{"get", "restores", "formats", "-o", "wide"}, 0, []string{"FROM", "backup/b"}},
		{[]string{"get", "rst", "formats", "-o", "name"}, 0, []string{"restore.velero.io/formats\n"}},
		{[]string{"get", "rst", "formats", "-o", "yaml"}, 0, []string{"apiVersion: veltui/v1", "name: formats"}},
		{[]string{"get", "rst", "formats", "-o", "jsonpath={.phase}"}, 0, []string{"Completed"}},
		{[]string{"get", "rst/formats", "-o", "jsonpath={.apiVersion} {.kind} {.name} {.phase}"}, 0, []string{"veltui/v1 Restore formats Completed"}},
		{[]string{"get", "rst", "formats", "-o", "json"}, 0, []string{`{
  "apiVersion": "veltui/v1",
`}},
		{[]string{"get", "-o", `jsonpath={.items[?(@.verdict.state=="unknown")].name} {.items[?(@.name=="formats")].phase}`}, 0, []string{"Completed"}},
		{[]string{"get", "rst", "nope"}, 1, []string{`restores.velero.io "nope"`, "not found in namespace velero"}},
		{[]string{"get", "pods"}, 2, []string{"backups or restores"}},
		{[]string{"get", "-o", "xml"}, 2, []string{"-o xml", "table"}},
		{[]string{"get", "-o", "jsonpath={"}, 2, []string{"jsonpath"}},
		{[]string{"get", "--nope"}, 2, []string{"unknown flag", "--help"}},
		{[]string{"nope"}, 2, []string{`"nope"`}},
		{[]string{"version"}, 0, []string{"veltui", "velero API v1."}},
		{[]string{"version", "x"}, 2, []string{"takes no arguments"}},
		{[]string{}, 2, []string{"needs a terminal"}},
		{[]string{"--fps", "0"}, 2, []string{"from 1 to 60"}},
		{[]string{"--theme", "pink"}, 2, []string{"dark", "light", "mono"}},
		{[]string{"--context", "nope", "get"}, 1, []string{"nope"}},
	} {
		stdout, stderr, code := b.run(t, c.args...)
		text := stdout
		if c.code != 0 {
			text = stderr
		}
		if code != c.code || !holdsAll(text, c.want...) {
			t.Errorf(
				"%v: exit code %d, stdout %q, stderr %q; want %d and %q",
				c.args,
				code,
				stdout,
				stderr,
				c.code,
				c.want,
			)
		}
		if strings.Contains(stderr, "panic") || strings.Contains(stderr, "goroutine") {
			t.Errorf("%v: %s", c.args, stderr)
		}
	}
}

// What kubectl's users type, with what they get from it: -l is a question to the API
// server, and with a name a mistake.
func TestGetLikeKubectl(t *testing.T) {
	b := control(t)
	for name, errors := range map[string]int{"like-b": 1, "like-a": 2} {
		r := restore(name, veleroapi.RestoreStatus{Phase: veleroapi.RestorePhasePartiallyFailed, Errors: errors})
		r.Labels = map[string]string{"like": "kubectl", "one": name}
		b.create(t, r)
	}
	const both = "restore.velero.io/like-a\nrestore.velero.io/like-b\n"
	for _, c := range []struct {
		args, stdout, says string
		code               int
	}{
		{"restores -l like=kubectl -o name", both, "", 0},
		{"backups,restores -l like=kubectl -o name", both, "", 0},
		{"rst,bak -l like=kubectl,one!=like-a -o name", "restore.velero.io/like-b\n", "", 0},
		{"-l like=kubectl -o name --sort-by errors", "restore.velero.io/like-b\nrestore.velero.io/like-a\n", "", 0},
		{"-l like=kubectl -o jsonpath={.items[*].errors} --sort-by=.status.errors", "1 2\n", "", 0},
		{"-l like=kubectl --no-headers --sort-by name", "restore   like-a   PartiallyFailed   -   -   -   2   -   -", "", 0},
		{"-l like=nobody", "", "No backups or restores found in namespace velero.\n", 0},
		{"restores -l like=kubectl --stuck", "", "No stuck restores found in namespace velero.\n", 0},
		{"restores like-a -l like=kubectl", "", "--selector cannot be combined with names, here like-a", 2},
		{"restores like-a --stuck", "", "--stuck cannot be combined with names, here like-a", 2},
		{"restores like-c -w", "", `restores.velero.io "like-c"`, 1},
		{"-l like=(", "", "--selector like=(: ", 2},
		{"-l like=kubectl --sort-by .status.nope", "", "--sort-by .status.nope: no job has such a field", 1},
		{"--sort-by {", "", "expected a column (context, namespace, kind, name,", 2},
		{"bak,rst like-a -o name", "restore.velero.io/like-a\n", `backups.velero.io "like-a"`, 1},
	} {
		stdout, stderr, code := b.run(t, append([]string{"get"}, strings.Fields(c.args)...)...)
		if c.stdout == "" || strings.HasSuffix(c.stdout, "\n") {
			if stdout != c.stdout {
				t.Errorf("get %s: %q, want %q", c.args, stdout, c.stdout)
			}
		} else if !strings.HasPrefix(stdout, c.stdout) {
			t.Errorf("get %s: %q, want %q", c.args, stdout, c.stdout)
		}
		if code != c.code || c.says == "" && stderr != "" || !strings.Contains(stderr, c.says) {
			t.Errorf("get %s: exit code %d, %q; want %d, %q", c.args, code, stderr, c.code, c.says)
		}
	}
}

func TestGetWithoutAClusterSaysWhatToDo(t *testing.T) {
	b := control(t)
	cmd := b.command(t)
	cmd.Args = []string{cmd.Args[0], "get"}
	cmd.Env = append(
		cmd.Env,
		"KUBECONFIG="+filepath.Join(t.TempDir(), "none"),
		"HOME="+t.TempDir(),
		"KUBERNETES_SERVICE_HOST=",
		"KUBERNETES_MASTER=",
	)
	out, _ := cmd.CombinedOutput()
	if code := cmd.ProcessState.ExitCode(); code != ExitError ||
		!holdsAll(string(out), "no cluster is configured", "--kubeconfig") {
		t.Errorf("exit code %d: %s", code, out)
	}
	_, stderr, code := b.run(t, "get", "--server", "https://127.0.0.1:1", "--request-timeout", "2s")
	if code != ExitError || !holdsAll(stderr, "gave up after 2s", "refused", "--request-timeout") {
		t.Errorf("exit code %d: %s", code, stderr)
	}
}

// Every total and count that Velero wrote must come out of `get -w`, however
// close together the changes are: the recordings of a real Velero are written
// as fast as the API server takes them.
func TestGetWatchMissesNothing(t *testing.T) {
	b := control(t)
	recordings, err := filepath.Glob(filepath.Join("..", "job", "testdata", "replays", "*", "watch.jsonl"))
	if err != nil || len(recordings) < 5 {
		t.Fatalf("%d recordings, %v", len(recordings), err)
	}
	follower, lines := b.follow(t, "get", "-w", "-o", "json")
	for _, path := range recordings {
		t.Run(filepath.Base(filepath.Dir(path)), func(t *testing.T) {
			name, want := b.play(t, path)
			var got []string
			deadline := time.After(patience)
			for len(got) == 0 || got[len(got)-1] != want[len(want)-1] {
				select {
				case item := <-lines:
					if item.Deleted || item.Name != name {
						continue
					}
					got = appendChanged(got, progressOf(item.Phase, item.Items))
				case <-deadline:
					t.Fatalf("the end never came; got %q, want %q", got, want)
				}
			}
			if fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("get -w printed\n%q, Velero wrote\n%q", got, want)
			}
		})
	}
	if err := follower.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	_ = follower.Wait()
	if code := follower.ProcessState.ExitCode(); code != ExitInterrupted {
		t.Errorf("interrupted with exit code %d", code)
	}
}

// follow starts a command that prints JSON lines, and returns once it follows.
func (b *bed) follow(t *testing.T, args ...string) (*exec.Cmd, <-chan document.Job) {
	t.Helper()
	follower, lines := b.followIn(t, args...)
	b.create(t, restore("marker", veleroapi.RestoreStatus{}))
	for item := range lines {
		if item.Name == "marker" {
			break
		}
	}
	return follower, lines
}

// followIn starts veltui and reads its JSON lines.
func (b *bed) followIn(t *testing.T, args ...string) (*exec.Cmd, <-chan document.Job) {
	t.Helper()
	follower := b.command(t, args...)
	out, err := follower.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := follower.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = follower.Process.Kill() })
	lines := make(chan document.Job, 10_000)
	go func() {
		defer close(lines)
		scanner := bufio.NewScanner(out)
		scanner.Buffer(nil, 1<<20)
		for scanner.Scan() {
			var item document.Job
			if json.Unmarshal(scanner.Bytes(), &item) == nil {
				lines <- item
			}
		}
	}()
	return follower, lines
}

// play writes a recording of one object into the API server, event by event,
// and returns its name and the phases and numbers that were written.
func (b *bed) play(t *testing.T, path string) (name string, written []string) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var version string
	for line := range strings.Lines(string(data)) {
		var event struct{ Object unstructured.Unstructured }
		if err := json.Unmarshal([]byte(line), &event); err != nil {
			t.Fatal(err)
		}
		o := &event.Object
		o.SetUID("")
		o.SetFinalizers(nil)
		o.SetResourceVersion(version)
		written = appendChanged(written, recordedProgress(t, o))
		if version == "" {
			b.create(t, o)
		} else if err := b.client.Update(t.Context(), o); err != nil {
			t.Fatal(err)
		}
		name, version = o.GetName(), o.GetResourceVersion()
	}
	return name, written
}

func recordedProgress(t *testing.T, o *unstructured.Unstructured) string {
	t.Helper()
	phase, _, _ := unstructured.NestedString(o.Object, "status", "phase")
	progress, known, err := unstructured.NestedMap(o.Object, "status", "progress")
	if err != nil {
		t.Fatal(err)
	}
	if !known {
		return progressOf(phase, nil)
	}
	number := func(keys ...string) (n int) {
		for _, key := range keys {
			if v, ok := progress[key].(int64); ok {
				n = int(v)
			}
		}
		return n
	}
	return progressOf(phase, &job.Items{Done: number("itemsRestored", "itemsBackedUp"), Total: number("totalItems")})
}

func progressOf(phase string, items *job.Items) string {
	if items == nil {
		return phase + " -"
	}
	return fmt.Sprintf("%s %d/%d", phase, items.Done, items.Total)
}

// appendChanged leaves out repetitions: a change of something else prints the same
// numbers again.
func appendChanged(lines []string, line string) []string {
	if len(lines) > 0 && lines[len(lines)-1] == line {
		return lines
	}
	return append(lines, line)
}

// hostile is text that a tenant may put into a resource.
var hostile = "\x1b[31mred\x1b]52;c;aGk=\x07\u009b31m\u202eevil\u2066\u200b" + strings.Repeat("x", 10_000)

func TestGetIsDeafToHostileText(t *testing.T) {
	b := control(t)
	o := restore(
		"hostile",
		veleroapi.RestoreStatus{
			Phase:            veleroapi.RestorePhaseFailed,
			FailureReason:    hostile,
			ValidationErrors: []string{hostile},
		},
	)
	o.Spec.BackupName = hostile
	b.create(t, o)
	for _, format := range []string{"table", "wide", "json", "yaml", "jsonpath={}"} {
		stdout, stderr, code := b.run(t, "get", "restore/hostile", "-o", format)
		if code != ExitOK {
			t.Errorf("%s: exit code %d: %s", format, code, stderr)
		}
		checkHarmless(t, format, stdout)
		if len(stdout) > 60_000 {
			t.Errorf("%s: %d bytes for one restore", format, len(stdout))
		}
	}
}

// checkHarmless finds what could steer a terminal.
func checkHarmless(t *testing.T, where, text string) {
	t.Helper()
	if !utf8.ValidString(text) {
		t.Errorf("%s: not UTF-8", where)
	}
	for _, r := range text {
		switch {
		case r == '\n' || r == '\t':
		case r < 0x20 || r >= 0x7f && r < 0xa0 || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 || r >= 0x200b && r <= 0x200f:
			t.Errorf("%s: %U reaches the output", where, r)
			return
		}
	}
}
