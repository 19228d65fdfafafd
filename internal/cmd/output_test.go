package cmd

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/veltui/veltui/internal/sanitize"
	"github.com/veltui/veltui/internal/velero/veleroapi"
	"github.com/veltui/veltui/internal/view/describe"
	"github.com/veltui/veltui/internal/view/document"
)

// documents are all that is printed for machines.
var documents = []any{
	document.JobList{},
	document.Explanation{},
	describe.Document{},
	document.Finalization{},
	document.Estimate{},
	document.Results{},
	document.LogLine{},
	document.EtcdBackupList{},
	document.Version{},
}

// TestDocumentsCanAlwaysBeWritten holds the types of all documents to what can
// be written whatever it holds.
func TestDocumentsCanAlwaysBeWritten(t *testing.T) {
	for _, d := range documents {
		checkWritable(t, reflect.TypeOf(d).Name(), reflect.TypeOf(d))
	}
}

func checkWritable(t *testing.T, path string, of reflect.Type) {
	t.Helper()
	if of == reflect.TypeFor[document.Moment]() || of == reflect.TypeFor[document.Number]() {
		return
	}
	switch of.Kind() {
	case reflect.String, reflect.Bool, reflect.Int, reflect.Int64:
	case reflect.Pointer, reflect.Slice:
		checkWritable(t, path, of.Elem())
	case reflect.Map:
		if of.Key().Kind() != reflect.String {
			t.Errorf("%s: keys of kind %s", path, of.Key().Kind())
		}
		checkWritable(t, path, of.Elem())
	case reflect.Struct:
		if of.Implements(reflect.TypeFor[json.Marshaler]()) ||
			reflect.PointerTo(of).Implements(reflect.TypeFor[json.Marshaler]()) {
			t.Errorf("%s: %s writes itself, and may fail", path, of)
		}
		for i := range of.NumField() {
			checkWritable(t, path+"."+of.Field(i).Name, of.Field(i).Type)
		}
	default:
		t.Errorf("%s: a %s may hold what cannot be written", path, of)
	}
}

func TestAnyTimeAndNumberCanBeWritten(t *testing.T) {
	read := func(text string) time.Time {
		at, err := time.Parse(time.RFC3339, text)
		if err != nil {
			t.Fatal(err)
		}
		return at
	}
	for _, at := range []time.Time{
		read("9999-12-31T23:59:59-12:00"), read("9999-12-31T23:59:59-23:59"), read("9999-12-31T23:59:59Z"),
		read("0000-01-01T00:00:00+12:00"), read("0000-01-01T00:00:00+23:59"), read("2026-11-21T03:04:05Z"),
	} {
		data, err := json.Marshal(document.Moment{Time: at.Local()})
		if err != nil {
			t.Fatal(err)
		}
		var back time.Time
		if err := json.Unmarshal(data, &back); err != nil || !back.Equal(at) {
			t.Errorf("%s was written as %s, %v", at, data, err)
		}
	}
	for _, at := range []time.Time{time.Unix(math.MaxInt64/2, 0), time.Unix(math.MinInt64/2, 0), time.Date(-5, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(20000, 1, 1, 0, 0, 0, 0, time.UTC)} {
		if data, err := json.Marshal(document.Moment{Time: at}); err != nil || len(data) < 20 {
			t.Errorf("%d: %s, %v", at.Year(), data, err)
		}
	}
	for value, want := range map[float64]string{math.Inf(1): "null", math.Inf(-1): "null", math.MaxFloat64: "1.7976931348623157e+308", 0.25: "0.25"} {
		if data, err := json.Marshal(document.Number(value)); err != nil || string(data) != want {
			t.Errorf("%v was written as %s, %v", value, data, err)
		}
	}
	if data, err := json.Marshal(document.Number(math.NaN())); err != nil || string(data) != "null" {
		t.Errorf("%s, %v", data, err)
	}
}

// extreme is a restore with values that the CRD lets through and no program
// expects.
func extreme(name, at string, n int64) *unstructured.Unstructured {
	text := "\x7f\u009b\ufffe\u2028<<"
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "velero.io/v1",
		"kind":       "Restore",
		"metadata":   map[string]any{"namespace": "velero", "name": name, "annotations": map[string]any{"a": text}},
		"spec": map[string]any{
			"backupName":       text,
			"namespaceMapping": map[string]any{"<<": "a", strings.Repeat("k", 2000): text, text: "c"},
		},
		"status": map[string]any{"phase": "InProgress", "startTimestamp": at, "completionTimestamp": at,
			"failureReason": text, "validationErrors": []any{text, text}, "warnings": n, "errors": -n,
			"restoreItemOperationsAttempted": n, "restoreItemOperationsCompleted": -n, "restoreItemOperationsFailed": n,
			"progress": map[string]any{"itemsRestored": n, "totalItems": -n}},
	}}
}

