package terminal

import (
	"strings"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/veltui/veltui/internal/sanitize"
)

type NotificationMethod string

const (
	NoNotification NotificationMethod = "none"
	Bell           NotificationMethod = "bell"   // BEL, which every terminal accepts
	OSC9           NotificationMethod = "osc9"   // a desktop notification as introduced by iTerm2
	OSC777         NotificationMethod = "osc777" // a desktop notification as introduced by rxvt-unicode
)

func NotificationMethodNames() []string {
	return []string{string(NoNotification), string(Bell), string(OSC9), string(OSC777)}
}

// maxNotificationBytes is the largest size of a notification in bytes; GNU Screen takes at most 768.
const maxNotificationBytes = 300

// NotifyMsg asks to notify a person, in the way chosen at the program's start.
type NotifyMsg struct{ Text string }

// Multiplexer is a terminal multiplexer between the program and the terminal.
type Multiplexer int

const (
	NoMultiplexer Multiplexer = iota
	// Tmux drops both notifications: of OSC 9 it knows only 9;4, the progress, since 3.7 (input.c, input_exit_osc and
	// input_osc_9). It passes on sequences that are wrapped for it if allow-passthrough is set (input_dcs_dispatch),
	// which is off by default since 3.3; if it is off, a wrapped sequence shows nothing.
	Tmux
	// UnknownMultiplexer may be GNU Screen or tmux: each prints the sequences that are wrapped for the other.
	UnknownMultiplexer
)

func DetectMultiplexer(env func(string) string) Multiplexer {
	switch term := env("TERM"); {
	case env("STY") != "": // with TMUX also set, one runs inside the other
		return UnknownMultiplexer
	case env("TMUX") != "", strings.HasPrefix(term, "tmux"):
		return Tmux
	case strings.HasPrefix(term, "screen"):
		return UnknownMultiplexer
	}
	return NoMultiplexer
}

// EscapeSequence returns the sequence that notifies a person, empty for none.
func (n NotificationMethod) EscapeSequence(text string, kind Kind, through Multiplexer) string {
	const bell = "\a"
	if n == Bell || n != NoNotification && n != "" && (!kind.HasWindow() || through == UnknownMultiplexer) {
		return bell
	}
	text = strings.Map(replaceTitleRune, sanitize.Truncate(sanitize.String(text), maxNotificationBytes))
	var sequence string
	switch n {
	case OSC9:
		// The text begins with a word: a digit at its beginning would make it another command.
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

// translateMessage replaces a [NotifyMsg] with the message that writes its sequence; it returns other messages
// unchanged.
func (n NotificationMethod) translateMessage(msg tea.Msg, kind Kind, through Multiplexer) tea.Msg {
	asked, ok := msg.(NotifyMsg)
	if !ok {
		return msg
	}
	if sequence := n.EscapeSequence(asked.Text, kind, through); sequence != "" {
		return tea.RawMsg{Msg: sequence}
	}
	return nil
}

// WindowSequences makes the escape sequences for commands that draw no frames; they are empty for terminals without a
// window.
type WindowSequences struct {
	Kind        Kind
	Multiplexer Multiplexer
}

// SaveTitle returns the sequence that saves the window's title for [WindowSequences.RestoreTitle].
func (b WindowSequences) SaveTitle() string {
	if !b.Kind.HasWindow() {
		return ""
	}
	return ansi.WindowOp(22, 2)
}

// ShowProgress returns the sequence that sets the title, and the progress indicator to a percentage; a percentage
// below 0 removes the indicator.
func (b WindowSequences) ShowProgress(title string, percent int, failing bool) string {
	if !b.Kind.HasWindow() {
		return ""
	}
	title = strings.Map(replaceTitleRune, sanitize.Truncate(sanitize.String(title), maxTitleRunes))
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

// RestoreTitle returns the sequence that removes the progress indicator and restores the title.
func (b WindowSequences) RestoreTitle() string {
	if !b.Kind.HasWindow() {
		return ""
	}
	return ansi.ResetProgressBar + ansi.WindowOp(23, 2)
}
