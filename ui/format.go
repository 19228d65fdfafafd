package ui

import (
	"fmt"
	"strconv"
	"time"

	"github.com/veltui/veltui/job"
)

// Duration writes d as short as it can be read: 16s, 3m12s, 42m, 1h04m, 13h, 3d.
func Duration(d time.Duration) string {
	d = max(d, 0)
	s := int64(d / time.Second)
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%ds", s)
	case d < 10*time.Minute:
		return fmt.Sprintf("%dm%02ds", s/60, s%60)
	case d < time.Hour:
		return fmt.Sprintf("%dm", s/60)
	case d < 10*time.Hour:
		return fmt.Sprintf("%dh%02dm", s/3600, s/60%60)
	case d < 48*time.Hour:
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

// since is the age of t, or nothing if t is not known.
func since(now, t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return Duration(now.Sub(t))
}

// clock writes a moment as the reader would say it: the time for the last day,
// the date before.
func clock(now, t time.Time) string {
	switch {
	case t.IsZero():
		return ""
	case now.Sub(t) < 20*time.Hour:
		return t.In(now.Location()).Format("15:04")
	case now.Sub(t) < 300*24*time.Hour:
		return t.In(now.Location()).Format("Jan 02")
	default:
		return t.In(now.Location()).Format("2006-01")
	}
}

// size and sizes write bytes as sentences about jobs do: 12.4G, 12.4/30.1G.
func size(n int64) string            { return job.Size(n) }
func sizes(done, total int64) string { return job.Sizes(done, total) }

// Amount writes progress in its own unit.
func Amount(done, total int64, unit job.Unit) string {
	switch unit {
	case job.UnitBytes:
		return sizes(done, total)
	case job.UnitOperations:
		return fmt.Sprintf("%d/%d ops", done, total)
	case job.UnitVolumes:
		return fmt.Sprintf("%d/%d vols", done, total)
	default:
		return fmt.Sprintf("%d/%d", done, total)
	}
}

// Rate writes a speed in its own unit.
func Rate(perSecond float64, unit job.Unit) string {
	switch {
	case unit == job.UnitBytes:
		return size(int64(perSecond)) + "/s"
	case perSecond >= 10:
		return fmt.Sprintf("%.0f/s", perSecond)
	default:
		return fmt.Sprintf("%.1f/s", perSecond)
	}
}

// Percent writes a fraction; only 1 itself is 100%.
func Percent(fraction float64) string {
	p := int(fraction * 100)
	if fraction < 1 {
		p = min(p, 99)
	}
	return strconv.Itoa(max(p, 0)) + "%"
}

// count writes a number with its noun, in the plural where it needs to be.
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return strconv.Itoa(n) + " " + noun + "s"
}

// ordinal writes 1st, 2nd, 3rd, 4th.
func ordinal(n int) string {
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
