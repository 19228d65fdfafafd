package sim

import (
	"slices"
	"strings"
	"testing"
	"time"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/veltui/veltui/testbed"
)

// next are the phases that may follow a phase (velero-facts 1.3 and 1.4).
var next = map[string][]string{
	"Backup/":                           {"Queued"},
	"Backup/Queued":                     {"ReadyToStart"},
	"Backup/ReadyToStart":               {"InProgress", "FailedValidation"},
	"Backup/InProgress":                 {"WaitingForPluginOperations", "WaitingForPluginOperationsPartiallyFailed", "Finalizing", "FinalizingPartiallyFailed", "Failed"},
	"Backup/WaitingForPluginOperations": {"WaitingForPluginOperationsPartiallyFailed", "Finalizing", "FinalizingPartiallyFailed"},
	"Backup/WaitingForPluginOperationsPartiallyFailed": {"FinalizingPartiallyFailed"},
	"Backup/Finalizing":                                 {"Completed"},
	"Backup/FinalizingPartiallyFailed":                  {"PartiallyFailed"},
	"Backup/Completed":                                  {"Deleting"},
	"Backup/PartiallyFailed":                            {"Deleting"},
	"Restore/":                                          {"InProgress", "FailedValidation"},
	"Restore/InProgress":                                {"WaitingForPluginOperations", "WaitingForPluginOperationsPartiallyFailed", "Finalizing", "FinalizingPartiallyFailed", "Failed"},
	"Restore/WaitingForPluginOperations":                {"WaitingForPluginOperationsPartiallyFailed", "Finalizing", "FinalizingPartiallyFailed"},
	"Restore/WaitingForPluginOperationsPartiallyFailed": {"FinalizingPartiallyFailed"},
	"Restore/Finalizing":                                {"Completed", "PartiallyFailed"},
	"Restore/FinalizingPartiallyFailed":                 {"PartiallyFailed"},
}

func terminal(phase string) bool {
	return slices.Contains([]string{"Completed", "PartiallyFailed", "Failed", "FailedValidation", "Deleting"}, phase)
}

// checkRules holds every event of one job against what the real server never
// does otherwise.
func checkRules(t *testing.T, w *world, events []seen) {
	t.Helper()
	var last seen
	var lastProgress time.Time
	for n, e := range events {
		phase, before := e.phase(), last.phase()
		if n > 0 && phase != before && !slices.Contains(next[e.kind+"/"+before], phase) {
			t.Errorf("%s: %q follows %q", e.name, phase, before)
		}
		if e.number("queuePosition") > 0 != (phase == "Queued") {
			t.Errorf("%s: queue position %d while %q", e.name, e.number("queuePosition"), phase)
		}
		if _, ended := e.status()["completionTimestamp"]; ended != terminal(phase) && phase != "FailedValidation" {
			t.Errorf("%s: completionTimestamp is set: %t, while %q", e.name, ended, phase)
		}
		if phase == "InProgress" && e.number("errors")+e.number("warnings") > 0 {
			t.Errorf("%s: errors or warnings while InProgress: %s", e.name, toJSON(e.status()))
		}
		if e.kind == "Restore" && phase == "InProgress" && !strings.Contains(toJSON(e.object["metadata"]), restoreFinalizer) {
			t.Errorf("%s: InProgress before it has its finalizer", e.name)
		}
		done, total, known := e.progress()
		wasDone, wasTotal, was := last.progress()
		if was && done < wasDone {
			t.Errorf("%s: items went back from %d to %d", e.name, wasDone, done)
		}
		if known && done > total {
			t.Errorf("%s: %d of %d items", e.name, done, total)
		}
		if known && (!was || done != wasDone || total != wasTotal) {
			if phase != "InProgress" {
				t.Errorf("%s: progress changes while %q", e.name, phase)
			}
			at, mine := w.wroteAt(e.version)
			if !mine {
				t.Errorf("%s: a progress that nobody wrote", e.name)
			}
			// Only the last write of all does not wait for its second.
			if was && done < total && at.Sub(lastProgress) < time.Second {
				t.Errorf("%s: %d/%d only %s after the progress before it", e.name, done, total, at.Sub(lastProgress))
			}
			lastProgress = at
		}
		if before == "InProgress" && phase != "InProgress" && phase != "Failed" && wasDone != wasTotal {
			t.Errorf("%s: left InProgress at %d/%d", e.name, wasDone, wasTotal)
		}
		last = e
	}
}

