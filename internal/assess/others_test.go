package assess

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/velero/veleroapi"
	"github.com/veltui/veltui/watch"
)

func before(d time.Duration) *metav1.Time {
	t := metav1.NewTime(noon.Add(-d))
	return &t
}

func object(name string, age time.Duration) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: "velero", Name: name, UID: types.UID(name), CreationTimestamp: *before(age)}
}

// run is a backup of schedule s that began some time ago.
func run(name string, phase veleroapi.BackupPhase, began, took time.Duration) *job.Job {
	b := &veleroapi.Backup{ObjectMeta: object(name, began)}
	b.Labels = map[string]string{veleroapi.ScheduleNameLabel: "s"}
	b.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "velero-server", Time: before(began - took)}}
	b.Spec.StorageLocation = "default"
	b.Status = veleroapi.BackupStatus{Phase: phase, StartTimestamp: before(began)}
	if took > 0 {
		b.Status.CompletionTimestamp = before(began - took)
	}
	if phase == veleroapi.BackupPhaseFailed {
		b.Status.FailureReason = "the server restarted."
	}
	return job.Fold(nil, job.Observation{Backup: b, ObservedAt: noon})
}

func alive(jobs ...*job.Job) *watch.Snapshot {
	snap := snapshotOf(noon, jobs...)
	for _, kind := range []string{watch.Backups, watch.Restores, watch.Schedules, watch.StorageLocations, watch.Repositories, watch.DeleteRequests} {
		snap.Sources = append(snap.Sources, watch.Source{Resource: kind, State: watch.SourceLive})
	}
	snap.StorageLocations = []*veleroapi.BackupStorageLocation{
		{
			ObjectMeta: object("default", 900*time.Hour),
			Spec:       veleroapi.BackupStorageLocationSpec{Default: true},
			Status: veleroapi.BackupStorageLocationStatus{
				Phase:              veleroapi.BackupStorageLocationPhaseAvailable,
				LastValidationTime: before(time.Minute),
				LastSyncedTime:     before(time.Minute),
			},
		},
	}
	return snap
}

func said(notes []Note) string {
	var texts []string
	for _, n := range notes {
		texts = append(texts, []string{"", "~ ", "! "}[n.Tone]+n.Text)
	}
	return strings.Join(texts, "\n")
}

