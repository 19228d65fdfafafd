package terminal

import (
	"strings"

	"github.com/charmbracelet/x/ansi"

	"github.com/veltui/veltui/internal/sanitize"
)

// Beside are sequences for what a terminal shows beside its screen, for commands that
// draw no frames. A terminal of a kind without a window is sent nothing.
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

// Show sets the title, and the progress indicator to a percentage, in the colour of an
// error where failing; below 0 it is taken away.
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
