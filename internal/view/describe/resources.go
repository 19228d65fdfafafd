package describe

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/veltui/veltui/internal/assess"
	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/velero"
	"github.com/veltui/veltui/internal/velero/veleroapi"
	"github.com/veltui/veltui/internal/view"
	"github.com/veltui/veltui/internal/view/document"
	"github.com/veltui/veltui/watch"
)

// Schedule describes when a schedule makes backups, its runs side by side, and the spec of its backups.
func Schedule(s assess.Schedule, a *assess.Assessment) []Section {
	d := describer{now: a.World.Now}
	d.startSection("runs")
	for _, r := range s.ComparedRuns[:min(len(s.ComparedRuns), maxListedRuns)] {
		d.addField(Field{Name: "run", Title: r.Name, Values: []string{runText(r, d.now)}, Tone: phaseTones[r.Phase]})
	}
	if more := len(s.ComparedRuns) - maxListedRuns; more > 0 {
		d.addText("older", "Older", human.Count(more, "backup"))
	}
	return slices.Concat(
		[]Section{ScheduleTimes(s, a)},
		nonEmptySections(d.sections),
		nonEmptySections(BackupSpec(s.Spec.Template, a.World.Server.Version)),
	)
}

const maxListedRuns = 20

var phaseTones = map[string]view.Tone{
	velero.PhasePartiallyFailed:  view.Waiting,
	velero.PhaseFailed:           view.Bad,
	velero.PhaseFailedValidation: view.Bad,
}

func runText(r assess.ScheduleRun, now time.Time) string {
	parts := []string{cmp.Or(r.Phase, velero.PhaseNew), human.Ago(r.BeganAt(), now)}
	if took := r.TotalDuration(); took > 0 {
		parts = append(parts, "took "+human.Duration(took))
	}
	if r.Items.Known {
		parts = append(parts, human.Count(r.Items.Done, "item"))
	}
	if r.VolumesKnown && r.Volumes > 0 {
		parts = append(parts, human.Count(r.Volumes, "volume"))
	}
	if r.Bytes > 0 {
		parts = append(parts, human.Bytes(r.Bytes))
	}
	for _, count := range []struct {
		n    int
		noun string
	}{{r.Errors, "error"}, {r.Warnings, "warning"}} {
		if count.n > 0 {
			parts = append(parts, human.Count(count.n, count.noun))
		}
	}
	if changed := NamespaceChanges(r); changed != "" {
		parts = append(parts, "namespaces "+changed)
	}
	return strings.Join(parts, ", ")
}

// NamespaceChanges returns the namespaces that a run includes and the previous run did not, and the reverse: +new
// -old.
func NamespaceChanges(r assess.ScheduleRun) string {
	var changes []string
	for _, name := range r.AddedNamespaces {
		changes = append(changes, "+"+name)
	}
	for _, name := range r.RemovedNamespaces {
		changes = append(changes, "-"+name)
	}
	return strings.Join(changes, " ")
}

// ScheduleTimes describes when a schedule makes backups.
func ScheduleTimes(s assess.Schedule, a *assess.Assessment) Section {
	d := describer{now: a.World.Now}
	next := Field{
		Name:   "nextRun",
		Title:  "Next run",
		Values: []string{human.ClockWithAge(s.NextRun, d.now)},
		At:     document.Moment{Time: s.NextRun},
	}
	switch {
	case s.NextRun.After(d.now):
	case !s.NextRun.IsZero():
		next.Values[0] = "due since " + human.ClockTime(s.NextRun, d.now) + ", for " + human.Age(s.NextRun, d.now)
		next.Tone = view.Waiting
	case s.State == assess.SchedulePaused, s.State == assess.ScheduleNotValid:
		next.Values[0], next.Tone = "none: it is "+s.State, view.Waiting
	default:
		next.Values[0], next.Tone = "not known", view.Waiting
	}
	after := ""
	if s.Interval > 0 {
		after = human.Duration(s.Interval) + " later"
	}
	zone := s.TimeZone + ", the server's"
	if strings.HasPrefix(s.Spec.Schedule, "CRON_TZ=") || strings.HasPrefix(s.Spec.Schedule, "TZ=") {
		zone = "the one in the expression"
	} else if !a.World.Server.Visible {
		zone = s.TimeZone + " is assumed: veltui may not see the server's pod"
	}
	d.startSection("when")
	d.addText("schedule", "Cron", s.Spec.Schedule)
	d.addField(next)
	d.addText("interval", "The run after", after)
	d.addText("timeZone", "Time zone", zone)
	d.addClockTime("lastBackup", "Last backup", job.TimeOrZero(s.Status.LastBackup), "never")
	d.addClockTime("lastSkipped", "Last skipped", job.TimeOrZero(s.Status.LastSkipped), "")
	d.addText("paused", "Paused", map[bool]string{true: "yes"}[s.Spec.Paused])
	d.addText("phase", "Phase", cmp.Or(string(s.Status.Phase), velero.PhaseNew))
	d.addText("validationErrors", "Errors", strings.Join(s.Status.ValidationErrors, "; "))
	d.addClockTime("created", "Created", s.CreationTimestamp.Time, "")
	return d.sections[0]
}

