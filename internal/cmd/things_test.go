package cmd

import (
	"bufio"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/veltui/veltui/internal/velero/veleroapi"
	"github.com/veltui/veltui/internal/view/describe"
	"github.com/veltui/veltui/internal/view/document"
)

// inVelero is the metadata of an object of these tests.
func inVelero(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: "velero", Name: name, Labels: map[string]string{"about": "things"}}
}

// createThings makes a schedule whose last run lost half of its items, a repository and a deletion.
func createThings(t *testing.T, b *bed) {
	t.Helper()
	b.create(
		t,
		&veleroapi.Schedule{
			ObjectMeta: inVelero("thin"),
			Spec:       veleroapi.ScheduleSpec{Schedule: "0 2 * * *"},
			Status:     veleroapi.ScheduleStatus{Phase: veleroapi.SchedulePhaseEnabled},
		},
	)
	b.create(t, &veleroapi.Schedule{
		ObjectMeta: inVelero("wrong"),
		Spec:       veleroapi.ScheduleSpec{Schedule: "0 2 * * SO"},
		Status: veleroapi.ScheduleStatus{
			Phase:            veleroapi.SchedulePhaseFailedValidation,
			ValidationErrors: []string{hostile},
		},
	})
	for i, items := range []int{400, 900, 900, 900} {
		began := metav1.NewTime(time.Now().Add(-time.Duration(i*24+1) * time.Hour))
		backup := &veleroapi.Backup{
			ObjectMeta: inVelero("thin-" + string(rune('d'-i))),
			Spec:       veleroapi.BackupSpec{VolumeSnapshotLocations: []string{"disks"}},
			Status: veleroapi.BackupStatus{
				Phase:               veleroapi.BackupPhaseCompleted,
				StartTimestamp:      &began,
				CompletionTimestamp: &metav1.Time{Time: began.Add(time.Minute)},
				Progress:            &veleroapi.BackupProgress{TotalItems: items, ItemsBackedUp: items},
			},
		}
		backup.Labels = map[string]string{veleroapi.ScheduleNameLabel: "thin"}
		b.create(t, backup)
	}
	b.create(
		t,
		&veleroapi.VolumeSnapshotLocation{ObjectMeta: inVelero("disks"), Spec: veleroapi.VolumeSnapshotLocationSpec{
			Provider: "aws-disks",
			Config:   map[string]string{"region": "eu-1"},
			Credential: &corev1.SecretKeySelector{
				LocalObjectReference: corev1.LocalObjectReference{Name: "cloud"},
				Key:                  "disks",
			},
		}},
	)
	b.create(
		t,
		&veleroapi.BackupRepository{
			ObjectMeta: inVelero("shop-default-kopia"),
			Spec: veleroapi.BackupRepositorySpec{
				VolumeNamespace:       "shop",
				BackupStorageLocation: "default",
				RepositoryType:        "kopia",
			},
			Status: veleroapi.BackupRepositoryStatus{Phase: veleroapi.BackupRepositoryPhaseReady},
		},
	)
	b.create(
		t,
		&veleroapi.DeleteBackupRequest{
			ObjectMeta: inVelero("thin-a-x"),
			Spec:       veleroapi.DeleteBackupRequestSpec{BackupName: "thin-a"},
			Status: veleroapi.DeleteBackupRequestStatus{
				Phase:  veleroapi.DeleteBackupRequestPhaseProcessed,
				Errors: []string{"no luck"},
			},
		},
	)
}

