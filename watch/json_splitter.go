package watch

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// jsonSplitter takes a JSON document apart as it arrives. It does not check what is in an object, an array or a string:
// whoever decodes the value does. encoding/json's decoder scans each value twice, which was a fifth of the cost of a
// long list.
type jsonSplitter struct {
	from io.Reader
	// buffer is reused; unread, in it, is what was read and not taken yet.
	buffer, unread []byte
}

const splitterBufferSize = 64 << 10

const jsonSpace = " \t\r\n"

func newJSONSplitter(from io.Reader) *jsonSplitter {
	return &jsonSplitter{from: from, buffer: make([]byte, splitterBufferSize)}
}

// fill reads more, and moves what is unread to the start of the buffer.
func (s *jsonSplitter) fill() error {
	if len(s.unread) == len(s.buffer) {
		s.buffer = slices.Concat(s.unread, make([]byte, len(s.buffer)))
	} else {
		copy(s.buffer, s.unread)
	}
	n, err := s.from.Read(s.buffer[len(s.unread):])
	s.unread = s.buffer[:len(s.unread)+n]
	switch {
	case n > 0: // an error comes again
		return nil
	case errors.Is(err, io.EOF):
		return io.ErrUnexpectedEOF
	}
	return err
}

// peekByte returns the next byte that is no space, without taking it.
func (s *jsonSplitter) peekByte() (byte, error) {
	for {
		s.unread = bytes.TrimLeft(s.unread, jsonSpace)
		if len(s.unread) > 0 {
			return s.unread[0], nil
		}
		if err := s.fill(); err != nil {
			return 0, err
		}
	}
}

// takeByte takes the next byte that is no space, which must be an allowed one.
func (s *jsonSplitter) takeByte(allowed string) (byte, error) {
	c, err := s.peekByte()
	if err == nil && strings.IndexByte(allowed, c) < 0 {
		err = fmt.Errorf("it is no JSON: %q where one of %q is expected", c, allowed)
	}
	if err == nil {
		s.unread = s.unread[1:]
	}
	return c, err
}

// takeValue takes the next value. It is valid until the next call.
func (s *jsonSplitter) takeValue() ([]byte, error) {
	first, err := s.peekByte()
	if err != nil {
		return nil, err
	}
	scan := valueScan{isScalar: first != '{' && first != '[' && first != '"'}
	for !scan.advance(s.unread) {
		if err := s.fill(); err != nil {
			return nil, err
		}
	}
	raw := s.unread[:scan.length]
	s.unread = s.unread[scan.length:]
	if scan.isScalar && !json.Valid(raw) {
		return nil, fmt.Errorf("it is no JSON: %.20q", raw)
	}
	return raw, nil
}

// eachMember calls member, which must take the value, with the name of each member of an object.
func (s *jsonSplitter) eachMember(member func(name string) error) error {
	return s.eachPart("{}", func() error {
		var name string
		raw, err := s.takeValue()
		if err == nil && raw[0] != '"' {
			err = errNotAList
		}
		if err == nil {
			err = json.Unmarshal(raw, &name)
		}
		if err == nil {
			_, err = s.takeByte(":")
		}
		if err != nil {
			return err
		}
		return member(name)
	})
}

// eachElement calls element with each element of an array, or of null, which is how Go writes a nil slice.
func (s *jsonSplitter) eachElement(element func(raw []byte) error) error {
	if first, err := s.peekByte(); err != nil || first == 'n' {
		_, taken := s.takeValue()
		return cmp.Or(err, taken)
	}
	return s.eachPart("[]", func() error {
		raw, err := s.takeValue()
		if err != nil {
			return err
		}
		return element(raw)
	})
}

// eachPart calls take, which must take the part, for each part of an object or an array, whose brackets are given.
func (s *jsonSplitter) eachPart(brackets string, take func() error) error {
	first, err := s.peekByte()
	if err != nil || first != brackets[0] {
		return cmp.Or(err, errNotAList)
	}
	s.unread = s.unread[1:]
	first, err = s.peekByte()
	if err == nil && first == brackets[1] {
		s.unread = s.unread[1:]
		return nil
	}
	for err == nil {
		if err = take(); err != nil {
			return err
		}
		var after byte
		if after, err = s.takeByte("," + brackets[1:]); err == nil && after == brackets[1] {
			return nil
		}
	}
	return err
}

// valueScan finds the end of a JSON value in a text that may grow between two calls.
type valueScan struct {
	isScalar bool // a number, true, false or null, which ends where something else begins
	length   int  // how much was scanned
	depth    int
	inString bool
}

// advance scans on, and reports whether the value ends, at its length.
func (v *valueScan) advance(text []byte) (ended bool) {
	if v.isScalar {
		n := bytes.IndexAny(text[v.length:], ",]}"+jsonSpace)
		if n < 0 {
			n = len(text) - v.length
		}
		v.length += n
		return v.length < len(text)
	}
	i, depth := v.length, v.depth
	defer func() { v.length, v.depth = i, depth }()
	for i < len(text) {
		if v.inString {
			for i < len(text) && text[i] != '"' {
				if text[i] == '\\' {
					i++ // perhaps beyond the text, until it grows
				}
				i++
			}
			if i >= len(text) {
				return false
			}
			v.inString = false
			if i++; depth == 0 {
				return true
			}
			continue
		}
		switch text[i] {
		case '"':
			v.inString = true
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				i++
				return true
			}
		}
		i++
	}
	return false
}
