package sim

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

func TestCron(t *testing.T) {
	at := func(text string) time.Time {
		parsed, err := time.Parse(time.RFC3339, text)
		if err != nil {
			t.Fatal(err)
		}
		return parsed
	}
	for _, c := range []struct{ expression, after, want string }{
		{"*/4 * * * *", "2026-11-21T03:54:32Z", "2026-11-21T03:56:00Z"},
		{"*/4 * * * *", "2026-11-21T03:56:00Z", "2026-11-21T04:00:00Z"},
		{"0 * * * *", "2026-11-21T23:59:59Z", "2026-11-22T00:00:00Z"},
		{"15 */6 * * *", "2026-11-21T18:15:00Z", "2026-11-22T00:15:00Z"},
		{"30 1 * * *", "2026-11-21T01:30:00Z", "2026-11-22T01:30:00Z"},
		{"0 3 * * 0", "2026-11-21T12:00:00Z", "2026-11-22T03:00:00Z"},
		{"5,35 8-17 1 1 *", "2026-11-21T12:00:00Z", "2027-01-01T08:05:00Z"},
		{"0 0 13 * 5", "2026-11-21T12:00:00Z", "2026-11-27T00:00:00Z"},
		{"0 0 29 2 *", "2026-11-21T12:00:00Z", "2028-02-29T00:00:00Z"},
		{"@every 90s", "2026-11-21T12:00:00Z", "2026-11-21T12:01:30Z"},
	} {
		cron, err := parseCron(c.expression)
		if err != nil {
			t.Errorf("%s: %v", c.expression, err)
		} else if got := cron.next(at(c.after)); !got.Equal(at(c.want)) {
			t.Errorf("%s after %s: %s, want %s", c.expression, c.after, got, c.want)
		}
	}
	for _, bad := range []string{"", "* * * *", "61 * * * *", "*/0 * * * *", "a * * * *", "9-5 * * * *", "@every", "@every 1ms", "@daily"} {
		if _, err := parseCron(bad); err == nil {
			t.Errorf("%q is taken for a schedule", bad)
		}
	}
}

// The moments are those that were measured on a real server's helper
// (velero-facts 5.3): seven attempts, the last at 39 s, and 156 s of nothing.
func TestLastPatchGivesUpAsVelerosDoes(t *testing.T) {
	var tried []time.Duration
	now := testNow
	lost := &lastPatch{write: func(context.Context) error {
		tried = append(tried, now.Sub(testNow))
		return errors.New("away")
	}}
	for ; !lost.ended; now = now.Add(10 * time.Millisecond) {
		lost.try(context.Background(), now)
	}
	want := []time.Duration{0, 10, 60, 310, 1560, 7810, 39060}
	for n := range want {
		want[n] *= time.Millisecond
	}
	if !slices.Equal(tried, want) {
		t.Errorf("tried at %v, want %v", tried, want)
	}
	if took := now.Sub(testNow).Round(time.Second); took != 195*time.Second || lost.err == nil {
		t.Errorf("gave up after %s with %v", took, lost.err)
	}
}

