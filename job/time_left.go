package job

import (
	"slices"
	"time"
)

// TimeLeft is what somebody who knows the mix of a restore says of it.
type TimeLeft struct {
	// Seen is when the items were counted that this is about.
	Seen time.Time
	// Left is what the other items take from then on.
	Left time.Duration
	// Known is false while that would be a guess.
	Known bool
}

// WithTimeLeft is a restore with a word about the time that its items take. It
// counts until the next items are seen: [Next] does not pass it on.
func (j *Job) WithTimeLeft(f TimeLeft) *Job {
	if j.Kind != Restore || j.Stage != StageItems {
		return j
	}
	k := *j
	k.foreseen = &f
	return &k
}

// timeLeft is what was said about the items seen last.
func (j *Job) timeLeft() (TimeLeft, bool) {
	last := j.track.samples.last()
	if j.foreseen == nil || j.Terminal() || j.Stage != StageItems || last == nil || !last.at.Equal(j.foreseen.Seen) {
		return TimeLeft{}, false
	}
	return *j.foreseen, true
}

// at is the time left at a moment. It runs down until the next number is due,
// then stands still, and is not known in a long silence.
func (f TimeLeft) at(now time.Time) (time.Duration, bool) {
	silence := max(0, now.Sub(f.Seen))
	if !f.Known || f.Left < 0 || f.Left > longestETA || silence > itemPace.silent {
		return 0, false
	}
	return max(time.Second, f.Left-min(silence, itemPace.due)), true
}

// ItemsSeen is how many items were done when this process saw it.
type ItemsSeen struct {
	At   time.Time
	Done int
}

// ItemsSince are the counts of items seen after a moment in the present stage,
// oldest first; empty in a stage that counts something else. Of a long stage
// only the newest are kept.
func (j *Job) ItemsSince(after time.Time) []ItemsSeen {
	if j.Stage != StageItems || j.track.samples.unit != UnitItems {
		return nil
	}
	var all []ItemsSeen
	j.track.samples.each(func(s *sample) bool {
		if !s.at.After(after) {
			return false
		}
		all = append(all, ItemsSeen{s.at, int(s.done)})
		return true
	})
	slices.Reverse(all)
	return all
}
