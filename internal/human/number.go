package human

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Bytes writes bytes in binary units, as short as they can be read: 512B, 12.4G.
func Bytes(n int64) string {
	unit := unitOf(n)
	return inUnit(n, unit) + byteUnits[unit]
}

// BytesOf writes a part of a whole in the whole's unit: 12.4/30.1G. 0 is unknown, and empty if both are.
func BytesOf(done, total int64) string {
	switch {
	case total <= 0 && done <= 0:
		return ""
	case total <= 0:
		return Bytes(done)
	}
	unit := unitOf(total)
	return inUnit(done, unit) + "/" + inUnit(total, unit) + byteUnits[unit]
}

var byteUnits = [...]string{"B", "K", "M", "G", "T", "P", "E"}

// unitOf is the exponent of 1024 in which n is best read.
func unitOf(n int64) int {
	unit := 0
	for f := float64(n); f >= 1000 && unit < len(byteUnits)-1; f /= 1024 {
		unit++
	}
	return unit
}

func inUnit(n int64, unit int) string {
	f := float64(n) / math.Pow(1024, float64(unit))
	if unit == 0 || f >= 100 {
		return strconv.FormatFloat(f, 'f', 0, 64)
	}
	return strconv.FormatFloat(f, 'f', 1, 64)
}

// PerSecond writes a speed: 0.2/s, 34/s.
func PerSecond(rate float64) string {
	if rate < 10 {
		return strconv.FormatFloat(rate, 'f', 1, 64) + "/s"
	}
	return strconv.FormatFloat(rate, 'f', 0, 64) + "/s"
}

// BytesPerSecond writes a speed in bytes: 12.4M/s.
func BytesPerSecond(rate float64) string { return Bytes(int64(rate)) + "/s" }

// Percent writes a fraction from 0 to 1; only 1 itself is 100%.
func Percent(fraction float64) string {
	p := int(fraction*100 + 1e-9) // 0.29 is a little less in binary
	if fraction < 1 {
		p = min(p, 99)
	}
	return strconv.Itoa(max(p, 0)) + "%"
}

// Number writes a whole number with its thousands apart, as 12,000.
func Number[N int | int64](n N) string {
	s := strconv.FormatInt(int64(n), 10)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

func Ordinal(n int) string {
	suffix := "th"
	if n%100 < 11 || n%100 > 13 {
		switch n % 10 {
		case 1:
			suffix = "st"
		case 2:
			suffix = "nd"
		case 3:
			suffix = "rd"
		}
	}
	return strconv.Itoa(n) + suffix
}

// Count writes a number with its noun: 1 item, 3 items, 2 entries, 12,000 classes.
func Count[N int | int64](n N, noun string) string { return Plural(n, noun, Nouns(noun)) }

// Plural is Count for a form of its own for many: Plural(n, "volume is", "volumes are").
func Plural[N int | int64](n N, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return Number(n) + " " + many
}

// Times says how often: once, twice, 3 times.
func Times(n int) string {
	switch n {
	case 1:
		return "once"
	case 2:
		return "twice"
	}
	return Number(n) + " times"
}

// All is everything there is of something: the only item, all 3 items.
func All(n int, noun string) string {
	if n == 1 {
		return "the only " + noun
	}
	return "all " + Count(n, noun)
}

// OfAll is a part of a whole: 2 of 3 volumes, all 3 volumes, the only volume.
func OfAll(n, total int, noun string) string {
	if n == total {
		return All(total, noun)
	}
	return Number(n) + " of " + Count(total, noun)
}

// Nouns is the plural of a noun.
func Nouns(noun string) string {
	switch {
	case strings.HasSuffix(noun, "y") && !strings.ContainsAny(noun[max(len(noun)-2, 0):len(noun)-1], "aeiou"):
		return noun[:len(noun)-1] + "ies"
	case strings.HasSuffix(noun, "s"),
		strings.HasSuffix(noun, "x"),
		strings.HasSuffix(noun, "ch"),
		strings.HasSuffix(noun, "sh"):
		return noun + "es"
	}
	return noun + "s"
}

// List names the first few of many: "a", "a and b", "a, b and 7 more"; never "and 1 more", where the name would fit.
func List(names []string, most int) string {
	if len(names) > most+1 {
		return strings.Join(names[:most], ", ") + " and " + Number(len(names)-most) + " more"
	}
	switch len(names) {
	case 0:
		return ""
	case 1:
		return names[0]
	}
	return strings.Join(names[:len(names)-1], ", ") + " and " + names[len(names)-1]
}

// Largest names what has most, with its count, as "a 5, b 3, +2 more"; all of it
// if most is negative. What has the same count is in the order of its name.
func Largest(counts map[string]int, most int) string {
	names := slices.SortedFunc(maps.Keys(counts), func(a, b string) int {
		return cmp.Or(counts[b]-counts[a], strings.Compare(a, b))
	})
	if most < 0 {
		most = len(names)
	}
	words := make([]string, 0, len(names))
	for _, name := range names[:min(most, len(names))] {
		words = append(words, name+" "+Number(counts[name]))
	}
	if left := len(names) - most; left > 0 {
		words = append(words, "+"+Number(left)+" more")
	}
	return strings.Join(words, ", ")
}

// Stop ends a text with a full stop, if it does not end as a sentence already.
func Stop(text string) string {
	if text == "" || strings.ContainsAny(text[len(text)-1:], ".?!") {
		return text
	}
	return text + "."
}

// Shorten cuts s to at most most runes, the last three of them dots.
func Shorten(s string, most int) string {
	runes := []rune(s)
	if len(runes) <= most {
		return s
	}
	return string(runes[:max(most-3, 0)]) + "..."[:min(3, max(most, 0))]
}

// CompareNames orders names as people count: backup-2 before backup-10. It is 0 only for equal names.
func CompareNames(a, b string) int {
	x, y := a, b
	for x != "" && y != "" {
		m, n := digits(x), digits(y)
		if m == 0 || n == 0 {
			if x[0] != y[0] {
				return cmp.Compare(x[0], y[0])
			}
			x, y = x[1:], y[1:]
			continue
		}
		p, q := strings.TrimLeft(x[:m], "0"), strings.TrimLeft(y[:n], "0")
		if order := cmp.Or(cmp.Compare(len(p), len(q)), cmp.Compare(p, q)); order != 0 {
			return order
		}
		x, y = x[m:], y[n:]
	}
	return cmp.Or(cmp.Compare(len(x), len(y)), cmp.Compare(a, b))
}

// digits is how many digits a text begins with.
func digits(s string) int { return len(s) - len(strings.TrimLeft(s, "0123456789")) }

// Clause is a text behind a lead such as ": ", and nothing if there is no text.
func Clause(lead, text string) string {
	if text == "" {
		return ""
	}
	return lead + text
}

// Namespaced is an object as NAMESPACE/NAME, and its name alone if it has no namespace.
func Namespaced(namespace, name string) string {
	if namespace == "" {
		return name
	}
	return namespace + "/" + name
}

// Parens is a text in parentheses behind a space, and nothing if there is no text.
func Parens(text string) string {
	if text == "" {
		return ""
	}
	return " (" + text + ")"
}

// Capital begins a text with a capital letter of ASCII.
func Capital(text string) string {
	if text == "" {
		return ""
	}
	_, size := utf8.DecodeRuneInString(text)
	return strings.ToUpper(text[:size]) + text[size:]
}
