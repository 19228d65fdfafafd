package terminal

import (
	"context"
	"fmt"
	"io"
	"os"
	"reflect"
	"strings"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"

	"github.com/veltui/veltui/internal/sanitize"
)

// Screen is what a program draws on; a terminal's *os.File is one. One that has a
// method Abandoned() is told when the program has ended and the terminal did not
// take the bytes that would have given it back.
type Screen interface {
	io.ReadWriteCloser
	Fd() uintptr
}

// Options say how a program meets its terminal.
type Options struct {
	Input  io.Reader
	Output Screen
	// Term is the terminal's name, TERM; empty for that of the environment.
	Term string
	// NoColor draws without colour.
	NoColor bool
	// FPS bounds how often the terminal is written to, 0 for the default.
	FPS int
	// Notify is how [Notified] calls a person, and Through what such a call goes through.
	Notify  Notification
	Through Multiplexed

	started func(send func(tea.Msg)) // for tests
}

// Run runs a program until it ends or ctx does, and restores the terminal. lost
// is called with the error if the terminal goes away.
func Run(ctx context.Context, lost context.CancelCauseFunc, model tea.Model, o Options) error {
	kind := KindOf(o.Term)
	way := newLine(o.Output, kind, lost)
	environment := os.Environ()
	if o.Term != "" {
		environment = append(environment, "TERM="+o.Term)
	}
	profile := colorprofile.Detect(o.Output, environment)
	if o.NoColor {
		profile = colorprofile.ASCII
	}
	options := []tea.ProgramOption{
		tea.WithContext(ctx),
		tea.WithoutSignalHandler(),
		tea.WithInput(o.Input),
		tea.WithOutput(way),
		tea.WithEnvironment(environment),
		tea.WithColorProfile(kind.mostColors(profile)),
	}
	if o.FPS > 0 {
		options = append(options, tea.WithFPS(o.FPS))
	}
	stops := newStops()
	filter := func(model tea.Model, msg tea.Msg) tea.Msg {
		return o.Notify.send(beside(stops.filter(way.filter(msg))), kind, o.Through)
	}
	program := tea.NewProgram(framed{model, way}, append(options, tea.WithFilter(filter))...)
	way.send = program.Send
	if o.started != nil {
		o.started(program.Send)
	}
	stops.attach(ctx, program.Send)
	go way.run()
	_, err := program.Run()
	if screen, ok := o.Output.(interface{ Abandoned() }); !way.finish() && ok {
		screen.Abandoned()
	}
	return err
}

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
	case setClipboard:
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
