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

// Limits of one answer in bytes after decompression. Reading and decoding take three times as much.
const (
	// MaxAnswer is more than one object (etcd takes 1.5 MiB, up to six times that as JSON) and
	// than a page of 500 usual ones; longer pages are read in smaller ones ([Pages]).
	MaxAnswer = 10 << 20
	maxSmall  = 1 << 20
)

type TransportOptions struct {
	Meter *Meter // of what comes; may be nil
	// Silence ends a request to which nothing comes for so long; 0 waits for ever.
	Silence time.Duration
	// Whole bounds one request with its answer, however slowly that keeps coming, but for [Streaming]; 0 is [WholeAnswer].
	Whole time.Duration
	// OneAttempt returns an answer that asks to come back as an error with that delay, which
	// Kubernetes' client would repeat up to ten times, unseen.
	OneAttempt bool
	Over       func(http.RoundTripper) http.RoundTripper // a transport around this one, or nil
}

// Protect returns a copy with the transport: it limits answers, refuses redirects and shortens Retry-After.
func Protect(config *rest.Config, o TransportOptions) *rest.Config {
	config = rest.CopyConfig(config)
	if o.Meter == nil {
		o.Meter = NewMeter(nil)
	}
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return &transport{next, o} })
	return config
}

// HTTPClient returns the HTTP client that every client of an API server is built on.
func HTTPClient(config *rest.Config, o TransportOptions) (*http.Client, error) {
	next, err := rest.TransportFor(Protect(config, o))
	if err != nil {
		return nil, fmt.Errorf("preparing the connection to the API server: %w", err)
	}
	if o.Over != nil {
		next = o.Over(next)
	}
	return &http.Client{Transport: next, Timeout: config.Timeout}, nil
}

// IncompleteError reports a limit that was reached: nothing follows from what is missing.
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

