package watch

import (
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/veltui/veltui/internal/sanitize"
	"github.com/veltui/veltui/internal/session"
)

type timing struct {
	// period is the time from an answer to the next question, patience an answer's limit.
	// Together they stay below the ten seconds after which nothing may be called live.
	period, patience time.Duration
	// retry is the pause between attempts while the server is away, and rejected with wrong
	// credentials or a wrong address, which time alone does not mend.
	retry, rejected wait.Backoff
}

// usualTiming: an attempt a second does not burden a server that is back or refuses, but a
// credential plugin or a login service notices it.
var usualTiming = timing{
	period:   5 * time.Second,
	patience: 4 * time.Second,
	retry:    wait.Backoff{Duration: time.Second, Jitter: 0.2},
	rejected: wait.Backoff{Duration: time.Second, Factor: 2, Jitter: 0.2, Steps: 6, Cap: 30 * time.Second},
}

var errRejected = errors.New("credentials rejected")

type lateError struct{ patience time.Duration }

func (e lateError) Error() string { return fmt.Sprintf("no response within %v", e.patience) }
func (e lateError) Unwrap() error { return context.DeadlineExceeded }

// heartbeat checks that the API server lives and can read from etcd. An open watch does not show that: a stopped
// or unreachable server is as silent as one without news, and one whose etcd hangs keeps its watches open.
type heartbeat struct {
	timing       timing
	clock        func() time.Time
	liveness     *liveness
	lists        func() []string  // returns the paths of kinds that may be listed, the best first
	session      *session.Session // knows which cluster it is; may be nil
	unidentified bool             // true where the server does not let us read which cluster it is
	kick         chan struct{}    // asks for an attempt now
	renew        func() bool      // looks for other credentials; true ends this connection
	revived      func()           // called when the server answers after a loss
	denied       func() bool      // reports whether the server answers, but refuses our credentials for resources
}

// run asks until ctx ends or other credentials exist. It returns an error if another cluster is at the address.
func (h *heartbeat) run(ctx context.Context, c *connection) error {
	rejected := h.timing.rejected
	h.unidentified = false
	for failures := 0; ; {
		heard := c.gate.answers.Load()
		offset, err := h.ask(ctx, c)
		if ctx.Err() != nil {
			return nil
		}
		if errors.Is(err, errRejected) && h.session != nil {
			err = cmp.Or(h.session.Moved(), err)
		}
		var moved *session.MovedError
		if errors.As(err, &moved) {
			h.liveness.miss(h.clock(), err, 0)
			h.leave(c)
			return err
		}
		if errors.Is(err, context.DeadlineExceeded) && c.gate.answers.Load() != heard && len(h.lists()) == 0 {
			offset, err = h.liveness.read().offset, nil // a busy server that still sends its lists lives
		}
		if err == nil {
			failures, rejected = 0, h.timing.rejected
			recovered := h.liveness.beat(h.clock(), offset)
			c.gate.unlock()
			if recovered {
				h.revived()
			}
			if h.denied() && h.renew() || !h.waitForDoubt(ctx, c.gate) {
				return nil
			}
			continue
		}
		failures++
		h.unidentified = false
		retry := h.timing.retry
		wait := retry.Step()
		h.liveness.miss(h.clock(), err, wait)
		switch {
		case errors.Is(err, errRejected), misdirected(err):
			wait = rejected.Step()
			h.liveness.miss(h.clock(), err, wait)
			h.leave(c)
		case c.gate.answers.Load() != heard || h.answers(ctx, c):
			// A living server resumes its watches as soon as it can, and must not be made to
			// list everything again.
			h.liveness.miss(
				h.clock(),
				fmt.Errorf("the API server answers, but not what it reads from etcd: %w", err),
				wait,
			)
			c.gate.unlock()
		case failures == 1 && errors.Is(err, context.DeadlineExceeded):
			// One slow answer is no reason to begin anew with everything.
			c.gate.shut()
			wait = 0
		default:
			h.leave(c)
		}
		if h.renew() || !pause(ctx, wait, h.kick) {
			return nil
		}
	}
}

func (h *heartbeat) leave(c *connection) {
	c.gate.shut()
	c.gate.cut()
	utilnet.CloseIdleConnectionsFor(c.direct)
}

// nobody is a name that no object has: a list of it is the smallest answer for which the API
// server must ask etcd.
const nobody = "veltui-heartbeat"

// ask makes a quorum read: of the namespace that identifies the cluster, else a list of one name
// without a resource version. Without any right it asks for the server's version.
func (h *heartbeat) ask(ctx context.Context, c *connection) (offset time.Duration, err error) {
	if h.session != nil {
		if err := h.session.Moved(); err != nil {
			return 0, err
		}
	}
	if h.mayIdentify() {
		code, offset, err := h.get(
			ctx,
			c,
			c.base.JoinPath("api/v1/namespaces", metav1.NamespaceSystem),
			h.timing.patience,
			h.identify,
		)
		if err != nil || code != http.StatusForbidden && code != http.StatusNotFound {
			return offset, err
		}
		h.unidentified = true
	}
	for _, path := range h.lists() {
		list := c.base.JoinPath(path)
		list.RawQuery = url.Values{"fieldSelector": {"metadata.name=" + nobody}, "limit": {"1"}}.Encode()
		code, offset, err := h.get(ctx, c, list, h.timing.patience, nil)
		if err != nil || code != http.StatusForbidden && code != http.StatusNotFound {
			return offset, err
		}
		// What could be listed no longer can: that was said without etcd.
	}
	_, offset, err = h.get(ctx, c, c.base.JoinPath("version"), h.timing.patience, nil)
	return offset, err
}

