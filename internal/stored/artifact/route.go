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
	// lookupTimeout is how long resolving a name that looks like a Service's may take.
	lookupTimeout = 3 * time.Second
)

// Route says where a download goes.
type Route struct {
	// Host is the object store's host with its port, as in the signed URL.
	Host string
	// Via is what lies in between: a proxy or a pod, empty for nothing.
	Via string
	// PlainHTTP is true if the data, which may hold Secrets, travels unencrypted from the store or the proxy.
	PlainHTTP bool
}

// storePath is how one request reaches the object store.
type storePath struct {
	fetcher       *Fetcher
	location      *storeLocation
	route         Route
	address       string // host:port to connect to
	usesPlainHTTP bool   // without TLS
	guard         addressGuard
	proxy         *url.URL
	// service is the Service that the host looks like, if a tunnel to it is allowed; tunnelOnly is true without another
	// way.
	service    *serviceHost
	tunnelOnly bool
	pods       []podPort
}

// planPath chooses the path to a URL: a tunnel to a host that looks like a Service and cannot be resolved here, or
// does not answer.
func (f *Fetcher) planPath(ctx context.Context, w *storeLocation, signed signedURL) (*storePath, error) {
	host := canonicalHost(signed.url.Hostname())
	p := &storePath{
		fetcher:       f,
		location:      w,
		address:       addressOf(signed.url),
		usesPlainHTTP: signed.url.Scheme == "http",
		route:         Route{Host: sanitize.String(signed.url.Host)},
	}
	p.guard = addressGuard{configured: w.namesAddress(p.address), ownAddresses: f.ownAddresses, isLoopback: f.isLoopback}
	if err := p.guard.checkHost(host); err != nil {
		return nil, err
	}
	p.guard.plainHTTP = p.usesPlainHTTP && !f.options.AllowPlainHTTP
	if err := p.planTunnel(ctx, host); err != nil {
		return nil, err
	}
	if p.tunnelOnly {
		return p, nil
	}
	proxy, err := f.options.Proxy(&http.Request{Method: http.MethodGet, URL: signed.url, Header: http.Header{}})
	if err != nil {
		return nil, errors.New("the proxy in the environment is not a URL")
	}
	if p.proxy = proxy; proxy != nil {
		p.route.Via = sanitize.String("proxy " + proxy.Scheme + "://" + proxy.Host)
		if p.guard.plainHTTP {
			return nil, w.explainDial(signed, ErrUnencrypted)
		}
		if err := p.checkBehindProxy(ctx, host); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// checkBehindProxy refuses a host that leads to a forbidden address, as far as this machine can tell; the proxy
// judges the rest.
func (p *storePath) checkBehindProxy(ctx context.Context, host string) error {
	if _, is := p.fetcher.unresolvedHosts.Load(host); is {
		return nil
	}
	resolving, cancel := context.WithTimeout(ctx, lookupTimeout)
	defer cancel()
	addresses, err := p.fetcher.lookupHost(resolving, host)
	if err != nil && ctx.Err() == nil {
		p.fetcher.unresolvedHosts.Store(host, nil)
	}
	for _, a := range addresses {
		if err := p.guard.checkAddress(a); err != nil {
			return fmt.Errorf("%w, to which %s leads; a proxy does not change that", err, p.route.Host)
		}
	}
	return nil
}

func (p *storePath) planTunnel(ctx context.Context, host string) error {
	inside, ok := parseServiceHost(host, p.fetcher.options.Namespace)
	if !ok {
		return nil
	}
	resolving, cancel := context.WithTimeout(ctx, lookupTimeout)
	defer cancel()
	addresses, err := p.fetcher.lookupHost(resolving, host)
	known := err == nil && len(addresses) > 0
	switch {
	case !p.guard.configured && !known && inside.isCertain:
		return fmt.Errorf(
			"%w: %s is inside the cluster, and no storage location that you may read names it, so veltui does not open a "+
				"port-forward; %s",
			ErrUnsafeURL,
			p.route.Host,
			p.location.reachabilityHint(),
		)
	case !p.guard.configured:
		return nil
	case known:
		p.service = &inside
		return nil
	}
	pods, err := p.fetcher.findServicePods(ctx, inside, p.portNumber())
	if errors.Is(err, errNoService) && !inside.isCertain {
		return nil
	}
	if err != nil {
		return fmt.Errorf(
			"cannot resolve %s; it looks like a Service in the cluster: %w; %s",
			p.route.Host,
			err,
			p.location.reachabilityHint(),
		)
	}
	p.service, p.tunnelOnly, p.pods = &inside, true, pods
	return nil
}

func (p *storePath) portNumber() int32 {
	_, port, _ := net.SplitHostPort(p.address)
	n, _ := strconv.ParseUint(port, 10, 16)
	return int32(n)
}

// dialStore is the transport's DialContext.
func (p *storePath) dialStore(ctx context.Context, network, address string) (net.Conn, error) {
	if p.tunnelOnly {
		return p.dialTunnel(ctx)
	}
	plain := net.Dialer{Timeout: dialTimeout}
	if p.proxy == nil {
		// With a proxy, the address is the proxy's; checkBehindProxy has checked the host behind it.
		plain.Control = p.guard.dialControl
	}
	conn, err := plain.DialContext(ctx, network, address)
	if err == nil {
		p.route.PlainHTTP = p.usesPlainHTTP && (p.proxy != nil || !p.isLocalConn(conn))
		p.fetcher.options.OnRoute(p.route)
		return conn, nil
	}
	if p.service == nil || errors.Is(err, ErrUnsafeURL) || ctx.Err() != nil {
		return nil, err
	}
	pods, lookErr := p.fetcher.findServicePods(ctx, *p.service, p.portNumber())
	if lookErr != nil {
		return nil, err
	}
	p.fetcher.options.Log.Info("object store does not answer; trying a port-forward", "host", p.route.Host, "error", err)
	p.pods = pods
	through, tunnelErr := p.dialTunnel(ctx)
	if tunnelErr != nil {
		return nil, fmt.Errorf("%w; and %w", err, tunnelErr)
	}
	return through, nil
}

// isLocalConn reports whether a connection does not leave this machine.
func (p *storePath) isLocalConn(conn net.Conn) bool {
	to, err := netip.ParseAddrPort(conn.RemoteAddr().String())
	if err != nil {
		return false
	}
	own, err := p.guard.isOwnAddress(canonicalAddress(to.Addr()))
	return own && err == nil
}

// dialTunnel connects to the first pod that takes the connection.
func (p *storePath) dialTunnel(ctx context.Context) (net.Conn, error) {
	var failed error
	for _, pod := range p.pods {
		conn, err := p.fetcher.options.Tunnel.DialPod(ctx, pod.namespace, pod.name, pod.port)
		if err == nil {
			p.route.Via = "port-forward to " + pod.String()
			p.fetcher.options.OnRoute(p.route)
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
