package ui

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/veltui/veltui/ui/draw"
	"github.com/veltui/veltui/ui/guide"
	"github.com/veltui/veltui/ui/keys"
	"github.com/veltui/veltui/ui/terminal"
)

// ErrInterrupted is returned by Run when the user left with ctrl+c.
var ErrInterrupted = errors.New("interrupted")

// Options say what the dashboard shows and how.
type Options struct {
	Clusters []Cluster // shown side by side, in this order
	// Switch connects to other kubeconfig contexts, or to those that are shown, in a namespace or
	// where Velero is found. What it started ends with ctx. Nil for nothing to switch to.
	Switch   func(ctx context.Context, contexts []string, namespace string) ([]Cluster, error)
	Contexts []string // the names of all contexts that there are
	// Unfinished returns sentences about uncompleted attempts, safe to draw; nil for none.
	Unfinished func(ctx context.Context) []string
	ReadOnly   bool             // says that nothing may be changed because the user said so
	Clock      func() time.Time // our own clock
	Theme      string           // a theme's name; empty or draw.ThemeAuto asks the terminal
	UserTheme  *draw.Theme      // a theme of the user's own, in place of Theme; nil for none
	// Themes are the user's own; LoadTheme reads one anew. Its error is safe to draw.
	Themes    []string
	LoadTheme func(name string) (*draw.Theme, error)
	Keys      keys.Map // those that the user chose instead of the usual ones
	// Tabs and Columns are names of [Tabs] and [Columns] to show, in order; nil for all.
	Tabs, Columns []string
	BackupAge     time.Duration // how old a schedule's last Completed backup may be, 0 for any age
	ASCII         bool          // draws with ASCII only
	NoColor       bool          // draws without colour
	// Mouse makes the terminal send clicks and the wheel; it then selects text with shift only.
	Mouse       bool
	NoAltScreen bool          // draws into the normal screen
	Guide       *guide.Guide  // hints for a newcomer; nil for none
	FPS         int           // bounds how often the terminal is written to, 0 for the default
	Tick        time.Duration // how often ages and verdicts are reckoned anew while jobs run
	QuerySync   bool          // asks for synchronized output, which Bubble Tea does not do over ssh
	Term        string        // the terminal's name, TERM; empty for that of the environment
	Terminal    Terminal      // says what beside the screen may be used

	Input  io.Reader
	Output terminal.Screen
}

// Terminal are parts of a terminal beside its screen.
type Terminal struct {
	Title    bool // the window's title
	Progress bool // the terminal's own progress indicator (OSC 9;4)
	// WhyNoClipboard says why nothing can be copied, and what to do instead.
	WhyNoClipboard string
	// Notify is how a person is called when a job ends or is stuck, and Through what.
	Notify  terminal.Notification
	Through terminal.Multiplexed
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
	err = terminal.Run(ctx, cancel, model, terminal.Options{Input: o.Input, Output: o.Output, Term: o.Term, NoColor: o.NoColor, FPS: o.FPS, Notify: o.Terminal.Notify, Through: o.Terminal.Through})
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
	return m.parting
}
