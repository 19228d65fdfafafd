package collector

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/veltui/veltui/collector/internal/inflate"
)

// ErrLimit is an archive that goes beyond one of the Limits.
var ErrLimit = errors.New("limit exceeded")

// Read reads the gzip-compressed tarball of a backup from r, once and to its
// end. It uses two goroutines, one that inflates and one that reads the tar.
//
// With an error (a broken or hostile archive, a limit, ctx) Read still returns
// the Index of what it understood before, marked partial. Errors name the
// offset or the entry. When ctx ends, Read returns without waiting for a
// pending call to r.Read.
func Read(ctx context.Context, r io.Reader, limits Limits) (*Index, error) {
	limits = limits.withDefaults()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	blocks := startPump(ctx, r, limits)
	w := &walker{limits: limits, builder: newBuilder(), tar: tarReader{more: blocks.next, maxName: limits.Name}}
	err := w.walk()
	x := w.index(err)
	if err != nil {
		return x, fmt.Errorf("reading backup archive: %w", err)
	}
	return x, nil
}

// pump inflates in a goroutine of its own. Blocks go round: from free to full
// and back.
type pump struct {
	done <-chan struct{}
	why  func() error // what ended done
	full chan *inflate.Block
	free chan *inflate.Block
	last *inflate.Block
	err  error // set before full is closed
}

// pumpBlocks is how many blocks go round. The decoder needs the one before,
// the reader has one, and one is being filled.
const pumpBlocks = 4

func startPump(ctx context.Context, r io.Reader, limits Limits) *pump {
	p := &pump{done: ctx.Done(), why: ctx.Err, full: make(chan *inflate.Block, pumpBlocks), free: make(chan *inflate.Block, pumpBlocks)}
	for range pumpBlocks {
		p.free <- &inflate.Block{}
	}
	go p.run(ctx, r, limits)
	return p
}

func (p *pump) run(ctx context.Context, r io.Reader, limits Limits) {
	defer close(p.full)
	source := &boundedReader{ctx: ctx, r: r, left: limits.Compressed}
	d := inflate.New(source)
	for {
		var b *inflate.Block
		select {
		case b = <-p.free:
		case <-ctx.Done():
			p.err = ctx.Err()
			return
		}
		err := d.Next(b)
		if err == nil {
			err = overLimit(d, limits)
		}
		if len(b.Bytes()) > 0 {
			p.full <- b // never blocks: there is room for all blocks
		}
		if err != nil {
			p.err = err
			return
		}
	}
}

func overLimit(d *inflate.Decoder, limits Limits) error {
	in, out := d.Consumed(), d.Produced()
	switch {
	case out > limits.Unpacked:
		return fmt.Errorf("%w: more than %d bytes unpacked, at byte %d of the archive", ErrLimit, limits.Unpacked, in)
	case out > ratioFrom && out/int64(limits.Ratio) > in:
		return fmt.Errorf("%w: %d bytes became %d, more than %d times as much", ErrLimit, in, out, limits.Ratio)
	}
	return nil
}

// boundedReader refuses to read more than a number of bytes, and after ctx.
type boundedReader struct {
	ctx  context.Context
	r    io.Reader
	left int64
}

func (s *boundedReader) Read(b []byte) (int, error) {
	if err := s.ctx.Err(); err != nil {
		return 0, err
	}
	if s.left <= 0 {
		if n, err := s.r.Read(b[:1]); n == 0 {
			return 0, err // all that there is
		}
		return 0, fmt.Errorf("%w: archive is too large", ErrLimit)
	}
	n, err := s.r.Read(b[:min(int64(len(b)), s.left)])
	s.left -= int64(n)
	return n, err
}

// next gives the last block back and returns the next one's bytes.
func (p *pump) next() ([]byte, error) {
	if p.last != nil {
		p.free <- p.last
		p.last = nil
	}
	select {
	case b, ok := <-p.full:
		if !ok {
			return nil, p.err
		}
		p.last = b
		return b.Bytes(), nil
	case <-p.done:
		return nil, p.why()
	}
}
