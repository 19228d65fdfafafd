package forecast

import (
	"time"

	"github.com/veltui/veltui/job"
)

// Restore follows a restore as package job sees it. It may be used by one
// goroutine at a time.
type Restore struct {
	course  *Course
	seen    time.Time // of the last items that course was shown
	learned bool      // Learned has given the rates
	// from and made are the last answer, so that a job that did not change stays the same.
	from, made *job.Job
	left       job.TimeLeft
}

// Follow follows a restore with these steps, with the rates known before and the server's limit.
// It is nil, which says nothing, without steps.
func Follow(steps []Step, known Rates, limit Limit) *Restore {
	if c := NewCourse(steps, known, limit); c.plain.total > 0 {
		return &Restore{course: c}
	}
	return nil
}

// See takes in what is new of j and gives it the time that its items take, or returns j. live is
// false while news may be missed.
func (r *Restore) See(j *job.Job, live bool) *job.Job {
	if r == nil || j.Stage != job.StageItems {
		return j
	}
	for _, s := range j.ItemsSince(r.seen) {
		r.course.Observe(s.At, s.Done)
		r.seen = s.At
	}
	if !live {
		r.course.Break()
	}
	if r.seen.IsZero() || !r.fits(j) {
		return j
	}
	left, known := r.course.Left(r.seen)
	said := job.TimeLeft{Seen: r.seen, Left: left.Likely, Low: left.Low, High: left.High, Known: known}
	if r.from != j || r.left != said {
		r.from, r.left, r.made = j, said, j.WithTimeLeft(said)
	}
	return r.made
}

// fits reports whether the steps can be right. Velero's own total is off while the restore runs:
// it counts what it will skip.
func (r *Restore) fits(j *job.Job) bool {
	if j.Items.Estimated {
		return true
	}
	plain := r.course.plain
	exceeded := plain.begun && plain.last.done > plain.total
	off := max(j.Items.Total-plain.total, plain.total-j.Items.Total)
	return !exceeded && off <= max(50, plain.total/4)
}

// Learned are the rates of a restore whose items are done; Learned gives them
// once. ok is false while they are not done, and if they mean nothing: the
// steps were not right, or many items failed, which takes another time than to
// restore them.
func (r *Restore) Learned(j *job.Job) (rates Rates, ok bool) {
	if r == nil || r.learned || j.Stage == job.StageQueued || j.Stage == job.StageItems || j.Stage == job.StageUnknown {
		return Rates{}, false
	}
	r.learned = true
	if !r.fits(j) || j.Errors*20 > j.Items.Done {
		return Rates{}, false
	}
	return r.course.Learned(), true
}
