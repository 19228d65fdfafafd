package ui

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/velero/decode"
	"github.com/veltui/veltui/internal/velero/veleroapi"
	"github.com/veltui/veltui/watch"
)

// runOf is a backup of a schedule as it ended.
func runOf(schedule string, n int, phase veleroapi.BackupPhase, took, when time.Duration, errors int) *job.Job {
	b := &veleroapi.Backup{ObjectMeta: meta(fmt.Sprintf("%s-%d", schedule, n), when+took)}
	b.Labels = map[string]string{veleroapi.ScheduleNameLabel: schedule}
	b.Spec.StorageLocation = "default"
	b.Status = veleroapi.BackupStatus{
		Phase:               phase,
		StartTimestamp:      ptr(ago(when + took)),
		CompletionTimestamp: ptr(ago(when)),
		Errors:              errors,
		Progress:            &veleroapi.BackupProgress{ItemsBackedUp: 900 + n, TotalItems: 900 + n},
	}
	return job.Fold(nil, job.Observation{Backup: b, ObservedAt: noon})
}

// installation is a snapshot with schedules, storage and deletions of every kind.
func installation() *watch.Snapshot {
	var jobs []*job.Job
	for n := range 12 {
		phase, errors := veleroapi.BackupPhaseCompleted, 0
		switch n {
		case 4:
			phase, errors = veleroapi.BackupPhasePartiallyFailed, 2
		case 9, 10, 11:
			phase, errors = veleroapi.BackupPhaseFailed, 1
		}
		jobs = append(
			[]*job.Job{
				runOf(
					"nightly-crm",
					n+1,
					phase,
					time.Duration(60+20*n*(n%3))*time.Second,
					time.Duration(12-n)*24*time.Hour-14*time.Hour,
					errors,
				),
			},
			jobs...)
	}
	for n := range 5 {
		jobs = append(
			[]*job.Job{
				runOf(
					"hourly-web",
					n+1,
					veleroapi.BackupPhaseCompleted,
					90*time.Second,
					time.Duration(5-n)*time.Hour-58*time.Minute,
					0,
				),
			},
			jobs...)
	}
	deleting := backupJob(
		"crm-2024",
		900*time.Hour,
		veleroapi.BackupStatus{Phase: veleroapi.BackupPhaseDeleting, StartTimestamp: ptr(ago(900 * time.Hour))},
		3*time.Hour,
	)
	deleting.StorageLocation = "default"
	jobs = append(jobs, deleting)
	snap := snapshotOf(jobs...)
	snap.Server.StartedAt = noon.Add(-2 * time.Hour)
	snap.Sources = nil
	for _, kind := range []string{watch.Backups, watch.Restores, watch.Schedules, watch.StorageLocations, watch.Repositories, watch.DeleteRequests} {
		snap.Sources = append(snap.Sources, watch.Source{Resource: kind, State: watch.SourceLive})
	}
	crm := snap.Schedules[0]
	crm.Spec.Template.ExcludedResources = []string{"events", "events.events.k8s.io"}
	crm.Spec.Template.SnapshotMoveData = ptr(true)
	crm.Spec.Template.StorageLocation = "default"
	crm.Spec.Template.Hooks.Resources = []veleroapi.BackupResourceHookSpec{{Name: "freeze-db"}}
	web := &veleroapi.Schedule{
		ObjectMeta: meta("hourly-web", 900*time.Hour),
		Spec:       veleroapi.ScheduleSpec{Schedule: "CRON_TZ=Europe/Berlin 2 * * * *"},
		Status: veleroapi.ScheduleStatus{
			Phase:      veleroapi.SchedulePhaseEnabled,
			LastBackup: ptr(ago(58 * time.Minute)),
		},
	}
	bad := &veleroapi.Schedule{
		ObjectMeta: meta("weekly-all", 900*time.Hour),
		Spec:       veleroapi.ScheduleSpec{Schedule: "0 3 * * FUN"},
		Status: veleroapi.ScheduleStatus{
			Phase: veleroapi.SchedulePhaseFailedValidation,
			ValidationErrors: []string{
				`invalid schedule: failed to parse int from FUN: strconv.Atoi: parsing "FUN": invalid syntax`,
			},
		},
	}
	paused := &veleroapi.Schedule{
		ObjectMeta: meta("before-move", 900*time.Hour),
		Spec:       veleroapi.ScheduleSpec{Schedule: "@every 6h", Paused: true},
		Status: veleroapi.ScheduleStatus{
			Phase:       veleroapi.SchedulePhaseEnabled,
			LastBackup:  ptr(ago(300 * time.Hour)),
			LastSkipped: ptr(ago(294 * time.Hour)),
		},
	}
	late := &veleroapi.Schedule{
		ObjectMeta: meta("nightly-erp", 900*time.Hour),
		Spec:       veleroapi.ScheduleSpec{Schedule: "0 2 * * *"},
		Status:     veleroapi.ScheduleStatus{Phase: veleroapi.SchedulePhaseEnabled, LastBackup: ptr(ago(34 * time.Hour))},
	}
	snap.Schedules = append(snap.Schedules, web, bad, paused, late)
	snap.StorageLocations[0].Status.LastSyncedTime = ptr(ago(40 * time.Second))
	snap.StorageLocations = append(snap.StorageLocations, &veleroapi.BackupStorageLocation{
		ObjectMeta: meta("nas", 900*time.Hour),
		Spec: veleroapi.BackupStorageLocationSpec{
			Provider: "aws",
			Config:   map[string]string{"region": "minio", "s3Url": "https://nas.example:9000"},
			StorageType: veleroapi.StorageType{
				ObjectStorage: &veleroapi.ObjectStorageLocation{Bucket: "velero-archive"},
			},
		},
		Status: veleroapi.BackupStorageLocationStatus{
			Phase:              veleroapi.BackupStorageLocationPhaseUnavailable,
			LastValidationTime: ptr(ago(30 * time.Second)),
			LastSyncedTime:     ptr(ago(29 * time.Hour)),
			Message:            "BackupStorageLocation \"nas\" is unavailable: rpc error: code = Unknown desc = operation error S3: ListObjectsV2, https response error StatusCode: 0, dial tcp 10.0.4.7:9000: connect: connection refused",
		},
	})
	repository := func(namespace string, phase veleroapi.BackupRepositoryPhase, message string, results ...veleroapi.BackupRepositoryMaintenanceResult) *veleroapi.BackupRepository {
		r := &veleroapi.BackupRepository{
			ObjectMeta: meta(namespace+"-default-kopia-x7k2p", 900*time.Hour),
			Spec: veleroapi.BackupRepositorySpec{
				VolumeNamespace:       namespace,
				BackupStorageLocation: "default",
				RepositoryType:        "kopia",
				MaintenanceFrequency:  metav1.Duration{Duration: time.Hour},
			},
			Status: veleroapi.BackupRepositoryStatus{
				Phase:               phase,
				Message:             message,
				LastMaintenanceTime: ptr(ago(31 * time.Minute)),
			},
		}
		for i, result := range results {
			began := time.Duration(len(results)-i) * time.Hour
			m := veleroapi.BackupRepositoryMaintenanceStatus{
				Result:            result,
				StartTimestamp:    ptr(ago(began)),
				CompleteTimestamp: ptr(ago(began - 42*time.Second)),
			}
			if result == veleroapi.BackupRepositoryMaintenanceFailed {
				m.Message = "error running repository maintenance: pod OOMKilled"
			}
			r.Status.RecentMaintenance = append(r.Status.RecentMaintenance, m)
		}
		return r
	}
	const good, failed = veleroapi.BackupRepositoryMaintenanceSucceeded, veleroapi.BackupRepositoryMaintenanceFailed
	snap.Repositories = []*veleroapi.BackupRepository{
		repository("shop", veleroapi.BackupRepositoryPhaseReady, "", good, good, good),
		repository("crm", veleroapi.BackupRepositoryPhaseReady, "", good, failed, failed),
		repository(
			"erp",
			veleroapi.BackupRepositoryPhaseNotReady,
			"error to connect to backup repo: invalid repository password",
		),
	}
	request := func(name, backup string, age time.Duration, phase veleroapi.DeleteBackupRequestPhase, errors ...string) *veleroapi.DeleteBackupRequest {
		d := &veleroapi.DeleteBackupRequest{
			ObjectMeta: meta(name, age),
			Spec:       veleroapi.DeleteBackupRequestSpec{BackupName: backup},
			Status:     veleroapi.DeleteBackupRequestStatus{Phase: phase, Errors: errors},
		}
		d.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "velero-server", Time: ptr(ago(age))}}
		return d
	}
	snap.DeleteRequests = []*veleroapi.DeleteBackupRequest{
		request(
			"nightly-crm-5-hx2lq",
			"nightly-crm-5",
			26*time.Hour,
			veleroapi.DeleteBackupRequestPhaseProcessed,
			"error deleting pod volume snapshots: error to connect to backup repo: invalid repository password",
			"error deleting snapshot snap-0a1: UnauthorizedOperation",
		),
		request("crm-2024-k8z4d", "crm-2024", 3*time.Hour, veleroapi.DeleteBackupRequestPhaseInProgress),
		request("hourly-web-1-9sdfk", "hourly-web-1", 20*time.Minute, veleroapi.DeleteBackupRequestPhaseNew),
	}
	return snap
}

