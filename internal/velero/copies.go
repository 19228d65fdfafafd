package velero

import (
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/velero/veleroapi"
)

// CopyRules decide which backups count as copies: backups to restore from when something else is lost. Plans of
// deletions and coverage use the same rules; only the options differ.
type CopyRules struct {
	Now time.Time
	// DeletionRequests are the DeleteBackupRequests by the backup that they name, see [GroupRequestsByBackup]. Velero
	// matches by name.
	DeletionRequests          map[string][]*veleroapi.DeleteBackupRequest
	DeletionRequestsUnchecked string // why not all requests could be read, empty if they could
	// LocationPhases are the phases of the storage locations by their names.
	LocationPhases     map[string]veleroapi.BackupStorageLocationPhase
	LocationsUnchecked string // why not all locations could be read, empty if they could
	// Target is the backup that a copy has to replace, nil if each item is looked up in what is stored.
	Target *veleroapi.Backup
	// MinLifetime is how long a copy must still be kept from now on.
	MinLifetime time.Duration
	// MarkedBackups are the names of backups that are deleted together with the backup in question.
	MarkedBackups []string

	// Origin says whose backups count. A deletion counts only backups of the same origin as the one it deletes: in a
	// shared bucket, the backups of another cluster hold another cluster's data. Coverage counts all, with the empty
	// value: after a disaster the new cluster has only what the old one stored, and each item in it is compared with
	// what there is.
	Origin Origin
	// AllowPartiallyFailed also counts backups with errors: for callers that look up each item in what is stored.
	AllowPartiallyFailed bool
}

// CopyExclusionReason is why a backup does not count as a copy.
type CopyExclusionReason string

// The reasons, the most certain first.
const (
	CopyNotCompleted      CopyExclusionReason = "NotCompleted"
	CopyBeingDeleted      CopyExclusionReason = "BeingDeleted"
	CopyDeletionRequested CopyExclusionReason = "DeletionRequested"
	// a deletion began or was refused; part of the data may be gone
	CopyDeletionFailed CopyExclusionReason = "DeletionFailed"
	CopyMarked         CopyExclusionReason = "Marked"
	CopyExpired        CopyExclusionReason = "Expired"
	CopyExpiresSoon    CopyExclusionReason = "ExpiresSoon"
	CopyHoldsLess      CopyExclusionReason = "HoldsLess" // it does not hold everything that the target holds
	CopyLocationGone   CopyExclusionReason = "LocationGone"
	CopyLocationDown   CopyExclusionReason = "LocationUnavailable"
	CopyOfOtherCluster CopyExclusionReason = "OfAnotherCluster"
	CopyUnknown        CopyExclusionReason = "Unknown" // what would decide could not be read
)

// CopyExclusion is the reason why a backup does not count as a copy; the zero value means that it counts.
type CopyExclusion struct {
	Reason     CopyExclusionReason
	ReasonText string // a clause to follow names of backups and a colon
}

// IsCopy reports whether the backup is a copy.
func (n CopyExclusion) IsCopy() bool { return n.Reason == "" }

// GroupRequestsByBackup returns requests by the backup that they name.
func GroupRequestsByBackup(requests []*veleroapi.DeleteBackupRequest) map[string][]*veleroapi.DeleteBackupRequest {
	byBackup := map[string][]*veleroapi.DeleteBackupRequest{}
	for _, r := range requests {
		byBackup[r.Spec.BackupName] = append(byBackup[r.Spec.BackupName], r)
	}
	return byBackup
}

// FindExclusion returns why a backup does not count as a copy. Certain reasons come before unknowns.
func (c *CopyRules) FindExclusion(b *veleroapi.Backup) CopyExclusion {
	for _, rule := range []func(*veleroapi.Backup) CopyExclusion{
		c.checkPhase,
		c.checkDeletion,
		c.checkExpiry,
		c.checkLocation,
		c.checkOrigin,
		c.checkContents,
	} {
		if n := rule(b); !n.IsCopy() && n.Reason != CopyUnknown {
			return n
		}
	}
	for _, rule := range []func(*veleroapi.Backup) CopyExclusion{c.checkDeletion, c.checkLocation, c.checkOrigin} {
		if n := rule(b); !n.IsCopy() {
			return n
		}
	}
	return CopyExclusion{}
}

func excludeCopy(reason CopyExclusionReason, format string, args ...any) CopyExclusion {
	return CopyExclusion{reason, fmt.Sprintf(format, args...)}
}

