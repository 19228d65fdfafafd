package session

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/veltui/veltui/internal/sanitize"
)

// These are the limits of one answer in bytes after decompression. Reading and decoding take three times as much.
const (
	// MaxAnswerBytes is more than one object (etcd takes 1.5 MiB, up to six times that as JSON) and more than a page of
	// 500 usual objects; longer pages are split into smaller ones ([ReadPages]).
	MaxAnswerBytes      = 10 << 20
	maxSmallAnswerBytes = 1 << 20
)

type TransportOptions struct {
	Meter *Meter // measures the answers; may be nil
	// SilenceTimeout is the time without data after which a request ends; 0 waits forever.
	SilenceTimeout time.Duration
	// TotalTimeout limits one request with its answer, even if the answer keeps coming slowly, except with
	// [WithStreaming]; 0 is [DefaultTotalTimeout].
	TotalTimeout time.Duration
	// DisableRetries turns an answer that asks to retry later into an error with that delay. Kubernetes' client would
	// repeat the request up to ten times, unnoticed.
	DisableRetries bool
	WrapTransport  func(http.RoundTripper) http.RoundTripper // a transport around this one, or nil
}

// ProtectConfig returns a copy with this package's transport, which limits answers, refuses redirects and shortens
// Retry-After.
func ProtectConfig(config *rest.Config, o TransportOptions) *rest.Config {
	config = rest.CopyConfig(config)
	if o.Meter == nil {
		o.Meter = NewMeter(nil)
	}
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return &transport{next, o} })
	return config
}

// HTTPClient returns the HTTP client that every client of an API server is built on.
func HTTPClient(config *rest.Config, o TransportOptions) (*http.Client, error) {
	next, err := rest.TransportFor(ProtectConfig(config, o))
	if err != nil {
		return nil, fmt.Errorf("preparing the connection to the API server: %w", err)
	}
	if o.WrapTransport != nil {
		next = o.WrapTransport(next)
	}
	return &http.Client{Transport: next, Timeout: config.Timeout}, nil
}

// IncompleteError means that a limit was reached: no conclusion may be drawn from missing data.
type IncompleteError struct {
	Reason string
	// TooLong is true for one answer with too many bytes: a smaller page may fit.
	TooLong bool
}

func (e *IncompleteError) Error() string { return e.Reason }

func IsIncomplete(err error) bool {
	var incomplete *IncompleteError
	return errors.As(err, &incomplete)
}

func tooLongError(limit int64) error {
	return &IncompleteError{
		Reason:  fmt.Sprintf("incomplete: the API server's answer is longer than %d MiB", limit>>20),
		TooLong: true,
	}
}

// RedirectError reports a redirect. It is never followed: the credentials would go with it.
type RedirectError struct {
	Code     int
	Location string // safe to print
}

func (e *RedirectError) Error() string {
	return fmt.Sprintf(
		"the API server answers %d and redirects to %s; veltui follows no redirect, as your credentials would go with "+
			"it. Check the server's URL in the kubeconfig",
		e.Code,
		e.Location,
	)
}

type SilenceError struct{ After time.Duration }

func (e SilenceError) Error() string {
	return fmt.Sprintf("the API server sent nothing for %s", e.After)
}

// DefaultTotalTimeout is the time limit of one answer: an API server ends a request other than a watch after a minute
// (kube-apiserver --request-timeout), and a proxy in between may take as long again.
const DefaultTotalTimeout = 2 * time.Minute

// SlowAnswerError means that an answer kept coming, but was not complete in time.
type SlowAnswerError struct{ After time.Duration }

func (e SlowAnswerError) Error() string {
	return fmt.Sprintf("the API server's answer was not complete after %s", e.After)
}

type streamingKey struct{}

// WithStreaming returns a context for requests whose answer has no end, or whose reader limits each piece: watches,
// followed logs, large lists. Error answers are still limited.
func WithStreaming(ctx context.Context) context.Context {
	return context.WithValue(ctx, streamingKey{}, true)
}

type transport struct {
	next    http.RoundTripper
	options TransportOptions
}

// WrappedRoundTripper lets Kubernetes' packages close idle connections.
func (t *transport) WrappedRoundTripper() http.RoundTripper { return t.next }

