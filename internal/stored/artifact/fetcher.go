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

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/veltui/veltui/internal/session"
	"github.com/veltui/veltui/internal/velero/veleroapi"
)

// Target is one artifact of a backup or restore, in Velero's terms.
type Target = veleroapi.DownloadTarget

// Options configure a [Fetcher].
type Options struct {
	// Config leads to the API server. It is copied, and used for nothing else.
	Config *rest.Config
	// Namespace is Velero's namespace.
	Namespace string
	// CAFile names a file with more certificates, in PEM, for the object store; empty for none.
	CAFile string
	// Tunnel reaches pods when the store is inside the cluster; nil means a port-forward.
	Tunnel Tunnel
	// AllowPlainHTTP lets downloads, which hold Secrets, use http from another machine.
	AllowPlainHTTP bool
	// OnRoute, nil for none, is called with the route before a download's first byte, from other goroutines.
	OnRoute func(Route)
	// Proxy chooses the proxy of a request; nil means the proxy of HTTP_PROXY, HTTPS_PROXY and NO_PROXY.
	Proxy func(*http.Request) (*url.URL, error)

	Limits Limits
	// UserAgent is sent to the API server if Config has none, and to the object store.
	UserAgent string
	// OpenRequests counts our DownloadRequests in the cluster, for a program that waits for their deletion; nil for none.
	OpenRequests *atomic.Int64
	// Clock is our own clock; nil means time.Now.
	Clock func() time.Time
	// Log receives what happens during a download; nil discards it.
	Log *slog.Logger
}

// Limits bound what a download may take. A zero field means its default.
type Limits struct {
	// SigningTimeout is how long Velero may take to sign a URL; default 1 min, as in Velero's own client.
	SigningTimeout time.Duration
	// ServerCheckInterval is how long an answer is awaited before each check whether a server runs; default 4 s.
	ServerCheckInterval time.Duration
	// IdleTimeout is how long nothing may arrive, counted from the connection; default 1 min.
	IdleTimeout time.Duration
	// TotalTimeout is how long a whole download may take; default 6 h, for tarballs and logs.
	TotalTimeout time.Duration
	// JSONTimeout is how long a JSON artifact may take, including the signing of its URL; default 2 min.
	JSONTimeout time.Duration

	ContentsBytes int64 // bytes of a backup's tarball; default 64 GiB
	StoredBytes   int64 // bytes of any other artifact as stored; default 512 MiB
	TextBytes     int64 // bytes of an unpacked log; default 8 GiB
	JSONBytes     int64 // bytes of an unpacked JSON artifact; default 64 MiB
	// Ratio is how many bytes a stored byte may become on average, once ratioFrom bytes came out; default 400.
	Ratio int64
}

func (l Limits) withDefaults() Limits {
	return Limits{
		SigningTimeout: cmp.Or(l.SigningTimeout, time.Minute),

		ServerCheckInterval: cmp.Or(l.ServerCheckInterval, 4*time.Second),

		IdleTimeout:  cmp.Or(l.IdleTimeout, time.Minute),
		TotalTimeout: cmp.Or(l.TotalTimeout, 6*time.Hour),
		JSONTimeout:  cmp.Or(l.JSONTimeout, 2*time.Minute),
		ContentsBytes: cmp.Or(
			l.ContentsBytes,
			64<<30,
		),
		StoredBytes: cmp.Or(l.StoredBytes, 512<<20),
		TextBytes:   cmp.Or(l.TextBytes, 8<<30),
		JSONBytes:   cmp.Or(l.JSONBytes, 64<<20),
		Ratio:       cmp.Or(l.Ratio, 400),
	}
}

// Fetcher fetches artifacts. It is safe for use by several goroutines and keeps nothing open between downloads.
type Fetcher struct {
	options        Options // with its defaults
	dynamicClient  dynamic.Interface
	caCertificates []byte
	largeJSONToken chan struct{} // holds a token while a large JSON artifact is read: one at a time bounds the memory

	// unresolvedHosts are hosts behind a proxy that this machine cannot resolve: each is tried once, because that may take
	// long.
	unresolvedHosts sync.Map

	// lookupHost resolves a host name; ownAddresses returns this machine's addresses;
	// isLoopback reports whether an address never leaves this machine.
	lookupHost   func(ctx context.Context, host string) ([]netip.Addr, error)
	ownAddresses func() ([]netip.Addr, error)
	isLoopback   func(netip.Addr) bool
}

// New makes a Fetcher without contacting the cluster. It fails if the configuration or the CA file is unusable.
func New(o Options) (*Fetcher, error) {
	if o.Config == nil || o.Namespace == "" {
		return nil, errors.New("fetching artifacts needs a cluster and Velero's namespace")
	}
	o.Limits = o.Limits.withDefaults()
	o.UserAgent = cmp.Or(o.UserAgent, "veltui")
	o.OpenRequests = cmp.Or(o.OpenRequests, new(atomic.Int64))
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	if o.OnRoute == nil {
		o.OnRoute = func(Route) {}
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
		o.Tunnel = apiServerTunnel{session.ProtectConfig(o.Config, session.TransportOptions{})}
	}
	f := &Fetcher{
		options:        o,
		largeJSONToken: make(chan struct{}, 1),
		ownAddresses:   ownAddresses,
		isLoopback:     netip.Addr.IsLoopback,
	}
	f.lookupHost = func(ctx context.Context, host string) ([]netip.Addr, error) {
		return net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	}
	if err := f.readCAs(o.CAFile); err != nil {
		return nil, err
	}
	over, err := session.HTTPClient(o.Config, session.TransportOptions{})
	if err != nil {
		return nil, err
	}
	if f.dynamicClient, err = dynamic.NewForConfigAndClient(o.Config, over); err != nil {
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
	if parsePEM(pem) == nil {
		return fmt.Errorf("reading the object store's CA: there is no PEM certificate in %s", file)
	}
	f.caCertificates = pem
	return nil
}

// Open streams an artifact as stored: a gzipped tar for BackupContents, gzip for all others. ctx also governs the
// stream.
func (f *Fetcher) Open(ctx context.Context, target Target) (*Stream, error) {
	s, err := f.openStream(ctx, target, "")
	if err != nil {
		return nil, fmt.Errorf("fetching %s of %s: %w", target.Kind, target.Name, err)
	}
	return s, nil
}

// openStream requests a URL and follows it, once more if it has expired. ranged is the Range header, or empty.
func (f *Fetcher) openStream(ctx context.Context, target Target, ranged string) (*Stream, error) {
	where, err := f.findLocation(ctx, target)
	if err != nil {
		return nil, err
	}
	most := f.options.Limits.StoredBytes
	if target.Kind == veleroapi.DownloadTargetKindBackupContents {
		most = f.options.Limits.ContentsBytes
	}
	for again := true; ; again = false {
		signed, err := f.requestURL(ctx, target)
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
		s, err := f.followURL(ctx, where, signed, most, ranged)
		if again && errors.Is(err, errExpired) {
			f.options.Log.Info("download URL expired; asking again", "kind", target.Kind, "name", target.Name)
			continue
		}
		return s, err
	}
}
