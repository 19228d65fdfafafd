package watch

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"reflect"

	"k8s.io/client-go/rest"

	"github.com/veltui/veltui/internal/client"
	"github.com/veltui/veltui/session"
	"github.com/veltui/veltui/velero"
)

// qps and burst are the client-side limits if the configuration has none: ten kinds in pages of
// 500 need about a hundred requests at once, later next to none.
const (
	qps   = 50
	burst = 100
)

// connection is a client of the API server with one set of credentials.
type connection struct {
	config *rest.Config
	// client asks where Velero is, rest reads what is there.
	client *client.Client
	rest   rest.Interface
	// gate holds requests back, and direct bypasses it for the heartbeat; nil for one reading.
	gate   *gate
	direct http.RoundTripper
	base   *url.URL
}

// connect prepares a connection whose requests pass a gate, without using it. It fails for
// unreadable credentials.
func connect(cfg *rest.Config, log *slog.Logger) (*connection, error) {
	var direct http.RoundTripper
	var g *gate
	c, err := open(cfg, log, session.TransportOptions{Over: func(next http.RoundTripper) http.RoundTripper {
		direct, g = next, newGate(next)
		return g
	}})
	if err != nil {
		return nil, err
	}
	c.direct, c.gate = direct, g
	return c, nil
}

// open prepares a connection over a transport.
func open(cfg *rest.Config, log *slog.Logger, t session.TransportOptions) (*connection, error) {
	c := &connection{config: cfg}
	cfg = rest.CopyConfig(cfg)
	// A time limit would end every watch and long list; the heartbeat or the line notices a
	// server that does not answer.
	cfg.Timeout = 0
	if cfg.QPS == 0 {
		cfg.QPS, cfg.Burst = qps, burst
	}
	if cfg.WarningHandler == nil && cfg.WarningHandlerWithContext == nil {
		cfg.WarningHandler = warnings{log}
	}
	over, err := session.HTTPClient(cfg, t)
	if err != nil {
		return nil, err
	}
	if c.client, err = client.New(cfg, over, velero.Mapper()); err != nil {
		return nil, err
	}
	c.rest = c.client.REST
	if c.base, _, err = rest.DefaultServerUrlFor(cfg); err != nil {
		return nil, fmt.Errorf("reading the API server's address: %w", err)
	}
	return c, nil
}

// warnings sends the API server's warnings to the log instead of the terminal.
type warnings struct{ log *slog.Logger }

func (w warnings) HandleWarningHeader(code int, agent, text string) {
	w.log.Warn("warning from the API server", "code", code, "agent", agent, "text", text)
}

// sameAccess reports whether two configurations lead to the same server with the same
// credentials. Functions cannot be compared.
func sameAccess(a, b *rest.Config) bool {
	return reflect.DeepEqual(accessOf(a), accessOf(b))
}

func accessOf(c *rest.Config) *rest.Config {
	c = rest.CopyConfig(c)
	c.Transport, c.WrapTransport = nil, nil
	c.RateLimiter, c.WarningHandler, c.WarningHandlerWithContext = nil, nil, nil
	c.Dial, c.Proxy, c.AuthConfigPersister = nil, nil, nil
	return c
}
