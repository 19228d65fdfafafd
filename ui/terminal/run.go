package terminal

import (
	"context"
	"io"
	"os"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"
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
	// Notify is how [Notify] calls a person, and Through what such a call goes through.
	Notify  Notification
	Through Multiplexed
}

// Run runs a program until it ends or ctx does, and restores the terminal. lost
// is called with the error if the terminal goes away.
func Run(ctx context.Context, lost context.CancelCauseFunc, model tea.Model, o Options) error {
	return run(ctx, lost, model, o, func(func(tea.Msg)) {})
}

// run is Run that hands out how to send the program a message.
func run(ctx context.Context, lost context.CancelCauseFunc, model tea.Model, o Options, sender func(send func(tea.Msg))) error {
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
	sender(program.Send)
	stops.attach(ctx, program.Send)
	go way.run()
	_, err := program.Run()
	if screen, ok := o.Output.(interface{ Abandoned() }); !way.finish() && ok {
		screen.Abandoned()
	}
	return err
}
