//go:build e2e

package e2e

import (
	"slices"
	"strings"
	"testing"

	"github.com/veltui/veltui/e2e/lab"
	"github.com/veltui/veltui/internal/velero/veleroapi"
)

// heldRestore creates a restore that waits at its gate with some items done.
func heldRestore(t *testing.T, name string) lab.History {
	t.Helper()
	fullBackup(t)
	createRestore(t, name, veleroapi.RestoreSpec{
		BackupName:         full,
		IncludedNamespaces: []string{"media"},
		IncludedResources:  []string{"configmaps", "secrets"},
		NamespaceMapping:   to(name),
	}, lab.Annotations{lab.HoldAnnotation: name})
	return await(t, "Restore", name, "be held with some items done", func(h lab.History) bool {
		p := h.LastState().Progress
		return p != nil && p.Done > 0 && p.Done < p.Total
	})
}

// TestServerKilledMidRestore kills the server while it restores. The CR stays
// as it was, and nobody works on it, until a new server marks it as Failed.
func TestServerKilledMidRestore(t *testing.T) {
	must(t, theLab.EnsureVelero(patient(t)))
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
	if got := h.StatusText("failureReason"); got != reason {
		t.Errorf("failureReason %q, want %q", got, reason)
	}
	if got := docs[len(docs)-1].FailureReason; got != reason {
		t.Errorf("veltui told the reason %q, want %q", got, reason)
	}
	if p := h.LastState().Progress; p.Done >= p.Total {
		t.Errorf("progress %v, want it left where the server was killed", p)
	}
}
