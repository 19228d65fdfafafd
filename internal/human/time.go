package human

import (
	"fmt"
	"time"
)

// Duration writes d in at most two units, cut off so that a moment never looks further away than
// it is: 16s, 3m, 3m12s, 42m, 1h05m, 13h, 3d; 0s if negative.
func Duration(d time.Duration) string {
	s := int64(max(d, 0) / time.Second)
	switch {
	case s < 60:
		return fmt.Sprintf("%ds", s)
	case s < 600 && s%60 != 0:
		return fmt.Sprintf("%dm%02ds", s/60, s%60)
	case s < 3600:
		return fmt.Sprintf("%dm", s/60)
	case s < 48*3600 && s/60%60 != 0:
		return fmt.Sprintf("%dh%02dm", s/3600, s/60%60)
	case s < 48*3600:
		return fmt.Sprintf("%dh", s/3600)
	default:
		return fmt.Sprintf("%dd", s/86400)
	}
}

// TimeLeft writes an ETA, no finer than one is known: to the second in the last
// half minute, then to a twelfth or so of itself. It is never none.
func TimeLeft(left time.Duration) string {
	step := time.Second
	switch {
	case left >= 10*time.Minute:
		step = time.Minute
	case left >= 2*time.Minute:
		step = 10 * time.Second
	case left >= 30*time.Second:
		step = 5 * time.Second
	}
	return Duration(max(left.Round(step), time.Second))
}

// TimeLeftRange writes an ETA of which only bounds are known: "20 to 50s", "1 to
// 3m", "40m to 2h". It rounds them outward, so that they still hold the truth.
func TimeLeftRange(low, high time.Duration) string {
	high = max(high, time.Second)
	low = min(max(low, time.Second), high)
	unit, step, suffix := time.Hour, time.Hour, "h"
	switch {
	case high <= 90*time.Second:
		unit, step, suffix = time.Second, 10*time.Second, "s"
	case high <= 90*time.Minute:
		unit, step, suffix = time.Minute, time.Minute, "m"
	}
	top := (high + step - 1).Truncate(step)
	bottom := low.Truncate(step)
	switch {
	case low < step && step == 10*time.Second:
		return fmt.Sprintf("%d to %ds", low/time.Second, top/time.Second)
	case low < step: // in the next smaller unit, a sixth of the larger at a time
		return fmt.Sprintf("%s to %d%s", Duration(max(low.Truncate(step/6), time.Second)), top/unit, suffix)
	case bottom == top:
		return Duration(top)
	}
	return fmt.Sprintf("%d to %d%s", bottom/unit, top/unit, suffix)
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
