package velero

import (
	"fmt"
	"slices"
	"time"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
	// Target is the backup that a copy has to stand for, nil if each item is looked up in what is stored.
	Target *velerov1.Backup
	// Lasts is how long a copy must be kept from now on, beyond the moment.
	Lasts time.Duration
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
	CopyExpiresSoon       CopyReason = "ExpiresSoon"
	CopyHoldsLess         CopyReason = "HoldsLess" // it does not hold all that the target holds
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
	for _, rule := range []func(*velerov1.Backup) NoCopy{c.phase, c.deletion, c.expiry, c.location, c.origin, c.contents} {
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

// DeletionRequest returns the request among those for the deletion of a backup that tells most of what
// becomes of it, and why the backup is then no copy; nil without a request that matters. Velero goes by the
// name: a request takes the backup that has the name when Velero begins, and does not wait for restores. A
// request that failed is kept for a day; Velero may have deleted snapshots before the error, and its garbage
// collector asks again (backup_deletion_controller.go, gc_controller.go Reconcile; 1.14 to 1.18.3).
func DeletionRequest(
	b *velerov1.Backup,
	requests []*velerov1.DeleteBackupRequest,
) (*velerov1.DeleteBackupRequest, CopyReason) {
	var failed *velerov1.DeleteBackupRequest
	for _, r := range requests {
		switch processed := string(r.Status.Phase) == DeletionProcessed; {
		case !processed:
			return r, CopyDeletionRequested
		case len(r.Status.Errors) > 0:
			failed = r
		case !r.CreationTimestamp.Time.Before(b.CreationTimestamp.Time):
			return r, CopyBeingDeleted
		}
	}
	if failed == nil {
		return nil, ""
	}
	return failed, CopyDeletionFailed
}

// deletionWords are the reasons of [DeletionRequest] in words.
var deletionWords = map[CopyReason]string{
	CopyDeletionRequested: "deletion is requested", CopyBeingDeleted: "deleted, as Velero says",
	CopyDeletionFailed: "deletion was requested and failed",
}

func (c *Copies) deletion(b *velerov1.Backup) NoCopy {
	_, reason := DeletionRequest(b, c.Requests[b.Name])
	switch {
	case reason != "":
		return noCopy(reason, "%s", deletionWords[reason])
	case slices.Contains(c.Marked, b.Name):
		return noCopy(CopyMarked, "marked for deletion, too")
	case c.RequestsUnknown != "":
		return noCopy(CopyUnknown, "whether deletion is requested is unknown: %s", c.RequestsUnknown)
	}
	return NoCopy{}
}

// Expired reports whether Velero's garbage collector may delete a backup at a moment, and does so within the hour by
// default (pkg/controller/gc_controller.go Reconcile, defaultGCFrequency; 1.14 to 1.18.3).
func Expired(b *velerov1.Backup, at time.Time) bool {
	return b.Status.Expiration != nil && !b.Status.Expiration.After(at)
}

func (c *Copies) expiry(b *velerov1.Backup) NoCopy {
	switch {
	case Expired(b, c.Now):
		return noCopy(CopyExpired, "expired")
	case Expired(b, c.Now.Add(c.Lasts)):
		return noCopy(CopyExpiresSoon, "expires at %s UTC", b.Status.Expiration.UTC().Format("15:04"))
	}
	return NoCopy{}
}

// contents: what a backup holds is judged by its filters and by how many items it counts. A run of the same
// schedule may be of another template, or of namespaces that are empty by now.
func (c *Copies) contents(b *velerov1.Backup) NoCopy {
	if c.Target == nil {
		return NoCopy{}
	}
	if !sameFilters(&b.Spec, &c.Target.Spec) && !HoldsAll(b, c.Target) {
		return noCopy(CopyHoldsLess, "its filters leave out what %s holds", c.Target.Name)
	}
	items, known := itemsOf(b)
	wanted, wantedKnown := itemsOf(c.Target)
	switch {
	case known && items == 0 && (!wantedKnown || wanted > 0):
		return noCopy(CopyHoldsLess, "it holds no item")
	case known && wantedKnown && items*fewestItems < wanted:
		return noCopy(CopyHoldsLess, "it holds %d items, %s holds %d", items, c.Target.Name, wanted)
	}
	return NoCopy{}
}

// fewestItems is how many times as many items as a copy the target may hold: fewer pods are no loss, an emptied
// namespace is.
const fewestItems = 2

// itemsOf is how many items a backup holds; known is false where Velero has not counted them.
func itemsOf(b *velerov1.Backup) (items int, known bool) {
	if b.Status.Progress == nil {
		return 0, false
	}
	return b.Status.Progress.ItemsBackedUp, true
}

// sameFilters reports whether two specs take the same of a cluster. How long a backup is kept, where it is stored, its
// hooks and its time limits do not matter.
func sameFilters(a, b *velerov1.BackupSpec) bool {
	return equality.Semantic.DeepEqual(filtersOf(a), filtersOf(b))
}

func filtersOf(s *velerov1.BackupSpec) *velerov1.BackupSpec {
	f := s.DeepCopy()
	f.Metadata, f.TTL, f.StorageLocation, f.VolumeSnapshotLocations = velerov1.Metadata{}, metav1.Duration{}, "", nil
	f.Hooks, f.OrderedResources, f.UploaderConfig = velerov1.BackupHooks{}, nil, nil
	f.CSISnapshotTimeout, f.ItemOperationTimeout = metav1.Duration{}, metav1.Duration{}
	f.SnapshotMoveData, f.DataMover = nil, ""
	return f
}

// HoldsAll reports whether, by its filters, backup b holds all namespaces of another, with all kinds and objects that
// the other holds of them, and their volumes.
func HoldsAll(b, other *velerov1.Backup) bool {
	s, o := &b.Spec, &other.Spec
	holds, of := NamespacesOf(b), NamespacesOf(other)
	if len(of.Includes) == 0 {
		of.Includes = []string{"*"}
	}
	switch {
	case s.LabelSelector != nil, len(s.OrLabelSelectors) > 0:
		return false
	case len(s.IncludedResources)+len(s.IncludedNamespaceScopedResources) > 0:
		return false
	case !containsAll(o.ExcludedResources, s.ExcludedResources),
		!containsAll(o.ExcludedNamespaceScopedResources, s.ExcludedNamespaceScopedResources),
		!containsAll(o.ExcludedClusterScopedResources, s.ExcludedClusterScopedResources),
		!containsAll(s.IncludedClusterScopedResources, o.IncludedClusterScopedResources):
		return false
	case clusterScope(b) < clusterScope(other):
		return false
	case s.SnapshotVolumes != nil && !*s.SnapshotVolumes && (o.SnapshotVolumes == nil || *o.SnapshotVolumes):
		return false
	case isTrue(o.DefaultVolumesToFsBackup) && !isTrue(s.DefaultVolumesToFsBackup):
		return false
	case s.ResourcePolicy != nil && !equality.Semantic.DeepEqual(s.ResourcePolicy, o.ResourcePolicy):
		return false // it may skip volumes
	case !equality.Semantic.DeepEqual(otherFilters(s), otherFilters(o)):
		return false
	case slices.ContainsFunc(of.Includes, func(n string) bool { return !holds.Takes(n) }):
		return false
	}
	return !slices.ContainsFunc(holds.Excludes, of.Takes)
}

// otherFilters are those that [HoldsAll] does not look into: it takes them to matter wherever they differ.
func otherFilters(s *velerov1.BackupSpec) *velerov1.BackupSpec {
	f := filtersOf(s)
	f.IncludedNamespaces, f.ExcludedNamespaces, f.IncludeClusterResources = nil, nil, nil
	f.IncludedResources, f.IncludedNamespaceScopedResources, f.IncludedClusterScopedResources = nil, nil, nil
	f.ExcludedResources, f.ExcludedNamespaceScopedResources, f.ExcludedClusterScopedResources = nil, nil, nil
	f.LabelSelector, f.OrLabelSelectors, f.ResourcePolicy = nil, nil, nil
	f.SnapshotVolumes, f.DefaultVolumesToFsBackup = nil, nil
	return f
}

func isTrue(b *bool) bool { return b != nil && *b }

// clusterScope is how much of what lies in no namespace a backup takes: nothing, what belongs to its namespaces, all
// (pkg/backup/item_collector.go getResourceItems; 1.14 to 1.18.3).
func clusterScope(b *velerov1.Backup) int {
	wanted, namespaces := b.Spec.IncludeClusterResources, NamespacesOf(b)
	isWhole := len(namespaces.Excludes) == 0 &&
		(len(namespaces.Includes) == 0 || slices.Contains(namespaces.Includes, "*"))
	switch {
	case wanted != nil && !*wanted:
		return 0
	case wanted != nil || isWhole:
		return 2
	}
	return 1
}

func containsAll(all, some []string) bool {
	return !slices.ContainsFunc(some, func(s string) bool { return !slices.Contains(all, s) })
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
