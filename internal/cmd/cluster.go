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

// newCluster returns the cluster of the command's context. It logs to the destination that [cli.openLogger] or a
// session has set.
func (c *cli) newCluster() *cluster.Cluster {
	log := slog.Default()
	return &cluster.Cluster{
		Connect:              c.connector.openConnection,
		Clock:                c.process.clock,
		Log:                  log,
		ReadOnly:             c.settings.isReadOnly(),
		CAFile:               c.storeCAFile,
		AllowPlainHTTP:       c.plainHTTP.isAllowed(),
		OnPlainHTTP:          c.plainHTTP.newRouteAnnouncer(c.stdio.streams.ErrOut, log),
		Version:              version,
		OpenDownloadRequests: c.connector.pendingRequests,
		AuditDir:             c.files.auditDir,
		CoverageRecords:      c.files.openCoverageRecords(),
	}
}

func (c *cli) addStoreCAFlag(cmd *cobra.Command, flags *pflag.FlagSet) {
	flags.StringVar(&c.storeCAFile, "cacert", "", "PEM file with the CA certificates of the object store")
	completeFiles(cmd, "cacert")
}

func (c *localFiles) openIndexCache(conn cluster.Connection) *cache.Cache {
	o := cache.Options{
		Cluster: session.CacheKey(conn.Config), Clock: c.process.clock,
		Identify: func(ctx context.Context) (types.UID, error) {
			id, err := conn.Session.Identify(ctx)
			return id.UID, err
		},
		OnError: func(err error) { slog.Warn("cannot use the index cache", "error", err) },
	}
	if dir, err := c.process.xdgDir("XDG_CACHE_HOME", ".cache"); err == nil {
		o.Dir = filepath.Join(dir, "indexes")
	}
	return cache.Open(o)
}

type plainHTTPPolicy struct {
	process       *processEnv
	allowedByFlag bool // --allow-plain-http
	silent        bool
}

// isAllowed reports whether the flag is given or the variable is a clear yes.
func (p *plainHTTPPolicy) isAllowed() bool {
	yes, err := strconv.ParseBool(p.process.getenv("VELTUI_ALLOW_PLAIN_HTTP"))
	return p.allowedByFlag || err == nil && yes
}

func (p *plainHTTPPolicy) newRouteAnnouncer(errOut io.Writer, log *slog.Logger) func(artifact.Route) {
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

func (c *localFiles) openRates(conn cluster.Connection) *history.RateStore {
	o := history.Options{
		Context: conn.Context, Server: session.CacheKey(conn.Config), Clock: c.process.clock,
		ClusterUID: func() (uid string, asked bool) {
			id := conn.Session.Identity()
			return string(id.UID), id.IsIdentified()
		},
		OnError: func(err error) { slog.Warn("how fast restores go", "error", err) },
	}
	if dir, err := c.stateDir(); err == nil {
		o.Dir = filepath.Join(dir, "rates")
	}
	return history.Open(o)
}

// newMonitor returns the monitor of the command's cluster. waiting is called with what a closer look requests from
// the object store; it may be nil.
func (c *cli) newMonitor(waiting func(what string)) (*cluster.Assessor, error) {
	conn, err := c.connector.openConnection()
	if err != nil {
		return nil, err
	}
	cluster := c.newCluster()
	cluster.Indexes, cluster.RestoreRates = c.files.openIndexCache(conn), c.files.openRates(conn)
	cluster.OnWaiting = waiting
	return cluster.NewAssessor(c.settings.ageThreshold(backupAgeSetting), conn.Request.ClusterAccess()), nil
}

// readJudgedJob reads and assesses the selected job, with other kinds as needed and with the closer look that its
// verdict needs.
func (c *cli) readJudgedJob(
	ctx context.Context, selected selection, also ...string,
) (*assess.Assessment, assess.JudgedJob, error) {
	examined, judged, err := c.examineJob(ctx, selected, also...)
	return examined.Assessment, judged, err
}

// examineJob is like readJudgedJob, and also returns the results of the closer looks.
func (c *cli) examineJob(
	ctx context.Context, selected selection, also ...string,
) (cluster.SingleAssessment, assess.JudgedJob, error) {
	snap, _, err := c.readJob(
		ctx,
		selected,
		watch.Query{EndedVolumes: true, ExtraKinds: append(also, watch.DeleteRequests)},
	)
	if err != nil {
		return cluster.SingleAssessment{}, assess.JudgedJob{}, err
	}
	examined, err := c.examineSnapshot(ctx, snap, selected, true)
	if err != nil {
		return cluster.SingleAssessment{}, assess.JudgedJob{}, err
	}
	return examined, examined.AssessJob(selectJobs(examined.Snapshot.Jobs, selected)[0]), nil
}

// assessSnapshot assesses one snapshot, with the closer looks that the verdicts on the selected jobs need.
func (c *cli) assessSnapshot(
	ctx context.Context,
	snap *watch.Snapshot,
	selected selection,
) (*assess.Assessment, error) {
	examined, err := c.examineSnapshot(ctx, snap, selected, len(selected.names) > 0)
	return examined.Assessment, err
}

// examineSnapshot is assessSnapshot, with the results of the closer looks. It warns of jobs that veltui could not
// examine closer. byName is true if the user named the jobs.
func (c *cli) examineSnapshot(
	ctx context.Context, snap *watch.Snapshot, selected selection, byName bool,
) (cluster.SingleAssessment, error) {
	monitor, err := c.newMonitor(c.stdio.warnSlow(waitingForAnswerText))
	if err != nil {
		return cluster.SingleAssessment{}, err
	}
	examined := monitor.AssessOnce(ctx, snap, selected.matchesJob, byName)
	if moved := c.connector.pinned.checkSameCluster(); moved != nil { // the move left the closer looks without an answer
		return cluster.SingleAssessment{}, moved
	}
	if len(examined.Unchecked) > 0 {
		names := mapSlice(examined.Unchecked, func(j *job.Job) string { return jobRefOf(j).String() })
		fmt.Fprintf(c.stdio.streams.ErrOut, "warning: not checked closer: %s; 'veltui explain KIND/NAME' checks one job\n",
			human.JoinNames(names, 3))
	}
	return examined, nil
}
