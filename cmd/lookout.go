package cmd

import (
	"context"
	"log/slog"

	"github.com/veltui/veltui/assess"
	"github.com/veltui/veltui/job"
)

// lookout takes closer looks at jobs that do not move, one after the other. One
// goroutine uses it.
type lookout struct {
	looker *closerLook
	next   assess.Lookout
	// looking is true while a look goes on.
	looking bool
}

func newLookout(c *cli, log *slog.Logger) *lookout {
	return &lookout{looker: &closerLook{cli: c, log: log}}
}

// start looks at the job that is due, if there is one. deliver runs what comes of it in
// the caller's goroutine.
func (l *lookout) start(ctx context.Context, a *assess.Assessment, wanted func(*job.Job) bool, estimates *assess.Estimates, deliver func(func())) {
	if l.looking {
		return
	}
	j := l.next.Due(a, wanted, l.looker.cli.clock())
	if j == nil {
		return
	}
	l.looking = true
	go func() {
		look, err := l.looker.Look(ctx, j)
		if err != nil {
			look = assess.Look{At: l.looker.cli.clock(), Err: err.Error()}
		}
		deliver(func() {
			l.looking = false
			estimates.Looked(j.UID, look)
		})
	}()
}
