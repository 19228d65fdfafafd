package collector

import (
	"bufio"
	"errors"
	"fmt"
	"io"

	"github.com/veltui/veltui/collector/internal/inflate"
	"github.com/veltui/veltui/internal/filetype"
)

// ErrNotBackup means that what was read is something other than a backup's tarball.
var ErrNotBackup = errors.New("not a backup's tarball")

// errNoEndMark is the error of a tar that stops without the blocks that end it. Within gzip, the checksum tells that
// nothing is missing.
var errNoEndMark = fmt.Errorf("the archive has no end mark, and nothing else tells that it is whole: %w",
	io.ErrUnexpectedEOF)

// maxGzipLayers is how often an archive may be compressed: by Velero, and once more on the way.
const maxGzipLayers = 2

// blockSource yields the bytes of a tar in blocks.
type blockSource interface {
	NextBlock(b *inflate.Block) error
}

// archiveSource tells what an archive is, and unpacks it. Gzip data, which Velero stores, may have been compressed once
// more, or decompressed by a browser, a proxy or an object store.
type archiveSource struct {
	in     *boundedReader
	limits Limits
	blocks blockSource
	layers int   // layers of gzip
	out    int64 // bytes of the tar
}

// openBlocks decides by the input's first bytes how to read it.
func (s *archiveSource) openBlocks() error {
	in := bufio.NewReaderSize(s.in, filetype.HeadBytes)
	head, err := in.Peek(2)
	if err == nil && filetype.Detect(head).Format != filetype.Gzip {
		head, err = in.Peek(filetype.HeadBytes)
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return &openingError{err}
	}
	switch t := filetype.Detect(head); t.Format {
	case filetype.Tar:
		s.blocks = inflate.NewPlain(in)
		return nil
	case filetype.Gzip, filetype.Unknown: // the decoder says what is wrong
		s.blocks, s.layers = inflate.New(in), 1
		return nil
	default:
		return notBackupError(t)
	}
}

// openingError is the error of an input whose first bytes cannot be read: no entry is to blame.
type openingError struct{ error }

func (e *openingError) Unwrap() error { return e.error }

func notBackupError(t filetype.Type) error {
	advice := ""
	switch {
	case t.Format == filetype.Gzip:
		return fmt.Errorf("%w: it is compressed with gzip more than %d times", ErrNotBackup, maxGzipLayers)
	case t.IsMarkup():
		advice = ", which a server sent in place of the file"
	case t.IsCompressed():
		advice = ", and Velero writes tar and gzip: unpack it first"
	}
	return fmt.Errorf("%w: it is %s%s", ErrNotBackup, t, advice)
}

// firstBlock reads the first block of the tar into b. It returns b, or another block if b is needed to decompress.
func (s *archiveSource) firstBlock(b *inflate.Block) (*inflate.Block, error) {
	if err := s.openBlocks(); err != nil {
		return b, err
	}
	for {
		err := s.nextBlock(b)
		if s.layers == 0 {
			return b, err
		}
		switch t := filetype.Detect(b.Bytes()); {
		case t.Format == filetype.Gzip && s.layers < maxGzipLayers:
			s.blocks = inflate.New(&blockReader{source: s.blocks, block: b, rest: b.Bytes(), err: err, check: s.checkLimits})
			s.layers, s.out, b = s.layers+1, 0, &inflate.Block{}
		case err != nil && err != io.EOF, // too little may have come to tell
			t.Format == filetype.Tar, t.Format == filetype.Empty, t.Format == filetype.Unknown:
			return b, err
		default: // a title or message within gzip comes through a store: its secrets are known there alone
			return &inflate.Block{}, notBackupError(filetype.Type{Format: t.Format})
		}
	}
}

// nextBlock reads the next block of the tar into b.
func (s *archiveSource) nextBlock(b *inflate.Block) error {
	err := s.blocks.NextBlock(b)
	s.out += int64(len(b.Bytes()))
	if err == nil {
		err = s.checkLimits(s.out)
	}
	return err
}

// checkLimits compares the bytes that came out of the archive with those that went in.
func (s *archiveSource) checkLimits(out int64) error {
	in := s.in.read
	switch {
	case out > s.limits.UnpackedBytes:
		return fmt.Errorf(
			"%w: more than %d bytes unpacked, at byte %d of the archive",
			ErrLimitExceeded,
			s.limits.UnpackedBytes,
			in,
		)
	case out > ratioFrom && out/int64(s.limits.Ratio) > in:
		return fmt.Errorf("%w: %d bytes became %d, more than %d times as much", ErrLimitExceeded, in, out, s.limits.Ratio)
	}
	return nil
}

// blockReader reads the bytes of a source, whose blocks are gzip data again.
type blockReader struct {
	source blockSource
	block  *inflate.Block
	rest   []byte // of block
	out    int64  // bytes of earlier blocks
	err    error  // behind rest
	check  func(out int64) error
}

func (r *blockReader) Read(p []byte) (int, error) {
	for len(r.rest) == 0 {
		if r.err != nil {
			return 0, r.err
		}
		r.out += int64(len(r.block.Bytes()))
		if r.err = r.check(r.out); r.err != nil {
			return 0, r.err
		}
		r.err = r.source.NextBlock(r.block)
		r.rest = r.block.Bytes()
	}
	n := copy(p, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}
