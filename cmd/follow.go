package cmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/veltui/veltui/assess"
	"github.com/veltui/veltui/diagnosis"
	"github.com/veltui/veltui/job"
	"github.com/veltui/veltui/watch"
)

// journalSize is how many changes `get -w` may lag behind before it says that
// it lost some.
const journalSize = 10_000

// follow prints the selected jobs and then every change.
func (c *cli) follow(ctx context.Context, selected selection, order *sortBy, p printer) error {
	if order != nil {
		fmt.Fprintln(c.streams.ErrOut, "warning: --sort-by sorts the jobs that -w begins with; their changes come as they happen")
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	shown, need := p.shows(), order.needs()
	w, limit, err := c.startWatch(ctx, cancel, journalSize, func(o *watch.Options) {
		o.SumVolumes = !shown.volumes && !need.volumes
		if !shown.verdicts && !need.verdicts && !selected.stuck {
			o.Only = selected.only() // the rest is there for verdicts
		}
	})
	if err != nil {
		return err
	}
	snap, err := readOnce(ctx, w, selected, limit)
	if err != nil {
		return err
	}
	known, err := c.newCachedEstimates()
	if err != nil {
		return err
	}
	assessed := known.assess(ctx, snap, selected.matches)
	if err := selected.missing(assessed.Snapshot.Jobs, assessed.Snapshot.Namespace); err != nil {
		return err
	}
	begun := selected.clusterJobs(c.flags.CurrentContext, assessed)
	sorted, err := order.sorted([]clusterJobs{begun})
	if err != nil {
		return err
	}
	if err := p.list(sorted, false); err != nil {
		return printError{err}
	}
	if len(begun.jobs) == 0 {
		fmt.Fprintf(c.streams.ErrOut, "No %s found in namespace %s. veltui prints those that come.\n", selected.what(), snap.Namespace)
	}
	f := follower{cli: c, watcher: w, known: known, selected: selected, printer: p, told: map[types.UID]told{}, last: assessed}
	f.verdicts = shown.verdicts || need.verdicts || selected.stuck
	for _, j := range begun.jobs {
		f.told[j.UID] = f.tells(assessed.Of(j))
	}
	return f.run(ctx, snap)
}

// followTick is how often verdicts are looked at again: they change as time passes.
const followTick = time.Second

// follower prints jobs as they change. Only its run uses the fields.
type follower struct {
	cli      *cli
	watcher  *watch.Watcher
	known    *cachedEstimates
	selected selection
	printer  printer
	// verdicts is true if they are printed or decide what is selected.
	verdicts bool

	// told is what was last printed of each selected job.
	told  map[types.UID]told
	last  *assess.Assessment
	warn  malformedWarnings
	stale bool
}

// told is what of a job changes without a change of the job itself, by passing time or
// by what happens around it.
type told struct {
	state    diagnosis.State
	reason   diagnosis.Reason
	action   diagnosis.Action
	position int
	waitsFor string
	deleting bool
}

func (f *follower) tells(j assess.Judged) told {
	if !f.verdicts {
		return told{}
	}
	return told{j.Verdict.State(), j.Verdict.Reason, j.Verdict.Action, j.Queue.Position, j.Queue.Reason, !j.DeletionAt.IsZero()}
}

// run prints every change until ctx ends.
func (f *follower) run(ctx context.Context, snap *watch.Snapshot) error {
	f.warn.print(f.cli, snap)
	snaps, failed, looks := make(chan *watch.Snapshot), make(chan error, 1), make(chan func())
	go func() {
		for {
			snap, err := f.watcher.Next(ctx)
			if err != nil {
				failed <- err
				return
			}
			select {
			case snaps <- snap:
			case <-ctx.Done():
			}
		}
	}()
	deliver := func(take func()) {
		select {
		case looks <- take:
		case <-ctx.Done():
		}
	}
	lookout := newLookout(f.cli, f.known.log)
	tick := time.NewTicker(followTick)
	defer tick.Stop()
	for {
		if f.verdicts {
			lookout.start(ctx, f.last, f.selected.matches, &f.known.estimates, deliver)
		}
		var err error
		select {
		case err := <-failed:
			return cmp.Or(context.Cause(ctx), err)
		case snap = <-snaps:
			f.report(snap)
			err = f.judge(ctx, snap)
			// What was printed is not to be printed again at the next tick.
			rest := *snap
			rest.Changes, rest.Dropped = nil, 0
			snap = &rest
		case take := <-looks:
			take()
			err = f.judge(ctx, snap)
		case <-tick.C:
			err = f.judge(ctx, snap)
		}
		if err != nil {
			return printError{err}
		}
	}
}

// report says what is wrong with a new snapshot.
func (f *follower) report(snap *watch.Snapshot) {
	if stale := snap.Health.State != watch.Live; stale != f.stale {
		f.stale = stale
		f.cli.printHealth(snap.Health)
	}
	if snap.Dropped > 0 {
		fmt.Fprintf(f.cli.streams.ErrOut, "warning: skipped %d changes that came faster than veltui could print them\n", snap.Dropped)
	}
	f.warn.print(f.cli, snap)
}

// judge judges a snapshot for this moment, and prints what is new: each change of a job,
// and then each verdict that became another one without a change.
func (f *follower) judge(ctx context.Context, snap *watch.Snapshot) error {
	f.last = f.known.assess(ctx, snap, f.selected.matches)
	for _, change := range f.last.Snapshot.Changes {
		if err := f.print(change); err != nil {
			return err
		}
	}
	if !f.verdicts {
		return nil
	}
	for _, j := range f.last.Snapshot.Active {
		if before, known := f.told[j.UID]; known && before == f.tells(f.last.Of(j)) || !known && !f.selected.stuck {
			continue
		}
		if err := f.print(watch.Change{Job: j}); err != nil {
			return err
		}
	}
	return nil
}

// print prints one job if it is selected, and once more when it no longer is.
func (f *follower) print(change watch.Change) error {
	j := change.Job
	judged := f.last.Of(j)
	is := f.selected.matches(j) && (!f.selected.stuck || judged.Troubled())
	if _, was := f.told[j.UID]; !is && !was {
		return nil
	}
	if is && !change.Deleted {
		f.told[j.UID] = f.tells(judged)
	} else {
		delete(f.told, j.UID)
	}
	return f.printer.change(change, f.last)
}

func (c *stdio) printHealth(h watch.Health) {
	if h.State == watch.Live {
		fmt.Fprintln(c.streams.ErrOut, "connected again")
		return
	}
	fmt.Fprintf(c.streams.ErrOut, "warning: the output may be out of date: %s\n", h.Err)
}

// startWatch starts to watch. limit is how long silence is borne.
func (c *cli) startWatch(ctx context.Context, cancel context.CancelCauseFunc, journal int, change ...func(*watch.Options)) (w *watch.Watcher, limit time.Duration, err error) {
	conn, err := c.connect()
	if err != nil {
		return nil, 0, err
	}
	logFile, _ := c.openLog()
	context.AfterFunc(ctx, func() { _ = logFile.Close() })
	w, err = c.watch(ctx, conn, journal, c.logTo(logFile, cancel), change...)
	return w, cmp.Or(max(conn.Config.Timeout, 0), firstSnapshotTimeout), err
}

// readOnce waits until all that is selected has been read once; silentError if that
// takes longer than limit.
func readOnce(ctx context.Context, w *watch.Watcher, selected selection, limit time.Duration) (*watch.Snapshot, error) {
	waitCtx, stop := context.WithTimeoutCause(ctx, limit, errors.New("no answer in time"))
	defer stop()
	var last *watch.Snapshot
	for {
		snap, err := w.Next(waitCtx)
		if err != nil {
			if ctx.Err() == nil && waitCtx.Err() != nil {
				return nil, notReady(last, limit)
			}
			return nil, cmp.Or(context.Cause(ctx), err)
		}
		last = snap
		ready, err := complete(snap, selected)
		if ready || err != nil {
			return snap, err
		}
	}
}

// complete reports whether a snapshot holds all that is selected, and an error
// if it never will without somebody's help.
func complete(snap *watch.Snapshot, selected selection) (bool, error) {
	if snap.Health.State == watch.Unauthorized {
		return false, fmt.Errorf("the API server rejects your credentials: %s", snap.Health.Err)
	}
	if snap.Health.Misdirected {
		return false, fmt.Errorf("there is no such API server: %s", snap.Health.Err)
	}
	// Volumes are waited for too, and pods, because verdicts stand on them.
	for _, s := range snap.Sources {
		wanted := s.Resource == "backups.velero.io" && selected.kind != job.Restore ||
			s.Resource == "restores.velero.io" && selected.kind != job.Backup
		switch {
		case s.State == watch.SourceSyncing:
			return false, nil
		case wanted && s.State == watch.SourceForbidden:
			return false, fmt.Errorf("you may not list %s in namespace %s: %s", s.Resource, snap.Namespace, s.Err)
		case wanted && s.State == watch.SourceMissing:
			return false, fmt.Errorf("this cluster has no %s: is Velero installed? %s", s.Resource, s.Err)
		}
	}
	return len(snap.Sources) > 0 && snap.Health.State == watch.Live, nil
}

// silentError is that a cluster did not answer in time.
type silentError struct {
	limit time.Duration
	why   string
}

func (e silentError) Error() string {
	return fmt.Sprintf("gave up after %s: %s (--request-timeout changes how long it tries)", e.limit, e.why)
}

func notReady(last *watch.Snapshot, limit time.Duration) error {
	why := "the API server did not answer"
	if last != nil && last.Health.Err != "" {
		why = last.Health.Err
	}
	return silentError{limit, why}
}