// checkPhase excludes a backup by its phase and its deletion. A backup that is being deleted keeps its phase while a
// finalizer holds it, and keeps the phase Deleting when its deletion failed
// (pkg/controller/backup_deletion_controller.go Reconcile; 1.14 to 1.18.3).
func (c *CopyRules) checkPhase(b *veleroapi.Backup) CopyExclusion {
	switch phase := b.Status.Phase; {
	case b.DeletionTimestamp != nil, phase == veleroapi.BackupPhaseDeleting:
		return excludeCopy(CopyBeingDeleted, "being deleted")
	case phase == veleroapi.BackupPhaseCompleted, phase == veleroapi.BackupPhasePartiallyFailed && c.AllowPartiallyFailed:
		return CopyExclusion{}
	case IsTerminalPhase(string(phase)):
		return excludeCopy(CopyNotCompleted, "%s", phase)
	}
	return excludeCopy(CopyNotCompleted, "not ended")
}

// FindDeletionRequest returns, among requests for the deletion of a backup, the request that says most about what
// becomes of it, and why the backup is then no copy; nil without a request that matters. Velero matches by name: a
// request deletes the backup that has the name when Velero begins, and does not wait for restores. A failed request
// is kept for a day; Velero may have deleted snapshots before the error, and its garbage collector makes another
// request (backup_deletion_controller.go, gc_controller.go Reconcile; 1.14 to 1.18.3).
func FindDeletionRequest(
	b *veleroapi.Backup,
	requests []*veleroapi.DeleteBackupRequest,
) (*veleroapi.DeleteBackupRequest, CopyExclusionReason) {
	var failed *veleroapi.DeleteBackupRequest
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

// deletionTexts are the reasons of [FindDeletionRequest] in words.
var deletionTexts = map[CopyExclusionReason]string{
	CopyDeletionRequested: "deletion is requested", CopyBeingDeleted: "deleted, as Velero says",
	CopyDeletionFailed: "deletion was requested and failed",
}

func (c *CopyRules) checkDeletion(b *veleroapi.Backup) CopyExclusion {
	_, reason := FindDeletionRequest(b, c.DeletionRequests[b.Name])
	switch {
	case reason != "":
		return excludeCopy(reason, "%s", deletionTexts[reason])
	case slices.Contains(c.MarkedBackups, b.Name):
		return excludeCopy(CopyMarked, "marked for deletion, too")
	case c.DeletionRequestsUnchecked != "":
		return excludeCopy(CopyUnknown, "whether deletion is requested is unknown: %s", c.DeletionRequestsUnchecked)
	}
	return CopyExclusion{}
}

// IsExpired reports whether Velero's garbage collector may delete a backup at a given time. By default, it does so
// within the hour (pkg/controller/gc_controller.go Reconcile, defaultGCFrequency; 1.14 to 1.18.3).
func IsExpired(b *veleroapi.Backup, at time.Time) bool {
	return b.Status.Expiration != nil && !b.Status.Expiration.After(at)
}

func (c *CopyRules) checkExpiry(b *veleroapi.Backup) CopyExclusion {
	switch {
	case IsExpired(b, c.Now):
		return excludeCopy(CopyExpired, "expired")
	case IsExpired(b, c.Now.Add(c.MinLifetime)):
		return excludeCopy(CopyExpiresSoon, "expires at %s", human.ClockUTC(b.Status.Expiration.Time))
	}
	return CopyExclusion{}
}

// checkContents excludes a backup that holds less than the target, judged by its filters and its number of items. A
// run of the same schedule may come from another template, or cover namespaces that have been emptied since.
func (c *CopyRules) checkContents(b *veleroapi.Backup) CopyExclusion {
	if c.Target == nil {
		return CopyExclusion{}
	}
	if !areFiltersEqual(&b.Spec, &c.Target.Spec) && !HoldsAll(b, c.Target) {
		return excludeCopy(CopyHoldsLess, "its filters leave out what %s holds", c.Target.Name)
	}
	items, known := itemCount(b)
	wanted, wantedKnown := itemCount(c.Target)
	switch {
	case known && items == 0 && (!wantedKnown || wanted > 0):
		return excludeCopy(CopyHoldsLess, "it holds no item")
	case known && wantedKnown && items*maxItemRatio < wanted:
		return excludeCopy(CopyHoldsLess, "it holds %d items, %s holds %d", items, c.Target.Name, wanted)
	}
	return CopyExclusion{}
}

// maxItemRatio is how many times the items of a copy the target may hold: fewer pods are no loss, but an emptied
// namespace is.
const maxItemRatio = 2

// itemCount returns the number of items that a backup holds; known is false where Velero has not counted them.
func itemCount(b *veleroapi.Backup) (items int, known bool) {
	if b.Status.Progress == nil {
		return 0, false
	}
	return b.Status.Progress.ItemsBackedUp, true
}

// areFiltersEqual reports whether two specs select the same from a cluster. How long a backup is kept, where it is
// stored, its hooks and its time limits do not matter.
func areFiltersEqual(a, b *veleroapi.BackupSpec) bool {
	return equality.Semantic.DeepEqual(comparableFilters(a), comparableFilters(b))
}

func comparableFilters(s *veleroapi.BackupSpec) *veleroapi.BackupSpec {
	f := s.DeepCopy()
	f.Metadata, f.TTL, f.StorageLocation, f.VolumeSnapshotLocations = veleroapi.Metadata{}, metav1.Duration{}, "", nil
	f.Hooks, f.OrderedResources, f.UploaderConfig = veleroapi.BackupHooks{}, nil, nil
	f.CSISnapshotTimeout, f.ItemOperationTimeout = metav1.Duration{}, metav1.Duration{}
	f.SnapshotMoveData, f.DataMover = nil, ""
	return f
}

// HoldsAll reports whether, by its filters, backup b holds all namespaces of another backup, with all kinds and
// objects that the other holds in them, and their volumes.
func HoldsAll(b, other *veleroapi.Backup) bool {
	s, o := &b.Spec, &other.Spec
	holds, of := NamespaceFilterOf(b), NamespaceFilterOf(other)
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
	case clusterScopeRank(b) < clusterScopeRank(other):
		return false
	case s.SnapshotVolumes != nil && !*s.SnapshotVolumes && (o.SnapshotVolumes == nil || *o.SnapshotVolumes):
		return false
	case isTrue(o.DefaultVolumesToFsBackup) && !isTrue(s.DefaultVolumesToFsBackup):
		return false
	case s.ResourcePolicy != nil && !equality.Semantic.DeepEqual(s.ResourcePolicy, o.ResourcePolicy):
		return false // it may skip volumes
	case !equality.Semantic.DeepEqual(remainingFilters(s), remainingFilters(o)):
		return false
	case slices.ContainsFunc(of.Includes, func(n string) bool { return !holds.Matches(n) }):
		return false
	}
	return !slices.ContainsFunc(holds.Excludes, of.Matches)
}

