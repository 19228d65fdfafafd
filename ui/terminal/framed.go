package terminal

import (
	"fmt"
	"reflect"
	"strings"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/veltui/veltui/internal/sanitize"
)

// MaxClipboard is how many bytes may be copied at once. Terminals ignore an OSC 52
// that is too long for them, some from 100,000 characters of base64 on, and say
// nothing.
const MaxClipboard = 70_000

// maxTitle is how long, in runes, the window's title may be.
const maxTitle = 200

// framed is the root model with its frames cleaned: what it draws holds text and
// colours only, and its title is one line of text. While
// the way to the terminal is busy it shows what it showed.
type framed struct {
	tea.Model
	way *line
}

// Update hands on a message.
func (f framed) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	if _, free := msg.(lineFree); free {
		return f, nil
	}
	model, cmd := f.Model.Update(msg)
	return framed{model, f.way}, cmd
}

// View is what is shown.
func (f framed) View() tea.View { return f.way.view(f.Model) }

// clean leaves text and colours of a frame.
func clean(view tea.View) tea.View {
	view.Content = sanitize.Frame(view.Content)
	view.WindowTitle = strings.Map(inTitle, sanitize.Cut(view.WindowTitle, maxTitle))
	return view
}

// inTitle replaces the characters with a byte that some terminals take for the end
// of a title, in UTF-8 too: they print what follows.
func inTitle(r rune) rune {
	if strings.IndexByte(string(r), 0x9c) >= 0 { // ST of eight bits
		return '?'
	}
	return r
}

// beside lets through what a program sends to the terminal beside its frames: one
// question of its own, and clean text for the clipboard, which Bubble Tea encodes
// in base64. The messages for that are Bubble Tea's own; all others that write,
// and any question for what is in the clipboard, go no further.
func beside(msg tea.Msg) tea.Msg {
	switch reflect.TypeOf(msg) {
	case reflect.TypeOf(tea.SetClipboard("")()):
		text := sanitize.Text(reflect.ValueOf(msg).String())
		if len(text) > MaxClipboard {
			return nil
		}
		return tea.SetClipboard(text)()
	case reflect.TypeFor[tea.RawMsg]():
		if fmt.Sprint(msg.(tea.RawMsg).Msg) != ansi.RequestModeSynchronizedOutput {
			return nil
		}
	case reflect.TypeOf(tea.Println()()), reflect.TypeOf(tea.SetPrimaryClipboard("")()),
		reflect.TypeOf(tea.ReadClipboard()), reflect.TypeOf(tea.ReadPrimaryClipboard()):
		return nil
	}
	return msg
}
