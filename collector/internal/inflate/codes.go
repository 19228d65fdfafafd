package inflate

import (
	"encoding/binary"
	"io"
)

// decodeSymbols decodes symbols until the block ends or out is filled up to limit.
// reach is how far back the first match may go.
//
// One iteration of the loop reads at most inAhead bytes and writes at most outSlack bytes, so the bounds are checked
// once per iteration.
func (d *Decoder) decodeSymbols(out []byte, o, limit, reach int) (int, error) {
	var (
		in     = d.in
		pos    = d.pos
		bits   = d.bits
		nbits  = d.nbits
		inStop = -1 // beyond it the input has to be filled first
		sound  = o  // the end of the output decoded from bits that really exist
		origin = o - reach
		err    error
	)
	if reach == windowSize {
		origin = 0
	}
	// Literals are written without a check of their own: the compiler must see that out is long enough.
	if len(out) < limit+outSlack {
		panic("inflate: output without slack")
	}
loop:
	for o < limit {
		if pos > inStop {
			d.pos, d.bits, d.nbits = pos, bits, nbits
			if d.hasOverrun() {
				break
			}
			sound = o
			d.fillInput()
			pos, bits, nbits = d.pos, d.bits, d.nbits
			inStop = d.inEnd - inAhead
			if d.srcErr != nil && pos > inStop {
				inStop = -1 // only zeros follow: check after every iteration
			}
			if pos > len(in)-inAhead {
				err = io.ErrUnexpectedEOF
				break
			}
		}
		bits |= binary.LittleEndian.Uint64(in[pos:]) << (nbits & 63)
		pos += int((63 - nbits) >> 3)
		nbits |= 56

		e := d.lit[bits&(1<<litBits-1)]
		if e&entryLiteral != 0 {
			bits >>= e & 63
			nbits -= uint(e & 0xff)
			out[o] = byte(e >> 16)
			o++
			e = d.lit[bits&(1<<litBits-1)]
			if e&entryLiteral != 0 {
				bits >>= e & 63
				nbits -= uint(e & 0xff)
				out[o] = byte(e >> 16)
				o++
				e = d.lit[bits&(1<<litBits-1)]
				if e&entryLiteral != 0 {
					bits >>= e & 63
					nbits -= uint(e & 0xff)
					out[o] = byte(e >> 16)
					o++
					continue
				}
			}
			// A length and its distance may need 48 bits.
			if nbits < 48 {
				bits |= binary.LittleEndian.Uint64(in[pos:]) << (nbits & 63)
				pos += int((63 - nbits) >> 3)
				nbits |= 56
			}
		}
		if e&entrySpecial != 0 {
			if e&entryPointer == entryPointer {
				bits >>= litBits
				nbits -= litBits
				e = d.lit[int(e>>16)+int(bits&(1<<(e>>8&31)-1))]
				if e&entryLiteral != 0 {
					bits >>= e & 63
					nbits -= uint(e & 0xff)
					out[o] = byte(e >> 16)
					o++
					continue
				}
			}
			if e&entrySpecial != 0 {
				if e&entryEnd != entryEnd {
					err = ErrCorrupt
					break loop
				}
				bits >>= e & 63
				nbits -= uint(e & 0xff)
				d.endBlock()
				break loop
			}
		}
		bits >>= e & 63
		nbits -= uint(e & 0xff)
		extra := uint(e >> 8 & 31)
		length := int(e>>16) + int(bits&(1<<extra-1))
		bits >>= extra
		nbits -= extra

		e = d.dist[bits&(1<<distBits-1)]
		if e&entrySpecial != 0 {
			if e&entryPointer != entryPointer {
				err = ErrCorrupt
				break
			}
			bits >>= distBits
			nbits -= distBits
			e = d.dist[int(e>>16&0x7fff)+int(bits&(1<<(e>>8&31)-1))]
			if e&entrySpecial != 0 {
				err = ErrCorrupt
				break
			}
		}
		bits >>= e & 63
		nbits -= uint(e & 0xff)
		extra = uint(e >> 8 & 31)
		dist := int(e>>16) + int(bits&(1<<extra-1))
		bits >>= extra
		nbits -= extra

		from := o - dist
		if from < origin {
			err = ErrCorrupt
			break
		}
		if dist >= 8 && length <= 32 {
			binary.LittleEndian.PutUint64(out[o:], binary.LittleEndian.Uint64(out[from:]))
			binary.LittleEndian.PutUint64(out[o+8:], binary.LittleEndian.Uint64(out[from+8:]))
			if length > 16 {
				binary.LittleEndian.PutUint64(out[o+16:], binary.LittleEndian.Uint64(out[from+16:]))
				binary.LittleEndian.PutUint64(out[o+24:], binary.LittleEndian.Uint64(out[from+24:]))
			}
			o += length
			continue
		}
		if dist >= length {
			copy(out[o:o+length], out[from:from+length])
			o += length
			continue
		}
		// The match overlaps itself: copied bytes become the source.
		for end := o + length; o < end; {
			o += copy(out[o:end], out[from:o])
		}
	}
	d.pos, d.bits, d.nbits = pos, bits, nbits
	d.bits &= 1<<(d.nbits&63) - 1 // the loop leaves bits above nbits
	if d.hasOverrun() {
		return sound, io.ErrUnexpectedEOF
	}
	return o, err
}
