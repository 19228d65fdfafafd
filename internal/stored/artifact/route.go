package artifact

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"time"

	"github.com/veltui/veltui/internal/sanitize"
)

const (
	// dialTimeout is how long a TCP connection may take to be made.
	dialTimeout = 15 * time.Second
	// lookupTimeout is how long resolving a name that looks like the cluster's may take.
	lookupTimeout = 3 * time.Second
)

// Route says where a download goes.
type Route struct {
	// Host is the object store's, with its port, as in the signed URL.
	Host string
	// Via is what stands between: empty for nothing, else a proxy or a pod.
	Via string
	// PlainHTTP is true if the bytes, which may hold Secrets, travel unencrypted from the store or the proxy.
	PlainHTTP bool
}

// path is how one request gets to the object store.
type path struct {
	f       *Fetcher
	w       *storeLocation
	route   Route
	address string // host:port to connect to
	http    bool   // without TLS
	guard   guard
	proxy   *url.URL
	// inside is the Service that the host looks like, if it may be tunnelled to; first is true if there is no other way.
	inside *clusterHost
	first  bool
	pods   []podPort
}

// plan chooses the way to a URL: a tunnel to what looks like a Service and cannot be resolved here, or does not answer.
func (f *Fetcher) plan(ctx context.Context, w *storeLocation, signed signedURL) (*path, error) {
	host := plainHost(signed.url.Hostname())
	p := &path{
		f:       f,
		w:       w,
		address: addressOf(signed.url),
		http:    signed.url.Scheme == "http",
		route:   Route{Host: sanitize.String(signed.url.Host)},
	}
	p.guard = guard{configured: w.names(p.address), own: f.own, loopback: f.loopback}
	if err := p.guard.host(host); err != nil {
		return nil, err
	}
	p.guard.clear = p.http && !f.options.AllowPlainHTTP
	if err := p.planTunnel(ctx, host); err != nil {
		return nil, err
	}
	if p.first {
		return p, nil
	}
	proxy, err := f.options.Proxy(&http.Request{Method: http.MethodGet, URL: signed.url, Header: http.Header{}})
	if err != nil {
		return nil, errors.New("the proxy in the environment is not a URL")
	}
	if p.proxy = proxy; proxy != nil {
		p.route.Via = sanitize.String("proxy " + proxy.Scheme + "://" + proxy.Host)
		if p.guard.clear {
			return nil, w.explainDial(signed, ErrClear)
		}
		if err := p.checkBehindProxy(ctx, host); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// checkBehindProxy refuses what leads to a forbidden address as far as this machine can tell; the proxy
// judges the rest.
func (p *path) checkBehindProxy(ctx context.Context, host string) error {
	if _, is := p.f.unresolved.Load(host); is {
		return nil
	}
	resolving, cancel := context.WithTimeout(ctx, lookupTimeout)
	defer cancel()
	addresses, err := p.f.lookup(resolving, host)
	if err != nil && ctx.Err() == nil {
		p.f.unresolved.Store(host, nil)
	}
	for _, a := range addresses {
		if err := p.guard.address(a); err != nil {
			return fmt.Errorf("%w, to which %s leads; a proxy does not change that", err, p.route.Host)
		}
	}
	return nil
}

func (p *path) planTunnel(ctx context.Context, host string) error {
	inside, ok := parseClusterHost(host, p.f.options.Namespace)
	if !ok {
		return nil
	}
	resolving, cancel := context.WithTimeout(ctx, lookupTimeout)
	defer cancel()
	addresses, err := p.f.lookup(resolving, host)
	known := err == nil && len(addresses) > 0
	switch {
	case !p.guard.configured && !known && inside.certain:
		return fmt.Errorf(
			"%w: %s is inside the cluster, and no storage location that you may read names it, so veltui does not open a "+
				"port-forward; %s",
			ErrUnsafe,
			p.route.Host,
			p.w.reachHint(),
		)
	case !p.guard.configured:
		return nil
	case known:
		p.inside = &inside
		return nil
	}
	pods, err := p.f.podsBehind(ctx, inside, p.port())
	if errors.Is(err, errNoService) && !inside.certain {
		return nil
	}
	if err != nil {
		return fmt.Errorf(
			"cannot resolve %s; it looks like a Service in the cluster: %w; %s",
			p.route.Host,
			err,
			p.w.reachHint(),
		)
	}
	p.inside, p.first, p.pods = &inside, true, pods
	return nil
}

func (p *path) port() int32 {
	_, port, _ := net.SplitHostPort(p.address)
	n, _ := strconv.ParseUint(port, 10, 16)
	return int32(n)
}

// dial is the transport's DialContext.
func (p *path) dial(ctx context.Context, network, address string) (net.Conn, error) {
	if p.first {
		return p.tunnel(ctx)
	}
	plain := net.Dialer{Timeout: dialTimeout}
	if p.proxy == nil {
		// Where there is a proxy, the address is the proxy's; checkBehindProxy has looked behind it.
		plain.Control = p.guard.control
	}
	conn, err := plain.DialContext(ctx, network, address)
	if err == nil {
		p.route.PlainHTTP = p.http && (p.proxy != nil || !p.staysHere(conn))
		p.f.options.Announce(p.route)
		return conn, nil
	}
	if p.inside == nil || errors.Is(err, ErrUnsafe) || ctx.Err() != nil {
		return nil, err
	}
	pods, lookErr := p.f.podsBehind(ctx, *p.inside, p.port())
	if lookErr != nil {
		return nil, err
	}
	p.f.options.Log.Info("object store does not answer; trying a port-forward", "host", p.route.Host, "error", err)
	p.pods = pods
	through, tunnelErr := p.tunnel(ctx)
	if tunnelErr != nil {
		return nil, fmt.Errorf("%w; and %w", err, tunnelErr)
	}
	return through, nil
}

// staysHere reports whether a connection does not leave this machine.
func (p *path) staysHere(conn net.Conn) bool {
	to, err := netip.ParseAddrPort(conn.RemoteAddr().String())
	if err != nil {
		return false
	}
	own, err := p.guard.isOwn(plainAddress(to.Addr()))
	return own && err == nil
}

// tunnel connects to the first pod that takes the connection.
func (p *path) tunnel(ctx context.Context) (net.Conn, error) {
	var failed error
	for _, pod := range p.pods {
		conn, err := p.f.options.Tunnel.DialPod(ctx, pod.namespace, pod.name, pod.port)
		if err == nil {
			p.route.Via = "port-forward to " + pod.String()
			p.f.options.Announce(p.route)
			return conn, nil
		}
		err = fmt.Errorf("forwarding to %s through the API server: %w", pod, err)
		if failed == nil {
			failed = err
		} else {
			failed = fmt.Errorf("%w; %w", failed, err)
		}
		if ctx.Err() != nil {
			break
		}
	}
	return nil, failed
}