func TestSchedules(t *testing.T) {
	yes := true
	completed, partly, failed, progress := veleroapi.BackupPhaseCompleted, veleroapi.BackupPhasePartiallyFailed, veleroapi.BackupPhaseFailed, veleroapi.BackupPhaseInProgress
	for name, c := range map[string]struct {
		runs   []*job.Job // newest first
		last   time.Duration
		change func(*veleroapi.Schedule, *watch.Snapshot)
		state  string
		next   time.Duration // from noon, 0 for none
		want   []string      // in the notes; none wants no note at all
	}{
		"calm":              {runs: []*job.Job{run("a", completed, 50*time.Minute, time.Minute)}, last: 40 * time.Minute, state: "Enabled", next: 15 * time.Minute},
		"due, a minute ago": {last: 61 * time.Minute, change: func(s *veleroapi.Schedule, _ *watch.Snapshot) { s.Spec.Schedule = "59 * * * *" }, state: ScheduleDue, next: -time.Minute},
		"late":              {last: 3 * time.Hour, state: ScheduleLate, next: -165 * time.Minute, want: []string{"! A run was due 2h45m ago, and Velero has made no backup: veltui sees no reason"}},
		"late, stale data": {last: 3 * time.Hour, change: func(_ *veleroapi.Schedule, s *watch.Snapshot) {
			s.Health = watch.Health{State: watch.Stale, Since: noon}
		}, state: ScheduleDue, next: -165 * time.Minute},
		"late, no server":   {last: 3 * time.Hour, change: func(_ *veleroapi.Schedule, s *watch.Snapshot) { s.Server.Running = false }, state: ScheduleLate, next: -165 * time.Minute, want: []string{"! ", "no Velero server runs"}},
		"late, its own run": {runs: []*job.Job{run("long", progress, 3*time.Hour, 0)}, last: 3 * time.Hour, state: ScheduleLate, next: -165 * time.Minute, want: []string{"its backup long is still InProgress"}},
		"paused":            {last: 30 * time.Minute, change: func(s *veleroapi.Schedule, _ *watch.Snapshot) { s.Spec.Paused = true }, state: SchedulePaused, want: []string{"~ Paused: Velero makes no backups."}},
		"paused, due":       {last: 3 * time.Hour, change: func(s *veleroapi.Schedule, _ *watch.Snapshot) { s.Spec.Paused = true }, state: SchedulePaused, want: []string{"makes a backup at once"}},
		"paused, skips":     {last: 3 * time.Hour, change: func(s *veleroapi.Schedule, _ *watch.Snapshot) { s.Spec.Paused, s.Spec.SkipImmediately = true, &yes }, state: SchedulePaused, want: []string{"skips the missed run"}},
		"skips":             {last: 30 * time.Minute, change: func(s *veleroapi.Schedule, _ *watch.Snapshot) { s.Spec.SkipImmediately = &yes }, state: "Enabled", next: 15 * time.Minute, want: []string{"~ skipImmediately is set"}},
		"invalid": {change: func(s *veleroapi.Schedule, _ *watch.Snapshot) {
			s.Spec.Schedule, s.Status.Phase, s.Status.ValidationErrors = "x", veleroapi.SchedulePhaseFailedValidation, []string{"invalid schedule: x."}
		}, state: ScheduleNotValid, want: []string{"! Velero rejected this schedule: no backups are made: invalid schedule: x."}},
		"cannot be read here": {change: func(s *veleroapi.Schedule, _ *watch.Snapshot) { s.Spec.Schedule = "CRON_TZ=Moon/Sea 0 2 * * *" }, state: "Enabled", want: []string{"~ Next run unknown"}},
		"one partly": {runs: []*job.Job{run("b", partly, 50*time.Minute, time.Minute), run("a", completed, 110*time.Minute, time.Minute)}, last: 40 * time.Minute, state: "Enabled", next: 15 * time.Minute,
			want: []string{"~ The last run is PartiallyFailed", "~ The last Completed backup is 1h49m old: a."}},
		"three bad": {runs: []*job.Job{run("d", failed, 50*time.Minute, time.Minute), run("c", failed, 110*time.Minute, time.Minute), run("b", partly, 170*time.Minute, time.Minute), run("a", completed, 230*time.Minute, time.Minute)}, last: 40 * time.Minute, state: "Enabled", next: 15 * time.Minute,
			want: []string{"! The last 3 runs did not complete: 2 Failed and 1 PartiallyFailed; the newest: the server restarted.", "~ The last Completed backup is 3h49m old: a."}},
		"all bad":                  {runs: []*job.Job{run("b", failed, 50*time.Minute, time.Minute)}, last: 40 * time.Minute, state: "Enabled", next: 15 * time.Minute, want: []string{"! The last run is Failed: the server restarted.", "! No backup of it is Completed."}},
		"a run is under way":       {runs: []*job.Job{run("b", progress, 5*time.Minute, 0), run("a", completed, 110*time.Minute, time.Minute)}, last: 5 * time.Minute, state: "Enabled", next: 15 * time.Minute},
		"longer than the interval": {runs: []*job.Job{run("a", completed, 170*time.Minute, 2*time.Hour)}, last: 40 * time.Minute, state: "Enabled", next: 15 * time.Minute, want: []string{"~ The last run took 2h, which is more than the 1h between two runs"}},
		"location unavailable": {last: 30 * time.Minute, change: func(_ *veleroapi.Schedule, s *watch.Snapshot) {
			s.StorageLocations[0].Status.Phase = veleroapi.BackupStorageLocationPhaseUnavailable
		}, state: "Enabled", next: 15 * time.Minute, want: []string{"! The next backup will fail: its storage location default is Unavailable."}},
		"no such location": {last: 30 * time.Minute, change: func(s *veleroapi.Schedule, _ *watch.Snapshot) { s.Spec.Template.StorageLocation = "gone" }, state: "Enabled", next: 15 * time.Minute, want: []string{"! The next backup will fail: there is no storage location gone."}},
		"locations not seen": {runs: []*job.Job{run("a", completed, 30*time.Minute, time.Minute)}, last: 30 * time.Minute, change: func(s *veleroapi.Schedule, snap *watch.Snapshot) {
			s.Spec.Template.StorageLocation, snap.StorageLocations, snap.Sources[3].State = "gone", nil, watch.SourceForbidden
		}, state: "Enabled", next: 15 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			snap := alive(c.runs...)
			s := &veleroapi.Schedule{
				ObjectMeta: object("s", 30*time.Minute),
				Spec:       veleroapi.ScheduleSpec{Schedule: "15 * * * *"},
				Status:     veleroapi.ScheduleStatus{Phase: veleroapi.SchedulePhaseEnabled},
			}
			if c.last > 0 {
				s.Status.LastBackup = before(c.last)
			}
			if c.change != nil {
				c.change(s, snap)
			}
			snap.Schedules = []*veleroapi.Schedule{s}
			var e Estimates
			at := noon.Add(time.Second)
			got := e.AssessSnapshot(snap, at).JudgeSchedules()[0]
			notes := said(got.Notes)
			if got.State != c.state {
				t.Errorf("state %s, want %s: %s", got.State, c.state, notes)
			}
			if next := noon.Add(c.next); c.next != 0 && !got.NextRun.Equal(next) || c.next == 0 && !got.NextRun.IsZero() {
				t.Errorf("next run %s, want %s", got.NextRun, next)
			}
			for _, want := range c.want {
				if !strings.Contains(notes, want) {
					t.Errorf("%q is not in:\n%s", want, notes)
				}
			}
			if len(c.want) == 0 && notes != "" {
				t.Errorf("it says:\n%s", notes)
			}
		})
	}
}

