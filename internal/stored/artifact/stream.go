package artifact

import (
	"bufio"
	"bytes"
	"compress/flate"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// Stream is an artifact on its way. One goroutine reads it; its progress is for any.
type Stream struct {
	cause  func() error // why the download was ended; nil while it was not
	cancel context.CancelCauseFunc
	signed signedURL
	body   io.ReadCloser
	route  Route

	size     int64
	modified time.Time
	most     int64

	done        atomic.Int64
	idle, total *time.Timer
	idleFor     time.Duration
	once        sync.Once
}

// take looks at a response and keeps it if it is the object.
func (s *Stream) take(response *http.Response, ranged bool) error {
	s.body, s.size = response.Body, response.ContentLength
	s.modified, _ = http.ParseTime(response.Header.Get("Last-Modified")) // or the zero time
	switch status := response.StatusCode; {
	case status == http.StatusOK:
	case status == http.StatusPartialContent && ranged:
	case status == http.StatusRequestedRangeNotSatisfiable && ranged: // of an empty object
		_ = response.Body.Close()
		s.body = http.NoBody
	default:
		return storeError(response, s.signed)
	}
	if s.size > s.most {
		return fmt.Errorf("%w: it has %d bytes, %d are allowed", ErrTooLarge, s.size, s.most)
	}
	return nil
}

// Size is how many bytes will come, or -1 if the store does not say.
func (s *Stream) Size() int64 { return s.size }

func (s *Stream) Done() int64 { return s.done.Load() }

// Read gives what is stored. It fails with [ErrTooLarge] or [ErrStalled] at the limits, with the
// context's error when that is done, and with [io.ErrUnexpectedEOF] if the store stops early.
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

var gzipMagic = []byte{0x1f, 0x8b}

// ratioFrom is how much must have come out before the ratio is judged: a short text may pack far better than the limit.
const ratioFrom = 4 << 20

// maxLayers is how often a stream is unpacked: Velero's own gzip, and another put around it on the way.
const maxLayers = 2

// Text is an artifact that is unpacked on its way.
type Text struct {
	*Stream // the artifact as stored: its size and progress, and Close

	plain io.Reader
}

// OpenText is [Fetcher.Open] for all but the tarball: the text is unpacked, and not made safe for a terminal.
func (f *Fetcher) OpenText(ctx context.Context, target Target) (*Text, error) {
	return f.openText(ctx, target, f.options.Limits.Text)
}

func (f *Fetcher) openText(ctx context.Context, target Target, most int64) (*Text, error) {
	s, err := f.Open(ctx, target)
	if err != nil {
		return nil, err
	}
	return &Text{s, &unpacker{stored: s, most: most, ratio: f.options.Limits.Ratio}}, nil
}

func (t *Text) Read(p []byte) (int, error) { return t.plain.Read(p) }

// WriteTo keeps the Stream's bytes from being copied in the place of the text.
func (t *Text) WriteTo(w io.Writer) (int64, error) { return io.Copy(w, struct{ io.Reader }{t.plain}) }

// unpacker unpacks stored, up to most bytes and ratio bytes for each. A store (Google's) or a proxy may have
// unpacked it.
type unpacker struct {
	stored      io.Reader
	most, ratio int64

	plain   io.Reader // nil before the first Read
	in, out int64     // bytes
	err     error
}

func (u *unpacker) Read(p []byte) (int, error) {
	if u.plain == nil && u.err == nil {
		u.plain, u.err = layers(readerFunc(func(p []byte) (int, error) {
			n, err := u.stored.Read(p)
			u.in += int64(n)
			return n, err
		}))
	}
	if u.err != nil {
		return 0, u.err
	}
	n, err := u.plain.Read(p)
	u.out += int64(n)
	switch {
	case u.out > u.most:
		n, err = 0, fmt.Errorf("%w: it unpacks to more than %d bytes", ErrTooLarge, u.most)
	case u.out > ratioFrom && u.out/max(1, u.in) > u.ratio:
		n, err = 0, fmt.Errorf("%w: %d stored bytes unpack to more than %d", ErrTooLarge, u.in, u.out)
	case err != nil && !errors.Is(err, io.EOF):
		err = explainGzip(err)
	}
	u.err = err
	return n, err
}

// layers peels gzip off as long as there is some.
func layers(r io.Reader) (io.Reader, error) {
	for range maxLayers {
		b := bufio.NewReader(r)
		head, err := b.Peek(len(gzipMagic))
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, explainGzip(err)
		}
		if !bytes.Equal(head, gzipMagic) {
			return b, nil
		}
		if r, err = gzip.NewReader(b); err != nil {
			return nil, explainGzip(err)
		}
	}
	return r, nil
}

// explainGzip names damage for what it is, and leaves other errors alone.
func explainGzip(err error) error {
	_, corrupt := errors.AsType[flate.CorruptInputError](err)
	if errors.Is(err, gzip.ErrHeader) || errors.Is(err, gzip.ErrChecksum) || corrupt {
		return fmt.Errorf("the gzip data is damaged: %w", err)
	}
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("the gzip data ends too early: %w", err)
	}
	return err
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }
