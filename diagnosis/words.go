package diagnosis

import (
	"fmt"
	"strings"
	"time"
)

// span puts a duration into words of at most two units: 12s, 3m12s, 4h05m, 3d.
func span(d time.Duration) string {
	d = max(0, d).Round(time.Second)
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < 10*time.Minute && d%time.Minute != 0:
		return fmt.Sprintf("%dm%02ds", int(d.Minutes()), int(d.Seconds())%60)
	case d < time.Hour:
		return fmt.Sprintf("%dm", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh%02dm", int(d.Hours()), int(d.Minutes())%60)
	}
	return fmt.Sprintf("%dd", int(d.Hours())/24)
}

// clock is a time of day for a reader who knows the day, in the time zone of
// now, which is the reader's, as in the columns of a table; it is named because
// the sentence may be read elsewhere.
func clock(t, now time.Time) string {
	if t = t.In(now.Location()); t.Sub(now).Abs() < 12*time.Hour {
		return t.Format("15:04 MST")
	}
	return t.Format("Jan 2 15:04 MST")
}

func plural[N int | int64](n N, one string) string {
	if n == 1 {
		return fmt.Sprintf("%d %s", n, one)
	}
	return fmt.Sprintf("%d %ss", n, one)
}

// list names the first few of many.
func list(names []string, most int) string {
	if len(names) <= most {
		return join(names)
	}
	return strings.Join(names[:most], ", ") + fmt.Sprintf(" and %d more", len(names)-most)
}

func join(names []string) string {
	switch len(names) {
	case 0:
		return ""
	case 1:
		return names[0]
	}
	return strings.Join(names[:len(names)-1], ", ") + " and " + names[len(names)-1]
}

// cut shortens a text from outside to at most n runes.
func cut(s string, n int) string {
	runes := 0
	for i := range s {
		if runes == n-1 && len(s) > i {
			if rest := []rune(s[i:]); len(rest) > 1 {
				return s[:i] + "..."
			}
		}
		runes++
	}
	return s
}

func ordinal(n int) string {
	suffix := "th"
	switch {
	case n%100 >= 11 && n%100 <= 13:
	case n%10 == 1:
		suffix = "st"
	case n%10 == 2:
		suffix = "nd"
	case n%10 == 3:
		suffix = "rd"
	}
	return fmt.Sprintf("%d%s", n, suffix)
}

func perSecond(rate float64) string {
	if rate < 10 {
		return fmt.Sprintf("%.1f/s", rate)
	}
	return fmt.Sprintf("%.0f/s", rate)
}

func latest(times ...time.Time) time.Time {
	var newest time.Time
	for _, t := range times {
		if t.After(newest) {
			newest = t
		}
	}
	return newest
}
