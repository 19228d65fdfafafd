package job

import (
	"slices"
	"time"
)

// TimeLeft is a forecast of a restore's items by their mix.
type TimeLeft struct {
	// Seen is when the items were counted that this is about.
	Seen time.Time
	// Left is what the items left likely take from Seen on, Low and High the bounds nine times in ten; 0 if unknown.
	Left, Low, High time.Duration
	// Known is false while that would be a guess.
	Known bool
}

// WithTimeLeft returns a restore with a forecast, which counts until the next items are seen: [Next] does not
// pass it on.
func (j *Job) WithTimeLeft(f TimeLeft) *Job {
	if j.Kind != Restore || j.Stage != StageItems {
		return j
	}
	k := *j
	k.foreseen = &f
	return &k
}

// Halted returns a job without a rate and an ETA, for one on which nothing works.
func (j *Job) Halted() *Job {
	k := *j
	k.foreseen, k.track.samples = nil, samples{unit: j.track.samples.unit}
	return &k
}

// timeLeft is the forecast for the items seen last.
func (j *Job) timeLeft() (TimeLeft, bool) {
	last := j.track.samples.last()
	if j.foreseen == nil || j.Terminal() || j.Stage != StageItems || last == nil || !last.at.Equal(j.foreseen.Seen) {
		return TimeLeft{}, false
	}
	return *j.foreseen, true
}

// leftAt runs down until the next number is due, then stands still, and is unknown in a long silence.
func (f TimeLeft) leftAt(now time.Time) (time.Duration, bool) {
	silence := max(0, now.Sub(f.Seen))
	if !f.Known || f.Left < 0 || f.Left > longestETA || silence > itemPace.silent {
		return 0, false
	}
	return f.reduced(f.Left, silence), true
}

// reduced is a remaining time less a silence.
func (f TimeLeft) reduced(left, silence time.Duration) time.Duration {
	return max(time.Second, left-min(silence, itemPace.due))
}

// rough is by how much the bounds of an ETA differ that is shown as a range.
const rough = 2.0

// RoughETA are the bounds, nine times in ten, of a rough ETA. ok is false where [Job.ETA] is better known, or
// not at all.
func (j *Job) RoughETA(now time.Time) (low, high time.Duration, ok bool) {
	f, found := j.timeLeft()
	if _, known := f.leftAt(now); !found || !known || float64(f.High) <= rough*float64(f.Low) {
		return 0, 0, false
	}
	silence := max(0, now.Sub(f.Seen))
	return f.reduced(f.Low, silence), min(f.reduced(f.High, silence), longestETA), true
}

// ItemsSeen is how many items were done when this process saw it.
type ItemsSeen struct {
	At   time.Time
	Done int
}

// ItemsSince are the counts of items after a moment in the present stage, oldest first, as far as they are kept.
func (j *Job) ItemsSince(after time.Time) []ItemsSeen {
	if j.Stage != StageItems || j.track.samples.unit != UnitItems {
		return nil
	}
	var all []ItemsSeen
	for s := range j.track.samples.all() {
		if !s.at.After(after) {
			break
		}
		all = append(all, ItemsSeen{s.at, int(s.done)})
	}
	slices.Reverse(all)
	return all
}

// Total is an estimate of how many items a restore will restore.
type Total struct {
	Items int
	// First is the highest total that Velero may publish for so many items; 0 if the estimate is not sure enough.
	First int
}

// WithTotal returns a restore with an estimated total, or j itself. Velero's own replaces it only if they
// contradict each other: until the last item it counts what is skipped (pkg/restore/restore.go, execute
// and processSelectedResource; 1.14 to 1.18.3).
func (j *Job) WithTotal(t Total) *Job {
	begins := j.Stage == StageQueued || j.Stage == StageItems
	published := j.Items.Known && j.Items.Total > 0
	if j.Kind != Restore || !begins || t.Items <= 0 || published && !t.explains(j.Items) {
		return j
	}
	k := *j
	k.Items = Items{Done: j.Items.Done, Total: t.Items, Known: true, Estimated: true, Published: j.Items.Total}
	k.draw(j)
	return &k
}

// explains reports whether so many items fit another published total. With the last item done, only Velero knows.
func (t Total) explains(published Items) bool {
	return published.Done < t.Items && t.Items < published.Total && published.Total <= t.First
}

// WithFraction returns a job whose bar shows at least so much of the present stage.
func (j *Job) WithFraction(least float64) *Job {
	if !j.FractionKnown || j.Fraction >= least {
		return j
	}
	k := *j
	k.Fraction = least
	return &k
}