func (h *heartbeat) mayIdentify() bool { return h.session != nil && !h.unidentified }

// identify checks by the namespace kube-system that the cluster is still the same.
func (h *heartbeat) identify(answer io.Reader) error {
	var namespace metav1.PartialObjectMetadata
	if err := json.NewDecoder(answer).Decode(&namespace); err != nil {
		return fmt.Errorf("identifying the cluster: %w", err)
	}
	if namespace.UID == "" {
		return errors.New("identifying the cluster: namespace kube-system has no uid")
	}
	return h.session.Recognize(namespace.UID)
}

func (h *heartbeat) answers(ctx context.Context, c *connection) bool {
	if !h.mayIdentify() && len(h.lists()) == 0 {
		return false // that was asked already
	}
	_, _, err := h.get(ctx, c, c.base.JoinPath("version"), h.timing.patience/2, nil)
	return err == nil
}

// get sends one request. Any answer proves life but a 401 (the server does not know us), a 429
// (sent without a look at etcd) and a 5xx (sent by a load balancer for a dead server, or by one
// that starts). read, if any, gets the answer.
func (h *heartbeat) get(
	ctx context.Context,
	c *connection,
	address *url.URL,
	patience time.Duration,
	read func(io.Reader) error,
) (code int, offset time.Duration, err error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address.String(), nil)
	if err != nil {
		return 0, 0, fmt.Errorf("asking the API server: %w", err)
	}
	asked := h.clock()
	answer, err := c.direct.RoundTrip(r)
	if err != nil {
		if ctx.Err() != nil {
			return 0, 0, lateError{patience}
		}
		if pluginFailed(err) {
			return 0, 0, fmt.Errorf("%w: %w", errRejected, err)
		}
		return 0, 0, err
	}
	defer answer.Body.Close()
	answered := h.clock()
	code = answer.StatusCode
	switch {
	case code == http.StatusUnauthorized:
		return code, 0, fmt.Errorf("%w: the API server answers 401 Unauthorized", errRejected)
	case code == http.StatusTooManyRequests, code >= http.StatusInternalServerError:
		return code, 0, fmt.Errorf("the API server answers %d %s", code, http.StatusText(code))
	}
	offset, _ = session.ClockOffset(answer.Header.Get("Date"), asked, answered)
	if read != nil && code == http.StatusOK {
		err = read(answer.Body)
	}
	return code, offset, err
}

// waitForDoubt returns after the period, a failed request or a kick. It is false when ctx has ended.
func (h *heartbeat) waitForDoubt(ctx context.Context, g *gate) bool {
	timer := time.NewTimer(h.timing.period)
	defer timer.Stop()
	select {
	case <-g.suspected:
	case <-h.kick:
		if h.renew() {
			return false
		}
	case <-timer.C:
	case <-ctx.Done():
		return false
	}
	return ctx.Err() == nil
}

func words(err error) string {
	if err == nil {
		return ""
	}
	return sanitize.Cut(err.Error(), maxWords)
}

const maxWords = 300 // limits an error in a header, in runes

type liveness struct {
	changed func() // called after every change

	mu  sync.Mutex
	now livenessState
}

// livenessState holds times of our own clock.
type livenessState struct {
	// heard is true once the server has answered, lost while it does not, and denied while it
	// refuses our credentials.
	heard, lost, denied bool
	misdirected         bool      // true while lost to an error that time does not mend
	answeredAt          time.Time // when the server last answered
	// err and retryAt are only set while lost.
	err     string
	retryAt time.Time
	offset  time.Duration // the server's clock minus ours
}

func (p *liveness) read() livenessState {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.now
}

// beat records an answer, and returns true for the first one after a loss.
func (p *liveness) beat(at time.Time, offset time.Duration) (recovered bool) {
	p.mu.Lock()
	old := p.now
	// The header's whole seconds make the offset jump by one.
	if (offset == 0) == (old.offset == 0) && (offset-old.offset).Abs() <= time.Second {
		offset = old.offset
	}
	p.now = livenessState{heard: true, answeredAt: at, offset: offset}
	p.mu.Unlock()
	if !old.heard || old.lost || offset != old.offset {
		p.changed()
	}
	return old.lost
}

// miss records a missing or refusing answer; the next attempt follows after the pause.
func (p *liveness) miss(at time.Time, err error, pause time.Duration) {
	p.mu.Lock()
	p.now.lost = true
	p.now.denied, p.now.misdirected = errors.Is(err, errRejected), misdirected(err)
	p.now.err, p.now.retryAt = words(err), at.Add(pause)
	p.mu.Unlock()
	p.changed()
}

// misdirected reports whether an error means a wrong address, or a server other than the kubeconfig's.
func misdirected(err error) bool {
	var (
		host        *net.DNSError
		certificate *tls.CertificateVerificationError
		record      tls.RecordHeaderError
	)
	return errors.As(err, &host) && host.IsNotFound || errors.As(err, &certificate) || errors.As(err, &record) ||
		// net/http has no type for this.
		err != nil && strings.Contains(err.Error(), "server gave HTTP response to HTTPS client")
}
