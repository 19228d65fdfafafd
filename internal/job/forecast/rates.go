package forecast

import "maps"

// Cost is what one item takes, and what that stands on.
type Cost struct {
	// Seconds are those of one item.
	Seconds float64 `json:"secondsPerItem"`
	// Seen is how many seconds of restores it was measured over.
	Seen float64 `json:"seenSeconds"`
}

// Rates are what was learned from restores of one cluster; zero if nothing was.
type Rates struct {
	// Throttle is the cost of an item that waits for Velero's limit of requests a second.
	Throttle Cost `json:"throttle,omitzero"`
	// Resources are the costs of other items, by resource ("deployments.apps").
	Resources map[string]Cost `json:"resources"`
}

// The bounds of a plausible cost: Velero restores neither a million items a second nor one an hour.
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

// What is known of Velero 1.18 and Kubernetes before anything was seen.
const (
	// requests every item takes: create it, patch its managed fields (velero/pkg/restore/restore.go, restoreItem).
	requests = 2.0
	// throttled is what an item costs that waits for the client's limit of 100 a
	// second (velero/pkg/cmd/server/config/config.go, defaultClientQPS).
	throttled = requests / 100
	// saved is how many seconds' worth of requests the client saves up (--client-burst over --client-qps).
	saved = 1.0
	// plain is what an item takes without any limit: two requests to an API server nearby.
	plain = 0.006
	// listed is a plugin's list: the API server answers once its cache is as new as etcd, for which it
	// asks every 100 ms (k8s.io/apiserver/pkg/storage/cacher/progress; since Kubernetes 1.31).
	listed = 0.1
)

// listedResources are those for which Velero's plugins list ConfigMaps or PodVolumeBackups:
// change-image-name, change-storage-class and pod-volume-restore in velero/pkg/restore/actions.
var listedResources = map[string]bool{
	"pods":                   true,
	"replicasets.apps":       true,
	"deployments.apps":       true,
	"statefulsets.apps":      true,
	"daemonsets.apps":        true,
	"replicationcontrollers": true,
	"jobs.batch":             true,
	"cronjobs.batch":         true,
	"persistentvolumes":      true,
}

// class groups resources that get faster or slower together.
type class int

const (
	classPlain class = iota
	classListed
	classes
)

func classOf(resource string) class {
	if listedResources[resource] || resource == claims {
		return classListed
	}
	return classPlain
}

// claims bring their volumes along, and the first one its namespace, counted in the same step.
const claims = "persistentvolumeclaims"

func priorOf(resource string) float64 {
	switch {
	case resource == claims:
		return listed / 2
	case listedResources[resource]:
		return listed
	}
	return plain
}
