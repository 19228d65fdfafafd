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

// OutputFile is the output that a program draws on. Its optional method Abandoned() is called if the terminal could not
// be given back.
type OutputFile interface {
	io.ReadWriteCloser
	Fd() uintptr
}

type Options struct {
	Input       io.Reader
	Output      OutputFile
	Term        string             // the terminal's name as in TERM; empty for that of the environment
	NoColor     bool               // draws without colour
	FPS         int                // limits the frames written per second, 0 for the default
	Notify      NotificationMethod // how a [NotifyMsg] notifies a person
	Multiplexer Multiplexer        // the multiplexer that notifications pass through

	onStart func(send func(tea.Msg)) // for tests
}

// Run runs a program until the program or ctx ends, and restores the terminal. lost is called if the terminal goes
// away.
func Run(ctx context.Context, lost context.CancelCauseFunc, model tea.Model, o Options) error {
	kind := DetectKind(o.Term)
	way := newSlowTerminal(o.Output, kind, lost)
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
		tea.WithColorProfile(kind.limitProfile(profile)),
	}
	if o.FPS > 0 {
		options = append(options, tea.WithFPS(o.FPS))
	}
	stops := newJobControl()
	filter := func(model tea.Model, msg tea.Msg) tea.Msg {
		return o.Notify.translateMessage(filterWrites(stops.filterMessage(way.filterMessage(msg))), kind, o.Multiplexer)
	}
	program := tea.NewProgram(framedModel{model, way}, append(options, tea.WithFilter(filter))...)
	way.send = program.Send
	if o.onStart != nil {
		o.onStart(program.Send)
	}
	stops.attachProgram(ctx, program.Send)
	go way.writeLoop()
	_, err := program.Run()
	if screen, ok := o.Output.(interface{ Abandoned() }); !way.drainAndClose() && ok {
		screen.Abandoned()
	}
	return err
}

// MaxClipboardBytes is the largest number of bytes to copy at once. Some terminals ignore an OSC 52 with 100,000
// characters of base64.
const MaxClipboardBytes = 70_000

// maxTitleRunes is the largest length of the window's title, in runes.
const maxTitleRunes = 200

// framedModel is the root model with sanitized frames; while the terminal is busy it shows the last frame.
type framedModel struct {
	tea.Model
	output *slowTerminal
}

func (f framedModel) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	if _, free := msg.(terminalReadyMsg); free {
		return f, nil
	}
	model, cmd := f.Model.Update(msg)
	return framedModel{model, f.output}, cmd
}

func (f framedModel) View() tea.View { return f.output.renderFrame(f.Model) }

func cleanView(view tea.View) tea.View {
	view.Content = sanitize.Frame(view.Content)
	view.WindowTitle = strings.Map(replaceTitleRune, sanitize.Truncate(view.WindowTitle, maxTitleRunes))
	return view
}

// replaceTitleRune replaces characters that contain a byte which some terminals take for the end of a title.
func replaceTitleRune(r rune) rune {
	if strings.IndexByte(string(r), 0x9c) >= 0 { // ST as a single byte
		return '?'
	}
	return r
}

// filterWrites lets through the query for synchronized output, and sanitized text for the clipboard. It drops all
// other messages that write.
func filterWrites(msg tea.Msg) tea.Msg {
	switch reflect.TypeOf(msg) {
	case setClipboardType:
		text := sanitize.Text(reflect.ValueOf(msg).String())
		if len(text) > MaxClipboardBytes {
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
