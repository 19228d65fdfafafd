//go:build e2e

package e2e

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/veltui/veltui/e2e/lab"
	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
)

// heldRestore creates a restore that waits at its gate with some items done.
func heldRestore(t *testing.T, name string) lab.History {
	t.Helper()
	fullBackup(t)
	createRestore(t, name, velerov1.RestoreSpec{
		BackupName: full, IncludedNamespaces: []string{"media"}, IncludedResources: []string{"configmaps", "secrets"}, NamespaceMapping: to(name),
	}, lab.Annotations{lab.Hold: name})
	return await(t, "Restore", name, "be held with some items done", func(h lab.History) bool {
		p := h.State().Progress
		return p != nil && p.Done > 0 && p.Done < p.Total
	})
}

// TestServerKilledMidRestore kills the server while it restores. The CR stays
// as it was, and nobody works on it, until a new server marks it as Failed.
func TestServerKilledMidRestore(t *testing.T) {
	must(t, theLab.VeleroWith(patient(t)))
	h := heldRestore(t, "killed")
	must(t, theLab.KillVelero(patient(t)))
	facts := wantVerdict(t, h, "waiting", "orphaned")
	if !slices.ContainsFunc(facts, func(f string) bool { return strings.Contains(f, "no Velero server runs") }) {
		t.Errorf("veltui's facts are %q, want one that says that no server runs", facts)
	}
	must(t, theLab.StartVelero(patient(t)))

	h = ended(t, "Restore", "killed")
	wantEnd(t, h, "Failed")
	wantPhases(t, h, []string{"", "InProgress", "Failed"})
	docs := wantTold(t, h)
	const reason = `found a restore with status "InProgress" during the server starting, mark it as "Failed"`
	if got := h.Text("failureReason"); got != reason {
		t.Errorf("failureReason %q, want %q", got, reason)
	}
	if got := docs[len(docs)-1].FailureReason; got != reason {
		t.Errorf("veltui told the reason %q, want %q", got, reason)
	}
	if p := h.State().Progress; p.Done >= p.Total {
		t.Errorf("progress %v, want it left where the server was killed", p)
	}
}

// lost makes a restore whose last patch is lost: all its items are restored
// and all its artifacts stored, but the API server is away when Velero wants
// to say so. This is Velero issue 7207. The S3 server hangs while the API
// server goes away, so that the outage hits exactly that moment. The API
// server comes back once absence has returned.
func lost(t *testing.T, name string, absence func(logged int)) lab.History {
	t.Helper()
	fullBackup(t)
	ctx := patient(t)
	createRestore(t, name, velerov1.RestoreSpec{
		BackupName: full, IncludedNamespaces: []string{"media"}, IncludedResources: []string{"configmaps"}, NamespaceMapping: to(name),
	}, lab.Annotations{lab.Hold: name})
	await(t, "Restore", name, "be held", func(h lab.History) bool { return h.State().Progress != nil })
	must(t, theLab.PauseS3())
	must(t, theLab.OpenGate(name))
	await(t, "Restore", name, "have restored all", func(h lab.History) bool {
		p := h.State().Progress
		return p.Done == p.Total
	})
	_, logged, err := theLab.VeleroLog(0)
	must(t, err)
	must(t, theLab.KillAPIServer())
	must(t, theLab.ResumeS3())
	absence(logged)
	must(t, theLab.StartAPIServer(ctx))
	return recorder.Job("Restore", name)
}

// gaveUp are words of the line that Velero logs when it gives up on the patch
// that ends a restore.
var gaveUp = []string{"Error updating restore's status", "InProgress"}

// TestFinalPatchLost is issue 7207 with a short --resource-timeout.
func TestFinalPatchLost(t *testing.T) {
	must(t, theLab.VeleroWith(patient(t), "--resource-timeout=5s"))
	c := openConsole(t)
	h := lost(t, "lost", func(logged int) {
		c.sees(t, "stale ")
		must(t, theLab.AwaitLog(patient(t), logged, gaveUp...))
	})
	c.sees(t, " live ") // with no key pressed
	wantLost(t, h)
	c.quits(t)
	// A new server knows nothing of the work that was done.
	must(t, theLab.VeleroWith(patient(t)))
	h = ended(t, "Restore", "lost")
	wantEnd(t, h, "Failed")
	wantTold(t, h)
}

// outage is longer than Velero tries with its default of 10 minutes: its last
// attempt is made 39 to 43 s after the first.
const outage = 75 * time.Second

// TestFinalPatchLostToALongOutage is the same with all defaults, and how veltui
// ends it.
func TestFinalPatchLostToALongOutage(t *testing.T) {
	must(t, theLab.VeleroWith(patient(t)))
	ctx := patient(t)
	var mark int
	h := lost(t, "outage", func(logged int) {
		mark = logged
		select {
		case <-time.After(outage):
		case <-ctx.Done():
			t.Fatal(ctx.Err())
		}
	})
	must(t, theLab.AwaitLog(ctx, mark, gaveUp...))
	wantLost(t, h)
	finalizeLost(t, "outage")
}

// wantLost checks that a restore still says InProgress although all its items
// are restored, its results stored and the server alive, and that veltui sees
// that it is not moving.
func wantLost(t *testing.T, h lab.History) {
	t.Helper()
	name := h.Last().Object.GetName()
	live, err := theLab.Restore(patient(t), name)
	must(t, err)
	if live.Status.Phase != velerov1.RestorePhaseInProgress {
		t.Fatalf("the restore is %s, want InProgress", live.Status.Phase)
	}
	if p := live.Status.Progress; p == nil || p.ItemsRestored != p.TotalItems {
		t.Errorf("progress %v, want all items restored", p)
	}
	if !theLab.StoredExists("restores/" + name + "/restore-" + name + "-results.gz") {
		t.Error("the results are not stored, although all the work was done")
	}
	if !theLab.VeleroRunning() {
		t.Error("the server ended")
	}
	wantVerdict(t, h, "quiet", "stuck")
}
