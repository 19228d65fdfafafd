package collector

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/veltui/veltui/collector/internal/inflate"
)

// ErrLimit is an archive that goes beyond one of the Limits.
var ErrLimit = errors.New("limit exceeded")

// Limits bound what Read accepts. A zero field means its default.
type Limits struct {
	Compressed int64 // bytes of the tarball; default 8 GiB
	Unpacked   int64 // bytes of the tar stream; default 64 GiB
	// Ratio is how many bytes one compressed byte may become, on average over the archive, once
	// RatioFrom bytes came out; default 400. Backups as Velero writes them are between 5 and 60.
	Ratio   int
	Entries int64 // tar entries; default 8 million
	Name    int   // bytes of an entry's path; default 4096, the most a file system takes
	Object  int64 // bytes of one object; default 16 MiB, ten times what etcd takes
	Index   int64 // bytes the Index may grow to; default 24 MiB, some 250,000 items

	// NamesOnly leaves out the labels: bodies are read only of the kinds whose state decides what
	// is restored. It is faster; an Estimate with a label selector is then partial, and too high.
	NamesOnly bool
}

// ratioFrom is when the ratio is judged: short archives of similar objects may compress far better.
const ratioFrom = 256 << 20

func (l Limits) withDefaults() Limits {
	l.Compressed = cmp.Or(l.Compressed, 8<<30)
	l.Unpacked = cmp.Or(l.Unpacked, 64<<30)
	l.Ratio = cmp.Or(l.Ratio, 400)
	l.Entries = cmp.Or(l.Entries, 8_000_000)
	l.Name = cmp.Or(l.Name, 4096)
	l.Object = cmp.Or(l.Object, 16<<20)
	l.Index = cmp.Or(l.Index, 24<<20)
	return l
}

// Read reads the gzip-compressed tarball of a backup from r, once and to its
// end. It uses two goroutines, one that inflates and one that reads the tar.
//
// With an error (a broken or hostile archive, a limit, ctx) Read still returns the Index of what it understood
// before, marked partial. Errors name the offset or the entry. When ctx ends, Read returns without waiting for
// a pending call to r.Read.
func Read(ctx context.Context, r io.Reader, limits Limits) (*Index, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	w := &walker{archive: openArchive(ctx, r, limits), builder: newBuilder()}
	err := w.each(w.entry)
	if err == nil {
		err = w.tail()
	}
	x := w.index(err)
	if err != nil {
		return x, fmt.Errorf("reading backup archive: %w", err)
	}
	return x, nil
}

// pump inflates in a goroutine of its own. Blocks go round: from free to full and back.
type pump struct {
	ctx  context.Context
	full chan *inflate.Block
	free chan *inflate.Block
	last *inflate.Block
	err  error // set before full is closed
}

// pumpBlocks: the decoder needs the one before, the reader has one, and one is being filled.
const pumpBlocks = 4

func startPump(ctx context.Context, r io.Reader, limits Limits) *pump {
	p := &pump{ctx: ctx, full: make(chan *inflate.Block, pumpBlocks), free: make(chan *inflate.Block, pumpBlocks)}
	for range pumpBlocks {
		p.free <- &inflate.Block{}
	}
	go p.run(r, limits)
	return p
}

func (p *pump) run(r io.Reader, limits Limits) {
	defer close(p.full)
	d := inflate.New(&boundedReader{ctx: p.ctx, r: r, left: limits.Compressed})
	for {
		var b *inflate.Block
		select {
		case b = <-p.free:
		case <-p.ctx.Done():
			p.err = p.ctx.Err()
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
	case <-p.ctx.Done():
		return nil, p.ctx.Err()
	}
}
