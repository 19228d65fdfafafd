package cmd

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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

// inspected is the cluster of the command's context. Its log is where [cli.logging] or a session sent it.
func (c *cli) inspected() *inspect.Cluster {
	log := slog.Default()
	return &inspect.Cluster{
		Connect: c.connect, Clock: c.clock, Log: log, ReadOnly: c.isReadOnly(), CAFile: c.caFile,
		AllowPlainHTTP: c.plainHTTP.allows(), Announce: c.plainHTTP.announcer(c.streams.ErrOut, log), Version: version, Requests: c.requests, AuditDir: c.auditDir, Records: c.records(),
	}
}

func (c *cli) addCAFile(cmd *cobra.Command, flags *pflag.FlagSet) {
	flags.StringVar(&c.caFile, "cacert", "", "PEM file with the CA certificates of the object store")
	completeFiles(cmd, "cacert")
}

func (c *files) openIndexes(config *rest.Config) *cache.Cache {
	o := cache.Options{Cluster: session.CacheKey(config), Clock: c.clock, Failed: func(err error) { slog.Warn("cannot use the index cache", "error", err) }}
	if dir, err := c.folder("XDG_CACHE_HOME", ".cache"); err == nil {
		o.Dir = filepath.Join(dir, "indexes")
	}
	return cache.Open(o)
}

type plainHTTP struct {
	*process
	allowed bool // --allow-plain-http
	silent  bool
}

// allows is true only for a clear yes in the variable, or with the flag.
func (p *plainHTTP) allows() bool {
	yes, err := strconv.ParseBool(p.env("VELTUI_ALLOW_PLAIN_HTTP"))
	return p.allowed || err == nil && yes
}

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

func (c *files) openRates(conn inspect.Connection) *history.Book {
	o := history.Options{
		Context: conn.Context, Server: session.CacheKey(conn.Config), Clock: c.clock,
		Failed: func(err error) { slog.Warn("how fast restores go", "error", err) },
	}
	if dir, err := c.stateDir(); err == nil {
		o.Dir = filepath.Join(dir, "rates")
	}
	return history.Open(o)
}

const estimateTimeout = 5 * time.Second

// cachedEstimates gives running restores a total and an ETA by their mix, from indexes on disk.
type cachedEstimates struct {
	cluster   *inspect.Cluster
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
	k := &cachedEstimates{cluster: c.inspected(), book: c.openRates(conn), asked: map[types.UID]bool{}}
	k.cluster.Indexes, k.cluster.ReadOnly, k.rates = c.openIndexes(conn.Config), true, k.book.Known()
	return k, nil
}

// judgedJob reads and judges the selected job, with other kinds as needed.
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

// assess judges one snapshot. One look shows no speed: estimates help only with learned rates.
func (c *cli) assess(ctx context.Context, snap *watch.Snapshot, selected selection) (*assess.Assessment, error) {
	k, err := c.newCachedEstimates()
	if err != nil {
		return nil, err
	}
	learned := k.rates.Throttle.Valid() || len(k.rates.Resources) > 0
	return k.assess(ctx, snap, func(j *job.Job) bool { return learned && selected.matches(j) }), nil
}

// assess judges a snapshot, estimates the wanted restores that process items, and records learned rates.
func (k *cachedEstimates) assess(ctx context.Context, snap *watch.Snapshot, wanted func(*job.Job) bool) *assess.Assessment {
	for _, j := range snap.Active {
		if j.Kind != job.Restore || j.Stage != job.StageItems || !wanted(j) || k.asked[j.UID] {
			continue
		}
		k.asked[j.UID] = true
		if err := k.estimate(ctx, snap, j); err != nil {
			k.cluster.Log.Info("no ETA by kind", "restore", j.Name, "error", err)
		}
	}
	assessed := k.estimates.Assess(snap, k.cluster.Clock())
	for _, rates := range k.estimates.Learned() {
		k.book.Learn(rates)
	}
	return assessed
}

func (k *cachedEstimates) estimate(ctx context.Context, snap *watch.Snapshot, j *job.Job) error {
	ctx, cancel := context.WithTimeout(ctx, estimateTimeout)
	defer cancel()
	spec, err := inspect.RestoreSpec(j)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(snap.Jobs, func(b *job.Job) bool { return b.Kind == job.Backup && b.Name == spec.BackupName })
	if i < 0 {
		return fmt.Errorf("there is no backup %s", spec.BackupName)
	}
	store, err := k.cluster.Store(snap.Namespace)
	if err != nil {
		return err
	}
	index, err := store.Index(ctx, &velerov1.Backup{ObjectMeta: metav1.ObjectMeta{Name: spec.BackupName, UID: snap.Jobs[i].UID}}, nil)
	if err != nil {
		return err // it is not on disk
	}
	estimate, err := store.Estimate(ctx, index, collector.RestoreSpec{Restore: spec, Policy: inspect.SelectedBy(j), Server: inspect.ServerOf(snap.Server)}, j.Started)
	if err != nil {
		return err
	}
	k.estimates.Set(j.UID, estimate, k.rates, forecast.LimitOf(snap.Server))
	return nil
}
