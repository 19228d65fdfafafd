package sim

import (
	"testing"
	"time"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"

	"github.com/veltui/veltui/testbed"
)

// An API server that is away for a while costs nothing, and one that is away
// for longer than Velero's retries loses the last patch of a restore: Velero
// issue 7207, as recorded in the laboratory (75 s with all defaults).
func TestOutages(t *testing.T) {
	plane := testbed.ForTest(t, testbed.Options{})
	w := newWorld(t, plane, Options{})
	outage := func(length time.Duration) {
		t.Helper()
		if err := plane.KillAPIServer(); err != nil {
			t.Fatal(err)
		}
		over := w.sim.present().Add(length)
		w.step("over", length+time.Second, func() bool { return !w.sim.present().Before(over) })
		if err := plane.StartAPIServer(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	stage := func(want restoreStage) func() bool {
		return func() bool {
			w.sim.mu.Lock()
			defer w.sim.mu.Unlock()
			return w.sim.restore != nil && w.sim.restore.stage == want
		}
	}
	w.backup("b", velerov1.BackupSpec{IncludedNamespaces: []string{"alpha"}})
	w.step("stored", time.Hour, func() bool { return w.phase("b") == velerov1.BackupPhaseCompleted })

	w.restore("short", velerov1.RestoreSpec{BackupName: "b"})
	w.step("restoring", time.Hour, stage(restoring))
	outage(20 * time.Second)
	w.step("ended", time.Hour, func() bool { return w.restorePhase("short") == velerov1.RestorePhaseCompleted })

	w.restore("long", velerov1.RestoreSpec{BackupName: "b"})
	w.step("uploading", time.Hour, stage(uploadingRestore))
	outage(75 * time.Second)
	w.step("given up", time.Hour, func() bool {
		w.sim.mu.Lock()
		defer w.sim.mu.Unlock()
		return w.sim.restore == nil
	})

	// The next one is not held back, and the lost one stays as it is.
	w.restore("after", velerov1.RestoreSpec{BackupName: "b"})
	w.step("ended", time.Hour, func() bool { return w.restorePhase("after") == velerov1.RestorePhaseCompleted })
	r := &velerov1.Restore{}
	r.Namespace, r.Name = "velero", "long"
	if err := w.api.Get(t.Context(), keyOf(r), r); err != nil {
		t.Fatal(err)
	}
	if p := r.Status.Progress; r.Status.Phase != velerov1.RestorePhaseInProgress || p == nil || p.ItemsRestored != p.TotalItems {
		t.Errorf("the restore whose last patch was lost is %q with %+v", r.Status.Phase, p)
	}
	if status, _ := w.download(t, velerov1.DownloadTargetKindRestoreResults, "long"); status != 200 {
		t.Errorf("its results answer %d, want 200", status)
	}
}
