package cmd

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/veltui/veltui/internal/demo"
	"github.com/veltui/veltui/internal/view/document"
)

// serveTwoVeleros serves a cluster with a Velero in openshift-adp, which is at rest, and one in velero-ppdm, whose
// backup has not moved for an hour.
func serveTwoVeleros(t *testing.T) servedScene {
	t.Helper()
	file, err := os.Open("testdata/situations/two-veleros-of-two-products.yaml")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close() //nolint:errcheck // it was only read
	d, err := demo.Start(demo.Options{Scene: file, Clock: func() time.Time { return goldenNow }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	return servedScene{t, d, t.TempDir()}
}

// A command that reads one of two Veleros says which, and that there is another, unless the user has named it.
func TestOtherVelerosAreNamed(t *testing.T) {
	s := serveTwoVeleros(t)
	const note = "note: this is the Velero of namespace openshift-adp; there is also one in velero-ppdm: "
	for _, command := range []string{
		"get", "get schedules", "get -o name", "check", "check -o json", "explain backup/nightly", "describe backup/nightly",
		"describe storage/dpa-1", "report backup/nightly --no-artifacts", "coverage",
		"wait backup/nightly", "finalize backup/nightly --dry-run=server --yes",
	} {
		if out := s.print(command, 0); strings.Count(out, "note: ") != 1 || !strings.Contains(out, note) {
			t.Errorf("%s:\n%s", command, out)
		}
		if out := s.print(command+" -n openshift-adp", 0); strings.Contains(out, "note: ") {
			t.Errorf("%s with -n:\n%s", command, out)
		}
	}
	if out := s.print("check --nagios", 0); !strings.Contains(out, "; this is the Velero of namespace openshift-adp; ") {
		t.Errorf("for Nagios: %s", out)
	}
}

func TestAllNamespaces(t *testing.T) {
	s := serveTwoVeleros(t)
	for command, want := range map[string][]string{
		"get -A":         {"NAMESPACE ", "openshift-adp ", "velero-ppdm "},
		"get storage -A": {"NAMESPACE ", "openshift-adp   dpa-1", "velero-ppdm     ppdm"},
		"get backups --all-namespaces --sort-by namespace": {"NAMESPACE ", "openshift-adp ", "velero-ppdm "},
		"get schedules -A":              {"No schedules found in namespace openshift-adp", "No schedules found in namespace velero-ppdm"},
		"get -A -w":                     {"(exit code 2)", "-w follows one Velero"},
		"get -A -n velero-ppdm":         {"(exit code 2)", "--all-namespaces and -n velero-ppdm: give only one of them"},
		"check -A --coverage":           {"(exit code 2)", "--coverage is about one Velero"},
		"check -A -o json":              {`"namespace": "openshift-adp"`, `"namespace": "velero-ppdm"`},
		"get backup/nightly -A -o json": {`"kind": "JobList"`, `"namespace": "openshift-adp"`, `"namespace": "velero-ppdm"`},
	} {
		out := s.print(command, 0)
		if !holdsAll(out, want...) || strings.Contains(out, "note: ") {
			t.Errorf("%s:\n%s", command, out)
		}
	}
}

// The exit code of a check of all namespaces is that of the worst.
func TestNewCheckDocument(t *testing.T) {
	unread := []document.Unread{{Error: "no answer"}}
	d, _ := newCheckDocument([]clusterCheck{
		{context: "east", namespace: "velero"},
		{context: "east", namespace: "velero-ppdm", unchecked: unread},
	})
	if len(d.Unread) != 1 || d.Unread[0].Namespace != "velero-ppdm" || d.Unread[0].Context != "east" ||
		judgeCheck(d) != unknownOutcome {
		t.Errorf("%+v", d)
	}
}
