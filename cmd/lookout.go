package cmd

import (
	"context"
	"log/slog"

	"github.com/veltui/veltui/assess"
	"github.com/veltui/veltui/inspect"
	"github.com/veltui/veltui/job"
)

// lookout takes closer looks at jobs that do not move, one after the other. One
// goroutine uses it.
type lookout struct {
	looker *inspect.Looks
	next   assess.Lookout
	// looking is true while a look goes on.
	looking bool
}

func newLookout(c *cli, log *slog.Logger) *lookout {
	return &lookout{looker: &inspect.Looks{Cluster: c.inspected("", log)}}
}

// start looks at the job that is due, if there is one. deliver runs what comes of it in
// the caller's goroutine.
func (l *lookout) start(ctx context.Context, a *assess.Assessment, wanted func(*job.Job) bool, estimates *assess.Estimates, deliver func(func())) {
	if l.looking {
		return
	}
	j := l.next.Due(a, wanted, l.looker.Clock())
	if j == nil {
		return
	}
	l.looking = true
	go func() {
		look, err := l.looker.Look(ctx, j)
		if err != nil {
			look = assess.Look{At: l.looker.Clock(), Err: err.Error()}
		}
		deliver(func() {
			l.looking = false
			estimates.Looked(j.UID, look)
		})
	}()
}
