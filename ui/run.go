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
	// SwitchClusters connects to other contexts, in the given namespace or wherever Velero is found. Everything it
	// starts ends with ctx. May be nil.
	SwitchClusters func(ctx context.Context, contexts []string, namespace string) ([]Cluster, error)
	Contexts       []string // the names of all contexts
	// returns sentences about uncompleted attempts, safe to draw; may be nil
	UnfinishedAttempts func(ctx context.Context) []string
	// returns the changes made by veltui: those of one KIND/NAME, or all if about is empty
	LoadAudit  func(about string) (*document.Audit, error)
	SaveFolder string                                 // the folder proposed for saved files
	ReadOnly   bool                                   // true if the user forbids changes
	Clock      func() time.Time                       // the local clock
	Theme      string                                 // a theme's name; empty or draw.ThemeAuto asks the terminal
	UserTheme  *draw.Theme                            // replaces Theme; nil for none
	UserThemes []string                               // the names of the user's themes
	LoadTheme  func(name string) (*draw.Theme, error) // loads a theme of the user again; errors are safe to draw
	Keys       keys.Overrides                         // the user's keys in place of the usual ones
	// names of [TabNames] and [ColumnNames] to show, in order; nil for all
	Tabs, Columns []string
	// how old a schedule's last Completed backup may be, 0 for any age
	MaxBackupAge time.Duration
	ASCII        bool // draws with ASCII only
	NoColor      bool // draws without colour
	// accepts clicks and the wheel; text is then selected with shift
	Mouse       bool
	NoAltScreen bool         // draws into the normal screen
	Guide       *guide.Guide // hints for a newcomer; nil for none
	// limits the frames written to the terminal per second, 0 for the default
	FPS int
	// how often ages and verdicts are updated while jobs run
	TickInterval time.Duration
	// asks for synchronized output, which Bubble Tea does not do over ssh
	QuerySynchronizedOutput bool
	// the terminal's name as in TERM; empty for that of the environment
	Term     string
	Terminal Terminal // the terminal's features other than the screen
	Input    io.Reader
	Output   terminal.OutputFile
}

type Terminal struct {
	Title                bool                        // the window's title
	Progress             bool                        // the terminal's own progress indicator (OSC 9;4)
	ClipboardUnavailable string                      // why nothing can be copied, and what to do instead
	Notify               terminal.NotificationMethod // how to notify a person when a job ends or is stuck
	Multiplexer          terminal.Multiplexer        // the multiplexer that notifications pass through
}

// Run shows the dashboard until the user leaves or ctx ends. said holds lines for the user's own terminal, such as
// one about each job that was finalized or was to be. The error is ErrInterrupted after ctrl+c, the cause of ctx, or
// why the dashboard could not go on.
func Run(ctx context.Context, o Options) (said []string, err error) {
	if o.Clock == nil {
		o.Clock = time.Now
	}
	if o.TickInterval <= 0 {
		o.TickInterval = time.Second
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
			Input:       o.Input,
			Output:      o.Output,
			Term:        o.Term,
			NoColor:     o.NoColor,
			FPS:         o.FPS,
			Notify:      o.Terminal.Notify,
			Multiplexer: o.Terminal.Multiplexer,
		},
	)
	cause := context.Cause(ctx)
	cancel(nil)
	said = model.exitMessages()
	switch {
	case err == nil:
		return said, model.exitErr
	case cause != nil:
		return said, cause
	}
	return said, fmt.Errorf("running the dashboard: %w", err)
}

func (m *Model) exitMessages() []string {
	m.showDashboard()
	for _, s := range m.backgroundDialogs {
		m.exitLines = append(m.exitLines, s.ExitMessages()...)
	}
	return m.exitLines
}
