package assess

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"

	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/velero"
)

type Location struct {
	*velerov1.BackupStorageLocation
	// Backups counts those in it, and Left those of them that ended too long ago to be kept. Of the
	// others, Bad ended and are not Completed, and Oldest and Newest are nil if there are none.
	Backups, Left, Bad int
	Oldest, Newest     *job.Job
	Repositories       int
	Notes              []Note
}

// SnapshotLocation is a VolumeSnapshotLocation, which Velero does not check. Backups counts those that name it.
type SnapshotLocation struct {
	*velerov1.VolumeSnapshotLocation
	Backups int
}

// SnapshotLocations are all volume snapshot locations, by name.
func (a *Assessment) SnapshotLocations() []SnapshotLocation {
	if len(a.Snapshot.SnapshotLocations) == 0 {
		return nil // the dashboard does not ask for them, and has tens of thousands of backups
	}
	named := map[string]int{}
	for _, b := range a.Backups() {
		for _, name := range b.Spec.VolumeSnapshotLocations {
			named[name]++
		}
	}
	found := make([]SnapshotLocation, len(a.Snapshot.SnapshotLocations))
	for i, l := range a.Snapshot.SnapshotLocations {
		found[i] = SnapshotLocation{l, named[l.Name]}
	}
	return found
}

type Repository struct {
	*velerov1.BackupRepository
	// Due is when its next maintenance is due, zero if that is not known.
	Due   time.Time
	Notes []Note

	finding Finding
}

// State is the phase, and says so where there is none yet.
func (l Location) State() string { return cmp.Or(string(l.Status.Phase), "not checked") }

// Mode is the access mode, Velero's default where it is not set.
func (l Location) Mode() string {
	return cmp.Or(string(l.Spec.AccessMode), string(velerov1.BackupStorageLocationAccessModeReadWrite))
}

// Bucket names provider, bucket and prefix.
func (l Location) Bucket() string {
	if l.Spec.ObjectStorage == nil {
		return ""
	}
	return strings.TrimSuffix(l.Spec.Provider+"/"+l.Spec.ObjectStorage.Bucket+"/"+l.Spec.ObjectStorage.Prefix, "/")
}

func (r Repository) State() string { return cmp.Or(string(r.Status.Phase), velero.PhaseNew) }

func (r Repository) Type() string {
	return cmp.Or(r.Spec.RepositoryType, velerov1.BackupRepositoryTypeRestic) // before 1.10 there was no other
}

const (
	// storeCheck is how often Velero validates and syncs a location, unless the location or
	// the server's flags say otherwise (pkg/cmd/server/config/config.go
	// defaultStoreValidationFrequency, defaultBackupSyncPeriod; 1.16 to 1.18.3).
	storeCheck = time.Minute
	// uncheckedAfter is after how many of these a location is unchecked.
	uncheckedAfter = 10
	// maintenanceSlack is how late maintenance may be: one repository after the other, every five minutes
	// (pkg/controller/backup_repository_controller.go repoSyncPeriod).
	maintenanceSlack = 6 * time.Hour
)

// Locations are all storage locations, by name.
func (a *Assessment) Locations() []Location {
	found := make([]Location, len(a.Snapshot.Locations))
	byName := make(map[string]*Location, len(found))
	byNames := func(a, b *velerov1.BackupStorageLocation) int { return strings.Compare(a.Name, b.Name) }
	for i, l := range slices.SortedFunc(slices.Values(a.Snapshot.Locations), byNames) {
		left := a.Snapshot.LeftIn[l.Name]
		found[i] = Location{BackupStorageLocation: l, Left: left, Backups: left}
		byName[l.Name] = &found[i]
	}
	for _, j := range a.Snapshot.Jobs {
		l := byName[j.StorageLocation]
		if l == nil || j.Kind != job.Backup {
			continue
		}
		l.Backups++
		if j.Terminal() && j.Phase != velero.PhaseCompleted {
			l.Bad++
		}
		if l.Newest == nil || j.Began().After(l.Newest.Began()) {
			l.Newest = j
		}
		if l.Oldest == nil || j.Began().Before(l.Oldest.Began()) {
			l.Oldest = j
		}
	}
	for _, r := range a.Snapshot.Repositories {
		if l := byName[r.Spec.BackupStorageLocation]; l != nil {
			l.Repositories++
		}
	}
	for i := range found {
		a.judgeLocation(&found[i])
	}
	return found
}

