package sanitize

import (
	"io"
	"strings"
	"sync"
	"unicode/utf8"
)

// Frame returns what a program draws with nothing in it but text, line feeds and colours (SGR):
// each other character that could steer a terminal becomes a question mark, so that rows keep
// their width. It is the last step before a screen.
func Frame(s string) string {
	var b strings.Builder
	done := 0 // what is before is in b
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
			b.WriteString(s[done:i])
			b.WriteByte('?')
			done = i + size
		}
		i += size
	}
	if done == 0 {
		return s
	}
	b.WriteString(s[done:])
	return b.String()
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

// Writer passes on harmless text. It stands before a terminal, a pipe or a
// file, so that nothing reaches it that was not cleaned where it came from.
//
// It may be used by several goroutines.
type Writer struct {
	next io.Writer
	mu   sync.Mutex
	// begun is the beginning of a character that the last write ended in.
	begun []byte
}

// NewWriter is a [Writer] that cleans as [Text] does. Each write is a text of
// its own, but for characters that were cut in two.
func NewWriter(next io.Writer) *Writer { return &Writer{next: next} }

// Write passes on p, cleaned. It returns len(p) or an error.
func (w *Writer) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	text := append(w.begun, p...)
	whole := wholeRunes(text)
	w.begun = append([]byte(nil), text[whole:]...)
	if whole == 0 {
		return len(p), nil
	}
	if _, err := io.WriteString(w.next, Text(string(text[:whole]))); err != nil {
		return 0, err
	}
	return len(p), nil
}

// wholeRunes is the length of text without a rune at its end that may go on.
func wholeRunes(text []byte) int {
	for back := 1; back < utf8.UTFMax && back <= len(text); back++ {
		if start := len(text) - back; utf8.RuneStart(text[start]) {
			if !utf8.FullRune(text[start:]) {
				return start
			}
			break
		}
	}
	return len(text)
}
