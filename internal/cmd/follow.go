package cmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/veltui/veltui/internal/assess"
	"github.com/veltui/veltui/internal/cluster"
	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/watch"
)

const journalSize = 10_000

func (c *cli) follow(ctx context.Context, selected selection, order *sortBy, p printer) error {
	if order != nil {
		fmt.Fprintln(
			c.streams.ErrOut,
			"warning: --sort-by sorts the jobs that -w begins with; their changes come as they happen",
		)
	}
	need := p.parts.and(order.needs())
	f := follower{cli: c, selected: selected, order: order, printer: p, verdicts: need.verdicts || selected.stuck}
	o, err := c.following(ctx, selected, human.Short, func(o *watch.Options) {
		o.SumVolumes, o.With = !need.volumes, selected.with()
		if !f.verdicts && selected.things == nil {
			o.Only = selected.only() // the rest is there for verdicts
		}
	})
	if err != nil {
		return err
	}
	f.context = c.flags.CurrentContext // that is chosen now
	if !f.verdicts {
		o.Look = nil
	}
	for a, err := range cluster.Follow(ctx, o) {
		if err == nil {
			err = f.take(a)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// following starts a watch until ctx ends, for [cluster.Follow]; change narrows it.
func (c *cli) following(
	ctx context.Context,
	selected selection,
	style human.Style,
	change func(*watch.Options),
) (o cluster.FollowOptions, err error) {
	conn, err := c.connect()
	if err != nil {
		return o, err
	}
	w, err := c.watch(ctx, conn, c.logging(ctx), func(o *watch.Options) {
		o.Journal = journalSize
		change(o)
	})
	if err != nil {
		return o, err
	}
	monitor, err := c.newMonitor(nil)
	if err != nil {
		return o, err
	}
	monitor.SetStyle(style)
	return cluster.FollowOptions{
		Watcher:  w,
		Clock:    c.clock,
		Ready:    selected.ready,
		Patience: cmp.Or(max(conn.Config.Timeout, 0), firstSnapshotTimeout),
		Assess: func(ctx context.Context, snap *watch.Snapshot) *assess.Assessment {
			return monitor.Assess(ctx, snap, selected.matches)
		},
		Look: func(ctx context.Context, a *assess.Assessment, j *job.Job) {
			_ = monitor.LookCloser(ctx, a, j) // the next assessment says why it failed
		},
		Wanted: selected.matches,
	}, nil
}

type follower struct {
	cli      *cli
	selected selection
	order    *sortBy
	printer  printer
	context  string
	verdicts bool // they are printed or decide what is selected

	printed map[types.UID]string // the states of the rows
	things  []row                // as they were printed
	last    *assess.Assessment
	warn    malformedWarnings
	stale   bool
}

func (f *follower) stateOf(r row) string {
	if !f.verdicts && r.thing == nil {
		return ""
	}
	return r.state()
}

func (f *follower) take(a *assess.Assessment) error {
	f.last = a
	if f.printed == nil {
		return f.printList()
	}
	snap := a.Snapshot
	stale := snap.Health.State != watch.Live
	switch {
	case stale && !f.stale:
		fmt.Fprintf(f.cli.streams.ErrOut, "warning: the output may be out of date: %s\n", snap.Health.Err)
	case f.stale && !stale:
		fmt.Fprintln(f.cli.streams.ErrOut, "connected again")
	}
	f.stale = stale
	if snap.Dropped > 0 {
		fmt.Fprintf(
			f.cli.streams.ErrOut,
			"warning: skipped %d changes that came faster than veltui could print them\n",
			snap.Dropped,
		)
	}
	f.warn.print(f.cli, snap)
	return f.printChanges()
}

func (f *follower) printList() error {
	snap := f.last.Snapshot
	rows := f.selected.rows(f.context, f.last)
	if err := f.selected.missing(refs(rows), snap.Namespace); err != nil {
		return err
	}
	sorted, err := f.order.sorted(rows)
	if err != nil {
		return err
	}
	listed := answer{context: f.context, assessed: f.last}
	if err := f.printer.list(sorted, listed.malformed(), false); err != nil {
		return err
	}
	if len(rows) == 0 {
		fmt.Fprintf(
			f.cli.streams.ErrOut,
			"No %s found in namespace %s. veltui prints those that come.\n",
			f.selected.what(),
			snap.Namespace,
		)
	}
	f.keep(rows)
	f.warn.print(f.cli, snap)
	return nil
}

// keep remembers what was printed.
func (f *follower) keep(rows []row) {
	f.printed, f.things = map[types.UID]string{}, rows
	for _, r := range rows {
		f.printed[r.uid] = f.stateOf(r)
	}
}

// printThings prints each thing that is not as it was, and those that are gone.
func (f *follower) printThings() error {
	var changed []row
	now := f.selected.rows(f.context, f.last)
	for _, r := range f.things {
		if !slices.ContainsFunc(now, func(other row) bool { return other.uid == r.uid }) {
			r.assessed, r.deleted = f.last, true
			changed = append(changed, r)
		}
	}
	for _, r := range now {
		if state, known := f.printed[r.uid]; !known || state != f.stateOf(r) {
			changed = append(changed, r)
		}
	}
	f.keep(now)
	return f.printer.list(changed, nil, false)
}

func (f *follower) printChanges() error {
	if f.selected.things != nil {
		return f.printThings()
	}
	for _, change := range f.last.Snapshot.Changes {
		if err := f.print(change); err != nil {
			return err
		}
	}
	if !f.verdicts {
		return nil
	}
	for _, j := range f.last.Snapshot.Active {
		if before, known := f.printed[j.UID]; known && before == f.stateOf(newRow(f.context, f.last, j)) ||
			!known && !f.selected.stuck {
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
	r := newRow(f.context, f.last, change.Job)
	r.deleted = change.Deleted
	is := f.selected.matches(r.Job) && (!f.selected.stuck || r.Troubled())
	if _, was := f.printed[r.UID]; !is && !was {
		return nil
	}
	if is && !r.deleted {
		f.printed[r.UID] = f.stateOf(r)
	} else {
		delete(f.printed, r.UID)
	}
	return f.printer.list([]row{r}, nil, false)
}

func (c *cli) logging(ctx context.Context) *slog.Logger {
	logFile, _ := c.openLog()
	context.AfterFunc(ctx, func() { _ = logFile.Close() })
	return c.logTo(logFile)
}

func (c *cli) read(ctx context.Context, q watch.Query, log *slog.Logger) (*watch.Snapshot, error) {
	snap, err := c.readSources(ctx, q, log)
	if err != nil {
		return nil, err
	}
	for _, s := range snap.Sources {
		// Jobs that only a verdict needs may be unreadable: the verdict says so.
		if err := unreadable(s, snap.Namespace, q.Asks(s.Resource)); err != nil && !hasAll(snap, q) {
			return nil, err
		}
	}
	return snap, nil
}

// readSources reads once what may be read; the snapshot's sources say what may not.
func (c *cli) readSources(ctx context.Context, q watch.Query, log *slog.Logger) (*watch.Snapshot, error) {
	conn, err := c.connect()
	if err != nil {
		return nil, err
	}
	o := c.watchOptions(conn)
	o.Log = log
	q.Silence = cmp.Or(conn.Config.Timeout, firstSnapshotTimeout)
	if q.Progress == nil {
		add, stop := c.startCounts()
		defer stop()
		q.Progress = add
	}
	snap, err := watch.Read(ctx, o, q)
	var silence *watch.SilenceError
	var slow *watch.SlowError
	switch {
	case errors.As(err, &silence), errors.As(err, &slow):
		return nil, fmt.Errorf("%w (--request-timeout changes how long it waits)", err)
	case err != nil:
		return nil, cmp.Or(context.Cause(ctx), conn.Session.Moved(), err)
	}
	return snap, nil
}

func hasAll(snap *watch.Snapshot, q watch.Query) bool {
	for _, n := range q.Names {
		if !slices.ContainsFunc(
			snap.Jobs,
			func(j *job.Job) bool { return resourceOf(j.Kind) == n.Resource && j.Name == n.Name },
		) {
			return false
		}
	}
	return len(q.Names) > 0
}

func unreadable(s watch.Source, namespace string, wanted bool) error {
	switch {
	case wanted && s.State == watch.SourceForbidden:
		return fmt.Errorf("you may not read %s in namespace %s: %s", s.Resource, namespace, s.Err)
	case wanted && s.State == watch.SourceMissing:
		return fmt.Errorf("this cluster has no %s: is Velero installed? %s", s.Resource, s.Err)
	}
	return nil
}

// readJob reads the selected job with all of its volumes; without verdict, alone.
func (c *cli) readJob(ctx context.Context, selected selection, q watch.Query) (*watch.Snapshot, *job.Job, error) {
	asked := selected.query()
	q.Names, q.Kinds = asked.Names, nil
	snap, err := c.read(ctx, q, c.logging(ctx))
	if err != nil {
		return nil, nil, err
	}
	found := mapSlice(snap.Jobs, nameOf)
	if err := selected.missing(found, snap.Namespace); err != nil {
		return nil, nil, fmt.Errorf("%w%s", err, c.nearName(ctx, selected, found))
	}
	return snap, pick(snap.Jobs, selected)[0], nil
}
