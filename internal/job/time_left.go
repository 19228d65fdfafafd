package job

import (
	"slices"
	"time"
)

// TimeLeft is a forecast for a restore's items, based on their resources.
type TimeLeft struct {
	// CountedAt is when the items were counted that the forecast is about.
	CountedAt time.Time
	// Likely is how long the remaining items likely take from Seen on, Low and High are its bounds nine times in ten; 0 if
	// unknown.
	Likely, Low, High time.Duration
	// Known is false while a forecast would be a guess, Rough is true while only its bounds mean something.
	Known, Rough bool
}

// WithTimeLeft returns a restore with a forecast, which is valid until the next items are seen: [Fold] does not pass
// it on.
func (j *Job) WithTimeLeft(f TimeLeft) *Job {
	if j.Kind != Restore || j.Stage != StageItems {
		return j
	}
	k := *j
	k.forecastLeft = &f
	return &k
}

// WithoutRate returns a job without a rate and an ETA, for a job that nothing works on.
func (j *Job) WithoutRate() *Job {
	k := *j
	k.forecastLeft, k.track.samples = nil, sampleList{unit: j.track.samples.unit}
	return &k
}

// currentForecast returns the forecast for the items seen last.
func (j *Job) currentForecast() (TimeLeft, bool) {
	last := j.track.samples.newestSample()
	if j.forecastLeft == nil || j.IsTerminal() || j.Stage != StageItems || last == nil ||
		!last.at.Equal(j.forecastLeft.CountedAt) {
		return TimeLeft{}, false
	}
	return *j.forecastLeft, true
}

// timeLeftAt returns the time left, which runs down until the next number is due, then stands still, and is unknown
// after a long silence.
func (f TimeLeft) timeLeftAt(now time.Time) (time.Duration, bool) {
	silence := max(0, now.Sub(f.CountedAt))
	if !f.Known || f.Likely < 0 || f.Likely > maxETA || silence > itemPace.maxSilence {
		return 0, false
	}
	return f.reduceBySilence(f.Likely, silence), true
}

// reduceBySilence returns a remaining time reduced by a silence.
func (f TimeLeft) reduceBySilence(left, silence time.Duration) time.Duration {
	return max(time.Second, left-min(silence, itemPace.updateInterval))
}

// ETARange returns the bounds, nine times in ten, of a rough ETA. ok is false where [Job.ETA] is precise enough,
// unknown, or that of a slower volume.
func (j *Job) ETARange(now time.Time) (low, high time.Duration, ok bool) {
	f, found := j.currentForecast()
	if _, known := f.timeLeftAt(now); !found || !known || !f.Rough {
		return 0, 0, false
	}
	silence, slowest := max(0, now.Sub(f.CountedAt)), j.slowestVolumeETA(now)
	low, high = f.reduceBySilence(f.Low, silence), min(f.reduceBySilence(f.High, silence), maxETA)
	low, high = max(low, slowest), max(high, slowest)
	return low, high, low < high // a slower volume than either leaves one number
}

// ItemCount is the number of done items at the time when this process saw it.
type ItemCount struct {
	At   time.Time
	Done int
}

// ItemCountsSince returns the counts of items after a time in the current stage, oldest first, as far as they are kept.
func (j *Job) ItemCountsSince(after time.Time) []ItemCount {
	if j.Stage != StageItems || j.track.samples.unit != UnitItems {
		return nil
	}
	var all []ItemCount
	for s := range j.track.samples.eachSample() {
		if !s.at.After(after) {
			break
		}
		all = append(all, ItemCount{s.at, int(s.done)})
	}
	slices.Reverse(all)
	return all
}

// WithFraction returns a job whose bar shows at least this much of the current stage.
func (j *Job) WithFraction(least float64) *Job {
	if !j.FractionKnown || j.Fraction >= least {
		return j
	}
	k := *j
	k.Fraction = least
	return &k
}