func TestGetThings(t *testing.T) {
	b := control(t)
	createThings(t, b)
	for _, c := range []struct {
		args string
		code int
		want []string // in stdout, or in stderr if the code is not 0
	}{
		{"get schedules", 0, []string{"NAME", "LAST RUN", "VERDICT", "NOTE", "thin", "alarming", "holds less than the runs before: 400 items, usually 900.", "invalid"}},
		{"get schedules.velero.io thin -o wide", 0, []string{"LAST GOOD", "thin-d"}},
		{"get schedule/thin -o json", 0, []string{`"apiVersion": "veltui/v1"`, `"kind": "Schedule"`, `"median": 900`}},
		{"get schedule/thin schedule/wrong -o json", 0, []string{`"kind": "ScheduleList"`}},
		{"get schedules -o yaml", 0, []string{"kind: ScheduleList"}},
		{"get schedules -o name -l about=things", 0, []string{"schedule.velero.io/thin\nschedule.velero.io/wrong\n"}},
		{"get schedules -l about=nothing", 0, nil},
		{"get schedule thin -o jsonpath={.runs[*].items}", 0, []string{"400 900 900 900"}},
		{"get schedules -o jsonpath={.items[*].verdict} --sort-by cron", 0, []string{"alarming alarming"}},
		{"get schedules --sort-by .spec.schedule -o name", 0, []string{"thin"}},
		{"get schedules --no-headers --sort-by ago", 0, []string{"thin"}},
		{"get storage", 0, []string{"BUCKET", "default", "aws/b", "disks", "snapshots"}},
		{"get storage -o name", 0, []string{"backupstoragelocation.velero.io/default", "volumesnapshotlocation.velero.io/disks"}},
		{"get storage -o json", 0, []string{`"kind": "VolumeSnapshotLocation"`, `"provider": "aws-disks"`}},
		{"get vsl", 0, []string{"disks", "aws-disks"}},
		{"get vsl/disks -o json", 0, []string{`"kind": "VolumeSnapshotLocation"`, `"backups": 4`}},
		{"get vsl default", 1, []string{`volumesnapshotlocations.velero.io "default"`}},
		{"describe vsl/disks", 0, []string{"aws-disks", "eu-1", "secret cloud, key disks", "Backups that name it  4"}},
		{"describe vsl/disks -o json", 0, []string{`"storageLocation"`}},
		{"get bsl default -o json", 0, []string{`"kind": "BackupStorageLocation"`, `"provider": "aws"`}},
		{"get storage -o json", 0, []string{`"kind": "BackupStorageLocationList"`}},
		{"get backuprepositories", 0, []string{"MAINTAINED", "shop-default-kopia", "Ready", "kopia"}},
		{"get repo/shop-default-kopia -o json", 0, []string{`"kind": "BackupRepository"`}},
		{"get repositories -o json", 0, []string{`"kind": "BackupRepositoryList"`}},
		{"get deletions", 0, []string{"thin-a-x", "failed", "alarming", "no luck"}},
		{"get deletion/thin-a-x -o json", 0, []string{`"backupPhase": "Completed"`}},
		{"get deletebackuprequests.velero.io -o json", 0, []string{`"kind": "DeleteBackupRequestList"`}},
		{"get schedule nope", 1, []string{`schedules.velero.io "nope"`, "not found in namespace velero"}},
		{"get schedule/thn", 1, []string{"did you mean thin?"}},
		{"get schedules --stuck", 2, []string{"about jobs"}},
		{"get schedules --sort-by eta", 1, []string{"no schedule has such a field"}},
		{"get schedules restore/x", 2, []string{"give the kind schedules once"}},
		{"explain schedule/thin", 2, []string{"unknown kind"}},
		{"describe schedule thin", 0, []string{"schedule velero/thin\n", "holds less", "Next run", "thin-d", "Completed, 1h ago, took 1m, 400 items", "Included namespaces"}},
		{"describe schedule/thin -o json", 0, []string{`"kind": "Description"`, `"loss"`}},
		{"describe storage/default", 0, []string{"Access mode", "ReadWrite"}},
		{"describe bsl/default -o json", 0, []string{`"storageLocation"`}},
		{"describe repository/shop-default-kopia", 0, []string{"Volumes of namespace", "shop"}},
		{"describe repository/shop-default-kopia -o json", 0, []string{`"repository"`}},
		{"describe deletion thin-a-x", 0, []string{"The backup is not deleted: no luck.", "Errors"}},
		{"describe deletion thin-a-x -o json", 0, []string{`"deletion"`}},
		{"describe schedule nope", 1, []string{"not found"}},
		{"describe schedules", 2, []string{"expected one KIND/NAME"}},
	} {
		stdout, stderr, code := b.run(t, strings.Fields(c.args)...)
		text := stdout
		if c.code != 0 {
			text = stderr
		}
		if code != c.code || !holdsAll(text, c.want...) {
			t.Errorf(
				"%s: exit code %d, stdout %q, stderr %q; want %d and %q",
				c.args,
				code,
				stdout,
				stderr,
				c.code,
				c.want,
			)
		}
		checkHarmless(t, c.args, stdout)
	}
}

