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
)

var gzipMagic = []byte{0x1f, 0x8b}

// maxLayers is how often a stream is unpacked: once for Velero's own gzip, and
// once more for something on the way that packed it again.
const maxLayers = 2

// Text is an artifact that is unpacked on its way.
type Text struct {
	*Stream // the artifact as stored: its size and progress, and Close

	plain io.Reader
}

// OpenText is [Fetcher.Open] for all that is not a tarball: what is read is
// unpacked. It was written by others and is not made safe for a terminal.
func (f *Fetcher) OpenText(ctx context.Context, target Target) (*Text, error) {
	return f.openText(ctx, target, f.limits.Text)
}

func (f *Fetcher) openText(ctx context.Context, target Target, most int64) (*Text, error) {
	s, err := f.Open(ctx, target)
	if err != nil {
		return nil, err
	}
	return &Text{s, unpack(s, most, f.limits.Ratio)}, nil
}

// Read gives the unpacked text.
func (t *Text) Read(p []byte) (int, error) { return t.plain.Read(p) }

// WriteTo keeps the Stream's bytes from being copied in the place of the text.
func (t *Text) WriteTo(w io.Writer) (int64, error) {
	return io.Copy(w, struct{ io.Reader }{t.plain})
}

// unpack returns what stored unpacks to, up to most bytes and ratio bytes for
// each stored one. What is not gzip is taken as it is: a store may have
// unpacked it (Google's does so for objects marked as encoded), and so may a
// proxy.
func unpack(stored io.Reader, most, ratio int64) io.Reader {
	return &unpacker{stored: &counter{from: stored}, most: most, ratio: ratio}
}

type unpacker struct {
	stored *counter
	plain  io.Reader // nil before the first Read
	out    int64
	err    error

	most, ratio int64
}

func (u *unpacker) Read(p []byte) (int, error) {
	if u.plain == nil && u.err == nil {
		u.plain, u.err = layers(u.stored)
	}
	if u.err != nil {
		return 0, u.err
	}
	n, err := u.plain.Read(p)
	u.out += int64(n)
	switch {
	case u.out > u.most:
		n, err = 0, fmt.Errorf("%w: it unpacks to more than %d bytes", ErrTooLarge, u.most)
	case u.out > ratioFrom && u.out/max(1, u.stored.n) > u.ratio:
		n, err = 0, fmt.Errorf("%w: %d stored bytes unpack to more than %d", ErrTooLarge, u.stored.n, u.out)
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
	if errors.Is(err, gzip.ErrHeader) || errors.Is(err, gzip.ErrChecksum) || isCorrupt(err) {
		return fmt.Errorf("the gzip data is damaged: %w", err)
	}
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("the gzip data ends too early: %w", err)
	}
	return err
}

// counter counts what is read through it.
type counter struct {
	from io.Reader
	n    int64
}

func (c *counter) Read(p []byte) (int, error) {
	n, err := c.from.Read(p)
	c.n += int64(n)
	return n, err
}

func isCorrupt(err error) bool {
	var corrupt flate.CorruptInputError
	return errors.As(err, &corrupt)
}
