package forecast

import (
	"math"
	"time"
)

// model forecasts a restore from one set of initial costs.
type model struct {
	steps []numberedStep
	total int
	// The costs: of items under the limit, and of each resource without it.
	throttle  *itemCost
	resources []*itemCost // by number
	names     []string
	// factorByClass is how much slower each class is than assumed; seen is over how many seconds that was observed.
	factorByClass  [classCount]classFactor
	secondsByClass [classCount]float64
	// historySecondsByClass is for how many seconds each class was observed in earlier restores.
	historySecondsByClass [classCount]float64
	// maxCredit is how many seconds' worth of requests the client can save up.
	maxCredit float64
	// noise is the mean of the latest surprises.
	noise float64
	// hasKnownLimit is true if the client's limit was read from the server's flags.
	hasKnownLimit bool

	hasBegun     bool
	anchor, last checkpoint
	// learnedSeconds is how many seconds of observations were learned from.
	learnedSeconds float64
}

// numberedStep is a Step with its resource's number.
type numberedStep struct {
	resource int
	items    int
}

// checkpoint is a state of the restore.
type checkpoint struct {
	at   time.Time
	done int
	// credit is how many seconds' worth of requests Velero's client has saved up.
	credit float64
}

func newModel(steps []ResourceStep, known Rates, limit ClientLimit) *model {
	m := &model{throttle: newCost(throttledItemSeconds, known.Throttle), maxCredit: defaultMaxCredit}
	if limit.QPS > 0 {
		m.throttle = &itemCost{baseSeconds: max(requestsPerItem/limit.QPS, minCost), baseTrust: limitTrust, isLearned: true}
		m.maxCredit, m.hasKnownLimit = float64(max(limit.Burst, 1))/limit.QPS, true
	}
	m.addSteps(steps, known, priorSeconds)
	return m
}

// newExistingModel returns a model that assumes that all items exist already. Velero then only looks for the namespace
// of each, and nothing is written that lists would have to wait for.
func newExistingModel(steps []ResourceStep, limit ClientLimit) *model {
	limit.QPS *= requestsPerItem / requestsPerExistingItem
	limit.Burst = int(float64(limit.Burst) * requestsPerItem / requestsPerExistingItem)
	m := newModel(nil, Rates{}, limit)
	if limit.QPS <= 0 {
		m.throttle = newCost(throttledItemSeconds*requestsPerExistingItem/requestsPerItem, Cost{})
	}
	m.addSteps(steps, Rates{}, func(string) float64 { return plainItemSeconds })
	return m
}

// addSteps adds steps with the costs known before, else those that prior assumes.
func (m *model) addSteps(steps []ResourceStep, known Rates, prior func(resource string) float64) {
	number := map[string]int{}
	mean := known.classFactors()
	for resource, cost := range known.Resources {
		if cost.IsValid() {
			m.historySecondsByClass[classOf(resource)] += cost.SeenSeconds
		}
	}
	for _, s := range steps {
		if s.Items <= 0 {
			continue
		}
		n, ok := number[s.Resource]
		if !ok {
			n = len(m.resources)
			number[s.Resource] = n
			own := newCost(prior(s.Resource)*mean[classOf(s.Resource)], known.Resources[s.Resource])
			own.class, own.hasMixedResources = classOf(s.Resource), s.Resource == claimsResource
			m.resources, m.names = append(m.resources, own), append(m.names, s.Resource)
		}
		m.steps = append(m.steps, numberedStep{n, s.Items})
		m.total += s.Items
	}
	m.updateFactors()
}

// classFactors returns how much more than their priors the resources of each class cost.
func (r Rates) classFactors() (factor [classCount]float64) {
	var mean [classCount]ratioMean
	if r.Throttle.IsValid() {
		mean[classPlain].addRatio(1, r.Throttle.SeenSeconds)
	}
	for resource, known := range r.Resources {
		if known.IsValid() && resource != claimsResource {
			mean[classOf(resource)].addRatio(known.Seconds/priorSeconds(resource), known.SeenSeconds)
		}
	}
	for class := range factor {
		factor[class] = mean[class].estimateFactor(unseenTrust)
	}
	return factor
}

// Intervals shorter than minInterval are joined with the next: events may come in bunches.
const minInterval = 500 * time.Millisecond

