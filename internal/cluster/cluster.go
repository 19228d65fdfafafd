package cluster

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"k8s.io/client-go/rest"

	"github.com/veltui/veltui/collector/cache"
	"github.com/veltui/veltui/internal/action"
	"github.com/veltui/veltui/internal/client"
	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/job/forecast"
	"github.com/veltui/veltui/internal/job/forecast/history"
	"github.com/veltui/veltui/internal/session"
	"github.com/veltui/veltui/internal/stored/artifact"
	"github.com/veltui/veltui/internal/velero"
)

// Cluster is one cluster, and how to ask it. All that asks is made from it.
type Cluster struct {
	// Connect returns the way to the cluster with the credentials of now, and an error
	// if the kubeconfig leads to another one by now. It does not talk to it.
	Connect        func() (Connection, error)
	Clock          func() time.Time
	Log            *slog.Logger
	ReadOnly       bool   // ReadOnly creates nothing, no DownloadRequest either
	CAFile         string // CAFile holds certificates of the object store, or is empty
	AllowPlainHTTP bool   // AllowPlainHTTP lets stored artifacts come without TLS; Announce is told before they do
	Announce       func(artifact.Route)
	Version        string                 // veltui's
	Requests       *atomic.Int64          // Requests counts the DownloadRequests that are still in a cluster
	Indexes        *cache.Cache           // Indexes keeps what is in backups, nil for those that read none
	Rates          *history.Book          // Rates remembers how fast restores went, nil where that is not of use
	NoArtifacts    bool                   // NoArtifacts leaves the object store alone (--no-artifacts)
	Records        Records                // Records keeps what backups hold, for coverage
	AuditDir       func() (string, error) // the directory of the audit log
	Style          human.Style            // of the durations in what closer looks find
	Waiting        func(what string)      // Waiting is told what a closer look asks the object store; nil for nobody

	downloads   downloads
	failures    failures
	preview     previews
	looks       looks
	lastResults lastResults
}

// Connection is a way to a cluster.
type Connection struct {
	Session *session.Session
	Config  *rest.Config // the session's, when it was asked for
	// Context is the kubeconfig context's name, and Namespace the one that it has.
	Context, Namespace string
	Request            action.Request // how kubectl gets to the same cluster
}

// Config is how to get to the cluster with the credentials of now.
func (c *Cluster) Config() (*rest.Config, error) {
	conn, err := c.Connect()
	return conn.Config, err
}

// client asks the API server. It has made no request yet.
func (c *Cluster) client(config *rest.Config) (*client.Client, error) {
	over, err := session.HTTPClient(config, session.TransportOptions{})
	if err != nil {
		return nil, err
	}
	api, err := client.New(config, over, velero.Mapper())
	if err != nil {
		return nil, fmt.Errorf("reading the kubeconfig: %w", err)
	}
	return api, nil
}

// api is a client with the credentials of now.
func (c *Cluster) api() (*client.Client, error) {
	config, err := c.Config()
	if err != nil {
		return nil, err
	}
	return c.client(config)
}

// patience is how long a cluster may take for its first answer.
const patience = 30 * time.Second

// EngineOptions are what differs between those who use an engine of package action.
type EngineOptions struct {
	ReadOnly         bool
	NoStore          bool              // leaves the object store alone: to ask it is to create a DownloadRequest
	LeaveOperations  bool              // LeaveOperations does not ask for the list of operations
	Timeout, Observe time.Duration     // 0 for the defaults
	Waiting          func(what string) // told what the object store is asked; nil for none
}

// Engine makes one for the Velero in a namespace.
func (c *Cluster) Engine(conn Connection, namespace string, e EngineOptions) (*action.Engine, error) {
	audit, err := c.AuditDir()
	if err != nil {
		return nil, err
	}
	o := action.Options{
		Session: conn.Session, Namespace: namespace, ReadOnly: e.ReadOnly,
		By: cmp.Or(conn.Config.Impersonate.UserName, conn.Config.Username), Context: conn.Context,
		AuditDir: audit, Deadline: e.Timeout, Observe: e.Observe, Waiting: e.Waiting,
		Now: c.Clock,
	}
	if !e.NoStore {
		artifacts, err := c.artifacts(conn.Config, namespace)
		if err != nil {
			return nil, err
		}
		storage := action.Storage{Artifacts: artifacts}
		o.Prober, o.Counter, o.LeaveOperations = storage, storage, e.LeaveOperations
	}
	return action.New(o)
}

// logFailure logs what failed, unless the question was withdrawn.
func (c *Cluster) logFailure(ctx context.Context, doing, name string, err error) {
	if err != nil && ctx.Err() == nil {
		c.Log.Info(doing, "for", name, "error", err)
	}
}

func (c *Cluster) artifacts(config *rest.Config, namespace string) (*artifact.Fetcher, error) {
	return artifact.New(artifact.Options{
		Config: config, Namespace: namespace, CAFile: c.CAFile,
		AllowPlainHTTP: c.AllowPlainHTTP, Announce: c.Announce,
		UserAgent: "veltui/" + c.Version, Clock: c.Clock, Log: c.Log, Open: c.Requests,
	})
}

// KnownRates are those of earlier restores.
func (c *Cluster) KnownRates() forecast.Rates {
	if c.Rates == nil {
		return forecast.Rates{}
	}
	return c.Rates.Known()
}

// LearnRates remembers how fast a restore went that was watched.
func (c *Cluster) LearnRates(r forecast.Rates) {
	if c.Rates != nil {
		c.Rates.Learn(r)
	}
}
