package assess

import (
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/velero"
	"github.com/veltui/veltui/internal/velero/veleroapi"
	"github.com/veltui/veltui/watch"
)

// made is a backup that this cluster made: its object has changed with its phases.
func made(schedule, name string, phase veleroapi.BackupPhase, began time.Duration, change ...func(*veleroapi.Backup)) *job.Job {
	b := runOf(schedule, name, phase, began).Object.(*veleroapi.Backup)
	b.Generation = 4
	b.Labels[veleroapi.ScheduleNameLabel] = schedule
	for _, c := range change {
		c(b)
	}
	return job.Fold(nil, job.Observation{Backup: b, ObservedAt: noon})
}

func copied(b *veleroapi.Backup) { b.Generation = 1 }

func expired(ago time.Duration, location string) func(*veleroapi.Backup) {
	return func(b *veleroapi.Backup) { b.Status.Expiration, b.Spec.StorageLocation = before(ago), location }
}

func counted(items int) func(*veleroapi.Backup) {
	return func(b *veleroapi.Backup) {
		b.Status.Progress = &veleroapi.BackupProgress{TotalItems: items, ItemsBackedUp: items}
	}
}

// What jobs and schedules leave behind is a finding, and what only looks like it is none.
func TestLeftBehind(t *testing.T) {
	completed, invalid := veleroapi.BackupPhaseCompleted, veleroapi.BackupPhaseFailedValidation
	hour, day := time.Hour, 24*time.Hour
	twiceAWeek := func(age time.Duration, change ...func(*veleroapi.Backup)) (jobs []*job.Job) {
		for i := range 6 {
			jobs = append(jobs, made("infra", string(rune('f'-i)), completed, age+time.Duration(i)*84*hour, change...))
		}
		return jobs
	}
	readOnly := func(s *watch.Snapshot) {
		s.StorageLocations[0].Spec.AccessMode = veleroapi.BackupStorageLocationAccessModeReadOnly
	}
	for name, c := range map[string]struct {
		jobs []*job.Job // newest first
		snap func(*watch.Snapshot)
		want []string
	}{
		"expired, location gone": {jobs: []*job.Job{
			made("", "b", invalid, 50*day, expired(40*day, "aws")), made("", "a", completed, 60*day, expired(42*day, "aws")),
		}, want: []string{"warning ExpiredWithoutLocation storage/aws x2"}},
		"expired an hour ago, location gone": {jobs: []*job.Job{made("", "a", completed, 60*day, expired(hour, "aws"))}},
		"expired, locations hidden": {jobs: []*job.Job{made("", "a", completed, 60*day, expired(42*day, "aws"))},
			snap: func(s *watch.Snapshot) { s.Sources[3].State = watch.SourceForbidden }},
		"expired, location there":               {jobs: []*job.Job{made("", "a", completed, 60*day, expired(42*day, "default"))}},
		"expired, read-only":                    {jobs: []*job.Job{made("", "a", completed, 60*day, expired(30*day, "default"))}, snap: readOnly, want: []string{"warning ExpiredReadOnly storage/default"}},
		"expired yesterday, read-only":          {jobs: []*job.Job{made("", "a", completed, 60*day, expired(day, "default"))}, snap: readOnly},
		"expired, read-only, another cluster's": {jobs: []*job.Job{made("", "a", completed, 60*day, expired(30*day, "default"), copied)}, snap: readOnly},
		"not expired, location gone":            {jobs: []*job.Job{made("", "a", completed, 60*day, expired(-day, "aws"))}},

		"a schedule that is gone":               {jobs: twiceAWeek(200 * hour), want: []string{"warning ScheduleGone schedule/infra x6"}},
		"gone, of another cluster":              {jobs: twiceAWeek(200*hour, copied)},
		"gone, but its next run is not overdue": {jobs: twiceAWeek(100 * hour)},
		"gone for long":                         {jobs: twiceAWeek(60 * day)},
		"gone, two backups":                     {jobs: twiceAWeek(200 * hour)[:2]},
		"schedules hidden":                      {jobs: twiceAWeek(200 * hour), snap: func(s *watch.Snapshot) { s.Sources[2].State = watch.SourceForbidden }},
		"it is there, and paused": {jobs: twiceAWeek(200 * hour), snap: func(s *watch.Snapshot) {
			s.Schedules = []*veleroapi.Schedule{plan("infra", func(s *veleroapi.Schedule) {
				s.Spec.Schedule, s.Spec.Paused, s.Status.LastBackup = "0 0 1 1 *", true, before(200*hour)
			})}
		}},

		"its backups are pruned": {snap: func(s *watch.Snapshot) { s.Schedules = []*veleroapi.Schedule{plan("s")} }, want: []string{"critical BackupsMissing schedule/s"}},
		"its newest is deleted": {jobs: []*job.Job{made("s", "a", completed, 100*time.Minute)},
			snap: func(s *watch.Snapshot) { s.Schedules = []*veleroapi.Schedule{plan("s")} }, want: []string{"warning BackupsMissing schedule/s"}},
		"its newest expired": {snap: func(s *watch.Snapshot) {
			s.Schedules = []*veleroapi.Schedule{plan("s", func(s *veleroapi.Schedule) {
				s.Spec.Template.TTL = metav1.Duration{Duration: 61 * time.Minute}
				s.Spec.Schedule = "@every 72h"
				s.Status.LastBackup = before(62 * time.Minute)
			})}
		}, want: []string{"warning ExpiresFirst schedule/s"}},
		"backups hidden": {snap: func(s *watch.Snapshot) {
			s.Schedules, s.Sources[0].State = []*veleroapi.Schedule{plan("s")}, watch.SourceForbidden
		}},
		"its run is older than what is shown": {snap: func(s *watch.Snapshot) {
			s.Schedules, s.AgedOutBySchedule = []*veleroapi.Schedule{plan("s")}, map[string]int{"s": 3}
		}},
		"copied with its status": {snap: func(s *watch.Snapshot) {
			s.Schedules = []*veleroapi.Schedule{plan("s", func(s *veleroapi.Schedule) { s.CreationTimestamp = *before(time.Minute) })}
		}},
		"skipped, and never run": {snap: func(s *watch.Snapshot) {
			s.Schedules = []*veleroapi.Schedule{plan("s", func(s *veleroapi.Schedule) {
				s.Status.LastBackup, s.Status.LastSkipped = nil, before(40*time.Minute)
			})}
		}},
		"a name of 72 characters": {snap: func(s *watch.Snapshot) {
			s.Schedules = []*veleroapi.Schedule{plan(strings.Repeat("nightly-", 9), func(s *veleroapi.Schedule) { s.Status.LastBackup = nil })}
		}, want: []string{"critical ScheduleNameTooLong schedule/" + strings.Repeat("nightly-", 9)}},
		"a name of 63 characters": {snap: func(s *watch.Snapshot) {
			s.Schedules = []*veleroapi.Schedule{plan(strings.Repeat("n", 63), func(s *veleroapi.Schedule) {
				s.Status.LastBackup, s.CreationTimestamp = nil, *before(10 * time.Minute)
			})}
		}},

		"empty, by hand":           {jobs: []*job.Job{made("", "a", completed, hour, counted(0))}, want: []string{"warning CompletedEmpty backup/a"}},
		"empty, two days ago":      {jobs: []*job.Job{made("", "a", completed, 2*day, counted(0))}},
		"empty, another cluster's": {jobs: []*job.Job{made("", "a", completed, hour, counted(0), copied, func(b *veleroapi.Backup) { b.CreationTimestamp = *before(time.Minute) })}},
		"no count":                 {jobs: []*job.Job{made("", "a", completed, hour)}},
		"one item":                 {jobs: []*job.Job{made("", "a", completed, hour, counted(1))}},
		"the first run is empty": {jobs: []*job.Job{made("s", "a", completed, 40*time.Minute, counted(0))},
			snap: func(s *watch.Snapshot) { s.Schedules = []*veleroapi.Schedule{plan("s")} }, want: []string{"critical CompletedEmpty schedule/s"}},
		"a run was empty, the last is not": {jobs: []*job.Job{made("s", "b", completed, 40*time.Minute, counted(9)), made("s", "a", completed, 100*time.Minute, counted(0))},
			snap: func(s *watch.Snapshot) { s.Schedules = []*veleroapi.Schedule{plan("s")} }},

		"smaller than before, by hand": {jobs: []*job.Job{made("", "d", completed, hour, counted(90)), made("", "c", completed, day, counted(400)),
			made("", "b", completed, 2*day, counted(410)), made("", "a", completed, 3*day, counted(405))}, want: []string{"warning RunsLostData backup/d"}},
		"smaller, with another spec": {jobs: []*job.Job{made("", "d", completed, hour, counted(90), func(b *veleroapi.Backup) { b.Spec.IncludedNamespaces = []string{"a"} }),
			made("", "c", completed, day, counted(400)), made("", "b", completed, 2*day, counted(410)), made("", "a", completed, 3*day, counted(405))}},
		"smaller than one before": {jobs: []*job.Job{made("", "d", completed, hour, counted(90)), made("", "c", completed, day, counted(400))}},

		"a deletion for a day": {jobs: []*job.Job{made("", "b", completed, 2*day)}, snap: func(s *watch.Snapshot) {
			s.DeleteRequests = []*veleroapi.DeleteBackupRequest{deletion("b", day, veleroapi.DeleteBackupRequestPhaseInProgress)}
			s.Server.StartedAt = noon.Add(-9 * day)
		}, want: []string{"warning DeletionStuck deletion/b-x"}},
		"a deletion for an hour": {jobs: []*job.Job{made("", "b", completed, 2*day)}, snap: func(s *watch.Snapshot) {
			s.DeleteRequests = []*veleroapi.DeleteBackupRequest{deletion("b", hour, veleroapi.DeleteBackupRequestPhaseInProgress)}
			s.Server.StartedAt = noon.Add(-9 * day)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			snap := alive(c.jobs...)
			if c.snap != nil {
				c.snap(snap)
			}
			found := new(Estimates).AssessSnapshot(snap, noon).ListFindings()
			if got := listed(found); !slices.Equal(got, c.want) {
				for _, f := range found {
					t.Log(f.Summary)
				}
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(c.want, "\n"))
			}
		})
	}
}

