package watch

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/veltui/veltui/sanitize"
	"github.com/veltui/veltui/session"
)

// timing are the intervals of the heartbeat.
type timing struct {
	// period is from one question to the next while all is well, patience how
	// long an answer may take.
	period, patience time.Duration
	// retry is the pause between attempts while the server is away.
	retry wait.Backoff
}

// usualTiming asks every 5 s, no more often than the API server's keepers
// tolerate, and backs off from 1 s to 30 s while there is no answer.
var usualTiming = timing{
	period:   5 * time.Second,
	patience: 4 * time.Second,
	retry:    wait.Backoff{Duration: time.Second, Factor: 2, Jitter: 0.2, Steps: 6, Cap: 30 * time.Second},
}

// errRejected is the server's or a credential plugin's no.
var errRejected = errors.New("credentials rejected")

// heartbeat finds out whether the API server lives. An open watch does not
// tell: a server that is stopped or cut off says nothing, just as one that has
// no news.
type heartbeat struct {
	timing   timing
	clock    func() time.Time
	liveness *liveness
	// kick asks for an attempt now.
	kick chan struct{}
	// renew looks for other credentials; true ends this connection.
	renew func() bool
	// revived is called when the server answers again.
	revived func()
	// denied reports whether the server answers us, but takes our credentials
	// for nobody's when we ask for resources.
	denied func() bool
}

// run asks until ctx ends or other credentials are there.
func (h *heartbeat) run(ctx context.Context, c *connection) {
	backoff := h.timing.retry
	for failures := 0; ; {
		heard := c.gate.answers.Load()
		offset, err := h.ask(ctx, c)
		if ctx.Err() != nil {
			return
		}
		if errors.Is(err, context.DeadlineExceeded) && c.gate.answers.Load() != heard {
			// A busy server that still tells its watches lives, and must not
			// be made to list everything again.
			offset, err = h.liveness.read().offset, nil
		}
		if err == nil {
			failures, backoff = 0, h.timing.retry
			again := h.liveness.beat(h.clock(), offset)
			c.gate.unlock()
			if again {
				h.revived()
			}
			if h.denied() && h.renew() || !h.waitForDoubt(ctx, c.gate) {
				return
			}
			continue
		}
		failures++
		c.gate.shut()
		if failures == 1 && errors.Is(err, context.DeadlineExceeded) {
			// One slow answer is no reason to begin anew with everything.
			h.liveness.miss(h.clock(), err, 0)
			continue
		}
		c.gate.cut()
		utilnet.CloseIdleConnectionsFor(c.direct)
		pause := backoff.Step()
		h.liveness.miss(h.clock(), err, pause)
		if h.renew() || !h.waitForRetry(ctx, pause) {
			return
		}
	}
}

// ask asks for the server's version. Any answer proves life but a 401, which
// says that it does not know us, and a 5xx, which is what a load balancer says
// for a dead server and a server while it starts.
func (h *heartbeat) ask(ctx context.Context, c *connection) (offset time.Duration, err error) {
	ctx, cancel := context.WithTimeout(ctx, h.timing.patience)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, c.version.String(), nil)
	if err != nil {
		return 0, fmt.Errorf("asking for the server's version: %w", err)
	}
	asked := h.clock()
	answer, err := c.direct.RoundTrip(r)
	if err != nil {
		if ctx.Err() != nil {
			return 0, fmt.Errorf("no response within %v: %w", h.timing.patience, ctx.Err())
		}
		if strings.Contains(err.Error(), "getting credentials") {
			// How client-go reports a failed credential plugin.
			return 0, fmt.Errorf("%w: %w", errRejected, err)
		}
		return 0, err
	}
	defer answer.Body.Close()
	answered := h.clock()
	switch {
	case answer.StatusCode == http.StatusUnauthorized:
		return 0, fmt.Errorf("%w: the API server answers 401 Unauthorized", errRejected)
	case answer.StatusCode >= http.StatusInternalServerError:
		return 0, fmt.Errorf("the API server answers %d %s", answer.StatusCode, http.StatusText(answer.StatusCode))
	}
	offset, _ = session.ClockOffset(answer.Header.Get("Date"), asked, answered)
	return offset, nil
}

// waitForDoubt returns after the period, or when a request failed or somebody
// asks. It is false when ctx has ended.
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

// waitForRetry returns after a pause, or when somebody asks.
func (h *heartbeat) waitForRetry(ctx context.Context, pause time.Duration) bool {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-h.kick:
	case <-timer.C:
	case <-ctx.Done():
	}
	return ctx.Err() == nil
}

// words makes an error one harmless line.
func words(err error) string {
	if err == nil {
		return ""
	}
	return sanitize.Cut(err.Error(), maxWords)
}

// maxWords is how long, in runes, an error may be that a header shows.
const maxWords = 300
