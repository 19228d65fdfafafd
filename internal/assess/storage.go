package assess

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/velero"
	"github.com/veltui/veltui/internal/velero/veleroapi"
)

type Location struct {
	*veleroapi.BackupStorageLocation
	// Backups counts the location's backups, and AgedOutBackups those of them that ended too long ago to be kept. Of the
	// others, NotCompletedBackups ended otherwise than Completed, and OldestBackup and NewestBackup are nil if there are
	// none.
	Backups, AgedOutBackups, NotCompletedBackups int
	OldestBackup, NewestBackup                   *job.Job
	Repositories                                 int
	Notes                                        []Note
}

// SnapshotLocation is a VolumeSnapshotLocation, which Velero does not check. Backups counts the backups that name it.
type SnapshotLocation struct {
	*veleroapi.VolumeSnapshotLocation
	Backups int
}

// SnapshotLocations returns all volume snapshot locations, by name.
func (a *Assessment) SnapshotLocations() []SnapshotLocation {
	if len(a.Snapshot.SnapshotLocations) == 0 {
		return nil // the dashboard does not read them, and has tens of thousands of backups
	}
	named := map[string]int{}
	for _, b := range a.SortedBackups() {
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
	*veleroapi.BackupRepository
	// MaintenanceDue is when its next maintenance is due, zero if unknown.
	MaintenanceDue time.Time
	Notes          []Note

	finding Finding
}

// State returns the phase, or says that there is none yet.
func (l Location) State() string { return cmp.Or(string(l.Status.Phase), "not checked") }

// Mode returns the access mode, Velero's default if it is not set.
func (l Location) Mode() string {
	return cmp.Or(string(l.Spec.AccessMode), string(veleroapi.BackupStorageLocationAccessModeReadWrite))
}

// BucketPath returns provider, bucket and prefix.
func (l Location) BucketPath() string {
	if l.Spec.ObjectStorage == nil {
		return ""
	}
	return strings.TrimSuffix(l.Spec.Provider+"/"+l.Spec.ObjectStorage.Bucket+"/"+l.Spec.ObjectStorage.Prefix, "/")
}

func (r Repository) State() string { return cmp.Or(string(r.Status.Phase), velero.PhaseNew) }

func (r Repository) Type() string {
	return cmp.Or(r.Spec.RepositoryType, veleroapi.BackupRepositoryTypeRestic) // before 1.10 there was no other
}

const (
	// storeCheckPeriod is how often Velero validates and syncs a location, unless the location or
	// the server's flags say otherwise (pkg/cmd/server/config/config.go
	// defaultStoreValidationFrequency, defaultBackupSyncPeriod; 1.16 to 1.18.3).
	storeCheckPeriod = time.Minute
	// maxMissedChecks is the number of these periods after which a location counts as unchecked.
	maxMissedChecks = 10
	// maintenanceSlack is how late maintenance may be: one repository after the other, every five minutes
	// (pkg/controller/backup_repository_controller.go repoSyncPeriod).
	maintenanceSlack = 6 * time.Hour
	// maintenanceAlarm is how late maintenance needs a person.
	maintenanceAlarm = 24 * time.Hour
)

// JudgeLocations returns all storage locations, by name.
func (a *Assessment) JudgeLocations() []Location {
	found := make([]Location, len(a.Snapshot.StorageLocations))
	byName := make(map[string]*Location, len(found))
	byNames := func(a, b *veleroapi.BackupStorageLocation) int { return strings.Compare(a.Name, b.Name) }
	for i, l := range slices.SortedFunc(slices.Values(a.Snapshot.StorageLocations), byNames) {
		left := a.Snapshot.AgedOutByLocation[l.Name]
		found[i] = Location{BackupStorageLocation: l, AgedOutBackups: left, Backups: left}
		byName[l.Name] = &found[i]
	}
	for _, j := range a.Snapshot.Jobs {
		l := byName[j.StorageLocation]
		if l == nil || j.Kind != job.Backup {
			continue
		}
		l.Backups++
		if j.IsTerminal() && j.Phase != velero.PhaseCompleted {
			l.NotCompletedBackups++
		}
		if l.NewestBackup == nil || j.BeganAt().After(l.NewestBackup.BeganAt()) {
			l.NewestBackup = j
		}
		if l.OldestBackup == nil || j.BeganAt().Before(l.OldestBackup.BeganAt()) {
			l.OldestBackup = j
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
	say := noteAdder(&l.Notes)
	switch why := strings.TrimSuffix(l.Status.Message, "."); {
	case l.Status.Phase == veleroapi.BackupStorageLocationPhaseAvailable:
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
	if l.Spec.AccessMode == veleroapi.BackupStorageLocationAccessModeReadOnly {
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
			periodOrDefault(l.Spec.ValidationFrequency),
			job.TimeOrZero(l.Status.LastValidationTime),
		},
		{
			"looked for backups of others in it",
			"Velero does not look for backups of others in it: backupSyncPeriod is 0.",
			periodOrDefault(l.Spec.BackupSyncPeriod),
			job.TimeOrZero(l.Status.LastSyncedTime),
		},
	} {
		switch since := a.World.Now.Sub(c.last); {
		case c.every == 0:
			say(Unusual, "%s", c.off)
		case c.last.IsZero() || a.IsStale() || since < maxMissedChecks*c.every:
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

// JudgeRepositories returns all backup repositories, by the namespace of their volumes.
func (a *Assessment) JudgeRepositories() []Repository {
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

// judgeRepository follows pkg/controller/backup_repository_controller.go Reconcile and dueForMaintenance (1.16 to
// 1.18.3).
func (a *Assessment) judgeRepository(r *Repository) {
	say := noteAdder(&r.Notes)
	switch r.Status.Phase {
	case veleroapi.BackupRepositoryPhaseReady:
	case veleroapi.BackupRepositoryPhaseNotReady:
		text := fmt.Sprintf("NotReady: %s. No volume data of namespace %s can be saved to it or restored from it",
			cmp.Or(strings.TrimSuffix(r.Status.Message, "."), "Velero gives no reason"), r.Spec.VolumeNamespace)
		say(Alarming, "It is %s", text)
		r.finding = Finding{Severity: Critical, Reason: RepositoryNotReady, Summary: text}
	default:
		say(Unusual, "Velero is about to create or connect it.")
	}
	recent := r.Status.RecentMaintenance
	f := Finding{Severity: Warning, Reason: MaintenanceFailing}
	for i := len(recent) - 1; i >= 0 && recent[i].Result == veleroapi.BackupRepositoryMaintenanceFailed; i-- {
		f.Since, f.Count = job.TimeOrZero(recent[i].StartTimestamp), f.Count+1
	}
	if f.Count > 0 {
		tone := Unusual
		if f.Count > 1 {
			tone = Alarming
		}
		f.Summary = say(
			tone,
			"The last %s failed: %s. Without maintenance what was deleted stays in the object store",
			human.CountForms(
				f.Count,
				"maintenance",
				"maintenances",
			),
			cmp.Or(human.Shorten(strings.TrimSuffix(recent[len(recent)-1].Message, "."), 300), "it gives no reason"),
		)
		if tone == Alarming && r.finding.Reason.IsZero() {
			r.finding = f
		}
	}
	killed := a.judgeMaintenancePods(r)
	last, every := job.TimeOrZero(r.Status.LastMaintenanceTime), r.Spec.MaintenanceFrequency.Duration
	if last.IsZero() || every <= 0 {
		return
	}
	r.MaintenanceDue = last.Add(every)
	late := a.World.Now.Sub(r.MaintenanceDue)
	if f.Count > 0 || killed || late <= maintenanceSlack || a.IsStale() || a.isReadOnly(r.Spec.BackupStorageLocation) {
		return
	}
	text := "Maintenance is " + human.Duration(late) + " overdue"
	if late <= max(maintenanceAlarm, every) || r.Status.Phase != veleroapi.BackupRepositoryPhaseReady {
		say(Unusual, "%s.", text)
		return
	}
	text = say(Alarming, "%s: it is to run every %s. Without maintenance what was deleted stays in the object store",
		text, human.Duration(every))
	if r.finding.Reason.IsZero() {
		r.finding = Finding{Severity: Warning, Reason: MaintenanceOverdue, Since: r.MaintenanceDue, Summary: text}
	}
}

// judgeMaintenancePods judges the newest pods that maintained a repository, if they failed after its last success. The
// versions before 1.16 record nothing else of a failed run.
func (a *Assessment) judgeMaintenancePods(r *Repository) bool {
	var bad []velero.MaintenancePod
	for _, p := range velero.MaintenancePodsOf(a.Snapshot.MaintenancePods, r.Name) {
		if !p.HasFailed || !p.Created.After(job.TimeOrZero(r.Status.LastMaintenanceTime)) {
			break
		}
		bad = append(bad, p)
	}
	if len(bad) == 0 {
		return false
	}
	tone, newest := Unusual, bad[0]
	if len(bad) > 1 {
		tone = Alarming
	}
	text := noteAdder(&r.Notes)(tone, "The last %s failed: %s%s. Without maintenance what was deleted stays in the "+
		"object store", human.Count(len(bad), "maintenance pod"), cmp.Or(newest.Reason, "no reason is given"),
		human.Prefixed(": ", human.Shorten(strings.TrimSuffix(newest.Message, "."), 200)))
	if tone == Alarming && r.finding.Reason.IsZero() {
		r.finding = Finding{
			Severity: Warning, Reason: MaintenanceFailing, Since: bad[len(bad)-1].Created, Count: len(bad), Summary: text,
		}
	}
	return true
}

func (a *Assessment) isReadOnly(location string) bool {
	return slices.ContainsFunc(a.Snapshot.StorageLocations, func(l *veleroapi.BackupStorageLocation) bool {
		return l.Name == location && l.Spec.AccessMode == veleroapi.BackupStorageLocationAccessModeReadOnly
	})
}
