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

// maxDepth is the nesting depth at which encoding/json, and so Velero, gives up.
const maxDepth = 10000

// jsonScanner walks one JSON text that is fully in memory. It reads the requested values and skips the rest, checking
// only that strings end and brackets match: enough to notice a truncated text. The first error stays.
type jsonScanner struct {
	b     []byte
	i     int
	err   error
	depth int    // nesting depth of the objects and arrays entered by visit
	open  []byte // closing brackets that skipNested expects; kept for reuse
}

func (s *jsonScanner) resetInput(b []byte) { s.b, s.i, s.err, s.depth = b, 0, nil, 0 }

func (s *jsonScanner) setError(err error) {
	if s.err == nil {
		s.err = err
	}
}

// peekByte returns the next byte that is not white space, 0 at the end.
func (s *jsonScanner) peekByte() byte {
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
	s.setError(errJSONEnd)
	return 0
}

func (s *jsonScanner) expectByte(c byte) bool {
	if s.peekByte() != c {
		s.setError(errJSONSyntax)
		return false
	}
	s.i++
	return true
}

// readRawString returns the next string without its quotes, with its escapes.
func (s *jsonScanner) readRawString() []byte {
	if !s.expectByte('"') {
		return nil
	}
	start := s.i
	end := stringEnd(s.b, start)
	if end < 0 {
		s.setError(errJSONEnd)
		return nil
	}
	s.i = end + 1
	return s.b[start:end]
}

// stringEnd returns the index of the quote that ends the string whose text starts at i, -1 if there is none.
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

// readString returns the next string. If the value is not a string, it is skipped and ok is false. The bytes are part
// of the input unless there are escapes or bad UTF-8.
func (s *jsonScanner) readString() (text []byte, ok bool) {
	if s.peekByte() != '"' {
		s.skipValue()
		return nil, false
	}
	text = s.readRawString()
	if isLiteral(text) {
		return text, s.err == nil
	}
	var decoded string
	quoted := s.b[s.i-len(text)-2 : s.i]
	if json.Unmarshal(quoted, &decoded) != nil {
		s.setError(errJSONSyntax)
		return nil, false
	}
	return []byte(decoded), true
}

// isLiteral reports whether a string's text has no escapes and no bad UTF-8.
func isLiteral(text []byte) bool {
	for _, c := range text {
		if c == '\\' || c >= utf8.RuneSelf {
			return bytes.IndexByte(text, '\\') < 0 && utf8.Valid(text)
		}
	}
	return true
}

// eachMember calls visit at every value of the next object; visit must consume the value. Any other value is skipped,
// and the result is false.
func (s *jsonScanner) eachMember(visit func(key []byte)) bool {
	if s.peekByte() != '{' {
		s.skipValue()
		return false
	}
	s.i++
	if !s.enterNested() {
		return false
	}
	for first := true; ; first = false {
		switch c := s.peekByte(); {
		case c == '}':
			s.i++
			s.depth--
			return true
		case !first && !s.expectByte(','):
			return false
		}
		key, ok := s.readString()
		if !ok || !s.expectByte(':') {
			s.setError(errJSONSyntax)
			return false
		}
		visit(key)
		if s.err != nil {
			return false
		}
	}
}

// eachElement calls visit at every element of the next array.
func (s *jsonScanner) eachElement(visit func()) {
	if s.peekByte() != '[' {
		s.skipValue()
		return
	}
	s.i++
	if !s.enterNested() {
		return
	}
	for first := true; ; first = false {
		switch c := s.peekByte(); {
		case c == ']':
			s.i++
			s.depth--
			return
		case !first && !s.expectByte(','):
			return
		}
		visit()
		if s.err != nil {
			return
		}
	}
}

func (s *jsonScanner) enterNested() bool {
	if s.depth++; s.depth > maxDepth {
		s.setError(errJSONDepth)
		return false
	}
	return true
}

// These are the classes of bytes for skipNested.
const (
	plainByte = iota
	quoteByte
	openerByte
	closerByte
)

var byteClass = [256]uint8{'"': quoteByte, '{': openerByte, '[': openerByte, '}': closerByte, ']': closerByte}

func (s *jsonScanner) skipValue() {
	switch c := s.peekByte(); c {
	case 0:
		s.setError(errJSONSyntax)
	case '"':
		s.readRawString()
	case '{', '[':
		s.skipNested()
	default:
		start := s.i
		for s.i < len(s.b) && scalarByte[s.b[s.i]] {
			s.i++
		}
		if s.i == start {
			s.setError(errJSONSyntax)
		}
	}
}

// scalarByte is true for the bytes of numbers, true, false and null.
var scalarByte = func() (table [256]bool) {
	for _, c := range "0123456789+-.eEtrufalsn" {
		table[c] = true
	}
	return table
}()

func (s *jsonScanner) skipNested() {
	b, i, open := s.b, s.i, s.open[:0]
	for i < len(b) {
		c := b[i]
		switch byteClass[c] {
		case quoteByte:
			// Most strings have no backslash before a quote.
			n := bytes.IndexByte(b[i+1:], '"')
			if n > 0 && b[i+n] == '\\' {
				n = stringEnd(b, i+1) - i - 1
			}
			if n < 0 {
				s.setError(errJSONEnd)
				return
			}
			i += n + 1
		case openerByte:
			if len(open)+s.depth >= maxDepth {
				s.setError(errJSONDepth)
				return
			}
			open = append(open, c+2) // '[' and '{' are two code points before their closing brackets
		case closerByte:
			if open[len(open)-1] != c {
				s.setError(errJSONSyntax)
				return
			}
			if open = open[:len(open)-1]; len(open) == 0 {
				s.i, s.open = i+1, open
				return
			}
		}
		i++
	}
	s.setError(errJSONEnd)
}

// fieldTree holds the wanted members of an object, or of an array's objects, each with its own wanted members; nil
// means all.
type fieldTree map[string]fieldTree

// pruneValue appends the next value without its unwanted members.
func (s *jsonScanner) pruneValue(to []byte, wanted fieldTree) []byte {
	c := s.peekByte()
	if wanted == nil || c != '{' && c != '[' {
		start := s.i
		s.skipValue()
		return append(to, s.b[start:s.i]...)
	}
	to = append(to, c)
	if c == '[' {
		s.eachElement(func() {
			to = s.pruneValue(appendComma(to), wanted)
		})
		return append(to, ']')
	}
	s.eachMember(func(key []byte) { to = s.pruneMember(to, key, wanted) })
	return append(to, '}')
}

// pruneMember appends the member whose value is next, if it is wanted.
func (s *jsonScanner) pruneMember(to, key []byte, wanted fieldTree) []byte {
	below, ok := wanted[string(key)]
	if !ok {
		s.skipValue()
		return to
	}
	return s.pruneValue(append(append(append(appendComma(to), '"'), key...), `":`...), below)
}

// appendComma appends a comma unless an object or array has just begun.
func appendComma(to []byte) []byte {
	if c := to[len(to)-1]; c == '{' || c == '[' {
		return to
	}
	return append(to, ',')
}
