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

// observe notes that done items were restored at a moment; if either goes back, it starts again.
// surprise is how far off the model was since the last observation, as a logarithm of at most
// mostSurprise; 0 if unknown.
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
	if expected := seconds(parts); expected > 0 {
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

func seconds(parts []part) (sum float64) {
	for _, p := range parts {
		sum += p.seconds
	}
	return sum
}

// begin starts to follow at some point of the restore. What has been saved up
// until then is reckoned from the restore's own beginning.
func (m *model) begin(at time.Time, done int) {
	m.anchor = moment{at, done, m.creditAfter(m.walk(0, done, m.saved), m.saved)}
	m.last = m.anchor
	m.begun = true
}