func TestDescribedThingIsTheOneOfGet(t *testing.T) {
	b := control(t)
	createThings(t, b)
	var got document.Schedule
	var described describe.Document
	for command, into := range map[string]any{"get": &got, "describe": &described} {
		stdout, _, _ := b.run(t, command, "schedule/thin", "-o", "json")
		if err := json.Unmarshal([]byte(stdout), into); err != nil {
			t.Fatal(err)
		}
	}
	if s := described.Schedule; s == nil || described.Job != nil || !slices.Equal(s.Notes, got.Notes) ||
		len(s.Runs) != 4 ||
		s.Loss.Measures[0] != got.Loss.Measures[0] {
		t.Errorf("%+v, %+v", described, got)
	}
}

func TestGetWatchesThings(t *testing.T) {
	b := control(t)
	s := &veleroapi.Schedule{
		ObjectMeta: inVelero("watched"),
		Spec:       veleroapi.ScheduleSpec{Schedule: "0 2 * * *"},
		Status:     veleroapi.ScheduleStatus{Phase: veleroapi.SchedulePhaseEnabled},
	}
	b.create(t, s)
	cmd := b.command(t, "get", "schedule/watched", "-w", "-o", "json")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	lines := bufio.NewScanner(out)
	next := func() (d document.Schedule) {
		if !lines.Scan() {
			t.Fatal("no further line")
		}
		if err := json.Unmarshal(lines.Bytes(), &d); err != nil {
			t.Fatal(err)
		}
		return d
	}
	if d := next(); d.State != "Enabled" || d.APIVersion != "veltui/v1" {
		t.Errorf("first %+v", d)
	}
	s.Spec.Paused = true
	if err := b.client.Update(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	if d := next(); d.State != "paused" || d.Deleted {
		t.Errorf("then %+v", d)
	}
	if err := b.client.Delete(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	if d := next(); !d.Deleted {
		t.Errorf("at last %+v", d)
	}
}

func TestCompletionOfThings(t *testing.T) {
	b := control(t)
	createThings(t, b)
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"get", "s"}, "schedules storage snapshotlocations"},
		{[]string{"get", "schedules", ""}, "thin wrong"},
		{[]string{"get", "schedules", "thin", ""}, "wrong"},
		{[]string{"get", "schedule/t"}, "schedule/thin"},
		{[]string{"get", "schedule/thin", "schedule/"}, "schedule/wrong"},
		{[]string{"describe", "sch"}, "schedule"},
		{[]string{"describe", "deletion", ""}, "thin-a-x"},
		{[]string{"describe", "deletion", "thin-a-x", ""}, ""},
		{[]string{"get", "schedules", "--sort-by", "cr"}, "cron"},
	} {
		stdout, _, _ := b.run(t, append([]string{"__completeNoDesc"}, c.args...)...)
		got, _, _ := strings.Cut(stdout, ":")
		if strings.Join(strings.Fields(got), " ") != c.want {
			t.Errorf("%q: %q, want %q", c.args, got, c.want)
		}
	}
}
