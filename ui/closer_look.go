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

// look is one closer look at the open job.
type look struct {
	uid    types.UID
	cancel context.CancelFunc
	// pending is true while it is not done; done is when it was.
	pending bool
	done    time.Time
}

// looks are the closer looks at the open job: never two at a time, and none
// about a job whose screen is closed.
type looks struct {
	// start makes the command that looks; nil if nobody can.
	start     func(j *job.Job, l *look) tea.Cmd
	last      *look // nil while no screen is open
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

// look looks closer at the open job if that may change its verdict.
func (m *Model) look() tea.Cmd {
	ls := &m.at.looks
	if ls.start == nil {
		return nil
	}
	if m.job == nil || m.job.Job() == nil || ls.last != nil && ls.last.uid != m.job.UID() {
		ls.end()
	}
	if m.job == nil || m.job.Job() == nil || m.job.Deleted() || m.at.health().State != watch.Live {
		return nil
	}
	j, now := m.job.Job(), m.options.Clock()
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
		return nil // its screen was closed meanwhile
	}
	taken.look.pending, taken.look.done = false, m.options.Clock()
	seen := taken.seen
	if taken.err != nil {
		seen = assess.Look{At: m.options.Clock(), Err: taken.err.Error()}
	}
	taken.of.looks.estimates.Looked(taken.uid, seen)
	return taken.of.judgeAgain()
}
