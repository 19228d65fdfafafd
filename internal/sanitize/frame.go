package sanitize

import (
	"strings"
	"unicode/utf8"
)

// Frame returns what a program draws with nothing in it but text, line feeds
// and colours (SGR): each other character that could steer a terminal becomes
// a question mark, so that rows keep their width. It is the last door before a
// screen; what is drawn was cleaned, and measured, before.
func Frame(s string) string {
	if isCleanFrame(s) {
		return s
	}
	var b strings.Builder
	b.Grow(len(s))
	for len(s) > 0 {
		if n := colorSize(s); n > 0 {
			b.WriteString(s[:n])
			s = s[n:]
			continue
		}
		r, size := utf8.DecodeRuneInString(s)
		if !drawable(r, s) {
			r = '?'
		}
		b.WriteRune(r)
		s = s[size:]
	}
	return b.String()
}

func isCleanFrame(s string) bool {
	for i := 0; i < len(s); {
		if s[i] >= 0x20 && s[i] < 0x7f || s[i] == '\n' {
			i++
			continue
		}
		if n := colorSize(s[i:]); n > 0 {
			i += n
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		if !drawable(r, s[i:]) {
			return false
		}
		i += size
	}
	return true
}

func drawable(r rune, s string) bool {
	return r == '\n' || isEncoded(r, s) && !harmful(r)
}

// maxColor is how long a sequence that sets colours is at most.
const maxColor = 64

// colorSize is the length of the SGR sequence that s begins with, 0 for none.
func colorSize(s string) int {
	if !strings.HasPrefix(s, "\x1b[") {
		return 0
	}
	for i := 2; i < min(len(s), maxColor); i++ {
		switch c := s[i]; {
		case c == 'm':
			return i + 1
		case c != ';' && c != ':' && (c < '0' || c > '9'):
			return 0
		}
	}
	return 0
}