// distinct are the phases that events pass, each once.
func distinct(events []seen) []string {
	var phases []string
	for _, e := range events {
		if len(phases) == 0 || phases[len(phases)-1] != e.phase() {
			phases = append(phases, e.phase())
		}
	}
	return phases
}

func wantPhases(t *testing.T, events []seen, want ...string) {
	t.Helper()
	if got := distinct(events); !slices.Equal(got, want) {
		t.Errorf("%s passed %q, want %q", events[0].name, got, want)
	}
}

func TestJobsObeyVelerosRules(t *testing.T) {
	w := newWorld(t, testbed.ForTest(t, testbed.Options{}), Options{ConcurrentBackups: 2})

	// A queue: b2 shares a namespace with b1, b4 finds two running.
	w.backup("b1", velerov1.BackupSpec{IncludedNamespaces: []string{"alpha"}, DefaultVolumesToFsBackup: ptr.To(true)})
	w.backup("b2", velerov1.BackupSpec{IncludedNamespaces: []string{"alpha", "beta"}})
	w.backup("b3", velerov1.BackupSpec{IncludedNamespaces: []string{"gamma"}, SnapshotMoveData: ptr.To(true)})
	w.backup("b4", velerov1.BackupSpec{IncludedNamespaces: []string{"bad"}})
	w.backup("b5", velerov1.BackupSpec{IncludedNamespaces: []string{"beta"}, ExcludedNamespaces: []string{"beta"}})
	all := []string{"b1", "b2", "b3", "b4"}
	w.step("all backups have ended", time.Hour, func() bool {
		return !slices.ContainsFunc(all, func(name string) bool { return !terminal(string(w.phase(name))) })
	})
	checkQueue(t, w)

	b1 := w.events.until(t, "Backup", "b1", "Completed")
	wantPhases(t, b1, "", "Queued", "ReadyToStart", "InProgress", "Finalizing", "Completed")
	wantPhases(t, w.events.until(t, "Backup", "b2", "Completed"), "", "Queued", "ReadyToStart", "InProgress", "Finalizing", "Completed")
	b3 := w.events.until(t, "Backup", "b3", "Completed")
	wantPhases(t, b3, "", "Queued", "ReadyToStart", "InProgress", "WaitingForPluginOperations", "Finalizing", "Completed")
	b4 := w.events.until(t, "Backup", "b4", "PartiallyFailed")
	wantPhases(t, b4, "", "Queued", "ReadyToStart", "InProgress", "FinalizingPartiallyFailed", "PartiallyFailed")
	if errors := b4[len(b4)-1].number("errors"); errors != 1 {
		t.Errorf("b4 ended with %d errors, want 1", errors)
	}
	wantPhases(t, w.events.until(t, "Backup", "b5", "FailedValidation"), "", "Queued", "ReadyToStart", "FailedValidation")
	if _, total, _ := b1[len(b1)-1].progress(); total != itemsOf {
		t.Errorf("b1 stored %d items, want %d", total, itemsOf)
	}
	checkVolumeWait(t, b1)
	checkOperations(t, w, b3, "backupItemOperations")
	for _, name := range append(all, "b5") {
		checkRules(t, w, w.events.of("Backup", name))
	}

	// Restores wait for the only worker, in New and with no position.
	w.restore("r1", velerov1.RestoreSpec{BackupName: "b1", NamespaceMapping: map[string]string{"alpha": "alpha-new"}})
	w.restore("r2", velerov1.RestoreSpec{BackupName: "b3", IncludedNamespaces: []string{"gamma"}})
	w.restore("r3", velerov1.RestoreSpec{BackupName: "b1", NamespaceMapping: map[string]string{"alpha": "small"}, IncludedNamespaces: []string{"alpha"}})
	w.restore("r4", velerov1.RestoreSpec{BackupName: "b1", IncludedNamespaces: []string{"nowhere"}})
	w.restore("r5", velerov1.RestoreSpec{BackupName: "b1", ScheduleName: "s"})
	restores := []string{"r1", "r2", "r3", "r4", "r5"}
	w.step("all restores have ended", time.Hour, func() bool {
		return !slices.ContainsFunc(restores, func(name string) bool { return !terminal(string(w.restorePhase(name))) })
	})
	wantPhases(t, w.events.until(t, "Restore", "r1", "Completed"), "", "InProgress", "Finalizing", "Completed")
	r2 := w.events.until(t, "Restore", "r2", "Completed")
	wantPhases(t, r2, "", "InProgress", "WaitingForPluginOperations", "Finalizing", "Completed")
	checkOperations(t, w, r2, "restoreItemOperations")
	r3 := w.events.until(t, "Restore", "r3", "PartiallyFailed")
	wantPhases(t, r3, "", "InProgress", "FinalizingPartiallyFailed", "PartiallyFailed")
	if errors := r3[len(r3)-1].number("errors"); errors != 61-10 {
		t.Errorf("r3 ended with %d errors, want the 51 ConfigMaps that its quota refuses", errors)
	}
	r4 := w.events.until(t, "Restore", "r4", "Completed")
	if status := toJSON(r4[len(r4)-1].status()); !strings.Contains(status, `"progress":{}`) {
		t.Errorf("an empty restore ended as %s, want an empty progress", status)
	}
	wantPhases(t, w.events.until(t, "Restore", "r5", "FailedValidation"), "", "FailedValidation")
	for _, name := range restores {
		checkRules(t, w, w.events.of("Restore", name))
	}
	checkTotals(t, w)
	checkOneWorker(t, w)
}