// Location describes a storage location: its state, where it is, and its contents.
func Location(l assess.Location, a *assess.Assessment) []Section {
	d := describer{now: a.World.Now}
	d.startSection("state")
	d.addText("phase", "Phase", l.State())
	d.addText(
		"message",
		"Message",
		map[bool]string{true: l.Status.Message}[l.Status.Phase == veleroapi.BackupStorageLocationPhaseAvailable],
	)
	d.addText("accessMode", "Access mode", l.Mode())
	d.addText(
		"default",
		"Default",
		map[bool]string{true: "yes: for backups that name no location", false: "no"}[l.Spec.Default],
	)
	d.addClockTime("lastValidated", "Last validated", job.TimeOrZero(l.Status.LastValidationTime), "never")
	d.addText("validationFrequency", "Validated every", periodText(l.Spec.ValidationFrequency))
	d.addClockTime("lastSynced", "Last synced", job.TimeOrZero(l.Status.LastSyncedTime), "never")
	d.addText("backupSyncPeriod", "Synced every", periodText(l.Spec.BackupSyncPeriod))
	d.addClockTime("created", "Created", l.CreationTimestamp.Time, "")
	d.startSection("where")
	d.addText("provider", "Provider", l.Spec.Provider)
	if o := l.Spec.ObjectStorage; o != nil {
		ca := ""
		switch {
		case o.CACertRef != nil:
			ca = "secret " + o.CACertRef.Name + ", key " + o.CACertRef.Key
		case len(o.CACert) > 0:
			ca = "in the location itself"
		}
		d.addText("bucket", "Bucket", o.Bucket)
		d.addText("prefix", "Prefix", cmp.Or(o.Prefix, none))
		d.addText("caCert", "CA certificate", ca)
	}
	d.addCredential(l.Spec.Credential, l.Spec.Config)
	backups, repositories := fmt.Sprint(l.Backups), fmt.Sprint(l.Repositories)
	if l.NotCompletedBackups > 0 {
		backups += fmt.Sprintf(
			", %d of %s not Completed",
			l.NotCompletedBackups,
			map[bool]string{true: "those that are shown", false: "them"}[l.AgedOutBackups > 0],
		)
	}
	d.startSection("what it holds")
	d.addText("backups", "Backups", cmp.Or(UncheckedText(a.Snapshot, watch.Backups), backups))
	d.addText("repositories", "Repositories", cmp.Or(UncheckedText(a.Snapshot, watch.Repositories), repositories))
	return nonEmptySections(d.sections)
}

// SnapshotLocation describes a volume snapshot location.
func SnapshotLocation(l assess.SnapshotLocation, a *assess.Assessment) []Section {
	d := describer{now: a.World.Now}
	d.startSection("where")
	d.addText("provider", "Provider", l.Spec.Provider)
	d.addCredential(l.Spec.Credential, l.Spec.Config)
	d.addClockTime("created", "Created", l.CreationTimestamp.Time, "")
	d.addText("backups", "Backups that name it", cmp.Or(UncheckedText(a.Snapshot, watch.Backups), fmt.Sprint(l.Backups)))
	return d.sections
}

// addCredential adds the credential and the settings of a location.
func (d *describer) addCredential(c *corev1.SecretKeySelector, settings map[string]string) {
	credential := "the server's own"
	if c != nil {
		credential = "secret " + c.Name + ", key " + c.Key
	}
	d.addText("credential", "Credential", credential)
	d.addConfig(settings)
}

