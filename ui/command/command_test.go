package command

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/veltui/veltui/ui/draw"
)

// record is a Line over some commands, with what was done.
func record(t *testing.T) (*InputLine, *[]string) {
	t.Helper()
	var done []string
	do := func(name string) func(string) (tea.Cmd, error) {
		return func(argument string) (tea.Cmd, error) {
			if argument == "wrong" {
				return nil, errors.New("there is no such thing")
			}
			done = append(done, strings.TrimSpace(name+" "+argument))
			return nil, nil
		}
	}
	many := make([]string, 10_000)
	for i := range many {
		many[i] = fmt.Sprintf("daily-%04d", i)
	}
	return New([]Command{
		{Name: "backups", Aliases: []string{"bak"}, Description: "show the backups", Do: do("backups")},
		{Name: "backup", Argument: "[NAME]", Description: "open a backup", ArgumentValues: slices.Values(many), Do: do("backup")},
		{
			Name:           "ctx",
			Argument:       "NAME[,NAME]",
			Description:    "switch the context",
			IsList:         true,
			ArgumentValues: slices.Values([]string{"prod-east", "prod-west", "Stage"}),
			Do:             do("ctx"),
		},
		{Name: "schedules", Aliases: []string{"sched"}, Description: "show the schedules", Do: do("schedules")},
	}), &done
}

func press(l *InputLine, keys ...string) (err error) {
	codes := map[string]tea.KeyPressMsg{
		"enter": {Code: tea.KeyEnter},
		"esc":   {Code: tea.KeyEscape},
		"tab":   {Code: tea.KeyTab},
		"up":    {Code: tea.KeyUp},
		"down": {
			Code: tea.KeyDown,
		},
		"right":     {Code: tea.KeyRight},
		"left":      {Code: tea.KeyLeft},
		"backspace": {Code: tea.KeyBackspace},
		"ctrl+n":    {Code: 'n', Mod: tea.ModCtrl},
	}
	for _, k := range keys {
		if msg, ok := codes[k]; ok {
			_, err = l.Update(msg)
			continue
		}
		for _, r := range k {
			_, err = l.Update(tea.KeyPressMsg{Code: r, Text: string(r)})
		}
	}
	return err
}

func TestCommandsAreFound(t *testing.T) {
	for line, want := range map[string]string{
		"backups": "backups", "bak": "backups", " BAK ": "backups", ":backups": "backups", "backup daily-0001": "backup daily-0001", "backup": "backup",
		"sch": "schedules", "ctx a,b": "ctx a,b", "": "", "   ": "",
		"back":       "! unknown command :back; did you mean :backups or :backup?",
		"bakcups":    "! unknown command :bakcups; did you mean :backups?",
		"shcedules":  "! unknown command :shcedules; did you mean :schedules?",
		"xyzzy":      "! unknown command :xyzzy; :help lists all commands",
		"ctx":        "! type :ctx NAME[,NAME]: switch the context",
		"backups x":  "! :backups takes no argument",
		"ctx wrong":  "! there is no such thing",
		"delete all": "! unknown command :delete; :help lists all commands",
	} {
		l, done := record(t)
		l.OpenEmpty()
		err := press(l, line, "enter")
		got := strings.Join(*done, " ")
		if err != nil {
			got = "! " + err.Error()
		}
		if got != want || l.IsTyping() {
			t.Errorf("%q: %q, want %q; open %v", line, got, want, l.IsTyping())
		}
	}
}

func TestCompletion(t *testing.T) {
	for _, c := range []struct {
		keys []string
		want string
	}{
		{[]string{"sc", "tab"}, "schedules"},
		{[]string{"sc", "right"}, "schedules"},
		{[]string{"SC", "tab"}, "schedules"},
		{[]string{"b", "tab"}, "backups"},
		{[]string{"b", "tab", "tab"}, "backups"},
		{[]string{"b", "ctrl+n", "tab"}, "backup "},
		{[]string{"backup d", "tab"}, "backup daily-0000"},
		{[]string{"backup daily-99", "tab"}, "backup daily-9900"},
		{[]string{"ctx p", "tab"}, "ctx prod-east"},
		{[]string{"ctx s", "tab"}, "ctx Stage"},
		{[]string{"ctx prod-east,p", "tab"}, "ctx prod-east,prod-west"},
		{[]string{"sc", "left", "right", "right"}, "schedules"},
		{[]string{"sc", "left", "right"}, "sc"},
		{[]string{"xyzzy", "tab"}, "xyzzy"},
		{[]string{"tab"}, ""},
	} {
		l, _ := record(t)
		l.OpenEmpty()
		press(l, c.keys...)
		if got := l.input.Value(); got != c.want {
			t.Errorf("%v: %q, want %q", c.keys, got, c.want)
		}
	}
}

