package document

import (
	"cmp"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/veltui/veltui/internal/assess"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/velero"
	"github.com/veltui/veltui/internal/velero/veleroapi"
	"github.com/veltui/veltui/watch"
)

// Placed is the document of a resource, which says where it stands.
type Placed interface {
	Place(context string, deleted, alone bool)
}

// Thing begins the document of a resource that is no job.
type Thing struct {
	// APIVersion is there unless the resource stands in a list.
	APIVersion string `json:"apiVersion,omitempty"`
	// Context is the kubeconfig context that leads to the resource's cluster.
	Context   string `json:"context,omitempty"`
	Kind      string `json:"kind"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	UID       string `json:"uid"`
	// Phase is Velero's, empty until Velero looked at the resource.
	Phase string `json:"phase"`
	// State is the phase, or veltui's word where that says more.
	State string `json:"state"`
	// Verdict is ok, unusual or alarming: the worst of the notes.
	Verdict   string `json:"verdict"`
	Notes     []Note `json:"notes"`
	CreatedAt Moment `json:"createdAt,omitzero"`
	Deleted   bool   `json:"deleted,omitempty"`
	// Malformed are fields that Velero cannot read; they count as not set.
	Malformed []Malformed `json:"malformed,omitempty"`
}

// Note is a sentence about a resource.
type Note struct {
	Verdict string `json:"verdict"`
	Text    string `json:"text"`
}

// Place says where a document stands: of which context, whether its resource was deleted, and whether it is alone.
func (t *Thing) Place(context string, deleted, alone bool) {
	if t.Context, t.Deleted = context, deleted; alone {
		t.APIVersion = apiVersion
	}
}

func newThing(kind, phase, state string, o metav1.Object, notes []assess.Note, a *assess.Assessment) Thing {
	t := Thing{
		Kind:      kind,
		Namespace: o.GetNamespace(),
		Name:      o.GetName(),
		UID:       string(o.GetUID()),
		Phase:     phase,
		State:     state,
		Verdict:   assess.WorstTone(notes).String(),
		Notes:     convertAll(notes, func(n assess.Note) Note { return Note{n.Tone.String(), n.Text} }),
		CreatedAt: Moment{o.GetCreationTimestamp().Time},
	}
	for _, m := range a.Snapshot.Malformed {
		if m.UID == o.GetUID() {
			t.Malformed = NewMalformed(m.Fields)
		}
	}
	return t
}

// Schedule is a Schedule with its runs.
type Schedule struct {
	Thing
	Cron string `json:"cron"`
	// TimeZone is the server's, by which the cron expression goes unless it names one.
	TimeZone        string `json:"timeZone"`
	Paused          bool   `json:"paused"`
	StorageLocation string `json:"storageLocation,omitempty"`
	LastBackupAt    Moment `json:"lastBackupAt,omitzero"`
	LastSkippedAt   Moment `json:"lastSkippedAt,omitzero"`
	NextRunAt       Moment `json:"nextRunAt,omitzero"`
	IntervalSeconds *int64 `json:"intervalSeconds,omitempty"`
	// LastGoodBackup is the newest that is Completed.
	LastGoodBackup string `json:"lastGoodBackup,omitempty"`
	// Runs are its backups, newest first.
	Runs []Run `json:"runs"`
	// Loss is what the newest Completed runs hold less than those before.
	Loss *Loss `json:"loss,omitempty"`
}

// Run is one backup of a schedule. Absent numbers are not known.
type Run struct {
	Name            string `json:"name"`
	UID             string `json:"uid"`
	Phase           string `json:"phase"`
	StartedAt       Moment `json:"startedAt,omitzero"`
	CompletedAt     Moment `json:"completedAt,omitzero"`
	DurationSeconds *int64 `json:"durationSeconds,omitempty"`
	Items           *int   `json:"items,omitempty"`
	// Volumes are those with moved data or a snapshot, and Bytes the size of the data that Velero moved.
	Volumes  *int64 `json:"volumes,omitempty"`
	Bytes    *int64 `json:"bytes,omitempty"`
	Errors   int    `json:"errors"`
	Warnings int    `json:"warnings"`
	// NamespacesAdded and NamespacesRemoved are the difference to what the run before was asked for; * is all.
	NamespacesAdded   []string `json:"namespacesAdded,omitempty"`
	NamespacesRemoved []string `json:"namespacesRemoved,omitempty"`
}

// Loss names runs that hold less than those before.
type Loss struct {
	Runs     []string  `json:"runs"`
	Measures []Measure `json:"measures"`
}

// Measure is the size of the newest run, and the median of the runs before the loss.
type Measure struct {
	// Name is items, volumes or bytes.
	Name   string `json:"name"`
	Newest int64  `json:"newest"`
	Median int64  `json:"median"`
}

// NewSchedule returns a schedule.
func NewSchedule(s assess.Schedule, a *assess.Assessment) *Schedule {
	d := &Schedule{
		Thing: newThing(
			"Schedule",
			string(s.Status.Phase),
			s.State,
			s,
			s.Notes,
			a,
		),
		Cron:            s.Spec.Schedule,
		TimeZone:        s.TimeZone,
		Paused:          s.Spec.Paused,
		StorageLocation: s.Spec.Template.StorageLocation,
		LastBackupAt:    newMoment(s.Status.LastBackup),
		LastSkippedAt:   newMoment(s.Status.LastSkipped),
		NextRunAt:       Moment{s.NextRun},
		IntervalSeconds: positiveSeconds(s.Interval),
		Runs:            convertAll(s.ComparedRuns, newRun),
	}
	if good := s.LastCompleted(); good != nil {
		d.LastGoodBackup = good.Name
	}
	if s.Loss != nil {
		d.Loss = &Loss{
			convertAll(s.Loss.Runs, func(j *job.Job) string { return j.Name }),
			convertAll(s.Loss.Measures, func(m assess.LossMeasure) Measure { return Measure(m) }),
		}
	}
	return d
}

func newRun(r assess.ScheduleRun) Run {
	d := Run{
		Name:              r.Name,
		UID:               string(r.UID),
		Phase:             r.Phase,
		StartedAt:         Moment{r.Started},
		CompletedAt:       Moment{r.Completed},
		DurationSeconds:   positiveSeconds(r.TotalDuration()),
		Errors:            r.Errors,
		Warnings:          r.Warnings,
		NamespacesAdded:   r.AddedNamespaces,
		NamespacesRemoved: r.RemovedNamespaces,
	}
	if r.Items.Known {
		d.Items = &r.Items.Done
	}
	if r.VolumesKnown {
		d.Volumes, d.Bytes = &r.Volumes, &r.Bytes
	}
	return d
}

func positiveSeconds(d time.Duration) *int64 {
	if d <= 0 {
		return nil
	}
	return new(int64(d / time.Second))
}

func newMoment(t *metav1.Time) Moment { return Moment{job.TimeOrZero(t)} }

// StorageLocation is a BackupStorageLocation or, by its kind, a VolumeSnapshotLocation, which has no bucket.
type StorageLocation struct {
	Thing
	Provider        string `json:"provider"`
	Bucket          string `json:"bucket,omitempty"`
	Prefix          string `json:"prefix,omitempty"`
	AccessMode      string `json:"accessMode,omitempty"`
	Default         bool   `json:"default"`
	Message         string `json:"message,omitempty"`
	LastValidatedAt Moment `json:"lastValidatedAt,omitzero"`
	LastSyncedAt    Moment `json:"lastSyncedAt,omitzero"`
	// Backups counts those in it, NotCompleted those of them that ended otherwise; absent if they cannot be listed.
	Backups      *int `json:"backups,omitempty"`
	NotCompleted *int `json:"notCompleted,omitempty"`
	Repositories int  `json:"repositories"`
}

// NewStorageLocation returns a storage location.
func NewStorageLocation(l assess.Location, a *assess.Assessment) *StorageLocation {
	d := &StorageLocation{
		Thing: newThing(
			"BackupStorageLocation",
			string(l.Status.Phase),
			l.State(),
			l,
			l.Notes,
			a,
		),
		Provider:        l.Spec.Provider,
		AccessMode:      l.Mode(),
		Default:         l.Spec.Default,
		Message:         l.Status.Message,
		LastValidatedAt: newMoment(l.Status.LastValidationTime),
		LastSyncedAt:    newMoment(l.Status.LastSyncedTime),
		Repositories:    l.Repositories,
	}
	if o := l.Spec.ObjectStorage; o != nil {
		d.Bucket, d.Prefix = o.Bucket, o.Prefix
	}
	if !a.IsUnchecked(watch.Backups) {
		d.Backups, d.NotCompleted = &l.Backups, &l.NotCompletedBackups
	}
	return d
}

// NewSnapshotLocation returns a volume snapshot location.
func NewSnapshotLocation(l assess.SnapshotLocation, a *assess.Assessment) *StorageLocation {
	d := &StorageLocation{
		Thing:    newThing("VolumeSnapshotLocation", string(l.Status.Phase), string(l.Status.Phase), l, nil, a),
		Provider: l.Spec.Provider,
	}
	if !a.IsUnchecked(watch.Backups) {
		d.Backups = &l.Backups
	}
	return d
}

// Repository is a BackupRepository.
type Repository struct {
	Thing
	VolumeNamespace   string `json:"volumeNamespace"`
	StorageLocation   string `json:"storageLocation"`
	Type              string `json:"type"`
	Message           string `json:"message,omitempty"`
	LastMaintenanceAt Moment `json:"lastMaintenanceAt,omitzero"`
	NextMaintenanceAt Moment `json:"nextMaintenanceAt,omitzero"`
	// RecentMaintenance are the results that Velero keeps, the oldest first.
	RecentMaintenance []Maintenance `json:"recentMaintenance"`
}

// Maintenance is one maintenance of a repository.
type Maintenance struct {
	Result      string `json:"result"`
	StartedAt   Moment `json:"startedAt,omitzero"`
	CompletedAt Moment `json:"completedAt,omitzero"`
	Message     string `json:"message,omitempty"`
}

// NewRepository returns a repository.
func NewRepository(r assess.Repository, a *assess.Assessment) *Repository {
	return &Repository{
		Thing: newThing(
			"BackupRepository",
			string(r.Status.Phase),
			r.State(),
			r,
			r.Notes,
			a,
		),
		VolumeNamespace:   r.Spec.VolumeNamespace,
		StorageLocation:   r.Spec.BackupStorageLocation,
		Type:              r.Type(),
		Message:           r.Status.Message,
		LastMaintenanceAt: newMoment(r.Status.LastMaintenanceTime),
		NextMaintenanceAt: Moment{r.MaintenanceDue},
		RecentMaintenance: convertAll(
			r.Status.RecentMaintenance,
			func(m veleroapi.BackupRepositoryMaintenanceStatus) Maintenance {
				return Maintenance{string(m.Result), newMoment(m.StartTimestamp), newMoment(m.CompleteTimestamp), m.Message}
			},
		),
	}
}

// Deletion is a DeleteBackupRequest.
type Deletion struct {
	Thing
	BackupName string `json:"backupName"`
	// BackupPhase is absent if there is no such backup, or it cannot be seen.
	BackupPhase *string  `json:"backupPhase,omitempty"`
	Errors      []string `json:"errors"`
	// Restores counts the restores from the backup: Velero deletes them, too.
	Restores int `json:"restores"`
}

// NewDeletion returns a request to delete a backup.
func NewDeletion(r assess.Deletion, a *assess.Assessment) *Deletion {
	d := &Deletion{
		Thing:      newThing("DeleteBackupRequest", string(r.Status.Phase), r.State(), r, r.Notes, a),
		BackupName: r.Spec.BackupName,
		Errors:     convertAll(r.Status.Errors, func(s string) string { return s }),
		Restores:   r.Restores,
	}
	if r.Backup != nil {
		d.BackupPhase = new(cmp.Or(r.Backup.Phase, velero.PhaseNew))
	}
	return d
}