// checkQueue replays the events of all backups in the API server's order, and
// looks at each moment whether those that run may run together.
func checkQueue(t *testing.T, w *world) {
	t.Helper()
	namespaces := map[string][]string{"b1": {"alpha"}, "b2": {"alpha", "beta"}, "b3": {"gamma"}, "b4": {"bad"}, "b5": {}}
	phases := map[string]string{}
	waited, full := false, 0
	w.events.mu.Lock()
	defer w.events.mu.Unlock()
	for _, e := range w.events.events {
		if e.kind != "Backup" {
			continue
		}
		phases[e.name] = e.phase()
		var running []string
		for name, phase := range phases {
			if phase == "InProgress" || phase == "ReadyToStart" {
				running = append(running, name)
			}
		}
		if len(running) > 2 {
			t.Errorf("%q run at the same time, with two workers", running)
		}
		if len(running) == 2 {
			full++
		}
		var busy []string
		for _, name := range running {
			for _, namespace := range namespaces[name] {
				if slices.Contains(busy, namespace) {
					t.Errorf("%q run at the same time and share %s", running, namespace)
				}
				busy = append(busy, namespace)
			}
		}
		waited = waited || phases["b1"] == "InProgress" && phases["b2"] == "Queued" && phases["b3"] == "InProgress"
	}
	if !waited || full == 0 {
		t.Error("b3 did not overtake b2, which waits for a namespace of b1")
	}
}

// checkVolumeWait wants an event at which everything but the volumes is done.
func checkVolumeWait(t *testing.T, events []seen) {
	t.Helper()
	for _, e := range events {
		// All but the CRD, which is stored when the volumes have ended; the
		// item that was left out stays in the total.
		if done, total, ok := e.progress(); ok && e.phase() == "InProgress" && done == itemsOf-1 && total == itemsOf {
			return
		}
	}
	t.Errorf("%s never waited for its volumes with its items done", events[0].name)
}