// What there is to complete to is bounded, however many names there are.
func TestCompletionsAreBounded(t *testing.T) {
	l, _ := record(t)
	if got := len(findCompletions(l.commands, "backup d")); got != maxCompletions {
		t.Errorf("%d completions", got)
	}
}

func TestHistory(t *testing.T) {
	l, done := record(t)
	for _, line := range []string{"backups", "sched", "xyzzy"} {
		l.OpenEmpty()
		press(l, line, "enter")
	}
	l.OpenEmpty()
	press(l, "ct", "up")
	if got := l.input.Value(); got != "xyzzy" { // to put right what was mistyped
		t.Errorf("up: %q", got)
	}
	press(l, "up", "up", "up", "up")
	if got := l.input.Value(); got != "backups" {
		t.Errorf("to the first: %q", got)
	}
	press(l, "down", "enter")
	if got := strings.Join(*done, " "); got != "backups schedules schedules" {
		t.Errorf("done: %s", got)
	}
	l.OpenEmpty()
	press(l, "ct", "up", "down")
	if got := l.input.Value(); got != "ct" {
		t.Errorf("the line that was begun became %q", got)
	}
}

func TestLeaving(t *testing.T) {
	for _, keys := range [][]string{{"esc"}, {"backups", "esc"}, {"backspace"}, {"b", "backspace", "backspace"}, {"enter"}} {
		l, done := record(t)
		l.OpenEmpty()
		if err := press(l, keys...); err != nil || l.IsTyping() || len(*done) > 0 {
			t.Errorf("%v: open %v, done %v, %v", keys, l.IsTyping(), *done, err)
		}
	}
	l, done := record(t)
	l.OpenEmpty()
	l.Update(tea.PasteMsg{Content: "backups\nschedules\r"})
	if !l.IsTyping() || len(*done) > 0 {
		t.Error("a paste ran a command")
	}
}

// Whatever is typed, the lines fit, and the chosen completion is in sight.
func TestLinesFit(t *testing.T) {
	theme, err := draw.LoadTheme("mono")
	if err != nil {
		t.Fatal(err)
	}
	for width := 1; width < 90; width += 4 {
		for _, typed := range [][]string{{}, {"b"}, {"backup "}, {"backup daily-00", "ctrl+n", "ctrl+n", "ctrl+n", "ctrl+n", "ctrl+n"}, {"xyzzy"}, {"ctx "}, {"schedules"}, {strings.Repeat("漢", 60)}, {"sche", "left", "left"}} {
			l, _ := record(t)
			l.OpenEmpty()
			press(l, typed...)
			for height := 1; height < 3; height++ {
				lines := l.View(draw.Canvas{Width: width, Height: height, Theme: theme, Glyphs: &draw.ASCIIGlyphs})
				if len(lines) != height {
					t.Errorf("%d lines of %d", len(lines), height)
				}
				for _, line := range lines {
					if lipgloss.Width(line) > width {
						t.Errorf("%v in %d cells: %q", typed, width, ansi.Strip(line))
					}
				}
				if height == 2 && width > 20 && len(typed) > 3 &&
					!strings.Contains(ansi.Strip(lines[0]), "daily-0005") {
					t.Errorf("in %d cells the chosen one is not in sight: %q", width, ansi.Strip(lines[0]))
				}
			}
		}
	}
	l, _ := record(t)
	l.OpenEmpty()
	for typed, want := range map[string]string{"": "backups  backup  ctx  schedules", "xyz": "unknown command :xyz", "schedules": ":schedules  show the schedules", "ctx ": "prod-east  prod-west  Stage", "ctx nowhere": ":ctx NAME[,NAME]  switch the context"} {
		l.setText(typed)
		if got := ansi.Strip(
			l.View(draw.Canvas{Width: 80, Height: 2, Theme: theme, Glyphs: &draw.ASCIIGlyphs})[0],
		); !strings.Contains(
			got,
			want,
		) {
			t.Errorf("beside %q: %q", typed, got)
		}
	}
}

// A second space does not keep an argument from being completed.
func TestCompletionAfterTwoSpaces(t *testing.T) {
	l, done := record(t)
	l.OpenEmpty()
	if err := press(l, "ctx  prod-e", "tab", "enter"); err != nil || len(*done) != 1 || (*done)[0] != "ctx prod-east" {
		t.Errorf("%v, %v", *done, err)
	}
}
