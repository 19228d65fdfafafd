//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/veltui/veltui/e2e/lab"
	rules "github.com/veltui/veltui/internal/velero"
	"github.com/veltui/veltui/internal/velero/veleroapi"
)

// serverVersion is the version of Velero that the lab runs. What differs between
// versions is asked of it, as veltui does.
func serverVersion(t *testing.T) rules.Version {
	t.Helper()
	v, known := rules.ParseVersion(theLab.Version)
	if !known {
		t.Fatalf("the lab's Velero has no version: %q", theLab.Version)
	}
	return v
}

// needs skips a test of something that the lab's Velero does not have.
func needs(t *testing.T, has bool, what string) {
	t.Helper()
	if !has {
		t.Skipf("Velero %s has no %s", theLab.Version, what)
	}
}

// backupPhases are those of a backup from its creation on, if it goes through
// phases once Velero begins with it.
func backupPhases(t *testing.T, phases ...string) []string {
	t.Helper()
	if serverVersion(t).QueuesBackups() {
		return append([]string{"", "Queued", "ReadyToStart"}, phases...)
	}
	return append([]string{""}, phases...)
}

// notStarted reports whether a backup waits until Velero begins with it. Where
// there is no queue nothing is written about it.
func notStarted(t *testing.T) func(lab.History) bool {
	t.Helper()
	if serverVersion(t).QueuesBackups() {
		return queued
	}
	return func(h lab.History) bool { return len(h) > 0 && h.LastState().Phase == "" }
}

// existsLine are words of the warning about something that is in the cluster already,
// and differs (pkg/restore/restore.go, restoreItem; worded anew in 1.16.0).
func existsLine(t *testing.T, kind, name string) string {
	t.Helper()
	if serverVersion(t).Before(rules.Version{1, 16, 0}) {
		return fmt.Sprintf("%s %q already exists", kind, name)
	}
	return kind + ":" + name + " already exists"
}

// lostPatchLine are words of the line with which Velero gives up on the patch that
// was to end a job in a phase; any phase if that is empty. Before 1.15 the line
// names none (Reconcile in pkg/controller/backup_controller.go and
// restore_controller.go).
func lostPatchLine(t *testing.T, kind, name, phase string) []string {
	t.Helper()
	text := "rror updating " + strings.ToLower(kind) + "'s status from InProgress to " + phase
	if serverVersion(t).Before(rules.Version{1, 15, 0}) {
		text = "rror updating " + strings.ToLower(kind) + "'s final status"
	}
	return []string{text, lab.Namespace + "/" + name}
}

// patient returns the context of one scenario.
func patient(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return ctx
}

// must fails the test on an error.
func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// createBackup and createRestore create a job; backup and restore also wait
// until it has ended, and return what was recorded.
func createBackup(t *testing.T, name string, spec veleroapi.BackupSpec, a lab.Annotations) {
	t.Helper()
	must(t, theLab.CreateBackup(patient(t), name, spec, a))
}

func createRestore(t *testing.T, name string, spec veleroapi.RestoreSpec, a lab.Annotations) {
	t.Helper()
	must(t, theLab.CreateRestore(patient(t), name, spec, a))
}

func backup(t *testing.T, name string, spec veleroapi.BackupSpec, a lab.Annotations) lab.History {
	t.Helper()
	createBackup(t, name, spec, a)
	return ended(t, "Backup", name)
}

func restore(t *testing.T, name string, spec veleroapi.RestoreSpec, a lab.Annotations) lab.History {
	t.Helper()
	createRestore(t, name, spec, a)
	return ended(t, "Restore", name)
}

// ended waits until a job has ended.
func ended(t *testing.T, kind, name string) lab.History {
	t.Helper()
	return await(t, kind, name, "end", lab.HasEnded)
}

// await waits until what was recorded of a job satisfies done.
func await(t *testing.T, kind, name, what string, done func(lab.History) bool) lab.History {
	t.Helper()
	h, err := recorder.AwaitJob(patient(t), kind, name, what, done)
	must(t, err)
	return h
}

// wantEnd checks in which phase a job ended and logs what it did.
func wantEnd(t *testing.T, h lab.History, phase string) {
	t.Helper()
	t.Logf(
		"%s %s: %s; totals %v; %.1f s",
		h.LastEvent().Object.GetKind(),
		h.LastEvent().Object.GetName(),
		h.Summary(),
		h.ItemTotals(),
		h.LastEvent().At.Sub(h[0].At).Seconds(),
	)
	if got := h.LastState().Phase; got != phase {
		t.Errorf("ended as %s, want %s", got, phase)
	}
}

// wantPhases checks that a job passed exactly these phases. Phases in maybe
// may be missing: Velero can leave them faster than a watch can show.
func wantPhases(t *testing.T, h lab.History, want []string, maybe ...string) {
	t.Helper()
	drop := func(phases []string) []string {
		return slices.DeleteFunc(slices.Clone(phases), func(p string) bool { return slices.Contains(maybe, p) })
	}
	if got := h.Phases(); !slices.Equal(drop(got), drop(want)) {
		t.Errorf("phases %q, want %q", got, want)
	}
}

// liveJob reads a job as it is now.
func liveJob(t *testing.T, kind, name string) lab.History {
	t.Helper()
	h, err := theLab.ReadJob(patient(t), kind, name)
	must(t, err)
	return h
}
