//go:build e2e

package e2e

import (
	"os"
	"slices"
	"testing"
	"time"

	"github.com/veltui/veltui/e2e/lab"
	"github.com/veltui/veltui/e2e/seed"
	"github.com/veltui/veltui/internal/velero/veleroapi"
)

// lostPatchLimit is how long after Velero's own line the median of the lost patches may be found.
const lostPatchLimit = 20 * time.Second

// TestLostPatchIsFoundSoon measures how long after Velero logs that it gives a patch up `veltui get -w` says so, and
// with how many requests.
func TestLostPatchIsFoundSoon(t *testing.T) {
	if os.Getenv("E2E_CAUSES") == "" {
		t.Skip("E2E_CAUSES is not set: make e2e-causes")
	}
	ctx := patient(t)
	must(t, theLab.EnsureVelero(ctx, "--resource-timeout=5s"))
	proxy, err := theLab.StartShiftProxy("lost-soon", lab.TimeShift{AgeOf: func(_, _ string) time.Duration { return 0 }})
	must(t, err)
	t.Cleanup(proxy.Close)
	tells, err := follow(proxy.Kubeconfig, t.TempDir())
	must(t, err)
	defer func() { must(t, tells.stop()) }()

	var took []time.Duration
	for _, namespace := range append(seed.NamespaceNames(), "kube-public") {
		name := "soon-" + namespace
		loggedAt := loseByPolicy(t, name, "Finalizing", veleroapi.BackupSpec{IncludedNamespaces: []string{namespace}})
		before := proxy.RequestCount()
		_, err := tells.await(ctx, liveJob(t, "Backup", name), "its patch is lost", func(d told) bool {
			return d.Verdict != nil && d.Verdict.Reason == "LostPatch"
		})
		must(t, err)
		took = append(took, time.Since(loggedAt))
		t.Logf("%s: found %.1f s after Velero's line, with %d requests",
			name, took[len(took)-1].Seconds(), proxy.RequestCount()-before)
	}
	slices.Sort(took)
	if median := took[len(took)/2]; median > lostPatchLimit {
		t.Errorf("the median is %s, want at most %s: %s", median, lostPatchLimit, took)
	}
	must(t, theLab.KillVelero(ctx)) // the next server marks them
	must(t, theLab.StartVelero(ctx))
}
