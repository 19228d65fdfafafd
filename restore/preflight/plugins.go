package preflight

import (
	"fmt"
	"maps"
	"slices"

	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/restore/target"
	"github.com/veltui/veltui/velero"
)

// configured are the actions of Velero that a ConfigMap configures, with the resources that they
// act on (pkg/restore/actions). With two such ConfigMaps an action has an error for each item.
var configured = map[string][]string{
	target.ChangesClasses: {claims, volumes, statefulSets},
	changesImages: {"deployments.apps", statefulSets, "daemonsets.apps", "replicasets.apps", "replicationcontrollers",
		jobs, "cronjobs.batch", pods},
	podVolumes: {pods},
	// Velero 1.16 and earlier.
	"velero.io/change-pvc-node-selector": {claims},
}

// Labels of ConfigMaps of Velero's own plugins.
const (
	changesImages = "velero.io/change-image-name"
	podVolumes    = "velero.io/pod-volume-restore"
)

// pluginConfigs finds actions with more than one ConfigMap
// (pkg/plugin/framework/common/plugin_config.go).
func (c *check) pluginConfigs() {
	if c.Around == nil {
		return
	}
	namespace := ""
	if c.Velero.Backup != nil {
		namespace = c.Velero.Backup.Namespace
	}
	for _, action := range slices.Sorted(maps.Keys(c.Around.PluginConfigs)) {
		names := c.Around.PluginConfigs[action]
		var acts []string
		for _, resource := range configured[action] {
			if c.brings[resource] != nil {
				acts = append(acts, resource)
			}
		}
		if len(names) < 2 || len(acts) == 0 || action == "velero.io/change-pvc-node-selector" && !c.before(1, 17) {
			continue
		}
		f := Finding{Severity: Obstacle, Reason: PluginConfigAmbiguous, Resource: target.ConfigMaps, Namespace: namespace, Count: len(names), Names: names[:min(len(names), maxNames)],
			Sentence: fmt.Sprintf("%d ConfigMaps have the label %s: RestoreItemAction, and Velero takes one. It has an error for each item of %s, and restores none of them.", len(names), action, human.List(acts, 3)),
			Remedy:   "Keep one of the ConfigMaps, and delete the others or their labels."}
		if action == podVolumes {
			f.Severity = Doubt
			f.Sentence = fmt.Sprintf("%d ConfigMaps have the label %s: RestoreItemAction, and Velero takes one. It has an error for each pod with file-system backups, and restores none of them.", len(names), action)
		}
		c.find(f)
	}
}

// before says whether the server is known to be older than a version.
func (c *check) before(major, minor int) bool {
	v, ok := velero.ParseVersion(c.Velero.Server.Version)
	return ok && (v[0] < major || v[0] == major && v[1] < minor)
}

// enablesCSI says whether the server runs with EnableCSI, and whether that is known.
func (c *check) enablesCSI() (enabled, known bool) {
	s := c.Velero.Server
	return slices.Contains(s.Flags.Features, "EnableCSI"), s.Running
}

// skipsCSI says whether Velero leaves out its CSI actions, so that claims get no data
// from snapshots (pkg/restore/actions/csi and restore.go; in Velero itself since 1.14).
func (c *check) skipsCSI() bool {
	enabled, known := c.enablesCSI()
	return known && !enabled && !c.before(1, 14) && (c.Restore.RestorePVs == nil || *c.Restore.RestorePVs)
}

// ofDriver goes before the driver of a snapshot class that the restore brings.
const ofDriver = "driver "

// findSnapshotClasses finds snapshots without a class. Since 1.18 and with EnableCSI,
// Velero drops the class that a snapshot names, and takes one of the same driver, if
// there is one (pkg/restore/actions/csi/volumesnapshotcontent_action.go).
func (c *check) findSnapshotClasses(s *storage) {
	a := c.Around
	if !a.Saw(target.SnapshotClasses, "") {
		return
	}
	enabled, known := c.enablesCSI()
	if enabled && !c.before(1, 18) {
		drivers := slices.Collect(maps.Values(a.SnapshotClasses))
		for driver, g := range s.contents.sorted() {
			if c.has(target.SnapshotClasses, ofDriver+driver, slices.Contains(drivers, driver)) {
				continue
			}
			c.find(g.fill(Finding{Severity: Note, Reason: SnapshotClassMissing, Resource: contents,
				Sentence: fmt.Sprintf("No volume snapshot class is of driver %s. Velero restores %s without a class: a driver that needs credentials to read a snapshot, such as Ceph's, fails.", driver, human.Count(g.count, "snapshot")),
				Remedy:   "Create a volume snapshot class of that driver if it needs credentials."}))
		}
		return
	}
	then := "Velero keeps the name, and without the class the snapshot does not become ready."
	if !known {
		then = "Velero before 1.18, or without the feature flag EnableCSI, keeps the name, and without the class the snapshot does not become ready."
	}
	for class, g := range s.snapshots.sorted() {
		if _, there := a.SnapshotClasses[class]; c.has(target.SnapshotClasses, class, there) {
			continue
		}
		c.find(g.fill(Finding{Severity: Doubt, Reason: SnapshotClassMissing, Resource: snapshots,
			Sentence: fmt.Sprintf("Volume snapshot class %s does not exist, and %s it. %s", class, human.Plural(g.count, "snapshot names", "snapshots name"), then),
			Remedy:   "Create a class of that name and of the snapshots' driver."}))
	}
}