func TestGoldenOtherTabs(t *testing.T) {
	for _, s := range []struct {
		name string
		keys []string
	}{
		{"other-schedules", []string{"4"}},
		{"other-schedule", []string{"4", "down", "down", "enter"}},
		{"other-schedule-late", []string{"4", "down", "down", "down", "enter"}},
		{"other-schedule-not-valid", []string{"4", "end", "enter"}},
		{"other-storage", []string{"5"}},
		{"other-location", []string{"5", "enter"}},
		{"other-location-unavailable", []string{"5", "down", "enter"}},
		{"other-repository", []string{"5", "down", "down", "enter"}},
		{"other-deletions", []string{"7", "end"}},
		{"other-deletion", []string{"7", "end", "enter"}},
		{"other-deletion-hangs", []string{"7", "down", "enter"}},
		{"other-search", []string{"4", "down", "down", "enter", "/", "c", "r", "m", "enter", "n"}},
	} {
		for _, size := range [][2]int{{80, 24}, {120, 40}, {200, 60}} {
			name := fmt.Sprintf("%s-%dx%d", s.name, size[0], size[1])
			t.Run(name, func(t *testing.T) {
				m := screen(t, installation(), size[0], size[1])
				for _, key := range s.keys {
					checkFrame(t, m)
					press(t, m, key)
				}
				golden(t, name, plain(checkFrame(t, m)))
			})
		}
	}
	t.Run("ascii", func(t *testing.T) {
		m := screen(t, installation(), 80, 24, func(o *Options) { o.ASCII, o.NoColor = true, true })
		press(t, m, "4", "down", "down", "enter")
		checkFrame(t, m)
		press(t, m, "pgdown")
		frame := checkFrame(t, m)
		if i := strings.IndexFunc(ansi.Strip(frame), func(r rune) bool { return r > 126 }); i >= 0 {
			t.Errorf("an ASCII frame holds %q", frame[i:i+4])
		}
		golden(t, "other-schedule-ascii-80x24", plain(frame))
	})
}

