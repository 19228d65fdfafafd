package verify

import (
	"cmp"
	"strings"

	"github.com/vmware-tanzu/velero/pkg/label"

	"github.com/veltui/veltui/internal/restore/live"
	"github.com/veltui/veltui/internal/restore/prepare"
	"github.com/veltui/veltui/internal/stored/results"
)

// discarded are the resources that Velero's own plugins skip where the data comes back in another
// way (pkg/restore/restore.go for volumes, pkg/restore/actions for the rest, 1.18.3).
var discarded = map[string]bool{
	"persistentvolumes":                              true,
	"datauploads.velero.io":                          true,
	"volumesnapshots.snapshot.storage.k8s.io":        true,
	"volumesnapshotcontents.snapshot.storage.k8s.io": true,
}

// comeAndGo are resources that the cluster makes and deletes by itself.
var comeAndGo = map[string]string{
	"events":                     "the cluster deletes events after an hour",
	"events.events.k8s.io":       "the cluster deletes events after an hour",
	"leases.coordination.k8s.io": "who holds a lease makes and deletes it",
}

// renamed is why snapshots are not there under the name that the backup has: Velero names them after the
// restore, and since 1.17 lists them by that name. It does the same with a volume whose name is taken when it
// clones a namespace (pkg/restore/actions/csi, pkg/restore/request.go, 1.18.3).
const renamed = "Velero restores snapshots, and volumes whose name is taken, under another name"

// differing is why Velero found an object different that it left, though it may not be; empty if nothing is known.
// Package prepare has what Velero drops before it compares. With the policy update it patches its labels into each
// object, and finds it different ever after: it compares metadata.managedFields (pkg/restore/restore.go, restoreItem,
// 1.18.3).
func (j *judge) differing(resource string, o live.Object) string {
	what := prepare.Differing(resource, j.Mapped)
	switch {
	case resource == "persistentvolumes":
		what = "what binds it to its claim"
	case resource == "secrets" && o.Token:
		what = "the token in it"
	}
	switch {
	case what != "":
		return "always finds it different, because it drops " + what + " before it compares"
	case o.ByVelero && o.Backup == label.GetValidName(j.Backup) && o.Restore != j.label:
		return "finds it different after an earlier restore of this backup wrote to it, because it compares who wrote what"
	}
	return ""
}

// keptByCluster are resources that the cluster keeps writing to, so that Velero
// finds one that differs, also where the cluster made it for what Velero just restored.
var keptByCluster = map[string]bool{
	"leases.coordination.k8s.io":      true,
	"endpoints":                       true,
	"endpointslices.discovery.k8s.io": true,
	"events":                          true,
	"events.events.k8s.io":            true,
}

// isCompared reports whether the content of an object tells something. An object with a controller is left to that one,
// which writes it again as it wants; volumes and snapshots are judged by their data.
func isCompared(resource, name string, o live.Object) bool {
	return o.Owner == "" && !keptByCluster[resource] && comeAndGo[resource] == "" && !discarded[resource] &&
		!clustersOwn[[2]string{resource, name}]
}

// makers are resources whose controllers make others, named after them with an end that changes.
var makers = map[string][]string{
	"pods":                     {"replicasets.apps", "daemonsets.apps", "jobs.batch", "replicationcontrollers"},
	"replicasets.apps":         {"deployments.apps"},
	"controllerrevisions.apps": {"statefulsets.apps", "daemonsets.apps"},
}

// clustersOwn are objects that the cluster writes into each namespace itself, so that
// one of another cluster always differs: resource and name.
var clustersOwn = map[[2]string]bool{
	{"configmaps", "kube-root-ca.crt"}:         true,
	{"configmaps", "openshift-service-ca.crt"}: true,
	{"serviceaccounts", "default"}:             true,
}

// parents are the items of a restore that make others, by resource, namespace and name.
type parents map[[3]string]bool

func parentsOf(items results.Items) parents {
	makes := map[string]bool{}
	for _, of := range makers {
		for _, resource := range of {
			makes[resource] = true
		}
	}
	p := parents{}
	for _, k := range items.Kinds {
		for _, i := range k.Items {
			if makes[k.Name] && i.Did != results.LeftOut {
				p[[3]string{k.Name, i.Namespace, i.Name}] = true
			}
		}
	}
	return p
}

// passing is why it is no loss that an item is not there; empty if that is one, or if nothing tells that it is
// not. Endpoints pass only with their Service, which is then the loss: the cluster deletes them when it goes
// (k8s.io/kubernetes pkg/controller/endpoint, syncService), and nothing makes others again.
func (j *judge) passing(resource string, i results.Item) string {
	if why := comeAndGo[resource]; why != "" {
		return why
	}
	switch resource {
	case "jobs.batch":
		if i.Did != results.Missing || j.Unlisted && !j.SoFar {
			return "the cluster deletes jobs that are done, by their TTL or their CronJob's history; whether this one " +
				"ran is not known"
		}
	case "endpoints":
		if _, seen := j.Target.Find("services", i.Namespace, i.Name); seen == live.Absent {
			return "the cluster deletes endpoints with their service, which is not there"
		}
	case "endpointslices.discovery.k8s.io":
		if base, _ := generated(i.Name); base != "" {
			return "the cluster makes it for a service, and gives the next another name"
		}
	case "replicasets.apps", "controllerrevisions.apps":
		return j.parents.maker(resource, i.Namespace, hashed(i.Name))
	case "pods":
		base, whole := generated(i.Name)
		if base == "" {
			return ""
		}
		why := "its name was generated: whoever made it gives the next another name"
		if whole {
			why = cmp.Or(j.parents.maker(resource, i.Namespace, base), why)
		}
		return why
	}
	return ""
}

// maker says who makes items of a resource under names that begin with base.
func (p parents) maker(resource, namespace, base string) string {
	for _, maker := range makers[resource] {
		if p[[3]string{maker, namespace, base}] {
			kind, _, _ := strings.Cut(maker, ".")
			return kind + "/" + base + " makes these, and gives each another name"
		}
	}
	return ""
}

// random are the letters of generated names: no vowels, so that no words come of them
// (k8s.io/apimachinery/pkg/util/rand).
const random = "bcdfghjklmnpqrstvwxz2456789"

// generated returns what a name was generated from, if it ends as the API server ends
// generated names: a dash and five letters. In a name of 63 characters the base has lost
// its end, with the dash, and whole is false (k8s.io/apiserver/pkg/storage/names).
func generated(name string) (base string, whole bool) {
	const letters, longest = 5, 63
	cut := len(name) - letters
	if cut < 2 || strings.Trim(name[cut:], random) != "" {
		return "", false
	}
	if name[cut-1] == '-' {
		return name[:cut-1], true
	}
	if len(name) == longest {
		return name[:cut], false
	}
	return "", false
}

// hashed returns a name without the hash that a controller appended, or nothing.
func hashed(name string) string {
	cut := strings.LastIndexByte(name, '-')
	if cut <= 0 || strings.Trim(name[cut+1:], random) != "" {
		return ""
	}
	return name[:cut]
}
