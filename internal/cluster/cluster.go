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

// Cluster is one cluster, and the means to query it. All queries start from it.
type Cluster struct {
	// Connect returns a connection to the cluster with the current credentials, and an error if the kubeconfig now leads
	// to another cluster. It sends no request.
	Connect  func() (Connection, error)
	Clock    func() time.Time
	Log      *slog.Logger
	ReadOnly bool   // ReadOnly creates nothing, not even a DownloadRequest
	CAFile   string // CAFile holds certificates of the object store; may be empty
	// AllowPlainHTTP allows downloading stored artifacts without TLS; OnPlainHTTP is called before that happens.
	AllowPlainHTTP bool
	OnPlainHTTP    func(artifact.Route)
	Version        string // veltui's version
	// OpenDownloadRequests counts the DownloadRequests that are still in a cluster
	OpenDownloadRequests *atomic.Int64
	Indexes              *cache.Cache           // Indexes keeps the indexes of backups, nil if none are read
	RestoreRates         *history.RateStore     // RestoreRates remembers how fast restores ran; may be nil
	NoArtifacts          bool                   // NoArtifacts leaves the object store alone (--no-artifacts)
	CoverageRecords      CoverageRecords        // CoverageRecords keeps the contents of backups, for coverage
	AuditDir             func() (string, error) // the directory of the audit log
	Style                human.DurationStyle    // how closer looks format durations
	// OnWaiting is called with what a closer look asks the object store; may be nil
	OnWaiting func(what string)

	downloads        downloads
	downloadFailures downloadFailures
	previews         previews
	closerLooks      closerLooks
	resultsCache     resultsCache
	eventsCache      eventsCache
}

// Connection is a connection to a cluster.
type Connection struct {
	Session *session.Session
	Config  *rest.Config // the session's configuration at the time of connecting
	// Context is the name of the kubeconfig context, and Namespace the context's namespace.
	Context, Namespace string
	Request            action.Request // how kubectl reaches the same cluster
}

// RESTConfig returns the client configuration with the current credentials.
func (c *Cluster) RESTConfig() (*rest.Config, error) {
	conn, err := c.Connect()
	return conn.Config, err
}

// newClient returns a client of the API server. It has sent no request yet.
func (c *Cluster) newClient(config *rest.Config) (*client.Client, error) {
	over, err := session.HTTPClient(config, session.TransportOptions{})
	if err != nil {
		return nil, err
	}
	api, err := client.New(config, over, velero.NewRESTMapper())
	if err != nil {
		return nil, fmt.Errorf("reading the kubeconfig: %w", err)
	}
	return api, nil
}

// currentClient returns a client with the current credentials.
func (c *Cluster) currentClient() (*client.Client, error) {
	config, err := c.RESTConfig()
	if err != nil {
		return nil, err
	}
	return c.newClient(config)
}

// firstAnswerTimeout is how long a cluster may take to answer for the first time.
const firstAnswerTimeout = 30 * time.Second

// EngineOptions are the options in which the users of an engine of package action differ.
type EngineOptions struct {
	ReadOnly            bool
	SkipStore           bool              // do not read the object store: that would create a DownloadRequest
	SkipOperations      bool              // SkipOperations does not request the list of operations
	Timeout, ObserveFor time.Duration     // 0 for the defaults
	OnWaiting           func(what string) // called with what the object store is asked; nil for none
}

// NewEngine returns an engine for the Velero in a namespace.
func (c *Cluster) NewEngine(conn Connection, namespace string, e EngineOptions) (*action.Engine, error) {
	audit, err := c.AuditDir()
	if err != nil {
		return nil, err
	}
	o := action.Options{
		Session: conn.Session, Namespace: namespace, ReadOnly: e.ReadOnly,
		Username: cmp.Or(conn.Config.Impersonate.UserName, conn.Config.Username), Context: conn.Context,
		AuditDir: audit, TotalTimeout: e.Timeout, ObserveFor: e.ObserveFor, OnWaiting: e.OnWaiting,
		Now: c.Clock,
	}
	if !e.SkipStore {
		artifacts, err := c.newFetcher(conn.Config, namespace)
		if err != nil {
			return nil, err
		}
		storage := action.ObjectStore{Fetcher: artifacts}
		o.Prober, o.CountReader, o.SkipOperations = storage, storage, e.SkipOperations
	}
	return action.New(o)
}

// logFailure logs an error, unless the context has ended.
func (c *Cluster) logFailure(ctx context.Context, doing, name string, err error) {
	if err != nil && ctx.Err() == nil {
		c.Log.Info(doing, "for", name, "error", err)
	}
}

func (c *Cluster) newFetcher(config *rest.Config, namespace string) (*artifact.Fetcher, error) {
	return artifact.New(artifact.Options{
		Config: config, Namespace: namespace, CAFile: c.CAFile,
		AllowPlainHTTP: c.AllowPlainHTTP, OnRoute: c.OnPlainHTTP,
		UserAgent: "veltui/" + c.Version, Clock: c.Clock, Log: c.Log, OpenRequests: c.OpenDownloadRequests,
	})
}

// LoadRates returns the rates of earlier restores.
func (c *Cluster) LoadRates() forecast.Rates {
	if c.RestoreRates == nil {
		return forecast.Rates{}
	}
	return c.RestoreRates.LoadRates()
}

// LearnRates records how fast a watched restore ran.
func (c *Cluster) LearnRates(r forecast.Rates) {
	if c.RestoreRates != nil {
		c.RestoreRates.AddRates(r)
	}
}
