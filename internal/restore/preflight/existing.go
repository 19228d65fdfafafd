package preflight

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/veltui/veltui/collector"
	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/platform"
	"github.com/veltui/veltui/internal/restore/live"
	"github.com/veltui/veltui/internal/velero"
	"github.com/veltui/veltui/internal/velero/veleroapi"
)

// The resources that Velero treats specially when they exist already.
const (
	serviceAccounts  = "serviceaccounts"
	claims           = "persistentvolumeclaims"
	volumes          = "persistentvolumes"
	pods             = "pods"
	jobs             = "jobs.batch"
	snapshots        = "volumesnapshots.snapshot.storage.k8s.io"
	snapshotContents = "volumesnapshotcontents.snapshot.storage.k8s.io"
)

// checkExisting finds the items that exist already, and notes the new ones (pkg/restore/restore.go, restoreItem).
func (c *checker) checkExisting() error {
	var there, going groups
	err := c.Fates.EachItem(func(i collector.Item) {
		if !isRestored(i) {
			return
		}
		object, seen := c.findLive(i)
		switch {
		case seen == live.Present && !object.DeletingSince.IsZero():
			countItem(c.existingItems, i)
			going.addItem(i.Resource, i.TargetNamespace, i.Name)
		case seen == live.Present:
			countItem(c.existingItems, i)
			there.addItem(i.Resource, i.TargetNamespace, i.Name)
		case seen == live.NotServed:
			if c.Fates.IsServed(i.Resource) {
				c.countNew(i)
			}
		case c.willCreate(i):
			c.countNew(i)
		}
	})
	if err != nil {
		return err
	}
	c.checkCompared()
	var alike []Finding
	for resource, g := range there.sortedByKey() {
		if c.Compared && !specialResources[resource] {
			continue
		}
		f := g.fillFinding(c.existingFinding(resource, g))
		if f.Severity == Doubt && !f.OverwritesData {
			alike = append(alike, f)
		} else {
			c.addFinding(f)
		}
	}
	c.addExistingKinds(alike)
	for resource, g := range going.sortedByKey() {
		c.addFinding(g.fillFinding(Finding{
			Severity: Doubt,
			Reason:   ObjectsTerminating,
			Resource: resource,
			Sentence: fmt.Sprintf(
				"%s in the cluster %s being deleted. Velero treats them as there; then they are gone.",
				countText(g.count, resource),
				isOrAre(g.count),
			),
			Remedy: "Wait until they are gone.",
		}))
	}
	if c.State == nil {
		c.addUnchecked("which objects exist already", "the cluster was not checked")
		return nil
	}
	for _, n := range c.State.Unchecked {
		if _, known := c.Served.IsServed(n.Resource); !known {
			continue // reported with its API group
		}
		what := "whether " + n.Resource + " exist already"
		if c.provided[n.Resource] == nil { // addReferences
			what = "whether the " + n.Resource + " exist that pods name"
		}
		c.addUncheckedList(what, n)
	}
	return nil
}

func (c *checker) findLive(i collector.Item) (live.Object, live.Presence) {
	if c.State == nil {
		return live.Object{}, live.Unknown
	}
	return c.State.FindItem(i.Resource, i.TargetNamespace, i.Name)
}

// willCreate reports whether Velero will create an item: the item or its namespace does not exist. An item that could
// not be checked does not count as new.
func (c *checker) willCreate(i collector.Item) bool {
	switch _, seen := c.findLive(i); seen {
	case live.Present:
		return false
	case live.Unknown:
		if i.TargetNamespace == "" || c.Environment == nil || !c.Environment.WasChecked(live.Namespaces, "") {
			return false
		}
		_, there := c.Environment.Namespaces[i.TargetNamespace]
		return !there
	}
	return true
}

// leavesExisting reports whether an item exists, and Velero leaves it as it is.
func (c *checker) leavesExisting(i collector.Item) bool {
	_, seen := c.findLive(i)
	return seen == live.Present && !c.updatesExisting()
}

