package inflate

import (
	"errors"
	"fmt"
	"hash/crc32"
	"io"
)

const (
	window   = 32 << 10 // how far back a match may reach
	blockLen = 1 << 20
	maxMatch = 258
	// outSlack is what one turn of the symbol loop may write beyond the point it was allowed to start at:
	// two literals and one match, rounded up to whole words.
	outSlack = maxMatch + 2 + 64
	// inAhead is what one turn of the symbol loop may read of the input.
	inAhead = 16
	// inSlack is how much input there is at least before such a turn.
	inSlack  = 2 * inAhead
	inputLen = 128 << 10
)

// Block is one piece of decoded data. Its zero value is ready for Next.
type Block struct {
	buf []byte // window bytes of history, then the data
	n   int
}

// Bytes is the data; it is valid until the block is given to Next again.
func (b *Block) Bytes() []byte { return b.buf[window : window+b.n] }

// Error is a stream that cannot be decoded, and where.
type Error struct {
	Offset int64 // in the compressed stream
	Err    error
}

func (e *Error) Error() string {
	return fmt.Sprintf("gzip stream at byte %d: %v", e.Offset, e.Err)
}

func (e *Error) Unwrap() error { return e.Err }

// What is wrong with a stream. A stream that ends too early is io.ErrUnexpectedEOF.
var (
	ErrHeader   = errors.New("not a gzip header")
	ErrChecksum = errors.New("checksum does not match the data")
	ErrCorrupt  = errors.New("corrupt deflate data")
	// ErrTrailing is data after the last member that is not another member.
	// Everything before it was decoded and verified.
	ErrTrailing = errors.New("data after the end of the gzip stream")
)

type state uint8

const (
	atMember state = iota
	atBlock
	inCodes
	inStored
	atTrailer
	ended
)

// Decoder decodes one gzip stream of any number of members.
type Decoder struct {
	src     io.Reader
	in      []byte // inputLen + inSlack; beyond inEnd there are zeros once srcErr is set
	pos     int    // the next byte of in that is not in bits yet
	inEnd   int
	base    int64 // offset of in[0] in the stream
	srcErr  error
	bits    uint64
	nbits   uint
	state   state
	last    bool // the current deflate block is the last one
	members int
	stored  int // bytes left of a stored block

	crc    uint32
	member int64 // bytes decoded of this member
	out    int64 // bytes decoded in all
	prev   *Block

	lit  litTable
	dist distTable
	lens [maxLit + maxDist]uint8
}

// New makes a Decoder that reads src, in large pieces.
func New(src io.Reader) *Decoder {
	return &Decoder{src: src, in: make([]byte, inputLen+inSlack)}
}

// Consumed is how many bytes of the compressed stream were used so far.
func (d *Decoder) Consumed() int64 { return d.base + int64(d.pos) - int64(d.nbits>>3) }

// Produced is how many bytes were decoded so far.
func (d *Decoder) Produced() int64 { return d.out }

// Next decodes the next piece into b. It returns io.EOF after the last one. With any other error b holds
// what was decoded before it. The block given to the call before must not have been changed by anyone else.
func (d *Decoder) Next(b *Block) error {
	if b.buf == nil {
		b.buf = make([]byte, window+blockLen+outSlack)
	}
	if d.prev != nil {
		copy(b.buf[:window], d.prev.buf[d.prev.n:d.prev.n+window])
	}
	d.prev = b
	o, err := d.decode(b.buf, window)
	b.n = o - window
	return err
}

// decode fills out from o on until it is full enough, and returns where it stopped.
func (d *Decoder) decode(out []byte, o int) (int, error) {
	summed := o
	sum := func(upTo int) {
		d.crc = crc32.Update(d.crc, crc32.IEEETable, out[summed:upTo])
		d.member += int64(upTo - summed)
		d.out += int64(upTo - summed)
		summed = upTo
	}
	limit := window + blockLen
	for {
		var err error
		switch d.state {
		case atMember:
			if err = d.readHeader(); err == nil {
				d.crc, d.member, d.state = 0, 0, atBlock
			}
		case atBlock:
			err = d.readBlockHeader()
		case inStored:
			o, err = d.copyStored(out, o, limit)
		case inCodes:
			reach := d.member + int64(o-summed)
			o, err = d.codes(out, o, limit, int(min(reach, window)))
		case atTrailer:
			sum(o)
			if err = d.readTrailer(); err == nil {
				d.state, d.members = atMember, d.members+1
			}
		case ended:
			err = io.EOF
		}
		if err != nil {
			sum(o)
			d.state = ended
			return o, d.explain(err)
		}
		if o >= limit {
			sum(o)
			return o, nil
		}
	}
}

func (d *Decoder) explain(err error) error {
	if err == io.EOF {
		return err
	}
	if d.srcErr != nil && d.srcErr != io.EOF && errors.Is(err, io.ErrUnexpectedEOF) {
		err = d.srcErr
	}
	return &Error{Offset: d.Consumed(), Err: err}
}

// fill makes sure that at least inSlack bytes can be read at pos: more of the stream, or zeros after its end.
func (d *Decoder) fill() {
	if d.inEnd-d.pos >= inSlack || d.srcErr != nil {
		return
	}
	d.giveBack()
	d.base += int64(d.pos)
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
		// What is there is enough to go on with: a slow stream is decoded as it comes.
		if d.inEnd >= inSlack {
			break
		}
	}
	if d.srcErr != nil {
		clear(d.in[d.inEnd:])
	}
}

// overrun says whether bits were used that the stream does not have.
func (d *Decoder) overrun() bool { return d.pos-int(d.nbits>>3) > d.inEnd }

// take returns the next n bits (at most 32).
func (d *Decoder) take(n uint) (uint32, error) {
	for d.nbits < n {
		if d.pos >= d.inEnd {
			d.fill()
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

// giveBack returns whole bytes that were read ahead to the input.
func (d *Decoder) giveBack() {
	d.pos -= int(d.nbits >> 3)
	d.nbits &= 7
	d.bits &= 1<<d.nbits - 1
}

// align drops the bits up to the next byte.
func (d *Decoder) align() {
	d.giveBack()
	d.bits, d.nbits = 0, 0
}

func (d *Decoder) readBlockHeader() error {
	head, err := d.take(3)
	if err != nil {
		return err
	}
	d.last = head&1 != 0
	switch head >> 1 {
	case 0:
		return d.readStoredHeader()
	case 1:
		d.fixedTables()
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
	if d.last {
		d.state = atTrailer
	}
}

func (d *Decoder) readStoredHeader() error {
	d.align()
	v, err := d.take(32)
	if err != nil {
		return err
	}
	if uint16(v) != ^uint16(v>>16) {
		return ErrCorrupt
	}
	d.stored = int(v & 0xffff)
	d.state = inStored
	return nil
}

func (d *Decoder) copyStored(out []byte, o, limit int) (int, error) {
	for d.stored > 0 && o < limit {
		if d.pos >= d.inEnd {
			d.fill()
			if d.pos >= d.inEnd {
				return o, io.ErrUnexpectedEOF
			}
		}
		n := copy(out[o:limit], d.in[d.pos:min(d.inEnd, d.pos+d.stored)])
		o, d.pos, d.stored = o+n, d.pos+n, d.stored-n
	}
	if d.stored == 0 {
		d.endBlock()
	}
	return o, nil
}
