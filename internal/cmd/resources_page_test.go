package cmd

import (
	"regexp"
	"strconv"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/veltui/veltui/internal/velero/veleroapi"
)

// TestDashboardReadsBackups opens jobs in the dashboard and looks at what the
// backup behind them holds; it is downloaded once for all.
func TestDashboardReadsBackups(t *testing.T) {
	b := control(t)
	s := openStore(t, b)
	s.files = map[string]string{
		"BackupResourceList/b-seen":           `{"v1/ConfigMap": ["shop/cm-0000", "shop/\u001b[2Jcm"], "lab.example.com/v1/Widget": ["ops/w-0"]}`,
		"RestoreResourceList/resources-ended": `{"v1/ConfigMap": ["there-before/cm-0000(created)", "there-before/cm-0001(failed)"]}`,
		"RestoreResults/resources-ended":      `{"errors": {"namespaces": {"there-before": ["error restoring configmaps/there-before/cm-0001: configmaps \"cm-0001\" is forbidden: no"]}}}`,
	}
	s.stored(t, b, "b-seen", veleroapi.BackupPhaseCompleted)
	targetNamespaces(t, b, "there-before")
	now := aLaterSecond(t)
	r := restore("resources-seen", veleroapi.RestoreStatus{Phase: veleroapi.RestorePhaseInProgress, StartTimestamp: &now})
	r.Spec = veleroapi.RestoreSpec{
		BackupName:         "b-seen",
		IncludedNamespaces: []string{"shop"},
		IncludedResources:  []string{"configmaps", "secrets"},
		NamespaceMapping:   map[string]string{"shop": "there-before"},
	}
	b.create(t, r)
	selected := restore(
		"resources-selected",
		veleroapi.RestoreStatus{Phase: veleroapi.RestorePhaseInProgress, StartTimestamp: &now},
	)
	selected.Spec = veleroapi.RestoreSpec{
		BackupName:         "b-seen",
		IncludedNamespaces: []string{"shop"},
		LabelSelector:      &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}},
		NamespaceMapping:   map[string]string{"shop": "never-there"},
	}
	b.create(t, selected)
	ended := restore(
		"resources-ended",
		veleroapi.RestoreStatus{Phase: veleroapi.RestorePhasePartiallyFailed, Errors: 1, StartTimestamp: &now},
	)
	ended.Spec = r.Spec
	b.create(t, ended)
	begin := func(name string, args ...string) *console {
		c := openConsole(t, b, 100, 30, append([]string{"-n", "velero"}, args...)...)
		c.sees(t, "live", "resources-seen")
		c.types(t, "2/"+name+"\r\r4")
		return c
	}

	c := begin("resources-seen")
	// Velero has no total yet, so the estimate stands in for it.
	c.sees(t, "[4 Resources]", "RESOURCE (restore order)", "configmaps", "0/951", "≈")
	c.types(t, "\x1b")
	c.sees(t, "[2 Restores")
	c.types(t, "\x1b/resources-selected\r\r4")
	// Its claims come along with its pods, and its first item makes its namespace:
	// the page and the command count them alike.
	c.sees(
		t,
		"[4 Resources]",
		"RESOURCE (restore order)",
		"with namespaces",
		"with persistentvolumes",
		"widgets.lab.example.com",
		"taken for 1.18.3",
	) // the whole frame
	of := map[string]int{}
	for _, row := range regexp.MustCompile(`(?m)^ +(?:with )?(\S+) +\S? +\d+ +(\d+)`).FindAllStringSubmatch(c.ScreenText(), -1) {
		n, _ := strconv.Atoi(row[2])
		of[row[1]] += n
	}
	stdout, stderr, code := b.estimates(t, t.TempDir(), "restore/resources-selected", "-o", "json")
	if code != ExitOK {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	for _, r := range parseEstimate(t, stdout).Resources {
		if of[r.Resource] != r.Items {
			t.Errorf("%s: %d on the page, %d by veltui estimate:\n%s", r.Resource, of[r.Resource], r.Items, c.ScreenText())
		}
	}
	c.types(t, "\x1b")
	c.sees(t, "[2 Restores", "/resources-selected")
	c.types(t, "\x1b") // the filter goes too
	eventually(t, "the filter is gone", func() bool { return !strings.Contains(c.ScreenText(), "/resources-selected") })
	c.types(t, "3/b-seen\r\r4")
	c.sees(t, "3 items of 2 kinds", "IN THE BACKUP", "lab.example.com/v1/Widget")
	c.types(t, "\r")
	c.sees(t, "shop/cm-0000", `shop/\x1b[2Jcm`)
	if n := s.downloads.Load(); n != 3 { // its contents for the restores, again for the command, and its list
		t.Errorf("%d downloads for one backup", n)
	}
	c.types(t, "q")
	c.exits(t)

	c = begin("resources-ended")
	c.sees(t, "1 created", "1 failed", "missing", "left out")
	c.types(t, "\r")
	c.sees(
		t,
		"failed   there-before/cm-0001 from shop: is forbidden: no",
		"missing  there-before/",
		"not in Velero's list",
	)
	c.types(t, "q")
	c.exits(t)
	if n := s.downloads.Load(); n != 6 { // with its list, its results, and the backup, as this process has a home of its own
		t.Errorf("%d downloads with those of a restore", n)
	}

	c = begin("resources-ended", "--read-only")
	c.sees(t, "The list of the items cannot be read: read-only", "DownloadRequest")
	c.types(t, "q")
	c.exits(t)

	c = begin("resources-seen", "--no-artifacts")
	c.sees(t, "With --no-artifacts")
	c.types(t, "q")
	c.exits(t)

	const viewer = "resources-viewer"
	config, err := b.AddUserWithRules(t.Context(), viewer, "velero", rbacv1.PolicyRule{
		APIGroups: []string{"velero.io"}, Resources: []string{"*"}, Verbs: []string{"get", "list", "watch"}})
	if err != nil {
		t.Fatal(err)
	}
	kubeconfig, err := b.KubeconfigFor(config, viewer+".kubeconfig")
	if err != nil {
		t.Fatal(err)
	}
	c = begin("resources-seen", "--kubeconfig", kubeconfig)
	c.sees(t, "not permitted", "downloadrequests.velero.io")
	c.types(t, "q")
	c.exits(t)
	c = begin("resources-ended", "--kubeconfig", kubeconfig)
	c.sees(t, "The list of the items cannot be read: not permitted", "downloadrequests.velero.io")
	c.types(t, "q")
	c.exits(t)
	if n := s.downloads.Load(); n != 6 {
		t.Errorf("%d downloads in all", n)
	}
	var left veleroapi.DownloadRequestList
	if err := b.client.List(t.Context(), &left); err != nil || len(left.Items) > 0 {
		t.Errorf("%d download requests left, %v", len(left.Items), err)
	}
}
