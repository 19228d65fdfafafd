package preflight

import (
	"fmt"
	"maps"
	"slices"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"

	"github.com/veltui/veltui/collector"
	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/restore/live"
	"github.com/veltui/veltui/internal/velero"
)

// The resources that Velero treats in a way of their own when they are there already.
const (
	serviceAccounts = "serviceaccounts"
	claims          = "persistentvolumeclaims"
	volumes         = "persistentvolumes"
	pods            = "pods"
	jobs            = "jobs.batch"
	snapshots       = "volumesnapshots.snapshot.storage.k8s.io"
	contents        = "volumesnapshotcontents.snapshot.storage.k8s.io"
)

// existing finds what is there already, and notes what is new (pkg/restore/restore.go, restoreItem).
func (c *check) existing() error {
	var there, going groups
	err := c.Fates.Each(func(i collector.Item) {
		if !isRestored(i) {
			return
		}
		object, seen := c.seen(i)
		switch {
		case seen == live.There && !object.Deleting.IsZero():
			going.add(i.Resource, i.Target, i.Name)
		case seen == live.There:
			there.add(i.Resource, i.Target, i.Name)
		case seen == live.NotServed:
			if c.Fates.Serves(i.Resource) {
				c.isNew(i)
			}
		case c.create(i):
			c.isNew(i)
		}
	})
	if err != nil {
		return err
	}
	c.findCompared()
	for resource, g := range there.sorted() {
		if !c.Compared || special[resource] {
			c.find(g.fill(c.exists(resource, g.count)))
		}
	}
	for resource, g := range going.sorted() {
		c.find(g.fill(Finding{
			Severity: Doubt,
			Reason:   ObjectsTerminating,
			Resource: resource,
			Sentence: fmt.Sprintf(
				"%s in the cluster %s being deleted. Velero treats them as there; then they are gone.",
				some(g.count, resource),
				is(g.count),
			),
			Remedy: "Wait until they are gone.",
		}))
	}
	if c.State == nil {
		c.notLooked("which objects exist already", "the cluster was not checked")
		return nil
	}
	for _, n := range c.State.NotSeen {
		if _, known := c.Served.Serves(n.Resource); !known {
			continue // said of its group
		}
		c.notListed("whether "+n.Resource+" exist already", n)
	}
	return nil
}

func (c *check) seen(i collector.Item) (live.Object, live.Seen) {
	if c.State == nil {
		return live.Object{}, live.NotLooked
	}
	return c.State.Find(i.Resource, i.Target, i.Name)
}

// create says whether Velero will create an item: it is not there, or its namespace
// is not. What could not be looked for is not taken for new.
func (c *check) create(i collector.Item) bool {
	switch _, seen := c.seen(i); seen {
	case live.There:
		return false
	case live.NotLooked:
		if i.Target == "" || c.Around == nil || !c.Around.Saw(live.Namespaces, "") {
			return false
		}
		_, there := c.Around.Namespaces[i.Target]
		return !there
	}
	return true
}

func (c *check) isNew(i collector.Item) {
	count := func(of map[string]map[string]int) {
		if of[i.Target] == nil {
			of[i.Target] = map[string]int{}
		}
		of[i.Target][i.Resource]++
	}
	count(c.created)
	if !c.answered(i.Resource, i.Target, i.Name) {
		count(c.unasked)
	}
}

