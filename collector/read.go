package collector

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/veltui/veltui/collector/internal/inflate"
)

// ErrLimitExceeded means that an archive exceeds one of the Limits.
var ErrLimitExceeded = errors.New("limit exceeded")

// Limits bound what Read accepts. A zero field means its default.
type Limits struct {
	CompressedBytes int64 // bytes of the tarball; default 8 GiB
	UnpackedBytes   int64 // bytes of the tar stream; default 64 GiB
	// Ratio is how many bytes one compressed byte may become, on average over the archive, once ratioFrom bytes were
	// inflated; default 400. Backups as Velero writes them are between 5 and 60.
	Ratio       int
	Entries     int64 // tar entries; default 8 million
	NameBytes   int   // bytes of an entry's path; default 4096, the most a file system takes
	ObjectBytes int64 // bytes of one object; default 16 MiB, ten times what etcd takes
	IndexBytes  int64 // bytes the Index may grow to; default 24 MiB, some 250,000 items

	// NamesOnly leaves out the labels: only the bodies of kinds whose state decides what is restored are read. It is
	// faster, but an Estimate with a label selector is then partial and too high.
	NamesOnly bool
}

// ratioFrom is the number of bytes from which the ratio is checked: short archives of similar objects may compress
// far better.
const ratioFrom = 256 << 20

func (l Limits) withDefaults() Limits {
	l.CompressedBytes = cmp.Or(l.CompressedBytes, 8<<30)
	l.UnpackedBytes = cmp.Or(l.UnpackedBytes, 64<<30)
	l.Ratio = cmp.Or(l.Ratio, 400)
	l.Entries = cmp.Or(l.Entries, 8_000_000)
	l.NameBytes = cmp.Or(l.NameBytes, 4096)
	l.ObjectBytes = cmp.Or(l.ObjectBytes, 16<<20)
	l.IndexBytes = cmp.Or(l.IndexBytes, 24<<20)
	return l
}

// Read reads the tarball of a backup from r, once and to its end. Velero compresses it with gzip; one that was
// decompressed on the way, or compressed once more, is read as well. Read uses two goroutines, one that inflates and
// one that reads the tar.
//
// What is something other than a backup's tarball is [ErrNotBackup], with words that say what it is.
//
// With an error (a broken or hostile archive, a limit, ctx) Read still returns the Index of what it read before,
// marked incomplete. Errors name the offset or the entry. When ctx ends, Read returns without waiting for a pending
// call to r.Read.
func Read(ctx context.Context, r io.Reader, limits Limits) (*Index, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	w := &archiveIndexer{archive: openArchive(ctx, r, limits), builder: newIndexBuilder()}
	err := w.eachEntry(w.readEntry)
	if err == nil {
		err = w.verifyTail()
	}
	x := w.buildIndex(err)
	if err == nil && x.ItemCount() == 0 && !w.hasVersion {
		x.Incomplete, err = true, w.explainNoItems()
	}
	if errors.Is(err, ErrNotBackup) {
		return x, err
	}
	if err != nil {
		return x, fmt.Errorf("reading backup archive: %w", err)
	}
	return x, nil
}

// blockPump inflates in a separate goroutine. Blocks circulate from free to full and back.
type blockPump struct {
	ctx  context.Context
	full chan *inflate.Block
	free chan *inflate.Block
	last *inflate.Block
	// isPlain is true for a tar that is not compressed, and set before the first block.
	isPlain bool
	err     error // set before full is closed
}

// pumpBlockCount is enough for the previous block, which the decoder needs, the reader's block, and the block being
// filled.
const pumpBlockCount = 4

func startBlockPump(ctx context.Context, r io.Reader, limits Limits) *blockPump {
	p := &blockPump{
		ctx:  ctx,
		full: make(chan *inflate.Block, pumpBlockCount),
		free: make(chan *inflate.Block, pumpBlockCount),
	}
	for range pumpBlockCount {
		p.free <- &inflate.Block{}
	}
	go p.inflateBlocks(r, limits)
	return p
}

func (p *blockPump) inflateBlocks(r io.Reader, limits Limits) {
	defer close(p.full)
	source := archiveSource{in: &boundedReader{ctx: p.ctx, r: r, left: limits.CompressedBytes}, limits: limits}
	for first := true; ; first = false {
		var b *inflate.Block
		select {
		case b = <-p.free:
		case <-p.ctx.Done():
			p.err = p.ctx.Err()
			return
		}
		var err error
		if first {
			b, err = source.firstBlock(b)
			p.isPlain = source.layers == 0
		} else {
			err = source.nextBlock(b)
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

// boundedReader reads at most left bytes, and nothing after ctx has ended.
type boundedReader struct {
	ctx  context.Context
	r    io.Reader
	left int64
	read int64
}

func (s *boundedReader) Read(b []byte) (int, error) {
	if err := s.ctx.Err(); err != nil {
		return 0, err
	}
	if s.left <= 0 {
		if n, err := s.r.Read(b[:1]); n == 0 {
			return 0, err // the end of the input
		}
		return 0, fmt.Errorf("%w: archive is too large", ErrLimitExceeded)
	}
	n, err := s.r.Read(b[:min(int64(len(b)), s.left)])
	s.left -= int64(n)
	s.read += int64(n)
	return n, err
}

// nextBlock returns the bytes of the next block, and frees the last block.
func (p *blockPump) nextBlock() ([]byte, error) {
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
