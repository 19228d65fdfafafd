package keys

import (
	"charm.land/bubbles/v2/textinput"
	tea "charm.land/bubbletea/v2"
)

// SaveAs asks the user for a file's path before anything is written.
type SaveAs struct {
	Name string                    // proposed
	Do   func(path string) tea.Cmd // writes the file, and overwrites none
}

// PathLine is the line in which a proposed path is confirmed or changed.
type PathLine struct {
	input textinput.Model
	do    func(path string) tea.Cmd // nil while the line is closed
}

// Open proposes a path.
func (l *PathLine) Open(path string, do func(path string) tea.Cmd) tea.Cmd {
	l.input, l.do = Field(), do
	l.input.Prompt = "Save as: "
	l.input.SetValue(path)
	l.input.CursorEnd()
	return l.input.Focus()
}

// Typing reports whether the line is open: it takes all keys then.
func (l *PathLine) Typing() bool { return l.do != nil }

// Update takes a message: enter writes, esc leaves.
func (l *PathLine) Update(msg tea.Msg) (cmd tea.Cmd) {
	if k, ok := msg.(tea.KeyPressMsg); ok {
		switch k.String() {
		case "enter":
			do, path := l.do, l.input.Value()
			if l.do = nil; path != "" {
				return do(path)
			}
			return nil
		case "esc", "ctrl+c":
			l.do = nil
			return nil
		}
	}
	l.input, cmd = l.input.Update(msg)
	return cmd
}

// View is the line in a width.
func (l *PathLine) View(width int) string {
	const hint = "  (enter writes the file, esc leaves)"
	room := width - len(l.input.Prompt) - 4
	if width < 80 {
		l.input.SetWidth(max(room, 1))
		return " " + l.input.View()
	}
	l.input.SetWidth(room - len(hint))
	return " " + l.input.View() + hint
}
