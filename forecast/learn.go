package forecast

import (
	"math"
	"time"
)

// cost is what an item of one resource costs, as far as is known.
type cost struct {
	class class // classPlain of the limit
	mixed bool  // its items are not all of one resource
	// base is what it is taken to cost before this restore, and trust how many
	// seconds of evidence that counts for.
	base, trust float64
	learned     bool // base stems from earlier restores
	// seen and items are the newest seconds and items of this restore;
	// allSeen and allItems are all of them.
	seen, items       float64
	held              float64 // seconds in which its items waited for the limit
	allSeen, allItems float64
}

const (
	// Evidence of the prior and of what was learned, in seconds.
	priorTrust, learnedTrust = 0.5, 2.0
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

// blend is the cost of an item if items took seconds, and before that one was
// taken to cost base with the given trust in seconds.
func blend(seconds, items, base, trust float64) float64 {
	if items <= 0 || seconds <= 0 {
		return base
	}
	before := trust / max(base, seconds/items)
	return (seconds + before*base) / (items + before)
}

// seconds is what an item costs now.
func (c *Course) seconds(k *cost) float64 {
	base := k.base
	if k != c.throttle {
		base = (base + c.farther(k)) * c.factor[k.class].of(k)
	}
	return blend(k.seen, k.items, base, k.trust)
}

// farther is what an item of a listed resource costs more than its prior
// because the API server is farther away than taken: it is created too.
func (c *Course) farther(k *cost) float64 {
	if k.learned || k.class != classListed {
		return 0
	}
	return max(0, plain*(c.factor[classPlain].fresh-1))
}

// compare reckons for each class how much slower than taken it goes in this
// restore, which counts for the resources to come.
func (c *Course) compare() {
	for class := range c.factor { // listed after plain, which it builds upon
		var ratio mean
		c.seen[class] = 0
		for _, k := range c.resources {
			if int(k.class) != class {
				continue
			}
			c.seen[class] += k.seen
			if k.held > 0 {
				ratio.add(1, k.held)
			}
			if k.seen > 0 && k.items > 0 && !k.mixed {
				ratio.add(k.seen/k.items/(k.base+c.farther(k)), k.seen)
			}
		}
		c.factor[class] = factors{fresh: ratio.factor(freshTrust), learned: ratio.factor(classTrust)}
	}
}

// factors are how much slower than taken a class goes: resources of which
// nothing was known before, and those that were learned.
type factors struct{ fresh, learned float64 }

func (f factors) of(k *cost) float64 {
	if k.learned {
		return f.learned
	}
	return f.fresh
}

// mean is a geometric mean of ratios, in which none outweighs all the others:
// one resource with a slow webhook says little about the rest of its class.
type mean struct{ sum, weight float64 }

func (m *mean) add(ratio, seconds float64) {
	weight := min(seconds, mostWeight)
	m.sum, m.weight = m.sum+weight*math.Log(ratio), m.weight+weight
}

// factor is the mean, the nearer to 1 the less is known.
func (m mean) factor(trust float64) float64 { return math.Exp(m.sum / (m.weight + trust)) }

// learn shares the time that parts took out among them: each gets what it was
// reckoned to take, and the less is known of it the more of the difference.
func (c *Course) learn(parts []part, took float64) {
	wait := c.seconds(c.throttle)
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
	// A pause is no cost of an item, nor is a leap, of which some of the time
	// was missed. What was reckoned far off comes near with the next ones.
	whole := took
	took = max(min(took, max(longPause, odd*reckoned)), reckoned/odd)
	usual := took == whole
	for i := range parts {
		p := &parts[i]
		p.took = max(p.seconds+(took-reckoned)*doubts[i]/doubt, p.seconds/10)
		k := c.blamed(p, wait)
		if k == c.throttle {
			p.own.held += p.took
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
	c.whole += took
	c.compare()
}

// blamed is the cost that a part tells of, while an item under the limit costs
// wait: the limit is the same for all, so a resource that takes longer is slow
// itself, and one that takes just that long had nothing saved up.
func (c *Course) blamed(p *part, wait float64) *cost {
	each := p.took / p.items
	switch {
	case p.cost == c.throttle && each > beyond*wait:
		return p.own
	case p.cost == p.own && p.seconds < p.items*wait && each > wait/beyond && each < beyond*wait:
		return c.throttle
	}
	return p.cost
}

// Learned is what this restore tells about the cluster.
func (c *Course) Learned() Rates {
	r := Rates{Resources: map[string]Cost{}, Throttle: c.throttle.learnt()}
	for i, k := range c.resources {
		if l := k.learnt(); l.Valid() {
			r.Resources[c.names[i]] = l
		}
	}
	return r
}

func (k *cost) learnt() Cost {
	if k.allItems < 1 || k.allSeen <= 0 {
		return Cost{}
	}
	return Cost{Seconds: k.allSeen / k.allItems, Seen: k.allSeen}
}

// Left is the time that the items left take from a moment on, which is that of
// the last observation or later. ok is false while too much of it would be a
// guess, and where the steps cannot be right: then more was restored than they
// have.
func (c *Course) Left(at time.Time) (left time.Duration, ok bool) {
	if !c.begun || c.last.done >= c.total {
		return 0, false
	}
	parts := c.walk(c.anchor.done, c.last.done-c.anchor.done, c.anchor.credit)
	for i := range parts {
		parts[i].took = parts[i].seconds
	}
	credit := c.creditAfter(parts, c.anchor.credit)
	var seconds, guessed float64
	for _, p := range c.walk(c.last.done, c.total-c.last.done, credit) {
		seconds += p.seconds
		if !c.founded(p.cost) {
			guessed += p.seconds
		}
	}
	if c.whole < begun && !c.experienced() || guessed > mostGuessed*seconds {
		return 0, false
	}
	left = time.Duration(seconds * float64(time.Second))
	return max(left-max(at.Sub(c.last.at), 0), 0), true
}

// Exceeded reports whether more items were restored than the steps have.
func (c *Course) Exceeded() bool { return c.begun && c.last.done > c.total }

// experienced reports whether anything was learned before.
func (c *Course) experienced() bool {
	return c.throttle.learned || c.known != [classes]float64{}
}

// founded reports whether a cost stands on more than what is known of Velero in
// general: on itself, or on others of its class, in this restore or before.
// The limit's own class is that of the items which may have to wait for it.
func (c *Course) founded(k *cost) bool {
	return k.learned || k.seen >= enough || c.seen[k.class]+c.known[k.class] >= enough
}

// mostGuessed is the share of the time left that may stand on nothing but what
// is known of Velero in general.
const mostGuessed = 2.0 / 3

// enough are the seconds of a cost that must have been seen, and begun those of
// the whole restore where nothing was learned before.
const enough, begun = 1.0, 2.0

// beyond is how much more than the limit items may take that wait for it.
const beyond = 1.25

// odd is how many times longer or shorter than reckoned is not learned from.
const odd = 4.0

// longPause is what a pause lasts, in seconds, that is no part of an item.
const longPause = 5.0
