package ui

import (
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"

	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/velero/veleroapi"
)

// The user's columns are shown in the user's order, but for those that one text
// may take the place of.
func TestChosenColumns(t *testing.T) {
	for _, c := range []struct {
		chosen []string
		titles string
	}{
		{nil, "NAME STAGE PROGRESS DONE RATE ETA ERR WARN AGE EXPIRES LOCATION FROM"},
		{ColumnNames(), "NAME STAGE PROGRESS DONE RATE ETA ERR WARN AGE EXPIRES LOCATION FROM"},
		{[]string{"age", "stage"}, "NAME AGE STAGE"},
		{[]string{"location", "eta", "age", "progress", "stage"}, "NAME LOCATION PROGRESS ETA AGE STAGE"},
		{[]string{"errors"}, "NAME ERR"},
	} {
		for _, tab := range []string{"1", "2", "3"} {
			m := screen(t, stageful(), 200, 40)
			m.dashboard.chooseTabs(nil, c.chosen)
			press(t, m, tab)
			lines := strings.Split(ansi.Strip(checkFrame(t, m)), "\n")
			if got := strings.Join(strings.Fields(lines[3]), " "); got != c.titles {
				t.Errorf("%v, tab %s: %s, want %s", c.chosen, tab, got, c.titles)
			}
		}
	}
}

func TestChosenTabs(t *testing.T) {
	m := screen(t, stageful(), 120, 24)
	m.dashboard.chooseTabs([]string{"backups", "active"}, nil)
	show(m, stageful())
	line := strings.Split(ansi.Strip(checkFrame(t, m)), "\n")[1]
	if !strings.Contains(line, "[1 Backups") || !strings.Contains(line, "2 Active") ||
		strings.Contains(line, "Restores") ||
		m.dashboard.openTab != m.dashboard.backupsTab {
		t.Errorf("tabs are %q", line)
	}
	if press(t, m, "tab"); m.dashboard.openTab != m.dashboard.activeTab {
		t.Error("tab does not go to the second tab")
	}
	if names := strings.Join(
		TabNames(),
		" ",
	); names != "active restores backups schedules storage coverage etcd deletions" {
		t.Errorf("the tabs are called %s", names)
	}
}

// At every width the row of a job that is being deleted says so.
func TestRowOfAJobThatIsDeleted(t *testing.T) {
	for _, phase := range []veleroapi.RestorePhase{"", veleroapi.RestorePhaseInProgress, veleroapi.RestorePhaseFinalizingPartiallyFailed, veleroapi.RestorePhaseCompleted} {
		r := restoreJob("shop", "b", time.Hour, veleroapi.RestoreStatus{Phase: phase}, time.Minute).Object.(*veleroapi.Restore).DeepCopy()
		r.DeletionTimestamp = ptr(ago(2 * time.Minute))
		for _, width := range []int{40, 80, 120, 200} {
			m := screen(t, snapshotOf(job.Fold(nil, job.Observation{Restore: r, ObservedAt: noon})), width, 20)
			if view := ansi.Strip(checkFrame(t, m)); !strings.Contains(view, "deleting") {
				t.Errorf("%q at %d:\n%s", phase, width, view)
			}
		}
	}
}

// The name, which is always shown, may be among the chosen columns.
func TestColumnsTakeTheName(t *testing.T) {
	m := screen(t, stageful(), 120, 40)
	if err := m.chooseColumns("name,stage,age"); err != nil {
		t.Fatal(err)
	}
	m.isFrameStale = true
	if titles := strings.Fields(frameLine(t, m, 3)); strings.Join(titles, " ") != "NAME STAGE AGE" {
		t.Errorf("%v", titles)
	}
}
