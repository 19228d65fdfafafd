package cmd

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/veltui/veltui/internal/velero/veleroapi"
)

// secretLike are values as Secrets hold them, by where they are planted.
var secretLike = map[string]string{
	"annotation":     "hunter2-in-an-annotation",
	"failure reason": "kx9PqLw3ZtR7vB2nM5sD8fG1hJ4cY6uE",
	"message":        "s3cr3t-of-a-message",
	"log":            "eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJ4In0.c2lnbmF0dXJl",
	"address":        "0f1e2d3c4b5a69788796a5b4c3d2e1f0",
}

func TestReportHoldsNoCredential(t *testing.T) {
	b := control(t)
	s := openStore(t, b)
	s.files = map[string]string{
		"RestoreResults/told": `{"errors": {"namespaces": {"shop": ["error restoring secrets/shop/db: admission denied: password=` + secretLike["message"] + `"]}}}`,
		"RestoreLog/told":     `time="2026-11-20T10:00:00Z" level=error msg="calling the hook: Authorization: Bearer ` + secretLike["log"] + `"` + "\n",
	}
	s.stored(t, b, "b-told", veleroapi.BackupPhaseCompleted)
	told := restore("told", veleroapi.RestoreStatus{
		Phase:         veleroapi.RestorePhasePartiallyFailed,
		Errors:        1,
		FailureReason: "Get https://s3.example.com/b/x?X-Amz-Signature=" + secretLike["address"] + ": refused, secretKey: " + secretLike["failure reason"],
	})
	told.Spec.BackupName = "b-told"
	told.Annotations = map[string]string{"example.org/password": secretLike["annotation"]}
	b.create(t, told)
	path := filepath.Join(t.TempDir(), "told.md")
	if stdout, stderr, code := b.run(
		t,
		"report",
		"-n",
		"velero",
		"restore/told",
		"--file",
		path,
	); code != ExitOK || stdout != "" ||
		!strings.Contains(stderr, path) {
		t.Fatalf("exit code %d\n%s%s", code, stdout, stderr)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", info.Mode(), err)
	}
	if _, stderr, code := b.run(
		t,
		"report",
		"-n",
		"velero",
		"restore/told",
		"--file",
		path,
	); code != ExitError ||
		!strings.Contains(stderr, "overwrites no file") {
		t.Errorf("once more: exit code %d: %s", code, stderr)
	}
	if again, err := os.ReadFile(path); err != nil || string(again) != string(text) {
		t.Error("the file is another one")
	}
	asJSON, _, code := b.run(t, "report", "-n", "velero", "restore/told", "-o", "json")
	for where, value := range secretLike {
		if strings.Contains(string(text), value) || strings.Contains(asJSON, value) {
			t.Errorf("the value of the %s is in the report", where)
		}
	}
	for _, words := range []string{"secrets/db", "admission denied", "calling the hook", "s3.example.com", "[redacted]"} {
		if !strings.Contains(string(text), words) && code == ExitOK {
			t.Errorf("the report does not say %q:\n%s", words, text)
		}
	}
}

func TestReportNamesMissingRights(t *testing.T) {
	b := control(t)
	b.create(t, restore("untold", veleroapi.RestoreStatus{Phase: veleroapi.RestorePhaseInProgress}))
	config, err := b.AddUserWithRules(
		t.Context(),
		"report-viewer",
		"velero",
		rbacv1.PolicyRule{
			APIGroups: []string{"velero.io"},
			Resources: []string{"*"},
			Verbs:     []string{"get", "list", "watch"},
		},
	)
	if err != nil {
		t.Fatal(err)
	}
	viewer, err := b.KubeconfigFor(config, "report-viewer.kubeconfig")
	if err != nil {
		t.Fatal(err)
	}
	stdout, stderr, code := b.run(t, "report", "-n", "velero", "restore/untold", "--kubeconfig", viewer)
	if code != ExitOK ||
		!holdsAll(stdout, "# Report on restore untold", "## What could not be checked", "the log", "get on pods/log") {
		t.Errorf("exit code %d\n%s%s", code, stdout, stderr)
	}
}

// TestReportIsSaved holds that a report of the dashboard goes to the confirmed path, and
// overwrites no file; the state folder is proposed where there is one.
func TestReportIsSaved(t *testing.T) {
	state := t.TempDir()
	r := &dashboardCluster{cli: newCLI(nil, nil, nil)}
	r.cli.process.getenv = func(name string) string { return map[string]string{"XDG_STATE_HOME": state}[name] }
	d := &dashboardCommand{cli: r.cli}
	if got := d.proposedSaveDir(); got != os.TempDir() {
		t.Errorf("without a state folder %q is proposed", got)
	}
	if err := os.Mkdir(filepath.Join(state, "veltui"), 0o700); err != nil {
		t.Fatal(err)
	}
	want := filepath.Join(d.proposedSaveDir(), "x.md")
	path, err := r.SaveFile(want, []byte("first"))
	if err != nil || path != want || filepath.Dir(want) != filepath.Join(state, "veltui") {
		t.Errorf("%q, want %q: %v", path, want, err)
	}
	if _, err := r.SaveFile(want, []byte("second")); err == nil || !strings.Contains(err.Error(), "exists") {
		t.Errorf("%v", err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", info, err)
	}
}

// TestReportAgreesWithTheLog holds that a report which is made seconds after Velero gave
// up on a restore says so in the verdict, the advice and the log, and explain too.
func TestReportAgreesWithTheLog(t *testing.T) {
	text, err := os.ReadFile(scenes + "restore-patch-lost.yaml")
	if err != nil {
		t.Fatal(err)
	}
	fresh := strings.NewReplacer("-2h7m12s", "-2m", "-2h5m3s", "-20s", "-2h5m2s", "-19s", "-2h4m59s", "-16s", "-2h4m58s", "-15s", "-2h1m43s", "-5s").
		Replace(string(text))
	path := filepath.Join(t.TempDir(), "fresh.yaml")
	if err := os.WriteFile(path, []byte(fresh), 0o600); err != nil {
		t.Fatal(err)
	}
	h := startHeadless(t, "--scene", path)
	out, errOut, code := h.run(t, "report", "restore/crm-rollback")
	if code != ExitOK ||
		!holdsAll(
			out,
			"verdict `stuck` (`LostPatch`)",
			"1. Finalize it",
			"Velero gave up writing the status:",
			"1 warning, namespace crm-rollback",
		) ||
		strings.Contains(out, "Wait: it moves") {
		t.Errorf("exit code %d\n%s%s", code, out, errOut)
	}
	if strings.Contains(out, h.kubeconfig) {
		t.Error("the report names the kubeconfig of this machine")
	}
	if out, _, code := h.run(
		t,
		"explain",
		"restore/crm-rollback",
	); code != ExitRefused ||
		!strings.Contains(out, "could not save its status") {
		t.Errorf("explain: exit code %d\n%s", code, out)
	}
}