func tooLong(limit int64) error {
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

// WholeAnswer bounds one answer: an API server ends a request other than a watch after a minute (kube-apiserver
// --request-timeout), and something in between may take as long again.
const WholeAnswer = 2 * time.Minute

// SlownessError is that an answer kept coming, but did not come to its end.
type SlownessError struct{ After time.Duration }

func (e SlownessError) Error() string {
	return fmt.Sprintf("the API server's answer was not complete after %s", e.After)
}

type streaming struct{}

// Streaming is for requests whose answer has no end, or whose reader limits each piece: watches,
// followed logs, large lists. Errors are limited all the same.
func Streaming(ctx context.Context) context.Context {
	return context.WithValue(ctx, streaming{}, true)
}

type transport struct {
	next    http.RoundTripper
	options TransportOptions
}

// WrappedRoundTripper lets Kubernetes' packages close idle connections.
func (t *transport) WrappedRoundTripper() http.RoundTripper { return t.next }

func (t *transport) RoundTrip(request *http.Request) (*http.Response, error) {
	meter := t.options.Meter
	sent := meter.send()
	ctx, watchdog := t.watch(request)
	if watchdog != nil {
		request = request.WithContext(ctx)
	}
	response, err := t.next.RoundTrip(request)
	if err != nil {
		err = watchdog.explain(err)
		watchdog.stop()
		return nil, err
	}
	meter.receive(response, sent)
	if response.StatusCode == http.StatusSwitchingProtocols {
		watchdog.release()
		return response, nil // no answer any more, but a connection
	}
	watchdog.reset()
	response.Body = &body{
		ReadCloser: response.Body,
		meter:      meter,
		watchdog:   watchdog,
		limit:      limitOf(request, response),
	}
	if err := t.check(request, response); err != nil {
		_ = response.Body.Close()
		return nil, err
	}
	return response, nil
}

// check refuses answers that no client may get, and reads errors.
func (t *transport) check(request *http.Request, response *http.Response) error {
	switch code := response.StatusCode; code {
	case http.StatusMovedPermanently,
		http.StatusFound,
		http.StatusSeeOther,
		http.StatusTemporaryRedirect,
		http.StatusPermanentRedirect:
		return &RedirectError{code, sanitize.Cut(response.Header.Get("Location"), maxLocation)}
	}
	// net/http has undone the compression that it asked for.
	if encoding := response.Header.Get("Content-Encoding"); encoding != "" && !strings.EqualFold(encoding, "identity") {
		return &IncompleteError{
			Reason: fmt.Sprintf(
				"incomplete: the API server's answer is encoded as %s, which nobody asked for",
				sanitize.Cut(encoding, 40),
			),
		}
	}
	if limit := response.Body.(*body).limit; limit > 0 && response.ContentLength > limit {
		return tooLong(limit)
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
		response.Body = partialBody{io.MultiReader(bytes.NewReader(text), brokenReader{err}), response.Body}
	default:
		_ = response.Body.Close()
		response.Body = io.NopCloser(bytes.NewReader(text))
		if t.options.OneAttempt {
			return busy(request, response, text)
		}
	}
	return nil
}

const maxLocation = 200

// isSelfReview reports whether a part of a path is a resource that says what the user may do.
func isSelfReview(part string) bool { return strings.HasPrefix(part, "selfsubject") }

func limitOf(request *http.Request, response *http.Response) int64 {
	switch {
	case response.StatusCode >= http.StatusBadRequest:
		return maxSmall
	case request.Context().Value(streaming{}) != nil:
		return 0
	case slices.ContainsFunc(strings.Split(request.URL.Path, "/"), isSelfReview):
		return maxSmall
	}
	return MaxAnswer
}

type body struct {
	io.ReadCloser
	meter       *Meter
	watchdog    *watchdog
	limit, read int64 // in bytes; a limit of 0 is none
}

func (b *body) Read(p []byte) (int, error) {
	if b.limit > 0 {
		if b.read > b.limit {
			return 0, tooLong(b.limit)
		}
		p = p[:min(int64(len(p)), b.limit-b.read+1)]
	}
	n, err := b.ReadCloser.Read(p)
	if n > 0 {
		b.read += int64(n)
		b.watchdog.reset()
		b.meter.read(n)
		if b.limit > 0 && b.read > b.limit {
			return 0, tooLong(b.limit)
		}
	}
	if err != nil && err != io.EOF {
		err = b.watchdog.explain(err)
	}
	return n, err
}

func (b *body) Close() error {
	err := b.ReadCloser.Close()
	b.watchdog.stop()
	return err
}

// partialBody is an error's text up to where it broke off.
type partialBody struct {
	io.Reader
	io.Closer
}

type brokenReader struct{ err error }

func (r brokenReader) Read([]byte) (int, error) { return 0, r.err }

// watchdog ends one request after a silence, and when it takes too long as a whole; nil never does.
type watchdog struct {
	silence time.Duration
	timer   *time.Timer // of the silence, nil for none
	whole   *time.Timer // nil for none
	cancel  context.CancelCauseFunc
	cause   func() error
}

func (t *transport) watch(request *http.Request) (context.Context, *watchdog) {
	parent := request.Context()
	streams := parent.Value(streaming{}) != nil || request.Header.Get("Upgrade") != ""
	if t.options.Silence <= 0 && streams {
		return parent, nil
	}
	ctx, cancel := context.WithCancelCause(parent)
	w := &watchdog{silence: t.options.Silence, cancel: cancel, cause: func() error { return context.Cause(ctx) }}
	if w.silence > 0 {
		w.timer = time.AfterFunc(w.silence, func() { cancel(SilenceError{w.silence}) })
	}
	if !streams {
		limit := cmp.Or(t.options.Whole, WholeAnswer)
		w.whole = time.AfterFunc(limit, func() { cancel(SlownessError{limit}) })
	}
	return ctx, w
}

func (w *watchdog) reset() {
	if w != nil && w.timer != nil {
		w.timer.Reset(w.silence)
	}
}

// release lets the request go on for ever.
func (w *watchdog) release() {
	if w == nil {
		return
	}
	for _, timer := range []*time.Timer{w.timer, w.whole} {
		if timer != nil {
			timer.Stop()
		}
	}
}

func (w *watchdog) stop() {
	if w != nil {
		w.release()
		w.cancel(nil)
	}
}

func (w *watchdog) explain(err error) error {
	if w == nil {
		return err
	}
	var silence SilenceError
	var slowness SlownessError
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
	MaxItems     = 500_000  // of one list: several times what the largest clusters keep of one kind
	maxPages     = 10_000   // for smaller pages too
	smallerPages = 10       // of a page that is too long
	maxToken     = 64 << 10 // of a continue token; the API server's have some hundred bytes
)

// Pages reads a list page by page: read gets the options of each and returns the token of the
// next. An expired list is read once more from its beginning, for which options have no token,
// and a page that is too long in smaller ones. A list without end is an [IncompleteError].
func Pages(
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
		case errors.As(err, &incomplete) && incomplete.TooLong && o.Limit >= smallerPages:
			o.Limit /= smallerPages
			continue
		case err != nil || next == "":
			return err
		case next == o.Continue:
			return &IncompleteError{Reason: "incomplete: the API server sends the same page of the list again"}
		case len(next) > maxToken:
			return &IncompleteError{
				Reason: fmt.Sprintf(
					"incomplete: the API server's token for the next page is longer than %d kB",
					maxToken>>10,
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
