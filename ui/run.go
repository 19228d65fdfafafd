package ui

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/veltui/veltui/internal/view/document"
	"github.com/veltui/veltui/ui/draw"
	"github.com/veltui/veltui/ui/guide"
	"github.com/veltui/veltui/ui/keys"
	"github.com/veltui/veltui/ui/terminal"
)

// ErrInterrupted is returned by Run when the user left with ctrl+c.
var ErrInterrupted = errors.New("interrupted")

type Options struct {
	Clusters []Cluster // shown side by side, in this order
	// Switch connects to other contexts, in a namespace or where Velero is found. What it started ends with ctx.
	// May be nil.
	Switch   func(ctx context.Context, contexts []string, namespace string) ([]Cluster, error)
	Contexts []string // the names of all contexts that there are
	// sentences about uncompleted attempts, safe to draw; may be nil
	Unfinished func(ctx context.Context) []string
	// what veltui has changed, of one KIND/NAME or, without it, all
	Audit     func(about string) (*document.Audit, error)
	Folder    string                                 // where files are proposed to be written
	ReadOnly  bool                                   // nothing may be changed because the user said so
	Clock     func() time.Time                       // our own clock
	Theme     string                                 // a theme's name; empty or draw.ThemeAuto asks the terminal
	UserTheme *draw.Theme                            // a theme of the user's own, in place of Theme; nil for none
	Themes    []string                               // the user's own
	LoadTheme func(name string) (*draw.Theme, error) // reads one of them anew; errors are safe to draw
	Keys      keys.Map                               // those that the user chose instead of the usual ones
	// names of [Tabs] and [Columns] to show, in order; nil for all
	Tabs, Columns []string
	// how old a schedule's last Completed backup may be, 0 for any age
	BackupAge time.Duration
	ASCII     bool // draws with ASCII only
	NoColor   bool // draws without colour
	// gets clicks and the wheel; text is then selected with shift
	Mouse       bool
	NoAltScreen bool         // draws into the normal screen
	Guide       *guide.Guide // hints for a newcomer; nil for none
	// bounds how often the terminal is written to, 0 for the default
	FPS int
	// how often ages and verdicts are reckoned anew while jobs run
	Tick time.Duration
	// asks for synchronized output, which Bubble Tea does not do over ssh
	QuerySync bool
	// the terminal's name, TERM; empty for that of the environment
	Term     string
	Terminal Terminal // says what beside the screen may be used
	Input    io.Reader
	Output   terminal.Screen
}

type Terminal struct {
	Title          bool                  // the window's title
	Progress       bool                  // the terminal's own progress indicator (OSC 9;4)
	WhyNoClipboard string                // why nothing can be copied, and what to do instead
	Notify         terminal.Notification // how a person is called when a job ends or is stuck
	Through        terminal.Multiplexed  // what the call goes through
}

// Run shows the dashboard until the user leaves or ctx ends. said is for the user's own terminal: a
// line about each job that was finalized, or was to be. The error is ErrInterrupted after ctrl+c,
// the cause of ctx, or why the dashboard could not go on.
func Run(ctx context.Context, o Options) (said []string, err error) {
	if o.Clock == nil {
		o.Clock = time.Now
	}
	if o.Tick <= 0 {
		o.Tick = time.Second
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	model, err := newModel(ctx, o)
	if err != nil {
		return nil, err
	}
	err = terminal.Run(
		ctx,
		cancel,
		model,
		terminal.Options{
			Input:   o.Input,
			Output:  o.Output,
			Term:    o.Term,
			NoColor: o.NoColor,
			FPS:     o.FPS,
			Notify:  o.Terminal.Notify,
			Through: o.Terminal.Through,
		},
	)
	cause := context.Cause(ctx)
	cancel(nil)
	said = model.exitMessages()
	switch {
	case err == nil:
		return said, model.err
	case cause != nil:
		return said, cause
	}
	return said, fmt.Errorf("running the dashboard: %w", err)
}

func (m *Model) exitMessages() []string {
	m.showDashboard()
	for _, s := range m.watching {
		m.parting = append(m.parting, s.Parting()...)
	}
	return m.parting
}