// Maintenance that is long overdue needs somebody, and so do pods of it that were killed, which is all that the versions
// before 1.16 show of a failed run.
func TestMaintenance(t *testing.T) {
	killed := func(ago ...time.Duration) (pods []velero.MaintenancePod) {
		for _, d := range ago {
			pods = append(pods, velero.MaintenancePod{Name: "p", Created: noon.Add(-d), HasFailed: true, Reason: "OOMKilled"})
		}
		return pods
	}
	for name, c := range map[string]struct {
		last, every time.Duration
		pods        []velero.MaintenancePod
		readOnly    bool
		want        string
	}{
		"on time":                     {last: time.Hour, every: time.Hour},
		"a little late":               {last: 8 * time.Hour, every: time.Hour},
		"overdue":                     {last: 30 * time.Hour, every: time.Hour, want: "warning MaintenanceOverdue repository/r"},
		"a weekly one, a day late":    {last: 8*24*time.Hour + 25*time.Hour, every: 7 * 24 * time.Hour},
		"overdue in a read-only one":  {last: 30 * time.Hour, every: time.Hour, readOnly: true},
		"killed":                      {last: 30 * time.Hour, every: time.Hour, pods: killed(time.Hour, 2*time.Hour, 3*time.Hour), want: "warning MaintenanceFailing repository/r x3"},
		"killed once":                 {last: 2 * time.Hour, every: time.Hour, pods: killed(time.Hour)},
		"killed before the last good": {last: time.Hour, every: time.Hour, pods: killed(2*time.Hour, 3*time.Hour)},
		"the newest went well":        {last: 2 * time.Hour, every: time.Hour, pods: slices.Concat([]velero.MaintenancePod{{Created: noon}}, killed(time.Hour, 90*time.Minute))},
	} {
		t.Run(name, func(t *testing.T) {
			snap := alive()
			if c.readOnly {
				snap.StorageLocations[0].Spec.AccessMode = veleroapi.BackupStorageLocationAccessModeReadOnly
			}
			snap.Repositories = []*veleroapi.BackupRepository{{
				ObjectMeta: object("r", 900*time.Hour),
				Spec:       veleroapi.BackupRepositorySpec{BackupStorageLocation: "default", MaintenanceFrequency: metav1.Duration{Duration: c.every}},
				Status:     veleroapi.BackupRepositoryStatus{Phase: veleroapi.BackupRepositoryPhaseReady, LastMaintenanceTime: before(c.last)},
			}}
			snap.MaintenancePods = map[string][]velero.MaintenancePod{"r": c.pods}
			found := new(Estimates).AssessSnapshot(snap, noon).ListFindings()
			if got := strings.Join(listed(found), "\n"); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
			if c.pods != nil && c.want != "" && !strings.Contains(found[0].Summary, "OOMKilled") {
				t.Errorf("it says %s", found[0].Summary)
			}
		})
	}
}

