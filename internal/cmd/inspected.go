package cmd

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"strconv"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/types"

	"github.com/veltui/veltui/collector/cache"
	"github.com/veltui/veltui/internal/assess"
	"github.com/veltui/veltui/internal/cluster"
	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/job/forecast/history"
	"github.com/veltui/veltui/internal/session"
	"github.com/veltui/veltui/internal/stored/artifact"
	"github.com/veltui/veltui/watch"
)

// inspected is the cluster of the command's context. Its log is where [cli.logging] or a session sent it.
func (c *cli) inspected() *cluster.Cluster {
	log := slog.Default()
	return &cluster.Cluster{
		Connect:        c.connect,
		Clock:          c.clock,
		Log:            log,
		ReadOnly:       c.isReadOnly(),
		CAFile:         c.caFile,
		AllowPlainHTTP: c.plainHTTP.allows(),
		Announce:       c.plainHTTP.announcer(c.streams.ErrOut, log),
		Version:        version,
		Requests:       c.requests,
		AuditDir:       c.auditDir,
		Records:        c.records(),
	}
}

func (c *cli) addCAFile(cmd *cobra.Command, flags *pflag.FlagSet) {
	flags.StringVar(&c.caFile, "cacert", "", "PEM file with the CA certificates of the object store")
	completeFiles(cmd, "cacert")
}

func (c *files) openIndexes(conn cluster.Connection) *cache.Cache {
	o := cache.Options{
		Cluster: session.CacheKey(conn.Config), Clock: c.clock,
		Identify: func(ctx context.Context) (types.UID, error) {
			id, err := conn.Session.Identify(ctx)
			return id.UID, err
		},
		Failed: func(err error) { slog.Warn("cannot use the index cache", "error", err) },
	}
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
			fmt.Fprintf(
				errOut,
				"warning: downloading from %s over plain http; anyone on the network can read the data\n",
				r.Host,
			)
		}
	}
}

func (c *files) openRates(conn cluster.Connection) *history.Book {
	o := history.Options{
		Context: conn.Context, Server: session.CacheKey(conn.Config), Clock: c.clock,
		UID: func() (uid string, asked bool) {
			id := conn.Session.Identity()
			return string(id.UID), id.Identified()
		},
		Failed: func(err error) { slog.Warn("how fast restores go", "error", err) },
	}
	if dir, err := c.stateDir(); err == nil {
		o.Dir = filepath.Join(dir, "rates")
	}
	return history.Open(o)
}

// newMonitor makes the monitor of the command's cluster. waiting is told what a closer look asks the object store; nil
// for nobody.
func (c *cli) newMonitor(waiting func(what string)) (*cluster.Monitor, error) {
	conn, err := c.connect()
	if err != nil {
		return nil, err
	}
	cluster := c.inspected()
	cluster.Indexes, cluster.Rates = c.openIndexes(conn), c.openRates(conn)
	cluster.Waiting = waiting
	return cluster.NewMonitor(c.threshold(backupAge)), nil
}

// judgedJob reads and assesses the selected job, with other kinds as needed and with the closer look that its verdict
// needs.
func (c *cli) judgedJob(
	ctx context.Context, selected selection, also ...string,
) (*assess.Assessment, assess.Judged, error) {
	examined, judged, err := c.examineJob(ctx, selected, also...)
	return examined.Assessment, judged, err
}

// examineJob is judgedJob, with what the closer looks found.
func (c *cli) examineJob(
	ctx context.Context, selected selection, also ...string,
) (cluster.Examination, assess.Judged, error) {
	snap, _, err := c.readJob(ctx, selected, watch.Query{Volumes: true, Also: append(also, watch.Deletions)})
	if err != nil {
		return cluster.Examination{}, assess.Judged{}, err
	}
	examined, err := c.examine(ctx, snap, selected, true)
	if err != nil {
		return cluster.Examination{}, assess.Judged{}, err
	}
	return examined, examined.Of(pick(examined.Snapshot.Jobs, selected)[0]), nil
}

// assess assesses one snapshot, with the closer looks that the verdicts on the selected jobs need.
func (c *cli) assess(ctx context.Context, snap *watch.Snapshot, selected selection) (*assess.Assessment, error) {
	examined, err := c.examine(ctx, snap, selected, len(selected.names) > 0)
	return examined.Assessment, err
}

// examine is assess, with what the closer looks found. It warns of jobs that veltui could not look closer at.
// byName says that the jobs were asked for by their names.
func (c *cli) examine(
	ctx context.Context, snap *watch.Snapshot, selected selection, byName bool,
) (cluster.Examination, error) {
	monitor, err := c.newMonitor(c.tellSlow(waitingForAnswer))
	if err != nil {
		return cluster.Examination{}, err
	}
	examined := monitor.AssessOnce(ctx, snap, selected.matches, byName)
	if moved := c.pinned.moved(); moved != nil { // which left the closer looks without an answer
		return cluster.Examination{}, moved
	}
	if len(examined.Unseen) > 0 {
		names := mapSlice(examined.Unseen, func(j *job.Job) string { return nameOf(j).String() })
		fmt.Fprintf(c.streams.ErrOut, "warning: not checked closer: %s; 'veltui explain KIND/NAME' checks one job\n",
			human.List(names, 3))
	}
	return examined, nil
}
