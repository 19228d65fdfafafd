package sanitize

import (
	"io"
	"sync"
	"unicode/utf8"
)

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
