package view

import (
	"time"

	"github.com/veltui/veltui/internal/human"
)

// MomentWithAge formats a time with its age; it is empty if the time is unknown.
func MomentWithAge(t, now time.Time) string {
	if t.IsZero() {
		return ""
	}
	return human.Moment(t, now) + "  " + human.Ago(t, now)
}
