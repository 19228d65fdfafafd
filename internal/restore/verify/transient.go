package verify

import (
	"cmp"
	"strings"

	"github.com/veltui/veltui/internal/platform"
	"github.com/veltui/veltui/internal/restore/live"
	"github.com/veltui/veltui/internal/restore/prepare"
	"github.com/veltui/veltui/internal/stored/results"
	"github.com/veltui/veltui/internal/velero/veleroapi"
)

// discardedResources are the resources that Velero's own plugins skip where the data comes back in another
// way (pkg/restore/restore.go for volumes, pkg/restore/actions for the rest, 1.18.3).
var discardedResources = map[string]bool{
	"persistentvolumes":                              true,
	"datauploads.velero.io":                          true,
	"volumesnapshots.snapshot.storage.k8s.io":        true,
	"volumesnapshotcontents.snapshot.storage.k8s.io": true,
}

// transientReasons are resources that the cluster creates and deletes on its own, with the reason.
var transientReasons = map[string]string{
	"events":                     "the cluster deletes events after an hour",
	"events.events.k8s.io":       "the cluster deletes events after an hour",
	"leases.coordination.k8s.io": "who holds a lease makes and deletes it",
}

// renamedReason is why snapshots are missing under their name in the backup: Velero names them after the restore, and
// since 1.17 lists them by the new name. It does the same with a volume whose name is taken when it clones a
// namespace (pkg/restore/actions/csi, pkg/restore/request.go, 1.18.3).
const renamedReason = "Velero restores snapshots, and volumes whose name is taken, under another name"

// differenceReason returns why Velero found an object different and left it, although the object may not differ;
// empty if no reason is known. Package prepare has what Velero drops before it compares. With the policy update,
// Velero patches its labels into each object, and finds the object different ever after: it compares
// metadata.managedFields (pkg/restore/restore.go, restoreItem, 1.18.3).
func (j *itemJudge) differenceReason(resource string, i results.Item, o live.Object) string {
	what := prepare.DifferenceReason(resource, j.MapsNamespaces)
	switch {
	case strings.Contains(i.Why, "roleRef"): // nothing that Velero drops has to do with it
		return ""
	case resource == "persistentvolumes":
		what = "what binds it to its claim"
	case resource == "secrets" && o.HasTokenAnnotation:
		what = "the token in it"
	}
	switch {
	case what != "":
		return "always finds it different, because it drops " + what + " before it compares"
	case o.LastWrittenByVelero && o.BackupName == veleroapi.ValidLabel(j.BackupName) && o.RestoreName != j.restoreLabel:
		return "finds it different after an earlier restore of this backup wrote to it, because it compares who wrote what"
	}
	return ""
}

// isContentComparable reports whether the content of an object means anything. An object with a controller is left to
// the controller, which rewrites it at will; volumes and snapshots are judged by their data. Of the objects that the
// cluster makes itself, ServiceAccounts and role bindings have what users added.
func isContentComparable(resource, name string, o live.Object) bool {
	return o.OwnerKind == "" && transientReasons[resource] == "" && !discardedResources[resource] &&
		!platform.MakesConfigMap(resource, name)
}

// isClusterWritten reports whether the cluster itself writes an object, so that Velero's warning says nothing of it. Of
// role bindings that the cluster makes, only the content tells whether somebody's subjects are lost.
func isClusterWritten(resource, name string) bool {
	return platform.Rewrites(resource) ||
		platform.MakerOf(resource, name) != "" && resource != "rolebindings.rbac.authorization.k8s.io"
}

// creatorResources maps resources to those whose controllers create them, named after the creator with a changing
// suffix.
var creatorResources = map[string][]string{
	"pods":                     {"replicasets.apps", "daemonsets.apps", "jobs.batch", "replicationcontrollers"},
	"replicasets.apps":         {"deployments.apps"},
	"controllerrevisions.apps": {"statefulsets.apps", "daemonsets.apps"},
}

// parentSet holds the items of a restore that create others, by resource, namespace and name.
type parentSet map[[3]string]bool

func findParents(items results.Items) parentSet {
	makes := map[string]bool{}
	for _, of := range creatorResources {
		for _, resource := range of {
			makes[resource] = true
		}
	}
	p := parentSet{}
	for _, k := range items.Kinds {
		for _, i := range k.Items {
			if makes[k.Name] && i.Status != results.LeftOut {
				p[[3]string{k.Name, i.Namespace, i.Name}] = true
			}
		}
	}
	return p
}

// transientItemReason returns why a missing item is no loss; empty if it is a loss, or if nothing tells that it is not.
// Endpoints pass only if their Service is missing, which is then the loss: the cluster deletes endpoints with their
// Service (k8s.io/kubernetes pkg/controller/endpoint, syncService), and nothing creates others again.
func (j *itemJudge) transientItemReason(resource string, i results.Item) string {
	if why := transientReasons[resource]; why != "" {
		return why
	}
	switch resource {
	case "jobs.batch":
		known := j.Items.CompareUnavailable == ""
		if (i.IsCleanedUp || !known) && (i.Status != results.Missing || j.Unlisted && !j.InProgress) {
			return "the cluster deletes jobs that are done, by their TTL or their CronJob's history; whether this one " +
				"ran is not known"
		}
	case "endpoints":
		if _, seen := j.Target.FindItem("services", i.Namespace, i.Name); seen == live.Absent {
			return "the cluster deletes endpoints with their service, which is not there"
		}
	case "endpointslices.discovery.k8s.io":
		if base, _ := generatedNameBase(i.Name); base != "" {
			return "the cluster makes it for a service, and gives the next another name"
		}
	case "replicasets.apps", "controllerrevisions.apps":
		return j.parents.findCreator(resource, i.Namespace, trimHash(i.Name))
	case "pods":
		base, whole := generatedNameBase(i.Name)
		if base == "" {
			return ""
		}
		why := "its name was generated: whoever made it gives the next another name"
		if whole {
			why = cmp.Or(j.parents.findCreator(resource, i.Namespace, base), why)
		}
		return why
	}
	return ""
}

// findCreator says who creates items of a resource under names that begin with base.
func (p parentSet) findCreator(resource, namespace, base string) string {
	for _, maker := range creatorResources[resource] {
		if p[[3]string{maker, namespace, base}] {
			kind, _, _ := strings.Cut(maker, ".")
			return kind + "/" + base + " makes these, and gives each another name"
		}
	}
	return ""
}

// nameAlphabet has the letters of generated names: no vowels, so that they do not form words
// (k8s.io/apimachinery/pkg/util/rand).
const nameAlphabet = "bcdfghjklmnpqrstvwxz2456789"

// generatedNameBase returns what a name was generated from, if it ends as the API server ends generated names: a dash
// and five letters. In a name of 63 characters, the base has lost its end together with the dash, and whole is false
// (k8s.io/apiserver/pkg/storage/names).
func generatedNameBase(name string) (base string, whole bool) {
	const letters, longest = 5, 63
	cut := len(name) - letters
	if cut < 2 || strings.Trim(name[cut:], nameAlphabet) != "" {
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

// trimHash returns a name without the hash that a controller appended, or nothing.
func trimHash(name string) string {
	cut := strings.LastIndexByte(name, '-')
	if cut <= 0 || strings.Trim(name[cut+1:], nameAlphabet) != "" {
		return ""
	}
	return name[:cut]
}
