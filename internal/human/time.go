package human

import (
	"fmt"
	"time"
)

// Style is how durations are written.
type Style int

const (
	// Short is for tables and sentences: 3m12s.
	Short Style = iota
	// Spoken spells out the units, which screen readers otherwise read as letters: 3 minutes 12 seconds.
	Spoken
)

// Duration is [Style.Duration] in short.
func Duration(d time.Duration) string { return Short.Duration(d) }

// Duration writes d in at most two units, cut off so that a moment never looks further away than
// it is: 16s, 3m, 3m12s, 42m, 1h05m, 13h, 3d; 0s if negative.
func (style Style) Duration(d time.Duration) string {
	s := int64(max(d, 0) / time.Second)
	switch {
	case s < 60:
		return style.units(s, "second", 0, "")
	case s < 600:
		return style.units(s/60, "minute", s%60, "second")
	case s < 3600:
		return style.units(s/60, "minute", 0, "")
	case s < 48*3600:
		return style.units(s/3600, "hour", s/60%60, "minute")
	}
	return style.units(s/86400, "day", 0, "")
}

func (style Style) units(n int64, unit string, rest int64, smaller string) string {
	switch {
	case style == Spoken && rest > 0:
		return Count(n, unit) + " " + Count(rest, smaller)
	case style == Spoken:
		return Count(n, unit)
	case rest > 0:
		return fmt.Sprintf("%d%c%02d%c", n, unit[0], rest, smaller[0])
	}
	return fmt.Sprintf("%d%c", n, unit[0])
}

// TimeLeft writes an ETA, no finer than one is known: to the second in the last
// half minute, then to a twelfth or so of itself. It is never none.
func (style Style) TimeLeft(left time.Duration) string {
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

// TimeLeftRange writes an ETA of which only bounds are known: "20 to 50s", "1 to
// 3m", "40m to 2h". It rounds them outward, so that they still hold the truth.
func (style Style) TimeLeftRange(low, high time.Duration) string {
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
		return fmt.Sprintf("%d to %s", low/unit, style.units(int64(top/unit), name, 0, ""))
	case low < step: // in the next smaller unit, a sixth of the larger at a time
		return style.Duration(
			max(low.Truncate(step/6), time.Second),
		) + " to " + style.units(
			int64(top/unit),
			name,
			0,
			"",
		)
	case bottom == top:
		return style.Duration(top)
	}
	return fmt.Sprintf("%d to %s", bottom/unit, style.units(int64(top/unit), name, 0, ""))
}

// Age is how long ago t was, and empty if t is not known.
func Age(t, now time.Time) string {
	if t.IsZero() {
		return ""
	}
	return Duration(now.Sub(t))
}

// Ago is Age in a sentence: "3m12s ago", and empty if t is not known.
func Ago(t, now time.Time) string {
	if t.IsZero() {
		return ""
	}
	return Duration(now.Sub(t)) + " ago"
}

// In is the time until a moment to come: "in 3m12s", and empty if t is not known.
func In(t, now time.Time) string {
	if t.IsZero() {
		return ""
	}
	return "in " + Duration(t.Sub(now))
}

// Moment is the clock, and how long ago or in how long that is; empty if t is not known.
func Moment(t, now time.Time) string {
	switch {
	case t.IsZero():
		return ""
	case t.After(now):
		return Clock(t, now) + ", " + In(t, now)
	}
	return Clock(t, now) + ", " + Ago(t, now)
}

const farAway = 300 * 24 * time.Hour // a moment then needs its year

// Clock writes a moment in now's time zone: the time on now's own day, the date on others, and
// the year where it is far away. It is empty if t is not known.
func Clock(t, now time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.In(now.Location()).Format(day(t, now) + "15:04")
}

// Day is Clock where there is only room for six cells: 15:04, Nov 21, 2025-11.
func Day(t, now time.Time) string {
	if t.IsZero() {
		return ""
	}
	short := map[string]string{"": "15:04", sameYear: "Jan 02", otherYear: "2006-01"}
	return t.In(now.Location()).Format(short[day(t, now)])
}

// The layouts of a date before a time of day.
const (
	sameYear  = "Jan 2 "
	otherYear = "2006-01-02 "
)

func day(t, now time.Time) string {
	t = t.In(now.Location())
	switch {
	case t.Year() == now.Year() && t.YearDay() == now.YearDay():
		return ""
	case t.Sub(now).Abs() < farAway:
		return sameYear
	}
	return otherYear
}
