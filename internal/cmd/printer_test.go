package cmd

import (
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/veltui/veltui/internal/testbed"
	"github.com/veltui/veltui/internal/velero/veleroapi"
	"github.com/veltui/veltui/internal/view/document"
)

const malformedNamespace = "malformed"

// malformedBed is a namespace with one sound backup that runs, and one resource
// for each field that the CRD takes and Velero's type does not.
type malformedBed struct {
	*bed
	t       *testing.T
	good    *veleroapi.Backup
	created []testbed.CreatedMalformed
}

func newMalformedBed(t *testing.T) *malformedBed {
	t.Helper()
	m := &malformedBed{bed: control(t), t: t}
	err := m.client.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: malformedNamespace}})
	if client.IgnoreAlreadyExists(err) != nil {
		t.Fatal(err)
	}
	now := metav1.Now()
	m.good = &veleroapi.Backup{ObjectMeta: metav1.ObjectMeta{Namespace: malformedNamespace, Name: "good"},
		Status: veleroapi.BackupStatus{Phase: veleroapi.BackupPhaseInProgress, StartTimestamp: &now,
			Progress: &veleroapi.BackupProgress{ItemsBackedUp: 10, TotalItems: 40}}}
	m.create(t, m.good)
	return m
}

func (m *malformedBed) spoil() {
	m.t.Helper()
	fields, err := testbed.MalformedFields()
	if err != nil {
		m.t.Fatal(err)
	}
	m.created, err = testbed.CreateMalformed(
		m.t.Context(),
		m.client,
		malformedNamespace,
		fields,
		func(o *unstructured.Unstructured) {
			o.SetLabels(map[string]string{veleroapi.BackupUIDLabel: string(m.good.UID)})
			if o.GetKind() == "Restore" {
				_ = unstructured.SetNestedField(o.Object, "good", "spec", "backupName")
			}
		},
	)
	m.t.Cleanup(func() {
		for _, c := range m.created {
			if err := client.IgnoreNotFound(m.client.Delete(context.Background(), c.Object)); err != nil {
				m.t.Errorf("cleaning up: %v", err)
			}
		}
	})
	if err != nil {
		m.t.Fatal(err)
	}
	if len(m.created) < 45 {
		m.t.Fatalf("only %d fields could be malformed", len(m.created))
	}
}

// moves writes how far the sound backup is.
func (m *malformedBed) moves(done int) {
	m.t.Helper()
	m.good.Status.Progress.ItemsBackedUp = done
	if err := m.client.Update(m.t.Context(), m.good); err != nil {
		m.t.Fatal(err)
	}
}

func (m *malformedBed) of(kinds ...string) []testbed.CreatedMalformed {
	var found []testbed.CreatedMalformed
	for _, c := range m.created {
		if slices.Contains(kinds, c.Kind.Kind) {
			found = append(found, c)
		}
	}
	return found
}

// watched are the malformed resources of kinds that veltui watches.
func (m *malformedBed) watched() []testbed.CreatedMalformed {
	return slices.DeleteFunc(slices.Clone(m.created), func(c testbed.CreatedMalformed) bool {
		return c.Kind.Kind == "DownloadRequest" || c.Kind.Kind == "ServerStatusRequest" ||
			c.Kind.Kind == "VolumeSnapshotLocation"
	})
}

// TestMalformedResourcesCostTheirOwnRow holds every command, a dashboard that
// runs and one that begins against all that a CRD lets through and Velero's
// types cannot hold.
func TestMalformedResourcesCostTheirOwnRow(t *testing.T) {
	m := newMalformedBed(t)
	running := openConsole(t, m.bed, 150, 50, "-n", malformedNamespace)
	running.sees(t, " live ", "good", "10/40")
	follower, items := m.followIn(t, "get", "-w", "-o", "json", "-n", malformedNamespace)
	if first, open := <-items; !open || first.Name != "good" {
		t.Fatalf("get -w begins with %+v", first)
	}
	m.spoil()
	m.moves(20)
	trouble := fmt.Sprintf("%d malformed resources", len(m.watched()))
	running.sees(t, " live ", "20/40", trouble)
	m.checkScreens(running)
	fresh := openConsole(t, m.bed, 150, 50, "-n", malformedNamespace)
	fresh.sees(t, " live ", "20/40", trouble)
	m.moves(30)
	running.types(t, "1")
	for _, c := range []*console{running, fresh} {
		c.sees(t, " live ", "30/40")
		c.types(t, "q")
		if code := c.exits(t); code != ExitOK {
			t.Errorf("a dashboard ends with %d", code)
		}
	}
	m.checkFollow(follower, items)
	m.checkGet()
	m.checkExplain()
	m.checkFinalize()
	stdout, stderr, code := m.run(t, "get", "backups")
	if code != ExitOK || !strings.HasSuffix(stderr, "No backups found in namespace velero.\n") {
		t.Errorf("without -n: exit code %d, %q, %q", code, stdout, stderr)
	}
}

