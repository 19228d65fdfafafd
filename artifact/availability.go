package artifact

import (
	"fmt"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"

	"github.com/veltui/veltui/sanitize"
)

// Outlook is what can be said of an artifact before asking for it.
type Outlook int

// The four outlooks.
const (
	// Perhaps: it may be there.
	Perhaps Outlook = iota
	// Pointless: nothing is stored yet, or ever will be.
	Pointless
	// Provisional: it is there and may still change.
	Provisional
	// Final: it is there and stays as it is.
	Final
)

func (o Outlook) String() string {
	return [...]string{"perhaps", "pointless", "provisional", "final"}[o]
}

// Expect says from the phase of the backup or restore that an artifact belongs
// to whether it is worth asking for, and why not if it is not plainly there.
// Velero stores all artifacts of a job at the end of its run, just before it
// leaves InProgress; finalizing may write some again (pkg/controller,
// pkg/persistence/object_store.go). That a job is InProgress although they are
// stored is a sign that its last patch was lost: who looks for that sign asks
// with [Fetcher.Probe] all the same.
func Expect(kind velerov1.DownloadTargetKind, phase string) (outlook Outlook, reason string) {
	what := "the backup"
	if ofRestore(kind) {
		what = "the restore"
	}
	switch phase {
	case "", "New", "Queued", "ReadyToStart":
		return Pointless, what + " has not begun, so nothing is stored"
	case "FailedValidation":
		return Pointless, what + " was not valid and never ran, so nothing is stored"
	case "InProgress":
		return Pointless, what + " is running; Velero stores everything at the end of the run"
	}
	if kind == velerov1.DownloadTargetKindCSIBackupVolumeSnapshots || kind == velerov1.DownloadTargetKindCSIBackupVolumeSnapshotContents {
		return Perhaps, "Velero has not stored CSI snapshot lists since 1.17"
	}
	switch phase {
	case "WaitingForPluginOperations", "WaitingForPluginOperationsPartiallyFailed", "Finalizing", "FinalizingPartiallyFailed":
		switch kind {
		case velerov1.DownloadTargetKindBackupLog, velerov1.DownloadTargetKindRestoreLog:
			return Final, ""
		}
		return Provisional, what + " is not finished; this may still change"
	case "Completed", "PartiallyFailed":
		return Final, ""
	case "Failed":
		return Perhaps, what + " failed; what is stored depends on how far it got"
	case "Deleting":
		return Perhaps, what + " is being deleted"
	}
	return Perhaps, fmt.Sprintf("the phase %s is not known here", sanitize.String(phase))
}
