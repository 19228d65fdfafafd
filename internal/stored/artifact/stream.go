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

	"github.com/veltui/veltui/internal/filetype"
	"github.com/veltui/veltui/internal/sanitize"
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

	// The first bytes, read ahead to tell what came; ranged answers are no whole objects.
	isRanged, isChecked bool
	head                []byte
	headErr             error
}

// acceptResponse checks a response, and keeps it if it is the object.
func (s *Stream) acceptResponse(response *http.Response, ranged bool) error {
	s.body, s.size, s.isRanged = response.Body, response.ContentLength, ranged
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

// Read reads the artifact as stored. It fails with [ErrReplaced] if something else came in its place, with
// [ErrTooLarge] or [ErrStalled] at the limits, with the context's error when the context is done, and with
// [io.ErrUnexpectedEOF] if the store stops early.
func (s *Stream) Read(p []byte) (int, error) {
	if !s.isChecked && len(p) > 0 {
		s.isChecked = true
		if !s.isRanged {
			s.readHead()
		}
	}
	if len(s.head) > 0 {
		n := copy(p, s.head)
		s.head = s.head[n:]
		return n, nil
	}
	if s.headErr != nil {
		return 0, s.headErr
	}
	return s.readBody(p)
}

// readHead reads the first bytes, and puts them or the error for what they are into s. It reads no further than it
// needs: an artifact may arrive slowly.
func (s *Stream) readHead() {
	s.head = make([]byte, filetype.HeadBytes)
	n := 0
	for n < len(s.head) && s.headErr == nil {
		var more int
		more, s.headErr = s.readBody(s.head[n:])
		n += more
		if n > 0 && !filetype.MayBeMarkup(s.head[:n]) {
			break
		}
	}
	s.head = s.head[:n]
	if s.headErr != nil && !errors.Is(s.headErr, io.EOF) {
		return
	}
	if t := filetype.Detect(s.head); t.IsMarkup() || t.Format == filetype.Empty {
		s.head, s.headErr = nil, s.replacedError(t)
	}
}

// replacedError returns the error for an answer that is something other than what Velero stored.
func (s *Stream) replacedError(t filetype.Type) error {
	host := sanitize.String(s.route.Host)
	switch {
	case t.Format == filetype.Empty:
		return fmt.Errorf("%w: what %s returns is empty", ErrReplaced, host)
	case t.IsMarkup():
		return fmt.Errorf(
			"%w: %s answers with %s; check for a proxy or a sign-in in between",
			ErrReplaced,
			host,
			s.signed.redactType(t),
		)
	}
	return fmt.Errorf("%w: what %s returns is %s", ErrReplaced, host, t)
}

// readBody reads what the store sends.
func (s *Stream) readBody(p []byte) (int, error) {
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
	unpacked := &unpacker{stored: s, maxBytes: most, ratio: f.options.Limits.Ratio, replaced: s.replacedError}
	return &TextStream{s, unpacked}, nil
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
	replaced        func(filetype.Type) error // makes the error for what is no text

	plain   io.Reader // nil before the first Read
	in, out int64     // bytes
	err     error
}

func (u *unpacker) Read(p []byte) (int, error) {
	if u.plain == nil && u.err == nil {
		u.plain, u.err = u.unwrapGzip(readerFunc(func(p []byte) (int, error) {
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

// unwrapGzip removes layers of gzip, up to maxGzipLayers. What is then no text is an error.
func (u *unpacker) unwrapGzip(r io.Reader) (io.Reader, error) {
	for layers := 0; ; layers++ {
		b := bufio.NewReaderSize(r, filetype.HeadBytes)
		head, err := b.Peek(filetype.HeadBytes)
		switch {
		case err == nil || errors.Is(err, io.EOF):
			r = b
		case len(head) == 0:
			return nil, explainGzip(err)
		default: // Peek forgets its error
			r = io.MultiReader(bytes.NewReader(head), readerFunc(func([]byte) (int, error) { return 0, err }))
		}
		switch t := filetype.Detect(head); {
		case t.IsMarkup(), t.IsCompressed(), t.Format == filetype.Tar:
			return nil, u.replaced(t)
		case t.Format != filetype.Gzip:
			return r, nil
		case layers == maxGzipLayers:
			return nil, fmt.Errorf("%w: it is compressed with gzip more than %d times", ErrReplaced, maxGzipLayers)
		}
		if r, err = gzip.NewReader(r); err != nil {
			return nil, explainGzip(err)
		}
	}
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
