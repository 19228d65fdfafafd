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

// Bytes formats a size in binary units, in short form: 512B, 12.4G.
func Bytes(n int64) string {
	unit := unitExponent(n)
	return formatInUnit(n, unit) + byteUnits[unit]
}

// BytesProgress formats a part of a whole in the whole's unit: 12.4/30.1G. 0 means unknown; the text is empty if both
// are.
func BytesProgress(done, total int64) string {
	switch {
	case total <= 0 && done <= 0:
		return ""
	case total <= 0:
		return Bytes(done)
	}
	unit := unitExponent(total)
	return formatInUnit(done, unit) + "/" + formatInUnit(total, unit) + byteUnits[unit]
}

var byteUnits = [...]string{"B", "K", "M", "G", "T", "P", "E"}

// unitExponent returns the exponent of 1024 whose unit suits n best.
func unitExponent(n int64) int {
	unit := 0
	for f := float64(n); f >= 1000 && unit < len(byteUnits)-1; f /= 1024 {
		unit++
	}
	return unit
}

func formatInUnit(n int64, unit int) string {
	f := float64(n) / math.Pow(1024, float64(unit))
	if unit == 0 || f >= 100 {
		return strconv.FormatFloat(f, 'f', 0, 64)
	}
	return strconv.FormatFloat(f, 'f', 1, 64)
}

// PerSecond formats a rate: 0.2/s, 34/s.
func PerSecond(rate float64) string {
	if rate < 10 {
		return strconv.FormatFloat(rate, 'f', 1, 64) + "/s"
	}
	return strconv.FormatFloat(rate, 'f', 0, 64) + "/s"
}

// BytesPerSecond formats a rate in bytes: 12.4M/s.
func BytesPerSecond(rate float64) string { return Bytes(int64(rate)) + "/s" }

// Percent formats a fraction from 0 to 1; only 1 itself is 100%.
func Percent(fraction float64) string {
	p := int(fraction*100 + 1e-9) // 0.29 is a little less than 0.29 in binary
	if fraction < 1 {
		p = min(p, 99)
	}
	return strconv.Itoa(max(p, 0)) + "%"
}

// Number formats an integer with separated thousands: 12,000.
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

// Count formats a number with its noun: 1 item, 3 items, 2 entries, 12,000 classes.
func Count[N int | int64](n N, noun string) string { return CountForms(n, noun, Pluralize(noun)) }

// CountForms is Count with a separate plural form: CountForms(n, "volume is", "volumes are").
func CountForms[N int | int64](n N, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return Number(n) + " " + many
}

// CountTimes formats a frequency: once, twice, 3 times.
func CountTimes(n int) string {
	switch n {
	case 1:
		return "once"
	case 2:
		return "twice"
	}
	return Number(n) + " times"
}

// AllOf formats a whole: the only item, all 3 items.
func AllOf(n int, noun string) string {
	if n == 1 {
		return "the only " + noun
	}
	return "all " + Count(n, noun)
}

// PartOf formats a part of a whole: 2 of 3 volumes, all 3 volumes, the only volume.
func PartOf(n, total int, noun string) string {
	if n == total {
		return AllOf(total, noun)
	}
	return Number(n) + " of " + Count(total, noun)
}

// Pluralize returns the plural of a noun.
func Pluralize(noun string) string {
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

// JoinNames lists up to most names, or one more if that is all: "a", "a and b", "a, b and 7 more", but never "and 1
// more".
func JoinNames(names []string, most int) string {
	if len(names) > most+1 {
		return strings.Join(names[:most], ", ") + AndMore(len(names)-most)
	}
	switch len(names) {
	case 0:
		return ""
	case 1:
		return names[0]
	}
	return strings.Join(names[:len(names)-1], ", ") + " and " + names[len(names)-1]
}

// More counts what a list leaves out: 3 more.
func More(left int) string { return Number(left) + " more" }

// AndMore is [More] to follow the list: " and 3 more", empty if nothing is left out.
func AndMore(left int) string {
	if left <= 0 {
		return ""
	}
	return " and " + More(left)
}

// TopCounts lists the most names with the highest counts: "a 5, b 3, +2 more"; all names if most is negative. Equal
// counts are ordered by name.
func TopCounts(counts map[string]int, most int) string { return joinCounts(rankCounts(counts), most) }

// ShorterTopCounts returns [TopCounts] of most names, or of all but one, then of ever fewer, down to one.
func ShorterTopCounts(counts map[string]int, most int) (lists []string) {
	ranked := rankCounts(counts)
	for n := min(most, len(ranked)-1); n > 0; n-- {
		lists = append(lists, joinCounts(ranked, n))
	}
	return lists
}

// rankCounts returns each name with its count, the highest count first.
func rankCounts(counts map[string]int) []string {
	names := slices.SortedFunc(maps.Keys(counts), func(a, b string) int {
		return cmp.Or(counts[b]-counts[a], strings.Compare(a, b))
	})
	for i, name := range names {
		names[i] = name + " " + Number(counts[name])
	}
	return names
}

// joinCounts lists the first most of the ranked names; all if most is negative.
func joinCounts(ranked []string, most int) string {
	left := len(ranked) - most
	if most < 0 || left <= 0 {
		return strings.Join(ranked, ", ")
	}
	return strings.Join(append(slices.Clone(ranked[:most]), "+"+More(left)), ", ")
}

// EndSentence adds a full stop to a text unless it ends as a sentence already.
func EndSentence(text string) string {
	if text == "" || strings.ContainsAny(text[len(text)-1:], ".?!") {
		return text
	}
	return text + "."
}

// Shorten truncates s to at most most runes, the last three of which are dots.
func Shorten(s string, most int) string {
	runes := []rune(s)
	if len(runes) <= most {
		return s
	}
	return string(runes[:max(most-3, 0)]) + "..."[:min(3, max(most, 0))]
}

// CompareNames compares names in natural order: backup-2 before backup-10. It is 0 only for equal names.
func CompareNames(a, b string) int {
	x, y := a, b
	for x != "" && y != "" {
		m, n := leadingDigits(x), leadingDigits(y)
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

// leadingDigits returns the number of digits at the start of a text.
func leadingDigits(s string) int { return len(s) - len(strings.TrimLeft(s, "0123456789")) }

// Prefixed returns a text after a lead such as ": ", empty if there is no text.
func Prefixed(lead, text string) string {
	if text == "" {
		return ""
	}
	return lead + text
}

// Namespaced formats an object as NAMESPACE/NAME, or as its name alone if it has no namespace.
func Namespaced(namespace, name string) string {
	if namespace == "" {
		return name
	}
	return namespace + "/" + name
}

// InParens returns a text in parentheses after a space, empty if there is no text.
func InParens(text string) string {
	if text == "" {
		return ""
	}
	return " (" + text + ")"
}

// Capitalize returns a text with its first letter in upper case.
func Capitalize(text string) string {
	if text == "" {
		return ""
	}
	_, size := utf8.DecodeRuneInString(text)
	return strings.ToUpper(text[:size]) + text[size:]
}
