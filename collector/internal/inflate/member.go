package inflate

import "io"

// These are the flags of a gzip header (RFC 1952, 2.3.1).
const (
	flagHeaderCRC = 1 << 1
	flagExtra     = 1 << 2
	flagName      = 1 << 3
	flagComment   = 1 << 4
	flagReserved  = 0xe0
)

// maxHeader is the maximum length of a header's strings, which have no length field.
const maxHeader = 64 << 10

// readHeader reads a member's header. It returns io.EOF at the end of the stream.
func (d *Decoder) readHeader() error {
	d.alignToByte()
	d.fillInput()
	if d.pos >= d.inEnd && d.memberCount > 0 {
		if d.srcErr == io.EOF {
			return io.EOF
		}
		return io.ErrUnexpectedEOF // explainError adds the source's error
	}
	bad := ErrHeader
	if d.memberCount > 0 {
		bad = ErrTrailing
	}
	for _, want := range []uint32{0x1f, 0x8b, 8} {
		at := d.pos
		got, err := d.takeBits(8)
		if err != nil || got != want {
			d.alignToByte()
			if d.memberCount > 0 {
				d.pos = at
			}
			if err != nil && d.memberCount == 0 {
				return err
			}
			return bad
		}
	}
	flags, err := d.takeBits(8)
	if err != nil {
		return err
	}
	if flags&flagReserved != 0 {
		return ErrHeader
	}
	if err := d.skipBytes(6); err != nil { // time, extra flags, system
		return err
	}
	if flags&flagExtra != 0 {
		n, err := d.takeBits(16)
		if err != nil {
			return err
		}
		if err := d.skipBytes(int(n)); err != nil {
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
		return d.skipBytes(2)
	}
	return nil
}

func (d *Decoder) skipBytes(n int) error {
	for range n {
		if _, err := d.takeBits(8); err != nil {
			return err
		}
	}
	return nil
}

func (d *Decoder) skipString() error {
	for range maxHeader {
		c, err := d.takeBits(8)
		if err != nil || c == 0 {
			return err
		}
	}
	return ErrHeader
}

// readTrailer compares the member's checksum and length with the decoded data.
func (d *Decoder) readTrailer() error {
	d.alignToByte()
	crc, err := d.takeBits(32)
	if err != nil {
		return err
	}
	size, err := d.takeBits(32)
	if err != nil {
		return err
	}
	if crc != d.crc || size != uint32(d.memberBytes) {
		return ErrChecksum
	}
	return nil
}
