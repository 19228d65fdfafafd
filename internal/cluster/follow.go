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

// reassessInterval is how often the last snapshot is judged again: verdicts change as time passes.
const reassessInterval = time.Second

// FollowOptions control how [Follow] follows a cluster.
type FollowOptions struct {
	Watcher *watch.Watcher
	Clock   func() time.Time
	Assess  func(context.Context, *watch.Snapshot) *assess.Assessment // Assess judges a snapshot for this moment

	// Ready reports whether a snapshot holds everything that is wanted, and returns an error if it never will by itself.
	// Earlier snapshots are not judged.
	Ready      func(*watch.Snapshot) (bool, error)
	MaxSilence time.Duration // how long Ready may take

	// TakeCloserLook looks closer at a job of an assessment, beside the loop, one job at a time; nil for no closer looks.
	TakeCloserLook func(context.Context, *assess.Assessment, *job.Job)
	IsWanted       func(*job.Job) bool // the jobs to look closer at
	// ReadLogs reads the servers' logs about silent jobs, beside the loop, and reports whether it could; nil for no
	// readings.
	ReadLogs func(context.Context, *assess.Assessment, []*job.Job) (read bool)
	// InFocus is true if a person waits for the wanted jobs (see [assess.LookScheduler.NextInFocus]).
	InFocus bool
}

// NotReadyError means that a cluster has not sent everything that is wanted within MaxSilence.
type NotReadyError struct {
	MaxSilence time.Duration
	LastError  string // the last error of the connection, empty if there was none
	endError   error  // why Follow has ended since, nil if it has not
}

func (e *NotReadyError) Error() string {
	if e.endError != nil {
		return e.endError.Error()
	}
	return fmt.Sprintf(
		"gave up after %s: %s (--request-timeout changes how long it tries)",
		e.MaxSilence,
		e.SilenceCause(),
	)
}

// SilenceCause returns why nothing has arrived.
func (e *NotReadyError) SilenceCause() string {
	return cmp.Or(e.LastError, "the API server did not answer")
}

func (e *NotReadyError) Unwrap() error { return e.endError }

// Follow yields the present assessment of a cluster: when a snapshot has arrived, which brings its changes once, when
// a second has passed, and when a closer look has ended. An error ends it, except for a [NotReadyError] before the
// first assessment: that error is yielded again after each further MaxSilence.
func Follow(ctx context.Context, o FollowOptions) iter.Seq2[*assess.Assessment, error] {
	return func(yield func(*assess.Assessment, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		f := follower{
			FollowOptions: o,
			snapshots:     make(chan *watch.Snapshot),
			failed:        make(chan error, 1),
			lookDone:      make(chan struct{}, 1),
			logsDone:      make(chan bool, 1),
		}
		go f.readSnapshots(ctx)
		f.runLoop(ctx, yield)
	}
}

type follower struct {
	FollowOptions
	snapshots chan *watch.Snapshot
	failed    chan error
	lookDone  chan struct{}
	logsDone  chan bool

	lookScheduler assess.LookScheduler
	lastSnapshot  *watch.Snapshot // the last snapshot, nil before the first
	ready         bool
}

func (f *follower) readSnapshots(ctx context.Context) {
	for {
		snap, err := f.Watcher.Next(ctx)
		if err != nil {
			f.failed <- err
			return
		}
		select {
		case f.snapshots <- snap:
		case <-ctx.Done():
		}
	}
}

func (f *follower) runLoop(ctx context.Context, yield func(*assess.Assessment, error) bool) {
	silence, tick := time.NewTicker(f.MaxSilence), time.NewTicker(reassessInterval)
	defer silence.Stop()
	defer tick.Stop()
	for {
		var err error
		select {
		case <-ctx.Done():
			err = context.Cause(ctx)
		case err = <-f.failed:
			err = cmp.Or(context.Cause(ctx), err)
		case snap := <-f.snapshots:
			f.lastSnapshot = snap
			if !f.ready {
				f.ready, err = f.Ready(snap)
			}
		case <-f.lookDone:
			f.lookScheduler.FinishLook(f.Clock())
		case read := <-f.logsDone:
			f.lookScheduler.FinishLogs(read)
		case <-tick.C:
		case <-silence.C:
			if !yield(nil, f.newNotReadyError(nil)) {
				return
			}
		}
		if err != nil {
			if !f.ready && ctx.Err() != nil {
				err = f.newNotReadyError(err)
			}
			yield(nil, err)
			return
		}
		if !f.ready {
			continue
		}
		silence.Stop()
		if !f.yieldAssessment(ctx, yield) {
			return
		}
	}
}

// yieldAssessment yields the last snapshot, judged for this moment, and takes a closer look at the job that is due.
func (f *follower) yieldAssessment(ctx context.Context, yield func(*assess.Assessment, error) bool) bool {
	a := f.Assess(ctx, f.lastSnapshot)
	if !yield(a, nil) {
		return false
	}
	rest := *f.lastSnapshot
	rest.Changes, rest.DroppedChanges = nil, 0 // they have been yielded
	f.lastSnapshot = &rest
	f.readLogs(ctx, a)
	if f.TakeCloserLook == nil {
		return true
	}
	due := f.lookScheduler.NextInList
	if f.InFocus {
		due = f.lookScheduler.NextAwaited
	}
	if j := due(a, f.IsWanted, f.Clock()); j != nil {
		go func() {
			f.TakeCloserLook(ctx, a, j)
			f.lookDone <- struct{}{}
		}()
	}
	return true
}

func (f *follower) readLogs(ctx context.Context, a *assess.Assessment) {
	if f.ReadLogs == nil {
		return
	}
	if silent := f.lookScheduler.NextLogs(a, f.IsWanted, f.Clock()); len(silent) > 0 {
		go func() {
			f.logsDone <- f.ReadLogs(ctx, a, silent)
		}()
	}
}

func (f *follower) newNotReadyError(ended error) *NotReadyError {
	e := &NotReadyError{MaxSilence: f.MaxSilence, endError: ended}
	if f.lastSnapshot != nil {
		e.LastError = f.lastSnapshot.Health.Err
	}
	return e
}
