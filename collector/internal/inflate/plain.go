package inflate

import "io"

// Plain passes on a stream that is not compressed, in the blocks of a Decoder.
type Plain struct{ src io.Reader }

// NewPlain returns a Plain that reads src.
func NewPlain(src io.Reader) *Plain { return &Plain{src} }

// NextBlock reads the next piece into b. It returns io.EOF after the last one, as [Decoder.NextBlock] does.
func (p *Plain) NextBlock(b *Block) (err error) {
	if b.buf == nil {
		b.buf = make([]byte, windowSize+blockLen+outSlack)
	}
	b.n, err = io.ReadFull(p.src, b.buf[windowSize:windowSize+blockLen])
	if err == io.ErrUnexpectedEOF { // not wrapped: ReadFull's own
		return io.EOF
	}
	return err
}
