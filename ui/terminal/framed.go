package terminal

import (
	tea "charm.land/bubbletea/v2"

	"github.com/veltui/veltui/sanitize"
)

// maxTitle is how long, in runes, the window's title may be.
const maxTitle = 200

// framed is the root model behind the last door before the screen: what it
// draws holds text and colours only, and its title is one line of text.
type framed struct{ tea.Model }

// Update hands on a message.
func (f framed) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	model, cmd := f.Model.Update(msg)
	return framed{model}, cmd
}

// View cleans what is drawn.
func (f framed) View() tea.View {
	view := f.Model.View()
	view.Content = sanitize.Frame(view.Content)
	view.WindowTitle = sanitize.Cut(view.WindowTitle, maxTitle)
	return view
}
