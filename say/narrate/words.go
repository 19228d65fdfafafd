package narrate

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/veltui/veltui/internal/human"
)

// duration finds durations as package human writes them: 16s, 3m12s, 1h05m, 3d.
var duration = regexp.MustCompile(`\b(?:(\d+)d|(?:(\d+)h)?(?:(\d+)m)?(?:(\d+)s)?)\b`)

// units are the groups of duration.
var units = [...]string{"day", "hour", "minute", "second"}

// aloud spells out durations and percentages of a sentence of veltui's. Part of a
// longer word, such as a name, stays as it is.
func aloud(text string) string {
	var b strings.Builder
	at := 0
	for _, m := range duration.FindAllStringSubmatchIndex(text, -1) {
		if m[0] == m[1] || !alone(text, m[0], m[1]) {
			continue
		}
		var words []string
		for i, unit := range units {
			if from, to := m[2+2*i], m[3+2*i]; from >= 0 {
				n, err := strconv.Atoi(text[from:to])
				if err != nil {
					return text
				}
				words = append(words, human.Count(n, unit))
			}
		}
		b.WriteString(text[at:m[0]])
		b.WriteString(strings.Join(words, " "))
		at = m[1]
	}
	b.WriteString(text[at:])
	return b.String()
}

// alone reports whether text[from:to] is a word of its own.
func alone(text string, from, to int) bool {
	const around = " ,;:()"
	before := from == 0 || strings.IndexByte(around, text[from-1]) >= 0
	rest := strings.TrimLeft(text[to:], ".")
	after := rest == "" || strings.IndexByte(around, rest[0]) >= 0 || rest != text[to:] && rest[0] == ' '
	return before && after
}

// lasts writes a duration in words.
func lasts(d time.Duration) string { return aloud(human.Duration(d)) }

// bytes writes a size with the name of its unit.
func bytes(n int64) string {
	short := human.Bytes(n)
	number, unit := short[:len(short)-1], short[len(short)-1:]
	if unit == "B" {
		return number + " bytes"
	}
	return number + " " + unit + "iB"
}

// sentence ends with a full stop.
func sentence(format string, args ...any) string {
	text := strings.TrimSpace(fmt.Sprintf(format, args...))
	if text == "" || strings.ContainsAny(text[len(text)-1:], ".?!") {
		return text
	}
	return text + "."
}
