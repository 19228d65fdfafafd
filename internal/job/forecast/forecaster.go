package forecast

import (
	"math"
	"time"

	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/velero"
)

// ResourceStep holds the items of one resource, in its turn of a restore.
type ResourceStep struct {
	Resource string
	Items    int
	// MayExist is how many of them may exist already: those of cluster scope and of namespaces that exist.
	MayExist int
}

// ClientLimit is the limit of Velero's client (--client-qps and --client-burst); zero if the server's flags could not
// be read.
type ClientLimit struct {
	// QPS is in requests a second, Burst is how many may be sent at once.
	QPS   float64
	Burst int
}

// ClientLimitOf returns the limit that a server's flags set (pkg/cmd/server/server.go, newServer).
func ClientLimitOf(s velero.Server) ClientLimit {
	if !s.Visible || s.Name == "" {
		return ClientLimit{}
	}
	return ClientLimit{QPS: s.Flags.ClientQPS, Burst: s.Flags.ClientBurst}
}

// Forecaster follows one restore with several models: one knows only Velero, one also earlier restores, and one assumes
// that the items exist already. The model that forecasts this restore best gives the estimates. Only one goroutine may
// use a Forecaster at a time.
type Forecaster struct {
	// priorModel is the model without the history, historyModel the one with it; both are the same if there is no history.
	priorModel, historyModel *model
	// historyLogOdds are the odds of the history's model, as a logarithm.
	historyLogOdds float64
	// existingModel assumes that nothing has to be created; nil if too little may exist.
	existingModel *model
	// existingLogOdds are the odds of that model.
	existingLogOdds float64
}

const (
	// initialLogOdds are the initial odds of a history, maxLogOdds their limit: about 150 to 1.
	initialLogOdds, maxLogOdds = 1.0, 5.0
	// deviation is the error of a fitting model in one observation; maxSurprise is the largest error that counts.
	deviation, maxSurprise = 0.3, 2.0
	// maxGain limits how much one observation counts in favour of the history: a pause fits by chance.
	maxGain = 0.5
	// confirmationGain is how much an observation that fits the history counts in its favour.
	confirmationGain = 0.3
	// undecidedLogOdds are the odds from which the other model no longer counts for the range.
	undecidedLogOdds = 2.0
	// minExistingShare is the share of items that may exist from which it is considered that they do, with these odds at
	// first and at most: the rest of a restore may be new.
	minExistingShare                           = 0.2
	initialExistingLogOdds, maxExistingLogOdds = -0.5, 3.0
)

// NewForecaster makes a Forecaster for a restore with these steps, the rates known before and the server's limit.
func NewForecaster(steps []ResourceStep, known Rates, limit ClientLimit) *Forecaster {
	c := &Forecaster{
		priorModel: newModel(steps, Rates{}, limit), historyLogOdds: initialLogOdds, existingLogOdds: initialExistingLogOdds,
	}
	c.historyModel = c.priorModel
	if known.Throttle.IsValid() || len(known.Resources) > 0 {
		c.historyModel = newModel(steps, known, limit)
	}
	mayExist := 0
	for _, s := range steps {
		mayExist += s.MayExist
	}
	if float64(mayExist) >= minExistingShare*float64(max(c.priorModel.total, 1)) {
		c.existingModel = newExistingModel(steps, limit)
	}
	return c
}

// ObserveItems records that done items were restored at a time. If either goes back, it starts again.
func (c *Forecaster) ObserveItems(at time.Time, done int) {
	plain := c.priorModel.observeItems(at, done)
	best := plain
	if c.historyModel != c.priorModel {
		informed := c.historyModel.observeItems(at, done)
		c.historyLogOdds += min((plain-informed)/deviation, maxGain)
		if c.historyLogOdds > 0 && informed < deviation { // a history that was wrong stays wrong
			c.historyLogOdds += confirmationGain
		}
		c.historyLogOdds = min(max(c.historyLogOdds, -maxLogOdds), maxLogOdds)
		best = min(best, informed)
	}
	if c.existingModel != nil {
		gain := (best - c.existingModel.observeItems(at, done)) / deviation
		c.existingLogOdds += min(max(gain, -maxGain), maxGain)
		c.existingLogOdds = min(max(c.existingLogOdds, -maxExistingLogOdds), maxExistingLogOdds)
	}
}