// The cron expression goes by the time zone of the server's pod.
// Backups that Velero read from the object store were created in any order: what counts is when they began.
func TestRunsAreInTheOrderOfTheirBeginning(t *testing.T) {
	snap := alive(
		run("a", veleroapi.BackupPhaseCompleted, 50*time.Hour, time.Minute),
		run("b", veleroapi.BackupPhaseFailed, time.Hour, time.Minute),
	)
	snap.Schedules = []*veleroapi.Schedule{plan("s")}
	if last := new(Estimates).AssessSnapshot(snap, noon).JudgeSchedules()[0].LastEnded(); last.Name != "b" {
		t.Errorf("the last run is %s", last.Name)
	}
}

func TestScheduleZone(t *testing.T) {
	snap := alive()
	snap.Schedules = []*veleroapi.Schedule{
		{
			ObjectMeta: object("s", time.Hour),
			Spec:       veleroapi.ScheduleSpec{Schedule: "0 2 * * *"},
			Status:     veleroapi.ScheduleStatus{Phase: veleroapi.SchedulePhaseEnabled},
		},
	}
	snap.Server.TimeZone = "Asia/Tokyo"
	var e Estimates
	if got := e.AssessSnapshot(snap, noon).JudgeSchedules()[0]; got.TimeZone != "Asia/Tokyo" ||
		!got.NextRun.Equal(time.Date(2026, 11, 20, 17, 0, 0, 0, time.UTC)) {
		t.Errorf("in %s at %s", got.TimeZone, got.NextRun.UTC())
	}
	snap.Server.TimeZone = "Moon/Sea"
	if got := e.AssessSnapshot(snap, noon).JudgeSchedules()[0]; got.TimeZone != "UTC" ||
		!got.NextRun.Equal(time.Date(2026, 11, 21, 2, 0, 0, 0, time.UTC)) {
		t.Errorf("in %s at %s", got.TimeZone, got.NextRun.UTC())
	}
}

