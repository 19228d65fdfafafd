package view

import (
	"time"

	"github.com/veltui/veltui/internal/human"
)

// MomentAndAge formats a time in UTC with its age, for a text whose head names the zone: 2026-11-21 12:00:00 (2h ago).
// It is empty for an unknown time.
func MomentAndAge(at, now time.Time) string {
	if at.IsZero() {
		return ""
	}
	t := at.Truncate(time.Second)
	age := "now"
	switch since := now.Sub(t); {
	case since < -time.Second:
		age = human.Until(t, now)
	case since >= time.Second:
		age = human.Ago(t, now)
	}
	return t.UTC().Format(time.DateTime) + human.InParens(age)
}

// MomentWithAge formats a time with its age; it is empty if the time is unknown.
func MomentWithAge(t, now time.Time) string {
	if t.IsZero() {
		return ""
	}
	return human.Moment(t, now) + "  " + human.Ago(t, now)
}