// countNew counts an item that Velero will create. One that the API server rejects uses up nothing.
func (c *checker) countNew(i collector.Item) {
	if !c.isRejected(i.Resource, i.TargetNamespace, i.Name) {
		countItem(c.newItems, i)
	}
	if !c.isAnswered(i.Resource, i.TargetNamespace, i.Name) {
		countItem(c.unansweredItems, i)
	}
}

// countItem counts an item by namespace and resource.
func countItem(in map[string]map[string]int, i collector.Item) {
	if in[i.TargetNamespace] == nil {
		in[i.TargetNamespace] = map[string]int{}
	}
	in[i.TargetNamespace][i.Resource]++
}

// addExistingKinds adds one finding for the objects of several kinds that Velero treats alike.
func (c *checker) addExistingKinds(alike []Finding) {
	if len(alike) < 2 {
		c.findings = append(c.findings, alike...)
		return
	}
	f := Finding{Severity: Doubt, Reason: ObjectsExist, Namespace: alike[0].Namespace}
	clusterWide := 0
	for _, one := range alike {
		f.Count += one.Count
		f.Kinds = append(f.Kinds, KindCount{one.Resource, one.Count})
		if one.isClusterWide {
			clusterWide += one.Count
		}
		if one.Namespace != f.Namespace {
			f.Namespace = ""
		}
	}
	slices.SortStableFunc(f.Kinds, func(a, b KindCount) int { return cmp.Compare(b.Count, a.Count) })
	f.Sentence = fmt.Sprintf("%s of %s exist already. ", human.Count(f.Count, "object"), human.Count(len(f.Kinds), "kind"))
	if c.Restore.ExistingResourcePolicy == veleroapi.PolicyTypeUpdate {
		f.Reason = ObjectsPatched
		f.Sentence += "Velero patches what differs to what the backup holds, and adds a warning where Kubernetes refuses " +
			"that, as it does for most fields of pods and Jobs."
		f.Remedy = keepRemedy
		c.findings = append(c.findings, f)
		return
	}
	f.Sentence += "Velero leaves what exists as it is, with a warning where it differs from the backup, as pods, Jobs " +
		"and Services always do."
	f.Remedy = changeRemedy
	if clusterWide < f.Count {
		f.Remedy += mapRemedy
	}
	if clusterWide > 0 && clusterWide < f.Count {
		f.Remedy += fmt.Sprintf(" (%s no namespace)", human.CountForms(clusterWide, "object has", "objects have"))
	}
	f.Remedy += "."
	c.findings = append(c.findings, f)
}

// What can be done about objects that exist.
const (
	keepRemedy   = "To keep them as they are, restore with existingResourcePolicy none."
	changeRemedy = "To change them to what the backup holds, set --existing-resource-policy=update"
	mapRemedy    = "; to keep both, map the namespace to a new name"
)

func (g *group) isClusterWide() bool { return g.namespace == "" && !g.multiNamespace }

// keepBothText says how to keep an object beside the restored one, empty for objects without a namespace.
func (g *group) keepBothText() string {
	if g.isClusterWide() {
		return ""
	}
	return mapRemedy
}

