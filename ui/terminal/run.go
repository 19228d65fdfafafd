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

// Screen is what a program draws on. A method Abandoned() is told that the terminal could not be given back.
type Screen interface {
	io.ReadWriteCloser
	Fd() uintptr
}

type Options struct {
	Input   io.Reader
	Output  Screen
	Term    string       // the terminal's name, TERM; empty for that of the environment
	NoColor bool         // draws without colour
	FPS     int          // bounds how often the terminal is written to, 0 for the default
	Notify  Notification // how [Notified] calls a person
	Through Multiplexed  // what such a call goes through

	started func(send func(tea.Msg)) // for tests
}

// Run runs a program until it or ctx ends, and restores the terminal. lost is called if it goes away.
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

// MaxClipboard is how many bytes may be copied at once. Some terminals ignore an OSC 52 of 100,000 characters
// of base64.
const MaxClipboard = 70_000

// maxTitle is how long, in runes, the window's title may be.
const maxTitle = 200

// framed is the root model with cleaned frames; while the line is busy it shows the last one.
type framed struct {
	tea.Model
	way *line
}

func (f framed) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	if _, free := msg.(lineFree); free {
		return f, nil
	}
	model, cmd := f.Model.Update(msg)
	return framed{model, f.way}, cmd
}

func (f framed) View() tea.View { return f.way.view(f.Model) }

func clean(view tea.View) tea.View {
	view.Content = sanitize.Frame(view.Content)
	view.WindowTitle = strings.Map(inTitle, sanitize.Cut(view.WindowTitle, maxTitle))
	return view
}

// inTitle replaces characters with a byte that some terminals take for the end of a title.
func inTitle(r rune) rune {
	if strings.IndexByte(string(r), 0x9c) >= 0 { // ST of eight bits
		return '?'
	}
	return r
}

// beside lets through one question, and clean text for the clipboard. All other messages that write go no further.
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
