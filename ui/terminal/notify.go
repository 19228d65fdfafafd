package terminal

import (
	"strings"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/veltui/veltui/internal/sanitize"
)

type Notification string

const (
	NoNotification Notification = "none"
	Bell           Notification = "bell"   // BEL, which every terminal takes
	OSC9           Notification = "osc9"   // a desktop notification as iTerm2 introduced it
	OSC777         Notification = "osc777" // one as rxvt-unicode introduced it
)

func Notifications() []string {
	return []string{string(NoNotification), string(Bell), string(OSC9), string(OSC777)}
}

// maxNotified is how many bytes a notification may have; GNU Screen takes at most 768.
const maxNotified = 300

// Notified asks to call a person, in the way that the program was started with.
type Notified struct{ Text string }

// Multiplexed is what stands between a program and the terminal.
type Multiplexed int

const (
	Direct Multiplexed = iota
	// Tmux swallows both notifications: of OSC 9 it knows only 9;4, the progress, from 3.7 on (input.c,
	// input_exit_osc and input_osc_9). It hands on what is wrapped for it where allow-passthrough is set
	// (input_dcs_dispatch), which is off since 3.3; where it is off, nothing of that is shown.
	Tmux
	// Unclear may be GNU Screen or tmux: what is wrapped for one is printed by the other.
	Unclear
)

func MultiplexerOf(env func(string) string) Multiplexed {
	switch term := env("TERM"); {
	case env("STY") != "": // with TMUX too, one of them runs inside the other
		return Unclear
	case env("TMUX") != "", strings.HasPrefix(term, "tmux"):
		return Tmux
	case strings.HasPrefix(term, "screen"):
		return Unclear
	}
	return Direct
}

// Sequence is what a terminal is sent to call a person, empty for nothing.
func (n Notification) Sequence(text string, kind Kind, through Multiplexed) string {
	const bell = "\a"
	if n == Bell || n != NoNotification && n != "" && (!kind.Window() || through == Unclear) {
		return bell
	}
	text = strings.Map(inTitle, sanitize.Cut(sanitize.String(text), maxNotified))
	var sequence string
	switch n {
	case OSC9:
		// It begins with a word: what begins with a digit is another command there.
		sequence = ansi.Notify("veltui: " + text)
	case OSC777:
		sequence = ansi.URxvtExt("notify", "veltui", strings.ReplaceAll(text, ";", ","))
	default:
		return ""
	}
	if through == Tmux {
		return ansi.TmuxPassthrough(sequence)
	}
	return sequence
}

// send makes of [Notified] what the terminal takes; other messages stay.
func (n Notification) send(msg tea.Msg, kind Kind, through Multiplexed) tea.Msg {
	asked, ok := msg.(Notified)
	if !ok {
		return msg
	}
	if sequence := n.Sequence(asked.Text, kind, through); sequence != "" {
		return tea.RawMsg{Msg: sequence}
	}
	return nil
}

// Beside are sequences for commands that draw no frames; empty for terminals without a window.
type Beside struct {
	Kind    Kind
	Through Multiplexed
}

// Begin keeps the window's title for [Beside.End].
func (b Beside) Begin() string {
	if !b.Kind.Window() {
		return ""
	}
	return ansi.WindowOp(22, 2)
}

// Show sets the title, and the progress indicator to a percentage; below 0 for none.
func (b Beside) Show(title string, percent int, failing bool) string {
	if !b.Kind.Window() {
		return ""
	}
	title = strings.Map(inTitle, sanitize.Cut(sanitize.String(title), maxTitle))
	progress := ansi.ResetProgressBar
	switch {
	case percent < 0:
	case failing:
		progress = ansi.SetErrorProgressBar(percent)
	default:
		progress = ansi.SetProgressBar(percent)
	}
	return ansi.SetWindowTitle(title) + progress
}

// End takes the progress indicator away and gives the title back.
func (b Beside) End() string {
	if !b.Kind.Window() {
		return ""
	}
	return ansi.ResetProgressBar + ansi.WindowOp(23, 2)
}
