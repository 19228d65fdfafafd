package velero

import (
	"fmt"
	"slices"
	"time"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
)

// Copies judges which backups count as copies: as what is left to restore from when something else is lost. Plans of
// deletions and coverage ask the same rules; only the options differ.
type Copies struct {
	Now time.Time
	// Requests are the DeleteBackupRequests by the backup that they name, see [RequestsByBackup]. Velero goes by the name.
	Requests        map[string][]*velerov1.DeleteBackupRequest
	RequestsUnknown string // why not all requests could be read, empty if they could
	// Locations are the phases of the storage locations by their names.
	Locations        map[string]velerov1.BackupStorageLocationPhase
	LocationsUnknown string // why not all locations could be read, empty if they could
	// Marked are the names of backups that are deleted along with the one in question.
	Marked []string

	// Origin says whose backups count. A deletion takes only those of the same side as what it deletes: in a shared
	// bucket the backups of another cluster hold another cluster's data. Coverage takes all, the empty value: after a
	// disaster the new cluster has only what the old one stored, and each item in it is compared with what there is.
	Origin Origin
	// PartiallyFailed counts backups with errors, too: for callers that look up each item in what is stored.
	PartiallyFailed bool
}

// CopyReason is why a backup does not count as a copy.
type CopyReason string

// The reasons, the most certain first.
const (
	CopyNotCompleted      CopyReason = "NotCompleted"
	CopyBeingDeleted      CopyReason = "BeingDeleted"
	CopyDeletionRequested CopyReason = "DeletionRequested"
	CopyDeletionFailed    CopyReason = "DeletionFailed" // a deletion began or was refused; part of the data may be gone
	CopyMarked            CopyReason = "Marked"
	CopyExpired           CopyReason = "Expired"
	CopyLocationGone      CopyReason = "LocationGone"
	CopyLocationDown      CopyReason = "LocationUnavailable"
	CopyOfAnother         CopyReason = "OfAnotherCluster"
	CopyUnknown           CopyReason = "Unknown" // what would decide it could not be read
)

// NoCopy says why a backup does not count as a copy; the zero value means that it does.
type NoCopy struct {
	Reason CopyReason
	Why    string // a clause that follows names of backups and a colon
}

// Counts reports whether the backup is a copy.
func (n NoCopy) Counts() bool { return n.Reason == "" }

// RequestsByBackup sorts requests by the backup that they name.
func RequestsByBackup(requests []*velerov1.DeleteBackupRequest) map[string][]*velerov1.DeleteBackupRequest {
	byBackup := map[string][]*velerov1.DeleteBackupRequest{}
	for _, r := range requests {
		byBackup[r.Spec.BackupName] = append(byBackup[r.Spec.BackupName], r)
	}
	return byBackup
}

// Excludes says why a backup does not count as a copy. What is certain comes before what is unknown.
func (c *Copies) Excludes(b *velerov1.Backup) NoCopy {
	for _, rule := range []func(*velerov1.Backup) NoCopy{c.phase, c.deletion, c.expiry, c.location, c.origin} {
		if n := rule(b); !n.Counts() && n.Reason != CopyUnknown {
			return n
		}
	}
	for _, rule := range []func(*velerov1.Backup) NoCopy{c.deletion, c.location, c.origin} {
		if n := rule(b); !n.Counts() {
			return n
		}
	}
	return NoCopy{}
}

func noCopy(reason CopyReason, format string, args ...any) NoCopy {
	return NoCopy{reason, fmt.Sprintf(format, args...)}
}

// phase: a backup that is being deleted keeps its phase while a finalizer holds it, and keeps the phase Deleting when
// its deletion failed (pkg/controller/backup_deletion_controller.go Reconcile; 1.14 to 1.18.3).
func (c *Copies) phase(b *velerov1.Backup) NoCopy {
	switch phase := b.Status.Phase; {
	case b.DeletionTimestamp != nil, phase == velerov1.BackupPhaseDeleting:
		return noCopy(CopyBeingDeleted, "being deleted")
	case phase == velerov1.BackupPhaseCompleted, phase == velerov1.BackupPhasePartiallyFailed && c.PartiallyFailed:
		return NoCopy{}
	case TerminalPhase(string(phase)):
		return noCopy(CopyNotCompleted, "%s", phase)
	}
	return noCopy(CopyNotCompleted, "not ended")
}

// deletion goes by the name, as Velero does: a request takes the backup that has the name when Velero begins. A request
// that failed is kept for a day; Velero may have deleted snapshots before the error, and its garbage collector asks again
// (backup_deletion_controller.go, gc_controller.go Reconcile; 1.14 to 1.18.3).
func (c *Copies) deletion(b *velerov1.Backup) NoCopy {
	var failed NoCopy
	for _, r := range c.Requests[b.Name] {
		switch processed := string(r.Status.Phase) == DeletionProcessed; {
		case !processed:
			return noCopy(CopyDeletionRequested, "deletion is requested")
		case len(r.Status.Errors) > 0:
			failed = noCopy(CopyDeletionFailed, "deletion was requested and failed")
		case !r.CreationTimestamp.Time.Before(b.CreationTimestamp.Time):
			return noCopy(CopyBeingDeleted, "deleted, as Velero says")
		}
	}
	switch {
	case !failed.Counts():
		return failed
	case slices.Contains(c.Marked, b.Name):
		return noCopy(CopyMarked, "marked for deletion, too")
	case c.RequestsUnknown != "":
		return noCopy(CopyUnknown, "whether deletion is requested is unknown: %s", c.RequestsUnknown)
	}
	return NoCopy{}
}

// expiry: the garbage collector deletes an expired backup within the hour (pkg/controller/gc_controller.go Reconcile).
func (c *Copies) expiry(b *velerov1.Backup) NoCopy {
	if expires := b.Status.Expiration; expires != nil && !expires.After(c.Now) {
		return noCopy(CopyExpired, "expired")
	}
	return NoCopy{}
}

// location: Velero restores only from a location that it has found available (restore_controller.go
// validateAndComplete; 1.14 to 1.18.3).
func (c *Copies) location(b *velerov1.Backup) NoCopy {
	name := b.Spec.StorageLocation
	phase, known := c.Locations[name]
	switch {
	case name == "":
		return noCopy(CopyUnknown, "no storage location is named")
	case !known && c.LocationsUnknown != "":
		return noCopy(CopyUnknown, "whether storage location %s is available is unknown: %s", name, c.LocationsUnknown)
	case !known:
		return noCopy(CopyLocationGone, "storage location %s does not exist", name)
	case phase == "":
		return noCopy(CopyUnknown, "Velero has not checked storage location %s", name)
	case string(phase) != LocationAvailable:
		return noCopy(CopyLocationDown, "storage location %s is %s", name, phase)
	}
	return NoCopy{}
}

func (c *Copies) origin(b *velerov1.Backup) NoCopy {
	origin, why := OriginOf(b)
	switch {
	case c.Origin == "" || origin == c.Origin:
	case c.Origin == OriginHere && origin == OriginUnknown:
		return noCopy(CopyUnknown, "%s", why)
	case c.Origin == OriginHere:
		return noCopy(CopyOfAnother, "%s", why)
	case origin == OriginHere:
		return noCopy(CopyOfAnother, "made by this cluster, which the other one's backups are not")
	}
	return NoCopy{}
}