// MarkGap records that news may have been missed until now, so that the next interval means nothing.
func (c *Forecaster) MarkGap() {
	c.priorModel.hasBegun, c.historyModel.hasBegun = false, false
	if c.existingModel != nil {
		c.existingModel.hasBegun = false
	}
}

// findsExisting reports whether the items of this restore rather exist already.
func (c *Forecaster) findsExisting() bool { return c.existingModel != nil && c.existingLogOdds > 0 }

// likelierModel returns the model that forecast this restore better.
func (c *Forecaster) likelierModel() *model {
	switch {
	case c.findsExisting():
		return c.existingModel
	case c.historyLogOdds < 0:
		return c.priorModel
	}
	return c.historyModel
}

// LearnedRates returns the rates that this restore shows, none if its items existed: those tell nothing about creating
// them.
func (c *Forecaster) LearnedRates() Rates {
	if c.findsExisting() {
		return Rates{}
	}
	return c.likelierModel().learnedRates()
}

// TimeEstimate is how long the remaining items take: most likely Likely, and nine times in ten no less than Low and
// no more than High.
type TimeEstimate struct{ Likely, Low, High time.Duration }

// EstimateLeft returns how long the remaining items take from at on, which is not before the last observation. ok is
// false before the first observation, and where more items were restored than the steps have.
func (c *Forecaster) EstimateLeft(at time.Time) (left TimeEstimate, ok bool) {
	likely := c.likelierModel()
	if !likely.hasBegun || likely.last.done >= likely.total {
		return TimeEstimate{}, false
	}
	middle, low, high := likely.estimateLeft()
	if c.existingModel != nil && math.Abs(c.existingLogOdds) < undecidedLogOdds {
		middle = c.blendWithExisting()
	}
	for _, other := range c.possibleModels() {
		_, otherLow, otherHigh := other.estimateLeft()
		low, high = min(low, otherLow), max(high, otherHigh)
	}
	passed := max(at.Sub(likely.last.at), 0)
	rest := func(seconds float64) time.Duration {
		return max(time.Duration(min(seconds, maxForecastSeconds)*float64(time.Second))-passed, 0)
	}
	return TimeEstimate{rest(middle), rest(low), rest(high)}, true
}

// blendWithExisting returns the seconds left by the model that assumes existing items and by the best other model, in
// the middle by their odds, so that the number moves from one to the other instead of jumping.
func (c *Forecaster) blendWithExisting() float64 {
	other := c.historyModel
	if c.historyLogOdds < 0 {
		other = c.priorModel
	}
	created, _, _ := other.estimateLeft()
	existing, _, _ := c.existingModel.estimateLeft()
	if created <= 0 || existing <= 0 {
		return created
	}
	share := 1 / (1 + math.Exp(-c.existingLogOdds))
	return math.Exp(share*math.Log(existing) + (1-share)*math.Log(created))
}

// possibleModels returns the models between which nothing is decided yet, which the range spans.
func (c *Forecaster) possibleModels() (possible []*model) {
	existingUndecided := c.existingModel != nil && math.Abs(c.existingLogOdds) < undecidedLogOdds
	if existingUndecided {
		possible = append(possible, c.existingModel)
	}
	switch historyUndecided := math.Abs(c.historyLogOdds) < undecidedLogOdds; {
	case c.findsExisting() && !existingUndecided:
	case c.priorModel != c.historyModel && historyUndecided:
		possible = append(possible, c.priorModel, c.historyModel)
	case existingUndecided && c.historyLogOdds < 0:
		possible = append(possible, c.priorModel)
	case existingUndecided:
		possible = append(possible, c.historyModel)
	}
	return possible
}

// maxForecastSeconds is a year, in seconds: the forecast of a longer restore is cut to it.
const maxForecastSeconds = 365 * 24 * 3600.0

