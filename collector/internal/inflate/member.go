package inflate

import "io"

// Flags of a gzip header (RFC 1952, 2.3.1).
const (
	flagHeaderCRC = 1 << 1
	flagExtra     = 1 << 2
	flagName      = 1 << 3
	flagComment   = 1 << 4
	flagReserved  = 0xe0
)

// maxHeader bounds the strings of a header: they have no length of their own.
const maxHeader = 64 << 10

// readHeader reads a member's header, or finds the end of the stream.
func (d *Decoder) readHeader() error {
	d.align()
	d.fill()
	if d.pos >= d.inEnd && d.members > 0 {
		if d.srcErr == io.EOF {
			return io.EOF
		}
		return io.ErrUnexpectedEOF // explain says what the source said
	}
	bad := ErrHeader
	if d.members > 0 {
		bad = ErrTrailing
	}
	for _, want := range []uint32{0x1f, 0x8b, 8} {
		at := d.pos
		got, err := d.take(8)
		if err != nil || got != want {
			d.align()
			if d.members > 0 {
				d.pos = at
			}
			if err != nil && d.members == 0 {
				return err
			}
			return bad
		}
	}
	flags, err := d.take(8)
	if err != nil {
		return err
	}
	if flags&flagReserved != 0 {
		return ErrHeader
	}
	if err := d.skip(6); err != nil { // time, extra flags, system
		return err
	}
	if flags&flagExtra != 0 {
		n, err := d.take(16)
		if err != nil {
			return err
		}
		if err := d.skip(int(n)); err != nil {
			return err
		}
	}
	for _, flag := range []uint32{flagName, flagComment} {
		if flags&flag != 0 {
			if err := d.skipString(); err != nil {
				return err
			}
		}
	}
	if flags&flagHeaderCRC != 0 {
		return d.skip(2)
	}
	return nil
}

func (d *Decoder) skip(n int) error {
	for range n {
		if _, err := d.take(8); err != nil {
			return err
		}
	}
	return nil
}

func (d *Decoder) skipString() error {
	for range maxHeader {
		c, err := d.take(8)
		if err != nil || c == 0 {
			return err
		}
	}
	return ErrHeader
}

// readTrailer compares the member's checksum and length with what was decoded.
func (d *Decoder) readTrailer() error {
	d.align()
	crc, err := d.take(32)
	if err != nil {
		return err
	}
	size, err := d.take(32)
	if err != nil {
		return err
	}
	if crc != d.crc || size != uint32(d.member) {
		return ErrChecksum
	}
	return nil
}
