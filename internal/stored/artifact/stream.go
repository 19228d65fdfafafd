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

// Stream is an artifact that is being downloaded. One goroutine reads it; any goroutine may read its progress.
type Stream struct {
	cause  func() error // why the download was ended, nil while it was not
	cancel context.CancelCauseFunc
	signed signedURL
	body   io.ReadCloser
	route  Route

	size     int64
	modified time.Time
	maxBytes int64

	bytesRead             atomic.Int64
	idleTimer, totalTimer *time.Timer
	idleTimeout           time.Duration
	once                  sync.Once
}

// acceptResponse checks a response, and keeps it if it is the object.
func (s *Stream) acceptResponse(response *http.Response, ranged bool) error {
	s.body, s.size = response.Body, response.ContentLength
	s.modified, _ = http.ParseTime(response.Header.Get("Last-Modified")) // zero if missing or invalid
	switch status := response.StatusCode; {
	case status == http.StatusOK:
	case status == http.StatusPartialContent && ranged:
	case status == http.StatusRequestedRangeNotSatisfiable && ranged: // of an empty object
		_ = response.Body.Close()
		s.body = http.NoBody
	default:
		return storeError(response, s.signed)
	}
	if s.size > s.maxBytes {
		return fmt.Errorf("%w: it has %d bytes, %d are allowed", ErrTooLarge, s.size, s.maxBytes)
	}
	return nil
}

// Size returns how many bytes will come, or -1 if the store does not say.
func (s *Stream) Size() int64 { return s.size }

func (s *Stream) BytesRead() int64 { return s.bytesRead.Load() }

// Read reads the artifact as stored. It fails with [ErrTooLarge] or [ErrStalled] at the limits, with the context's
// error when the context is done, and with [io.ErrUnexpectedEOF] if the store stops early.
func (s *Stream) Read(p []byte) (int, error) {
	if err := s.cause(); err != nil {
		return 0, err
	}
	// Only the wait for the store counts, not what the reader does in between.
	s.idleTimer.Reset(s.idleTimeout)
	n, err := s.body.Read(p)
	s.idleTimer.Stop()
	if done := s.bytesRead.Add(int64(n)); done > s.maxBytes {
		s.cancel(fmt.Errorf("%w: it has more than %d bytes", ErrTooLarge, s.maxBytes))
		return 0, s.cause()
	}
	if err == nil || errors.Is(err, io.EOF) {
		return n, err
	}
	if cause := s.cause(); cause != nil {
		return n, cause
	}
	return n, s.signed.redactError(fmt.Errorf("reading from the object store at %s: %w", s.route.Host, err))
}

// errClosed is the error of a Read after Close.
var errClosed = errors.New("the download is closed")

// Close ends the download, even in mid-stream.
func (s *Stream) Close() error {
	s.endDownload(errClosed)
	return nil
}

func (s *Stream) endDownload(cause error) {
	s.once.Do(func() {
		s.idleTimer.Stop()
		s.totalTimer.Stop()
		s.cancel(cause)
		if s.body != nil {
			_ = s.body.Close()
		}
	})
}

var gzipMagic = []byte{0x1f, 0x8b}

// ratioFrom is how much must have been unpacked before the ratio is judged: a short text may pack far better than the
// limit.
const ratioFrom = 4 << 20

// maxGzipLayers is how often a stream is unpacked: Velero's own gzip, and another layer added in transit.
const maxGzipLayers = 2

// TextStream is an artifact that is unpacked while it is read.
type TextStream struct {
	*Stream // the artifact as stored: its size and progress, and Close

	plain io.Reader
}

// OpenText is [Fetcher.Open] for all artifacts but the tarball: it unpacks the text, and does not make it safe for a
// terminal.
func (f *Fetcher) OpenText(ctx context.Context, target Target) (*TextStream, error) {
	return f.openText(ctx, target, f.options.Limits.TextBytes)
}

func (f *Fetcher) openText(ctx context.Context, target Target, most int64) (*TextStream, error) {
	s, err := f.Open(ctx, target)
	if err != nil {
		return nil, err
	}
	return &TextStream{s, &unpacker{stored: s, maxBytes: most, ratio: f.options.Limits.Ratio}}, nil
}

func (t *TextStream) Read(p []byte) (int, error) { return t.plain.Read(p) }

// WriteTo keeps the Stream's bytes from being copied instead of the text.
func (t *TextStream) WriteTo(w io.Writer) (int64, error) {
	return io.Copy(w, struct{ io.Reader }{t.plain})
}

// unpacker unpacks stored, up to maxBytes bytes and ratio bytes for each stored byte. A store (Google's) or a proxy
// may already have unpacked it.
type unpacker struct {
	stored          io.Reader
	maxBytes, ratio int64

	plain   io.Reader // nil before the first Read
	in, out int64     // bytes
	err     error
}

func (u *unpacker) Read(p []byte) (int, error) {
	if u.plain == nil && u.err == nil {
		u.plain, u.err = unwrapGzip(readerFunc(func(p []byte) (int, error) {
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
	case u.out > u.maxBytes:
		n, err = 0, fmt.Errorf("%w: it unpacks to more than %d bytes", ErrTooLarge, u.maxBytes)
	case u.out > ratioFrom && u.out/max(1, u.in) > u.ratio:
		n, err = 0, fmt.Errorf("%w: %d stored bytes unpack to more than %d", ErrTooLarge, u.in, u.out)
	case err != nil && !errors.Is(err, io.EOF):
		err = explainGzip(err)
	}
	u.err = err
	return n, err
}

// unwrapGzip removes layers of gzip, up to maxGzipLayers.
func unwrapGzip(r io.Reader) (io.Reader, error) {
	for range maxGzipLayers {
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

// explainGzip returns an error that names corrupt data as such, and other errors unchanged.
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
