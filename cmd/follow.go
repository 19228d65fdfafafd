package cmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"

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
	told := map[types.UID]bool{} // is what was told of a job that it is selected
	for _, j := range begun.jobs {
		told[j.UID] = true
	}
	var warn malformedWarnings
	warn.print(c, snap)
	stale := false
	for {
		snap, err := w.Next(ctx)
		if err != nil {
			return cmp.Or(context.Cause(ctx), err)
		}
		if isStale := snap.Health.State != watch.Live; isStale != stale {
			stale = isStale
			c.printHealth(snap.Health)
		}
		if snap.Dropped > 0 {
			fmt.Fprintf(c.streams.ErrOut, "warning: skipped %d changes that came faster than veltui could print them\n", snap.Dropped)
		}
		warn.print(c, snap)
		assessed := known.assess(ctx, snap, selected.matches)
		for _, change := range assessed.Snapshot.Changes {
			j := change.Job
			is := selected.matches(j) && (!selected.stuck || assessed.Of(j).Troubled())
			if !is && !told[j.UID] {
				continue
			}
			told[j.UID] = is && !change.Deleted // that it is no longer selected is told, too
			if err := p.change(change, assessed); err != nil {
				return printError{err}
			}
		}
	}
}

func (c *cli) printHealth(h watch.Health) {
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
	return w, cmp.Or(max(conn.config.Timeout, 0), firstSnapshotTimeout), err
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
