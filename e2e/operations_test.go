//go:build e2e

package e2e

import (
	"testing"

	"github.com/veltui/veltui/e2e/lab"
	"github.com/veltui/veltui/internal/velero/veleroapi"
)

const (
	waiting     = "WaitingForPluginOperations"
	waitingMore = "WaitingForPluginOperationsPartiallyFailed"
)

// acted is how many objects of namespace ops ask for the lab's plugin: three
// ConfigMaps and a Widget.
const acted = 4

// checksOften makes the server look at operations each second, and not every ten.
const checksOften = "--item-operation-sync-frequency=1s"

func TestOperationsOfABackup(t *testing.T) {
	must(t, theLab.EnsureVelero(patient(t), checksOften))
	spec := veleroapi.BackupSpec{IncludedNamespaces: []string{"ops"}}
	createBackup(t, "operations", spec, lab.Annotations{lab.OperationAnnotation: "1s", lab.OperationHoldAnnotation: "backup-operations"})
	h := await(t, "Backup", "operations", "wait for its operations", lab.InPhase(waiting))
	wantOperations(t, h, 0, 0)
	must(t, theLab.OpenGate("backup-operations"))
	h = ended(t, "Backup", "operations")
	wantEnd(t, h, "Completed")
	wantPhases(t, h, backupPhases(t, "InProgress", waiting, "Finalizing", "Completed"))
	wantTold(t, h)
	wantOperations(t, h, acted, 0)
}

func TestOperationsOfARestore(t *testing.T) {
	must(t, theLab.EnsureVelero(patient(t), checksOften))
	fullBackup(t)
	for _, tt := range []struct {
		name        string
		annotations lab.Annotations
		phases      []string
		completed   int
		failed      int
	}{
		{"operations-end", lab.Annotations{}, []string{"", "InProgress", waiting, "Finalizing", "Completed"}, acted, 0},
		{
			"operations-fail", lab.Annotations{lab.OperationErrorAnnotation: "the disk is full"},
			[]string{"", "InProgress", waiting, waitingMore, "FinalizingPartiallyFailed", "PartiallyFailed"}, 0, acted,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.annotations[lab.OperationAnnotation], tt.annotations[lab.OperationHoldAnnotation] = "1s", tt.name
			createRestore(t, tt.name, veleroapi.RestoreSpec{
				BackupName:         full,
				IncludedNamespaces: []string{"ops"},
				IncludedResources:  []string{"configmaps", "widgets.lab.veltui.io"},
				NamespaceMapping:   to(tt.name),
			}, tt.annotations)
			await(t, "Restore", tt.name, "wait for its operations", lab.InPhase(waiting))
			must(t, theLab.OpenGate(tt.name))
			h := ended(t, "Restore", tt.name)
			wantEnd(t, h, tt.phases[len(tt.phases)-1])
			wantPhases(
				t,
				h,
				tt.phases,
				waitingMore,
			) // the phase that says some failed is passed through when all end at once
			wantTold(t, h)
			wantOperations(t, h, tt.completed, tt.failed)
		})
	}
}

// wantOperations checks the counters of a job's operations, Velero's own and
// those that veltui tells.
func wantOperations(t *testing.T, h lab.History, completed, failed int) {
	t.Helper()
	prefix := "restoreItemOperations"
	if h.LastEvent().Object.GetKind() == "Backup" {
		prefix = "backupItemOperations"
	}
	if a, c, f := h.StatusNumber(
		prefix+"Attempted",
	), h.StatusNumber(
		prefix+"Completed",
	), h.StatusNumber(
		prefix+"Failed",
	); a != acted || c != completed ||
		f != failed {
		t.Errorf(
			"Velero counts %d operations attempted, %d completed, %d failed; want %d, %d, %d",
			a,
			c,
			f,
			acted,
			completed,
			failed,
		)
	}
	_, err := veltuiTells.await(patient(t), h, "its operations are counted", func(d told) bool {
		return d.Operations.Attempted == acted && d.Operations.Completed == completed && d.Operations.Failed == failed
	})
	must(t, err)
}