var extremes = []struct {
	at string
	n  int64
}{
	{"9999-12-31T23:59:59-12:00", math.MaxInt64},
	{"9999-12-31T23:59:59.999999-23:59", math.MinInt64 + 1},
	{"0000-01-01T00:00:00+12:00", 0},
	{"0000-01-01T00:00:00+23:59", -1},
	{"0001-01-01T00:00:00Z", 1},
	{"1677-09-21T00:12:43Z", 1 << 53},
}

func TestAnyValuePrintsInEveryFormat(t *testing.T) {
	b := control(t)
	for i, x := range extremes {
		b.create(t, extreme(fmt.Sprintf("extreme-%d", i), x.at, x.n))
		t.Run(x.at, func(t *testing.T) {
			t.Parallel()
			anyValuePrints(t, b, fmt.Sprintf("extreme-%d", i))
		})
	}
	// Whole numbers stay whole.
	if stdout, _, _ := b.run(
		t,
		"get",
		"restore/extreme-0",
		"-o",
		"jsonpath={.errors}",
	); strings.TrimSpace(
		stdout,
	) != fmt.Sprint(
		-math.MaxInt64,
	) {
		t.Errorf("%d errors are printed as %s", -math.MaxInt64, stdout)
	}
}

func anyValuePrints(t *testing.T, b *bed, name string) {
	for _, format := range []string{"table", "wide", "json", "yaml", "name", "jsonpath={}", "jsonpath={.startedAt} {.errors} {.items.done}"} {
		stdout, stderr, code := b.run(t, "get", "restore/"+name, "-o", format)
		if code != ExitOK || stderr != "" || !strings.Contains(stdout, "") || len(stdout) < 5 {
			t.Errorf("%s as %s: exit code %d, %q, %q", name, format, code, stderr, stdout)
		}
		checkDocument(t, format, stdout)
	}
	for _, format := range []string{"text", "json", "yaml"} {
		stdout, stderr, code := b.run(t, "explain", "restore/"+name, "-o", format)
		if code == ExitError || code == ExitUsage || len(stdout) < 5 {
			t.Errorf("%s explained as %s: exit code %d, %q, %q", name, format, code, stderr, stdout)
		}
		checkDocument(t, format, stdout)
	}
}

func checkDocument(t *testing.T, format, stdout string) {
	t.Helper()
	checkHarmless(t, format, stdout)
	var document map[string]any
	switch format {
	case "json":
		if err := json.Unmarshal([]byte(stdout), &document); err != nil {
			t.Errorf("%v in\n%s", err, stdout)
		}
	case "yaml":
		if err := yaml.Unmarshal([]byte(stdout), &document); err != nil {
			t.Errorf("%v in\n%s", err, stdout)
		}
	}
}