// observeItems records that done items were restored at a time; if either goes back, it starts again. surprise is the
// error of the model, as a logarithm of at most maxSurprise; 0 if unknown.
func (m *model) observeItems(at time.Time, done int) (surprise float64) {
	switch {
	case !m.hasBegun, at.Before(m.last.at), done < m.last.done:
		m.startAt(at, done)
		return 0
	case done == m.last.done:
		return 0
	}
	took := at.Sub(m.anchor.at)
	if took < minInterval {
		m.last.at, m.last.done = at, done
		return 0
	}
	parts := m.planItemRuns(m.anchor.done, done-m.anchor.done, m.anchor.credit)
	expected := 0.0
	for _, p := range parts {
		expected += p.expectedSeconds
	}
	if expected > 0 {
		surprise = min(math.Abs(math.Log(took.Seconds()/expected)), maxSurprise)
		if m.learnedSeconds > 0 { // before that, the saved-up credit is a guess
			m.noise += (surprise - m.noise) / noiseMemory
		}
	}
	m.learnFromRuns(parts, took.Seconds())
	m.anchor = checkpoint{at, done, m.creditAfter(parts, m.anchor.credit)}
	m.last = m.anchor
	return surprise
}

// noiseMemory is roughly how many observations the noise covers.
const noiseMemory = 10

// startAt starts at some point of the restore. The credit at that point is computed from the restore's beginning.
func (m *model) startAt(at time.Time, done int) {
	m.anchor = checkpoint{at, done, m.creditAfter(m.planItemRuns(0, done, m.maxCredit), m.maxCredit)}
	m.last = m.anchor
	m.hasBegun = true
}

// itemRun is a run of items of one resource with the same cost.
type itemRun struct {
	// cost is the cost of the items: ownCost, the resource's, or that of the limit.
	cost, ownCost *itemCost
	// items is not an integer where the credit ends within an item.
	items float64
	// expectedSeconds is the expected time of the items, took the actual time, which equals seconds until it is learned.
	expectedSeconds, actualSeconds float64
}

func newItemRun(cost, own *itemCost, items, each float64) itemRun {
	return itemRun{cost: cost, ownCost: own, items: items, expectedSeconds: items * each, actualSeconds: items * each}
}

// planItemRuns estimates how long n items take after the first from items, with the given credit.
func (m *model) planItemRuns(from, n int, credit float64) (parts []itemRun) {
	wait := m.secondsPerItem(m.throttle)
	for _, s := range m.steps {
		if n <= 0 {
			break
		}
		if from >= s.items {
			from -= s.items
			continue
		}
		items := min(s.items-from, n)
		from, n = 0, n-items
		own := m.resources[s.resource]
		each, free := m.secondsPerItem(own), float64(items)
		if each < wait {
			free = min(free, credit/(wait-each))
		}
		if free > 0 {
			parts = append(parts, newItemRun(own, own, free, each))
			credit = min(max(credit+free*(each-wait), 0), m.maxCredit)
		}
		if held := float64(items) - free; held > 0 {
			parts = append(parts, newItemRun(m.throttle, own, held, wait))
			credit = 0
		}
	}
	return parts
}

// creditAfter returns the credit that is left once parts have taken their time.
func (m *model) creditAfter(parts []itemRun, credit float64) float64 {
	wait := m.secondsPerItem(m.throttle)
	for _, p := range parts {
		if p.cost == m.throttle {
			credit = 0
			continue
		}
		credit = min(max(credit+p.actualSeconds-p.items*wait, 0), m.maxCredit)
	}
	return credit
}

// estimateLeft returns how long the remaining items take, in seconds, and the bounds of that.
func (m *model) estimateLeft() (likely, low, high float64) {
	credit := m.creditAfter(m.planItemRuns(m.anchor.done, m.last.done-m.anchor.done, m.anchor.credit), m.anchor.credit)
	for _, p := range m.planItemRuns(m.last.done, m.total-m.last.done, credit) {
		doubt := m.doubtFactor(p.cost)
		likely, low, high = likely+p.expectedSeconds, low+p.expectedSeconds/doubt, high+p.expectedSeconds*doubt
	}
	// Surprises of single seconds cancel each other out, the more the longer it still takes.
	noise := 1 + m.noise/math.Sqrt(max(likely, 1))
	return likely, low / noise, high * noise
}

// doubtFactor returns by what factor a cost may be wrong, nine times in ten. The factor is smaller if more was seen
// of the cost or of its class.
func (m *model) doubtFactor(k *itemCost) float64 {
	switch {
	case k.recentSeconds >= enoughEvidence:
		return 1 + 0.4/(1+k.recentSeconds)
	case k == m.throttle && m.hasKnownLimit:
		return 1.15
	case k.isLearned:
		return 1.4
	case m.secondsByClass[k.class]+m.historySecondsByClass[k.class] >= enoughEvidence:
		return 1.6
	}
	return 2
}

// enoughEvidence is how many seconds of a cost must have been observed.
const enoughEvidence = 1.0

// limitTolerance is how much longer than the limit items may take that wait for it.
const limitTolerance = 1.25

// maxLearnedRatio is the ratio to the expected time beyond which an observation is not learned from.
const maxLearnedRatio = 4.0

// minPauseSeconds is the length, in seconds, of a pause that is not part of an item.
const minPauseSeconds = 5.0
