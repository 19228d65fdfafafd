package results

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/veltui/veltui/internal/stored/artifact"
)

// TestParse holds how Velero writes a resource into a message. The messages are
// of the forms in pkg/restore/restore.go and pkg/util/logging of 1.18.3.
func TestParse(t *testing.T) {
	for _, c := range []struct{ message, kind, name, text string }{
		{`error restoring configmaps/ops/cm-4: configmaps "cm-4" is forbidden: exceeded quota: small`, "configmaps", "cm-4", "is forbidden: exceeded quota: small"},
		{`error restoring widgets.example.com/shop/a: the server could not find the requested resource`, "widgets.example.com", "a", "the server could not find the requested resource"},
		{`error restoring clusterroles.rbac.authorization.k8s.io/system:ops:admin: clusterroles.rbac.authorization.k8s.io "system:ops:admin" is forbidden: no`, "clusterroles.rbac.authorization.k8s.io", "system:ops:admin", "is forbidden: no"},
		{`could not restore, ConfigMap:kube-root-ca.crt already exists. Warning: the in-cluster version is different than the backed-up version`, "ConfigMap", "kube-root-ca.crt", "already exists. Warning: the in-cluster version is different than the backed-up version"},
		{`could not restore, ClusterRole "system:a" already exists. Warning: x`, "ClusterRole", "system:a", "already exists. Warning: x"},
		{`could not restore, ClusterRole:system:a already exists. Warning: x`, "ClusterRole", "system:a", "already exists. Warning: x"},
		{`error preparing pods/shop/db-0: rpc error: code = Unknown`, "pods", "db-0", "error preparing: rpc error: code = Unknown"},
		{`error restoring additional item secrets/shop/tls: unexpected EOF`, "secrets", "tls", "error restoring additional item: unexpected EOF"},
		{`additional items for pods/shop/db-0 are not ready to use`, "pods", "db-0", "additional items are not ready to use"},
		{`error checking completion of "jobs.batch/shop/once": unexpected`, "jobs.batch", "once", "error checking completion of: unexpected"},
		{`pods/shop/db-0: unexpected type *int`, "pods", "db-0", "unexpected type *int"},
		{`error decoding "resources/pods/namespaces/shop/db-0.json": unexpected end`, "pods", "db-0", "error decoding: unexpected end"},
		{`error decoding "resources/clusterroles.rbac.authorization.k8s.io/v1-preferredversion/cluster/a.b.json": x`, "clusterroles.rbac.authorization.k8s.io", "a.b", "error decoding: x"},
		{`the CRD widgets.example.com is not available to use for custom resources`, "customresourcedefinitions", "widgets.example.com", "the CRD is not available to use for custom resources"},
		{`Operation cannot be fulfilled on deployments.apps "web": the object has been modified`, "deployments.apps", "web", "Operation cannot be fulfilled: the object has been modified"},
		{`persistentvolumeclaims "data" not found`, "persistentvolumeclaims", "data", "not found"},
		{` resource: /pods name: /db-0 message: /Error backing up item error: /pod volume backup failed: no space`, "pods", "db-0", "Error backing up item: pod volume backup failed: no space"},
		{` name: /db-0 message: /Error backing up item error: /error executing custom action (groupResource=persistentvolumeclaims, namespace=shop, name=data): rpc error`, "persistentvolumeclaims", "db-0", "Error backing up item: error executing custom action (groupResource=persistentvolumeclaims, namespace=shop, name=data): rpc error"},
		{` message: /Error listing items error: /timeout`, "", "", "Error listing items: timeout"},
		{` resource: /pods message: /Error listing items error: /timeout`, "", "", "Error listing items: timeout"},

		// These name no resource that could be told from the rest.
		{`no matches for kind "Widget" in version "example.com/v1"`, "", "", `no matches for kind "Widget" in version "example.com/v1"`},
		{`error restoring`, "", "", "error restoring"},
		{`error restoring /: x`, "", "", "error restoring /: x"},
		{`could not restore, : already exists`, "", "", "could not restore, : already exists"},
		{`zero items to be restored: file does not exist`, "", "", "zero items to be restored: file does not exist"},
		{``, "", "", ""},
	} {
		named, text := parseMessage(c.message)
		if named != (Resource{Kind: c.kind, Name: c.name}) || text != c.text {
			t.Errorf(
				"%q:\n got %q %q %q\nwant %q %q %q",
				c.message,
				named.Kind,
				named.Name,
				text,
				c.kind,
				c.name,
				c.text,
			)
		}
	}
}