// However small the terminal, every tab and every page fits into it.
func TestOtherTabsFit(t *testing.T) {
	for _, size := range [][2]int{{16, 3}, {24, 8}, {40, 12}, {60, 20}, {80, 24}, {300, 100}} {
		for _, tab := range []string{"4", "5", "7"} {
			for down := range 6 {
				m := screen(t, installation(), size[0], size[1])
				press(t, m, tab)
				for range down {
					press(t, m, "down")
				}
				checkFrame(t, m)
				press(t, m, "enter")
				checkFrame(t, m)
				press(t, m, "end", "w")
				checkFrame(t, m)
				press(t, m, "esc")
				if onTop(m) != "dashboard" {
					t.Fatalf("tab %s, row %d: esc leads to %s", tab, down, onTop(m))
				}
			}
		}
	}
}

// A page follows its thing, says when that is gone, and knows it again when it is
// back. From a run of a schedule enter leads to the backup and esc back.
func TestOtherPageFollows(t *testing.T) {
	m := screen(t, installation(), 120, 60)
	press(t, m, "4", "down", "enter")
	frame := ansi.Strip(checkFrame(t, m))
	if onTop(m) != "other" || !strings.Contains(frame, "schedule hourly-web") || !strings.Contains(frame, "Enabled") {
		t.Fatalf("on top is %s:\n%s", onTop(m), frame)
	}
	changed := installation()
	changed.Schedules[1].Spec.Paused = true
	show(m, changed)
	if frame := ansi.Strip(checkFrame(t, m)); !strings.Contains(frame, "Paused: Velero") {
		t.Errorf("the page does not follow:\n%s", frame)
	}
	gone := installation()
	gone.Schedules = gone.Schedules[:1]
	show(m, gone)
	if frame := ansi.Strip(
		checkFrame(t, m),
	); !strings.Contains(frame, "deleted from the cluster") ||
		!strings.Contains(frame, "hourly-web") {
		t.Errorf("it does not say that it is gone:\n%s", frame)
	}
	show(m, installation())
	if frame := ansi.Strip(checkFrame(t, m)); strings.Contains(frame, "deleted from the cluster") {
		t.Errorf("it is back, but:\n%s", frame)
	}
	press(t, m, "down", "enter")
	if onTop(m) != "job" || !strings.Contains(ansi.Strip(checkFrame(t, m)), "hourly-web-4") {
		t.Fatalf("enter on a run leads to %s:\n%s", onTop(m), ansi.Strip(checkFrame(t, m)))
	}
	press(t, m, "esc")
	if onTop(m) != "other" {
		t.Errorf("esc leads to %s", onTop(m))
	}
	press(t, m, "esc")
	if onTop(m) != "dashboard" || m.dashboard.openTab.name != "Schedules" {
		t.Errorf("esc leads to %s, tab %s", onTop(m), m.dashboard.openTab.name)
	}
}

