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

const maxSkew = velero.ClockMargin // how far the clocks that tell an age may differ before no rule counts time

// skew is the largest difference seen between clocks, and between which.
type skew struct {
	by   time.Duration
	what string
}

func (s skew) max(by time.Duration, what string) skew {
	if by.Abs() > s.by {
		return skew{by.Abs(), what}
	}
	return s
}

func (s skew) doubt() string {
	if s.by <= maxSkew {
		return ""
	}
	return fmt.Sprintf(
		"%s differ by %s, so that veltui cannot tell how long nothing has moved",
		s.what,
		human.Duration(s.by),
	)
}

// remark is what a plan that no age decides says of clocks that differ, empty if they do not.
func (s skew) remark() string {
	if s.by <= maxSkew {
		return ""
	}
	return fmt.Sprintf(
		"%s differ by %s: the ages shown may be wrong, and decide nothing here",
		s.what,
		human.Duration(s.by),
	)
}

const skewAdvice = "Set the clock of this machine, of the control plane or of the proxy between them right, " +
	"then look again."

// clocks returns the present by the earliest of the known clocks, so that nothing looks older than it is, and how far
// they differ. The API server notes the time of each write; its newest record cannot be later than its present.
func (a *access) clocks(now time.Time, objects ...*unstructured.Unstructured) (time.Time, skew) {
	offset, _ := a.meter.Offset()
	apart := skew{}.max(offset, "the clocks of this machine and of the API server")
	at := now.Add(min(0, offset))
	var newest time.Time
	for _, o := range objects {
		newest = job.Latest(newest, job.LastWritten(o))
	}
	if newest.After(at) {
		apart = apart.max(newest.Sub(at), "the clock and the API server's newest record")
	}
	return at, apart
}

// compareWriter compares the clock that told the ages with that of the API server that would write, which notes the
// time in its answer to a dry run: of several servers one may be off, and a proxy may set another Date. Wrote is a time
// that this very request made, zero for none.
func (a *access) compareWriter(now, wrote time.Time) skew {
	if wrote.IsZero() {
		return skew{}
	}
	at, _ := a.clocks(now)
	return skew{}.max(wrote.Sub(at), "the clock and that of the API server that would write")
}
