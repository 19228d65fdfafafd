package ui

import (
	"context"
	"errors"
	"time"

	tea "charm.land/bubbletea/v2"
	"k8s.io/apimachinery/pkg/types"

	"github.com/veltui/veltui/assess"
	"github.com/veltui/veltui/job"
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

// lookTaken brings what a closer look at the open job found.
type lookTaken struct {
	of   *cluster
	look *look
	uid  types.UID
	seen assess.Look
	err  error
}

// look is one closer look at a job.
type look struct {
	uid    types.UID
	cancel context.CancelFunc
	// pending is true while it is not done; done is when it was.
	pending bool
	done    time.Time
}

// looks are the closer looks: never two at a time, at the open job, or, on the
// dashboard, at one after the other of those that do not move.
type looks struct {
	// start makes the command that looks; nil if nobody can.
	start     func(j *job.Job, l *look) tea.Cmd
	last      *look // nil before the first
	lookout   assess.Lookout
	estimates *assess.Estimates
}

func newLooks(ctx context.Context, of *cluster, estimates *assess.Estimates) looks {
	ls := looks{estimates: estimates}
	if of.Looker == nil {
		return ls
	}
	ls.start = func(j *job.Job, l *look) tea.Cmd {
		ctx, cancel := context.WithTimeout(ctx, lookDeadline)
		l.cancel = cancel
		return guarded(func() tea.Msg {
			defer cancel()
			seen, err := of.Looker.Look(ctx, j)
			if errors.Is(err, context.DeadlineExceeded) {
				err = errors.New("no answer in time")
			}
			return lookTaken{of, l, j.UID, seen, err}
		})
	}
	return ls
}

// end ends a look that nobody waits for any more.
func (ls *looks) end() {
	if ls.last != nil {
		ls.last.cancel()
		ls.last = nil
	}
}

// again has the next look taken at once.
func (ls *looks) again() {
	if ls.last != nil && !ls.last.pending {
		ls.last = nil
	}
}

// look looks closer at the open job, or at the next one of the list, if that may
// change its verdict.
func (m *Model) look() tea.Cmd {
	ls := &m.at.looks
	if ls.start == nil {
		return nil
	}
	now, live := m.options.Clock(), m.at.health().State == watch.Live
	if m.job == nil {
		if ls.last != nil && ls.last.pending || !live {
			return nil
		}
		if j := ls.lookout.Due(m.at.assessed, func(*job.Job) bool { return true }, now); j != nil {
			ls.last = &look{uid: j.UID, pending: true}
			return ls.start(j, ls.last)
		}
		return nil
	}
	if m.job.Job() == nil || ls.last != nil && ls.last.uid != m.job.UID() {
		ls.end()
	}
	if m.job.Job() == nil || m.job.Deleted() || !live {
		return nil
	}
	j := m.job.Job()
	switch last := ls.last; {
	case last != nil && (last.pending || now.Sub(last.done).Abs() < lookPace):
		return nil
	case !m.at.assessed.Of(j).NeedsLook:
		return nil
	}
	ls.last = &look{uid: j.UID, pending: true}
	return ls.start(j, ls.last)
}

// takeLook takes what was found, and judges anew with it.
func (m *Model) takeLook(taken lookTaken) tea.Cmd {
	if taken.look != taken.of.looks.last {
		return nil // another job was opened meanwhile
	}
	taken.look.pending, taken.look.done = false, m.options.Clock()
	seen := taken.seen
	if taken.err != nil {
		seen = assess.Look{At: m.options.Clock(), Err: taken.err.Error()}
	}
	taken.of.looks.estimates.Looked(taken.uid, seen)
	return taken.of.judgeAgain()
}