// A healthy cluster of 300 backups needs nobody, also one with volumes, copies of another cluster's backups, restores and
// maintenance pods that ended well.
func TestHealthyClusterIsSilent(t *testing.T) {
	var jobs []*job.Job
	snap := alive()
	for i := range 10 {
		name := "s" + string(rune('a'+i))
		snap.Schedules = append(snap.Schedules, plan(name))
		for n := range 30 {
			began := time.Duration(n)*time.Hour + 40*time.Minute
			change := []func(*veleroapi.Backup){counted(400 + n%3), expired(began-200*time.Hour, "default")}
			jobs = append(jobs, made(name, name+"-"+string(rune('A'+n)), veleroapi.BackupPhaseCompleted, began, change...))
		}
	}
	for n := range 5 {
		jobs = append(jobs, made("elsewhere", "copy-"+string(rune('A'+n)), veleroapi.BackupPhaseCompleted,
			time.Duration(200+24*n)*time.Hour, counted(9), copied))
	}
	jobs = append(jobs, restored("r", "shop", veleroapi.RestorePhaseCompleted, time.Hour))
	slices.SortFunc(jobs, func(a, b *job.Job) int { return b.Created.Compare(a.Created) })
	snap.Jobs = jobs
	snap.Repositories = []*veleroapi.BackupRepository{{
		ObjectMeta: object("r", 900*time.Hour),
		Spec:       veleroapi.BackupRepositorySpec{BackupStorageLocation: "default", MaintenanceFrequency: metav1.Duration{Duration: time.Hour}},
		Status:     veleroapi.BackupRepositoryStatus{Phase: veleroapi.BackupRepositoryPhaseReady, LastMaintenanceTime: before(50 * time.Minute)},
	}}
	snap.MaintenancePods = map[string][]velero.MaintenancePod{"r": {{Name: "p", Created: noon.Add(-50 * time.Minute)}}}
	if found := new(Estimates).AssessSnapshot(snap, noon).ListFindings(); len(found) > 0 {
		t.Errorf("%d findings, the first: %s: %s", len(found), listed(found)[0], found[0].Summary)
	}
}
