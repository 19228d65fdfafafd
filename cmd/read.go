package cmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"

	"github.com/veltui/veltui/job"
	"github.com/veltui/veltui/watch"
)

// logging sends what libraries log to veltui's log file until ctx ends.
func (c *cli) logging(ctx context.Context, cancel context.CancelCauseFunc) *slog.Logger {
	logFile, _ := c.openLog()
	context.AfterFunc(ctx, func() { _ = logFile.Close() })
	return c.logTo(logFile, cancel)
}

// read asks the cluster once for what a command needs.
func (c *cli) read(ctx context.Context, q watch.Query, log *slog.Logger) (*watch.Snapshot, error) {
	conn, err := c.connect()
	if err != nil {
		return nil, err
	}
	o := c.watchOptions(conn)
	o.Log = log
	q.Silence = cmp.Or(conn.Config.Timeout, firstSnapshotTimeout)
	if q.Progress == nil {
		counts := c.startCounts()
		defer counts.stop()
		q.Progress = counts.add
	}
	snap, err := watch.Read(ctx, o, q)
	var silence *watch.SilenceError
	switch {
	case errors.As(err, &silence):
		return nil, fmt.Errorf("%w (--request-timeout changes how long it waits)", err)
	case err != nil:
		return nil, cmp.Or(context.Cause(ctx), conn.Session.Moved(), err)
	}
	for _, s := range snap.Sources {
		// Jobs that only a verdict needs may be unreadable: the verdict says so.
		if err := unreadable(s, snap.Namespace, q.Asks(s.Resource)); err != nil && !hasAll(snap, q) {
			return nil, err
		}
	}
	return snap, nil
}

// hasAll reports whether single jobs were asked for, and all are there.
func hasAll(snap *watch.Snapshot, q watch.Query) bool {
	for _, n := range q.Names {
		if !slices.ContainsFunc(snap.Jobs, func(j *job.Job) bool { return resourceOf(j.Kind) == n.Resource && j.Name == n.Name }) {
			return false
		}
	}
	return len(q.Names) > 0
}

// unreadable is why a kind that is asked for cannot be read.
func unreadable(s watch.Source, namespace string, wanted bool) error {
	switch {
	case wanted && s.State == watch.SourceForbidden:
		return fmt.Errorf("you may not read %s in namespace %s: %s", s.Resource, namespace, s.Err)
	case wanted && s.State == watch.SourceMissing:
		return fmt.Errorf("this cluster has no %s: is Velero installed? %s", s.Resource, s.Err)
	}
	return nil
}

// readJob reads the one job that is selected, with all of its volumes. Without
// verdict it is read alone.
func (c *cli) readJob(ctx context.Context, cancel context.CancelCauseFunc, selected selection, q watch.Query) (*watch.Snapshot, *job.Job, error) {
	asked := selected.query()
	q.Names, q.Kinds = asked.Names, nil
	snap, err := c.read(ctx, q, c.logging(ctx, cancel))
	if err != nil {
		return nil, nil, err
	}
	if err := selected.missing(snap.Jobs, snap.Namespace); err != nil {
		return nil, nil, fmt.Errorf("%w%s", err, c.nearName(ctx, selected, snap.Jobs))
	}
	return snap, pick(snap.Jobs, selected)[0], nil
}
