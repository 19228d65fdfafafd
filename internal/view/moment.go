package view

import (
	"time"

	"github.com/veltui/veltui/internal/human"
)

// FormatMoment formats a time with its date, in the time zone of now.
func FormatMoment(t, now time.Time) string {
	return t.In(now.Location()).Format("2006-01-02 15:04:05 MST")
}

// MomentWithAge formats a time with its age; it is empty if the time is unknown.
func MomentWithAge(t, now time.Time) string {
	if t.IsZero() {
		return ""
	}
	return FormatMoment(t, now) + "  " + human.Ago(t, now)
}
