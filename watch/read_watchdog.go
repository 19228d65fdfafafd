package watch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/veltui/veltui/internal/session"
)

// SilenceError says that the API server sent nothing for a time.
type SilenceError struct {
	After time.Duration
	Err   error // the error of the last request, nil if it was still without an answer
}

func (e *SilenceError) Error() string {
	if e.Err != nil {
		return fmt.Sprintf("gave up after %s: %s", e.After, formatError(e.Err))
	}
	return fmt.Sprintf("gave up: the API server sent nothing for %s", e.After)
}

func (e *SilenceError) Unwrap() error { return e.Err }

// RejectedError says that the API server does not take the credentials.
type RejectedError struct{ Err error }

func (e *RejectedError) Error() string {
	return "the API server rejects your credentials: " + formatError(
		e.Err,
	) + "; log in again or renew the credentials in the kubeconfig"
}

func (e *RejectedError) Unwrap() error { return e.Err }

// readWatchdog notices when the API server falls silent during a one-shot read. A long list that keeps coming is only
// slow.
type readWatchdog struct {
	meter   *session.Meter
	silence time.Duration
	timer   *time.Timer

	mu      sync.Mutex
	answers int   // counts the server's answers
	lastErr error // the error of the last request
}

var errSilence = errors.New("nothing came in time")

func newReadWatchdog(clock func() time.Time, silence time.Duration, give context.CancelCauseFunc) *readWatchdog {
	return &readWatchdog{
		meter:   session.NewMeter(clock),
		silence: silence,
		timer:   time.AfterFunc(silence, func() { give(errSilence) }),
	}
}

func (l *readWatchdog) resetTimer() { l.timer.Reset(l.silence) }

func (l *readWatchdog) clockOffset() time.Duration {
	offset, _ := l.meter.ClockOffset()
	return offset
}

type watchdogTransport struct {
	next     http.RoundTripper
	watchdog *readWatchdog
}

func (t watchdogTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := t.next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	if answer.StatusCode < http.StatusInternalServerError && answer.StatusCode != http.StatusTooManyRequests {
		t.watchdog.resetTimer()
		t.watchdog.mu.Lock()
		t.watchdog.answers++
		t.watchdog.lastErr = nil
		t.watchdog.mu.Unlock()
		answer.Body = watchdogBody{answer.Body, t.watchdog}
	}
	return answer, nil
}

type watchdogBody struct {
	io.ReadCloser
	watchdog *readWatchdog
}

func (b watchdogBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if n > 0 {
		b.watchdog.resetTimer()
	}
	return n, err
}

// requestBackoff is the backoff between two attempts at one request.
var requestBackoff = wait.Backoff{
	Duration: 200 * time.Millisecond,
	Factor:   2,
	Jitter:   0.2,
	Steps:    5,
	Cap:      3 * time.Second,
}

const maxBrokenAnswers = 3 // how many answers to one request may break off before it fails

// retryRequest calls ask until it succeeds or fails for good, or until ctx ends, as it does after too long a silence.
func (l *readWatchdog) retryRequest(ctx context.Context, ask func() error) error {
	broken := 0
	for backoff := requestBackoff; ; {
		before := l.answerCount()
		err := ask()
		if err == nil || ctx.Err() != nil || isCredentialsError(err) || isPermanent(err) {
			return err
		}
		if l.answerCount() > before {
			if broken++; broken >= maxBrokenAnswers {
				return err
			}
		}
		l.mu.Lock()
		l.lastErr = err
		l.mu.Unlock()
		if !sleepUntilRetry(ctx, backoff.Step(), nil) {
			return err
		}
	}
}

func (l *readWatchdog) answerCount() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.answers
}

func isCredentialsError(err error) bool { return isUnauthenticated(err) || isPluginFailure(err) }

// isUnauthenticated reports whether the API server does not recognize the credentials.
func isUnauthenticated(err error) bool {
	return apierrors.IsUnauthorized(err) ||
		apierrors.IsForbidden(err) && strings.Contains(err.Error(), `"system:anonymous"`)
}

func isPluginFailure(err error) bool {
	return err != nil && strings.Contains(err.Error(), "getting credentials")
}

// isPermanent reports whether repeating the request would only repeat the error.
func isPermanent(err error) bool {
	var redirect *session.RedirectError
	return session.IsIncomplete(err) || errors.As(err, &redirect) || apierrors.IsForbidden(err) ||
		apierrors.IsNotFound(err) ||
		apierrors.IsBadRequest(err) ||
		apierrors.IsInvalid(err) ||
		apierrors.IsMethodNotSupported(err)
}

// explainError turns the error that ended a read into a readable one.
func (l *readWatchdog) explainError(ctx context.Context, err error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case errors.Is(context.Cause(ctx), errSilence):
		return &SilenceError{l.silence, l.lastErr}
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case isCredentialsError(err):
		return &RejectedError{err}
	}
	return err
}
