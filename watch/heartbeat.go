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
	// period is the time from an answer to the next request, and answerTimeout the time limit of an answer. Together
	// they stay below the ten seconds after which nothing may be called live.
	period, answerTimeout time.Duration
	// outageBackoff is the backoff between attempts while the server is away, and rejected the backoff with wrong
	// credentials or a wrong address, which waiting alone does not fix.
	outageBackoff, rejectedBackoff wait.Backoff
}

// defaultTiming retries every second, which does not burden a server that is back or refuses. Rejected credentials
// are retried less often: a credential plugin or a login service would notice.
var defaultTiming = timing{
	period:          5 * time.Second,
	answerTimeout:   4 * time.Second,
	outageBackoff:   wait.Backoff{Duration: time.Second, Jitter: 0.2},
	rejectedBackoff: wait.Backoff{Duration: time.Second, Factor: 2, Jitter: 0.2, Steps: 6, Cap: 30 * time.Second},
}

var errRejected = errors.New("credentials rejected")

type timeoutError struct{ timeout time.Duration }

func (e timeoutError) Error() string { return fmt.Sprintf("no response within %v", e.timeout) }
func (e timeoutError) Unwrap() error { return context.DeadlineExceeded }

// heartbeat checks that the API server lives and can read from etcd. An open watch does not show that: a stopped
// or unreachable server is as silent as one without news, and one whose etcd hangs keeps its watches open.
type heartbeat struct {
	timing            timing
	clock             func() time.Time
	liveness          *liveness
	listablePaths     func() []string  // returns the paths of listable kinds, the best first
	session           *session.Session // knows which cluster it is; may be nil
	identifyForbidden bool             // true if the server does not let us identify it
	retryNow          chan struct{}    // asks for an attempt now
	renewCredentials  func() bool      // reads the credentials again; true ends this connection
	onRecovery        func()           // called when the server answers after a loss
	isDenied          func() bool      // reports whether the server answers, but refuses our credentials for resources
}

// runProbes probes the server until ctx ends or there are new credentials. It returns an error if another cluster is
// at the address.
func (h *heartbeat) runProbes(ctx context.Context, c *connection) error {
	rejected := h.timing.rejectedBackoff
	h.identifyForbidden = false
	for failures := 0; ; {
		heard := c.gate.bodyReads.Load()
		offset, err := h.probeServer(ctx, c)
		if ctx.Err() != nil {
			return nil
		}
		if errors.Is(err, errRejected) && h.session != nil {
			err = cmp.Or(h.session.CheckKubeconfig(), err)
		}
		var moved *session.MovedError
		if errors.As(err, &moved) {
			h.liveness.recordFailure(h.clock(), err, 0)
			h.dropConnections(c)
			return err
		}
		if errors.Is(err, context.DeadlineExceeded) && c.gate.bodyReads.Load() != heard && len(h.listablePaths()) == 0 {
			offset, err = h.liveness.currentState().offset, nil // a busy server that still sends its lists is alive
		}
		if err == nil {
			failures, rejected = 0, h.timing.rejectedBackoff
			recovered := h.liveness.recordAnswer(h.clock(), offset)
			c.gate.openGate()
			if recovered {
				h.onRecovery()
			}
			if h.isDenied() && h.renewCredentials() || !h.waitForNextProbe(ctx, c.gate) {
				return nil
			}
			continue
		}
		failures++
		h.identifyForbidden = false
		retry := h.timing.outageBackoff
		wait := retry.Step()
		h.liveness.recordFailure(h.clock(), err, wait)
		switch {
		case errors.Is(err, errRejected), isMisdirected(err):
			wait = rejected.Step()
			h.liveness.recordFailure(h.clock(), err, wait)
			h.dropConnections(c)
		case c.gate.bodyReads.Load() != heard || h.isResponding(ctx, c):
			// A living server resumes its watches as soon as it can, and must not be made to
			// list everything again.
			h.liveness.recordFailure(
				h.clock(),
				fmt.Errorf("the API server answers, but not what it reads from etcd: %w", err),
				wait,
			)
			c.gate.openGate()
		case failures == 1 && errors.Is(err, context.DeadlineExceeded):
			// One slow answer is no reason to drop all connections.
			c.gate.closeGate()
			wait = 0
		default:
			h.dropConnections(c)
		}
		if h.renewCredentials() || !sleepUntilRetry(ctx, wait, h.retryNow) {
			return nil
		}
	}
}

func (h *heartbeat) dropConnections(c *connection) {
	c.gate.closeGate()
	c.gate.cancelRequests()
	utilnet.CloseIdleConnectionsFor(c.ungated)
}

// probeName is a name that no object has: listing it gives the smallest answer for which the API server must ask
// etcd.
const probeName = "veltui-heartbeat"

