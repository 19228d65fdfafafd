package forecast

import "maps"

// Cost is what one item takes, and what that stands on.
type Cost struct {
	// Seconds are those of one item.
	Seconds float64
	// Seen is how many seconds of restores it was measured over.
	Seen float64
}

// Rates are what was learned from restores of one cluster. The zero value is
// of a cluster about which nothing was learned.
type Rates struct {
	// Throttle is the cost of an item that waits for Velero's own limit of
	// requests a second.
	Throttle Cost
	// Resources are the costs of items that do not wait for it, by resource
	// ("deployments.apps").
	Resources map[string]Cost
}

// The bounds of a cost that can be meant: Velero restores neither a million
// items a second nor one an hour.
const (
	leastCost, mostCost = 1e-6, 3600.0
	// most evidence that is kept, so that newer restores outweigh older ones.
	mostSeen = 60.0
)

// Valid reports whether c can be used.
func (c Cost) Valid() bool {
	return c.Seconds >= leastCost && c.Seconds <= mostCost && c.Seen > 0 && c.Seen <= 1e9
}

// with is c after more was seen: their mean, weighed by evidence.
func (c Cost) with(newer Cost) Cost {
	switch {
	case !newer.Valid():
		return c
	case !c.Valid():
		c = Cost{}
	}
	newer.Seen, c.Seen = min(newer.Seen, mostSeen), min(c.Seen, mostSeen)
	// The mean is one of items, not of seconds: what is slow fills more seconds.
	seconds, items := newer.Seen, newer.Seen/newer.Seconds
	if c.Seen > 0 {
		seconds, items = seconds+c.Seen, items+c.Seen/c.Seconds
	}
	return Cost{Seconds: seconds / items, Seen: min(seconds, mostSeen)}
}

// With is r after a restore with the rates newer.
func (r Rates) With(newer Rates) Rates {
	all := Rates{Throttle: r.Throttle.with(newer.Throttle), Resources: maps.Clone(r.Resources)}
	if all.Resources == nil {
		all.Resources = map[string]Cost{}
	}
	for resource, cost := range newer.Resources {
		if merged := all.Resources[resource].with(cost); merged.Valid() {
			all.Resources[resource] = merged
		}
	}
	return all
}
