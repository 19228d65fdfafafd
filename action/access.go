package action

import (
	"context"
	"net/http"
	"sync"
	"time"

	"k8s.io/client-go/rest"

	"github.com/veltui/veltui/internal/client"
	"github.com/veltui/veltui/session"
	"github.com/veltui/veltui/velero"
)

// access is a connection whose client is made anew when the credentials are refused.
type access struct {
	*session.Session
	timeout time.Duration // bounds one request
	meter   *session.Meter

	mu     sync.Mutex
	client *client.Client
}

func connect(s *session.Session, timeout time.Duration) (*access, error) {
	a := &access{Session: s, timeout: timeout, meter: s.Meter()}
	return a, a.open()
}

func (a *access) open() error {
	config := a.Config()
	config.WarningHandler = rest.NoWarnings{}
	config.Timeout = a.timeout
	config.QPS, config.Burst = 50, 100 // a look is a dozen requests; the client's own limit would stretch it
	over, err := session.HTTPClient(config, session.TransportOptions{Meter: a.meter, OneAttempt: true,
		Over: func(next http.RoundTripper) http.RoundTripper { return exchange{next} }})
	if err != nil {
		return err
	}
	c, err := client.New(config, over, velero.Mapper())
	if err != nil {
		return err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.client = c
	return nil
}

// refresh reads the credentials anew. They must lead to the same cluster.
func (a *access) refresh(context.Context) error {
	if err := a.Refresh(); err != nil {
		return err
	}
	return a.open()
}

func (a *access) get() *client.Client {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.client
}

// exchangeKey is the context's key of the reply that an exchange is noted in.
type exchangeKey struct{}

type exchange struct{ next http.RoundTripper }

func (t exchange) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := t.next.RoundTrip(request)
	if r, ok := request.Context().Value(exchangeKey{}).(*reply); ok {
		r.host = request.URL.Host
		if response != nil {
			r.code = response.StatusCode
		}
	}
	return response, err
}

// WrappedRoundTripper lets client-go cancel requests.
func (t exchange) WrappedRoundTripper() http.RoundTripper { return t.next }