func TestTemplate(t *testing.T) {
	for _, c := range []struct{ text, name, want string }{
		{`pods "a" not found in a shop`, "a", `pods "*" not found in a shop`},
		{"claim data-0 of shop/data-0 and data-01, not xdata-0.", "data-0", "claim * of shop/* and data-01, not xdata-0."},
		{"waits for db-0.", "db-0", "waits for *."},
		{"db-0db-0", "db-0", "db-0db-0"},
		{"nothing", "db-0", "nothing"},
		{"x", "", "x"},
	} {
		if got := templateText(c.text, c.name); got != c.want {
			t.Errorf("%q of %q: %q, want %q", c.name, c.text, got, c.want)
		}
	}
}

func quota(namespace string, n int) []string {
	var all []string
	for i := range n {
		all = append(
			all,
			fmt.Sprintf(
				`error restoring pods/%[1]s/worker-%[2]d: pods "worker-%[2]d" is forbidden: exceeded quota: compute, used: pods=20`,
				namespace,
				i,
			),
		)
	}
	return all
}

func TestGroup(t *testing.T) {
	results := artifact.Results{
		Errors: artifact.Messages{
			Velero: []string{"error parsing backup contents: no"},
			Cluster: []string{
				`error restoring pods/x: boom`,
				`error restoring pods/y: boom`,
				`error restoring nodes/z: boom`,
			},
			Namespaces: map[string][]string{
				"ops": append(
					quota("ops", 18),
					"error restoring widgets.example.com/ops/a: not served",
					"error restoring widgets.example.com/ops/b: not served",
					"error restoring widgets.example.com/ops/b: not served",
				),
			},
		},
		Warnings: artifact.Messages{
			Cluster: []string{"could not restore, ClusterRole:ops already exists. Warning: differs"},
		},
	}
	var lines []string
	for _, s := range GroupMessages(results) {
		lines = append(lines, fmt.Sprintf("%s %s %d", s.Severity, s.Place, s.Count))
		for _, c := range s.Messages {
			names, left := c.ListInstances(3)
			lines = append(lines, fmt.Sprintf("  %dx %s | %s +%d", c.Count, c.Text, names, left))
		}
	}
	want := `error  25
  18x is forbidden: exceeded quota: compute, used: pods=20 | pods/ops/worker-0, worker-1, worker-2 +15
  3x boom | pods/x, y, nodes/z +0
  3x not served | widgets.example.com/ops/a, b +0
  1x error parsing backup contents: no |  +0
warning cluster 1
  1x already exists. Warning: differs | ClusterRole/ops +0`
	if got := strings.Join(lines, "\n"); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// FuzzParse holds that no message is lost: what it says stays in its group.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{` resource: /a name: /b message: /c error: /d`, `error decoding "resources/a/b.json": x`, `error restoring a/b/c: a "c" x`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, message string) {
		named, text := parseMessage(message)
		templateText(text, named.Name)
		if named.Name == "" && named.Kind != "" {
			t.Errorf("%q: a kind without a name", message)
		}
		sections := GroupMessages(artifact.Results{Errors: artifact.Messages{Velero: []string{message, message}}})
		if len(sections) != 1 || len(sections[0].Messages) != 1 || sections[0].Messages[0].Count != 2 {
			t.Errorf("%q: not one group of two", message)
		}
	})
}

// BenchmarkGroup50000 groups 50,000 warnings, half of one kind and half each its
// own, and reports what the groups keep.
func BenchmarkGroup50000(b *testing.B) {
	messages := quota("ops", 25_000)
	for i := range 25_000 {
		messages = append(messages, fmt.Sprintf("error restoring pods/ops/p-%d: timed out after %d ms", i, i))
	}
	results := artifact.Results{Warnings: artifact.Messages{Namespaces: map[string][]string{"ops": messages}}}
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	var kept []MessageSection
	for b.Loop() {
		kept = GroupMessages(results)
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/1e6, "MB-kept")
	runtime.KeepAlive(kept)
	runtime.KeepAlive(results)
}

// An entry without words would look like a defect of the page.
func TestEmptyMessageHasWords(t *testing.T) {
	all := GroupMessages(
		artifact.Results{Errors: artifact.Messages{Velero: []string{"", " \n", "error restoring pods/shop/db-0: "}}},
	)
	if len(all) != 1 || all[0].Count != 3 {
		t.Fatalf("%+v", all)
	}
	for _, c := range all[0].Messages {
		if c.DisplayText() != "(no message)" {
			t.Errorf("%+v says %q", c, c.DisplayText())
		}
	}
	if c := (Message{Text: "exceeded quota"}); c.DisplayText() != "exceeded quota" {
		t.Errorf("%q", c.DisplayText())
	}
}
