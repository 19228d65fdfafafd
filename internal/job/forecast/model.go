package forecast

import (
	"math"
	"time"
)

// model foresees a restore from one set of costs to begin with.
type model struct {
	steps []step
	total int
	// Costs: of items under the limit, and of each resource without it.
	throttle  *cost
	resources []*cost // by number
	names     []string
	// factor is how much slower than taken each class goes, seen over how many seconds.
	factor [classes]factors
	seen   [classes]float64
	// known is how many seconds each class was seen in earlier restores.
	known [classes]float64
	// saved is how many seconds' worth of requests the client saves up.
	saved float64
	// noise is the mean of the newest surprises.
	noise float64
	// limited is true if the client's limit was read from the server's flags.
	limited bool

	begun        bool
	anchor, last moment
	// whole is how many seconds were learned from.
	whole float64
}

// step is a Step with its resource's number.
type step struct {
	resource int
	items    int
}

// moment is a state of the restore.
type moment struct {
	at   time.Time
	done int
	// credit are the seconds of requests that Velero's client has saved up.
	credit float64
}

func newModel(steps []Step, known Rates, limit Limit) *model {
	m := &model{throttle: newCost(throttled, known.Throttle), saved: saved}
	if limit.QPS > 0 {
		m.throttle = &cost{base: max(requests/limit.QPS, leastCost), trust: limitTrust, learned: true}
		m.saved, m.limited = float64(max(limit.Burst, 1))/limit.QPS, true
	}
	number := map[string]int{}
	mean := known.means()
	for resource, cost := range known.Resources {
		if cost.Valid() {
			m.known[classOf(resource)] += cost.Seen
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
			own := newCost(priorOf(s.Resource)*mean[classOf(s.Resource)], known.Resources[s.Resource])
			own.class, own.mixed = classOf(s.Resource), s.Resource == claims
			m.resources, m.names = append(m.resources, own), append(m.names, s.Resource)
		}
		m.steps = append(m.steps, step{n, s.Items})
		m.total += s.Items
	}
	m.compare()
	return m
}

// means are how much more than their priors the resources of each class cost.
func (r Rates) means() (factor [classes]float64) {
	var mean [classes]mean
	if r.Throttle.Valid() {
		mean[classPlain].add(1, r.Throttle.Seen)
	}
	for resource, known := range r.Resources {
		if known.Valid() && resource != claims {
			mean[classOf(resource)].add(known.Seconds/priorOf(resource), known.Seen)
		}
	}
	for class := range factor {
		factor[class] = mean[class].factor(freshTrust)
	}
	return factor
}

// Intervals shorter than shortest are joined with the next: events may come in bunches.
const shortest = 500 * time.Millisecond

// observe notes done items at a moment; if either goes back, it starts again. surprise is how far off the
// model was, as a logarithm of at most mostSurprise; 0 if unknown.
func (m *model) observe(at time.Time, done int) (surprise float64) {
	switch {
	case !m.begun, at.Before(m.last.at), done < m.last.done:
		m.begin(at, done)
		return 0
	case done == m.last.done:
		return 0
	}
	took := at.Sub(m.anchor.at)
	if took < shortest {
		m.last.at, m.last.done = at, done
		return 0
	}
	parts := m.walk(m.anchor.done, done-m.anchor.done, m.anchor.credit)
	expected := 0.0
	for _, p := range parts {
		expected += p.seconds
	}
	if expected > 0 {
		surprise = min(math.Abs(math.Log(took.Seconds()/expected)), mostSurprise)
		if m.whole > 0 { // before, what is saved up is a guess
			m.noise += (surprise - m.noise) / memory
		}
	}
	m.learn(parts, took.Seconds())
	m.anchor = moment{at, done, m.creditAfter(parts, m.anchor.credit)}
	m.last = m.anchor
	return surprise
}

// memory is how many observations back the noise goes, about.
const memory = 10

// begin starts at some point of the restore. What was saved up until then is reckoned from the restore's beginning.
func (m *model) begin(at time.Time, done int) {
	m.anchor = moment{at, done, m.creditAfter(m.walk(0, done, m.saved), m.saved)}
	m.last = m.anchor
	m.begun = true
}

// part is a run of items of one resource that cost the same.
type part struct {
	// cost is what they cost: own, the resource's, or that of the limit.
	cost, own *cost
	// items is not whole where the credit ends within an item.
	items float64
	// seconds is what the items are reckoned to take, took what they took, which is the same until it is learned.
	seconds, took float64
}

func newPart(cost, own *cost, items, each float64) part {
	return part{cost: cost, own: own, items: items, seconds: items * each, took: items * each}
}

// walk reckons what n items take after the first from, with credit saved up.
func (m *model) walk(from, n int, credit float64) (parts []part) {
	wait := m.seconds(m.throttle)
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
		each, free := m.seconds(own), float64(items)
		if each < wait {
			free = min(free, credit/(wait-each))
		}
		if free > 0 {
			parts = append(parts, newPart(own, own, free, each))
			credit = min(max(credit+free*(each-wait), 0), m.saved)
		}
		if held := float64(items) - free; held > 0 {
			parts = append(parts, newPart(m.throttle, own, held, wait))
			credit = 0
		}
	}
	return parts
}

// creditAfter is what is saved up once parts have taken the time they took.
func (m *model) creditAfter(parts []part, credit float64) float64 {
	wait := m.seconds(m.throttle)
	for _, p := range parts {
		if p.cost == m.throttle {
			credit = 0
			continue
		}
		credit = min(max(credit+p.took-p.items*wait, 0), m.saved)
	}
	return credit
}

// left is what the items left take, in seconds, and between which bounds.
func (m *model) left() (likely, low, high float64) {
	credit := m.creditAfter(m.walk(m.anchor.done, m.last.done-m.anchor.done, m.anchor.credit), m.anchor.credit)
	for _, p := range m.walk(m.last.done, m.total-m.last.done, credit) {
		doubt := m.doubt(p.cost) * (1 + m.noise)
		likely, low, high = likely+p.seconds, low+p.seconds/doubt, high+p.seconds*doubt
	}
	return likely, low, high
}

// doubt is by what factor a cost may be wrong, nine times in ten: the less, the more was seen of it or of its class.
func (m *model) doubt(k *cost) float64 {
	switch {
	case k.seen >= enough:
		return 1 + 0.4/(1+k.seen)
	case k == m.throttle && m.limited:
		return 1.15
	case k.learned:
		return 1.4
	case m.seen[k.class]+m.known[k.class] >= enough:
		return 1.6
	}
	return 2
}

// enough are the seconds of a cost that must have been seen.
const enough = 1.0

// beyond is how much more than the limit items may take that wait for it.
const beyond = 1.25

// odd is how many times longer or shorter than reckoned is not learned from.
const odd = 4.0

// longPause is what a pause lasts, in seconds, that is no part of an item.
const longPause = 5.0