// remainingFilters returns the filters that [HoldsAll] does not compare in detail: for those, any difference matters.
func remainingFilters(s *veleroapi.BackupSpec) *veleroapi.BackupSpec {
	f := comparableFilters(s)
	f.IncludedNamespaces, f.ExcludedNamespaces, f.IncludeClusterResources = nil, nil, nil
	f.IncludedResources, f.IncludedNamespaceScopedResources, f.IncludedClusterScopedResources = nil, nil, nil
	f.ExcludedResources, f.ExcludedNamespaceScopedResources, f.ExcludedClusterScopedResources = nil, nil, nil
	f.LabelSelector, f.OrLabelSelectors, f.ResourcePolicy = nil, nil, nil
	f.SnapshotVolumes, f.DefaultVolumesToFsBackup = nil, nil
	return f
}

func isTrue(b *bool) bool { return b != nil && *b }

// clusterScopeRank ranks how many cluster-scoped objects a backup takes: none, those that belong to its namespaces,
// all (pkg/backup/item_collector.go getResourceItems; 1.14 to 1.18.3).
func clusterScopeRank(b *veleroapi.Backup) int {
	wanted, namespaces := b.Spec.IncludeClusterResources, NamespaceFilterOf(b)
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

// checkLocation excludes a backup by its storage location: Velero restores only from a location that it has found
// available (restore_controller.go validateAndComplete; 1.14 to 1.18.3).
func (c *CopyRules) checkLocation(b *veleroapi.Backup) CopyExclusion {
	name := b.Spec.StorageLocation
	phase, known := c.LocationPhases[name]
	switch {
	case name == "":
		return excludeCopy(CopyUnknown, "no storage location is named")
	case !known && c.LocationsUnchecked != "":
		return excludeCopy(CopyUnknown, "whether storage location %s is available is unknown: %s", name, c.LocationsUnchecked)
	case !known:
		return excludeCopy(CopyLocationGone, "storage location %s does not exist", name)
	case phase == "":
		return excludeCopy(CopyUnknown, "Velero has not checked storage location %s", name)
	case string(phase) != LocationAvailable:
		return excludeCopy(CopyLocationDown, "storage location %s is %s", name, phase)
	}
	return CopyExclusion{}
}

func (c *CopyRules) checkOrigin(b *veleroapi.Backup) CopyExclusion {
	origin, why := OriginOf(b)
	switch {
	case c.Origin == "" || origin == c.Origin:
	case c.Origin == OriginHere && origin == OriginUnknown:
		return excludeCopy(CopyUnknown, "%s", why)
	case c.Origin == OriginHere:
		return excludeCopy(CopyOfOtherCluster, "%s", why)
	case origin == OriginHere:
		return excludeCopy(CopyOfOtherCluster, "made by this cluster, which the other one's backups are not")
	}
	return CopyExclusion{}
}
