package sanitize

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	// MaxLine is how many runes [String], and [Lines] in each line, let
	// through.
	MaxLine = 4096
	// MaxText is how many runes [Lines] lets through in all.
	MaxText = 1 << 20

	// ellipsis ends a string that was cut; it counts as one of its runes.
	ellipsis = '…'
	// maxMarks is how many combining marks may follow each other. Living
	// scripts need three; more only paint over the neighbouring lines.
	maxMarks = 4
	// tabStop is what a tab becomes in a text of several lines.
	tabStop = "    "
)

// String returns s as one harmless line of at most [MaxLine] runes. Line
// breaks and tabs become a space. A clean string is returned as it is, without
// an allocation.
func String(s string) string { return Cut(s, MaxLine) }

// Cut is [String] with another limit, in runes. A string that is cut ends in an
// ellipsis, which is one of them. A limit below one gives the empty string.
func Cut(s string, limit int) string {
	if limit < 1 {
		return ""
	}
	if isClean(s) && (len(s) <= limit || utf8.RuneCountInString(s) <= limit) {
		return s
	}
	w := writer{limit: limit}
	w.line(s)
	return string(w.b)
}

// Lines returns s as harmless text that keeps its line feeds and is indented
// with spaces. Each line is cut at [MaxLine] runes and the whole at [MaxText].
func Lines(s string) string {
	w := writer{b: make([]byte, 0, len(s))}
	for left := MaxText; ; {
		line, rest, more := strings.Cut(s, "\n")
		line = strings.TrimSuffix(line, "\r")
		w.limit, w.count, w.marks = min(MaxLine, left), 0, 0
		if w.limit < 1 {
			return string(w.b)
		}
		w.line(strings.ReplaceAll(line, "\t", tabStop))
		left -= w.count + 1
		if !more || left < 1 {
			return string(w.b)
		}
		w.b = append(w.b, '\n')
		s = rest
	}
}

// isClean reports whether s can stay as it is, whatever its length.
func isClean(s string) bool {
	ascii := true
	for i := range len(s) {
		c := s[i]
		if c < 0x20 || c == 0x7f {
			return false
		}
		ascii = ascii && c < utf8.RuneSelf
	}
	if ascii {
		return true
	}
	marks := 0
	for i, r := range s {
		switch {
		case r == utf8.RuneError:
			if _, size := utf8.DecodeRuneInString(s[i:]); size == 1 {
				return false
			}
			marks = 0
		case harmful(r):
			return false
		case unicode.In(r, unicode.Mn, unicode.Me):
			if marks++; marks > maxMarks {
				return false
			}
		default:
			marks = 0
		}
	}
	return true
}

// harmful reports whether r is anything but a visible character, a space or a
// combining mark: controls (C0, DEL, C1), format characters (bidi controls,
// zero width, tags), line and paragraph separators, variation selectors and
// the code points that Unicode tells renderers to ignore.
func harmful(r rune) bool {
	if r < 0x20 || r >= 0x7f && r <= 0x9f {
		return true
	}
	if r < 0xad {
		return false
	}
	return unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp,
		unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point)
}

// writer builds one line after the other.
type writer struct {
	b []byte
	// limit is how many runes the line may have, count how many it has, and
	// marks how many combining marks it ends in.
	limit, count, marks int
	// last is where the line's last rune begins, for the ellipsis.
	last int
}

// line writes s up to the limit.
func (w *writer) line(s string) {
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		ok := true
		switch {
		case r == utf8.RuneError && size == 1:
			ok = w.escape("x", 2, rune(s[i]))
		case r == '\r' && strings.HasPrefix(s[i+1:], "\n"):
			// The line feed that follows becomes the space.
		case r == '\t' || r == '\n' || r == '\r':
			ok = w.rune(' ')
		case !harmful(r):
			ok = w.visible(r)
		case r <= 0x7f:
			ok = w.escape("x", 2, r)
		case r <= 0xffff:
			ok = w.escape("u", 4, r)
		default:
			ok = w.escape("U", 8, r)
		}
		if !ok {
			return
		}
		i += size
	}
}

// visible writes a rune that can be shown, unless too many marks precede it.
func (w *writer) visible(r rune) bool {
	if !unicode.In(r, unicode.Mn, unicode.Me) {
		return w.rune(r)
	}
	if w.marks == maxMarks {
		return true
	}
	marks := w.marks
	ok := w.rune(r)
	w.marks = marks + 1
	return ok
}

// escape writes r as a backslash, a letter and hexadecimal digits.
func (w *writer) escape(letter string, digits int, r rune) bool {
	for _, c := range fmt.Sprintf(`\%s%0*x`, letter, digits, r) {
		if !w.rune(c) {
			return false
		}
	}
	return true
}

// rune writes r, or puts an ellipsis in the place of the last one and returns
// false if there is no room.
func (w *writer) rune(r rune) bool {
	if w.count == w.limit {
		w.b = utf8.AppendRune(w.b[:w.last], ellipsis)
		return false
	}
	w.last = len(w.b)
	w.b = utf8.AppendRune(w.b, r)
	w.count++
	w.marks = 0
	return true
}
