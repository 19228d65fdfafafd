package ui

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode"

	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/veltui/veltui/internal/action"
	"github.com/veltui/veltui/watch"
)

var update = flag.Bool("update", false, "write the golden frames anew")

// screen is a model of a given size that has taken a snapshot.
func screen(t testing.TB, snap *watch.Snapshot, width, height int, change ...func(*Options)) *Model {
	t.Helper()
	o := Options{
		Clusters: []Cluster{{
			Backend: newFake(),
			Context: "prod-east", Request: action.Request{Context: "prod-east"},
		}},
		Clock: func() time.Time { return noon }, TickInterval: time.Second,
		Terminal: Terminal{Title: true, Progress: true},
	}
	for _, c := range change {
		c(&o)
	}
	m, err := newModel(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	m.Update(tea.WindowSizeMsg{Width: width, Height: height})
	if snap != nil {
		show(m, snap)
	}
	return m
}

// press sends keys by the names that Bubble Tea gives them; a page's name opens it from
// another one by its number.
func press(t testing.TB, m *Model, keys ...string) tea.Cmd {
	t.Helper()
	var cmd tea.Cmd
	for _, k := range keys {
		if page := regexp.MustCompile(
			`[\[ ](\d) ` + regexp.QuoteMeta(k) + `\b`,
		); len(k) > 3 &&
			unicode.IsUpper(rune(k[0])) {
			found := page.FindStringSubmatch(ansi.Strip(m.View().Content))
			if found == nil {
				t.Fatalf("no page %s in\n%s", k, ansi.Strip(m.View().Content))
			}
			k = found[1]
		}
		_, cmd = m.Update(keyPress(t, k))
	}
	return cmd
}

func keyPress(t testing.TB, name string) tea.KeyPressMsg {
	t.Helper()
	codes := map[string]rune{
		"enter":     tea.KeyEnter,
		"esc":       tea.KeyEscape,
		"tab":       tea.KeyTab,
		"up":        tea.KeyUp,
		"down":      tea.KeyDown,
		"pgup":      tea.KeyPgUp,
		"pgdown":    tea.KeyPgDown,
		"home":      tea.KeyHome,
		"end":       tea.KeyEnd,
		"backspace": tea.KeyBackspace,
		"f1":        tea.KeyF1,
	}
	if code, ok := codes[name]; ok {
		return tea.KeyPressMsg{Code: code}
	}
	if letter, ok := strings.CutPrefix(name, "ctrl+"); ok {
		return tea.KeyPressMsg{Code: rune(letter[0]), Mod: tea.ModCtrl}
	}
	if key, ok := strings.CutPrefix(name, "alt+"); ok {
		return tea.KeyPressMsg{Code: keyPress(t, key).Code, Mod: tea.ModAlt}
	}
	if len([]rune(name)) != 1 {
		t.Fatalf("no such key in this test: %q", name)
	}
	return tea.KeyPressMsg{Code: []rune(name)[0], Text: name}
}

// checkFrame holds for every frame: it fills the terminal and no more, and leaves the last cell, in which a
// character could scroll the screen.
func checkFrame(t testing.TB, m *Model) string {
	t.Helper()
	content := m.View().Content
	lines := strings.Split(content, "\n")
	if len(lines) > m.height {
		t.Errorf("%d lines on a terminal of %d", len(lines), m.height)
	}
	for i, line := range lines {
		if corner := strings.TrimRight(
			ansi.Strip(line),
			" ",
		); i == m.height-1 && m.width >= compactMinWidth &&
			lipgloss.Width(corner) == m.width {
			t.Errorf("the last cell of %dx%d is used: %q", m.width, m.height, corner)
		}
		if w := lipgloss.Width(line); w > m.width {
			t.Errorf("line %d is %d cells wide on a terminal of %d: %q", i+1, w, m.width, ansi.Strip(line))
		}
	}
	return content
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name+".golden")
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v (write it with: go test ./ui -update)", err)
	}
	if string(want) != got {
		t.Errorf("frame %s differs from its golden file.\ngot:\n%s\nwant:\n%s", name, got, want)
	}
}

func plain(content string) string {
	lines := strings.Split(ansi.Strip(content), "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return strings.Join(lines, "\n") + "\n"
}

func TestGoldenFrames(t *testing.T) {
	screens := []struct {
		name string
		keys []string
	}{
		{"active", nil},
		{"active-stuck", []string{"down"}},
		{"restores", []string{"2"}},
		{"backups", []string{"3"}},
		{"schedules", []string{"4"}},
		{"storage", []string{"5"}},
		{"filtered", []string{"/", "c", "r", "m", "enter"}},
		{"help", []string{"?"}},
		{"job", []string{"enter"}},
		{"job-stuck", []string{"down", "down", "enter"}},
		{"job-volumes", []string{"down", "enter", "5"}},
		{"job-timeline", []string{"down", "enter", "7"}},
		{"job-yaml", []string{"enter", "0"}},
	}
	sizes := [][2]int{{80, 24}, {120, 40}, {200, 60}, {40, 12}}
	for _, s := range screens {
		for _, size := range sizes {
			name := fmt.Sprintf("%s-%dx%d", s.name, size[0], size[1])
			t.Run(name, func(t *testing.T) {
				m := screen(t, stageful(), size[0], size[1])
				press(t, m, s.keys...)
				golden(t, name, plain(checkFrame(t, m)))
			})
		}
	}
	t.Run("colour", func(t *testing.T) {
		golden(t, "active-colour-80x24", checkFrame(t, screen(t, stageful(), 80, 24))+"\n")
	})
	t.Run("ascii", func(t *testing.T) {
		m := screen(t, stageful(), 80, 24, func(o *Options) { o.ASCII, o.NoColor = true, true })
		frame := checkFrame(t, m)
		if i := strings.IndexFunc(ansi.Strip(frame), func(r rune) bool { return r > 126 }); i >= 0 {
			t.Errorf("an ASCII frame holds %q", frame[i:i+4])
		}
		golden(t, "active-ascii-80x24", plain(frame))
	})
}