func TestStorage(t *testing.T) {
	old, young := run(
		"old",
		veleroapi.BackupPhaseCompleted,
		90*time.Hour,
		time.Minute,
	), run(
		"young",
		veleroapi.BackupPhaseFailed,
		time.Hour,
		time.Minute,
	)
	snap := alive(young, old)
	off := metav1.Duration{}
	nas := &veleroapi.BackupStorageLocation{
		ObjectMeta: object("nas", 900*time.Hour),
		Spec: veleroapi.BackupStorageLocationSpec{
			AccessMode:          veleroapi.BackupStorageLocationAccessModeReadOnly,
			ValidationFrequency: &off,
		},
		Status: veleroapi.BackupStorageLocationStatus{
			Phase:          veleroapi.BackupStorageLocationPhaseUnavailable,
			Message:        "connection refused",
			LastSyncedTime: before(3 * time.Hour),
		},
	}
	fresh := &veleroapi.BackupStorageLocation{ObjectMeta: object("fresh", time.Second)}
	snap.StorageLocations = append(snap.StorageLocations, nas, fresh)
	maintained := func(name, location string, phase veleroapi.BackupRepositoryPhase, last time.Duration, results ...veleroapi.BackupRepositoryMaintenanceResult) *veleroapi.BackupRepository {
		r := &veleroapi.BackupRepository{
			ObjectMeta: object(name, 900*time.Hour),
			Spec: veleroapi.BackupRepositorySpec{
				VolumeNamespace:       name,
				BackupStorageLocation: location,
				MaintenanceFrequency:  metav1.Duration{Duration: time.Hour},
			},
			Status: veleroapi.BackupRepositoryStatus{Phase: phase, LastMaintenanceTime: before(last)},
		}
		for _, result := range results {
			r.Status.RecentMaintenance = append(
				r.Status.RecentMaintenance,
				veleroapi.BackupRepositoryMaintenanceStatus{Result: result, Message: "out of memory"},
			)
		}
		return r
	}
	const ready, good, bad = veleroapi.BackupRepositoryPhaseReady, veleroapi.BackupRepositoryMaintenanceSucceeded, veleroapi.BackupRepositoryMaintenanceFailed
	snap.Repositories = []*veleroapi.BackupRepository{
		maintained(
			"bad",
			"default",
			ready,
			time.Hour,
			good,
			bad,
			bad,
		),
		maintained("calm", "default", ready, 30*time.Minute, bad, good),
		maintained(
			"frozen",
			"nas",
			ready,
			90*time.Hour,
			good,
		),
		maintained("late", "default", ready, 90*time.Hour, good),
		maintained("new", "default", "", time.Hour),
		maintained("off", "default", veleroapi.BackupRepositoryPhaseNotReady, time.Hour),
	}
	var e Estimates
	a := e.AssessSnapshot(snap, noon)
	for i, want := range []struct {
		name, says string
		backups    int
	}{
		{"default", "", 2},
		{"fresh", "~ Not checked yet.", 0},
		{"nas", "! Unavailable: connection refused. Velero makes no backup to it and deletes none from it.\n~ ReadOnly: Velero makes no backup to it, deletes none from it and maintains no repository in it. Restores work.\n~ Velero does not check whether it can be reached: validationFrequency is 0.\n~ Velero last looked for backups of others in it 3h ago; usually it does so every 1m.", 0},
	} {
		if got := a.JudgeLocations()[i]; got.Name != want.name || said(got.Notes) != want.says ||
			got.Backups != want.backups {
			t.Errorf(
				"location %s holds %d and says:\n%s\nwant %s, %d:\n%s",
				got.Name,
				got.Backups,
				said(got.Notes),
				want.name,
				want.backups,
				want.says,
			)
		}
	}
	if l := a.JudgeLocations()[0]; l.NewestBackup != young && l.NewestBackup.Name != "young" || l.OldestBackup.Name != "old" || l.NotCompletedBackups != 1 ||
		l.Repositories != 5 {
		t.Errorf("newest %v, oldest %v, %d bad, %d repositories", l.NewestBackup, l.OldestBackup, l.NotCompletedBackups, l.Repositories)
	}
	for i, want := range []string{
		"! The last 2 maintenances failed: out of memory. Without maintenance what was deleted stays in the object store.", "", "",
		"! Maintenance is 3d overdue: it is to run every 1h. Without maintenance what was deleted stays in the object store.", "~ Velero is about to create or connect it.",
		"! It is NotReady: Velero gives no reason. No volume data of namespace off can be saved to it or restored from it.",
	} {
		if got := a.JudgeRepositories()[i]; said(got.Notes) != want {
			t.Errorf("repository %s says:\n%s\nwant:\n%s", got.Name, said(got.Notes), want)
		}
	}
}

