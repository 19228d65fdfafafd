package artifact

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"sync"
	"sync/atomic"
	"time"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/veltui/veltui/session"
)

// Target is one artifact of one backup or restore, in Velero's own terms.
type Target = velerov1.DownloadTarget

// Options say where artifacts are fetched from, and how.
type Options struct {
	// Config leads to the API server. It is copied, not changed; its
	// credentials and its TLS settings are used for nothing else.
	Config *rest.Config
	// Namespace is Velero's.
	Namespace string
	// CAFile names a file with more certificates, in PEM, that the object
	// store's may be signed by; empty for none.
	CAFile string

	// Tunnel reaches pods when the store is inside the cluster; nil means by
	// port-forward through the API server of Config.
	Tunnel Tunnel
	// NoTunnel never reaches into the cluster.
	NoTunnel bool

	// AllowPlainHTTP lets downloads come over plain http from another machine. They
	// hold Secrets that everybody on the way can then read. Without it only
	// this machine itself, and pods by way of the API server, are asked so.
	AllowPlainHTTP bool
	// Announce is told, before the first byte of a download goes out, where it
	// goes; nil if nobody needs to know. It is called from other goroutines.
	Announce func(Route)
	// Proxy chooses the proxy of a request; nil means the environment's
	// (HTTP_PROXY, HTTPS_PROXY, NO_PROXY).
	Proxy func(*http.Request) (*url.URL, error)

	Limits Limits
	// UserAgent is sent to the API server if Config has none, and to the
	// object store.
	UserAgent string
	// Open counts the DownloadRequests that are in the cluster now and will be
	// deleted, so that a program can wait for that before it ends; nil if it
	// need not.
	Open *atomic.Int64
	// Clock is our own clock; nil means time.Now.
	Clock func() time.Time
	// Log gets what happens on the way; nil discards it.
	Log *slog.Logger
}

// Fetcher fetches artifacts. It is safe for use by several goroutines and keeps
// nothing open between two downloads.
type Fetcher struct {
	namespace string
	cluster   dynamic.Interface
	tunnel    Tunnel
	cas       []byte
	announce  func(Route)
	proxy     func(*http.Request) (*url.URL, error)
	limits    Limits
	agent     string
	clock     func() time.Time
	log       *slog.Logger
	pending   *atomic.Int64

	allowPlainHTTP bool

	// unresolved are the hosts behind a proxy that this machine cannot resolve: each is
	// tried once, as that may take long.
	unresolved sync.Map

	// lookup resolves a host name, own are this machine's addresses, and loopback
	// those that never leave it; a test replaces them.
	lookup   func(ctx context.Context, host string) ([]netip.Addr, error)
	own      func() ([]netip.Addr, error)
	loopback func(netip.Addr) bool
}

// New makes a Fetcher. It talks to nobody; it fails if the configuration or the
// CA file is unusable.
func New(o Options) (*Fetcher, error) {
	if o.Config == nil || o.Namespace == "" {
		return nil, errors.New("fetching artifacts needs a cluster and Velero's namespace")
	}
	f := &Fetcher{
		namespace: o.Namespace,
		tunnel:    o.Tunnel,
		announce:  o.Announce,
		proxy:     o.Proxy,
		limits:    o.Limits.withDefaults(),
		agent:     o.UserAgent,
		clock:     o.Clock,
		log:       o.Log,
		pending:   o.Open,
		lookup:    resolve,
		own:       ownAddresses,
		loopback:  netip.Addr.IsLoopback,

		allowPlainHTTP: o.AllowPlainHTTP,
	}
	if f.agent == "" {
		f.agent = "veltui"
	}
	if f.announce == nil {
		f.announce = func(Route) {}
	}
	if f.proxy == nil {
		f.proxy = http.ProxyFromEnvironment
	}
	if f.pending == nil {
		f.pending = new(atomic.Int64)
	}
	if f.clock == nil {
		f.clock = time.Now
	}
	if f.log == nil {
		f.log = slog.New(slog.DiscardHandler)
	}
	if err := f.readCAs(o.CAFile); err != nil {
		return nil, err
	}
	config := rest.CopyConfig(o.Config)
	if config.UserAgent == "" {
		config.UserAgent = f.agent
	}
	over, err := session.HTTPClient(config, session.TransportOptions{})
	if err != nil {
		return nil, err
	}
	if f.cluster, err = dynamic.NewForConfigAndClient(config, over); err != nil {
		return nil, fmt.Errorf("making a client for artifacts: %w", err)
	}
	switch {
	case o.NoTunnel:
		f.tunnel = nil
	case f.tunnel == nil:
		f.tunnel = apiServerTunnel{session.Protect(config, session.TransportOptions{})}
	}
	return f, nil
}

func (f *Fetcher) readCAs(file string) error {
	if file == "" {
		return nil
	}
	pem, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("reading the object store's CA: %w", err)
	}
	if !x509.NewCertPool().AppendCertsFromPEM(pem) {
		return fmt.Errorf("reading the object store's CA: there is no PEM certificate in %s", file)
	}
	f.cas = pem
	return nil
}

func resolve(ctx context.Context, host string) ([]netip.Addr, error) {
	return net.DefaultResolver.LookupNetIP(ctx, "ip", host)
}

// Open asks Velero for an artifact and streams it as it is stored: a gzipped
// tar for BackupContents, gzip for all others. ctx governs the stream as well;
// the stream must be closed.
func (f *Fetcher) Open(ctx context.Context, target Target) (*Stream, error) {
	s, err := f.open(ctx, target, "")
	if err != nil {
		return nil, fmt.Errorf("fetching %s of %s: %w", target.Kind, target.Name, err)
	}
	return s, nil
}

// open asks for a URL and follows it; a URL that has expired is asked for again
// once. ranged is the Range header, or empty.
func (f *Fetcher) open(ctx context.Context, target Target, ranged string) (*Stream, error) {
	where, err := f.locate(ctx, target)
	if err != nil {
		return nil, err
	}
	for again := true; ; again = false {
		signed, err := f.ask(ctx, target)
		if err != nil {
			return nil, err
		}
		if again && signed.expired(f.clock()) {
			f.log.Info("download URL expired before it was used; asking again", "kind", target.Kind, "name", target.Name)
			continue
		}
		s, err := f.follow(ctx, where, signed, f.bytesOf(target.Kind), ranged)
		if again && errors.Is(err, errExpired) {
			f.log.Info("download URL expired; asking again", "kind", target.Kind, "name", target.Name)
			continue
		}
		return s, err
	}
}

// bytesOf is the most that an artifact of that kind may have as stored.
func (f *Fetcher) bytesOf(kind velerov1.DownloadTargetKind) int64 {
	if kind == velerov1.DownloadTargetKindBackupContents {
		return f.limits.Contents
	}
	return f.limits.Stored
}
