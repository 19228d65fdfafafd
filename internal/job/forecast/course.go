package forecast

import (
	"math"
	"time"

	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/velero"
)

// Step is the items of one resource, where its turn comes in a restore.
type Step struct {
	Resource string
	Items    int
}

// Limit bounds Velero's client (--client-qps and --client-burst); zero if the server's flags could not be read.
type Limit struct {
	// QPS is in requests a second, Burst how many may come at once.
	QPS   float64
	Burst int
}

// LimitOf is the limit that a server's flags set (pkg/cmd/server/server.go, newServer).
func LimitOf(s velero.Server) Limit {
	if !s.Visible || s.Name == "" {
		return Limit{}
	}
	return Limit{QPS: s.Flags.ClientQPS, Burst: s.Flags.ClientBurst}
}

// Course follows one restore with two models: one knows only Velero, the other also earlier
// restores. The one that foresees this restore better answers. One goroutine may use it at a time.
type Course struct {
	// models are the one without the history and the one with it; the same if there is none.
	plain, informed *model
	// odds are those of the informed model, as a logarithm.
	odds float64
}

const (
	// firstOdds are those of a history at the beginning, mostOdds where they end: about 150 to 1.
	firstOdds, mostOdds = 1.0, 5.0
	// deviation is how far off a model that fits is in one observation, and mostSurprise the most that counts.
	deviation, mostSurprise = 0.3, 2.0
	// mostGain is the most that one observation speaks for the history: a pause fits by chance.
	mostGain = 0.5
	// confirmed is what an observation that the history fits speaks for it.
	confirmed = 0.3
	// alive are the odds below which a model no longer counts for the range.
	alive = 2.0
)

// NewCourse follows a restore with these steps, with the rates known before and the server's limit.
func NewCourse(steps []Step, known Rates, limit Limit) *Course {
	c := &Course{plain: newModel(steps, Rates{}, limit), odds: firstOdds}
	c.informed = c.plain
	if known.Throttle.Valid() || len(known.Resources) > 0 {
		c.informed = newModel(steps, known, limit)
	}
	return c
}

// Observe notes that done items were restored at a moment. If either goes back, it starts again.
func (c *Course) Observe(at time.Time, done int) {
	plain := c.plain.observe(at, done)
	if c.informed == c.plain {
		return
	}
	informed := c.informed.observe(at, done)
	c.odds += min((plain-informed)/deviation, mostGain)
	if c.odds > 0 && informed < deviation { // one that was wrong stays so
		c.odds += confirmed
	}
	c.odds = min(max(c.odds, -mostOdds), mostOdds)
}

// Break notes that news may have been missed until now, so that the next interval means nothing.
func (c *Course) Break() { c.plain.begun, c.informed.begun = false, false }

// likely is the model that foresaw this restore better.
func (c *Course) likely() *model {
	if c.odds < 0 {
		return c.plain
	}
	return c.informed
}

// Learned are the rates that this restore shows.
func (c *Course) Learned() Rates { return c.likely().rates() }

// Left is what the items left take: most likely Likely, and nine times in ten no less than Low and no more than High.
type Left struct{ Likely, Low, High time.Duration }

// Left is the time that the items left take from at on, which is not before the last observation. ok is
// false before the first, and where more was restored than the steps have.
func (c *Course) Left(at time.Time) (left Left, ok bool) {
	likely := c.likely()
	if !likely.begun || likely.last.done >= likely.total {
		return Left{}, false
	}
	middle, low, high := likely.left()
	if c.plain != c.informed && math.Abs(c.odds) < alive {
		_, plainLow, plainHigh := c.plain.left()
		_, informedLow, informedHigh := c.informed.left()
		low, high = min(plainLow, informedLow), max(plainHigh, informedHigh)
	}
	passed := max(at.Sub(likely.last.at), 0)
	rest := func(seconds float64) time.Duration {
		return max(time.Duration(min(seconds, longest)*float64(time.Second))-passed, 0)
	}
	return Left{rest(middle), rest(low), rest(high)}, true
}

// longest is a year, in seconds: the forecast of a longer restore is cut there.
const longest = 365 * 24 * 3600.0

// Restore follows a restore as package job sees it. It may be used by one goroutine at a time.
type Restore struct {
	course  *Course
	seen    time.Time // of the last items that course was shown
	learned bool      // Learned has given the rates
	// from and made are the last answer, so that a job that did not change stays the same.
	from, made *job.Job
	left       job.TimeLeft
}

// Follow follows a restore with these steps, the rates known before and the server's limit; nil without steps.
func Follow(steps []Step, known Rates, limit Limit) *Restore {
	if c := NewCourse(steps, known, limit); c.plain.total > 0 {
		return &Restore{course: c}
	}
	return nil
}

// See takes in j and gives it the time that its items take, or returns it. live is false while news may be missed.
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

// fits: the steps can be right. Velero's own total is off while the restore runs: it counts what it will skip.
func (r *Restore) fits(j *job.Job) bool {
	if j.Items.Estimated {
		return true
	}
	plain := r.course.plain
	exceeded := plain.begun && plain.last.done > plain.total
	off := max(j.Items.Total-plain.total, plain.total-j.Items.Total)
	return !exceeded && off <= max(50, plain.total/4)
}

// Learned are the rates of a restore whose items are done; Learned gives them once. ok is false
// while they are not done, and if they mean nothing: the steps were not right, or many items
// failed, which takes another time than to restore them.
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