// checkScreens looks at every tab.
func (m *malformedBed) checkScreens(c *console) {
	m.t.Helper()
	for _, tab := range []struct {
		key, title string
		kinds      []string
	}{
		{"2", "[2 Restores", []string{"Restore"}},
		{"3", "[3 Backups", []string{"Backup"}},
		{"4", "[4 Schedules", []string{"Schedule"}},
		{"5", "[5 Storage", []string{"BackupStorageLocation", "BackupRepository", "PodVolumeBackup", "PodVolumeRestore", "DataUpload", "DataDownload"}},
	} {
		c.types(m.t, tab.key)
		c.sees(m.t, tab.title)
		for _, bad := range m.of(tab.kinds...) {
			eventually(
				m.t,
				fmt.Sprintf("%s %s has its row on tab %s", bad.Kind.Kind, bad.Path, tab.title),
				func() bool {
					return slices.ContainsFunc(strings.Split(c.ScreenText(), "\n"), func(line string) bool {
						return strings.Contains(line, bad.Object.GetName()) &&
							strings.Contains(line, end(bad.Path, 30)) &&
							strings.Contains(line, fmt.Sprintf("%q", bad.Value))
					})
				},
			)
		}
	}
	c.types(m.t, "1")
	bad := m.of("Backup")[0]
	c.types(m.t, "/"+bad.Object.GetName()+"\r")
	c.sees(m.t, bad.Path+" is", "Velero's own server may fail")
	c.types(m.t, "\r")
	c.sees(m.t, "[1 Overview]", "Malformed", bad.Path+" is")
	c.types(m.t, "8")
	c.sees(m.t, "# left out: "+bad.Path)
	c.types(m.t, "\x1b")
	c.sees(m.t, "[1 Active]")
	c.types(m.t, "\x1b")
	c.sees(m.t, "good")
}

// end is the end of a text, which a narrow cell keeps.
func end(s string, n int) string { return s[max(len(s)-n, 0):] }

func (m *malformedBed) checkFollow(cmd *exec.Cmd, items <-chan document.Job) {
	m.t.Helper()
	wanted := map[string]string{}
	for _, bad := range m.of("Backup", "Restore") {
		wanted[bad.Object.GetName()] = bad.Path
	}
	for moved := false; len(wanted) > 0 || !moved; {
		item, open := <-items
		if !open {
			m.t.Fatalf("get -w ended before it told of %v", wanted)
		}
		if item.Name == "good" {
			moved = moved || item.Items.Done == 30
		} else if len(item.Malformed) == 1 && item.Malformed[0].Field == wanted[item.Name] {
			delete(wanted, item.Name)
		}
	}
	_ = cmd.Process.Kill()
	for range items {
	}
}

func (m *malformedBed) checkGet() {
	m.t.Helper()
	t := m.t
	for _, output := range []string{"table", "wide", "name", "json", "yaml", "jsonpath={.items[*].malformed[*].field} {.malformed[*].resource}"} {
		stdout, stderr, code := m.run(t, "get", "-n", malformedNamespace, "-o", output)
		if code != ExitOK || !strings.Contains(stderr, "Velero's own server may fail on it too") ||
			strings.Contains(stdout+stderr, "\x1b") {
			t.Errorf("-o %s: exit code %d, %q", output, code, stderr)
		}
		for _, bad := range m.of("Backup", "Restore") {
			if !strings.Contains(stdout, bad.Object.GetName()) ||
				output != "name" && !strings.Contains(stdout, bad.Path) {
				t.Errorf("-o %s: %s with %s is not in it:\n%s", output, bad.Object.GetName(), bad.Path, stdout)
			}
		}
		if output != "json" {
			continue
		}
		got := list(t, stdout)
		for _, bad := range m.watched() {
			ref := strings.ToLower(bad.Kind.Kind) + "/" + bad.Object.GetName()
			if !slices.ContainsFunc(got.Malformed, func(j document.Malformed) bool {
				return j.Resource == ref && j.Field == bad.Path && j.Value == fmt.Sprintf("%q", bad.Value) &&
					j.Error != ""
			}) {
				t.Errorf("-o json does not tell of %s with %s: %+v", ref, bad.Path, got.Malformed)
			}
		}
		good := got.Items[slices.IndexFunc(got.Items, func(i document.Job) bool { return i.Name == "good" })]
		volumes := m.of("PodVolumeBackup", "DataUpload")
		if good.Items.Done != 30 || good.Malformed != nil ||
			!slices.ContainsFunc(good.Volumes, func(v document.Volume) bool {
				return v.Name == volumes[0].Object.GetName() && v.Malformed[0].Field == volumes[0].Path
			}) {
			t.Errorf("the sound one: %+v", good)
		}
	}
}

