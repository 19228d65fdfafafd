package forecast

// left is what the items left take, in seconds, and between which bounds.
func (m *model) left() (likely, low, high float64) {
	parts := m.walk(m.anchor.done, m.last.done-m.anchor.done, m.anchor.credit)
	for i := range parts {
		parts[i].took = parts[i].seconds
	}
	credit := m.creditAfter(parts, m.anchor.credit)
	for _, p := range m.walk(m.last.done, m.total-m.last.done, credit) {
		doubt := m.doubt(p.cost) * (1 + m.noise)
		likely, low, high = likely+p.seconds, low+p.seconds/doubt, high+p.seconds*doubt
	}
	return likely, low, high
}

// doubt is by what factor a cost may be wrong, nine times in ten: the less, the
// more was seen of it, or else of others of its class, in this restore or
// before. The limit's own class is that of the items which may have to wait for
// it.
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
