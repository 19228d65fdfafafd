package forecast

// What is known of Velero 1.18 and Kubernetes before anything was seen.
const (
	// requests are those that every item takes: create it, patch its managed
	// fields (velero/pkg/restore/restore.go, restoreItem).
	requests = 2.0
	// throttled is what an item costs that waits for the client's limit of 100 a
	// second (velero/pkg/cmd/server/config/config.go, defaultClientQPS).
	throttled = requests / 100
	// saved is how many seconds' worth of requests the client saves up:
	// --client-burst over --client-qps.
	saved = 1.0
	// plain is what an item takes without any limit: two requests to an API
	// server nearby.
	plain = 0.006
	// listed is what it takes where a plugin lists something for it. The API
	// server answers from its cache, but not before that is known to be as new
	// as etcd, and it asks for that every 100 ms
	// (k8s.io/apiserver/pkg/storage/cacher/progress). Kubernetes 1.31 began
	// with it.
	listed = 0.1
)

// listedResources are those for whose items Velero's own plugins list
// ConfigMaps or PodVolumeBackups: the selectors of change-image-name,
// change-storage-class and pod-volume-restore in velero/pkg/restore/actions.
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

// claims bring their volumes along, and the first one its namespace, which are
// counted in the same step and cost nothing of the list.
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
