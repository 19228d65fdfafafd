package inflate

import (
	"errors"
	"fmt"
	"hash/crc32"
	"io"
)

const (
	windowSize = 32 << 10 // how far back a match may reach
	blockLen   = 1 << 20
	maxMatch   = 258
	// outSlack is how many bytes one iteration of the symbol loop may write beyond its limit: two literals and one
	// match, rounded up to whole words.
	outSlack = maxMatch + 2 + 64
	// inAhead is how many bytes of input one iteration of the symbol loop may read.
	inAhead = 16
	// inSlack is the minimum number of bytes of input before an iteration.
	inSlack  = 2 * inAhead
	inputLen = 128 << 10
)

// Block is one piece of decoded data. Its zero value is ready for NextBlock.
type Block struct {
	buf []byte // window bytes of history, then the data
	n   int
}

// Bytes returns the data, valid until the block is passed to NextBlock again.
func (b *Block) Bytes() []byte {
	if b.buf == nil {
		return nil
	}
	return b.buf[windowSize : windowSize+b.n]
}

// Error is an error in a stream, with its position.
type Error struct {
	Offset int64 // in the compressed stream
	Err    error
}

func (e *Error) Error() string {
	return fmt.Sprintf("gzip stream at byte %d: %v", e.Offset, e.Err)
}

func (e *Error) Unwrap() error { return e.Err }

// These are the errors in a stream. A stream that ends too early is io.ErrUnexpectedEOF.
var (
	ErrHeader   = errors.New("not a gzip header")
	ErrChecksum = errors.New("checksum does not match the data")
	ErrCorrupt  = errors.New("corrupt deflate data")
	// ErrTrailing is data after the last member that is not another member.
	// Everything before it was decoded and verified.
	ErrTrailing = errors.New("data after the end of the gzip stream")
)

type decoderState uint8

const (
	atMember decoderState = iota
	atBlock
	inCodes
	inStored
	atTrailer
	ended
)

// Decoder decodes one gzip stream of any number of members.
type Decoder struct {
	src             io.Reader
	in              []byte // inputLen + inSlack; beyond inEnd there are zeros once srcErr is set
	pos             int    // index of the next byte of in that is not in bits yet
	inEnd           int
	baseOffset      int64 // offset of in[0] in the stream
	srcErr          error
	bits            uint64
	nbits           uint
	state           decoderState
	isLastBlock     bool // the current deflate block is the last one
	memberCount     int
	storedRemaining int // remaining bytes of a stored block

	crc           uint32
	memberBytes   int64 // bytes decoded of this member
	totalBytes    int64 // bytes decoded in all
	previousBlock *Block

	lit  litTable
	dist distTable
	lens [maxLit + maxDist]uint8
}

// New returns a Decoder that reads src in large pieces.
func New(src io.Reader) *Decoder {
	return &Decoder{src: src, in: make([]byte, inputLen+inSlack)}
}

// BytesConsumed returns how many bytes of the compressed stream were used so far.
func (d *Decoder) BytesConsumed() int64 { return d.baseOffset + int64(d.pos) - int64(d.nbits>>3) }

// BytesProduced returns how many bytes were decoded so far.
func (d *Decoder) BytesProduced() int64 { return d.totalBytes }

// NextBlock decodes the next piece into b. It returns io.EOF after the last one. With any other error, b holds the
// data decoded before it. The block of the previous call must not have been changed since.
func (d *Decoder) NextBlock(b *Block) error {
	if b.buf == nil {
		b.buf = make([]byte, windowSize+blockLen+outSlack)
	}
	if d.previousBlock != nil {
		copy(b.buf[:windowSize], d.previousBlock.buf[d.previousBlock.n:d.previousBlock.n+windowSize])
	}
	d.previousBlock = b
	o, err := d.fillOutput(b.buf, windowSize)
	b.n = o - windowSize
	return err
}

// fillOutput fills out from o on until it is full enough, and returns the end of the data.
func (d *Decoder) fillOutput(out []byte, o int) (int, error) {
	summed := o
	sum := func(upTo int) {
		d.crc = crc32.Update(d.crc, crc32.IEEETable, out[summed:upTo])
		d.memberBytes += int64(upTo - summed)
		d.totalBytes += int64(upTo - summed)
		summed = upTo
	}
	limit := windowSize + blockLen
	for {
		var err error
		switch d.state {
		case atMember:
			if err = d.readHeader(); err == nil {
				d.crc, d.memberBytes, d.state = 0, 0, atBlock
			}
		case atBlock:
			err = d.readBlockHeader()
		case inStored:
			o, err = d.copyStored(out, o, limit)
		case inCodes:
			reach := d.memberBytes + int64(o-summed)
			o, err = d.decodeSymbols(out, o, limit, int(min(reach, windowSize)))
		case atTrailer:
			sum(o)
			if err = d.readTrailer(); err == nil {
				d.state, d.memberCount = atMember, d.memberCount+1
			}
		case ended:
			err = io.EOF
		}
		if err != nil {
			sum(o)
			d.state = ended
			return o, d.explainError(err)
		}
		if o >= limit {
			sum(o)
			return o, nil
		}
	}
}

