//go:build e2e

package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// wantReport holds that the report on a stuck restore tells somebody who was not there
// what, since when, why, what was done and what is left, and that no value of any Secret
// in the cluster is in it.
func wantReport(t *testing.T, subject string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "report.md")
	if code, printed := runVeltui(t, "report", subject, "--file", path); code != 0 {
		t.Fatalf("veltui report ended with %d: %s", code, printed)
	}
	if code, _ := runVeltui(t, "report", subject, "--file", path); code == 0 {
		t.Error("veltui report overwrites a file")
	}
	info, err := os.Stat(path)
	must(t, err)
	if info.Mode().Perm() != 0o600 {
		t.Errorf("the report has the mode %s", info.Mode())
	}
	text, err := os.ReadFile(path)
	must(t, err)
	_, asJSON := runVeltui(t, "report", subject, "-o", "json")
	_, name, _ := strings.Cut(subject, "/")
	for _, words := range []string{"# Report on restore " + name, "verdict `stuck`", "Started: 2", "Proof: ", "## Facts", "gave up", "## What is left to do", "## What was done", "Nobody changed", "## Limits of what it waits for", "Velero gave up writing the status:"} {
		if !strings.Contains(string(text), words) {
			t.Errorf("the report does not say %q:\n%s", words, text)
		}
	}
	var secrets corev1.SecretList
	must(t, theLab.Client.List(patient(t), &secrets))
	searched := 0
	for _, s := range secrets.Items {
		for key, value := range s.Data {
			if len(value) < 8 {
				continue
			}
			searched++
			if strings.Contains(string(text)+asJSON, string(value)) {
				t.Errorf("the value %s of Secret %s/%s is in the report", key, s.Namespace, s.Name)
			}
		}
	}
	if searched == 0 {
		t.Error("there is no Secret to search for")
	}
	t.Logf("%d values of Secrets are not in %d bytes", searched, len(text)+len(asJSON))
}
