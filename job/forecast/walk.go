package forecast

// part is a run of items of one resource that cost the same.
type part struct {
	// cost is what they cost: own, the resource's, or that of the limit.
	cost, own *cost
	// items is not whole where the credit ends within an item.
	items float64
	// seconds is what the items are reckoned to take, took what they took.
	seconds, took float64
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
			parts = append(parts, part{cost: own, own: own, items: free, seconds: free * each})
			credit = min(max(credit+free*(each-wait), 0), m.saved)
		}
		if held := float64(items) - free; held > 0 {
			parts = append(parts, part{cost: m.throttle, own: own, items: held, seconds: held * wait})
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