func (d *Decoder) explainError(err error) error {
	if err == io.EOF {
		return err
	}
	if d.srcErr != nil && d.srcErr != io.EOF && errors.Is(err, io.ErrUnexpectedEOF) {
		err = d.srcErr
	}
	return &Error{Offset: d.BytesConsumed(), Err: err}
}

// fillInput makes at least inSlack bytes available at pos: more of the stream, or zeros after its end.
func (d *Decoder) fillInput() {
	if d.inEnd-d.pos >= inSlack || d.srcErr != nil {
		return
	}
	d.returnBytes()
	d.baseOffset += int64(d.pos)
	d.inEnd = copy(d.in, d.in[d.pos:d.inEnd])
	d.pos = 0
	for empty := 0; d.inEnd < inputLen && d.srcErr == nil; {
		n, err := d.src.Read(d.in[d.inEnd:inputLen])
		d.inEnd += n
		d.srcErr = err
		if n == 0 && err == nil {
			if empty++; empty == 100 {
				d.srcErr = io.ErrNoProgress
			}
			continue
		}
		// This is enough to continue: a slow stream is decoded as it arrives.
		if d.inEnd >= inSlack {
			break
		}
	}
	if d.srcErr != nil {
		clear(d.in[d.inEnd:])
	}
}

// hasOverrun reports whether more bits were used than the stream has.
func (d *Decoder) hasOverrun() bool { return d.pos-int(d.nbits>>3) > d.inEnd }

// takeBits returns the next n bits (at most 32).
func (d *Decoder) takeBits(n uint) (uint32, error) {
	for d.nbits < n {
		if d.pos >= d.inEnd {
			d.fillInput()
			if d.pos >= d.inEnd {
				return 0, io.ErrUnexpectedEOF
			}
		}
		d.bits |= uint64(d.in[d.pos]) << d.nbits
		d.pos++
		d.nbits += 8
	}
	v := uint32(d.bits & (1<<n - 1))
	d.bits >>= n
	d.nbits -= n
	return v, nil
}

// returnBytes gives whole bytes that were read ahead back to the input.
func (d *Decoder) returnBytes() {
	d.pos -= int(d.nbits >> 3)
	d.nbits &= 7
	d.bits &= 1<<d.nbits - 1
}

// alignToByte drops the bits up to the next byte.
func (d *Decoder) alignToByte() {
	d.returnBytes()
	d.bits, d.nbits = 0, 0
}

func (d *Decoder) readBlockHeader() error {
	head, err := d.takeBits(3)
	if err != nil {
		return err
	}
	d.isLastBlock = head&1 != 0
	switch head >> 1 {
	case 0:
		return d.readStoredHeader()
	case 1:
		d.buildFixedTables()
		d.state = inCodes
		return nil
	case 2:
		if err := d.readTables(); err != nil {
			return err
		}
		d.state = inCodes
		return nil
	default:
		return ErrCorrupt
	}
}

func (d *Decoder) endBlock() {
	d.state = atBlock
	if d.isLastBlock {
		d.state = atTrailer
	}
}

func (d *Decoder) readStoredHeader() error {
	d.alignToByte()
	v, err := d.takeBits(32)
	if err != nil {
		return err
	}
	if uint16(v) != ^uint16(v>>16) {
		return ErrCorrupt
	}
	d.storedRemaining = int(v & 0xffff)
	d.state = inStored
	return nil
}

func (d *Decoder) copyStored(out []byte, o, limit int) (int, error) {
	for d.storedRemaining > 0 && o < limit {
		if d.pos >= d.inEnd {
			d.fillInput()
			if d.pos >= d.inEnd {
				return o, io.ErrUnexpectedEOF
			}
		}
		n := copy(out[o:limit], d.in[d.pos:min(d.inEnd, d.pos+d.storedRemaining)])
		o, d.pos, d.storedRemaining = o+n, d.pos+n, d.storedRemaining-n
	}
	if d.storedRemaining == 0 {
		d.endBlock()
	}
	return o, nil
}
