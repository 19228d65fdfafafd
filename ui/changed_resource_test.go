package ui

import (
	"slices"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"

	"github.com/veltui/veltui/internal/action"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/velero/veleroapi"
	"github.com/veltui/veltui/ui/dialog"
	"github.com/veltui/veltui/watch"
)

// openCheckedForm opens the form of a restore, and waits for what stands in the way.
func (b *bench) openCheckedForm() {
	b.t.Helper()
	b.write(":preview hourly-web-0900")
	b.keys("enter")
	b.until("it was checked", func() bool {
		return strings.Contains(b.frame(), "about 40s") && !strings.Contains(b.frame(), "checking")
	})
}

// startRestore starts a restore from the form, and returns its name once the dialog says that it landed.
func startRestore(t *testing.T) (*bench, string) {
	t.Helper()
	b := changing(t)
	fake(&b.options).finalizer = &fakeFinalizer{t: t}
	b.openCheckedForm()
	b.keys("ctrl+o", "ctrl+o")
	b.reaches(dialog.StageChoosing)
	name := findScreen[*dialogScreen](b.Model).Jobs()[0].Name
	b.keys("enter")
	b.write("prod-east")
	b.keys("enter")
	b.reaches(dialog.StageResult)
	return b, name
}

func snapshotWithRestore(name string) *watch.Snapshot {
	snap := stageful()
	j := running(name, "hourly-web-0900", 10, 1402, 2)
	snap.Jobs = append(slices.Clone(snap.Jobs), j)
	snap.Active = append(slices.Clone(snap.Active), j)
	return snap
}

// After a restore has started, the form that asked for it is gone, and enter leads to the restore.
func TestNewRestoreIsOpened(t *testing.T) {
	t.Parallel()
	b, name := startRestore(t)
	if findScreen[*restoreFormScreen](b.Model) != nil {
		t.Error("the form of a restore that was made is still open")
	}
	b.shows("enter open it")
	b.keys("enter")
	b.shows("waiting until the watch brings " + name)
	show(b.Model, snapshotWithRestore(name))
	if s := b.findJobScreen(); s == nil || s.Job().Name != name {
		t.Errorf("not the page of %s:\n%s", name, b.frame())
	}
}

// What the watch brings later opens nothing once the user has gone on.
func TestNewRestoreOpensNothingLater(t *testing.T) {
	t.Parallel()
	b, name := startRestore(t)
	b.keys("enter", "down")
	show(b.Model, snapshotWithRestore(name))
	if b.findJobScreen() != nil {
		t.Error("a page opened by itself after the user had pressed another key")
	}
}

// While the dialog is open, the form behind it does not check its name against the restore that the dialog makes.
func TestFormWaitsForItsDialog(t *testing.T) {
	t.Parallel()
	b := changing(t)
	b.openCheckedForm()
	b.keys("ctrl+o", "ctrl+o")
	b.reaches(dialog.StageChoosing)
	show(b.Model, snapshotWithRestore(findScreen[*dialogScreen](b.Model).Jobs()[0].Name))
	b.Update(tea.WindowSizeMsg{Width: 120, Height: 40})
	if strings.Contains(b.frame(), "refused") {
		t.Errorf("the form calls refused what is being made:\n%s", b.frame())
	}
}

// A pause needs a look and one key, on the schedule's page too, and leads to that page.
func TestPauseNeedsOneKey(t *testing.T) {
	t.Parallel()
	for name, open := range map[string][]string{"list": {"4"}, "page": {"4", "enter"}} {
		b := changing(t)
		fake(&b.options).finalizer = &fakeFinalizer{t: t}
		b.keys(open...)
		b.keys("p")
		b.reaches(dialog.StageChoosing)
		b.shows("Press enter to apply", "enter apply")
		b.keys("enter")
		b.reaches(dialog.StageResult)
		b.keys("enter")
		if s, ok := b.topScreen().(*resourceScreen); !ok || s.TabName() != "Schedules" {
			t.Errorf("%s: not the schedule's page:\n%s", name, b.frame())
		}
	}
}

// The keys of a schedule and of a job work on their pages.
func TestChangeKeysOnPages(t *testing.T) {
	t.Parallel()
	b := changing(t)
	b.keys("4", "enter", "b")
	b.reaches(dialog.StageChoosing)
	if jobs := findScreen[*dialogScreen](b.Model).Jobs(); jobs[0].Kind != job.Backup {
		t.Errorf("b makes a %s", jobs[0].Kind)
	}
	b = changing(t)
	b.keys("3", "enter", "X")
	if d := findScreen[*dialogScreen](b.Model); d == nil || d.Jobs()[0].Name != b.findJobScreen().Job().Name {
		t.Errorf("X does not delete the job of the page:\n%s", b.frame())
	}
}

// Marks of a tab count for nothing on another one.
func TestMarksStayOnTheirTab(t *testing.T) {
	t.Parallel()
	b := changing(t, func(*veleroapi.Schedule) {})
	b.keys("3", "m")
	b.shows("1 marked")
	b.keys("2")
	if strings.Contains(b.frame(), "1 marked") {
		t.Error("a tab of restores counts a marked backup")
	}
	b.keys("X")
	if jobs := findScreen[*dialogScreen](b.Model).Jobs(); len(jobs) != 1 || jobs[0].Kind != job.Restore {
		t.Errorf("X on a restore deletes %v", jobs)
	}
	b = changing(t)
	b.keys("3", "m", "5", "X")
	if findScreen[*dialogScreen](b.Model) != nil {
		t.Error("X on a storage location deletes a marked backup")
	}
}

// A change that was left to be watched closes no form when its outcome comes: the form is about something else.
func TestOtherChangesCloseNoForm(t *testing.T) {
	t.Parallel()
	b := changing(t)
	b.write(":preview hourly-web-0900")
	b.keys("enter")
	form := findScreen[*restoreFormScreen](b.Model)
	for _, p := range []action.Plan{
		{Action: action.Pause, Kind: scheduleKind, Name: form.RestoreName()},
		{Action: action.Create, Kind: job.Backup, Name: form.RestoreName()},
		{Action: action.Create, Kind: job.Restore, Name: "another"},
	} {
		if b.closeUsedForm(p); findScreen[*restoreFormScreen](b.Model) == nil {
			t.Fatalf("%s %s/%s closes the form", p.Action, p.Kind, p.Name)
		}
	}
	b.closeUsedForm(action.Plan{Action: action.Create, Kind: job.Restore, Name: form.RestoreName()})
	if findScreen[*restoreFormScreen](b.Model) != nil {
		t.Error("the form of the restore that was created stays")
	}
}
