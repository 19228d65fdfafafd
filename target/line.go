package target

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// Cost is what was asked of the API server so far.
type Cost struct {
	Requests int
	// Bytes are those of the answers, after decompression.
	Bytes int64
}

// maxAnswer is how long one answer may be: a page of 500 objects with metadata of a
// hundred kilobytes each.
const maxAnswer = 64 << 20

var errTooLong = fmt.Errorf("the API server's answer is longer than %d MiB", maxAnswer>>20)

// line is the way to the API server. It counts, and ends a request to which nothing
// comes for too long.
type line struct {
	next    http.RoundTripper
	silence time.Duration
	clock   func() time.Time

	requests atomic.Int64
	bytes    atomic.Int64

	mu sync.Mutex
	// heard is when something came last.
	heard time.Time
	ahead time.Duration
	known bool
}

// silenceError is the cause of a request's end.
type silenceError struct{ after time.Duration }

func (e silenceError) Error() string {
	return fmt.Sprintf("the API server sent nothing for %s", e.after)
}

func (l *line) RoundTrip(r *http.Request) (*http.Response, error) {
	l.requests.Add(1)
	ctx, cancel := context.WithCancelCause(r.Context())
	timer := time.AfterFunc(l.silence, func() { cancel(silenceError{l.silence}) })
	asked := l.clock()
	answer, err := l.next.RoundTrip(r.WithContext(ctx))
	if err != nil {
		timer.Stop()
		err = causeOf(ctx, err)
		cancel(nil)
		return nil, err
	}
	l.hears()
	l.reads(answer.Header.Get("Date"), asked)
	timer.Reset(l.silence)
	answer.Body = &body{ReadCloser: answer.Body, line: l, ctx: ctx, timer: timer, cancel: cancel, left: maxAnswer}
	return answer, nil
}

// causeOf is the silence that ended a request, if that did.
func causeOf(ctx context.Context, err error) error {
	var silence silenceError
	if errors.As(context.Cause(ctx), &silence) {
		return silence
	}
	return err
}

func (l *line) hears() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.heard = l.clock()
}

// silent reports whether nothing at all came for as long as one request may be
// without an answer.
func (l *line) silent() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.clock().Sub(l.heard) >= l.silence
}

// reads takes the server's clock from its first answer; a Date has whole seconds.
func (l *line) reads(date string, asked time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	server, err := http.ParseTime(date)
	if err != nil || l.known {
		return
	}
	now := l.clock()
	middle := asked.Add(now.Sub(asked) / 2)
	if l.known = true; server.Sub(middle).Abs() > 2*time.Second {
		l.ahead = server.Sub(middle)
	}
}

func (l *line) offset() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.ahead
}

// body is an answer that is being read.
type body struct {
	io.ReadCloser
	line   *line
	ctx    context.Context
	timer  *time.Timer
	cancel context.CancelCauseFunc
	left   int64
}

func (b *body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if n > 0 {
		b.timer.Reset(b.line.silence)
		b.line.hears()
		b.line.bytes.Add(int64(n))
		if b.left -= int64(n); b.left < 0 {
			return 0, errTooLong
		}
	}
	if err != nil && err != io.EOF {
		err = causeOf(b.ctx, err)
	}
	return n, err
}

func (b *body) Close() error {
	b.timer.Stop()
	b.cancel(nil)
	return b.ReadCloser.Close()
}