// checkOperations wants counters that move only when they are polled, every
// 10 s, and DataUploads or DataDownloads that can be joined with them.
func checkOperations(t *testing.T, w *world, events []seen, prefix string) {
	t.Helper()
	first, last := 0, events[len(events)-1]
	for n, e := range events {
		if e.number(prefix+"Attempted") > 0 && first == 0 {
			first = n
		}
	}
	if events[first].phase() != "WaitingForPluginOperations" || events[first].number(prefix+"Completed") != 0 {
		t.Errorf("%s: operations first show with %s", last.name, toJSON(events[first].status()))
	}
	if last.number(prefix+"Completed") != 1 || last.number(prefix+"Attempted") != 1 {
		t.Errorf("%s: ended with %s", last.name, toJSON(last.status()))
	}
	began, _ := w.wroteAt(events[first].version)
	ended, _ := w.wroteAt(events[first+1].version)
	if waited := ended.Sub(began); waited < 10*time.Second {
		t.Errorf("%s: its operation of 30 s of data took %s", last.name, waited)
	}
	// The first step, a tenth of a second after the start, polls first.
	if off := ended.Sub(testNow.Add(100*time.Millisecond)) % (10 * time.Second); off != 0 {
		t.Errorf("%s: its counters moved %s after a poll", last.name, off)
	}
}

// checkTotals holds the totals of r1 against R + (N - P), done by hand.
func checkTotals(t *testing.T, w *world) {
	t.Helper()
	events := w.events.of("Restore", "r1")
	_, final, _ := events[len(events)-1].progress()
	// All items but the ended pod; the namespace counts under its new name.
	if want := itemsOf - 1; final != want {
		t.Errorf("r1 ended with %d items, want %d", final, want)
	}
	var moved []int
	for _, e := range events {
		if _, total, ok := e.progress(); ok && (len(moved) == 0 || moved[len(moved)-1] != total) {
			moved = append(moved, total)
		}
	}
	// The namespace that was made adds one to R, and its item in N never
	// enters P; so the total stands one too high until the ended pod.
	if len(moved) < 2 || moved[0] != itemsOf+1 {
		t.Errorf("r1's totals went through %d, want them to begin with %d", moved, itemsOf+1)
	}
}

func checkOneWorker(t *testing.T, w *world) {
	t.Helper()
	phases := map[string]string{}
	w.events.mu.Lock()
	defer w.events.mu.Unlock()
	for _, e := range w.events.events {
		if e.kind != "Restore" {
			continue
		}
		phases[e.name] = e.phase()
		running := 0
		for _, phase := range phases {
			if phase == "InProgress" {
				running++
			}
		}
		if running > 1 {
			t.Errorf("%d restores are InProgress", running)
		}
	}
}

