package human

import (
	"fmt"
	"time"
)

// DurationStyle is a way to format durations.
type DurationStyle int

const (
	// ShortStyle is for tables and sentences: 3m12s.
	ShortStyle DurationStyle = iota
	// SpokenStyle spells out the units, which screen readers otherwise read as letters: 3 minutes 12 seconds.
	SpokenStyle
)

// Duration is [DurationStyle.Duration] in the Short style.
func Duration(d time.Duration) string { return ShortStyle.Duration(d) }

// Duration formats d in at most two units, truncated so that a time never looks further away than it is: 16s, 3m,
// 3m12s, 42m, 1h05m, 13h, 3d; 0s if negative.
func (style DurationStyle) Duration(d time.Duration) string {
	s := int64(max(d, 0) / time.Second)
	switch {
	case s < 60:
		return style.formatUnits(s, "second", 0, "")
	case s < 600:
		return style.formatUnits(s/60, "minute", s%60, "second")
	case s < 3600:
		return style.formatUnits(s/60, "minute", 0, "")
	case s < 48*3600:
		return style.formatUnits(s/3600, "hour", s/60%60, "minute")
	}
	return style.formatUnits(s/86400, "day", 0, "")
}

func (style DurationStyle) formatUnits(n int64, unit string, rest int64, smaller string) string {
	switch {
	case style == SpokenStyle && rest > 0:
		return Count(n, unit) + " " + Count(rest, smaller)
	case style == SpokenStyle:
		return Count(n, unit)
	case rest > 0:
		return fmt.Sprintf("%d%c%02d%c", n, unit[0], rest, smaller[0])
	}
	return fmt.Sprintf("%d%c", n, unit[0])
}

// TimeLeft formats an ETA no more precisely than it is known: to the second in the last half minute, else to about a
// twelfth of the time left. It is never zero.
func (style DurationStyle) TimeLeft(left time.Duration) string {
	step := time.Second
	switch {
	case left >= 10*time.Minute:
		step = time.Minute
	case left >= 2*time.Minute:
		step = 10 * time.Second
	case left >= 30*time.Second:
		step = 5 * time.Second
	}
	return style.Duration(max(left.Round(step), time.Second))
}

// TimeLeftRange formats the bounds of an ETA: "20 to 50s", "1 to 3m", "40m to 2h". It rounds them outwards, so that
// they remain true.
func (style DurationStyle) TimeLeftRange(low, high time.Duration) string {
	high = max(high, time.Second)
	low = min(max(low, time.Second), high)
	unit, step, name := time.Hour, time.Hour, "hour"
	switch {
	case high <= 90*time.Second:
		unit, step, name = time.Second, 10*time.Second, "second"
	case high <= 90*time.Minute:
		unit, step, name = time.Minute, time.Minute, "minute"
	}
	top := (high + step - 1).Truncate(step)
	bottom := low.Truncate(step)
	switch {
	case low < step && step == 10*time.Second:
		return fmt.Sprintf("%d to %s", low/unit, style.formatUnits(int64(top/unit), name, 0, ""))
	case low < step: // in the next smaller unit, in steps of a sixth of the larger
		return style.Duration(
			max(low.Truncate(step/6), time.Second),
		) + " to " + style.formatUnits(
			int64(top/unit),
			name,
			0,
			"",
		)
	case bottom == top:
		return style.Duration(top)
	}
	return fmt.Sprintf("%d to %s", bottom/unit, style.formatUnits(int64(top/unit), name, 0, ""))
}

// Age formats the time since t, empty if t is unknown.
func Age(t, now time.Time) string {
	if t.IsZero() {
		return ""
	}
	return Duration(now.Sub(t))
}

// Ago formats the time since t for a sentence: "3m12s ago", empty if t is unknown.
func Ago(t, now time.Time) string {
	if t.IsZero() {
		return ""
	}
	return Duration(now.Sub(t)) + " ago"
}

// Until formats the time until t: "in 3m12s", empty if t is unknown.
func Until(t, now time.Time) string {
	if t.IsZero() {
		return ""
	}
	return "in " + Duration(t.Sub(now))
}

// ClockWithAge formats t as ClockTime with the time since or until t; empty if t is unknown.
func ClockWithAge(t, now time.Time) string {
	switch {
	case t.IsZero():
		return ""
	case t.After(now):
		return ClockTime(t, now) + ", " + Until(t, now)
	}
	return ClockTime(t, now) + ", " + Ago(t, now)
}

const yearShownAfter = 300 * 24 * time.Hour // beyond it, a date needs its year

// ClockTime formats t in now's time zone: the time alone on now's day, with the date on other days, and with the year
// if it is far away. It is empty if t is unknown.
func ClockTime(t, now time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.In(now.Location()).Format(dateLayout(t, now) + "15:04")
}

// Moment formats t with its date and zone, in now's time zone: 2026-11-21 15:04:05 CET.
func Moment(t, now time.Time) string { return t.In(now.Location()).Format("2006-01-02 15:04:05 MST") }

// MomentUTC is [Moment] in UTC, for a text that is read in several time zones.
func MomentUTC(t time.Time) string { return Moment(t, t.UTC()) }

// ClockUTC formats the time of day in UTC, for such a text: 15:04 UTC.
func ClockUTC(t time.Time) string { return t.UTC().Format("15:04 MST") }

// TimeOfDay formats the time of day with its zone, in now's time zone: 15:04:05 CET.
func TimeOfDay(t, now time.Time) string { return t.In(now.Location()).Format("15:04:05 MST") }

// CompactClock formats a past time within seven cells: 15:04 within a day, else Nov 21 or 2025-11.
func CompactClock(t, now time.Time) string {
	switch age := now.Sub(t); {
	case t.IsZero():
		return ""
	case age >= 0 && age < 24*time.Hour:
		return t.In(now.Location()).Format("15:04")
	}
	short := map[string]string{"": "15:04", sameYearLayout: "Jan 02", otherYearLayout: "2006-01"}
	return t.In(now.Location()).Format(short[dateLayout(t, now)])
}

// These are the layouts of a date before a time of day.
const (
	sameYearLayout  = "Jan 2 "
	otherYearLayout = "2006-01-02 "
)

func dateLayout(t, now time.Time) string {
	t = t.In(now.Location())
	switch {
	case t.Year() == now.Year() && t.YearDay() == now.YearDay():
		return ""
	case t.Sub(now).Abs() < yearShownAfter:
		return sameYearLayout
	}
	return otherYearLayout
}
