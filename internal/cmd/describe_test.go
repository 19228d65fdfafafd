package cmd

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/veltui/veltui/internal/velero/veleroapi"
	"github.com/veltui/veltui/internal/view/describe"
)

func TestDescribe(t *testing.T) {
	b := control(t)
	started := metav1.NewTime(time.Now().Add(-time.Minute).Truncate(time.Second))
	r := restore(
		"described",
		veleroapi.RestoreStatus{
			Phase:               veleroapi.RestorePhasePartiallyFailed,
			StartTimestamp:      &started,
			CompletionTimestamp: &started,
			Errors:              2,
			FailureReason:       "no \x1b[2Jluck",
		},
	)
	r.Spec.NamespaceMapping = map[string]string{"shop": "shop-dr"}
	r.Labels = map[string]string{"team": "shop"}
	b.create(t, r)
	stdout, stderr, code := b.run(t, "describe", "restore/described")
	if code != ExitOK || stderr != "" || strings.Contains(stdout, "\x1b") ||
		!holdsAll(stdout, "PartiallyFailed", "shop -> shop-dr", "luck", "team=shop",
			"(default)", started.UTC().Format("2006-01-02")) {
		t.Errorf("exit code %d, %s%s", code, stdout, stderr)
	}
	stdout, _, code = b.run(t, "describe", "restore", "described", "-o", "json")
	var d describe.Document
	if err := json.Unmarshal([]byte(stdout), &d); err != nil || code != ExitOK {
		t.Fatalf("exit code %d, %v: %s", code, err, stdout)
	}
	fields := map[string]describe.Field{}
	for _, s := range d.Sections {
		for _, f := range s.Fields {
			fields[f.Name] = f
		}
	}
	if f := fields["started"]; d.Kind != "Description" || d.Job.Name != "described" || !f.At.Equal(started.Time) ||
		!fields["restorePVs"].Unset || fields["namespaceMapping"].Values[0] != "shop -> shop-dr" {
		t.Errorf("%+v", d)
	}
	for _, args := range [][]string{{"describe"}, {"describe", "restores"}, {"describe", "pod/a"}, {"describe", "restore/a", "-o", "table"}} {
		if _, stderr, code := b.run(t, args...); code != ExitUsage || stderr == "" {
			t.Errorf("%v: exit code %d, %q", args, code, stderr)
		}
	}
	if _, stderr, code := b.run(t, "describe", "restore/nope"); code != ExitError || !holdsAll(stderr, "not found") {
		t.Errorf("exit code %d, %q", code, stderr)
	}
}
