package replay

import (
	"regexp"
	"time"
)

// timeline maps the times of a recording to those of its replay.
type timeline struct {
	recordedFrom, recordedTo time.Time // of the recording
	replayStart              time.Time // of the replay
	speed                    float64
	// shiftNameTimes also moves the times in names, such as those that a schedule gives to its backups.
	shiftNameTimes bool
}

// replayTime returns the time in the replay for a time in the recording. Within the recording, time runs speed times
// as fast; before and after it, at normal speed, so that an expiration in 30 days remains one.
func (l timeline) replayTime(t time.Time) time.Time {
	switch {
	case t.Before(l.recordedFrom):
		return l.replayStart.Add(t.Sub(l.recordedFrom))
	case t.After(l.recordedTo):
		return l.replayTime(l.recordedTo).Add(t.Sub(l.recordedTo))
	}
	return l.replayStart.Add(time.Duration(float64(t.Sub(l.recordedFrom)) / l.speed))
}

// nameTimePattern matches a time that Velero writes into a name (Schedule.TimestampedName).
var nameTimePattern = regexp.MustCompile(`\b20\d{12}\b`)

const nameTimeLayout = "20060102150405"

// remapText moves a text that is a time, and the times in a name. Like the API's times, they are in whole seconds: a
// time in a recording is up to a second before its event, and remains so in the replay.
func (l timeline) remapText(s string) string {
	if t, err := time.Parse(time.RFC3339, s); err == nil {
		return l.replayTime(t).UTC().Format(time.RFC3339)
	}
	if !l.shiftNameTimes {
		return s
	}
	return nameTimePattern.ReplaceAllStringFunc(s, func(digits string) string {
		t, err := time.Parse(nameTimeLayout, digits)
		if err != nil {
			return digits
		}
		return l.replayTime(t).UTC().Format(nameTimeLayout)
	})
}