// Repository describes a repository of volume data, and its maintenance without the results.
func Repository(r assess.Repository, a *assess.Assessment) []Section {
	d := describer{now: a.World.Now}
	d.startSection("state")
	d.addText("phase", "Phase", r.State())
	d.addText(
		"message",
		"Message",
		map[bool]string{true: r.Status.Message}[r.Status.Phase != veleroapi.BackupRepositoryPhaseNotReady],
	)
	d.addText("volumeNamespace", "Volumes of namespace", r.Spec.VolumeNamespace)
	d.addText("backupStorageLocation", "In location", r.Spec.BackupStorageLocation)
	d.addText("repositoryType", "Type", r.Type())
	d.addText("resticIdentifier", "Restic identifier", r.Spec.ResticIdentifier)
	d.addClockTime("created", "Created", r.CreationTimestamp.Time, "")
	d.addConfig(r.Spec.RepositoryConfig)
	d.startSection("maintenance")
	d.addClockTime("lastMaintenance", "Last success", job.TimeOrZero(r.Status.LastMaintenanceTime), "never")
	every := "not set yet"
	if d := r.Spec.MaintenanceFrequency.Duration; d > 0 {
		every = human.Duration(d)
	}
	d.addText("maintenanceFrequency", "Every", every)
	d.addClockTime("nextMaintenance", "Next due", r.MaintenanceDue, "not known")
	return nonEmptySections(d.sections)
}

// Deletion describes a request to delete a backup, and what still exists of the backup.
func Deletion(r assess.Deletion, a *assess.Assessment) []Section {
	d := describer{now: a.World.Now}
	d.startSection("request")
	d.addText("name", "Name", r.Name)
	d.addText("phase", "Phase", cmp.Or(string(r.Status.Phase), velero.PhaseNew))
	d.addClockTime("created", "Created", r.CreationTimestamp.Time, "")
	d.startSection("what is still there")
	if r.Backup == nil {
		gone := "gone from the cluster"
		if a.IsIncomplete(watch.Backups) {
			gone = "gone, or it ended too long ago to be shown (--ended-within)"
		}
		d.addText("backup", "Backup", cmp.Or(UncheckedText(a.Snapshot, watch.Backups), gone))
	} else {
		d.addText("backup", "Backup", r.Backup.PhaseOrStage())
		d.addText("storageLocation", "Location", cmp.Or(r.Backup.StorageLocation, "none: Velero refuses to delete it"))
		d.addText("volumes", "Volumes", fmt.Sprint(r.Backup.VolumeCount()))
	}
	restores := fmt.Sprint(r.Restores)
	if r.Restores > 0 {
		restores += ", which Velero also deletes"
	}
	if n := a.Snapshot.AgedOutRestores; n > 0 {
		restores += fmt.Sprintf(
			"; %s of this or other backups ended too long ago to be shown (--ended-within)",
			human.Count(n, "restore"),
		)
	}
	d.addText("restores", "Restores", cmp.Or(UncheckedText(a.Snapshot, watch.Restores), restores))
	d.startSection("errors")
	d.addField(Field{Name: "errors", Title: "Errors", Values: r.Status.Errors, Tone: view.Bad})
	return nonEmptySections(d.sections)
}

// addClockTime adds a time as a clock shows it, or never if the time is zero.
func (d *describer) addClockTime(name, title string, t time.Time, never string) {
	d.addField(
		Field{
			Name:   name,
			Title:  title,
			Values: []string{cmp.Or(human.ClockWithAge(t, d.now), never)},
			At:     document.Moment{Time: t},
		},
	)
}

func (d *describer) addConfig(settings map[string]string) {
	for _, key := range slices.Sorted(maps.Keys(settings)) {
		d.addText("config."+key, key, settings[key])
	}
}

// UncheckedText returns a sentence about why one of the kinds is unknown, empty if all are known.
func UncheckedText(snap *watch.Snapshot, kinds ...string) string {
	for _, s := range snap.Sources {
		if !slices.Contains(kinds, s.Resource) {
			continue
		}
		switch s.State {
		case watch.SourceForbidden:
			return fmt.Sprintf(
				"You may not list %s in namespace %s. The role that veltui needs is in docs/rbac.md.",
				s.Resource,
				snap.Namespace,
			)
		case watch.SourceMissing:
			return fmt.Sprintf(
				"This cluster has no %s: Velero's CRDs are not installed. veltui keeps looking.",
				s.Resource,
			)
		case watch.SourceSyncing:
			return "Reading " + s.Resource + " for the first time..."
		}
	}
	return ""
}

// nonEmptySections returns the sections that have fields.
func nonEmptySections(sections []Section) []Section {
	return slices.DeleteFunc(sections, func(s Section) bool { return len(s.Fields) == 0 })
}

func periodText(d *metav1.Duration) string {
	switch {
	case d == nil || d.Duration < 0:
		return "the server's default"
	case d.Duration == 0:
		return "never: it is switched off"
	}
	return human.Duration(d.Duration)
}
