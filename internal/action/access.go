package action

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"

	"github.com/veltui/veltui/internal/client"
	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/job"
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

type exchangeKey struct{}

type exchangeRecorder struct{ next http.RoundTripper }

func (t exchangeRecorder) RoundTrip(request *http.Request) (*http.Response, error) {
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
func (t exchangeRecorder) WrappedRoundTripper() http.RoundTripper { return t.next }

// maxClockSkew is the difference between the clocks behind an age up to which rules may use that age.
const maxClockSkew = velero.ClockMargin

// clockSkew is the largest difference seen between two clocks, with the names of the clocks.
type clockSkew struct {
	difference time.Duration
	clocks     string
}

func (s clockSkew) largerSkew(by time.Duration, what string) clockSkew {
	if by.Abs() > s.difference {
		return clockSkew{by.Abs(), what}
	}
	return s
}

func (s clockSkew) doubtText() string {
	if s.difference <= maxClockSkew {
		return ""
	}
	return fmt.Sprintf(
		"%s differ by %s, so that veltui cannot tell how long nothing has moved",
		s.clocks,
		human.Duration(s.difference),
	)
}

// remarkText returns the remark about differing clocks for a plan that no age decides, empty if the clocks agree.
func (s clockSkew) remarkText() string {
	if s.difference <= maxClockSkew {
		return ""
	}
	return fmt.Sprintf(
		"%s differ by %s: the ages shown may be wrong, and decide nothing here",
		s.clocks,
		human.Duration(s.difference),
	)
}

const skewAdvice = "Set the clock of this machine, of the control plane or of the proxy between them right, " +
	"then look again."

// compareClocks returns the present time by the earliest of the known clocks, so that nothing looks older than it is,
// and the difference between the clocks. The API server notes the time of each write; its newest record cannot be
// later than its present time.
func (a *connection) compareClocks(now time.Time, objects ...*unstructured.Unstructured) (time.Time, clockSkew) {
	offset, _ := a.meter.ClockOffset()
	apart := clockSkew{}.largerSkew(offset, "the clocks of this machine and of the API server")
	at := now.Add(min(0, offset))
	var newest time.Time
	for _, o := range objects {
		newest = job.LatestTime(newest, job.LastWritten(o))
	}
	if newest.After(at) {
		apart = apart.largerSkew(newest.Sub(at), "the clock and the API server's newest record")
	}
	return at, apart
}

// compareWriterClock compares the clock behind the ages with the clock of the API server that would carry out the
// write, which notes the time in its answer to a dry run: of several servers one clock may be wrong, and a proxy may
// set another Date. wrote is a time that this very request set, zero for none.
func (a *connection) compareWriterClock(now, wrote time.Time) clockSkew {
	if wrote.IsZero() {
		return clockSkew{}
	}
	at, _ := a.compareClocks(now)
	return clockSkew{}.largerSkew(wrote.Sub(at), "the clock and that of the API server that would write")
}
