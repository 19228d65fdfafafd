package ui

import (
	"context"
	"errors"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/veltui/veltui/assess"
	"github.com/veltui/veltui/job"
	"github.com/veltui/veltui/ui/fetch"
	"github.com/veltui/veltui/watch"
)

// Looker looks closer at a job that does not move: at the server's log, hooks,
// namespaces, snapshots and slots, as `veltui explain` does. It changes nothing.
// A look takes as long as a few dozen requests and ends with ctx. What it finds
// and its errors are safe to draw.
type Looker interface {
	Look(ctx context.Context, j *job.Job) (assess.Look, error)
}

const (
	// lookPace is the least time between two looks.
	lookPace = 30 * time.Second
	// lookDeadline is how long a look may take.
	lookDeadline = 45 * time.Second
)

// looks are the closer looks at the jobs of a cluster, one at a time.
type looks struct {
	// last is the last one. Its key is the job's uid.
	last    fetch.Answer[assess.Look]
	lookout assess.Lookout
}

// look looks closer at the open job, or at the next one of the list, if that may
// change its verdict.
func (m *Model) look() tea.Cmd {
	c := m.at
	live := c.health().State == watch.Live
	if c.Looker == nil {
		return nil
	}
	if m.job == nil {
		if !live || c.looks.last.Pending() {
			return nil
		}
		j := c.looks.lookout.Due(c.assessed, func(*job.Job) bool { return true }, m.options.Clock())
		if j == nil {
			return nil
		}
		c.looks.last.Outdate()
		return c.lookAt(j)
	}
	j := m.job.Job()
	if j == nil || c.looks.last.Key() != j.UID {
		c.looks.last.About(nil)
	}
	if j == nil || m.job.Deleted() || !live || !c.assessed.Of(j).NeedsLook {
		return nil
	}
	return c.lookAt(j)
}

// lookAt looks at a job, and has it judged anew with what is found.
func (c *cluster) lookAt(j *job.Job) tea.Cmd {
	looker, clock, last := c.Looker, c.sources.Clock, &c.looks.last
	last.About(j.UID)
	by := c.asker(func() tea.Cmd {
		c.estimates.Looked(j.UID, last.Value)
		return c.judgeAgain()
	})
	return last.Ask(by, lookPace, func(ctx context.Context) (assess.Look, error) {
		ctx, cancel := context.WithTimeout(ctx, lookDeadline)
		defer cancel()
		seen, err := looker.Look(ctx, j)
		switch {
		case errors.Is(err, context.DeadlineExceeded):
			return assess.Look{At: clock(), Err: "no answer in time"}, nil
		case err != nil:
			return assess.Look{At: clock(), Err: err.Error()}, nil
		}
		return seen, nil
	})
}