// existingFinding returns what Velero does with objects of which only the metadata was read.
func (c *checker) existingFinding(resource string, g *group) Finding {
	n := g.count
	what, exist := countText(n, resource), pluralVerb(n, "exists", "exist")
	update := c.Restore.ExistingResourcePolicy == veleroapi.PolicyTypeUpdate
	f := Finding{Severity: Doubt, Reason: ObjectsExist, Resource: resource}
	f.isClusterWide = g.isClusterWide()
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
		) + c.inPlaceText()
	case resource == snapshots || resource == snapshotContents:
		f.Severity = Note
		f.Sentence = fmt.Sprintf(
			"%s %s already. With the feature flag EnableCSI, Velero restores snapshots under new names. Without it, "+
				"Velero leaves what exists as it is.",
			what,
			exist,
		)
		if c.isServerBefore(1, 16) { // pkg/restore/actions/csi/volumesnapshot_action.go, IsVolumeSnapshotExists
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
		f.Reason, f.OverwritesData = ClaimsExist, true
		f.Sentence = fmt.Sprintf(
			"%s %s already. Velero %s, and restores no snapshot into its volume. But if Velero creates a pod that mounts "+
				"the claim, it writes the data of file-system backups over what is in the volume.",
			what,
			exist,
			does,
		) + c.inPlaceText()
		f.Remedy = "To keep the data as it is, leave out the pods, or map the namespace to a new name. To get the " +
			"data of a snapshot, delete the claims and the pods that use them first."
	case resource == pods || resource == jobs:
		f.Remedy = "To restore them anew, delete them first" + g.keepBothText() + "."
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
		f.Remedy = changeRemedy + g.keepBothText() + "."
	case update:
		f.Reason = ObjectsPatched
		f.Sentence = fmt.Sprintf(
			"%s %s already. Velero patches what differs to what the backup holds, and adds a warning where Kubernetes "+
				"refuses that.",
			what,
			exist,
		)
		f.Remedy = keepRemedy
	default:
		f.Sentence = fmt.Sprintf(
			"%s %s already. Velero leaves what exists as it is, with a warning where it differs from the backup.",
			what,
			exist,
		)
		f.Remedy = changeRemedy + g.keepBothText() + "."
	}
	return f
}

// countText returns the number of objects of a resource: 3 objects of deployments.apps.
func countText(n int, resource string) string { return human.Count(n, "object") + " of " + resource }

func pluralVerb(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}

func isOrAre(n int) string { return pluralVerb(n, "is", "are") }

func inNamespaceText(namespace string) string { return human.Prefixed(" in namespace ", namespace) }

// inPlaceText says what a server with unknown rules may do with existing volumes, empty for other servers.
func (c *checker) inPlaceText() string {
	if server := c.Velero.Server.Version; velero.IsUnreviewedVersion(server) {
		return " Velero " + server + " may also delete such a claim, and write what was backed up into its volume."
	}
	return ""
}

// BuildQuery returns what to ask the target for a restore; velero is Velero's namespace. The error is the cause of
// the fates' context.
func BuildQuery(
	fates *collector.Fates,
	spec veleroapi.RestoreSpec,
	velero string,
) (*live.Query, live.EnvironmentQuery, error) {
	q, around, within := &live.Query{}, live.EnvironmentQuery{}, map[string]bool{}
	err := fates.EachItem(func(i collector.Item) {
		if !isRestored(i) {
			return
		}
		q.AddItem(i.Resource, i.TargetNamespace, i.Name)
		if i.TargetNamespace != "" {
			within[i.TargetNamespace] = true
		}
	})
	if err != nil {
		return nil, around, err
	}
	err = fates.EachItemNeeds(func(_ collector.Item, needs []collector.Need) {
		for _, n := range needs {
			switch n.Kind {
			case collector.NeedStorageClass, collector.NeedDefaultClass, collector.NeedMadeClass,
				collector.NeedMadeDefaultClass:
				around.StorageClasses = true
			case collector.NeedVolume:
				around.Volumes = true
			case collector.NeedSnapshotClass, collector.NeedCSIDriver:
				around.SnapshotClasses = true
			case collector.NeedKeptNodePort:
				around.NodePorts = true
			case collector.NeedNodePort:
				around.NodePorts = around.NodePorts || preservesPorts(spec)
			case collector.NeedWebhookService:
				around.WebhookServices = append(around.WebhookServices, n.Name)
			}
		}
	})
	if err == nil {
		err = addReferences(q, fates)
	}
	around.VeleroNamespace = velero
	around.Namespaces = slices.Sorted(maps.Keys(within))
	return q, around, err
}

// isRestored reports whether Velero tries to create an item. Namespaces are not queried as items: all of them are
// listed.
func isRestored(i collector.Item) bool {
	return i.Fate == collector.ToRestore && !i.IsMirrorPod && i.Resource != live.Namespaces &&
		!platform.MakesConfigMap(i.Resource, i.Name)
}

func preservesPorts(spec veleroapi.RestoreSpec) bool {
	return spec.PreserveNodePorts != nil && *spec.PreserveNodePorts
}
