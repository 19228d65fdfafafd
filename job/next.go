package job

import "time"

// track is what a Job remembers of its past: the samples for rate and ETA.
type track struct{}

// Next folds what the cluster says now into what was known before. prev is nil
// for a job seen for the first time. The result shares memory with prev and in.
func Next(prev *Job, in Input) *Job { panic("todo") }

// Terminal reports whether the job has ended and will not change by itself.
func (j *Job) Terminal() bool { panic("todo") }

// Elapsed is how long the job has run: from its start (its creation while it
// has none) to its completion or now.
func (j *Job) Elapsed(now time.Time) time.Duration { panic("todo") }

// Rate is the speed of the present stage over a sliding window, in items or
// bytes (see [Job.Unit]) a second. ok is false without enough evidence.
func (j *Job) Rate(now time.Time) (perSecond float64, ok bool) { panic("todo") }

// ETA is the time left in the present stage. ok is false while any number
// would be a guess.
func (j *Job) ETA(now time.Time) (left time.Duration, ok bool) { panic("todo") }

// Unit is what the present stage counts.
type Unit string

// The units of progress.
const (
	UnitItems      Unit = "items"
	UnitBytes      Unit = "bytes"
	UnitOperations Unit = "operations"
)

// Progress is the present stage's numbers, in its own unit. known is false
// while there is no total.
func (j *Job) Progress() (done, total int64, unit Unit, known bool) { panic("todo") }

// Queue says why a job that has not begun waits: its place in the line (1 is
// next), and the reason in words. ok is false for a job that does not wait for
// its turn.
func (j *Job) Queue(s Surroundings) (position int, reason string, ok bool) { panic("todo") }

// Verdict judges the job from its own resources and its surroundings.
func (j *Job) Verdict(s Surroundings) Verdict { panic("todo") }