// A tab that comes and goes does not go under whoever looks at it, and moves no
// other.
func TestTabThatComesAndGoes(t *testing.T) {
	calm := installation()
	calm.DeleteRequests = nil
	m := screen(t, calm, 120, 40)
	if line := strings.Split(ansi.Strip(checkFrame(t, m)), "\n")[1]; strings.Contains(line, "Deletions") {
		t.Errorf("without deletions: %s", line)
	}
	show(m, installation())
	press(t, m, "7")
	if m.dashboard.openTab.name != "Deletions" {
		t.Fatalf("7 leads to %s", m.dashboard.openTab.name)
	}
	show(m, calm)
	if frame := ansi.Strip(
		checkFrame(t, m),
	); m.dashboard.openTab.name != "Deletions" ||
		!strings.Contains(frame, "There are no requests") {
		t.Errorf("on tab %s:\n%s", m.dashboard.openTab.name, frame)
	}
	press(t, m, "tab")
	if m.dashboard.openTab.name != "Active" {
		t.Errorf("tab leads to %s", m.dashboard.openTab.name)
	}
	press(t, m, "7")
	if m.dashboard.openTab.name != "Active" {
		t.Errorf("7 leads to %s", m.dashboard.openTab.name)
	}
}

// Who may not list a kind is told so where its rows would be, and sees the rest.
func TestOtherTabsWithoutRights(t *testing.T) {
	without := func(kind string, state watch.SourceState) *watch.Snapshot {
		snap := installation()
		for i := range snap.Sources {
			if snap.Sources[i].Resource == kind {
				snap.Sources[i].State = state
			}
		}
		return snap
	}
	for _, c := range []struct {
		kind, tab, want, still string
		state                  watch.SourceState
		empty                  func(*watch.Snapshot)
	}{
		{watch.Schedules, "4", "You may not list schedules.velero.io", "", watch.SourceForbidden, func(s *watch.Snapshot) { s.Schedules = nil }},
		{watch.StorageLocations, "5", "You may not list backupstoragelocations.velero.io", "crm", watch.SourceForbidden, func(s *watch.Snapshot) { s.StorageLocations = nil }},
		{watch.Repositories, "5", "You may not list backuprepositories.velero.io", "default", watch.SourceForbidden, func(s *watch.Snapshot) { s.Repositories = nil }},
		{watch.Repositories, "5", "This cluster has no backuprepositories.velero.io", "default", watch.SourceMissing, func(s *watch.Snapshot) { s.Repositories = nil }},
	} {
		snap := without(c.kind, c.state)
		c.empty(snap)
		m := screen(t, snap, 140, 40)
		press(t, m, c.tab)
		frame := ansi.Strip(checkFrame(t, m))
		if !strings.Contains(frame, c.want) || !strings.Contains(frame, c.still) {
			t.Errorf("%s %s:\n%s", c.kind, c.state, frame)
		}
	}
}

