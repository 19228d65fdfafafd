package sanitize

import (
	"fmt"
	"math"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
)

const (
	// MaxLineRunes is the maximum number of runes that [String] returns.
	MaxLineRunes = 4096

	// ellipsis ends a truncated string; it counts as one of its runes.
	ellipsis = '…'
	// maxMarks is how many combining marks may follow a character. Living scripts need three.
	maxMarks = 4
)

// String returns s as one harmless line of at most [MaxLineRunes] runes, without line breaks and tabs.
// A clean string is returned without an allocation.
func String(s string) string { return Truncate(s, MaxLineRunes) }

// Error returns err with its text as one harmless line; it unwraps to err. nil stays nil.
func Error(err error) error {
	if err == nil {
		return nil
	}
	return RewordError(String(err.Error()), err)
}

// RewordError returns an error with the given text, which must be harmless, that unwraps to err.
func RewordError(text string, err error) error { return rewordedError{text, err} }

type rewordedError struct {
	text  string
	cause error
}

func (e rewordedError) Error() string { return e.text }
func (e rewordedError) Unwrap() error { return e.cause }

// FullLine is [String] without a limit, for text that is useless when truncated, such as a command.
func FullLine(s string) string { return Truncate(s, math.MaxInt) }

// Truncate is [String] with another limit, in runes, including the ellipsis. A limit below 1 gives the empty string.
func Truncate(s string, limit int) string { return cleanText(s, limit, "") }

const layoutChars = "\n\t" // the layout of a text of several lines

// Text returns s as harmless text of any length, with its line feeds and tabs, without carriage returns before them.
func Text(s string) string { return cleanText(s, math.MaxInt, layoutChars) }

func cleanText(s string, limit int, keep string) string {
	switch {
	case limit < 1:
		return ""
	case isClean(s, keep) && (len(s) <= limit || utf8.RuneCountInString(s) <= limit):
		return s
	}
	w := cleaner{limit: limit, keep: keep}
	w.writeText(s)
	return string(w.b)
}

// isClean reports whether s needs no escapes. Characters of keep are clean.
func isClean(s, keep string) bool {
	ascii := true
	for i := range len(s) {
		c := s[i]
		if (c < 0x20 || c == 0x7f) && strings.IndexByte(keep, c) < 0 {
			return false
		}
		ascii = ascii && c < utf8.RuneSelf
	}
	if ascii {
		return true
	}
	for len(s) > 0 {
		cluster := firstCluster(s)
		if !isCleanCluster(cluster, keep) {
			return false
		}
		s = s[len(cluster):]
	}
	return true
}

// firstCluster returns the first grapheme cluster of s (UAX #29), at least one byte.
func firstCluster(s string) string {
	if s[0] < utf8.RuneSelf && (len(s) == 1 || s[1] < utf8.RuneSelf) {
		return s[:1]
	}
	cluster, _ := ansi.FirstGraphemeCluster(s, ansi.GraphemeWidth)
	return s[:max(len(cluster), 1)]
}

func isCleanCluster(cluster, keep string) bool {
	before := 0
	for i, r := range cluster {
		if !isEncoded(r, cluster[i:]) || !canJoinCluster(before, r) && !(before == 0 && strings.ContainsRune(keep, r)) {
			return false
		}
		before++
	}
	return true
}

// isEncoded reports whether r, the first rune of s, is encoded there as valid UTF-8.
func isEncoded(r rune, s string) bool {
	return r != utf8.RuneError || strings.HasPrefix(s, string(utf8.RuneError))
}

// canJoinCluster reports whether r may follow before runes of a cluster: the first is a character, the others are marks
// without a cell of their own. Other joining runes (spacing marks, the second half of a conjunct) have no width for a
// program that measures clusters, but some for a terminal that adds up runes.
func canJoinCluster(before int, r rune) bool {
	switch {
	case isHarmful(r):
		return false
	case before == 0:
		return !unicode.Is(unicode.M, r)
	}
	return before <= maxMarks && unicode.In(r, unicode.Mn, unicode.Me)
}

// isHarmful reports whether r is not a visible character, a space or a mark: controls (C0, DEL, C1), format
// characters (bidi controls, zero width, tags), line and paragraph separators, variation selectors,
// ignorable, private and unassigned code points, and those on whose width terminals disagree.
func isHarmful(r rune) bool {
	if r < 0x20 || r >= 0x7f && r <= 0x9f {
		return true
	}
	switch {
	case r < 0xad,
		r > 0xad && r < 0x300,
		r >= 0x2500 && r < 0x2600,
		r >= 0x4e00 && r <= 0x9fff,
		r >= 0xac00 && r <= 0xd7a3:
		return false // most characters in use
	}
	return !unicode.IsGraphic(r) || unicode.In(r, unicode.Variation_Selector,
		unicode.Other_Default_Ignorable_Code_Point, unicode.Regional_Indicator, joiners, disputedWidth)
}

type cleaner struct {
	b             []byte
	keep          string // characters to keep that would not be clean otherwise
	limit, count  int    // in runes
	lastRuneStart int    // the start of the text's last rune, for the ellipsis
}

