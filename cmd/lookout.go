package cmd

import (
	"context"
	"log/slog"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/veltui/veltui/assess"
	"github.com/veltui/veltui/job"
)

const (
	// lookoutPace is the least time between two closer looks, and lookoutAge is when one
	// is repeated, before what it found is forgotten.
	lookoutPace, lookoutAge = 15 * time.Second, 4 * time.Minute
	// lookoutJobs is how many jobs are looked at closer.
	lookoutJobs = 6
)

// lookout takes closer looks at jobs that do not move, one after the other. One
// goroutine uses it.
type lookout struct {
	looker *closerLook
	// looking is true while a look goes on, which began last.
	looking bool
	last    time.Time
	// looked is when each job was last looked at.
	looked map[types.UID]time.Time
}

func newLookout(c *cli, log *slog.Logger) *lookout {
	return &lookout{looker: &closerLook{cli: c, log: log}, looked: map[types.UID]time.Time{}}
}

// start looks at the job that is due, if there is one. deliver runs what comes of it in
// the caller's goroutine.
func (l *lookout) start(ctx context.Context, a *assess.Assessment, wanted func(*job.Job) bool, estimates *assess.Estimates, deliver func(func())) {
	now := l.looker.cli.clock()
	j := l.due(a, wanted, now)
	if j == nil {
		return
	}
	l.looking, l.last, l.looked[j.UID] = true, now, now
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

// due returns the job to look at next, nil for none.
func (l *lookout) due(a *assess.Assessment, wanted func(*job.Job) bool, now time.Time) *job.Job {
	if l.looking || now.Sub(l.last) < lookoutPace || a.Stale() {
		return nil
	}
	seen := 0
	for _, j := range a.Snapshot.Active {
		if judged := a.Of(j); !judged.NeedsLook || judged.Queue.Waits || !wanted(j) {
			continue
		}
		if seen++; seen > lookoutJobs {
			return nil
		}
		if now.Sub(l.looked[j.UID]) >= lookoutAge {
			return j
		}
	}
	return nil
}
