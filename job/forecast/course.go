package forecast

import (
	"math"
	"time"

	"github.com/veltui/veltui/velero"
)

// Step is the items of one resource, where its turn comes in a restore.
type Step struct {
	Resource string
	Items    int
}

// Limit is the bound of Velero's client, from the server's --client-qps and --client-burst; zero
// if its flags could not be read.
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

// Course follows one restore with two models: one knows only Velero, the other
// also what earlier restores of the cluster showed. The one that foresees this
// restore better answers, so that a history which does not fit counts for nothing
// after a second or two. It may be used by one goroutine at a time.
type Course struct {
	// models are the one without the history and the one with it; the same if there is none.
	plain, informed *model
	// odds are those of the informed model, as a logarithm.
	odds float64
}

const (
	// firstOdds are those of a history at the beginning, mostOdds where they end: about 150 to 1.
	firstOdds, mostOdds = 1.0, 5.0
	// deviation is how far off a model that fits is in one observation, and mostSurprise the most
	// that counts.
	deviation, mostSurprise = 0.3, 2.0
	// mostGain is the most that one observation speaks for the history: a pause fits by chance.
	mostGain = 0.5
	// confirmed is what an observation that the history fits speaks for it.
	confirmed = 0.3
	// alive are the odds below which a model no longer counts for the range.
	alive = 2.0
)

// NewCourse follows a restore with these steps, with the rates known before and the server's
// limit.
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

// Left is what the items left take: most likely Likely, and nine times in ten no
// less than Low and no more than High.
type Left struct{ Likely, Low, High time.Duration }

// Left is the time that the items left take from a moment on, which is that of
// the last observation or later. ok is false before the first, and where the
// steps cannot be right: then more was restored than they have.
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
