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

const maxJournalEntries = 10_000

func (c *cli) followRows(ctx context.Context, selected selection, order *sortOrder, p rowPrinter) error {
	if order != nil {
		fmt.Fprintln(
			c.stdio.streams.ErrOut,
			"warning: --sort-by sorts the jobs that -w begins with; their changes come as they happen",
		)
	}
	need := p.dataNeeds.mergeNeeds(order.neededData())
	f := rowFollower{cli: c, selected: selected, order: order, printer: p, needsVerdicts: need.verdicts || selected.stuck}
	o, err := c.newFollowOptions(ctx, selected, human.ShortStyle, func(o *watch.Options) {
		o.SumVolumes, o.OptionalKinds = !need.volumes, selected.optionalKinds()
		if !f.needsVerdicts && selected.thingKind == nil {
			o.OnlyJobs = selected.watchedJobs() // only verdicts need the others
		}
	})
	if err != nil {
		return err
	}
	f.context = c.connector.flags.CurrentContext // chosen by opening the connection
	if !f.needsVerdicts {
		o.TakeCloserLook, o.ReadLogs = nil, nil
	}
	for a, err := range cluster.Follow(ctx, o) {
		if err == nil {
			err = f.handleAssessment(a)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// newFollowOptions starts a watch until ctx ends, for [cluster.Follow]; change restricts the watch.
func (c *cli) newFollowOptions(
	ctx context.Context,
	selected selection,
	style human.DurationStyle,
	change func(*watch.Options),
) (o cluster.FollowOptions, err error) {
	conn, err := c.connector.openConnection()
	if err != nil {
		return o, err
	}
	w, err := c.connector.startWatch(ctx, conn, c.openLogger(ctx), func(o *watch.Options) {
		o.JournalLimit = maxJournalEntries
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
		Watcher:    w,
		Clock:      c.process.clock,
		Ready:      selected.checkReady,
		MaxSilence: cmp.Or(max(conn.Config.Timeout, 0), firstSnapshotTimeout),
		Assess: func(ctx context.Context, snap *watch.Snapshot) *assess.Assessment {
			return monitor.AssessSnapshot(ctx, snap, selected.matchesJob)
		},
		TakeCloserLook: func(ctx context.Context, a *assess.Assessment, j *job.Job) {
			_ = monitor.TakeCloserLook(ctx, a, j) // the next assessment says why it failed
		},
		ReadLogs: monitor.ReadServerLogs,
		IsWanted: selected.matchesJob,
	}, nil
}

type rowFollower struct {
	cli           *cli
	selected      selection
	order         *sortOrder
	printer       rowPrinter
	context       string
	needsVerdicts bool // verdicts are printed or needed for the selection

	printedStates map[types.UID]string // the states of the printed rows
	printedThings []listRow            // as last printed
	lastAssessed  *assess.Assessment
	warnings      malformedWarnings
	stale         bool
}

func (f *rowFollower) rowState(r listRow) string {
	if !f.needsVerdicts && r.thing == nil {
		return ""
	}
	return r.stateKey()
}

func (f *rowFollower) handleAssessment(a *assess.Assessment) error {
	f.lastAssessed = a
	if f.printedStates == nil {
		return f.printList()
	}
	snap := a.Snapshot
	stale := snap.Health.State != watch.Live
	switch {
	case stale && !f.stale:
		fmt.Fprintf(f.cli.stdio.streams.ErrOut, "warning: the output may be out of date: %s\n", snap.Health.Err)
	case f.stale && !stale:
		fmt.Fprintln(f.cli.stdio.streams.ErrOut, "connected again")
	}
	f.stale = stale
	if snap.DroppedChanges > 0 {
		fmt.Fprintf(
			f.cli.stdio.streams.ErrOut,
			"warning: skipped %d changes that came faster than veltui could print them\n",
			snap.DroppedChanges,
		)
	}
	f.warnings.printNewWarnings(f.cli.stdio, snap)
	return f.printChanges()
}

func (f *rowFollower) printList() error {
	snap := f.lastAssessed.Snapshot
	rows := f.selected.buildRows(f.context, f.lastAssessed)
	if err := f.selected.checkFound(rowRefs(rows), snap.Namespace); err != nil {
		return err
	}
	sorted, err := f.order.sortRows(rows)
	if err != nil {
		return err
	}
	listed := targetAnswer{context: f.context, assessed: f.lastAssessed}
	if err := f.printer.printRows(sorted, listed.malformedDocuments(), rowPlaces{}); err != nil {
		return err
	}
	if len(rows) == 0 {
		fmt.Fprintf(
			f.cli.stdio.streams.ErrOut,
			"No %s found in namespace %s. veltui prints those that come.\n",
			f.selected.kindText(),
			snap.Namespace,
		)
	}
	f.recordPrintedRows(rows)
	f.cli.noteOtherVeleros(snap, "")
	f.warnings.printNewWarnings(f.cli.stdio, snap)
	return nil
}

// recordPrintedRows records the printed rows.
func (f *rowFollower) recordPrintedRows(rows []listRow) {
	f.printedStates, f.printedThings = map[types.UID]string{}, rows
	for _, r := range rows {
		f.printedStates[r.uid] = f.rowState(r)
	}
}

// printChangedThings prints each thing that has changed or was deleted.
func (f *rowFollower) printChangedThings() error {
	var changed []listRow
	now := f.selected.buildRows(f.context, f.lastAssessed)
	for _, r := range f.printedThings {
		if !slices.ContainsFunc(now, func(other listRow) bool { return other.uid == r.uid }) {
			r.assessed, r.deleted = f.lastAssessed, true
			changed = append(changed, r)
		}
	}
	for _, r := range now {
		if state, known := f.printedStates[r.uid]; !known || state != f.rowState(r) {
			changed = append(changed, r)
		}
	}
	f.recordPrintedRows(now)
	return f.printer.printRows(changed, nil, rowPlaces{})
}

func (f *rowFollower) printChanges() error {
	if f.selected.thingKind != nil {
		return f.printChangedThings()
	}
	for _, change := range f.lastAssessed.Snapshot.Changes {
		if err := f.printChange(change); err != nil {
			return err
		}
	}
	if !f.needsVerdicts {
		return nil
	}
	for _, j := range f.lastAssessed.Snapshot.Active {
		if before, known := f.printedStates[j.UID]; known && before == f.rowState(newRow(f.context, f.lastAssessed, j)) ||
			!known && !f.selected.stuck {
			continue
		}
		if err := f.printChange(watch.Change{Job: j}); err != nil {
			return err
		}
	}
	return nil
}

// printChange prints one job if it is selected, and once more when it no longer is.
func (f *rowFollower) printChange(change watch.Change) error {
	r := newRow(f.context, f.lastAssessed, change.Job)
	r.deleted = change.Deleted
	is := f.selected.matchesJob(r.Job) && (!f.selected.stuck || r.IsTroubled())
	if _, was := f.printedStates[r.UID]; !is && !was {
		return nil
	}
	if is && !r.deleted {
		f.printedStates[r.UID] = f.rowState(r)
	} else {
		delete(f.printedStates, r.UID)
	}
	return f.printer.printRows([]listRow{r}, nil, rowPlaces{})
}

func (c *cli) openLogger(ctx context.Context) *slog.Logger {
	logFile, _ := c.files.openLog()
	context.AfterFunc(ctx, func() { _ = logFile.Close() })
	return c.newLogger(logFile)
}

// readSnapshot is readCompleteSnapshot for a command that reads one Velero; it notes if there are others.
func (c *cli) readSnapshot(ctx context.Context, q watch.Query, log *slog.Logger) (*watch.Snapshot, error) {
	snap, err := c.readCompleteSnapshot(ctx, q, log)
	if err == nil {
		c.noteOtherVeleros(snap, "")
	}
	return snap, err
}

// readCompleteSnapshot reads once, and fails if the user may not read what the query asks for.
func (c *cli) readCompleteSnapshot(ctx context.Context, q watch.Query, log *slog.Logger) (*watch.Snapshot, error) {
	snap, err := c.readPartialSnapshot(ctx, q, log)
	if err != nil {
		return nil, err
	}
	for _, s := range snap.Sources {
		// Jobs that only a verdict needs may be unreadable: the verdict says so.
		if err := unreadableSourceError(s, snap.Namespace, q.IncludesKind(s.Resource)); err != nil &&
			!hasAllNamedJobs(snap, q) {
			return nil, err
		}
	}
	return snap, nil
}

// readPartialSnapshot reads once all that the user may read; the snapshot's sources tell what was forbidden.
func (c *cli) readPartialSnapshot(ctx context.Context, q watch.Query, log *slog.Logger) (*watch.Snapshot, error) {
	conn, err := c.connector.openConnection()
	if err != nil {
		return nil, err
	}
	o := c.connector.watchOptions(conn)
	o.Log = log
	q.SilenceTimeout = cmp.Or(conn.Config.Timeout, firstSnapshotTimeout)
	if q.Progress == nil {
		add, stop := c.stdio.startCountMeter()
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
		return nil, cmp.Or(context.Cause(ctx), conn.Session.CheckKubeconfig(), err)
	}
	return snap, nil
}

func hasAllNamedJobs(snap *watch.Snapshot, q watch.Query) bool {
	for _, n := range q.JobNames {
		if !slices.ContainsFunc(
			snap.Jobs,
			func(j *job.Job) bool { return kindResource(j.Kind) == n.Resource && j.Name == n.Name },
		) {
			return false
		}
	}
	return len(q.JobNames) > 0
}

func unreadableSourceError(s watch.Source, namespace string, wanted bool) error {
	switch {
	case wanted && s.State == watch.SourceForbidden:
		return fmt.Errorf("you may not read %s in namespace %s: %s", s.Resource, namespace, s.Err)
	case wanted && s.State == watch.SourceMissing:
		return fmt.Errorf("this cluster has no %s: is Velero installed? %s", s.Resource, s.Err)
	}
	return nil
}

// readJob reads the selected job with all of its volumes; without a verdict, it reads nothing else.
func (c *cli) readJob(ctx context.Context, selected selection, q watch.Query) (*watch.Snapshot, *job.Job, error) {
	asked := selected.buildQuery()
	q.JobNames, q.Kinds = asked.JobNames, nil
	snap, err := c.readSnapshot(ctx, q, c.openLogger(ctx))
	if err != nil {
		return nil, nil, err
	}
	found := mapSlice(snap.Jobs, jobRefOf)
	if err := selected.checkFound(found, snap.Namespace); err != nil {
		return nil, nil, fmt.Errorf("%w%s", err, c.connector.suggestName(ctx, selected, found))
	}
	return snap, selectJobs(snap.Jobs, selected)[0], nil
}
