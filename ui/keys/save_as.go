package keys

import (
	"charm.land/bubbles/v2/textinput"
	tea "charm.land/bubbletea/v2"
)

// SaveAsMsg asks the user for a file's path before anything is written.
type SaveAsMsg struct {
	ProposedPath string                    // the path to propose
	WriteFile    func(path string) tea.Cmd // writes the file, and never overwrites one
}

// PathPrompt is the line in which a proposed path is confirmed or changed.
type PathPrompt struct {
	input     textinput.Model
	onConfirm func(path string) tea.Cmd // nil while the line is closed
}

// OpenWithPath opens the line with a proposed path.
func (l *PathPrompt) OpenWithPath(path string, do func(path string) tea.Cmd) tea.Cmd {
	l.input, l.onConfirm = NewTextField(), do
	l.input.Prompt = "Save as: "
	l.input.SetValue(path)
	l.input.CursorEnd()
	return l.input.Focus()
}

// IsTyping reports whether the line is open; it then takes all keys.
func (l *PathPrompt) IsTyping() bool { return l.onConfirm != nil }

// Update handles a message: enter writes, esc closes the line.
func (l *PathPrompt) Update(msg tea.Msg) (cmd tea.Cmd) {
	if k, ok := msg.(tea.KeyPressMsg); ok {
		switch k.String() {
		case "enter":
			do, path := l.onConfirm, l.input.Value()
			if l.onConfirm = nil; path != "" {
				return do(path)
			}
			return nil
		case "esc", "ctrl+c":
			l.onConfirm = nil
			return nil
		}
	}
	l.input, cmd = l.input.Update(msg)
	return cmd
}

// View draws the line with a width.
func (l *PathPrompt) View(width int) string {
	const hint = "  (enter writes the file, esc leaves)"
	room := width - len(l.input.Prompt) - 4
	if width < 80 {
		l.input.SetWidth(max(room, 1))
		return " " + l.input.View()
	}
	l.input.SetWidth(room - len(hint))
	return " " + l.input.View() + hint
}