// The patch lands, and what is said of it is whole, whatever the restore holds;
// the copy that is kept of it reads back as it was.
func TestFinalizeOfAnyValueIsPrinted(t *testing.T) {
	b := control(t)
	for i, x := range extremes {
		t.Run(x.at, func(t *testing.T) {
			t.Parallel()
			format := []string{"json", "yaml"}[i%2]
			name := fmt.Sprintf("extreme-end-%d", i)
			o := extreme(name, x.at, x.n)
			b.quiet(t, o.DeepCopy())
			cmd := b.command(
				t,
				"finalize",
				"restore/"+name,
				"--phase",
				"Failed",
				"--yes",
				"--observe",
				"1s",
				"-o",
				format,
			)
			state := t.TempDir()
			cmd.Env = append(cmd.Env, "XDG_STATE_HOME="+state)
			out, err := cmd.Output()
			var d document.Finalization
			if yaml.Unmarshal(out, &d) != nil || d.Outcome == nil {
				t.Fatalf("%v: %v\n%s", x, err, out)
			}
			checkDocument(t, format, string(out))
			if err != nil || d.Outcome.Sent != "landed" || b.restorePhase(t, name) != "Failed" {
				t.Errorf("%v: %v, %+v", x, err, d.Outcome)
			}
			copied, err := os.ReadFile(d.Outcome.Copy)
			var back map[string]any
			if err != nil || json.Unmarshal(copied, &back) != nil && yaml.Unmarshal(copied, &back) != nil {
				t.Fatalf("%v\n%.300s", err, copied)
			}
			mapping, _, _ := unstructured.NestedMap(back, "spec", "namespaceMapping")
			if want := o.Object["spec"].(map[string]any)["namespaceMapping"]; !reflect.DeepEqual(mapping, want) {
				t.Errorf("the copy has %+q, the restore %+q", mapping, want)
			}
			log, err := os.ReadFile(filepath.Join(state, "veltui", "finalize", "finalize.jsonl"))
			if err != nil ||
				!holdsAll(string(log), `"event":"begin"`, `"event":"send"`, `"event":"landed"`, `"event":"end"`) {
				t.Errorf("%v: %s", err, log)
			}
		})
	}
}

// What was sent is said on standard error where standard output cannot be
// written, and decides about the exit code.
func TestOutcomeIsToldWhereItCannotBePrinted(t *testing.T) {
	b := control(t)
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = full.Close() })
	for _, c := range []struct{ name, output, to string }{
		{"disk-full", "json", "full"}, {"disk-full-yaml", "yaml", "full"}, {"pipe-broken", "json", "pipe"}, {"pipe-broken-late", "text", "late"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b.quiet(t, inProgress(c.name, time.Hour))
			cmd := b.command(
				t,
				"finalize",
				"restore/"+c.name,
				"--phase",
				"Failed",
				"--yes",
				"--observe",
				"1s",
				"-o",
				c.output,
			)
			var stderr bytes.Buffer
			cmd.Stderr = &stderr
			cmd.Stdout = full
			if c.to != "full" {
				r, w, err := os.Pipe()
				if err != nil {
					t.Fatal(err)
				}
				cmd.Stdout = w
				defer w.Close()
				if c.to == "late" {
					go readUntil(r, "kubectl") // the last line before it is sent
				} else {
					_ = r.Close()
				}
			}
			err := cmd.Run()
			if exitOf(err) != ExitOK ||
				!holdsAll(stderr.String(), "error: cannot print the outcome", "settled, landed: ", "finalize.jsonl") {
				t.Errorf("%v\n%s", err, stderr.String())
			}
			if phase := b.restorePhase(t, c.name); phase != "Failed" {
				t.Errorf("phase %s", phase)
			}
		})
	}
	// Before anything is sent, it is not sent.
	b.quiet(t, inProgress("unseen", time.Hour))
	cmd := b.command(t, "finalize", "restore/unseen", "--phase", "Failed", "--yes")
	cmd.Stdout = full
	if err := cmd.Run(); exitOf(err) != ExitError || b.restorePhase(t, "unseen") != "InProgress" {
		t.Errorf("%v, phase %s", err, b.restorePhase(t, "unseen"))
	}
	// A dry run that nobody can read is no success.
	cmd = b.command(t, "finalize", "restore/unseen", "--phase", "Failed", "--dry-run=server", "-o", "json")
	cmd.Stdout = full
	if err := cmd.Run(); exitOf(err) != ExitError {
		t.Errorf("dry run: %v", err)
	}
}