// JobForecaster follows a restore as package job sees it. Only one goroutine may use it at a time.
type JobForecaster struct {
	forecaster    *Forecaster
	seenUntil     time.Time // the time of the last items that course was given
	hasTakenRates bool      // TakeLearnedRates has returned the rates
	// lastJob and lastAnswer are the last question and answer, so that an unchanged job stays the same.
	lastJob, lastAnswer *job.Job
	timeLeft            job.TimeLeft
}

// The ratios of an ETA's bounds that decide whether it is shown as a range. They differ so that the form stays: an ETA
// that is a number becomes a range only beyond becomesRough, and one that is a range becomes a number only below
// becomesPrecise. The first is a range beyond firstRough.
const becomesPrecise, firstRough, becomesRough = 1.8, 2.0, 2.6

// isRough reports whether the bounds of a forecast are too far apart to show one number, given the form shown before.
func (r *JobForecaster) isRough(left TimeEstimate) bool {
	limit := firstRough
	if r.timeLeft.Known {
		limit = becomesRough
		if r.timeLeft.Rough {
			limit = becomesPrecise
		}
	}
	return float64(left.High) > limit*float64(left.Low)
}

// NewJobForecaster makes a Restore with these steps, the rates known before and the server's limit; nil without steps.
func NewJobForecaster(steps []ResourceStep, known Rates, limit ClientLimit) *JobForecaster {
	if c := NewForecaster(steps, known, limit); c.priorModel.total > 0 {
		return &JobForecaster{forecaster: c}
	}
	return nil
}

// ObserveJob observes j and returns it with a forecast, or unchanged if there is none. live is false while news may
// be missed.
func (r *JobForecaster) ObserveJob(j *job.Job, live bool) *job.Job {
	if r == nil || j.Stage != job.StageItems {
		return j
	}
	for _, s := range j.ItemCountsSince(r.seenUntil) {
		r.forecaster.ObserveItems(s.At, s.Done)
		r.seenUntil = s.At
	}
	if !live {
		r.forecaster.MarkGap()
	}
	if r.seenUntil.IsZero() || !r.areStepsPlausible(j) {
		return j
	}
	if plain := r.forecaster.priorModel; plain.hasBegun && plain.last.done >= plain.total &&
		plain.last.done < j.Items.Total {
		return j // the steps are done, and the restore has more items
	}
	left, known := r.forecaster.EstimateLeft(r.seenUntil)
	said := job.TimeLeft{
		CountedAt: r.seenUntil, Likely: left.Likely, Low: left.Low, High: left.High,
		Known: known, Rough: known && r.isRough(left),
	}
	if r.timeLeft.CountedAt.Equal(said.CountedAt) && r.timeLeft.Known {
		said.Rough = r.timeLeft.Rough // nothing new was counted
	}
	if r.lastJob != j || r.timeLeft != said {
		r.lastJob, r.timeLeft, r.lastAnswer = j, said, j.WithTimeLeft(said)
	}
	return r.lastAnswer
}

// areStepsPlausible reports whether the steps can be right. While the restore runs, Velero's own total is off: it
// counts items that Velero will skip.
func (r *JobForecaster) areStepsPlausible(j *job.Job) bool {
	if j.Items.Estimated {
		return true
	}
	plain := r.forecaster.priorModel
	exceeded := plain.hasBegun && plain.last.done > plain.total
	off := max(j.Items.Total-plain.total, plain.total-j.Items.Total)
	return !exceeded && off <= max(50, plain.total/4)
}

// TakeLearnedRates returns the rates of a restore whose items are done; it returns them only once. ok is false while
// the items are not done, and if the rates mean nothing: the steps were wrong, or many items failed, which takes a
// different time than restoring them.
func (r *JobForecaster) TakeLearnedRates(j *job.Job) (rates Rates, ok bool) {
	if r == nil || r.hasTakenRates || j.Stage == job.StageQueued || j.Stage == job.StageItems ||
		j.Stage == job.StageUnknown {
		return Rates{}, false
	}
	r.hasTakenRates = true
	if !r.areStepsPlausible(j) || j.Errors*20 > j.Items.Done {
		return Rates{}, false
	}
	return r.forecaster.LearnedRates(), !r.forecaster.findsExisting()
}
