package velero

import (
	"strings"
	"time"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
)

// Origin says whether the cluster that holds a Backup made what is stored under its name.
type Origin string

const (
	OriginHere Origin = "here"
	// what is stored under its name was there first: another cluster's, or of an object that is gone
	OriginStored  Origin = "stored"
	OriginUnknown Origin = "unknown"
)

const (
	// ranHere is the generation that a backup which ran has at least: New, InProgress, and its end. Velero's CRDs have no
	// status subresource, so the API server counts each change of the phase.
	ranHere = 3
	// originSkew is how far the clocks of the API server and of a Velero server beside it may differ.
	originSkew = 5 * time.Second
)

// OriginOf judges the origin by the object, and says why. Velero's sync creates what another cluster stored as a new
// object, of generation 1, after the backup's end and in its last phase (pkg/controller/backup_sync_controller.go
// Reconcile; 1.14 to 1.18.3), or two with the phase Deleting. A backup whose name was taken fails before it stores
// anything (backup_controller.go runBackup). A cluster made from a copy of another's etcd looks like that one.
func OriginOf(b *velerov1.Backup) (origin Origin, why string) {
	began := b.Status.StartTimestamp
	switch {
	case strings.Contains(b.Status.FailureReason, "already exists in object storage"):
		return OriginStored, "its name was taken in the object store: the files there are another backup's"
	case began == nil:
		return OriginUnknown, "it never began: files under its name, if there are any, are another backup's"
	case b.Generation == 0:
		return OriginUnknown, "whether this cluster made it is unknown: its object has no generation"
	case b.Generation < ranHere:
		return OriginStored, "this cluster did not run it: Velero's sync made the object from the object store"
	case b.CreationTimestamp.Sub(began.Time) > originSkew:
		return OriginUnknown, "whether this cluster made it is unknown: the object is younger than the backup, and " +
			"was changed since"
	}
	return OriginHere, "this cluster made it: the object is older than the backup, and has changed with its phases"
}
