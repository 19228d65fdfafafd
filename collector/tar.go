package collector

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

const tarBlock = 512

// maxTarMeta bounds the records that precede an entry (long names, PAX), as archive/tar does.
const maxTarMeta = 1 << 20

// These are the errors of an archive. Use errors.Is to find them in an error of Read.
var (
	ErrTarHeader = errors.New("invalid tar header")
	ErrSparse    = errors.New("sparse entries are not supported")
	ErrLongName  = errors.New("entry name is too long")
)

// Tar type flags (POSIX pax, GNU tar).
const (
	typeReg       = '0'
	typeRegOld    = 0
	typeDir       = '5'
	typePAX       = 'x'
	typePAXGlobal = 'g'
	typeGNULong   = 'L'
	typeGNULink   = 'K'
	typeGNUSparse = 'S'
)

// tarEntry is one member of a tar archive. Its name is valid until the next member is read.
type tarEntry struct {
	name   []byte
	flag   byte
	size   int64
	offset int64 // offset of its header in the tar stream
}

// tarReader reads entries from blocks of bytes. Unlike archive/tar, it copies nothing that lies within one block, and
// skips bodies without reading them.
type tarReader struct {
	nextBlock      func() ([]byte, error) // the next block; valid until the next call
	block          []byte
	pos            int
	start          int64 // offset of block in the tar stream
	err            error // the error of nextBlock
	scratch        []byte
	name           []byte
	current        tarEntry
	remainingBytes int64 // the remaining bytes of current, with padding
	maxName        int
	hasEndMark     bool // the archive ended with an empty block
}

func (t *tarReader) streamOffset() int64 { return t.start + int64(t.pos) }

// nextEntry returns the next entry. io.EOF is the regular end of the archive.
func (t *tarReader) nextEntry() (tarEntry, error) {
	var longName []byte
	longSize := int64(-1)
	for {
		if err := t.skipBytes(t.remainingBytes); err != nil {
			return t.current, err // the missing data belongs to the current entry
		}
		t.remainingBytes = 0
		e := tarEntry{offset: t.streamOffset()}
		t.current = e
		h, err := t.readHeader()
		if err != nil {
			return e, err
		}
		if e.size, err = parseTarNumber(h[124:136]); err != nil || e.size < 0 {
			return e, fmt.Errorf("%w: bad size", ErrTarHeader)
		}
		e.flag = h[156]
		switch e.flag {
		case typePAX, typeGNULong:
			name, size, err := t.longHeader(e)
			if err != nil {
				return e, err
			}
			if len(name) > 0 {
				longName = name
			}
			if size >= 0 {
				longSize = size
			}
			continue
		case typePAXGlobal, typeGNULink:
			if e.size > maxTarMeta {
				return e, fmt.Errorf("%w: %d bytes of extended header", ErrTarHeader, e.size)
			}
			t.remainingBytes = paddedSize(e.size)
			continue
		case typeGNUSparse:
			return e, ErrSparse
		}
		e.name = t.shortName(h)
		if longName != nil {
			e.name = longName
		}
		if longSize >= 0 {
			e.size = longSize
		}
		if len(e.name) > t.maxName {
			return e, fmt.Errorf("%w (%d bytes)", ErrLongName, len(e.name))
		}
		if e.flag == typeRegOld {
			e.flag = typeReg
			if bytes.HasSuffix(e.name, []byte("/")) {
				e.flag = typeDir
			}
		}
		if isHeaderOnly(e.flag) {
			e.size = 0
		}
		t.remainingBytes = paddedSize(e.size)
		t.current = e
		return e, nil
	}
}

// isHeaderOnly reports whether entries of a type have no data, whatever their size: links, devices, directories and
// pipes.
func isHeaderOnly(flag byte) bool { return flag >= '1' && flag <= '6' }

func paddedSize(n int64) int64 { return (n + tarBlock - 1) &^ (tarBlock - 1) }

func (t *tarReader) readHeader() ([]byte, error) {
	h, err := t.readBytes(tarBlock)
	if err == io.ErrUnexpectedEOF && len(h) == 0 {
		return nil, io.EOF // no end marker; archive/tar accepts that, too
	}
	if err != nil {
		return nil, err
	}
	want, err := parseTarNumber(h[148:156])
	if err != nil || want != headerSum(h) {
		if !isAllZero(h) {
			return nil, fmt.Errorf("%w: wrong checksum", ErrTarHeader)
		}
		second, err := t.readBytes(tarBlock)
		if err == nil && !isAllZero(second) {
			return nil, fmt.Errorf("%w: data after an empty block", ErrTarHeader)
		}
		if err != nil && !(err == io.ErrUnexpectedEOF && len(second) == 0) {
			return nil, err
		}
		t.hasEndMark = true
		return nil, io.EOF
	}
	return h, nil
}

// headerSum returns the sum of a header's bytes, with spaces for its checksum field.
func headerSum(h []byte) int64 {
	h = h[:tarBlock]
	const even = 0x00ff00ff00ff00ff
	var sum uint64 // four sums of 16 bits: 128 bytes of at most 255 fit
	for i := 0; i < tarBlock; i += 8 {
		v := binary.LittleEndian.Uint64(h[i:])
		sum += v&even + v>>8&even
	}
	total := int64(sum&0xffff + sum>>16&0xffff + sum>>32&0xffff + sum>>48)
	for _, c := range h[148:156] {
		total += ' ' - int64(c)
	}
	return total
}

