package action

import (
	"context"
	"net/http"
	"sync"
	"time"

	"k8s.io/client-go/rest"

	"github.com/veltui/veltui/internal/client"
	"github.com/veltui/veltui/internal/session"
	"github.com/veltui/veltui/internal/velero"
)

// connection is a connection to the cluster. It makes a new client when the credentials are refused.
type connection struct {
	*session.Session
	timeout time.Duration // limits one request
	meter   *session.Meter

	mu     sync.Mutex
	client *client.Client
}

func newConnection(s *session.Session, timeout time.Duration) (*connection, error) {
	a := &connection{Session: s, timeout: timeout, meter: s.Meter()}
	return a, a.openClient()
}

func (a *connection) openClient() error {
	config := a.RESTConfig()
	config.WarningHandler = rest.NoWarnings{}
	config.Timeout = a.timeout
	// Gathering evidence takes a dozen requests; the client's default rate limit would prolong it.
	config.QPS, config.Burst = 50, 100
	over, err := session.HTTPClient(config, session.TransportOptions{Meter: a.meter, DisableRetries: true,
		WrapTransport: func(next http.RoundTripper) http.RoundTripper { return exchangeRecorder{next} }})
	if err != nil {
		return err
	}
	c, err := client.New(config, over, velero.NewRESTMapper())
	if err != nil {
		return err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.client = c
	return nil
}

// refreshCredentials reads the credentials again. They must lead to the same cluster.
func (a *connection) refreshCredentials(context.Context) error {
	if err := a.RefreshCredentials(); err != nil {
		return err
	}
	return a.openClient()
}

func (a *connection) currentClient() *client.Client {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.client
}