func TestDeletions(t *testing.T) {
	const inProgress, processed, new = veleroapi.DeleteBackupRequestPhaseInProgress, veleroapi.DeleteBackupRequestPhaseProcessed, veleroapi.DeleteBackupRequestPhaseNew
	request := func(name, backup string, age time.Duration, phase veleroapi.DeleteBackupRequestPhase, errors ...string) *veleroapi.DeleteBackupRequest {
		d := &veleroapi.DeleteBackupRequest{
			ObjectMeta: object(name, age),
			Spec:       veleroapi.DeleteBackupRequestSpec{BackupName: backup},
			Status:     veleroapi.DeleteBackupRequestStatus{Phase: phase, Errors: errors},
		}
		d.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "velero-server", Time: before(age)}}
		return d
	}
	expired := run("expired", veleroapi.BackupPhaseCompleted, 900*time.Hour, time.Minute)
	expired.Object.(*veleroapi.Backup).Status.Expiration = before(time.Hour)
	jobs := []*job.Job{
		run("a", veleroapi.BackupPhaseCompleted, 90*time.Hour, time.Minute),
		run("going", veleroapi.BackupPhaseDeleting, 90*time.Hour, 90*time.Hour-time.Minute),
		expired,
	}
	for name, c := range map[string]struct {
		requests []*veleroapi.DeleteBackupRequest // the first one counts
		change   func(*watch.Snapshot)
		want     string
	}{
		"failed":          {[]*veleroapi.DeleteBackupRequest{request("d", "a", time.Hour, processed, "no such bucket.", "x")}, nil, "! The backup is not deleted: no such bucket.\n~ Velero does not try this request again. Fix the cause, then delete it again: velero backup delete a."},
		"failed, expired": {[]*veleroapi.DeleteBackupRequest{request("d", "expired", time.Hour, processed, "x")}, nil, "! The backup is not deleted: x.\n~ Velero does not try this request again. Fix the cause, then delete it again: velero backup delete expired. The backup has expired, so Velero's garbage collector makes a new request every hour."},
		"failed, gone":    {[]*veleroapi.DeleteBackupRequest{request("d", "nobody", time.Hour, processed, "backup not found")}, nil, "~ It ended with 1 error, but backup nobody no longer exists."},
		"done":            {[]*veleroapi.DeleteBackupRequest{request("d", "nobody", time.Hour, processed)}, nil, "The backup is deleted."},
		"under way":       {[]*veleroapi.DeleteBackupRequest{request("d", "going", time.Minute, inProgress)}, nil, "Velero has been deleting the backup for 1m: the backup is still there."},
		"cut off":         {[]*veleroapi.DeleteBackupRequest{request("d", "nobody", 2*time.Hour, inProgress)}, nil, "! The Velero server restarted 1h ago, after it began with this. It looks at the request again only when that is a day old, and then drops it. Delete it again: velero backup delete nobody."},
		"just made":       {[]*veleroapi.DeleteBackupRequest{request("d", "a", time.Minute, new)}, nil, "Not started yet."},
		"behind another":  {[]*veleroapi.DeleteBackupRequest{request("d", "a", time.Hour, ""), request("e", "going", time.Minute, inProgress)}, nil, "~ Waiting for the deletion of going: Velero deletes one backup at a time."},
		"not begun":       {[]*veleroapi.DeleteBackupRequest{request("d", "a", time.Hour, new), request("e", "going", 2*time.Hour, inProgress)}, nil, "! Velero has not begun with it for 1h."},
		"no server":       {[]*veleroapi.DeleteBackupRequest{request("d", "a", time.Hour, new)}, func(s *watch.Snapshot) { s.Server.Running = false }, "! No Velero server runs, so nothing is deleted."},
	} {
		snap := alive(jobs...)
		snap.DeleteRequests = c.requests
		if c.change != nil {
			c.change(snap)
		}
		var e Estimates
		for _, got := range e.AssessSnapshot(snap, noon).JudgeDeletions() {
			if got.Name == "d" && said(got.Notes) != c.want {
				t.Errorf("%s:\n%s\nwant:\n%s", name, said(got.Notes), c.want)
			}
		}
	}
}

