package logs

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// splitter takes text apart into lines, and lines that are too long into parts.
type splitter struct {
	from *bufio.Reader
	part []byte
	more bool
}

func newSplitter(r io.Reader) *splitter {
	return &splitter{from: bufio.NewReaderSize(r, unwritten)}
}

// next is the next line without its end, or the next part of one: more says that it continues, ends that
// the line ends with it. The part is valid until the next call. The error is [io.EOF] in the end.
func (s *splitter) next() (part []byte, more, ends bool, err error) {
	s.part = s.part[:0]
	for {
		chunk, err := s.from.ReadSlice('\n')
		s.part = append(s.part, chunk...)
		more = s.more
		switch {
		case err == nil:
			s.more = false
			return bytes.TrimSuffix(s.part[:len(s.part)-1], []byte("\r")), more, true, nil
		case errors.Is(err, bufio.ErrBufferFull):
			if len(s.part) >= longest {
				s.more = true
				return s.part, more, false, nil
			}
		case len(s.part) > 0 && errors.Is(err, io.EOF):
			s.more = false
			return s.part, more, true, nil
		default:
			return nil, more, false, err
		}
	}
}

// levelOf is the level of a line, which may be long.
func levelOf(raw []byte) Level {
	if len(raw) > 0 && raw[0] != '{' {
		raw = raw[:min(len(raw), 256)] // a text's level is its second field
	}
	return parseLevel(raw)
}
