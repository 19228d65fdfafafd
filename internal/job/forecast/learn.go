package forecast

import "math"

// itemCost is what is known about the cost of an item of one resource.
type itemCost struct {
	class             class // classPlain for the limit
	hasMixedResources bool  // its items do not all have the same resource
	// baseSeconds is the cost assumed before this restore, and trust how many seconds of evidence that counts for.
	baseSeconds, baseTrust float64
	isLearned              bool // base comes from earlier restores
	// recentSeconds and items are the newest evidence of this restore, totalSeconds and totalItems all of it.
	recentSeconds, recentItems float64
	waitSeconds                float64 // seconds in which its items waited for the limit
	totalSeconds, totalItems   float64
}

const (
	// The evidence of the prior and of learned rates, in seconds.
	priorTrust, learnedTrust = 0.5, 2.0
	// limitTrust is the evidence of a limit that was read from the server's flags.
	limitTrust = 2.0
	// classTrust is the evidence for the assumption that a class is as fast as before.
	classTrust = 1.5
	// unseenTrust is the same for resources of which only the prior is known.
	unseenTrust = 0.3
	// maxWeight is the largest weight of one resource in its class.
	maxWeight = 2.0
	// maxRecentEvidence is how many seconds of a cost's own evidence are kept.
	maxRecentEvidence = 20.0
)

func newCost(prior float64, known Cost) *itemCost {
	if known.IsValid() {
		// base is the weighted mean of the prior and the learned cost.
		trust := min(known.SeenSeconds, learnedTrust)
		base := blendCost(known.SeenSeconds, known.SeenSeconds/known.Seconds, prior, priorTrust)
		return &itemCost{baseSeconds: base, baseTrust: priorTrust + trust, isLearned: true}
	}
	return &itemCost{baseSeconds: prior, baseTrust: priorTrust}
}

// blendCost returns the cost of an item, given that items took seconds, and a previous cost base with trust in
// seconds.
func blendCost(seconds, items, base, trust float64) float64 {
	if items <= 0 || seconds <= 0 {
		return base
	}
	before := trust / max(base, seconds/items)
	return (seconds + before*base) / (items + before)
}

// secondsPerItem returns the current cost of an item.
func (m *model) secondsPerItem(k *itemCost) float64 {
	base := k.baseSeconds
	if k != m.throttle {
		f := m.factorByClass[k.class]
		if base += m.distanceCost(k); k.isLearned {
			base *= f.learned
		} else {
			base *= f.fresh
		}
	}
	return blendCost(k.recentSeconds, k.recentItems, base, k.baseTrust)
}

// distanceCost returns how much more listing costs if the API server is far away: the list ends at its next tick, so
// other requests cost more only once they fill the time between two ticks.
func (m *model) distanceCost(k *itemCost) float64 {
	if k.isLearned || k.class != classListed {
		return 0
	}
	return max(0, 2*plainItemSeconds*m.factorByClass[classPlain].fresh-listSeconds)
}

// updateFactors computes how much slower each class is than assumed, for the resources still to come.
func (m *model) updateFactors() {
	for class := range m.factorByClass { // classListed after classPlain, on which it depends
		var ratio ratioMean
		m.secondsByClass[class] = 0
		for _, k := range m.resources {
			if int(k.class) != class {
				continue
			}
			m.secondsByClass[class] += k.recentSeconds
			if k.waitSeconds > 0 {
				ratio.addRatio(1, k.waitSeconds)
			}
			if k.recentSeconds > 0 && k.recentItems > 0 && !k.hasMixedResources {
				ratio.addRatio(k.recentSeconds/k.recentItems/(k.baseSeconds+m.distanceCost(k)), k.recentSeconds)
			}
		}
		m.factorByClass[class] = classFactor{
			fresh:   ratio.estimateFactor(unseenTrust),
			learned: ratio.estimateFactor(classTrust),
		}
	}
}

// classFactor are how much slower a class is than assumed: for resources not known before, and for learned ones.
type classFactor struct{ fresh, learned float64 }

// ratioMean is a geometric mean of ratios in which no ratio outweighs all others, such as that of a resource with a
// slow webhook.
type ratioMean struct{ sum, weight float64 }

func (m *ratioMean) addRatio(ratio, seconds float64) {
	weight := min(seconds, maxWeight)
	m.sum, m.weight = m.sum+weight*math.Log(ratio), m.weight+weight
}

// estimateFactor returns the mean, which is nearer to 1 the less is known.
func (m ratioMean) estimateFactor(trust float64) float64 { return math.Exp(m.sum / (m.weight + trust)) }

// learnFromRuns distributes the time that parts took among them: each gets its expected time, and a share of the
// difference that is larger the less is known about it.
func (m *model) learnFromRuns(parts []itemRun, took float64) {
	wait := m.secondsPerItem(m.throttle)
	var reckoned, doubt float64
	doubts := make([]float64, len(parts))
	for i, p := range parts {
		reckoned += p.expectedSeconds
		doubts[i] = p.expectedSeconds / (p.cost.baseTrust + p.cost.recentSeconds)
		doubt += doubts[i]
	}
	if reckoned <= 0 {
		return
	}
	// Ignore pauses and jumps: neither is the cost of an item.
	whole := took
	took = max(min(took, max(minPauseSeconds, maxLearnedRatio*reckoned)), reckoned/maxLearnedRatio)
	usual := took == whole
	for i := range parts {
		p := &parts[i]
		p.actualSeconds = max(p.expectedSeconds+(took-reckoned)*doubts[i]/doubt, p.expectedSeconds/10)
		k := m.findBlamedCost(p, wait)
		p.cost = k // so that no credit is assumed if it waited
		if k == m.throttle {
			p.ownCost.waitSeconds += p.actualSeconds
			if m.hasKnownLimit { // faster items had more credit than assumed
				p.actualSeconds = max(p.actualSeconds, p.items*k.baseSeconds)
			}
		}
		k.recentSeconds, k.recentItems = k.recentSeconds+p.actualSeconds, k.recentItems+p.items
		if usual {
			k.totalSeconds, k.totalItems = k.totalSeconds+p.actualSeconds, k.totalItems+p.items
		}
		if k.recentSeconds > maxRecentEvidence {
			k.recentItems *= maxRecentEvidence / k.recentSeconds
			k.recentSeconds = maxRecentEvidence
		}
	}
	m.learnedSeconds += took
	m.updateFactors()
}

// findBlamedCost returns the cost for which a part is evidence; wait is the cost of the limit, the same for all
// resources. Items that take longer are slow themselves; items that take just that long had no credit.
func (m *model) findBlamedCost(p *itemRun, wait float64) *itemCost {
	each := p.actualSeconds / p.items
	switch {
	case p.cost == m.throttle && each > limitTolerance*wait:
		return p.ownCost
	case p.cost == p.ownCost && p.expectedSeconds < p.items*wait &&
		each > wait/limitTolerance && each < limitTolerance*wait:
		return m.throttle
	}
	return p.cost
}

// learnedRates returns the rates that this restore shows.
func (m *model) learnedRates() Rates {
	r := Rates{Resources: map[string]Cost{}, Throttle: m.throttle.measuredCost()}
	for i, k := range m.resources {
		if l := k.measuredCost(); l.IsValid() {
			r.Resources[m.names[i]] = l
		}
	}
	return r
}

func (k *itemCost) measuredCost() Cost {
	if k.totalItems < 1 || k.totalSeconds <= 0 {
		return Cost{}
	}
	return Cost{Seconds: k.totalSeconds / k.totalItems, SeenSeconds: k.totalSeconds}
}