// How old a schedule's last Completed backup may be is the user's own limit.
func TestBackupAge(t *testing.T) {
	run := func(age time.Duration) *job.Job {
		b := &veleroapi.Backup{
			ObjectMeta: metav1.ObjectMeta{
				Name:              "b",
				UID:               "b",
				Labels:            map[string]string{veleroapi.ScheduleNameLabel: "s"},
				CreationTimestamp: metav1.NewTime(noon.Add(-age)),
			},
		}
		b.Status = veleroapi.BackupStatus{
			Phase:               veleroapi.BackupPhaseCompleted,
			CompletionTimestamp: &metav1.Time{Time: noon.Add(-age)},
		}
		return job.Fold(nil, job.Observation{Backup: b, ObservedAt: noon})
	}
	for name, c := range map[string]struct {
		limit  time.Duration
		jobs   []*job.Job
		state  watch.SourceState
		paused bool
		want   string
		// left is how many backups are left out because they ended before within.
		left   int
		within time.Duration
	}{
		"no limit":              {0, []*job.Job{run(90 * time.Hour)}, watch.SourceLive, false, "", 0, 0},
		"young":                 {26 * time.Hour, []*job.Job{run(25 * time.Hour)}, watch.SourceLive, false, "", 0, 0},
		"old":                   {26 * time.Hour, []*job.Job{run(27 * time.Hour)}, watch.SourceLive, false, "The last Completed backup is 27h old: b. You allow 26h (thresholds.backup-age).", 0, 0},
		"never":                 {26 * time.Hour, nil, watch.SourceLive, false, "No backup of it is Completed, and the schedule is 4d old. You allow 26h (thresholds.backup-age).", 0, 0},
		"paused":                {26 * time.Hour, nil, watch.SourceLive, true, "", 0, 0},
		"may not see":           {26 * time.Hour, nil, watch.SourceForbidden, false, "", 0, 0},
		"is being read":         {26 * time.Hour, nil, watch.SourceSyncing, false, "", 0, 0},
		"young, older left out": {26 * time.Hour, []*job.Job{run(25 * time.Hour)}, watch.SourceLive, false, "", 12, 720 * time.Hour},
		"old, older left out":   {26 * time.Hour, []*job.Job{run(27 * time.Hour)}, watch.SourceLive, false, "The last Completed backup is 27h old: b. You allow 26h (thresholds.backup-age).", 12, 720 * time.Hour},
		"all left out":          {26 * time.Hour, nil, watch.SourceLive, false, "No backup of it that ended in the last 30d is Completed; veltui leaves out older ones (--ended-within). You allow 26h (thresholds.backup-age).", 12, 720 * time.Hour},
		"left out too early":    {26 * time.Hour, nil, watch.SourceLive, false, "", 12, 20 * time.Hour},
	} {
		s := &veleroapi.Schedule{
			ObjectMeta: metav1.ObjectMeta{Name: "s", CreationTimestamp: metav1.NewTime(noon.Add(-100 * time.Hour))},
			Spec:       veleroapi.ScheduleSpec{Schedule: "0 2 * * *", Paused: c.paused},
			Status: veleroapi.ScheduleStatus{
				Phase:      veleroapi.SchedulePhaseEnabled,
				LastBackup: &metav1.Time{Time: noon.Add(-10 * time.Hour)},
			},
		}
		e := Estimates{BackupAge: c.limit}
		got := e.AssessSnapshot(&watch.Snapshot{Health: watch.Health{State: watch.Live}, Schedules: []*veleroapi.Schedule{s}, Jobs: c.jobs, Sources: []watch.Source{{Resource: watch.Backups, State: c.state}},
			AgedOutBackups: c.left, AgedOutBySchedule: map[string]int{"s": c.left}, EndedWithin: c.within}, noon).JudgeSchedules()[0]
		alarm := ""
		for _, n := range got.Notes {
			if n.Tone == Alarming && !strings.Contains(n.Text, "Velero made a backup of it") {
				alarm += n.Text
			}
		}
		if alarm != c.want {
			t.Errorf("%s: %q, want %q", name, alarm, c.want)
		}
	}
}
