package narrate

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/veltui/veltui/internal/human"
)

// A duration as package human writes it, such as 16s, 3m12s, 1h05m and 3d, and what parts it
// from others in a sentence.
var (
	duration = regexp.MustCompile(`^(?:(\d{1,18})d|(?:(\d{1,18})h)?(?:(\d{1,18})m)?(?:(\d{1,18})s)?)$`)
	word     = regexp.MustCompile(`[^ ,;:()]+`)
)

// aloud spells out the durations of a sentence of veltui's. Part of a longer word, such as a
// name, stays as it is.
func aloud(text string) string {
	return word.ReplaceAllStringFunc(text, func(word string) string {
		short := strings.TrimRight(word, ".")
		m := duration.FindStringSubmatch(short)
		if m == nil || short == "" {
			return word
		}
		var long []string
		for i, unit := range []string{"day", "hour", "minute", "second"} {
			if n, err := strconv.Atoi(m[i+1]); err == nil {
				long = append(long, human.Count(n, unit))
			}
		}
		return strings.Join(long, " ") + word[len(short):]
	})
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
