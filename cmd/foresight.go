package cmd

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/veltui/veltui/collector"
	"github.com/veltui/veltui/collector/cache"
	"github.com/veltui/veltui/forecast"
	"github.com/veltui/veltui/forecast/history"
	"github.com/veltui/veltui/job"
	"github.com/veltui/veltui/watch"
)

// openRates is what is remembered of how fast restores of a cluster went.
func (c *cli) openRates(conn connection, log *slog.Logger) *history.Book {
	o := history.Options{
		Context: conn.context, Server: clusterIdentity(conn.config), Clock: c.clock,
		Failed: func(err error) { log.Warn("how fast restores go", "error", err) },
	}
	if dir, err := c.stateDir(); err == nil {
		o.Dir = filepath.Join(dir, "rates")
	}
	return history.Open(o)
}

// foresightPatience is how long `get` waits for what an ETA needs.
const foresightPatience = 5 * time.Second

// foresight gives running restores an ETA that knows their mix, for `get`. It
// downloads nothing: it is silent about backups whose index is not on disk.
type foresight struct {
	cli      *cli
	conn     connection
	log      *slog.Logger
	indexes  *cache.Cache
	rates    *history.Book
	known    forecast.Rates
	alone    bool
	restores map[types.UID]*forecast.Restore
}

// newForesight makes one. alone is true if each restore is seen once, so that
// only what is known of the cluster makes an ETA.
func (c *cli) newForesight(alone bool) (*foresight, error) {
	conn, err := c.connect()
	if err != nil {
		return nil, err
	}
	log := slog.Default() // firstSnapshot has sent it to the log file
	f := &foresight{
		cli: c, conn: conn, log: log, alone: alone,
		indexes: c.openIndexes(conn.config, log), rates: c.openRates(conn, log),
		restores: map[types.UID]*forecast.Restore{},
	}
	f.known = f.rates.Known()
	return f, nil
}

// see is j with an ETA where one is known, and learns from restores that end.
func (f *foresight) see(ctx context.Context, snap *watch.Snapshot, j *job.Job) *job.Job {
	r, asked := f.restores[j.UID]
	if told, ok := r.Told(j); ok {
		f.rates.Learn(told)
	}
	if j.Kind != job.Restore || j.Stage != job.StageItems {
		return j
	}
	if !asked {
		var err error
		if r, err = f.follow(ctx, snap, j); err != nil {
			f.log.Info("no ETA by kind", "restore", j.Name, "error", err)
		}
		f.restores[j.UID] = r
	}
	return r.See(j, snap.Health.State == watch.Live)
}

// follow estimates what a restore restores; nil if that is not known.
func (f *foresight) follow(ctx context.Context, snap *watch.Snapshot, j *job.Job) (*forecast.Restore, error) {
	if f.alone && !f.known.Throttle.Valid() && len(f.known.Resources) == 0 {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(ctx, foresightPatience)
	defer cancel()
	spec, err := restoreSpec(j)
	if err != nil {
		return nil, err
	}
	index, err := f.index(ctx, snap, spec.BackupName)
	if err != nil {
		return nil, err
	}
	e, err := f.cli.newEstimator(f.conn.config, snap.Namespace, "", f.indexes, f.log)
	if err != nil {
		return nil, err
	}
	estimate, err := e.ask(ctx, index, collector.RestoreSpec{Restore: spec, Server: serverOf(snap.Server.Version)}, j.Started)
	if err != nil {
		return nil, err
	}
	steps := make([]forecast.Step, len(estimate.Steps))
	for i, s := range estimate.Steps {
		steps[i] = forecast.Step(s)
	}
	return forecast.Follow(steps, f.known), nil
}

// index is that of a backup, if it is on disk.
func (f *foresight) index(ctx context.Context, snap *watch.Snapshot, backup string) (*collector.Index, error) {
	for _, j := range snap.Jobs {
		if j.Kind == job.Backup && j.Name == backup && j.Namespace == snap.Namespace {
			return f.indexes.Index(ctx, string(j.UID), func(context.Context) (*collector.Index, error) {
				return nil, fmt.Errorf("what is in backup %s was not read before", backup)
			})
		}
	}
	return nil, fmt.Errorf("there is no backup %s", backup)
}
