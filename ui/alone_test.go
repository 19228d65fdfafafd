package ui

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"

	"github.com/veltui/veltui/internal/assess"
	"github.com/veltui/veltui/internal/diagnosis"
	"github.com/veltui/veltui/internal/velero/veleroapi"
	"github.com/veltui/veltui/internal/view"
	"github.com/veltui/veltui/ui/draw"
	"github.com/veltui/veltui/ui/keys"
)

// TestStatesDifferWithoutColor draws one job in every state that colours tell
// apart, and holds the rows apart without them. On the narrowest screens, stuck
// and orphaned look the same with colour too.
func TestStatesDifferWithoutColor(t *testing.T) {
	theme, err := draw.LoadTheme("dark")
	if err != nil {
		t.Fatal(err)
	}
	quiet := restoreJob(
		"crm",
		"nightly",
		50*time.Minute,
		veleroapi.RestoreStatus{Phase: veleroapi.RestorePhaseInProgress, StartTimestamp: ptr(ago(50 * time.Minute)),
			Progress: &veleroapi.RestoreProgress{ItemsRestored: 140, TotalItems: 200}},
		42*time.Minute,
	)
	rows := map[string]assess.JudgedJob{}
	for _, state := range []diagnosis.State{diagnosis.Progressing, diagnosis.Waiting, diagnosis.Quiet, diagnosis.Stuck, diagnosis.Orphaned, diagnosis.Unknown} {
		rows[string(state)] = assess.JudgedJob{
			Job:   quiet,
			State: state,
			ETA:   assess.TimeLeft{Known: true, Left: time.Minute},
		}
	}
	for _, phase := range []veleroapi.BackupPhase{veleroapi.BackupPhaseCompleted, veleroapi.BackupPhasePartiallyFailed, veleroapi.BackupPhaseFailed, veleroapi.BackupPhaseFailedValidation} {
		rows[string(phase)] = assess.JudgedJob{Job: ended("crm", phase, 88, time.Minute, time.Hour, 0, 0)}
	}
	for _, glyphs := range []*draw.Glyphs{&draw.UnicodeGlyphs, &draw.ASCIIGlyphs} {
		for _, width := range []int{40, 80, 120, 200} {
			c := draw.Canvas{Width: width, Height: 24, Theme: theme, Glyphs: glyphs, Now: noon}
			widths := view.FitColumns(fitJobColumns(nil, false, columnOrder(nil)), width)
			seen := map[string][2]string{}
			for name, j := range rows {
				for _, selected := range []bool{false, true} {
					for _, marked := range []bool{false, true} {
						row := renderJobRow(c, view.JobRow{JudgedJob: j, Now: noon}, widths, columnOrder(nil), selected)
						if marked {
							row = ansi.Cut(row, 0, markOffset) + glyphs.Marked + ansi.Cut(row, markOffset+1, width)
						}
						what := fmt.Sprintf("%s, selected %t, marked %t", name, selected, marked)
						before, twice := seen[ansi.Strip(row)]
						if twice && before[1] != row {
							t.Errorf(
								"%d cells: only colour tells %s from %s: %q",
								width,
								what,
								before[0],
								ansi.Strip(row),
							)
						}
						seen[ansi.Strip(row)] = [2]string{what, row}
					}
				}
			}
		}
	}
}

var (
	sgr    = regexp.MustCompile("\x1b\\[[0-9;]*m")
	digits = regexp.MustCompile("[0-9]+")
)

// coloredRuns are the texts of a frame, each with the escape sequence before it.
// Numbers count as one and the same.
func coloredRuns(frame string) map[string]string {
	found := map[string]string{}
	for _, line := range strings.Split(frame, "\n") {
		at := sgr.FindAllStringIndex(line, -1)
		for i, m := range at {
			end := len(line)
			if i+1 < len(at) {
				end = at[i+1][0]
			}
			if text := strings.TrimSpace(
				digits.ReplaceAllString(line[m[1]:end], "0"),
			); strings.ContainsAny(
				strings.ToLower(text),
				"abcdefghijklmnopqrstuvwxyz",
			) {
				found[text+"\x00"+line[m[0]:m[1]]] = text
			}
		}
	}
	return found
}

// TestNoTextHasTwoColors reads every screen in colour: no text may stand there in
// two of the colours of states, because it would not say which without them.
func TestNoTextHasTwoColors(t *testing.T) {
	theme, err := draw.LoadTheme("dark")
	if err != nil {
		t.Fatal(err)
	}
	states := map[string]string{}
	for name, style := range map[string]string{"good": theme.Good.Render("x"), "running": theme.Running.Render("x"), "waiting": theme.Waiting.Render("x"), "bad": theme.Bad.Render("x")} {
		states[style[:strings.Index(style, "x")]] = name
	}
	colors := map[string]string{}
	for _, keys := range [][]string{nil, {"2"}, {"3"}, {"4"}, {"5"}, {"enter"}, {"down", "down", "enter"}, {"down", "enter", "5"}, {"down", "enter", "6"}, {"down", "enter", "7"}, {"?"}} {
		for _, size := range [][2]int{{80, 24}, {200, 60}} {
			m := screen(t, stageful(), size[0], size[1])
			press(t, m, keys...)
			for run, text := range coloredRuns(m.View().Content) {
				state := states[run[len(text)+1:]]
				if state == "" {
					continue
				}
				if other := colors[text]; other != "" && other != state {
					t.Errorf("%q is drawn as %s and as %s (keys %v)", text, state, other, keys)
				}
				colors[text] = state
			}
		}
	}
	if len(colors) < 10 {
		t.Fatalf("only %d texts have a state's colour: %v", len(colors), colors)
	}
}

// The footer does not name what may not be done now, and stands in one order: the screen's own, then / : ? q.
func TestFooterNamesWhatMayBeDone(t *testing.T) {
	theme, err := draw.LoadTheme("mono")
	if err != nil {
		t.Fatal(err)
	}
	c := draw.Canvas{Width: 80, Height: 24, Theme: theme, Glyphs: &draw.UnicodeGlyphs}
	for why, want := range map[string]string{"": " f finalize", "you may not": " "} {
		b := keys.Binding{Label: "f", Description: "finalize", InFooter: true, Writes: true, Unavailable: func() string { return why }}
		if got := ansi.Strip(keys.RenderFooter(c, []keys.Binding{b})); got != want {
			t.Errorf("%q: %q, want %q", why, got, want)
		}
	}
	var all []keys.Binding
	for _, name := range []string{"quit", "help", "command", "search", "back", "logs", "save"} {
		all = append(all, keys.Binding{Name: name, Label: name[:1], Description: name, FooterText: name, InFooter: true})
	}
	if got, want := ansi.Strip(
		keys.RenderFooter(c, all),
	), " s save  l logs  b back  s search  c command  h help  q quit"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// The present tab and page are told from the others by more than their colour,
// with names and where there is room for numbers only.
func TestTabsTellWhichIsOpen(t *testing.T) {
	for _, width := range []int{40, 80, 200} {
		for key := range 5 {
			m := screen(t, stageful(), width, 24)
			press(t, m, fmt.Sprint(key+1))
			line := strings.Split(ansi.Strip(m.View().Content), "\n")[1]
			if strings.Count(line, "[") != 1 || !strings.Contains(line, fmt.Sprintf("[%d ", key+1)) {
				t.Errorf("%d cells, tab %d: %q", width, key+1, line)
			}
		}
	}
}
