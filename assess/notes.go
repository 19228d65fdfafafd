package assess

import (
	"fmt"
	"slices"

	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/job"
)

// Note is a sentence about a thing that is no job, and how much it matters.
type Note struct {
	Text string
	Mood Mood
}

func noteTo(notes *[]Note) func(mood Mood, format string, args ...any) {
	return func(mood Mood, format string, args ...any) {
		*notes = append(*notes, Note{fmt.Sprintf(format, args...), mood})
	}
}

// Mood is how much a note matters.
type Mood int

// The moods.
const (
	Fine Mood = iota
	// Unusual is worth knowing and wants no action.
	Unusual
	// Alarming wants a person's attention.
	Alarming
)

// Alarmed reports whether a person's attention is wanted.
func Alarmed(notes []Note) bool {
	return slices.ContainsFunc(notes, func(n Note) bool { return n.Mood == Alarming })
}

// String is empty if the time left is unknown, and a range while it is rough.
func (t TimeLeft) String() string {
	switch {
	case !t.Known:
		return ""
	case t.Rough:
		return human.TimeLeftRange(t.Low, t.High)
	}
	return human.TimeLeft(t.Left)
}

// String is in the rate's own unit, empty if unknown: 34/s, 12.4M/s.
func (r Rate) String() string {
	switch {
	case !r.Known:
		return ""
	case r.Unit == job.UnitBytes:
		return human.BytesPerSecond(r.PerSecond)
	}
	return human.PerSecond(r.PerSecond)
}

// Amount is the progress of the stage in its unit, empty if unknown: 871/1402, 9.0/20.0G,
// 5/12 ops.
func (j Judged) Amount() string {
	done, total, unit, known := j.Progress()
	switch {
	case !known:
		return ""
	case unit == job.UnitBytes:
		return human.BytesOf(done, total)
	case unit == job.UnitOperations:
		return fmt.Sprintf("%d/%d ops", done, total)
	case unit == job.UnitVolumes:
		return fmt.Sprintf("%d/%d vols", done, total)
	}
	return fmt.Sprintf("%d/%d", done, total)
}