// Who may not list backups is not told that there are none.
func TestOtherTabsWithoutBackups(t *testing.T) {
	for _, c := range []struct {
		keys  []string
		wants []string
		never []string
	}{
		{[]string{"4"}, []string{"not seen"}, []string{"none"}},
		{[]string{"4", "down", "enter"}, []string{"You may not list backups.velero.io"}, []string{"There is no backup"}},
		{[]string{"5"}, []string{"default is Available."}, []string{"it holds"}},
		{[]string{"5", "enter"}, []string{"You may not list backups.velero.io"}, nil},
		{[]string{"7"}, []string{"not seen"}, []string{"gone"}},
		{[]string{"7", "end", "enter"}, []string{"You may not list backups.velero.io", "It ended with 2 errors"}, []string{"gone", "not deleted"}},
	} {
		snap := installation()
		snap.Jobs, snap.Active = nil, nil
		for i := range snap.Sources {
			if snap.Sources[i].Resource == watch.Backups {
				snap.Sources[i].State = watch.SourceForbidden
			}
		}
		m := screen(t, snap, 140, 60)
		press(t, m, c.keys...)
		frame := ansi.Strip(checkFrame(t, m))
		for _, want := range c.wants {
			if !strings.Contains(frame, want) {
				t.Errorf("%v: %q is not in:\n%s", c.keys, want, frame)
			}
		}
		for _, never := range c.never {
			if strings.Contains(frame, never) {
				t.Errorf("%v: %q is in:\n%s", c.keys, never, frame)
			}
		}
	}
}

