package ui

import (
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/veltui/veltui/forecast"
	"github.com/veltui/veltui/job"
)

// Rates remembers how fast restores of the cluster went. Its methods may take
// as long as a disk.
type Rates interface {
	// Known is what earlier restores told.
	Known() forecast.Rates
	// Learn adds what one told that has been watched.
	Learn(told forecast.Rates)
}

// course is how a restore goes whose items are known.
type course struct {
	forecast *forecast.Course
	total    int       // items of the estimate
	seen     time.Time // of the last items that forecast was shown
	told     bool      // what was learned of it was taken
	// from and made are the last answer of foresee and what it was made from,
	// so that a job that did not change stays the same.
	from, made *job.Job
	left       job.TimeLeft
}

// newCourse is nil where there is nothing to foresee.
func newCourse(a *answer) *course {
	if a.err != nil || len(a.estimate.Steps) == 0 {
		return nil
	}
	steps := make([]forecast.Step, len(a.estimate.Steps))
	for i, s := range a.estimate.Steps {
		steps[i] = forecast.Step(s)
	}
	return &course{forecast: forecast.NewCourse(steps, a.known), total: a.estimate.Total}
}

// foresee is the restore with the time that its items take; j itself where
// nothing can be said of that. live is false while news may be missed.
func (c *course) foresee(j *job.Job, live bool) *job.Job {
	if c == nil || j.Stage != job.StageItems {
		return j
	}
	if !live {
		c.forecast.Break()
	}
	for _, s := range j.ItemsSince(c.seen) {
		c.forecast.Observe(s.At, s.Done)
		c.seen = s.At
	}
	if c.seen.IsZero() || !c.fits(j) {
		return j
	}
	left, known := c.forecast.Left(c.seen)
	said := job.TimeLeft{Seen: c.seen, Left: left, Known: known}
	if c.from != j || c.left != said {
		c.from, c.left, c.made = j, said, j.WithTimeLeft(said)
	}
	return c.made
}

// fits reports whether the estimate can be right. Velero's own total is off
// while the restore runs: it counts what it will skip, and not what comes along.
func (c *course) fits(j *job.Job) bool {
	if j.Items.Estimated {
		return true
	}
	off := max(j.Items.Total-c.total, c.total-j.Items.Total)
	return !c.forecast.Exceeded() && off <= max(50, c.total/4)
}

// learn takes what the courses tell of restores whose items are done.
func (e *estimates) learn(dg *digest) {
	if e.rates == nil {
		return
	}
	for uid, q := range e.questions {
		if q.course == nil || q.course.told {
			continue
		}
		j := dg.find(uid)
		if j == nil || begins(j) || j.Stage == job.StageUnknown {
			continue
		}
		q.course.told = true
		// Items that failed took another time than those that did not.
		if q.course.fits(j) && j.Errors*20 <= j.Items.Done {
			e.told = append(e.told, q.course.forecast.Learned())
		}
	}
}

// remember makes the command that writes down what was learned.
func (e *estimates) remember() tea.Cmd {
	if len(e.told) == 0 {
		return nil
	}
	rates, told := e.rates, e.told
	e.told = nil
	return guarded(func() tea.Msg {
		for _, r := range told {
			rates.Learn(r)
		}
		return nil
	})
}
