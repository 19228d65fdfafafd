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

// Errors of an archive. They are found in what Read returns with errors.Is.
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

// entry is one member of a tar archive. Its name is valid until the next one.
type entry struct {
	name   []byte
	flag   byte
	size   int64
	offset int64 // of its header in the tar stream
}

// tarReader reads entries from blocks of bytes. Other than archive/tar it copies nothing that lies
// within one block, and passes over bodies without looking at them.
type tarReader struct {
	more    func() ([]byte, error) // the next block; valid until the next call
	block   []byte
	pos     int
	start   int64 // offset of block in the tar stream
	err     error // of more
	scratch []byte
	name    []byte
	current entry
	pad     int64 // what is left of current, with padding
	maxName int
}

func (t *tarReader) offset() int64 { return t.start + int64(t.pos) }

// next moves on to the next entry. io.EOF is the archive's proper end.
func (t *tarReader) next() (entry, error) {
	var longName []byte
	longSize := int64(-1)
	for {
		if err := t.skip(t.pad); err != nil {
			return t.current, err // it is that one's data that is missing
		}
		t.pad = 0
		e := entry{offset: t.offset()}
		t.current = e
		h, err := t.header()
		if err != nil {
			return e, err
		}
		if e.size, err = tarNumber(h[124:136]); err != nil || e.size < 0 {
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
			t.pad = padded(e.size)
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
		if headerOnly(e.flag) {
			e.size = 0
		}
		t.pad = padded(e.size)
		t.current = e
		return e, nil
	}
}

// headerOnly are the types whose size says nothing about data: links, devices, directories and pipes.
func headerOnly(flag byte) bool { return flag >= '1' && flag <= '6' }

func padded(n int64) int64 { return (n + tarBlock - 1) &^ (tarBlock - 1) }

func (t *tarReader) header() ([]byte, error) {
	h, err := t.read(tarBlock)
	if err == io.ErrUnexpectedEOF && len(h) == 0 {
		return nil, io.EOF // no end marker; archive/tar lets it pass too
	}
	if err != nil {
		return nil, err
	}
	want, err := tarNumber(h[148:156])
	if err != nil || want != headerSum(h) {
		if !allZero(h) {
			return nil, fmt.Errorf("%w: wrong checksum", ErrTarHeader)
		}
		second, err := t.read(tarBlock)
		if err == nil && !allZero(second) {
			return nil, fmt.Errorf("%w: data after an empty block", ErrTarHeader)
		}
		if err != nil && !(err == io.ErrUnexpectedEOF && len(second) == 0) {
			return nil, err
		}
		return nil, io.EOF
	}
	return h, nil
}

// headerSum adds the bytes of a header, its checksum field taken as spaces.
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

func allZero(b []byte) bool { return bytes.Count(b, []byte{0}) == len(b) }

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

// tarNumber reads an octal field, or a base-256 one.
func tarNumber(b []byte) (int64, error) {
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

// longHeader reads a record that carries the next entry's name or size. A nil
// name or negative size means that it says nothing about it.
func (t *tarReader) longHeader(e entry) (name []byte, size int64, err error) {
	if e.size > maxTarMeta {
		return nil, -1, fmt.Errorf("%w: %d bytes of extended header", ErrTarHeader, e.size)
	}
	data, err := t.read(int(e.size))
	if err != nil {
		return nil, -1, err
	}
	t.pad = padded(e.size) - e.size
	if e.flag == typeGNULong {
		return bytes.Clone(cString(data)), -1, nil
	}
	return paxRecords(data)
}

// paxRecords finds path and size among "LENGTH KEY=VALUE\n" records.
func paxRecords(data []byte) (name []byte, size int64, err error) {
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

// body returns what the entry holds; it must be called at most once, right
// after next. The bytes are valid until the next call.
func (t *tarReader) body(e entry) ([]byte, error) {
	b, err := t.read(int(e.size))
	t.pad -= int64(len(b))
	return b, err
}

// read returns the next n bytes: a part of the block, or a copy when they go
// beyond it. Short data comes with io.ErrUnexpectedEOF or the source's error.
func (t *tarReader) read(n int) ([]byte, error) {
	if len(t.block)-t.pos >= n {
		b := t.block[t.pos : t.pos+n]
		t.pos += n
		return b, nil
	}
	t.scratch = t.scratch[:0]
	for n > len(t.scratch) {
		if err := t.ensure(); err != nil {
			return t.scratch, err
		}
		take := min(n-len(t.scratch), len(t.block)-t.pos)
		t.scratch = append(t.scratch, t.block[t.pos:t.pos+take]...)
		t.pos += take
	}
	return t.scratch, nil
}

func (t *tarReader) skip(n int64) error {
	for n > 0 {
		if err := t.ensure(); err != nil {
			return err
		}
		take := min(n, int64(len(t.block)-t.pos))
		t.pos += int(take)
		n -= take
	}
	return nil
}

// ensure has at least one byte at hand.
func (t *tarReader) ensure() error {
	for t.pos >= len(t.block) {
		if t.err != nil {
			return t.err
		}
		t.start += int64(len(t.block))
		t.block, t.err = t.more()
		t.pos = 0
		if t.err == io.EOF {
			t.err = io.ErrUnexpectedEOF
		}
	}
	return nil
}
