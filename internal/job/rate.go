package job

import (
	"cmp"
	"iter"
	"time"
)

// sample is the present stage's progress at one moment, linked to the one before it.
type sample struct {
	at     time.Time
	done   int64
	total  int64
	before *sample
}

// samples are the newest of the stage, in two linked lists, of which the older is dropped as a whole. Jobs
// share their past.
type samples struct {
	unit    Unit
	newest  *sample
	inNewer int
	older   *sample
}

const samplesPerList = 128

func (s samples) add(at time.Time, done, total int64) samples {
	if s.inNewer >= samplesPerList {
		s.older, s.newest, s.inNewer = s.newest, nil, 0
	}
	s.newest = &sample{at: at, done: done, total: total, before: s.newest}
	s.inNewer++
	return s
}

// last is the newest sample, or nil.
func (s samples) last() *sample { return cmp.Or(s.newest, s.older) }

// all are the samples, newest first.
func (s samples) all() iter.Seq[*sample] {
	return func(yield func(*sample) bool) {
		for _, list := range []*sample{s.newest, s.older} {
			for ; list != nil; list = list.before {
				if !yield(list) {
					return
				}
			}
		}
	}
}

// note adds progress that moved. Numbers or clocks that went back start anew.
func (s samples) note(at time.Time, done, total int64) samples {
	switch last := s.last(); {
	case last == nil:
	case at.Before(last.at) || done < last.done:
		s = samples{unit: s.unit}
	case done == last.done && total == last.total:
		return s
	}
	return s.add(at, done, total)
}

func (j *Job) sample(prev *Job, in Input) {
	done, total, unit, known := j.Progress()
	at, written := in.At, j.track.itemsMoved
	if unit == UnitBytes {
		at, written = in.volumesAt(), j.VolumesMoved()
	}
	if j.Terminal() || !known || (prev != nil && prev.Stage != j.Stage) || unit != j.track.samples.unit {
		j.track.samples = samples{unit: unit}
	}
	if j.Terminal() || !known || j.pace() == nil {
		return
	}
	if prev == nil && j.track.movedKnown && at.Sub(written) > j.pace().due {
		at = written // numbers are as old as that, whenever they are first seen
	}
	j.track.samples = j.track.samples.note(at, done, total)
}

// pace says how a speed is measured, as restic does: no estimate from too little, too short or too old a window.
type pace struct {
	// window is how far back samples count.
	window time.Duration
	// due is how often fresh numbers come; a speed is blank after silent without any.
	due, silent time.Duration
	// span, moves and amount are the least evidence for a speed.
	span   time.Duration
	moves  int
	amount int64
	// settled is how long the total must have been the same for an ETA.
	settled time.Duration
}

// Items come once a second (docs/dev/velero.md#progress). On a restore of 2,359 items an ETA from 60 s is
// wrong by 37 % in the median and 50 % at the 90th percentile, one from 10 s by 39 % and 190 %.
var itemPace = pace{
	window: time.Minute, due: 2 * time.Second, silent: 15 * time.Second,
	span: 5 * time.Second, moves: 4, amount: 10,
}

// Bytes come every ten seconds, and their total grows while the uploader counts (docs/dev/velero.md#byte-progress).
var bytePace = pace{
	window: 2 * time.Minute, due: 12 * time.Second, silent: 45 * time.Second,
	span: 20 * time.Second, moves: 2, amount: 1 << 20, settled: 20 * time.Second,
}

// pace is nil for what has no speed: operations and counted volumes end all at once, other stages have no numbers.
func (j *Job) pace() *pace {
	moves := j.Stage == StageItems || j.Stage == StageVolumes || j.Stage == StageOperations
	switch {
	case moves && j.track.samples.unit == UnitItems:
		return &itemPace
	case moves && j.track.samples.unit == UnitBytes:
		return &bytePace
	}
	return nil
}

// Rate is the speed over a sliding window, in items or bytes a second. ok is false without enough evidence.
func (j *Job) Rate(now time.Time) (perSecond float64, ok bool) {
	p := j.pace()
	if p == nil || j.Terminal() {
		return 0, false
	}
	return j.track.samples.rate(p, now)
}

// rate is the speed over the window that ends now.
func (s samples) rate(p *pace, now time.Time) (perSecond float64, ok bool) {
	last := s.last()
	if last == nil {
		return 0, false
	}
	silence := now.Sub(last.at)
	if silence > p.silent {
		return 0, false
	}
	end := last.at
	if silence > p.due {
		end = now.Add(-p.due) // the number that is due has not come: it slows down
	}
	first, moves := last, 0
	for s := range s.all() {
		if end.Sub(s.at) > p.window {
			break
		}
		if s.done != first.done {
			moves++
		}
		first = s
	}
	amount, span := last.done-first.done, end.Sub(first.at)
	if moves < p.moves || amount < p.amount || span < p.span {
		return 0, false
	}
	return float64(amount) / span.Seconds(), true
}

// ETA is the time left in the stage, at least a second; not ok for a guess. [Job.WithTimeLeft] goes before.
func (j *Job) ETA(now time.Time) (left time.Duration, ok bool) {
	if f, found := j.timeLeft(); found {
		return f.leftAt(now)
	}
	rate, ok := j.Rate(now)
	if !ok || rate <= 0 || !j.totalSettled(now) {
		return 0, false
	}
	done, total, _, known := j.Progress()
	if !known || done >= total {
		return 0, false
	}
	return eta(total-done, rate, now.Sub(j.track.samples.last().at))
}

// eta is the time that an amount takes, less what passed since it was counted.
func eta(amount int64, rate float64, passed time.Duration) (left time.Duration, ok bool) {
	seconds := float64(amount)/rate - max(0, passed.Seconds())
	if seconds > longestETA.Seconds() {
		return 0, false
	}
	return max(time.Second, time.Duration(seconds*float64(time.Second))), true
}

// longestETA is where an ETA says nothing any more.
const longestETA = 365 * 24 * time.Hour

// totalSettled reports whether the total has been the same for long enough.
func (j *Job) totalSettled(now time.Time) bool {
	p, last := j.pace(), j.track.samples.last()
	if p.settled == 0 {
		return true
	}
	since := last.at
	for s := range j.track.samples.all() {
		if s.total != last.total {
			break
		}
		since = s.at
	}
	return now.Sub(since) >= p.settled
}
