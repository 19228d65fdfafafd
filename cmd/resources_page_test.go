package cmd

import (
	"strings"
	"testing"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
	rbacv1 "k8s.io/api/rbac/v1"
)

// TestDashboardReadsBackups opens jobs in the dashboard and looks at what the
// backup behind them holds; it is downloaded once for all.
func TestDashboardReadsBackups(t *testing.T) {
	b := control(t)
	s := openStore(t, b)
	s.stored(t, b, "b-seen", velerov1.BackupPhaseCompleted)
	targetNamespaces(t, b, "there-before")
	now := aLaterSecond(t)
	r := restore("resources-seen", velerov1.RestoreStatus{Phase: velerov1.RestorePhaseInProgress, StartTimestamp: &now})
	r.Spec = velerov1.RestoreSpec{BackupName: "b-seen", IncludedNamespaces: []string{"shop"}, IncludedResources: []string{"configmaps", "secrets"},
		NamespaceMapping: map[string]string{"shop": "there-before"}}
	b.create(t, r)
	console := func(args ...string) *console {
		c := openConsole(t, b, 100, 30, append([]string{"-n", "velero"}, args...)...)
		c.sees(t, "resources-seen")
		c.types(t, "/resources-seen\r\r4")
		return c
	}

	c := console()
	// Velero has no total yet, so the estimate stands in for it.
	c.sees(t, "[4 Resources]", "RESOURCE (restore order)", "configmaps", "0/951", "≈")
	c.types(t, "\x1b")
	c.sees(t, "[1 Active")
	c.types(t, "\x1b") // the filter goes too
	eventually(t, "the filter is gone", func() bool { return !strings.Contains(c.screen(), "/resources-seen") })
	c.types(t, "3/b-seen\r\r4")
	c.sees(t, "2452 items of", "IN THE BACKUP", "widgets.lab.example.com")
	c.types(t, "q")
	c.exits(t)
	if n := s.downloads.Load(); n != 1 {
		t.Errorf("%d downloads for one backup", n)
	}

	c = console("--no-artifacts")
	c.sees(t, "With --no-artifacts")
	c.types(t, "q")
	c.exits(t)

	const viewer = "resources-viewer"
	config, err := b.UserWith(t.Context(), viewer, "velero", rbacv1.PolicyRule{
		APIGroups: []string{"velero.io"}, Resources: []string{"*"}, Verbs: []string{"get", "list", "watch"}})
	if err != nil {
		t.Fatal(err)
	}
	kubeconfig, err := b.KubeconfigFor(config, viewer+".kubeconfig")
	if err != nil {
		t.Fatal(err)
	}
	c = console("--kubeconfig", kubeconfig)
	c.sees(t, "not permitted", "downloadrequests.velero.io")
	c.types(t, "q")
	c.exits(t)
	if n := s.downloads.Load(); n != 1 {
		t.Errorf("%d downloads in all", n)
	}
	var left velerov1.DownloadRequestList
	if err := b.client.List(t.Context(), &left); err != nil || len(left.Items) > 0 {
		t.Errorf("%d download requests left, %v", len(left.Items), err)
	}
}
