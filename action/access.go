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

// access is the way to the API server, which can be opened anew when the
// credentials are no longer taken.
type access struct {
	session *session.Session
	// timeout bounds one request.
	timeout time.Duration
	meter   *session.Meter

	mu     sync.Mutex
	client *client.Client
}

func connect(s *session.Session, timeout time.Duration) (*access, error) {
	a := &access{session: s, timeout: timeout, meter: s.Meter()}
	return a, a.open()
}

func (a *access) open() error {
	config := a.session.Config()
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
	if err := a.session.Refresh(); err != nil {
		return err
	}
	return a.open()
}

func (a *access) get() *client.Client {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.client
}

// cluster turns our time into the cluster's.
func (a *access) cluster(now time.Time) time.Time {
	offset, _ := a.meter.Offset()
	return now.Add(offset)
}

// check makes sure that requests still go to the cluster that was shown.
func (a *access) check(ctx context.Context) error { return a.session.Check(ctx) }

// exchangeKey is the context's key of the reply that an exchange is noted in.
type exchangeKey struct{}

// exchange notes where a request went, and the code of its answer.
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