// What --ended-within leaves out is counted with the rest, and said where it is not shown.
func TestOtherTabsWithOldBackupsLeftOut(t *testing.T) {
	for _, c := range []struct {
		keys  []string
		wants []string
		never []string
	}{
		{[]string{"4"}, []string{"not shown", "42"}, nil},
		{[]string{"4", "down", "down", "enter"}, []string{"42 backups ended too long ago to be shown (--ended-within)."}, []string{"There is no backup"}},
		{[]string{"5"}, []string{"it holds 47 backups"}, nil},
		{[]string{"5", "enter"}, []string{"47 backups ended too long ago to be shown (--ended-within)."}, []string{"oldest"}},
		{[]string{"7", "enter"}, []string{"0; 9 restores of this or other backups ended too long ago to be shown (--ended-within)"}, nil},
		{[]string{":", "b", "a", "c", "k", "u", "p", " ", "x", "enter"}, []string{"there is no backup x, or it ended too long ago to be shown (--ended-within)"}, nil},
	} {
		snap := installation()
		snap.Jobs, snap.Active = nil, nil
		snap.AgedOutRestores = 9
		snap.AgedOutBackups, snap.AgedOutBySchedule, snap.AgedOutByLocation = 47, map[string]int{
			"nightly-crm": 42,
		}, map[string]int{
			"default": 47,
		}
		m := screen(t, snap, 200, 60)
		press(t, m, c.keys...)
		frame := ansi.Strip(checkFrame(t, m))
		for _, want := range c.wants {
			if !strings.Contains(frame, want) {
				t.Errorf("%v: %q is not in:\n%s", c.keys, want, frame)
			}
		}
		for _, never := range c.never {
			if strings.Contains(frame, never) {
				t.Errorf("%v: %q is in:\n%s", c.keys, never, frame)
			}
		}
	}
}

// A login that expired is said with what helps, whatever tab is open.
func TestExpiredLogin(t *testing.T) {
	for asks, want := range map[bool]string{true: "login expired, quit and start veltui again", false: "credentials expired, press r"} {
		snap := installation()
		snap.Health = watch.Health{
			State:      watch.Unauthorized,
			Err:        "getting credentials: the plugin says why",
			NeedsLogin: asks,
		}
		for _, size := range [][2]int{{80, 24}, {120, 40}} {
			if frame := ansi.Strip(
				checkFrame(t, screen(t, snap, size[0], size[1])),
			); !strings.Contains(frame, want) ||
				!strings.Contains(frame, snap.Health.Err) {
				t.Errorf("%v:\n%s", size, frame)
			}
		}
	}
}

// A malformed object costs its own row; its page says what is malformed.
func TestMalformedOtherRow(t *testing.T) {
	for kind, tab := range map[string]string{watch.Schedules: "4", watch.Repositories: "5", watch.DeleteRequests: "7"} {
		snap := installation()
		m := watch.MalformedObject{
			Resource: kind,
			Fields:   []decode.MalformedField{{Field: "spec.someField", Value: `"30d"`, Error: "expected a duration"}},
		}
		switch kind {
		case watch.Schedules:
			m.Name, m.UID = snap.Schedules[0].Name, snap.Schedules[0].UID
		case watch.Repositories:
			m.Name, m.UID = snap.Repositories[0].Name, snap.Repositories[0].UID
		case watch.DeleteRequests:
			m.Name, m.UID = snap.DeleteRequests[0].Name, snap.DeleteRequests[0].UID
		}
		snap.Malformed = []watch.MalformedObject{m}
		screen := screen(t, snap, 120, 40)
		press(t, screen, tab)
		if frame := ansi.Strip(checkFrame(t, screen)); strings.Count(frame, "spec.someField") != 1 {
			t.Errorf("%s:\n%s", kind, frame)
		}
		for r, ok := screen.dashboard.openTab.selectedRow(); ok && r.key != screen.currentCluster.rowKey(string(m.UID)); r, ok = screen.dashboard.openTab.selectedRow() {
			if press(t, screen, "down"); screen.dashboard.openTab.cursor == len(screen.dashboard.openTab.rows)-1 {
				break
			}
		}
		press(t, screen, "enter")
		if frame := ansi.Strip(
			checkFrame(t, screen),
		); onTop(screen) != "other" ||
			!strings.Contains(frame, `Malformed: spec.someField is "30d": expected a duration`) {
			t.Errorf("%s, the page:\n%s", kind, frame)
		}
	}
}
