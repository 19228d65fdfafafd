package forecast

import "math"

// cost is what an item of one resource costs, as far as is known.
type cost struct {
	class class // classPlain of the limit
	mixed bool  // its items are not all of one resource
	// base is what it is taken to cost before this restore, and trust how many seconds of evidence that counts for.
	base, trust float64
	learned     bool // base stems from earlier restores
	// seen and items are the newest of this restore, allSeen and allItems all of them.
	seen, items       float64
	held              float64 // seconds in which its items waited for the limit
	allSeen, allItems float64
}

const (
	// Evidence of the prior and of what was learned, in seconds.
	priorTrust, learnedTrust = 0.5, 2.0
	// limitTrust is that of a limit read from the server's flags.
	limitTrust = 2.0
	// classTrust is what one class is taken to go as before.
	classTrust = 1.5
	// freshTrust is the same for resources of which only the prior is known.
	freshTrust = 0.3
	// mostWeight is what one resource counts for at most in its class.
	mostWeight = 2.0
	// recent is how many seconds of a cost's own evidence are kept.
	recent = 20.0
)

func newCost(prior float64, known Cost) *cost {
	if known.Valid() {
		// base is prior and learned, weighed.
		trust := min(known.Seen, learnedTrust)
		base := blend(known.Seen, known.Seen/known.Seconds, prior, priorTrust)
		return &cost{base: base, trust: priorTrust + trust, learned: true}
	}
	return &cost{base: prior, trust: priorTrust}
}

// blend is the cost of an item of which some took seconds, and which was taken to cost base, with trust in seconds.
func blend(seconds, items, base, trust float64) float64 {
	if items <= 0 || seconds <= 0 {
		return base
	}
	before := trust / max(base, seconds/items)
	return (seconds + before*base) / (items + before)
}

// seconds is what an item costs now.
func (m *model) seconds(k *cost) float64 {
	base := k.base
	if k != m.throttle {
		f := m.factor[k.class]
		if base += m.farther(k); k.learned {
			base *= f.learned
		} else {
			base *= f.fresh
		}
	}
	return blend(k.seen, k.items, base, k.trust)
}

// farther is what listing costs more if the API server is far: the list ends at its next tick, so other
// requests cost more only once they fill the time between two ticks.
func (m *model) farther(k *cost) float64 {
	if k.learned || k.class != classListed {
		return 0
	}
	return max(0, 2*plain*m.factor[classPlain].fresh-listed)
}

// compare reckons how much slower than taken each class goes, for the resources to come.
func (m *model) compare() {
	for class := range m.factor { // listed after plain, which it builds upon
		var ratio mean
		m.seen[class] = 0
		for _, k := range m.resources {
			if int(k.class) != class {
				continue
			}
			m.seen[class] += k.seen
			if k.held > 0 {
				ratio.add(1, k.held)
			}
			if k.seen > 0 && k.items > 0 && !k.mixed {
				ratio.add(k.seen/k.items/(k.base+m.farther(k)), k.seen)
			}
		}
		m.factor[class] = factors{fresh: ratio.factor(freshTrust), learned: ratio.factor(classTrust)}
	}
}

// factors are how much slower than taken a class goes: resources not known before, and learned ones.
type factors struct{ fresh, learned float64 }

// mean is a geometric mean of ratios, in which none outweighs all others, such as a resource with a slow webhook.
type mean struct{ sum, weight float64 }

func (m *mean) add(ratio, seconds float64) {
	weight := min(seconds, mostWeight)
	m.sum, m.weight = m.sum+weight*math.Log(ratio), m.weight+weight
}

// factor is the mean, the nearer to 1 the less is known.
func (m mean) factor(trust float64) float64 { return math.Exp(m.sum / (m.weight + trust)) }

// learn shares the time that parts took out among them: each gets what it was
// reckoned to take, and the less is known of it the more of the difference.
func (m *model) learn(parts []part, took float64) {
	wait := m.seconds(m.throttle)
	var reckoned, doubt float64
	doubts := make([]float64, len(parts))
	for i, p := range parts {
		reckoned += p.seconds
		doubts[i] = p.seconds / (p.cost.trust + p.cost.seen)
		doubt += doubts[i]
	}
	if reckoned <= 0 {
		return
	}
	// Ignore pauses and jumps: neither is the cost of an item.
	whole := took
	took = max(min(took, max(longPause, odd*reckoned)), reckoned/odd)
	usual := took == whole
	for i := range parts {
		p := &parts[i]
		p.took = max(p.seconds+(took-reckoned)*doubts[i]/doubt, p.seconds/10)
		k := m.blamed(p, wait)
		p.cost = k // so that nothing was saved up if it waited
		if k == m.throttle {
			p.own.held += p.took
			if m.limited { // what was faster had more saved up than reckoned
				p.took = max(p.took, p.items*k.base)
			}
		}
		k.seen, k.items = k.seen+p.took, k.items+p.items
		if usual {
			k.allSeen, k.allItems = k.allSeen+p.took, k.allItems+p.items
		}
		if k.seen > recent {
			k.items *= recent / k.seen
			k.seen = recent
		}
	}
	m.whole += took
	m.compare()
}

// blamed is the cost that a part is evidence of; wait is that of the limit, the same for all: what takes
// longer is slow itself, what takes just that had nothing saved up.
func (m *model) blamed(p *part, wait float64) *cost {
	each := p.took / p.items
	switch {
	case p.cost == m.throttle && each > beyond*wait:
		return p.own
	case p.cost == p.own && p.seconds < p.items*wait && each > wait/beyond && each < beyond*wait:
		return m.throttle
	}
	return p.cost
}

// rates are the rates that this restore shows.
func (m *model) rates() Rates {
	r := Rates{Resources: map[string]Cost{}, Throttle: m.throttle.measured()}
	for i, k := range m.resources {
		if l := k.measured(); l.Valid() {
			r.Resources[m.names[i]] = l
		}
	}
	return r
}

func (k *cost) measured() Cost {
	if k.allItems < 1 || k.allSeen <= 0 {
		return Cost{}
	}
	return Cost{Seconds: k.allSeen / k.allItems, Seen: k.allSeen}
}