func isAllZero(b []byte) bool { return bytes.Count(b, []byte{0}) == len(b) }

func (t *tarReader) shortName(h []byte) []byte {
	name := cString(h[:100])
	prefix := cString(h[345:500])
	if len(prefix) == 0 || string(h[257:263]) != "ustar\x00" {
		t.name = append(t.name[:0], name...)
		return t.name
	}
	t.name = append(append(append(t.name[:0], prefix...), '/'), name...)
	return t.name
}

func cString(b []byte) []byte {
	if i := bytes.IndexByte(b, 0); i >= 0 {
		return b[:i]
	}
	return b
}

// parseTarNumber reads an octal field, or a base-256 one.
func parseTarNumber(b []byte) (int64, error) {
	if b[0]&0x80 != 0 {
		n := int64(b[0] & 0x3f)
		if b[0]&0x40 != 0 {
			n -= 64
		}
		for _, c := range b[1:] {
			if n > 1<<54 || n < -1<<54 {
				return 0, ErrTarHeader
			}
			n = n<<8 | int64(c)
		}
		return n, nil
	}
	n, digits := int64(0), bytes.Trim(b, " \x00")
	for _, c := range digits {
		if c < '0' || c > '7' {
			return 0, ErrTarHeader
		}
		n = n<<3 | int64(c-'0')
	}
	return n, nil
}

// longHeader reads a record with the next entry's name or size. The name is nil, or the size negative, if the record
// does not have it.
func (t *tarReader) longHeader(e tarEntry) (name []byte, size int64, err error) {
	if e.size > maxTarMeta {
		return nil, -1, fmt.Errorf("%w: %d bytes of extended header", ErrTarHeader, e.size)
	}
	data, err := t.readBytes(int(e.size))
	if err != nil {
		return nil, -1, err
	}
	t.remainingBytes = paddedSize(e.size) - e.size
	if e.flag == typeGNULong {
		return bytes.Clone(cString(data)), -1, nil
	}
	return parsePAXRecords(data)
}

// parsePAXRecords returns the path and size from "LENGTH KEY=VALUE\n" records.
func parsePAXRecords(data []byte) (name []byte, size int64, err error) {
	size = -1
	bad := func(why string) ([]byte, int64, error) {
		return nil, -1, fmt.Errorf("%w: PAX record %s", ErrTarHeader, why)
	}
	for len(data) > 0 {
		digits, _, found := bytes.Cut(data, []byte(" "))
		n, err := strconv.Atoi(string(digits))
		if !found || err != nil || n <= len(digits)+1 || n > len(data) || data[n-1] != '\n' {
			return bad("without a length")
		}
		key, value, found := strings.Cut(string(data[len(digits)+1:n-1]), "=")
		if !found || key == "" {
			return bad("without a value")
		}
		data = data[n:]
		switch {
		case strings.HasPrefix(key, "GNU.sparse."):
			return nil, -1, ErrSparse
		case key == "path":
			if strings.IndexByte(value, 0) >= 0 {
				return bad("path holds a NUL byte")
			}
			name = []byte(value)
		case key == "size":
			if size, err = strconv.ParseInt(value, 10, 64); err != nil || size < 0 {
				return bad("size is no number")
			}
		}
	}
	return name, size, nil
}

// readBody returns the entry's content. It must be called at most once, right after nextEntry. The bytes are valid
// until the next call.
func (t *tarReader) readBody(e tarEntry) ([]byte, error) {
	b, err := t.readBytes(int(e.size))
	t.remainingBytes -= int64(len(b))
	return b, err
}

// readBytes returns the next n bytes: a part of the block, or a copy if they extend beyond it. If there are fewer, it
// returns them with io.ErrUnexpectedEOF or the source's error.
func (t *tarReader) readBytes(n int) ([]byte, error) {
	if len(t.block)-t.pos >= n {
		b := t.block[t.pos : t.pos+n]
		t.pos += n
		return b, nil
	}
	t.scratch = t.scratch[:0]
	for n > len(t.scratch) {
		if err := t.fillBlock(); err != nil {
			return t.scratch, err
		}
		take := min(n-len(t.scratch), len(t.block)-t.pos)
		t.scratch = append(t.scratch, t.block[t.pos:t.pos+take]...)
		t.pos += take
	}
	return t.scratch, nil
}

func (t *tarReader) skipBytes(n int64) error {
	for n > 0 {
		if err := t.fillBlock(); err != nil {
			return err
		}
		take := min(n, int64(len(t.block)-t.pos))
		t.pos += int(take)
		n -= take
	}
	return nil
}

// fillBlock makes at least one byte available.
func (t *tarReader) fillBlock() error {
	for t.pos >= len(t.block) {
		if t.err != nil {
			return t.err
		}
		t.start += int64(len(t.block))
		t.block, t.err = t.nextBlock()
		t.pos = 0
		if t.err == io.EOF {
			t.err = io.ErrUnexpectedEOF
		}
	}
	return nil
}