func TestOutsidersAndRestarts(t *testing.T) {
	w := newWorld(t, testbed.ForTest(t, testbed.Options{}), Options{})
	status := velerov1.RestoreStatus{
		Phase: velerov1.RestorePhaseInProgress, StartTimestamp: &metav1.Time{Time: testNow},
		Progress: &velerov1.RestoreProgress{TotalItems: 5, ItemsRestored: 5},
	}

	t.Run("a nudge into Finalizing is finalized", func(t *testing.T) {
		r := &velerov1.Restore{ObjectMeta: metav1.ObjectMeta{Namespace: "velero", Name: "lost"}, Status: status}
		w.create(r)
		waitFor(t, "the server to see it", func() bool { return knows(w.sim, w.sim.restores, "lost") })
		w.step("still InProgress after ten minutes", 11*time.Minute, func() bool { return w.sim.present().Sub(testNow) > 10*time.Minute })
		if phase := w.restorePhase("lost"); phase != velerov1.RestorePhaseInProgress {
			t.Fatalf("a live server touched a restore that it does not own: %q", phase)
		}
		r.Status.Phase = velerov1.RestorePhaseFinalizingPartiallyFailed
		if err := w.api.Update(w.ctx, r); err != nil {
			t.Fatal(err)
		}
		w.events.until(t, "Restore", "lost", "FinalizingPartiallyFailed")
		waitFor(t, "the server to see the nudge", func() bool { return w.restorePhase("lost") == velerov1.RestorePhaseFinalizingPartiallyFailed })
		w.step("finalized", time.Hour, func() bool { return w.restorePhase("lost") == velerov1.RestorePhasePartiallyFailed })
	})

	t.Run("a tracked backup cannot be deleted, an ended one can", func(t *testing.T) {
		b := w.backup("kept", velerov1.BackupSpec{IncludedNamespaces: []string{"alpha"}})
		w.step("running", time.Hour, func() bool { return w.phase("kept") == velerov1.BackupPhaseInProgress })
		d := w.askDeletion("kept-1", "kept")
		w.step("refused", time.Hour, func() bool { return w.deletionEnded("kept-1") })
		if err := w.api.Get(w.ctx, keyOf(d), d); err != nil || !slices.Equal(d.Status.Errors, []string{"backup is still in progress"}) {
			t.Errorf("the request ended with %q (%v), want the tracker's refusal", d.Status.Errors, err)
		}
		w.step("ended", time.Hour, func() bool { return w.phase("kept") == velerov1.BackupPhaseCompleted })
		if !w.sim.storage.holds("backups/kept/") {
			t.Error("nothing of it is in the store")
		}
		w.askDeletion("kept-2", "kept")
		w.step("deleted", time.Hour, func() bool { return w.phase("kept") == "gone" })
		if w.sim.storage.holds("backups/kept/") {
			t.Error("its artifacts are still in the store")
		}
		_ = b
	})

	t.Run("sync deletes what claims to be stored and is not", func(t *testing.T) {
		w.create(&velerov1.Backup{
			ObjectMeta: metav1.ObjectMeta{Namespace: "velero", Name: "forced", Labels: map[string]string{velerov1.StorageLocationLabel: "default"}},
			Status:     velerov1.BackupStatus{Phase: velerov1.BackupPhasePartiallyFailed},
		})
		w.create(&velerov1.Backup{
			ObjectMeta: metav1.ObjectMeta{Namespace: "velero", Name: "failed", Labels: map[string]string{velerov1.StorageLocationLabel: "default"}},
			Status:     velerov1.BackupStatus{Phase: velerov1.BackupPhaseFailed},
		})
		waitFor(t, "the server to see both", func() bool { return w.phase("forced") != "gone" && w.phase("failed") != "gone" })
		w.step("gone with the next sync", 2*time.Minute, func() bool { return w.phase("forced") == "gone" })
		if w.phase("failed") == "gone" {
			t.Error("sync deleted a Failed backup")
		}
	})

	t.Run("a restart fails what was InProgress", func(t *testing.T) {
		w.backup("torn", velerov1.BackupSpec{IncludedNamespaces: []string{"beta"}, DefaultVolumesToFsBackup: ptr.To(true)})
		w.step("waiting for its volume", time.Hour, func() bool {
			w.sim.mu.Lock()
			defer w.sim.mu.Unlock()
			return len(w.sim.pvbs.byName) > 0 && w.sim.pvbs.sorted()[0].Status.Phase == velerov1.PodVolumeBackupPhaseInProgress
		})
		w.sim.Restart(w.ctx)
		events := w.events.until(t, "Backup", "torn", "Failed")
		last := events[len(events)-1].status()
		if got, want := last["failureReason"], `found a backup with status "InProgress" during the server starting, mark it as "Failed"`; got != want {
			t.Errorf("failureReason is %q, want %q", got, want)
		}
		w.step("its volume is cancelled", time.Hour, func() bool {
			w.sim.mu.Lock()
			defer w.sim.mu.Unlock()
			return w.sim.pvbs.sorted()[0].Status.Phase == velerov1.PodVolumeBackupPhaseCanceled
		})
		checkRules(t, w, w.events.of("Backup", "torn"))
	})
}