func (t *transport) RoundTrip(request *http.Request) (*http.Response, error) {
	meter := t.options.Meter
	sent := meter.countRequest()
	ctx, watchdog := t.startWatchdog(request)
	if watchdog != nil {
		request = request.WithContext(ctx)
	}
	response, err := t.next.RoundTrip(request)
	if err != nil {
		err = watchdog.explainError(err)
		watchdog.cancelRequest()
		return nil, err
	}
	meter.recordResponse(response, sent)
	if response.StatusCode == http.StatusSwitchingProtocols {
		watchdog.stopTimers()
		return response, nil // the answer has become a connection
	}
	watchdog.resetSilence()
	response.Body = &limitedBody{
		ReadCloser: response.Body,
		meter:      meter,
		watchdog:   watchdog,
		limit:      answerLimit(request, response),
	}
	if err := t.checkResponse(request, response); err != nil {
		_ = response.Body.Close()
		return nil, err
	}
	return response, nil
}

// checkResponse refuses answers that clients must not get, and reads error answers.
func (t *transport) checkResponse(request *http.Request, response *http.Response) error {
	switch code := response.StatusCode; code {
	case http.StatusMovedPermanently,
		http.StatusFound,
		http.StatusSeeOther,
		http.StatusTemporaryRedirect,
		http.StatusPermanentRedirect:
		return &RedirectError{code, sanitize.Truncate(response.Header.Get("Location"), maxLocationRunes)}
	}
	// net/http has already undone the compression that it asked for.
	if encoding := response.Header.Get("Content-Encoding"); encoding != "" && !strings.EqualFold(encoding, "identity") {
		return &IncompleteError{
			Reason: fmt.Sprintf(
				"incomplete: the API server's answer is encoded as %s, which nobody asked for",
				sanitize.Truncate(encoding, 40),
			),
		}
	}
	if limit := response.Body.(*limitedBody).limit; limit > 0 && response.ContentLength > limit {
		return tooLongError(limit)
	}
	capRetryAfter(response)
	if response.StatusCode < http.StatusBadRequest {
		return nil
	}
	text, err := io.ReadAll(response.Body)
	switch {
	case IsIncomplete(err):
		return err
	case err != nil:
		response.Body = partialBody{io.MultiReader(bytes.NewReader(text), errorReader{err}), response.Body}
	default:
		_ = response.Body.Close()
		response.Body = io.NopCloser(bytes.NewReader(text))
		if t.options.DisableRetries {
			return retryLaterError(request, response, text)
		}
	}
	return nil
}

const maxLocationRunes = 200

// isSelfReview reports whether a path segment is a resource that reviews the user's own rights.
func isSelfReview(part string) bool { return strings.HasPrefix(part, "selfsubject") }

func answerLimit(request *http.Request, response *http.Response) int64 {
	switch {
	case response.StatusCode >= http.StatusBadRequest:
		return maxSmallAnswerBytes
	case request.Context().Value(streamingKey{}) != nil:
		return 0
	case slices.ContainsFunc(strings.Split(request.URL.Path, "/"), isSelfReview):
		return maxSmallAnswerBytes
	}
	return MaxAnswerBytes
}

type limitedBody struct {
	io.ReadCloser
	meter       *Meter
	watchdog    *requestWatchdog
	limit, read int64 // in bytes; no limit if 0
}

func (b *limitedBody) Read(p []byte) (int, error) {
	if b.limit > 0 {
		if b.read > b.limit {
			return 0, tooLongError(b.limit)
		}
		p = p[:min(int64(len(p)), b.limit-b.read+1)]
	}
	n, err := b.ReadCloser.Read(p)
	if n > 0 {
		b.read += int64(n)
		b.watchdog.resetSilence()
		b.meter.countBytes(n)
		if b.limit > 0 && b.read > b.limit {
			return 0, tooLongError(b.limit)
		}
	}
	if err != nil && err != io.EOF {
		err = b.watchdog.explainError(err)
	}
	return n, err
}

func (b *limitedBody) Close() error {
	err := b.ReadCloser.Close()
	b.watchdog.cancelRequest()
	return err
}

