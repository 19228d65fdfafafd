package terminal

import (
	"context"
	"fmt"
	"io"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"
)

// Screen is what a program draws on; a terminal's *os.File is one.
type Screen interface {
	io.ReadWriteCloser
	Fd() uintptr
}

// Options say how a program meets its terminal.
type Options struct {
	Input  io.Reader
	Output Screen
	// NoColor draws without colour.
	NoColor bool
	// FPS bounds how often the terminal is written to, 0 for the default.
	FPS int
}

// Run runs a program until it ends or ctx does, and restores the terminal. lost
// is called with the error if the terminal goes away.
func Run(ctx context.Context, lost context.CancelCauseFunc, model tea.Model, o Options) error {
	options := []tea.ProgramOption{
		tea.WithContext(ctx),
		tea.WithoutSignalHandler(),
		tea.WithInput(o.Input),
		tea.WithOutput(&lossy{Screen: o.Output, lost: lost}),
	}
	if o.NoColor {
		options = append(options, tea.WithColorProfile(colorprofile.ASCII))
	}
	if o.FPS > 0 {
		options = append(options, tea.WithFPS(o.FPS))
	}
	stops := &stops{}
	filter := func(model tea.Model, msg tea.Msg) tea.Msg { return beside(stops.filter(model, msg)) }
	program := tea.NewProgram(framed{model}, append(options, tea.WithFilter(filter))...)
	stops.watch(ctx, program.Send)
	_, err := program.Run()
	return err
}

// lossy ends the program when the terminal is gone: Bubble Tea itself ignores
// errors of writing, and would go on drawing for nobody.
type lossy struct {
	Screen
	lost context.CancelCauseFunc
}

// Write writes to the terminal.
func (l *lossy) Write(p []byte) (int, error) {
	n, err := l.Screen.Write(p)
	if err != nil {
		l.lost(fmt.Errorf("writing to the terminal: %w", err))
	}
	return n, err
}
