package terminal

import (
	"context"
	"errors"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
)

func TestNotificationsByTerminal(t *testing.T) {
	for name, c := range map[string]struct {
		how  NotificationMethod
		env  string
		want string
	}{
		"none":                  {NoNotification, "TERM=xterm-256color", ""},
		"unset":                 {"", "TERM=xterm-256color", ""},
		"bell":                  {Bell, "TERM=xterm-256color", "\a"},
		"bell in tmux":          {Bell, "TERM=tmux-256color", "\a"},
		"iTerm2's":              {OSC9, "TERM=xterm-256color", "\x1b]9;veltui: a; b\a"},
		"urxvt's":               {OSC777, "TERM=rxvt-unicode", "\x1b]777;notify;veltui;a, b\a"},
		"a console prints it":   {OSC9, "TERM=linux", "\a"},
		"a vt prints it":        {OSC777, "TERM=vt220", "\a"},
		"tmux":                  {OSC9, "TERM=screen-256color TMUX=/tmp/tmux-0/default,1,0", "\x1bPtmux;\x1b\x1b]9;veltui: a; b\a\x1b\\"},
		"tmux elsewhere":        {OSC777, "TERM=tmux-256color", "\x1bPtmux;\x1b\x1b]777;notify;veltui;a, b\a\x1b\\"},
		"screen":                {OSC9, "TERM=screen STY=1.pts", "\a"},
		"screen in tmux":        {OSC9, "TERM=screen STY=1.pts TMUX=/tmp/tmux-0/default,1,0", "\a"},
		"screen, or tmux, afar": {OSC9, "TERM=screen-256color", "\a"},
	} {
		env := func(name string) string {
			for _, pair := range strings.Fields(c.env) {
				if value, ok := strings.CutPrefix(pair, name+"="); ok {
					return value
				}
			}
			return ""
		}
		if got := c.how.EscapeSequence("a; b", DetectKind(env("TERM")), DetectMultiplexer(env)); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// Whatever a job is called, a notification is one line of text, and of bounded length.
func TestNotificationsAreClean(t *testing.T) {
	hostile := "x\x1b]0;title\a\x1b\\\u009c\u202e\n\x07;9;4;1" + strings.Repeat("y", 5000)
	for _, how := range []NotificationMethod{OSC9, OSC777} {
		got := how.EscapeSequence(hostile, Xterm, NoMultiplexer)
		inner := strings.TrimSuffix(strings.TrimPrefix(got, "\x1b]"), "\a")
		if strings.ContainsAny(inner, "\x1b\a\n\u009c\u202e") || len(got) > 768 ||
			how == OSC777 && strings.Count(inner, ";") != 3 {
			t.Errorf("%s: %q", how, got)
		}
	}
}

// Only a notification that was asked for reaches the terminal.
func TestNotificationsReachTheTerminal(t *testing.T) {
	for how, want := range map[NotificationMethod]string{NoNotification: "", OSC9: "\x1b]9;veltui: crm failed\a"} {
		out := &screen{in: strings.NewReader("")}
		ctx, cancel := context.WithTimeoutCause(t.Context(), patience, errors.New("the program did not end"))
		err := Run(
			ctx,
			func(err error) { t.Error(err) },
			talker{[]tea.Cmd{func() tea.Msg { return NotifyMsg{"crm failed"} }}},
			Options{Input: out, Output: out, Term: "xterm", Notify: how},
		)
		cancel()
		if raw := out.String(); err != nil || strings.Contains(raw, "crm failed") != (want != "") ||
			!strings.Contains(raw, want) {
			t.Errorf("%s: %v, %q", how, err, raw)
		}
	}
}
