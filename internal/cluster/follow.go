package cluster

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"time"

	"github.com/veltui/veltui/internal/assess"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/watch"
)

// followTick is how often the last snapshot is judged again: verdicts change as time passes.
const followTick = time.Second

// FollowOptions say how [Follow] follows a cluster.
type FollowOptions struct {
	Watcher *watch.Watcher
	Clock   func() time.Time
	Assess  func(context.Context, *watch.Snapshot) *assess.Assessment // Assess judges a snapshot for this moment

	// Ready reports whether a snapshot holds all that is wanted, and an error if it
	// never will without help. What comes before is not judged.
	Ready    func(*watch.Snapshot) (bool, error)
	Patience time.Duration // how long that may take

	// Look looks closer at a job of an assessment, beside the loop, one job at a time; nil for no closer looks.
	Look    func(context.Context, *assess.Assessment, *job.Job)
	Wanted  func(*job.Job) bool // the jobs to look closer at
	InFocus bool                // true if a person waits for the wanted jobs (see [assess.Lookout.DueInFocus])
}

// SilentError is that a cluster has not sent all that is wanted within Patience.
type SilentError struct {
	Patience time.Duration
	Why      string // the last error of the connection, empty if there was none
	ended    error  // why the following has ended meanwhile, nil if it has not
}

func (e *SilentError) Error() string {
	if e.ended != nil {
		return e.ended.Error()
	}
	return fmt.Sprintf("gave up after %s: %s (--request-timeout changes how long it tries)", e.Patience, e.Cause())
}

// Cause is why nothing has come.
func (e *SilentError) Cause() string { return cmp.Or(e.Why, "the API server did not answer") }

func (e *SilentError) Unwrap() error { return e.ended }

// Follow yields a cluster as it is now: when a snapshot has come, which brings its changes once,
// when a second has passed, and when a closer look has ended. An error ends it, except for a
// [SilentError] before the first assessment: that one comes again after each further Patience.
func Follow(ctx context.Context, o FollowOptions) iter.Seq2[*assess.Assessment, error] {
	return func(yield func(*assess.Assessment, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		f := follower{
			FollowOptions: o,
			snaps:         make(chan *watch.Snapshot),
			failed:        make(chan error, 1),
			looked:        make(chan struct{}, 1),
		}
		go f.read(ctx)
		f.run(ctx, yield)
	}
}

type follower struct {
	FollowOptions
	snaps  chan *watch.Snapshot
	failed chan error
	looked chan struct{}

	lookout assess.Lookout
	snap    *watch.Snapshot // the last snapshot, nil before the first
	ready   bool
}

func (f *follower) read(ctx context.Context) {
	for {
		snap, err := f.Watcher.Next(ctx)
		if err != nil {
			f.failed <- err
			return
		}
		select {
		case f.snaps <- snap:
		case <-ctx.Done():
		}
	}
}

func (f *follower) run(ctx context.Context, yield func(*assess.Assessment, error) bool) {
	silence, tick := time.NewTicker(f.Patience), time.NewTicker(followTick)
	defer silence.Stop()
	defer tick.Stop()
	for {
		var err error
		select {
		case <-ctx.Done():
			err = context.Cause(ctx)
		case err = <-f.failed:
			err = cmp.Or(context.Cause(ctx), err)
		case snap := <-f.snaps:
			f.snap = snap
			if !f.ready {
				f.ready, err = f.Ready(snap)
			}
		case <-f.looked:
			f.lookout.Done(f.Clock())
		case <-tick.C:
		case <-silence.C:
			if !yield(nil, f.silent(nil)) {
				return
			}
		}
		if err != nil {
			if !f.ready && ctx.Err() != nil {
				err = f.silent(err)
			}
			yield(nil, err)
			return
		}
		if !f.ready {
			continue
		}
		silence.Stop()
		if !f.assess(ctx, yield) {
			return
		}
	}
}

// assess yields the last snapshot, judged for this moment, and looks closer at the job that is due.
func (f *follower) assess(ctx context.Context, yield func(*assess.Assessment, error) bool) bool {
	a := f.Assess(ctx, f.snap)
	if !yield(a, nil) {
		return false
	}
	rest := *f.snap
	rest.Changes, rest.Dropped = nil, 0 // they have come
	f.snap = &rest
	if f.Look == nil {
		return true
	}
	due := f.lookout.Due
	if f.InFocus {
		due = f.lookout.DueAwaited
	}
	if j := due(a, f.Wanted, f.Clock()); j != nil {
		go func() {
			f.Look(ctx, a, j)
			f.looked <- struct{}{}
		}()
	}
	return true
}

func (f *follower) silent(ended error) *SilentError {
	e := &SilentError{Patience: f.Patience, ended: ended}
	if f.snap != nil {
		e.Why = f.snap.Health.Err
	}
	return e
}
