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
	For time.Duration
	Err error // what the last request ended with, nil if it was still without an answer
}

func (e *SilenceError) Error() string {
	if e.Err != nil {
		return fmt.Sprintf("gave up after %s: %s", e.For, words(e.Err))
	}
	return fmt.Sprintf("gave up: the API server sent nothing for %s", e.For)
}

func (e *SilenceError) Unwrap() error { return e.Err }

// RejectedError says that the API server does not take the credentials.
type RejectedError struct{ Err error }

func (e *RejectedError) Error() string {
	return "the API server rejects your credentials: " + words(
		e.Err,
	) + "; log in again or renew the credentials in the kubeconfig"
}

func (e *RejectedError) Unwrap() error { return e.Err }

// line is one reading's way to the API server: it notices silence. A long list that keeps coming is only slow.
type line struct {
	meter   *session.Meter
	silence time.Duration
	timer   *time.Timer

	mu      sync.Mutex
	answers int   // counts what the server has answered
	last    error // what the last request failed with
}

var errSilence = errors.New("nothing came in time")

func newLine(clock func() time.Time, silence time.Duration, give context.CancelCauseFunc) *line {
	return &line{
		meter:   session.NewMeter(clock),
		silence: silence,
		timer:   time.AfterFunc(silence, func() { give(errSilence) }),
	}
}

func (l *line) heard() { l.timer.Reset(l.silence) }

func (l *line) offset() time.Duration {
	offset, _ := l.meter.Offset()
	return offset
}

type listening struct {
	next http.RoundTripper
	line *line
}

func (t listening) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := t.next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	if answer.StatusCode < http.StatusInternalServerError && answer.StatusCode != http.StatusTooManyRequests {
		t.line.heard()
		t.line.mu.Lock()
		t.line.answers++
		t.line.last = nil
		t.line.mu.Unlock()
		answer.Body = heardBody{answer.Body, t.line}
	}
	return answer, nil
}

type heardBody struct {
	io.ReadCloser
	line *line
}

func (b heardBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if n > 0 {
		b.line.heard()
	}
	return n, err
}

// onceRetry is the pause between two attempts at one request.
var onceRetry = wait.Backoff{Duration: 200 * time.Millisecond, Factor: 2, Jitter: 0.2, Steps: 5, Cap: 3 * time.Second}

const maxBroken = 3 // how many answers to one request may break off

// try asks until there is an answer, or the line has been silent for too long, which ends ctx.
func (l *line) try(ctx context.Context, ask func() error) error {
	broken := 0
	for backoff := onceRetry; ; {
		before := l.heardAnswers()
		err := ask()
		if err == nil || ctx.Err() != nil || rejected(err) || final(err) {
			return err
		}
		if l.heardAnswers() > before {
			if broken++; broken >= maxBroken {
				return err
			}
		}
		l.mu.Lock()
		l.last = err
		l.mu.Unlock()
		if !pause(ctx, backoff.Step(), nil) {
			return err
		}
	}
}

func (l *line) heardAnswers() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.answers
}

func rejected(err error) bool { return unauthenticated(err) || pluginFailed(err) }

// unauthenticated reports whether the API server takes us for nobody it knows.
func unauthenticated(err error) bool {
	return apierrors.IsUnauthorized(err) ||
		apierrors.IsForbidden(err) && strings.Contains(err.Error(), `"system:anonymous"`)
}

func pluginFailed(err error) bool {
	return err != nil && strings.Contains(err.Error(), "getting credentials")
}

// final reports whether the same request would only be answered the same.
func final(err error) bool {
	var redirect *session.RedirectError
	return session.IsIncomplete(err) || errors.As(err, &redirect) || apierrors.IsForbidden(err) ||
		apierrors.IsNotFound(err) ||
		apierrors.IsBadRequest(err) ||
		apierrors.IsInvalid(err) ||
		apierrors.IsMethodNotSupported(err)
}

// explain makes a readable error of the one that a reading ended with.
func (l *line) explain(ctx context.Context, err error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case errors.Is(context.Cause(ctx), errSilence):
		return &SilenceError{l.silence, l.last}
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case rejected(err):
		return &RejectedError{err}
	}
	return err
}
