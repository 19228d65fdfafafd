package forecast

import "maps"

// Cost is what one item takes, and what that stands on.
type Cost struct {
	// Seconds are those of one item.
	Seconds float64 `json:"secondsPerItem"`
	// SeenSeconds is how many seconds of restores it was measured over.
	SeenSeconds float64 `json:"seenSeconds"`
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
	minCost, maxCost = 1e-6, 3600.0
	// most evidence that is kept, so that newer restores outweigh older ones.
	maxSeenSeconds = 60.0
)

// IsValid reports whether c can be used.
func (c Cost) IsValid() bool {
	return c.Seconds >= minCost && c.Seconds <= maxCost && c.SeenSeconds > 0 && c.SeenSeconds <= 1e9
}

// mergeNewer returns c with newer evidence added: their mean, weighted by evidence.
func (c Cost) mergeNewer(newer Cost) Cost {
	switch {
	case !newer.IsValid():
		return c
	case !c.IsValid():
		c = Cost{}
	}
	newer.SeenSeconds, c.SeenSeconds = min(newer.SeenSeconds, maxSeenSeconds), min(c.SeenSeconds, maxSeenSeconds)
	// The mean is over items, not seconds: slow items fill more seconds.
	seconds, items := newer.SeenSeconds, newer.SeenSeconds/newer.Seconds
	if c.SeenSeconds > 0 {
		seconds, items = seconds+c.SeenSeconds, items+c.SeenSeconds/c.Seconds
	}
	return Cost{Seconds: seconds / items, SeenSeconds: min(seconds, maxSeenSeconds)}
}

// MergeNewer returns r with the rates of a newer restore added.
func (r Rates) MergeNewer(newer Rates) Rates {
	all := Rates{Throttle: r.Throttle.mergeNewer(newer.Throttle), Resources: maps.Clone(r.Resources)}
	if all.Resources == nil {
		all.Resources = map[string]Cost{}
	}
	for resource, cost := range newer.Resources {
		if merged := all.Resources[resource].mergeNewer(cost); merged.IsValid() {
			all.Resources[resource] = merged
		}
	}
	return all
}

// What is known about Velero 1.18 and Kubernetes before any observation.
const (
	// requestsPerItem every item takes: create it, patch its managed fields (velero/pkg/restore/restore.go, restoreItem).
	requestsPerItem = 2.0
	// requestsPerExistingItem is the same for an item that exists: Velero reads its namespace, through another client with
	// the same limit, and the item itself from a cache (restoreItem, EnsureNamespaceExistsAndIsReady).
	requestsPerExistingItem = 1.0
	// throttledItemSeconds is the cost of an item that waits for the client's limit of 100 a second
	// (velero/pkg/cmd/server/config/config.go, defaultClientQPS).
	throttledItemSeconds = requestsPerItem / 100
	// defaultMaxCredit is how many seconds' worth of requests the client saves up (--client-burst over --client-qps).
	defaultMaxCredit = 1.0
	// plainItemSeconds is how long an item takes without any limit: two requests to an API server nearby.
	plainItemSeconds = 0.006
	// listSeconds is how long a plugin's list takes: the API server answers once its cache is as new as etcd, for which
	// it asks every 100 ms (k8s.io/apiserver/pkg/storage/cacher/progress; since Kubernetes 1.31).
	listSeconds = 0.1
)

// listedResources are the resources for which Velero's plugins list ConfigMaps or PodVolumeBackups:
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
	classCount
)

func classOf(resource string) class {
	if listedResources[resource] || resource == claimsResource {
		return classListed
	}
	return classPlain
}

// claimsResource is the resource of claims. They bring their volumes along, and the first one its namespace, counted
// in the same step.
const claimsResource = "persistentvolumeclaims"

func priorSeconds(resource string) float64 {
	switch {
	case resource == claimsResource:
		return listSeconds / 2
	case listedResources[resource]:
		return listSeconds
	}
	return plainItemSeconds
}
