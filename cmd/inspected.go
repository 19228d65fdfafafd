package cmd

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/veltui/veltui/assess"
	"github.com/veltui/veltui/collector"
	"github.com/veltui/veltui/collector/cache"
	"github.com/veltui/veltui/inspect"
	"github.com/veltui/veltui/job"
	"github.com/veltui/veltui/job/forecast"
	"github.com/veltui/veltui/job/forecast/history"
	"github.com/veltui/veltui/session"
	"github.com/veltui/veltui/stored/artifact"
	"github.com/veltui/veltui/watch"
)

// inspected is the cluster of the command's context. caFile holds certificates of the
// object store, or is empty.
func (c *cli) inspected(caFile string, log *slog.Logger) *inspect.Cluster {
	return &inspect.Cluster{
		Connect: c.connect, Clock: c.clock, Log: log, ReadOnly: c.isReadOnly(), Demo: c.inDemo, CAFile: caFile,
		AllowPlainHTTP: c.plainHTTP.allows(), Announce: c.plainHTTP.announcer(c.streams.ErrOut, log), Version: version, Requests: c.requests, AuditDir: c.auditDir,
	}
}

// addCAFile adds --cacert.
func addCAFile(flags *pflag.FlagSet, to *string) {
	flags.StringVar(to, "cacert", "", "PEM file with the CA certificates of the object store")
	completeFiles(flags, "cacert")
}

// openIndexes is the cache of what is in a cluster's backups.
func (c *files) openIndexes(config *rest.Config, log *slog.Logger) *cache.Cache {
	return cache.Open(cache.Options{
		Dir: c.indexDir(), Cluster: session.CacheKey(config), Clock: c.clock,
		Failed: func(err error) { log.Warn("cannot use the index cache", "error", err) },
	})
}

// indexDir is the XDG place for indexes of backups, empty if there is none.
func (c *files) indexDir() string {
	if dir := c.env("XDG_CACHE_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "veltui", "indexes")
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return ""
	}
	return filepath.Join(home, ".cache", "veltui", "indexes")
}

// plainHTTP is what the user allows about object stores without TLS.
type plainHTTP struct {
	*process
	allowed bool // --allow-plain-http
	// silent is true while something else has the screen.
	silent bool
}

// allows is what --allow-plain-http and VELTUI_ALLOW_PLAIN_HTTP say.
// Whatever is not a clear yes in the variable means no.
func (p *plainHTTP) allows() bool {
	yes, err := strconv.ParseBool(p.env("VELTUI_ALLOW_PLAIN_HTTP"))
	return p.allowed || err == nil && yes
}

// announcer says on a writer, before they come, that bytes come unencrypted.
func (p *plainHTTP) announcer(errOut io.Writer, log *slog.Logger) func(artifact.Route) {
	return func(r artifact.Route) {
		if !r.PlainHTTP {
			return
		}
		log.Warn("a download comes over plain http", "host", r.Host, "via", r.Via)
		if !p.silent {
			fmt.Fprintf(errOut, "warning: downloading from %s over plain http; anyone on the network can read the data\n", r.Host)
		}
	}
}

// openRates is what is remembered of how fast restores of a cluster went.
func (c *files) openRates(conn inspect.Connection, log *slog.Logger) *history.Book {
	o := history.Options{
		Context: conn.Context, Server: session.CacheKey(conn.Config), Clock: c.clock,
		Failed: func(err error) { log.Warn("how fast restores go", "error", err) },
	}
	if dir, err := c.stateDir(); err == nil {
		o.Dir = filepath.Join(dir, "rates")
	}
	return history.Open(o)
}

// estimateTimeout is how long a command waits for what an estimate needs.
const estimateTimeout = 5 * time.Second

// cachedEstimates gives running restores a total and an ETA that knows their
// mix, for commands. It downloads nothing: it is silent about backups whose
// index is not on disk.
type cachedEstimates struct {
	cli       *cli
	log       *slog.Logger
	indexes   *cache.Cache
	book      *history.Book
	rates     forecast.Rates
	estimates assess.Estimates
	asked     map[types.UID]bool
}

