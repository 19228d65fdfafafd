package ui

import (
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
)

// The user's columns are shown in the user's order, but for those that one text
// may take the place of.
func TestChosenColumns(t *testing.T) {
	for _, c := range []struct {
		chosen []string
		titles string
	}{
		{nil, "NAME STAGE PROGRESS DONE RATE ETA ERR WARN AGE EXPIRES LOCATION FROM"},
		{Columns(), "NAME STAGE PROGRESS DONE RATE ETA ERR WARN AGE EXPIRES LOCATION FROM"},
		{[]string{"age", "stage"}, "NAME AGE STAGE"},
		{[]string{"location", "eta", "age", "progress", "stage"}, "NAME LOCATION PROGRESS ETA AGE STAGE"},
		{[]string{"errors"}, "NAME ERR"},
	} {
		for _, tab := range []string{"1", "2", "3"} {
			m := screen(t, stageful(), 200, 40)
			m.dashboard.choose(nil, c.chosen, nil)
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
	m.dashboard.choose([]string{"backups", "active"}, nil, nil)
	show(m, stageful())
	line := strings.Split(ansi.Strip(checkFrame(t, m)), "\n")[1]
	if !strings.Contains(line, "[1 Backups") || !strings.Contains(line, "2 Active") || strings.Contains(line, "Restores") || m.dashboard.tab != m.dashboard.backups {
		t.Errorf("tabs are %q", line)
	}
	if press(t, m, "tab"); m.dashboard.tab != m.dashboard.active {
		t.Error("tab does not go to the second tab")
	}
	if names := strings.Join(Tabs(), " "); names != "active restores backups schedules storage etcd deletions" {
		t.Errorf("the tabs are called %s", names)
	}
}
