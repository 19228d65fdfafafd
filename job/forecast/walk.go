package forecast

// part is a run of items of one resource that cost the same.
type part struct {
	// cost is what they cost: own, the resource's, or that of the limit.
	cost, own *cost
	// items is not whole where the credit ends within an item.
	items float64
	// seconds is what the items are reckoned to take, took what they took, which is
	// the same until it is learned.
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

// doubt is by what factor a cost may be wrong, nine times in ten: the less, the more was seen of
// it or of its class, in this restore or before.
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
