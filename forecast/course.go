package forecast

import "time"

// Step is the items of one resource, where its turn comes in a restore.
type Step struct {
	Resource string
	Items    int
}

// Course follows one restore. It may be used by one goroutine at a time.
type Course struct {
	steps []step
	total int
	// Costs: of items under the limit, and of each resource without it.
	throttle  *cost
	resources []*cost // by number
	names     []string
	// factor is how much slower than taken each class goes, seen over how many
	// seconds.
	factor [classes]factors
	seen   [classes]float64
	// known is how many seconds each class was seen in earlier restores.
	known [classes]float64

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

// NewCourse follows a restore with these steps in a cluster where known was
// learned before.
func NewCourse(steps []Step, known Rates) *Course {
	c := &Course{throttle: newCost(throttled, known.Throttle)}
	number := map[string]int{}
	mean := known.means()
	for resource, cost := range known.Resources {
		if cost.Valid() {
			c.known[classOf(resource)] += cost.Seen
		}
	}
	for _, s := range steps {
		if s.Items <= 0 {
			continue
		}
		n, ok := number[s.Resource]
		if !ok {
			n = len(c.resources)
			number[s.Resource] = n
			own := newCost(priorOf(s.Resource)*mean[classOf(s.Resource)], known.Resources[s.Resource])
			own.class, own.mixed = classOf(s.Resource), s.Resource == claims
			c.resources, c.names = append(c.resources, own), append(c.names, s.Resource)
		}
		c.steps = append(c.steps, step{n, s.Items})
		c.total += s.Items
	}
	c.compare()
	return c
}

// means are how much more than their priors the resources of each class were
// found to cost.
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

// Intervals shorter than shortest are joined with the next: events may come in
// bunches.
const shortest = 500 * time.Millisecond

// Observe tells that done items were restored at a moment. Moments and items
// that went back begin anew.
func (c *Course) Observe(at time.Time, done int) {
	switch {
	case !c.begun:
		c.begin(at, done)
		return
	case at.Before(c.last.at) || done < c.last.done:
		c.begin(at, done)
		return
	case done == c.last.done:
		return
	}
	took := at.Sub(c.anchor.at)
	if took < shortest {
		c.last.at, c.last.done = at, done
		return
	}
	parts := c.walk(c.anchor.done, done-c.anchor.done, c.anchor.credit)
	c.learn(parts, took.Seconds())
	c.anchor = moment{at, done, c.creditAfter(parts, c.anchor.credit)}
	c.last = c.anchor
}

// begin starts to follow at some point of the restore. What has been saved up
// until then is reckoned from the restore's own beginning.
func (c *Course) begin(at time.Time, done int) {
	parts := c.walk(0, done, saved)
	for i := range parts {
		parts[i].took = parts[i].seconds
	}
	c.anchor = moment{at, done, c.creditAfter(parts, saved)}
	c.last = c.anchor
	c.begun = true
}

// Break says that news may have been missed until now: the time to the next
// observation tells nothing.
func (c *Course) Break() { c.begun = false }
