package velero

import (
	"strings"
	"time"

	"github.com/veltui/veltui/internal/velero/veleroapi"
)

// Origin says whether the cluster that holds a Backup made what is stored under its name.
type Origin string

const (
	OriginHere Origin = "here"
	// what is stored under its name existed first: it belongs to another cluster, or to an object that is gone
	OriginElsewhere Origin = "stored"
	OriginUnknown   Origin = "unknown"
)

const (
	// minRunGeneration is the least generation of a backup that ran: New, InProgress, and its end. Velero's CRDs have no
	// status subresource, so the API server counts each change of the phase.
	minRunGeneration = 3
	// originSkew is how far the clocks of the API server and of a Velero server in the same cluster may differ.
	originSkew = 5 * time.Second
)

// OriginOf judges the origin by the object, and says why. Velero's sync creates what another cluster stored as a new
// object, of generation 1, after the backup's end and in its last phase (pkg/controller/backup_sync_controller.go
// Reconcile; 1.14 to 1.18.3), or of generation 2 with the phase Deleting. A backup whose name was taken fails before
// it stores anything (backup_controller.go runBackup). A cluster made from a copy of another cluster's etcd looks
// like the other cluster.
func OriginOf(b *veleroapi.Backup) (origin Origin, why string) {
	began := b.Status.StartTimestamp
	switch {
	case strings.Contains(b.Status.FailureReason, "already exists in object storage"):
		return OriginElsewhere, "its name was taken in the object store: the files there are another backup's"
	case began == nil:
		return OriginUnknown, "it never began: files under its name, if there are any, are another backup's"
	case b.Generation == 0:
		return OriginUnknown, "whether this cluster made it is unknown: its object has no generation"
	case b.Generation < minRunGeneration:
		return OriginElsewhere, "this cluster did not run it: Velero's sync made the object from the object store"
	case b.CreationTimestamp.Sub(began.Time) > originSkew:
		return OriginUnknown, "whether this cluster made it is unknown: the object is younger than the backup, and " +
			"was changed since"
	}
	return OriginHere, "this cluster made it: the object is older than the backup, and has changed with its phases"
}
