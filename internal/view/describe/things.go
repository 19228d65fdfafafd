package describe

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/veltui/veltui/internal/assess"
	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/velero"
	"github.com/veltui/veltui/internal/view"
	"github.com/veltui/veltui/internal/view/document"
	"github.com/veltui/veltui/watch"
)

// Schedule describes when a schedule makes backups, its runs side by side, and what they are asked for.
func Schedule(s assess.Schedule, a *assess.Assessment) []Section {
	d := describer{now: a.Environment.Now}
	d.section("runs")
	for _, r := range s.Trend[:min(len(s.Trend), shownRuns)] {
		d.add(Field{Name: "run", Title: r.Name, Values: []string{runText(r, d.now)}, Tone: endTones[r.Phase]})
	}
	if more := len(s.Trend) - shownRuns; more > 0 {
		d.text("older", "Older", human.Count(more, "backup"))
	}
	return slices.Concat(
		[]Section{ScheduleTimes(s, a)},
		filled(d.sections),
		filled(BackupSpec(s.Spec.Template, a.Environment.Server.Version)),
	)
}

const shownRuns = 20

var endTones = map[string]view.Tone{
	velero.PhasePartiallyFailed:  view.Waiting,
	velero.PhaseFailed:           view.Bad,
	velero.PhaseFailedValidation: view.Bad,
}