// readUntil reads until a line and closes.
func readUntil(r io.ReadCloser, command string) {
	defer r.Close()
	for lines := bufio.NewScanner(r); lines.Scan() && !strings.HasPrefix(strings.TrimSpace(lines.Text()), command); {
	}
}

// A reader that has enough is no error to speak of.
func TestGetIntoABrokenPipe(t *testing.T) {
	b := control(t)
	b.create(t, restore("unread", veleroapi.RestoreStatus{}))
	cmd := b.command(t, "get")
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	_ = r.Close()
	var stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = w, &stderr
	if err := cmd.Run(); exitOf(err) != 141 || stderr.Len() > 0 {
		t.Errorf("%v, %q", err, stderr.String())
	}
}

// What goes wrong is said once, whoever finds it.
func TestErrorsAreToldOnce(t *testing.T) {
	b := control(t)
	b.quiet(t, inProgress("told-once", time.Hour))
	for _, args := range [][]string{
		{"-n", "nope"}, {"get", "-n", "nope"}, {"explain", "restore/told-once", "-n", "nope"}, {"get", "restore/nobody"}, {"get", "-o", "nonsense"},
		{"finalize", "restore/told-once", "--phase", "Failed", "--yes", "--read-only"}, {"explain", "restore/told-once", "--artifacts", "--read-only"},
	} {
		stdout, stderr, _ := b.run(t, args...)
		told := map[string]int{}
		for line := range strings.Lines(stdout + stderr) {
			if line = strings.TrimSpace(strings.TrimPrefix(line, "error: ")); line != "" {
				told[line]++
			}
		}
		for line, times := range told {
			if times > 1 || strings.Count(line, "read-only") > 1 || strings.Count(line, "nope") > 1 {
				t.Errorf("%q tells %q %d times:\n%s%s", args, line, times, stdout, stderr)
			}
		}
		if len(told) == 0 {
			t.Errorf("%q tells nothing", args)
		}
	}
}

// Formats are checked before the cluster is asked for anything.
func TestOutputFormatIsCheckedFirst(t *testing.T) {
	for _, args := range [][]string{
		{"get", "-o", "jsonpath={.items[}"}, {"get", "-o", "xml"},
		{"finalize", "restore/x", "--yes", "-o", "jsonpath={.outcome}"}, {"explain", "restore/x", "-o", "wide"}, {"estimate", "backup/x", "-o", "name"},
	} {
		b := control(t)
		cmd := b.command(t, args...)
		for i, arg := range cmd.Args {
			if arg == "--kubeconfig" {
				cmd.Args[i+1] = "/nowhere"
			}
		}
		if out, err := cmd.CombinedOutput(); exitOf(err) != ExitUsage {
			t.Errorf("%q: %v\n%s", args, err, out)
		}
	}
}

func TestErrorsOfOthersAreCleanAndBounded(t *testing.T) {
	var b strings.Builder
	err := fmt.Errorf(
		"reading: \x1b]52;c;aGk=\x07\u009b\u202e\nerror: forged\n%s",
		strings.Repeat(strings.Repeat("x", 10_000)+"\n", 100),
	)
	if code := reportExitError(err, sanitize.NewWriter(&b)); code != ExitError {
		t.Errorf("exit code %d", code)
	}
	text := b.String()
	checkHarmless(t, "an error", text)
	if !holdsAll(text, `error: reading: \x1b]52`, "\n  error: forged\n") || len(text) > 200_000 {
		t.Errorf("%d bytes: %.300q", len(text), text)
	}
}