func (c *cli) newCachedEstimates() (*cachedEstimates, error) {
	conn, err := c.connect()
	if err != nil {
		return nil, err
	}
	log := slog.Default() // read has sent it to the log file
	k := &cachedEstimates{
		cli: c, log: log,
		indexes: c.openIndexes(conn.Config, log), book: c.openRates(conn, log), asked: map[types.UID]bool{},
	}
	k.rates = k.book.Known()
	return k, nil
}

// judgedJob reads the one job that is selected, and all that is needed to judge
// it, and also other kinds.
func (c *cli) judgedJob(ctx context.Context, selected selection, also ...string) (*assess.Assessment, assess.Judged, error) {
	snap, _, err := c.readJob(ctx, selected, watch.Query{Volumes: true, Also: append(also, watch.Deletions)})
	if err != nil {
		return nil, assess.Judged{}, err
	}
	assessed, err := c.assess(ctx, snap, selected)
	if err != nil {
		return nil, assess.Judged{}, err
	}
	return assessed, assessed.Of(pick(assessed.Snapshot.Jobs, selected)[0]), nil
}

// assess judges one snapshot for a command that looks once. One look shows no
// speed, so that estimates are of use only where rates were learned before.
func (c *cli) assess(ctx context.Context, snap *watch.Snapshot, selected selection) (*assess.Assessment, error) {
	k, err := c.newCachedEstimates()
	if err != nil {
		return nil, err
	}
	wanted := selected.matches
	if !k.rates.Throttle.Valid() && len(k.rates.Resources) == 0 {
		wanted = func(*job.Job) bool { return false }
	}
	return k.assess(ctx, snap, wanted), nil
}

// assess judges a snapshot, with estimates of the wanted restores that are in
// their items, and writes down what others tell that are done with them.
func (k *cachedEstimates) assess(ctx context.Context, snap *watch.Snapshot, wanted func(*job.Job) bool) *assess.Assessment {
	for _, j := range snap.Active {
		if j.Kind != job.Restore || j.Stage != job.StageItems || !wanted(j) || k.asked[j.UID] {
			continue
		}
		k.asked[j.UID] = true
		if err := k.estimate(ctx, snap, j); err != nil {
			k.log.Info("no ETA by kind", "restore", j.Name, "error", err)
		}
	}
	assessed := k.estimates.Assess(snap, k.cli.clock())
	for _, rates := range k.estimates.Learned() {
		k.book.Learn(rates)
	}
	return assessed
}

// estimate works out what a restore restores.
func (k *cachedEstimates) estimate(ctx context.Context, snap *watch.Snapshot, j *job.Job) error {
	ctx, cancel := context.WithTimeout(ctx, estimateTimeout)
	defer cancel()
	spec, err := inspect.RestoreSpec(j)
	if err != nil {
		return err
	}
	index, err := k.index(ctx, snap, spec.BackupName)
	if err != nil {
		return err
	}
	store, err := k.cli.inspected("", k.log).Store(snap.Namespace)
	if err != nil {
		return err
	}
	estimate, err := store.Estimate(ctx, index, collector.RestoreSpec{Restore: spec, Server: inspect.ServerOf(snap.Server)}, j.Started)
	if err != nil {
		return err
	}
	k.estimates.Set(j.UID, estimate, k.rates, forecast.LimitOf(snap.Server))
	return nil
}

// index is that of a backup, if it is on disk.
func (k *cachedEstimates) index(ctx context.Context, snap *watch.Snapshot, backup string) (*collector.Index, error) {
	for _, j := range snap.Jobs {
		if j.Kind == job.Backup && j.Name == backup && j.Namespace == snap.Namespace {
			return k.indexes.Index(ctx, string(j.UID), func(context.Context) (*collector.Index, error) {
				return nil, fmt.Errorf("the contents of backup %s are not in the cache", backup)
			})
		}
	}
	return nil, fmt.Errorf("there is no backup %s", backup)
}