// partialBody is the text of an error answer up to where it broke off.
type partialBody struct {
	io.Reader
	io.Closer
}

type errorReader struct{ err error }

func (r errorReader) Read([]byte) (int, error) { return 0, r.err }

// requestWatchdog ends one request after a silence, or when it takes too long as a whole; a nil one never does.
type requestWatchdog struct {
	silence      time.Duration
	silenceTimer *time.Timer // nil for none
	totalTimer   *time.Timer // nil for none
	cancel       context.CancelCauseFunc
	cause        func() error
}

func (t *transport) startWatchdog(request *http.Request) (context.Context, *requestWatchdog) {
	parent := request.Context()
	streams := parent.Value(streamingKey{}) != nil || request.Header.Get("Upgrade") != ""
	if t.options.SilenceTimeout <= 0 && streams {
		return parent, nil
	}
	ctx, cancel := context.WithCancelCause(parent)
	w := &requestWatchdog{
		silence: t.options.SilenceTimeout,
		cancel:  cancel,
		cause:   func() error { return context.Cause(ctx) },
	}
	if w.silence > 0 {
		w.silenceTimer = time.AfterFunc(w.silence, func() { cancel(SilenceError{w.silence}) })
	}
	if !streams {
		limit := cmp.Or(t.options.TotalTimeout, DefaultTotalTimeout)
		w.totalTimer = time.AfterFunc(limit, func() { cancel(SlowAnswerError{limit}) })
	}
	return ctx, w
}

func (w *requestWatchdog) resetSilence() {
	if w != nil && w.silenceTimer != nil {
		w.silenceTimer.Reset(w.silence)
	}
}

// stopTimers removes the request's time limits.
func (w *requestWatchdog) stopTimers() {
	if w == nil {
		return
	}
	for _, timer := range []*time.Timer{w.silenceTimer, w.totalTimer} {
		if timer != nil {
			timer.Stop()
		}
	}
}

func (w *requestWatchdog) cancelRequest() {
	if w != nil {
		w.stopTimers()
		w.cancel(nil)
	}
}

func (w *requestWatchdog) explainError(err error) error {
	if w == nil {
		return err
	}
	var silence SilenceError
	var slowness SlowAnswerError
	switch cause := w.cause(); {
	case errors.As(cause, &silence):
		return silence
	case errors.As(cause, &slowness):
		return slowness
	}
	return err
}

const PageSize = 500

const (
	MaxItems         = 500_000  // objects in one list: several times what the largest clusters have of one kind
	maxPages         = 10_000   // pages in one list, including smaller ones
	pageShrinkFactor = 10       // by which a page that is too long is shrunk
	maxTokenBytes    = 64 << 10 // bytes of a continue token; the API server's have some hundred
)

// ReadPages reads a list page by page: read gets the options of a page and returns the continue token of the next. An
// expired list is read once more from its beginning, with options without a token, and a page that is too long is
// read in smaller pages. A list without end fails with an [IncompleteError].
func ReadPages(
	ctx context.Context,
	o metav1.ListOptions,
	read func(context.Context, metav1.ListOptions) (next string, err error),
) error {
	again, items := true, 0
	for range maxPages {
		next, err := read(ctx, o)
		var incomplete *IncompleteError
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case (apierrors.IsResourceExpired(err) || apierrors.IsGone(err)) && again && o.Continue != "":
			again, o.Continue = false, ""
			continue
		case errors.As(err, &incomplete) && incomplete.TooLong && o.Limit >= pageShrinkFactor:
			o.Limit /= pageShrinkFactor
			continue
		case err != nil || next == "":
			return err
		case next == o.Continue:
			return &IncompleteError{Reason: "incomplete: the API server sends the same page of the list again"}
		case len(next) > maxTokenBytes:
			return &IncompleteError{
				Reason: fmt.Sprintf(
					"incomplete: the API server's token for the next page is longer than %d kB",
					maxTokenBytes>>10,
				),
			}
		}
		if items += int(cmp.Or(o.Limit, PageSize)); items >= MaxItems {
			break
		}
		o.Continue = next
	}
	return &IncompleteError{
		Reason: fmt.Sprintf("incomplete: the list has no end; veltui stopped after %d objects", min(items, MaxItems)),
	}
}