// exists says what Velero does with objects of which only the metadata was read.
func (c *check) exists(resource string, n int) Finding {
	what, exist := some(n, resource), verb(n, "exists", "exist")
	update := c.Restore.ExistingResourcePolicy == velerov1.PolicyTypeUpdate
	f := Finding{Severity: Doubt, Reason: ObjectsExist, Resource: resource}
	switch {
	case resource == serviceAccounts:
		f.Severity, f.Reason = Note, ServiceAccountsMerged
		f.Sentence = fmt.Sprintf(
			"%s %s already. Velero adds the secrets, pull secrets, labels and annotations of the backup to what is "+
				"there, and takes nothing away.",
			what,
			exist,
		)
	case resource == volumes:
		f.Severity, f.Reason = Note, VolumesExist
		f.Sentence = fmt.Sprintf(
			"%s %s already. How the data was backed up decides whether Velero makes a new volume, keeps this one, or "+
				"gives the restored one a new name.",
			what,
			exist,
		) + c.inPlace()
	case resource == snapshots || resource == contents:
		f.Severity = Note
		f.Sentence = fmt.Sprintf(
			"%s %s already. With the feature flag EnableCSI, Velero restores snapshots under new names. Without it, "+
				"Velero leaves what exists as it is.",
			what,
			exist,
		)
		if c.before(1, 16) { // pkg/restore/actions/csi/volumesnapshot_action.go, IsVolumeSnapshotExists
			f.Sentence = fmt.Sprintf(
				"%s %s already. Velero %s leaves what exists as it is, and restores claims from the snapshots that exist.",
				what,
				exist,
				c.Velero.Server.Version,
			)
		}
	case resource == claims:
		does := "leaves the claim, with a warning"
		if update {
			does = "patches of the claim what Kubernetes lets it"
		}
		f.Reason = ClaimsExist
		f.Sentence = fmt.Sprintf(
			"%s %s already. Velero %s, and restores no snapshot into its volume. But if Velero creates a pod that mounts "+
				"the claim, it writes the data of file-system backups over what is in the volume.",
			what,
			exist,
			does,
		) + c.inPlace()
		f.Remedy = "To keep the data as it is, leave out the pods, or map the namespace to a new name. To get the " +
			"data of a snapshot, delete the claims and the pods that use them first."
	case resource == pods || resource == jobs:
		f.Remedy = "To restore them anew, delete them first; to keep both, map the namespace to a new name."
		if !update {
			f.Sentence = fmt.Sprintf(
				"%s %s already. Velero leaves what exists as it is, with a warning for each: what it changes in %s before "+
					"it compares always makes a difference.",
				what,
				exist,
				resource,
			)
			return f
		}
		f.Reason = ObjectsPatched
		f.Sentence = fmt.Sprintf(
			"%s %s already. Kubernetes lets few fields of such an object change: Velero's patch fails with a warning "+
				"where it touches others, and Velero sets only its own labels.",
			what,
			exist,
		)
	case resource == live.Services && !update:
		f.Sentence = fmt.Sprintf(
			"%s %s already. Velero leaves what exists as it is, with a warning for each: what it changes in services "+
				"before it compares always makes a difference.",
			what,
			exist,
		)
		f.Remedy = "To change them to what the backup holds, set --existing-resource-policy=update; to keep both, map " +
			"the namespace to a new name."
	case update:
		f.Reason = ObjectsPatched
		f.Sentence = fmt.Sprintf(
			"%s %s already. Velero patches what differs to what the backup holds, and adds a warning where Kubernetes "+
				"refuses that.",
			what,
			exist,
		)
		f.Remedy = "To keep them as they are, restore with existingResourcePolicy none."
	default:
		f.Sentence = fmt.Sprintf(
			"%s %s already. Velero leaves what exists as it is, with a warning where it differs from the backup.",
			what,
			exist,
		)
		f.Remedy = "To change them to what the backup holds, set --existing-resource-policy=update; to keep both, map " +
			"the namespace to a new name."
	}
	return f
}

// some writes a number of a resource: 3 objects of deployments.apps.
func some(n int, resource string) string { return human.Count(n, "object") + " of " + resource }

func verb(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}

func is(n int) string { return verb(n, "is", "are") }

func in(namespace string) string { return human.Clause(" in namespace ", namespace) }

// inPlace adds what a server whose rules are not known may do with existing volumes.
func (c *check) inPlace() string {
	if server := c.Velero.Server.Version; velero.IsUnread(server) {
		return " Velero " + server + " may also delete such a claim, and write what was backed up into its volume."
	}
	return ""
}

// rootCA is what Kubernetes puts into every namespace itself.
const rootCA = "kube-root-ca.crt"

// Ask is what has to be known of the target for a restore; velero is the namespace of Velero. Its
// error is the cause of the context of fates.
func Ask(fates *collector.Fates, spec velerov1.RestoreSpec, velero string) (*live.Question, live.Around, error) {
	q, around, within := &live.Question{}, live.Around{}, map[string]bool{}
	err := fates.Each(func(i collector.Item) {
		if !isRestored(i) {
			return
		}
		q.Add(i.Resource, i.Target, i.Name)
		if i.Target != "" {
			within[i.Target] = true
		}
	})
	if err != nil {
		return nil, around, err
	}
	err = fates.Needs(func(_ collector.Item, needs []collector.Need) {
		for _, n := range needs {
			switch n.Kind {
			case collector.NeedStorageClass, collector.NeedDefaultClass:
				around.Storage = true
			case collector.NeedVolume:
				around.Volumes = true
			case collector.NeedSnapshotClass, collector.NeedDriver:
				around.Snapshots = true
			case collector.NeedKeptNodePort:
				around.NodePorts = true
			case collector.NeedNodePort:
				around.NodePorts = around.NodePorts || preservesPorts(spec)
			case collector.NeedWebhookService:
				around.WebhookServices = append(around.WebhookServices, n.Name)
			}
		}
	})
	around.Velero = velero
	around.Within = slices.Sorted(maps.Keys(within))
	return q, around, err
}

// isRestored says whether Velero tries to create an item. Namespaces are not asked
// for as items: all of them are listed.
func isRestored(i collector.Item) bool {
	return i.Fate == collector.ToRestore && !i.Mirror && i.Resource != live.Namespaces &&
		!(i.Resource == live.ConfigMaps && i.Name == rootCA)
}

func preservesPorts(spec velerov1.RestoreSpec) bool {
	return spec.PreserveNodePorts != nil && *spec.PreserveNodePorts
}