// probeServer makes a quorum read: of the namespace that identifies the cluster, else a list of one name without a
// resource version. Without the right to do either it asks for the server's version.
func (h *heartbeat) probeServer(ctx context.Context, c *connection) (offset time.Duration, err error) {
	if h.session != nil {
		if err := h.session.CheckKubeconfig(); err != nil {
			return 0, err
		}
	}
	if h.canIdentify() {
		code, offset, err := h.sendProbe(
			ctx,
			c,
			c.baseURL.JoinPath("api/v1/namespaces", metav1.NamespaceSystem),
			h.timing.answerTimeout,
			h.checkIdentity,
		)
		if err != nil || code != http.StatusForbidden && code != http.StatusNotFound {
			return offset, err
		}
		h.identifyForbidden = true
	}
	for _, path := range h.listablePaths() {
		list := c.baseURL.JoinPath(path)
		list.RawQuery = url.Values{"fieldSelector": {"metadata.name=" + probeName}, "limit": {"1"}}.Encode()
		code, offset, err := h.sendProbe(ctx, c, list, h.timing.answerTimeout, nil)
		if err != nil || code != http.StatusForbidden && code != http.StatusNotFound {
			return offset, err
		}
		// The right to list it was lost: the server refuses without asking etcd.
	}
	_, offset, err = h.sendProbe(ctx, c, c.baseURL.JoinPath("version"), h.timing.answerTimeout, nil)
	return offset, err
}

func (h *heartbeat) canIdentify() bool { return h.session != nil && !h.identifyForbidden }

// checkIdentity checks by the namespace kube-system that the cluster is still the same.
func (h *heartbeat) checkIdentity(answer io.Reader) error {
	var namespace metav1.PartialObjectMetadata
	if err := json.NewDecoder(answer).Decode(&namespace); err != nil {
		return fmt.Errorf("identifying the cluster: %w", err)
	}
	if namespace.UID == "" {
		return errors.New("identifying the cluster: namespace kube-system has no uid")
	}
	return h.session.CheckUID(namespace.UID)
}

func (h *heartbeat) isResponding(ctx context.Context, c *connection) bool {
	if !h.canIdentify() && len(h.listablePaths()) == 0 {
		return false // the probe has asked for the version already
	}
	_, _, err := h.sendProbe(ctx, c, c.baseURL.JoinPath("version"), h.timing.answerTimeout/2, nil)
	return err == nil
}

// sendProbe sends one request. Any answer proves that the server is alive, except a 401 (it does not know us), a 429
// (sent without asking etcd) and a 5xx (sent by a load balancer for a dead server, or by a starting server). read, if
// not nil, gets the answer.
func (h *heartbeat) sendProbe(
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
	answer, err := c.ungated.RoundTrip(r)
	if err != nil {
		if ctx.Err() != nil {
			return 0, 0, timeoutError{patience}
		}
		if isPluginFailure(err) {
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

// waitForNextProbe returns after the period, a failed request or a kick. It is false if the probes shall end.
func (h *heartbeat) waitForNextProbe(ctx context.Context, g *gate) bool {
	timer := time.NewTimer(h.timing.period)
	defer timer.Stop()
	select {
	case <-g.suspected:
	case <-h.retryNow:
		if h.renewCredentials() {
			return false
		}
	case <-timer.C:
	case <-ctx.Done():
		return false
	}
	return ctx.Err() == nil
}

func formatError(err error) string {
	if err == nil {
		return ""
	}
	return sanitize.Truncate(err.Error(), maxErrorRunes)
}

const maxErrorRunes = 300 // the maximum length of an error in a header, in runes

type liveness struct {
	onChange func() // called after every change

	mu      sync.Mutex
	current livenessState
}

// livenessState is the state of the heartbeat, with times in our own clock.
type livenessState struct {
	// answered is true once the server has answered, lost while it does not, and denied while it
	// refuses our credentials.
	answered, lost, denied bool
	misdirected            bool      // true while lost to an error that waiting does not fix
	answeredAt             time.Time // when the server last answered
	// err and retryAt are set only while lost.
	err     string
	retryAt time.Time
	offset  time.Duration // the server's clock minus ours
}

func (p *liveness) currentState() livenessState {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.current
}

// recordAnswer records an answer. It is true for the first answer after a loss.
func (p *liveness) recordAnswer(at time.Time, offset time.Duration) (recovered bool) {
	p.mu.Lock()
	old := p.current
	// The header has whole seconds, which makes the offset jump by one.
	if (offset == 0) == (old.offset == 0) && (offset-old.offset).Abs() <= time.Second {
		offset = old.offset
	}
	p.current = livenessState{answered: true, answeredAt: at, offset: offset}
	p.mu.Unlock()
	if !old.answered || old.lost || offset != old.offset {
		p.onChange()
	}
	return old.lost
}

// recordFailure records a missing or rejecting answer; the next attempt follows after the pause.
func (p *liveness) recordFailure(at time.Time, err error, pause time.Duration) {
	p.mu.Lock()
	p.current.lost = true
	p.current.denied, p.current.misdirected = errors.Is(err, errRejected), isMisdirected(err)
	p.current.err, p.current.retryAt = formatError(err), at.Add(pause)
	p.mu.Unlock()
	p.onChange()
}

// isMisdirected reports whether an error means a wrong address, or a server other than the kubeconfig's.
func isMisdirected(err error) bool {
	var (
		host        *net.DNSError
		certificate *tls.CertificateVerificationError
		record      tls.RecordHeaderError
	)
	return errors.As(err, &host) && host.IsNotFound || errors.As(err, &certificate) || errors.As(err, &record) ||
		// net/http has no type for this error.
		err != nil && strings.Contains(err.Error(), "server gave HTTP response to HTTPS client")
}