func runText(r assess.Run, now time.Time) string {
	parts := []string{cmp.Or(r.Phase, velero.PhaseNew), human.Ago(r.Began(), now)}
	if took := r.Took(); took > 0 {
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

// NamespaceChanges names the namespaces that a run was asked for and the run before was not, and the reverse:
// +new -old.
func NamespaceChanges(r assess.Run) string {
	var changes []string
	for _, name := range r.Added {
		changes = append(changes, "+"+name)
	}
	for _, name := range r.Removed {
		changes = append(changes, "-"+name)
	}
	return strings.Join(changes, " ")
}

// ScheduleTimes describes when a schedule makes backups.
func ScheduleTimes(s assess.Schedule, a *assess.Assessment) Section {
	d := describer{now: a.Environment.Now}
	next := Field{
		Name:   "nextRun",
		Title:  "Next run",
		Values: []string{human.Moment(s.Next, d.now)},
		At:     document.Moment{Time: s.Next},
	}
	switch {
	case s.Next.After(d.now):
	case !s.Next.IsZero():
		next.Values[0] = "due since " + human.Clock(s.Next, d.now) + ", for " + human.Age(s.Next, d.now)
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
	zone := s.Zone + ", the server's"
	if strings.HasPrefix(s.Spec.Schedule, "CRON_TZ=") || strings.HasPrefix(s.Spec.Schedule, "TZ=") {
		zone = "the one in the expression"
	} else if !a.Environment.Server.Visible {
		zone = s.Zone + " is assumed: veltui may not see the server's pod"
	}
	d.section("when")
	d.text("schedule", "Cron", s.Spec.Schedule)
	d.add(next)
	d.text("interval", "The run after", after)
	d.text("timeZone", "Time zone", zone)
	d.since("lastBackup", "Last backup", job.TimeOf(s.Status.LastBackup), "never")
	d.since("lastSkipped", "Last skipped", job.TimeOf(s.Status.LastSkipped), "")
	d.text("paused", "Paused", map[bool]string{true: "yes"}[s.Spec.Paused])
	d.text("phase", "Phase", cmp.Or(string(s.Status.Phase), velero.PhaseNew))
	d.text("validationErrors", "Errors", strings.Join(s.Status.ValidationErrors, "; "))
	d.since("created", "Created", s.CreationTimestamp.Time, "")
	return d.sections[0]
}

// Location describes a storage location: its state, where it is, and what it holds.
func Location(l assess.Location, a *assess.Assessment) []Section {
	d := describer{now: a.Environment.Now}
	d.section("state")
	d.text("phase", "Phase", l.State())
	d.text(
		"message",
		"Message",
		map[bool]string{true: l.Status.Message}[l.Status.Phase == velerov1.BackupStorageLocationPhaseAvailable],
	)
	d.text("accessMode", "Access mode", l.Mode())
	d.text(
		"default",
		"Default",
		map[bool]string{true: "yes: for backups that name no location", false: "no"}[l.Spec.Default],
	)
	d.since("lastValidated", "Last validated", job.TimeOf(l.Status.LastValidationTime), "never")
	d.text("validationFrequency", "Validated every", period(l.Spec.ValidationFrequency))
	d.since("lastSynced", "Last synced", job.TimeOf(l.Status.LastSyncedTime), "never")
	d.text("backupSyncPeriod", "Synced every", period(l.Spec.BackupSyncPeriod))
	d.since("created", "Created", l.CreationTimestamp.Time, "")
	d.section("where")
	d.text("provider", "Provider", l.Spec.Provider)
	if o := l.Spec.ObjectStorage; o != nil {
		ca := ""
		switch {
		case o.CACertRef != nil:
			ca = "secret " + o.CACertRef.Name + ", key " + o.CACertRef.Key
		case len(o.CACert) > 0:
			ca = "in the location itself"
		}
		d.text("bucket", "Bucket", o.Bucket)
		d.text("prefix", "Prefix", cmp.Or(o.Prefix, none))
		d.text("caCert", "CA certificate", ca)
	}
	d.access(l.Spec.Credential, l.Spec.Config)
	backups, repositories := fmt.Sprint(l.Backups), fmt.Sprint(l.Repositories)
	if l.Bad > 0 {
		backups += fmt.Sprintf(
			", %d of %s not Completed",
			l.Bad,
			map[bool]string{true: "those that are shown", false: "them"}[l.Left > 0],
		)
	}
	d.section("what it holds")
	d.text("backups", "Backups", cmp.Or(Unseen(a.Snapshot, watch.Backups), backups))
	d.text("repositories", "Repositories", cmp.Or(Unseen(a.Snapshot, watch.Repositories), repositories))
	return filled(d.sections)
}

// SnapshotLocation describes a volume snapshot location.
func SnapshotLocation(l assess.SnapshotLocation, a *assess.Assessment) []Section {
	d := describer{now: a.Environment.Now}
	d.section("where")
	d.text("provider", "Provider", l.Spec.Provider)
	d.access(l.Spec.Credential, l.Spec.Config)
	d.since("created", "Created", l.CreationTimestamp.Time, "")
	d.text("backups", "Backups that name it", cmp.Or(Unseen(a.Snapshot, watch.Backups), fmt.Sprint(l.Backups)))
	return d.sections
}

// access adds the credential and the settings of a location.
func (d *describer) access(c *corev1.SecretKeySelector, settings map[string]string) {
	credential := "the server's own"
	if c != nil {
		credential = "secret " + c.Name + ", key " + c.Key
	}
	d.text("credential", "Credential", credential)
	d.config(settings)
}

// Repository describes a repository of volume data, and its maintenance without the results.
func Repository(r assess.Repository, a *assess.Assessment) []Section {
	d := describer{now: a.Environment.Now}
	d.section("state")
	d.text("phase", "Phase", r.State())
	d.text(
		"message",
		"Message",
		map[bool]string{true: r.Status.Message}[r.Status.Phase != velerov1.BackupRepositoryPhaseNotReady],
	)
	d.text("volumeNamespace", "Volumes of namespace", r.Spec.VolumeNamespace)
	d.text("backupStorageLocation", "In location", r.Spec.BackupStorageLocation)
	d.text("repositoryType", "Type", r.Type())
	d.text("resticIdentifier", "Restic identifier", r.Spec.ResticIdentifier)
	d.since("created", "Created", r.CreationTimestamp.Time, "")
	d.config(r.Spec.RepositoryConfig)
	d.section("maintenance")
	d.since("lastMaintenance", "Last success", job.TimeOf(r.Status.LastMaintenanceTime), "never")
	every := "not set yet"
	if d := r.Spec.MaintenanceFrequency.Duration; d > 0 {
		every = human.Duration(d)
	}
	d.text("maintenanceFrequency", "Every", every)
	d.since("nextMaintenance", "Next due", r.Due, "not known")
	return filled(d.sections)
}

// Deletion describes a request to delete a backup, and what is still there.
func Deletion(r assess.Deletion, a *assess.Assessment) []Section {
	d := describer{now: a.Environment.Now}
	d.section("request")
	d.text("name", "Name", r.Name)
	d.text("phase", "Phase", cmp.Or(string(r.Status.Phase), velero.PhaseNew))
	d.since("created", "Created", r.CreationTimestamp.Time, "")
	d.section("what is still there")
	if r.Backup == nil {
		gone := "gone from the cluster"
		if a.Incomplete(watch.Backups) {
			gone = "gone, or it ended too long ago to be shown (--ended-within)"
		}
		d.text("backup", "Backup", cmp.Or(Unseen(a.Snapshot, watch.Backups), gone))
	} else {
		d.text("backup", "Backup", r.Backup.PhaseOrStage())
		d.text("storageLocation", "Location", cmp.Or(r.Backup.StorageLocation, "none: Velero refuses to delete it"))
		d.text("volumes", "Volumes", fmt.Sprint(r.Backup.VolumeCount()))
	}
	restores := fmt.Sprint(r.Restores)
	if r.Restores > 0 {
		restores += ", which Velero deletes, too"
	}
	if n := a.Snapshot.LeftRestores; n > 0 {
		restores += fmt.Sprintf(
			"; %s of this or other backups ended too long ago to be shown (--ended-within)",
			human.Count(n, "restore"),
		)
	}
	d.text("restores", "Restores of it", cmp.Or(Unseen(a.Snapshot, watch.Restores), restores))
	d.section("errors")
	d.add(Field{Name: "errors", Title: "Errors", Values: r.Status.Errors, Tone: view.Bad})
	return filled(d.sections)
}

// since adds a moment as a clock shows it.
func (d *describer) since(name, title string, t time.Time, never string) {
	d.add(
		Field{
			Name:   name,
			Title:  title,
			Values: []string{cmp.Or(human.Moment(t, d.now), never)},
			At:     document.Moment{Time: t},
		},
	)
}

func (d *describer) config(settings map[string]string) {
	for _, key := range slices.Sorted(maps.Keys(settings)) {
		d.text("config."+key, key, settings[key])
	}
}

// Unseen says in a sentence why one of some kinds is not known, empty if all are.
func Unseen(snap *watch.Snapshot, kinds ...string) string {
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

// filled are the sections that have fields.
func filled(sections []Section) []Section {
	return slices.DeleteFunc(sections, func(s Section) bool { return len(s.Fields) == 0 })
}

func period(d *metav1.Duration) string {
	switch {
	case d == nil || d.Duration < 0:
		return "the server's default"
	case d.Duration == 0:
		return "never: it is switched off"
	}
	return human.Duration(d.Duration)
}