func (w *cleaner) writeText(s string) {
	for len(s) > 0 {
		cluster := firstCluster(s)
		s = s[len(cluster):]
		if cluster == "\r\n" || cluster == "\r" && strings.HasPrefix(s, "\n") {
			cluster = "\n"
			s = strings.TrimPrefix(s, "\n")
		}
		if !w.writeCluster(cluster) {
			return
		}
	}
}

// writeCluster writes a character with its marks. Once a rune is escaped, all following ones are: they would join the
// escape.
func (w *cleaner) writeCluster(cluster string) bool {
	escaping := false
	before := 0
	for i, r := range cluster {
		ok := true
		switch {
		case before == 0 && strings.ContainsRune(w.keep, r):
			ok = w.writeRune(r)
		case r == '\t' || r == '\n' || r == '\r':
			ok = w.writeRune(' ')
		case !isEncoded(r, cluster[i:]):
			escaping = true
			ok = w.writeEscape(`\x%02x`, rune(cluster[i]))
		case !escaping && canJoinCluster(before, r):
			ok = w.writeRune(r)
		default:
			escaping = true
			ok = w.writeEscape(escapeFormat(r), r)
		}
		if !ok {
			return false
		}
		before++
	}
	return true
}

func escapeFormat(r rune) (format string) {
	switch {
	case r <= 0x7f:
		return `\x%02x`
	case r <= 0xffff:
		return `\u%04x`
	}
	return `\U%08x`
}

func (w *cleaner) writeEscape(format string, r rune) bool {
	for _, c := range fmt.Sprintf(format, r) {
		if !w.writeRune(c) {
			return false
		}
	}
	return true
}

// writeRune writes r, or replaces the last rune by an ellipsis if there is no room.
func (w *cleaner) writeRune(r rune) bool {
	if w.count == w.limit {
		w.b = utf8.AppendRune(w.b[:w.lastRuneStart], ellipsis)
		return false
	}
	w.lastRuneStart = len(w.b)
	w.b = utf8.AppendRune(w.b, r)
	w.count++
	return true
}

// joiners are characters, other than marks, that join their neighbours, even across two texts: terminals that add up
// runes give them cells. TestNothingJoins finds the ones that a newer Unicode adds.
var joiners = &unicode.RangeTable{
	R16: []unicode.Range16{
		{0x0d4e, 0x0d4e, 1},                      // Malayalam dot reph
		{0x0e33, 0x0e33, 1}, {0x0eb3, 0x0eb3, 1}, // Thai and Lao sara am
		{0x1100, 0x11ff, 1}, {0xa960, 0xa97f, 1}, {0xd7b0, 0xd7ff, 1}, // jamo
		{0xff9e, 0xff9f, 1}, // half-width voicing
	},
	R32: []unicode.Range32{
		{0x110bd, 0x110bd, 1}, {0x111c2, 0x111c3, 1}, {0x1193f, 0x1193f, 1}, {0x11941, 0x11941, 1},
		{0x11a3a, 0x11a3a, 1}, {0x11a84, 0x11a89, 1}, {0x11d46, 0x11d46, 1}, {0x11f02, 0x11f02, 1}, // prefixed letters
		{0x1f3fb, 0x1f3ff, 1}, // skin tones
	},
}

// disputedWidth are characters whose width depends on a terminal's Unicode version: measured with tmux
// 3.3a on glibc's tables (Unicode 14) against ours, each below U+20000 alone and threefold.
var disputedWidth = &unicode.RangeTable{
	R16: []unicode.Range16{
		{0x2630, 0x2637, 1}, {0x268a, 0x268f, 1}, // wide since Unicode 16
		{0x3248, 0x324f, 1}, // ambiguous
	},
	R32: []unicode.Range32{
		// Unicode 15
		{0x1123f, 0x11240, 1}, {0x11b00, 0x11b09, 1}, {0x11f04, 0x11f10, 1}, {0x11f12, 0x11f33, 1},
		{0x11f43, 0x11f59, 1}, {0x1342f, 0x1342f, 1}, {0x13441, 0x13446, 1}, {0x1b132, 0x1b132, 1},
		{0x1b155, 0x1b155, 1}, {0x1d2c0, 0x1d2d3, 1},
		{0x1d300, 0x1d356, 1}, {0x1d360, 0x1d376, 1}, // wide since Unicode 16
		// Unicode 15
		{0x1df25, 0x1df2a, 1}, {0x1e030, 0x1e06d, 1}, {0x1e4d0, 0x1e4eb, 1}, {0x1e4f0, 0x1e4f9, 1},
		{0x1f6dc, 0x1f6dc, 1}, {0x1f774, 0x1f776, 1}, {0x1f77b, 0x1f77f, 1}, {0x1f7d9, 0x1f7d9, 1},
		{0x1fa75, 0x1fa77, 1}, {0x1fa87, 0x1fa88, 1}, {0x1faad, 0x1faaf, 1}, {0x1fabb, 0x1fabd, 1},
		{0x1fabf, 0x1fabf, 1}, {0x1face, 0x1facf, 1}, {0x1fada, 0x1fadb, 1}, {0x1fae8, 0x1fae8, 1},
		{0x1faf7, 0x1faf8, 1}, {0x31350, 0x323af, 1},
	},
}