func TestRestoreFilter(t *testing.T) {
	c := testCluster(t)
	items, _, err := c.Contents(&velerov1.BackupSpec{})
	if err != nil {
		t.Fatal(err)
	}
	// Four namespaces with all they hold but for the one CRD they share.
	if want := 4*(itemsOf-1) + 1; len(items) != want {
		t.Fatalf("a backup of all stores %d items, want %d", len(items), want)
	}
	upload := &Item{Group: "velero.io", Version: "v2alpha1", Resource: "datauploads", Kind: "DataUpload", Namespace: "velero", Name: "du"}
	items = append(items, upload)
	const clusterScoped = 4 + 4 + 1 // namespaces, volumes, the CRD
	inNamespace := itemsOf - 3
	for _, test := range []struct {
		name string
		spec velerov1.RestoreSpec
		want int
	}{
		{"everything", velerov1.RestoreSpec{IncludedNamespaces: []string{"*"}}, 4*inNamespace + clusterScoped + 1},
		{"one namespace has no cluster-scoped items", velerov1.RestoreSpec{IncludedNamespaces: []string{"alpha"}}, inNamespace + 1},
		{"nor has all but one", velerov1.RestoreSpec{ExcludedNamespaces: []string{"alpha"}}, 3*inNamespace + 1},
		{"unless asked for", velerov1.RestoreSpec{IncludedNamespaces: []string{"alpha"}, IncludeClusterResources: ptr.To(true)}, inNamespace + clusterScoped + 1},
		{"none if refused", velerov1.RestoreSpec{IncludeClusterResources: ptr.To(false)}, 4*inNamespace + 1},
		{"a resource by its kind", velerov1.RestoreSpec{IncludedNamespaces: []string{"alpha"}, IncludedResources: []string{"deployment"}}, 1 + 1},
		{"a resource by a pattern", velerov1.RestoreSpec{IncludedNamespaces: []string{"alpha"}, IncludedResources: []string{"*.apps"}}, 1 + 1},
		{"a selector", velerov1.RestoreSpec{LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "beta"}}}, inNamespace + 1},
		{"selectors of which one is enough", velerov1.RestoreSpec{OrLabelSelectors: []*metav1.LabelSelector{
			{MatchLabels: map[string]string{"app": "beta"}}, {MatchLabels: map[string]string{"app": "alpha"}},
		}}, 2*inNamespace + 1},
		{"nothing but what passes all filters", velerov1.RestoreSpec{IncludedNamespaces: []string{"nowhere"}}, 1},
	} {
		filter, err := newRestoreFilter(c, &test.spec)
		if err != nil {
			t.Errorf("%s: %v", test.name, err)
			continue
		}
		got := 0
		for _, item := range items {
			if filter.lists(item) {
				got++
			}
		}
		if got != test.want {
			t.Errorf("%s: %d items, want %d", test.name, got, test.want)
		}
	}
}

func TestRestoreOrder(t *testing.T) {
	items, _, err := testCluster(t).Contents(&velerov1.BackupSpec{IncludedNamespaces: []string{"alpha"}})
	if err != nil {
		t.Fatal(err)
	}
	inRestoreOrder(items)
	var order []string
	for _, item := range items {
		if resource := item.GroupResource(); len(order) == 0 || order[len(order)-1] != resource {
			order = append(order, resource)
		}
	}
	want := []string{definitionsResource, "namespaces", "persistentvolumes", "persistentvolumeclaims", "configmaps", "pods", "deployments.apps", "widgets.example.com"}
	if !slices.Equal(order, want) {
		t.Errorf("restored in the order %q, want %q", order, want)
	}
}

func TestLabelValue(t *testing.T) {
	if got := labelValue("short"); got != "short" {
		t.Errorf("short became %q", got)
	}
	long := strings.Repeat("a", 64)
	got := labelValue(long)
	if len(got) != 63 || !strings.HasPrefix(got, long[:57]) || got == long[:63] {
		t.Errorf("%d characters became %q", len(long), got)
	}
}

func TestPollPhase(t *testing.T) {
	for _, c := range []struct {
		phase              string
		all, ended, failed int
		want               string
	}{
		{"WaitingForPluginOperations", 3, 2, 0, "WaitingForPluginOperations"},
		{"WaitingForPluginOperations", 3, 2, 1, "WaitingForPluginOperationsPartiallyFailed"},
		{"WaitingForPluginOperationsPartiallyFailed", 3, 2, 1, "WaitingForPluginOperationsPartiallyFailed"},
		{"WaitingForPluginOperations", 3, 3, 0, "Finalizing"},
		{"WaitingForPluginOperations", 3, 3, 1, "FinalizingPartiallyFailed"},
		{"WaitingForPluginOperationsPartiallyFailed", 3, 3, 0, "FinalizingPartiallyFailed"},
		{"WaitingForPluginOperations", 0, 0, 0, "Finalizing"},
	} {
		if got := pollPhase(c.phase, c.all, c.ended, c.failed); got != c.want {
			t.Errorf("%s with %d of %d ended, %d failed: %s, want %s", c.phase, c.ended, c.all, c.failed, got, c.want)
		}
	}
}