func (a *Assessment) judgeLocation(l *Location) {
	say := noteTo(&l.Notes)
	switch why := strings.TrimSuffix(l.Status.Message, "."); {
	case l.Status.Phase == velerov1.BackupStorageLocationPhaseAvailable:
	case l.Status.LastValidationTime == nil && why == "":
		say(Unusual, "Not checked yet.")
	default:
		say(
			Alarming,
			"%s: %s. Velero makes no backup to it and deletes none from it.",
			cmp.Or(string(l.Status.Phase), velero.LocationUnavailable),
			cmp.Or(why, "Velero gives no reason"),
		)
	}
	if l.Spec.AccessMode == velerov1.BackupStorageLocationAccessModeReadOnly {
		say(
			Unusual,
			"ReadOnly: Velero makes no backup to it, deletes none from it and maintains no repository in it. Restores work.",
		)
	}
	for _, c := range []struct {
		what, off string
		every     time.Duration
		last      time.Time
	}{
		{
			"checked it",
			"Velero does not check whether it can be reached: validationFrequency is 0.",
			periodOf(l.Spec.ValidationFrequency),
			job.TimeOf(l.Status.LastValidationTime),
		},
		{
			"looked for backups of others in it",
			"Velero does not look for backups of others in it: backupSyncPeriod is 0.",
			periodOf(l.Spec.BackupSyncPeriod),
			job.TimeOf(l.Status.LastSyncedTime),
		},
	} {
		switch since := a.Environment.Now.Sub(c.last); {
		case c.every == 0:
			say(Unusual, "%s", c.off)
		case c.last.IsZero() || a.Stale() || since < uncheckedAfter*c.every:
		default:
			say(
				Unusual,
				"Velero last %s %s ago; usually it does so every %s.",
				c.what,
				human.Duration(since),
				human.Duration(c.every),
			)
		}
	}
}

// Repositories are all backup repositories, by the namespace of their volumes.
func (a *Assessment) Repositories() []Repository {
	found := make([]Repository, len(a.Snapshot.Repositories))
	for i, r := range a.Snapshot.Repositories {
		found[i].BackupRepository = r
		a.judgeRepository(&found[i])
	}
	slices.SortStableFunc(found, func(a, b Repository) int {
		return cmp.Or(strings.Compare(a.Spec.VolumeNamespace, b.Spec.VolumeNamespace), strings.Compare(a.Name, b.Name))
	})
	return found
}

// judgeRepository goes by pkg/controller/backup_repository_controller.go Reconcile and dueForMaintenance
// (1.16 to 1.18.3).
func (a *Assessment) judgeRepository(r *Repository) {
	say := noteTo(&r.Notes)
	switch r.Status.Phase {
	case velerov1.BackupRepositoryPhaseReady:
	case velerov1.BackupRepositoryPhaseNotReady:
		text := fmt.Sprintf("NotReady: %s. No volume data of namespace %s can be saved to it or restored from it",
			cmp.Or(strings.TrimSuffix(r.Status.Message, "."), "Velero gives no reason"), r.Spec.VolumeNamespace)
		say(Alarming, "It is %s", text)
		r.finding = Finding{Severity: Critical, Reason: RepositoryNotReady, Summary: text}
	default:
		say(Unusual, "Velero is about to create or connect it.")
	}
	recent := r.Status.RecentMaintenance
	f := Finding{Severity: Warning, Reason: MaintenanceFailing}
	for i := len(recent) - 1; i >= 0 && recent[i].Result == velerov1.BackupRepositoryMaintenanceFailed; i-- {
		f.Since, f.Count = job.TimeOf(recent[i].StartTimestamp), f.Count+1
	}
	if f.Count > 0 {
		mood := Unusual
		if f.Count > 1 {
			mood = Alarming
		}
		f.Summary = say(
			mood,
			"The last %s failed: %s. Without maintenance what was deleted stays in the object store",
			human.Plural(
				f.Count,
				"maintenance",
				"maintenances",
			),
			cmp.Or(human.Shorten(strings.TrimSuffix(recent[len(recent)-1].Message, "."), 300), "it gives no reason"),
		)
		if mood == Alarming && r.finding.Reason == "" {
			r.finding = f
		}
	}
	last, every := job.TimeOf(r.Status.LastMaintenanceTime), r.Spec.MaintenanceFrequency.Duration
	if last.IsZero() || every <= 0 {
		return
	}
	r.Due = last.Add(every)
	if late := a.Environment.Now.Sub(
		r.Due,
	); f.Count == 0 && late > maintenanceSlack && !a.Stale() &&
		!a.readOnly(r.Spec.BackupStorageLocation) {
		say(Unusual, "Maintenance is %s overdue.", human.Duration(late))
	}
}

func (a *Assessment) readOnly(location string) bool {
	return slices.ContainsFunc(a.Snapshot.Locations, func(l *velerov1.BackupStorageLocation) bool {
		return l.Name == location && l.Spec.AccessMode == velerov1.BackupStorageLocationAccessModeReadOnly
	})
}
