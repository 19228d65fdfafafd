package artifact

import (
	"cmp"
	"context"
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

	"github.com/veltui/veltui/internal/session"
)

// Target is one artifact of one backup or restore, in Velero's own terms.
type Target = velerov1.DownloadTarget

// Options say where artifacts are fetched from, and how.
type Options struct {
	// Config leads to the API server. It is copied, and used for nothing else.
	Config *rest.Config
	// Namespace is Velero's.
	Namespace string
	// CAFile names a file with more certificates, in PEM, for the object store; empty for none.
	CAFile string
	// Tunnel reaches pods when the store is inside the cluster; nil means by port-forward.
	Tunnel Tunnel
	// AllowPlainHTTP lets downloads, which hold Secrets, come over http from another machine than this one.
	AllowPlainHTTP bool
	// Announce, nil for none, is called before a download's first byte with where it goes, from other goroutines.
	Announce func(Route)
	// Proxy chooses the proxy of a request; nil means by HTTP_PROXY, HTTPS_PROXY and NO_PROXY.
	Proxy func(*http.Request) (*url.URL, error)

	Limits Limits
	// UserAgent is sent to the API server if Config has none, and to the object store.
	UserAgent string
	// Open counts our DownloadRequests in the cluster, for a program that waits for their deletion; nil for none.
	Open *atomic.Int64
	// Clock is our own clock; nil means time.Now.
	Clock func() time.Time
	// Log gets what happens on the way; nil discards it.
	Log *slog.Logger
}

// Limits bound what a download may take. A zero field means its default.
type Limits struct {
	// Answer is how long Velero may take to sign a URL; default 1 min, as in Velero's own client.
	Answer time.Duration
	// Idle is how long nothing may arrive, from the connection on; default 1 min.
	Idle time.Duration
	// Total is how long a download may take in all; default 6 h, for tarballs and logs.
	Total time.Duration
	// Small is how long a JSON artifact may take in all, with the signing of its URL; default 2 min.
	Small time.Duration

	Contents int64 // bytes of a backup's tarball; default 64 GiB
	Stored   int64 // bytes of any other artifact as stored; default 512 MiB
	Text     int64 // bytes of an unpacked log; default 8 GiB
	JSON     int64 // bytes of an unpacked JSON artifact; default 64 MiB
	// Ratio is how many bytes one stored byte may become, on average, once ratioFrom bytes came out; default 400.
	Ratio int64
}

func (l Limits) withDefaults() Limits {
	return Limits{
		Answer: cmp.Or(l.Answer, time.Minute),
		Idle:   cmp.Or(l.Idle, time.Minute),
		Total:  cmp.Or(l.Total, 6*time.Hour),
		Small:  cmp.Or(l.Small, 2*time.Minute),
		Contents: cmp.Or(
			l.Contents,
			64<<30,
		),
		Stored: cmp.Or(l.Stored, 512<<20),
		Text:   cmp.Or(l.Text, 8<<30),
		JSON:   cmp.Or(l.JSON, 64<<20),
		Ratio:  cmp.Or(l.Ratio, 400),
	}
}

// Fetcher fetches artifacts. It is safe for use by several goroutines and keeps nothing open between two downloads.
type Fetcher struct {
	options Options // with its defaults
	cluster dynamic.Interface
	cas     []byte
	large   chan struct{} // holds a token while a large JSON artifact is read: one at a time bounds the memory

	// unresolved are hosts behind a proxy that this machine cannot resolve: each is tried once, as that may take long.
	unresolved sync.Map

	// lookup resolves a host name, own are this machine's addresses, loopback those that never leave it.
	lookup   func(ctx context.Context, host string) ([]netip.Addr, error)
	own      func() ([]netip.Addr, error)
	loopback func(netip.Addr) bool
}

// New makes a Fetcher without a request. It fails if the configuration or the CA file is unusable.
func New(o Options) (*Fetcher, error) {
	if o.Config == nil || o.Namespace == "" {
		return nil, errors.New("fetching artifacts needs a cluster and Velero's namespace")
	}
	o.Limits = o.Limits.withDefaults()
	o.UserAgent = cmp.Or(o.UserAgent, "veltui")
	o.Open = cmp.Or(o.Open, new(atomic.Int64))
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	if o.Announce == nil {
		o.Announce = func(Route) {}
	}
	if o.Proxy == nil {
		o.Proxy = http.ProxyFromEnvironment
	}
	if o.Clock == nil {
		o.Clock = time.Now
	}
	o.Config = rest.CopyConfig(o.Config)
	o.Config.UserAgent = cmp.Or(o.Config.UserAgent, o.UserAgent)
	if o.Tunnel == nil {
		o.Tunnel = apiServerTunnel{session.Protect(o.Config, session.TransportOptions{})}
	}
	f := &Fetcher{options: o, large: make(chan struct{}, 1), own: ownAddresses, loopback: netip.Addr.IsLoopback}
	f.lookup = func(ctx context.Context, host string) ([]netip.Addr, error) {
		return net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	}
	if err := f.readCAs(o.CAFile); err != nil {
		return nil, err
	}
	over, err := session.HTTPClient(o.Config, session.TransportOptions{})
	if err != nil {
		return nil, err
	}
	if f.cluster, err = dynamic.NewForConfigAndClient(o.Config, over); err != nil {
		return nil, fmt.Errorf("making a client for artifacts: %w", err)
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
	if pemOf(pem) == nil {
		return fmt.Errorf("reading the object store's CA: there is no PEM certificate in %s", file)
	}
	f.cas = pem
	return nil
}

// Open streams an artifact as stored: a gzipped tar for BackupContents, gzip for all others. ctx governs the
// stream, too.
func (f *Fetcher) Open(ctx context.Context, target Target) (*Stream, error) {
	s, err := f.open(ctx, target, "")
	if err != nil {
		return nil, fmt.Errorf("fetching %s of %s: %w", target.Kind, target.Name, err)
	}
	return s, nil
}

// open asks for a URL and follows it, once more if it has expired. ranged is the Range header, or empty.
func (f *Fetcher) open(ctx context.Context, target Target, ranged string) (*Stream, error) {
	where, err := f.locate(ctx, target)
	if err != nil {
		return nil, err
	}
	most := f.options.Limits.Stored
	if target.Kind == velerov1.DownloadTargetKindBackupContents {
		most = f.options.Limits.Contents
	}
	for again := true; ; again = false {
		signed, err := f.ask(ctx, target)
		if err != nil {
			return nil, err
		}
		if again && !signed.expires.IsZero() && f.options.Clock().After(signed.expires) {
			f.options.Log.Info(
				"download URL expired before it was used; asking again",
				"kind",
				target.Kind,
				"name",
				target.Name,
			)
			continue
		}
		s, err := f.follow(ctx, where, signed, most, ranged)
		if again && errors.Is(err, errExpired) {
			f.options.Log.Info("download URL expired; asking again", "kind", target.Kind, "name", target.Name)
			continue
		}
		return s, err
	}
}
