package verify

import (
	"strings"

	"github.com/veltui/veltui/outcome"
)

// discarded are the resources that Velero's own plugins skip where the data comes
// back in another way (pkg/restore/restore.go for volumes, pkg/restore/actions for
// the rest, 1.18.3).
var discarded = map[string]bool{
	"persistentvolumes":                              true,
	"datauploads.velero.io":                          true,
	"volumesnapshots.snapshot.storage.k8s.io":        true,
	"volumesnapshotcontents.snapshot.storage.k8s.io": true,
}

// comeAndGo are resources that the cluster makes and deletes by itself.
var comeAndGo = map[string]string{
	"events":                          "the cluster deletes events after an hour",
	"events.events.k8s.io":            "the cluster deletes events after an hour",
	"leases.coordination.k8s.io":      "who holds a lease makes and deletes it",
	"endpoints":                       "the cluster makes it for a service, and deletes it with that",
	"endpointslices.discovery.k8s.io": "the cluster makes it for a service, and gives the next another name",
	"jobs.batch":                      "the cluster deletes jobs that are done, by their TTL or their CronJob's history; whether this one ran is not known",
}

// makers are the resources whose controllers make others under names of their own,
// which begin with the maker's.
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

func parentsOf(items outcome.Items) parents {
	makes := map[string]bool{}
	for _, of := range makers {
		for _, resource := range of {
			makes[resource] = true
		}
	}
	p := parents{}
	for _, k := range items.Kinds {
		for _, i := range k.Items {
			if makes[k.Name] && i.Did != outcome.LeftOut {
				p[[3]string{k.Name, i.Namespace, i.Name}] = true
			}
		}
	}
	return p
}

// passing is why it is no loss that an item is not there any more; empty if that is
// one, or if nothing tells that it is not.
func (p parents) passing(resource string, i outcome.Item) string {
	if why := comeAndGo[resource]; why != "" {
		return why
	}
	of := makers[resource]
	if of == nil {
		return ""
	}
	before := i.Name
	for {
		cut := strings.LastIndexByte(before, '-')
		if cut <= 0 {
			break
		}
		before = before[:cut]
		for _, maker := range of {
			if p[[3]string{maker, i.Namespace, before}] {
				kind, _, _ := strings.Cut(maker, ".")
				return kind + "/" + before + " makes these, and gives each another name"
			}
		}
	}
	if resource == "pods" && generated(i.Name) {
		return "its name was generated: whoever made it gives the next another name"
	}
	return ""
}

// generated reports whether a name ends as the API server ends generated ones: five
// letters without vowels, so that no words come of them
// (k8s.io/apimachinery/pkg/util/rand).
func generated(name string) bool {
	cut := strings.LastIndexByte(name, '-')
	return cut > 0 && len(name)-cut-1 == 5 && strings.Trim(name[cut+1:], "bcdfghjklmnpqrstvwxz2456789") == ""
}
