package ui

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"
)

// click clicks on a text of the frame.
func click(t *testing.T, m *Model, text string) {
	t.Helper()
	for y, line := range strings.Split(ansi.Strip(checkFrame(t, m)), "\n") {
		if before, _, found := strings.Cut(line, text); found {
			m.Update(tea.MouseClickMsg{X: lipgloss.Width(before), Y: y, Button: tea.MouseLeft})
			return
		}
	}
	t.Fatalf("no %q in:\n%s", text, ansi.Strip(m.View().Content))
}

func wheel(m *Model, button tea.MouseButton, times int) {
	for range times {
		m.Update(tea.MouseWheelMsg{X: 5, Y: 5, Button: button})
	}
}

func TestClicks(t *testing.T) {
	for _, size := range [][2]int{{80, 24}, {120, 40}, {200, 60}} {
		m := screen(t, stageful(), size[0], size[1])
		click(t, m, "db-restore")
		if got := selectedName(t, m); got != "db-restore" || onTop(m) != "dashboard" {
			t.Fatalf("at %v a click selects %s on %s", size, got, onTop(m))
		}
		click(t, m, "db-restore")
		if onTop(m) != "job" || m.findJobScreen().Job().Name != "db-restore" {
			t.Fatalf("at %v the second click leads to %s", size, onTop(m))
		}
		for _, page := range []string{"Time", "YAML", "Results", "Overview", "Vol"} {
			label := regexp.MustCompile(`\d ` + page).FindString(tabLine(t, m))
			click(t, m, label)
			if line := tabLine(t, m); !strings.Contains(line, "["+label) {
				t.Errorf("at %v a click on %s leads to %q", size, page, line)
			}
		}
		press(t, m, "esc")
		for _, tab := range []string{"5 Storage", "2 Restores", "3 Backups", "4 Sched"} {
			click(t, m, tab)
			if _, name, _ := strings.Cut(tab, " "); !strings.HasPrefix(m.dashboard.openTab.name, name) {
				t.Errorf("at %v a click on %s leads to %s", size, tab, m.dashboard.openTab.name)
			}
		}
		click(t, m, "nightly-crm")
		if onTop(m) != "other" {
			t.Errorf("at %v a click on the selected schedule leads to %s", size, onTop(m))
		}
	}
}

func tabLine(t *testing.T, m *Model) string {
	t.Helper()
	for _, line := range strings.Split(ansi.Strip(checkFrame(t, m)), "\n") {
		if strings.Contains(line, " YAML") {
			return line
		}
	}
	return ""
}

// On a small terminal the rows are elsewhere.
func TestClicksOnSmallTerminals(t *testing.T) {
	for _, size := range [][2]int{{40, 12}, {30, 8}, {20, 5}} {
		m := screen(t, stageful(), size[0], size[1])
		frame := strings.Split(ansi.Strip(checkFrame(t, m)), "\n")
		for y, line := range frame {
			m := screen(t, stageful(), size[0], size[1])
			m.View()
			m.Update(tea.MouseClickMsg{X: 6, Y: y, Button: tea.MouseLeft})
			if name := selectedName(t, m); strings.Contains(line, "-restore") && !strings.Contains(line, name[:4]) {
				t.Errorf("at %v a click on %q selects %s", size, line, name)
			}
		}
	}
}

func TestWheel(t *testing.T) {
	m := screen(t, manyJobs(100), 80, 24)
	press(t, m, "3")
	m.View()
	wheel(m, tea.MouseWheelDown, 4)
	if top := m.dashboard.openTab.firstVisible; top != 12 {
		t.Errorf("the list begins at row %d", top)
	}
	checkFrame(t, m)
	wheel(m, tea.MouseWheelUp, 100)
	if top := m.dashboard.openTab.firstVisible; top != 0 {
		t.Errorf("the list begins at row %d", top)
	}
	for name, keys := range map[string][]string{"job": {"1", "enter", "YAML"}, "help": {"?"}} {
		m := screen(t, stageful(), 80, 12)
		press(t, m, keys...)
		top := plain(checkFrame(t, m))
		wheel(m, tea.MouseWheelDown, 2)
		if plain(checkFrame(t, m)) == top {
			t.Errorf("%s does not scroll", name)
		}
		wheel(m, tea.MouseWheelUp, 2)
		if plain(checkFrame(t, m)) != top {
			t.Errorf("%s does not scroll back:\n%s\n%s", name, top, plain(checkFrame(t, m)))
		}
	}
}

// No click and no notch of the wheel changes what a dialog is about to do.
func TestTheMouseNeverConfirms(t *testing.T) {
	for _, frame := range dialogFrames {
		b := newBench(t, 80, 24)
		frame.show(t, b)
		before, stage := b.frame(), findScreen[*dialogScreen](b.Model).Stage()
		for y := range 24 {
			for x := 0; x < 80; x += 3 {
				b.Update(tea.MouseClickMsg{X: x, Y: y, Button: tea.MouseLeft})
			}
		}
		if after := b.frame(); findScreen[*dialogScreen](b.Model) == nil || findScreen[*dialogScreen](b.Model).Stage() != stage ||
			after != before {
			t.Errorf("%s: clicks changed the dialog:\n%s", frame.name, after)
		}
		wheel(b.Model, tea.MouseWheelDown, 3)
		if findScreen[*dialogScreen](b.Model).Stage() != stage {
			t.Errorf("%s: the wheel changed the dialog", frame.name)
		}
	}
}

// The mouse is the terminal's unless somebody asks for it.
func TestTheMouseIsOff(t *testing.T) {
	m := screen(t, stageful(), 80, 24)
	if mode := m.View().MouseMode; mode != tea.MouseModeNone {
		t.Errorf("mode %v", mode)
	}
	for text, want := range map[string]tea.MouseMode{"on": tea.MouseModeCellMotion, "off": tea.MouseModeNone} {
		typeCommand(t, m, "mouse "+text)
		if got := m.View().MouseMode; got != want {
			t.Errorf(":mouse %s: mode %v", text, got)
		}
	}
	typeCommand(t, m, "mouse maybe")
	if !strings.Contains(m.notice, ":mouse on or :mouse off") {
		t.Errorf("%q", m.notice)
	}
	before := m.View()
	m.Update(tea.MouseMotionMsg{X: 3, Y: 3})
	m.Update(tea.MouseReleaseMsg{X: 3, Y: 3})
	if m.isFrameStale || fmt.Sprint(m.View().Content) != fmt.Sprint(before.Content) {
		t.Error("a movement of the mouse draws a frame")
	}
}
