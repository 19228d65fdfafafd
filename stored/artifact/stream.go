package artifact

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Stream is an artifact on its way. It is read by one goroutine; what it says
// about itself may be asked from others meanwhile.
type Stream struct {
	cause  func() error // why the download was ended; nil while it was not
	cancel context.CancelCauseFunc
	signed signedURL
	body   io.ReadCloser
	route  Route

	size     int64
	modified time.Time
	most     int64
	empty    bool // the object has no bytes at all

	done        atomic.Int64
	idle, total *time.Timer
	idleFor     time.Duration
	once        sync.Once
}

// take looks at a response and keeps it if it is the object.
func (s *Stream) take(response *http.Response, ranged bool) error {
	s.body, s.size = response.Body, response.ContentLength
	if at, err := http.ParseTime(response.Header.Get("Last-Modified")); err == nil {
		s.modified = at
	}
	switch status := response.StatusCode; {
	case status == http.StatusOK:
	case status == http.StatusPartialContent && ranged:
		s.size = sizeOf(response.Header.Get("Content-Range"))
	case status == http.StatusRequestedRangeNotSatisfiable && ranged:
		s.empty = true
	default:
		return storeError(response, s.signed)
	}
	if s.size > s.most {
		return fmt.Errorf("%w: it has %d bytes, %d are allowed", ErrTooLarge, s.size, s.most)
	}
	return nil
}

// sizeOf reads the whole size from "bytes 0-0/1234"; it is -1 if not said.
func sizeOf(contentRange string) int64 {
	_, size, _ := strings.Cut(contentRange, "/")
	n, err := strconv.ParseInt(size, 10, 64)
	if err != nil || n < 0 {
		return -1
	}
	return n
}

// Size is how many bytes will come, or -1 if the store does not say.
func (s *Stream) Size() int64 { return s.size }

// Done is how many bytes have come so far.
func (s *Stream) Done() int64 { return s.done.Load() }

// Modified is when the object was stored, by the store's clock; zero if it does
// not say.
func (s *Stream) Modified() time.Time { return s.modified }

// Route is the way that the bytes come.
func (s *Stream) Route() Route { return s.route }

// Read gives what is stored. It fails with [ErrTooLarge] or [ErrStalled] at the
// limits, with the context's error when that is done, and with
// [io.ErrUnexpectedEOF] if the store stops early.
func (s *Stream) Read(p []byte) (int, error) {
	if err := s.cause(); err != nil {
		return 0, err
	}
	// Only waiting for the store counts, not what the reader does between.
	s.idle.Reset(s.idleFor)
	n, err := s.body.Read(p)
	s.idle.Stop()
	if done := s.done.Add(int64(n)); done > s.most {
		s.cancel(fmt.Errorf("%w: it has more than %d bytes", ErrTooLarge, s.most))
		return 0, s.cause()
	}
	if err == nil || errors.Is(err, io.EOF) {
		return n, err
	}
	if cause := s.cause(); cause != nil {
		return n, cause
	}
	return n, s.signed.redact(fmt.Errorf("reading from the object store at %s: %w", s.route.Host, err))
}

// errClosed is what a Read after Close gets.
var errClosed = errors.New("the download is closed")

// Close ends the download, also in mid-stream.
func (s *Stream) Close() error {
	s.end(errClosed)
	return nil
}

func (s *Stream) end(cause error) {
	s.once.Do(func() {
		s.idle.Stop()
		s.total.Stop()
		s.cancel(cause)
		if s.body != nil {
			_ = s.body.Close()
		}
	})
}
