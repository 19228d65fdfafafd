//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/veltui/veltui/e2e/lab"
	rules "github.com/veltui/veltui/internal/velero"
	"github.com/veltui/veltui/internal/velero/veleroapi"
)

// TestSchedulesStorageAndDeletions compares the tabs of what is no job, and the
// pages behind their rows, with what Velero does: its schedule controller makes a
// backup a minute, refuses a wrong expression, and its deletion controller
// answers requests with errors.
func TestSchedulesStorageAndDeletions(t *testing.T) {
	must(t, theLab.EnsureVelero(patient(t)))
	meta := func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: lab.Namespace, Name: name} }
	// It ran two minutes ago, so that its first run is due at once.
	ago := metav1.NewTime(time.Now().Add(-2 * time.Minute).Truncate(time.Second))
	made := &veleroapi.Schedule{
		ObjectMeta: meta("each-minute"),
		Spec: veleroapi.ScheduleSpec{
			Schedule: "* * * * *",
			Template: veleroapi.BackupSpec{IncludedNamespaces: []string{"ops"}},
		},
		Status: veleroapi.ScheduleStatus{LastBackup: &ago},
	}
	wrong := &veleroapi.Schedule{ObjectMeta: meta("wrong"), Spec: veleroapi.ScheduleSpec{Schedule: "0 3 * * SO"}}
	paused := &veleroapi.Schedule{
		ObjectMeta: meta("paused-one"),
		Spec:       veleroapi.ScheduleSpec{Schedule: "* * * * *", Paused: true},
	}
	orphan := &veleroapi.DeleteBackupRequest{
		ObjectMeta: meta("of-nobody"),
		Spec:       veleroapi.DeleteBackupRequestSpec{BackupName: "nobody"},
	}
	for _, object := range []client.Object{made, wrong, paused, orphan} {
		must(t, theLab.Client.Create(patient(t), object))
		t.Cleanup(func() { must(t, client.IgnoreNotFound(theLab.Client.Delete(context.Background(), object))) })
	}
	c := openConsole(t)
	back := func(tab string) { // from a page to its tab, whose name is short where room is scarce
		c.types(t, "\x1b")
		c.sees(t, "["+tab)
	}
	c.types(t, "7")
	c.seesRow(t, "nobody", "failed", "gone")
	c.types(t, "\r")
	c.sees(t, "deletion of backup nobody", "It ended with 1 error", "backup not found")
	back("7 Del")

	c.types(t, "4")
	c.seesRow(t, "wrong", "invalid")
	c.seesRow(t, "paused-one", "paused", "none")
	c.types(t, "/wrong\r\r")
	c.sees(t, "schedule wrong", "Velero rejected this schedule", "SO", "FailedValidation")
	back("4 Sched")
	c.types(t, "\x1b") // the filter
	c.seesRow(t, "paused-one", "paused")

	// The first run says when the next one comes, and it comes then.
	first := awaitRun(t, made, ago.Time)
	table, err := rules.ParseTimetable(made.Spec.Schedule, time.UTC)
	must(t, err)
	next := table.NextRun(made)
	c.types(t, "/each-minute\r\r")
	c.sees(t, "schedule each-minute", "next run", first)
	back("4 Sched")
	second := awaitRun(t, made, made.Status.LastBackup.Time)
	if after := made.Status.LastBackup.Sub(next); after < 0 || after > rules.ScheduleCheckPeriod+time.Minute {
		t.Errorf("the next run was told for %s; Velero made %s at %s", next, second, made.Status.LastBackup)
	}
	c.types(t, "\r")
	c.sees(t, first, second)
	back("4 Sched")
	c.types(t, "\x1b")
	c.seesRow(t, "paused-one", "paused")

	must(t, theLab.Client.Delete(patient(t), made)) // so that what the location holds stays
	ended(t, "Backup", second)
	var backups veleroapi.BackupList
	must(t, theLab.Client.List(patient(t), &backups, client.InNamespace(lab.Namespace)))
	held := len(
		slices.DeleteFunc(
			backups.Items,
			func(b veleroapi.Backup) bool { return b.Spec.StorageLocation != lab.LocationName },
		),
	)
	c.types(t, "5")
	c.seesRow(t, lab.LocationName, "Available", "ReadWrite", fmt.Sprint(held))
	c.types(t, "\r")
	c.sees(t, "storage location "+lab.LocationName, "validated every", "5s", "newest", second)
	back("5 Storage")
	c.quits(t)
}

// awaitRun waits for a run of a schedule after a moment, and reads the schedule
// anew. Velero checks once a minute.
func awaitRun(t *testing.T, s *veleroapi.Schedule, after time.Time) (name string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*rules.ScheduleCheckPeriod)
	defer cancel()
	for {
		must(t, theLab.Client.Get(ctx, client.ObjectKeyFromObject(s), s))
		if last := s.Status.LastBackup; last != nil && last.After(after) {
			var backups veleroapi.BackupList
			must(
				t,
				theLab.Client.List(
					ctx,
					&backups,
					client.InNamespace(lab.Namespace),
					client.MatchingLabels{veleroapi.ScheduleNameLabel: s.Name},
				),
			)
			newest := slices.MaxFunc(
				backups.Items,
				func(a, b veleroapi.Backup) int { return strings.Compare(a.Name, b.Name) },
			)
			return newest.Name
		}
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
			t.Fatalf("schedule %s did not run: %+v", s.Name, s.Status)
		}
	}
}
