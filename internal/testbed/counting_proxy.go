package testbed

import (
	"io"
	"log"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"time"
)

// CountingProxy stands on loopback between clients and a real API server, speaks
// HTTP/2 as that does, and counts.
type CountingProxy struct {
	server     *httptest.Server
	kubeconfig string

	in, out atomic.Int64

	mu            sync.Mutex
	requestCounts map[string]int
	total         int
}

// Traffic is what a CountingProxy has counted up to a moment.
type Traffic struct {
	At time.Time
	// FromClient and ToClient are bytes on the wire, with TLS and headers.
	FromClient, ToClient int64
	// Requests is how many there were, and Asked counts them by what they asked for.
	Requests      int
	RequestCounts map[string]int
}

// StartCountingProxy starts a proxy, whose kubeconfig is a file of the given name in Dir.
// Close must be called.
func (c *ControlPlane) StartCountingProxy(file string) (*CountingProxy, error) {
	proxy, err := NewProxy(c.config)
	if err != nil {
		return nil, err
	}
	p := &CountingProxy{requestCounts: map[string]int{}}
	p.server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.countRequest(r)
		proxy.ServeHTTP(w, r)
	}))
	p.server.EnableHTTP2, p.server.Listener = true, countedListener{p.server.Listener, p}
	p.server.Config.ErrorLog = log.New(io.Discard, "", 0)
	p.server.StartTLS()
	// kubectl asks for a user's name where a kubeconfig has neither that nor a token.
	config := ServerConfig(p.server)
	config.BearerToken = "counted"
	if p.kubeconfig, err = c.KubeconfigFor(config, file); err != nil {
		p.Close()
		return nil, err
	}
	return p, nil
}

// Kubeconfig is the path of a kubeconfig that leads through the proxy.
func (p *CountingProxy) Kubeconfig() string { return p.kubeconfig }

// ReadTraffic returns what was counted so far.
func (p *CountingProxy) ReadTraffic() Traffic {
	p.mu.Lock()
	defer p.mu.Unlock()
	return Traffic{
		At:            time.Now(),
		FromClient:    p.in.Load(),
		ToClient:      p.out.Load(),
		Requests:      p.total,
		RequestCounts: maps.Clone(p.requestCounts),
	}
}

// Close ends all connections.
func (p *CountingProxy) Close() { CloseServer(p.server) }

func (p *CountingProxy) countRequest(r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	what := r.Method + " " + r.URL.Path
	if watch := r.URL.Query().Get("watch"); watch == "true" || watch == "1" {
		what += " (watch)"
	}
	p.requestCounts[what]++
	p.total++
}

// countedListener counts the bytes of all connections that it accepts.
type countedListener struct {
	net.Listener
	proxy *CountingProxy
}

func (l countedListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	return countedConn{conn, l.proxy}, err
}

type countedConn struct {
	net.Conn
	proxy *CountingProxy
}

func (c countedConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.proxy.in.Add(int64(n))
	return n, err
}

func (c countedConn) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b)
	c.proxy.out.Add(int64(n))
	return n, err
}
