package collector

import (
	"bytes"
	"encoding/json"
	"errors"
	"unicode/utf8"
)

var (
	errJSONEnd    = errors.New("JSON is cut off")
	errJSONSyntax = errors.New("not a JSON object")
	errJSONDepth  = errors.New("JSON is nested too deeply")
	errNoKind     = errors.New("object has no kind")

	errTooManyParts = errors.New("object has too many labels, volumes or names")
)

// maxDepth is where encoding/json, and so Velero, gives up.
const maxDepth = 10000

// scanner walks one JSON text that is wholly in memory. It looks into what it is asked for and
// skips the rest, checking only that strings end and brackets match: enough to notice a text that
// was cut off anywhere. The first error stays.
type scanner struct {
	b     []byte
	i     int
	err   error
	depth int    // of the objects and arrays entered by visit
	open  []byte // closers that skip waits for; kept to be used again
}

func (s *scanner) reset(b []byte) { s.b, s.i, s.err, s.depth = b, 0, nil, 0 }

func (s *scanner) fail(err error) {
	if s.err == nil {
		s.err = err
	}
}

// peek returns the next byte that is not white space, or 0.
func (s *scanner) peek() byte {
	if s.err != nil {
		return 0
	}
	for ; s.i < len(s.b); s.i++ {
		switch c := s.b[s.i]; c {
		case ' ', '\t', '\r', '\n':
		default:
			return c
		}
	}
	s.fail(errJSONEnd)
	return 0
}

func (s *scanner) expect(c byte) bool {
	if s.peek() != c {
		s.fail(errJSONSyntax)
		return false
	}
	s.i++
	return true
}

// raw returns the string at hand between its quotes, escapes and all.
func (s *scanner) raw() []byte {
	if !s.expect('"') {
		return nil
	}
	start := s.i
	end := stringEnd(s.b, start)
	if end < 0 {
		s.fail(errJSONEnd)
		return nil
	}
	s.i = end + 1
	return s.b[start:end]
}

// stringEnd finds the quote that ends the string whose text starts at i.
func stringEnd(b []byte, i int) int {
	for from := i; ; {
		n := bytes.IndexByte(b[from:], '"')
		if n < 0 {
			return -1
		}
		end := from + n
		slashes := 0
		for end-1-slashes >= i && b[end-1-slashes] == '\\' {
			slashes++
		}
		if slashes%2 == 0 {
			return end
		}
		from = end + 1
	}
}

// text returns the string at hand; ok is false if the value is no string, and
// then it is skipped. The bytes are part of the input unless there are escapes or bad UTF-8.
func (s *scanner) text() (text []byte, ok bool) {
	if s.peek() != '"' {
		s.skip()
		return nil, false
	}
	text = s.raw()
	if literal(text) {
		return text, s.err == nil
	}
	var decoded string
	quoted := s.b[s.i-len(text)-2 : s.i]
	if json.Unmarshal(quoted, &decoded) != nil {
		s.fail(errJSONSyntax)
		return nil, false
	}
	return []byte(decoded), true
}

// literal says whether a string's text stands for itself: no escapes, no bad UTF-8.
func literal(text []byte) bool {
	for _, c := range text {
		if c == '\\' || c >= utf8.RuneSelf {
			return bytes.IndexByte(text, '\\') < 0 && utf8.Valid(text)
		}
	}
	return true
}

// object calls visit at every value of the object at hand; visit must consume
// it. Anything else is skipped, and object says false.
func (s *scanner) object(visit func(key []byte)) bool {
	if s.peek() != '{' {
		s.skip()
		return false
	}
	s.i++
	if !s.enter() {
		return false
	}
	for first := true; ; first = false {
		switch c := s.peek(); {
		case c == '}':
			s.i++
			s.depth--
			return true
		case !first && !s.expect(','):
			return false
		}
		key, ok := s.text()
		if !ok || !s.expect(':') {
			s.fail(errJSONSyntax)
			return false
		}
		visit(key)
		if s.err != nil {
			return false
		}
	}
}

// array calls visit at every element of the array at hand.
func (s *scanner) array(visit func()) {
	if s.peek() != '[' {
		s.skip()
		return
	}
	s.i++
	if !s.enter() {
		return
	}
	for first := true; ; first = false {
		switch c := s.peek(); {
		case c == ']':
			s.i++
			s.depth--
			return
		case !first && !s.expect(','):
			return
		}
		visit()
		if s.err != nil {
			return
		}
	}
}

func (s *scanner) enter() bool {
	if s.depth++; s.depth > maxDepth {
		s.fail(errJSONDepth)
		return false
	}
	return true
}

// What a byte means to skip.
const (
	plain = iota
	quote
	opener
	closer
)

var class = [256]uint8{'"': quote, '{': opener, '[': opener, '}': closer, ']': closer}

func (s *scanner) skip() {
	switch c := s.peek(); c {
	case 0:
		s.fail(errJSONSyntax)
	case '"':
		s.raw()
	case '{', '[':
		s.skipNested()
	default:
		start := s.i
		for s.i < len(s.b) && scalar[s.b[s.i]] {
			s.i++
		}
		if s.i == start {
			s.fail(errJSONSyntax)
		}
	}
}

// scalar are the bytes of numbers, true, false and null.
var scalar = func() (table [256]bool) {
	for _, c := range "0123456789+-.eEtrufalsn" {
		table[c] = true
	}
	return table
}()

func (s *scanner) skipNested() {
	b, i, open := s.b, s.i, s.open[:0]
	for i < len(b) {
		c := b[i]
		switch class[c] {
		case quote:
			// Most strings hold no backslash before a quote.
			n := bytes.IndexByte(b[i+1:], '"')
			if n > 0 && b[i+n] == '\\' {
				n = stringEnd(b, i+1) - i - 1
			}
			if n < 0 {
				s.fail(errJSONEnd)
				return
			}
			i += n + 1
		case opener:
			if len(open)+s.depth >= maxDepth {
				s.fail(errJSONDepth)
				return
			}
			open = append(open, c+2) // '[' and '{' are two before their closers
		case closer:
			if open[len(open)-1] != c {
				s.fail(errJSONSyntax)
				return
			}
			if open = open[:len(open)-1]; len(open) == 0 {
				s.i, s.open = i+1, open
				return
			}
		}
		i++
	}
	s.fail(errJSONEnd)
}

// fields are the members of an object, or of the objects of an array, that are wanted, and
// which of theirs: nil is all.
type fields map[string]fields

// prune appends the value at hand without what is not wanted.
func (s *scanner) prune(to []byte, wanted fields) []byte {
	c := s.peek()
	if wanted == nil || c != '{' && c != '[' {
		start := s.i
		s.skip()
		return append(to, s.b[start:s.i]...)
	}
	to = append(to, c)
	if c == '[' {
		s.array(func() {
			to = s.prune(separated(to), wanted)
		})
		return append(to, ']')
	}
	s.object(func(key []byte) { to = s.pruneMember(to, key, wanted) })
	return append(to, '}')
}

// pruneMember appends the member whose value is at hand, if it is wanted.
func (s *scanner) pruneMember(to, key []byte, wanted fields) []byte {
	below, ok := wanted[string(key)]
	if !ok {
		s.skip()
		return to
	}
	return s.prune(append(append(append(separated(to), '"'), key...), `":`...), below)
}

// separated appends a comma unless an object or array has just begun.
func separated(to []byte) []byte {
	if c := to[len(to)-1]; c == '{' || c == '[' {
		return to
	}
	return append(to, ',')
}