func (m *malformedBed) checkExplain() {
	m.t.Helper()
	for _, bad := range m.of("Backup", "Restore") {
		name := strings.ToLower(bad.Kind.Kind) + "/" + bad.Object.GetName()
		stdout, stderr, code := m.run(m.t, "explain", name, "-n", malformedNamespace)
		if code != ExitRefused || stderr != "" ||
			!holdsAll(stdout, bad.Path+" is", "verdict: stuck", "finalize would refuse: MalformedSpec",
				"Velero's own server may fail on it too", "kubectl --context", "--type=json") {
			m.t.Errorf("%s with %s: exit code %d, %q, %q", name, bad.Path, code, stdout, stderr)
		}
	}
	stdout, stderr, code := m.run(m.t, "explain", "backup/good", "-n", malformedNamespace, "-o", "json")
	var e document.Explanation
	if err := json.Unmarshal([]byte(stdout), &e); err != nil || code != ExitOK || stderr != "" {
		m.t.Fatalf("exit code %d, %v, %q: %s", code, err, stderr, stdout)
	}
	if e.Job.Items.Done != 30 ||
		!slices.ContainsFunc(
			e.Verdict.Facts,
			func(f document.Fact) bool { return strings.Contains(f.Text, "Velero's own server may fail") },
		) {
		m.t.Errorf("the sound one: %+v", e)
	}
}

// checkFinalize: nothing is written on a job that cannot be read, and what is
// proposed instead mends it.
func (m *malformedBed) checkFinalize() {
	m.t.Helper()
	for _, kind := range []string{"Backup", "Restore"} {
		bad := m.of(kind)[0]
		name := strings.ToLower(kind) + "/" + bad.Object.GetName()
		for _, args := range [][]string{{"--yes", "--phase", "Failed"}, {"--yes", "--wake"}, {"--yes", "--cancel-volumes"}, {"--dry-run=server"}} {
			stdout, stderr, code := m.run(
				m.t,
				append([]string{"finalize", name, "-n", malformedNamespace, "-o", "json"}, args...)...)
			if code != ExitRefused || !holdsAll(stdout, "MalformedSpec: "+bad.Path, "patch") {
				m.t.Errorf("%s %v: exit code %d, %q, %q", name, args, code, stdout, stderr)
			}
		}
		now := bad.Object.DeepCopy()
		if err := m.client.Get(
			m.t.Context(),
			client.ObjectKeyFromObject(now),
			now,
		); err != nil ||
			now.GetResourceVersion() != bad.Object.GetResourceVersion() {
			m.t.Errorf("%s was written: %v", name, err)
		}
	}
	stdout, stderr, code := m.run(m.t, "finalize", "backup/good", "-n", malformedNamespace, "--dry-run=server")
	if strings.Contains(stdout+stderr, "expected a") && strings.Contains(stdout+stderr, "error:") || code == ExitError {
		m.t.Errorf("the sound one: exit code %d, %q, %q", code, stdout, stderr)
	}
}

// TestEstimateNamesWhatItLeavesOut: neither a malformed restore nor a malformed
// backup keeps an estimate from being made.
func TestEstimateNamesWhatItLeavesOut(t *testing.T) {
	b := control(t)
	s := openStore(t, b)
	s.stored(t, b, "kept-long", veleroapi.BackupPhaseCompleted)
	patch := client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"ttl":"30d"}}`))
	if err := b.client.Patch(
		t.Context(),
		&unstructured.Unstructured{Object: map[string]any{"apiVersion": "velero.io/v1", "kind": "Backup",
			"metadata": map[string]any{"namespace": "velero", "name": "kept-long"}}},
		patch,
	); err != nil {
		t.Fatal(err)
	}
	r := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "velero.io/v1", "kind": "Restore",
		"metadata": map[string]any{"namespace": "velero", "name": "slow"},
		"spec":     map[string]any{"backupName": "kept-long", "itemOperationTimeout": "1d"}}}
	b.create(t, r)
	stdout, stderr, code := b.estimates(t, t.TempDir(), "restore/slow")
	if code != ExitOK || !strings.Contains(stdout, "Total: 2,4") ||
		!holdsAll(stderr, `spec.itemOperationTimeout is "1d"`, "counts as not set") {
		t.Errorf("exit code %d, %q, %q", code, stdout, stderr)
	}
	stdout, stderr, code = b.estimates(t, t.TempDir(), "backup/kept-long")
	if code != ExitOK || !strings.Contains(stdout, "Total: 2,4") || !strings.Contains(stderr, `spec.ttl is "30d"`) {
		t.Errorf("exit code %d, %q, %q", code, stdout, stderr)
	}
}
