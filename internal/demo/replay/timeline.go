package replay

import (
	"regexp"
	"time"
)

// timeline maps the times of a recording to those of its replay.
type timeline struct {
	from, to time.Time // of the recording
	began    time.Time // of the replay
	speed    float64
	// names: times in names move as well, such as those that a schedule gives
	// to its backups.
	names bool
}

// at is when a recorded moment comes in the replay. Within the recording time
// runs speed times as fast; before and after it as ever, so that an expiration
// in 30 days stays one.
func (l timeline) at(t time.Time) time.Time {
	switch {
	case t.Before(l.from):
		return l.began.Add(t.Sub(l.from))
	case t.After(l.to):
		return l.at(l.to).Add(t.Sub(l.to))
	}
	return l.began.Add(time.Duration(float64(t.Sub(l.from)) / l.speed))
}

// nameTime is how Velero writes a time into a name (Schedule.TimestampedName).
var nameTime = regexp.MustCompile(`\b20\d{12}\b`)

const nameLayout = "20060102150405"

// text moves a text that is a time, and the times in a name. Times are whole
// seconds, as the API's are: one that a recording holds lies up to a second
// before the event that brought it, and so it does in the replay.
func (l timeline) text(s string) string {
	if t, err := time.Parse(time.RFC3339, s); err == nil {
		return l.at(t).UTC().Format(time.RFC3339)
	}
	if !l.names {
		return s
	}
	return nameTime.ReplaceAllStringFunc(s, func(digits string) string {
		t, err := time.Parse(nameLayout, digits)
		if err != nil {
			return digits
		}
		return l.at(t).UTC().Format(nameLayout)
	})
}
