package preflight

import (
	"fmt"
	"maps"
	"slices"
	"time"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"

	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/restore/live"
	"github.com/veltui/veltui/internal/restore/prepare"
	"github.com/veltui/veltui/internal/restore/restorespec"
	"github.com/veltui/veltui/internal/velero"
)

// soon is how long before its expiry a backup may be deleted: garbage is collected hourly.
const soon = 2 * time.Hour

func (c *check) velero() {
	if b := c.Velero.Backup; b == nil {
		name := c.Restore.BackupName
		c.about(
			name,
			Obstacle,
			BackupMissing,
			fmt.Sprintf("There is no backup %s.", name),
			"veltui get backups lists those that there are.",
		)
	} else {
		c.state(b)
		c.location()
	}
	c.server()
}

// state judges the backup itself. Velero's own validation asks only whether it is
// there and whether its location is Available (pkg/controller/restore_controller.go).
func (c *check) state(b *velerov1.Backup) {
	switch phase := b.Status.Phase; phase {
	case velerov1.BackupPhaseCompleted, velerov1.BackupPhaseDeleting:
	case velerov1.BackupPhasePartiallyFailed:
		c.about(
			b.Name,
			Doubt,
			BackupPartiallyFailed,
			fmt.Sprintf(
				"Backup %s is PartiallyFailed with %s: something is not in it.",
				b.Name,
				human.Count(b.Status.Errors, "error"),
			),
			"Read its errors: veltui results backup/"+b.Name+".",
		)
	case "", velerov1.BackupPhaseNew:
		c.about(
			b.Name,
			Obstacle,
			BackupNotReady,
			fmt.Sprintf("Backup %s has not started.", b.Name),
			"Wait until it has ended, or take another backup.",
		)
	case velerov1.BackupPhaseFailed, velerov1.BackupPhaseFailedValidation:
		c.about(
			b.Name,
			Obstacle,
			BackupNotReady,
			fmt.Sprintf("Backup %s is %s: there may be nothing of it to restore.", b.Name, phase),
			"Take another backup.",
		)
	default:
		c.about(
			b.Name,
			Obstacle,
			BackupNotReady,
			fmt.Sprintf("Backup %s is still %s.", b.Name, phase),
			"Wait until it has ended.",
		)
	}
	c.finalized(b)
	if b.Status.Phase == velerov1.BackupPhaseDeleting || b.DeletionTimestamp != nil || c.Velero.Deletion != nil {
		c.about(
			b.Name,
			Obstacle,
			BackupDeleting,
			fmt.Sprintf("Backup %s is being deleted.", b.Name),
			"Take another backup.",
		)
		return
	}
	if c.Velero.DeletionsUnseen != "" {
		c.notLooked("whether somebody asked to delete the backup", c.Velero.DeletionsUnseen)
	}
	if b.Status.Expiration == nil {
		return
	}
	switch left := b.Status.Expiration.Sub(c.Now); {
	case left <= 0:
		c.about(
			b.Name,
			Obstacle,
			BackupExpired,
			fmt.Sprintf(
				"Backup %s expired %s. Velero may delete it, and its data, at any moment.",
				b.Name,
				human.Ago(b.Status.Expiration.Time, c.Now),
			),
			"Take another backup. If there is none, raise spec.ttl and status.expiration of this one first, or stop "+
				"Velero's garbage collection (--garbage-collection-frequency).",
		)
	case left < soon:
		c.about(
			b.Name,
			Doubt,
			BackupExpiresSoon,
			fmt.Sprintf(
				"Backup %s expires in %s. Velero may delete it while the restore runs.",
				b.Name,
				human.Duration(left),
			),
			"Take a newer backup, or raise spec.ttl and status.expiration of this one first.",
		)
	}
}

// finalized judges whether the snapshots and data movements of a backup are in what was
// stored: what its operations made is added at its end, and an upload that fails then
// shows nowhere (pkg/controller/backup_finalizer_controller.go Reconcile).
func (c *check) finalized(b *velerov1.Backup) {
	if c.Velero.FinalizedUnseen != "" {
		c.notLooked("whether Velero stored the backup's contents after its operations", c.Velero.FinalizedUnseen)
	}
	if !c.Velero.NotFinalized {
		return
	}
	severity := Doubt
	if b.Spec.SnapshotMoveData != nil && *b.Spec.SnapshotMoveData {
		severity = Obstacle
	}
	c.about(
		b.Name,
		severity,
		BackupNotFinalized,
		fmt.Sprintf(
			"Velero ended backup %s without storing its contents after %s: what they made, such as moved volumes, cannot "+
				"be restored.",
			b.Name,
			human.Count(b.Status.BackupItemOperationsAttempted, "operation"),
		),
		"Take another backup.",
	)
}

// reads says whether the server reads a field of the Restore; one of unknown version reads all.
func (c *check) reads(flag string) bool {
	v, known := velero.ParseVersion(c.Velero.Server.Version)
	f, _ := restorespec.Find(flag)
	return !known || f.IsRead(v)
}

// ignored finds what the restore sets and the server is too old to read.
func (c *check) ignored() {
	d := restorespec.Draft{Restore: velerov1.Restore{Spec: c.Restore}}
	for _, f := range d.Given() {
		if c.reads(f.Flag) {
			continue
		}
		severity, remedy := Doubt, "Leave it out, or upgrade Velero before you restore."
		sentence := fmt.Sprintf(
			"Velero %s ignores --%s: servers read it since %s.",
			c.Velero.Server.Version,
			f.Flag,
			f.Since(),
		)
		if f.Filters {
			severity, remedy = Obstacle, "Use other filters, or upgrade Velero before you restore."
			sentence += " The restore brings back what it would leave out, too."
		}
		c.about("--"+f.Flag, severity, FieldIgnored, sentence, remedy)
	}
}

func (c *check) location() {
	v := c.Velero
	name := v.Backup.Spec.StorageLocation
	switch {
	case v.LocationsUnseen != "":
		c.notLooked("the backup's storage location", v.LocationsUnseen)
	case v.Location == nil:
		c.about(
			name,
			Obstacle,
			LocationMissing,
			fmt.Sprintf("The backup's storage location %s does not exist. Velero refuses the restore.", name),
			"Create the BackupStorageLocation again, with the same name.",
		)
	case v.Location.Status.Phase != velerov1.BackupStorageLocationPhaseAvailable:
		severity, then := Obstacle, "Velero refuses the restore."
		if version, known := velero.ParseVersion(v.Server.Version); known && !version.RefusesUnavailableLocation() {
			then = "Velero " + v.Server.Version + " starts the restore all the same, and it fails if the object store " +
				"does not answer."
			if v.Location.Status.Phase != velerov1.BackupStorageLocationPhaseUnavailable {
				severity = Doubt
			}
		}
		if message := v.Location.Status.Message; message != "" {
			then += " Velero says: " + human.Shorten(message, 300)
		}
		c.about(
			name,
			severity,
			LocationUnavailable,
			fmt.Sprintf("The backup's storage location %s is not Available. %s", name, then),
			"Check the object store and its credentials: kubectl -n "+v.Location.Namespace+
				" describe backupstoragelocation "+name+".",
		)
	}
}

func (c *check) server() {
	v := c.Velero
	switch {
	case !v.Server.Visible:
		c.notLooked(
			"whether the Velero server runs, its version and its flags",
			"you may not list pods in its namespace",
		)
	case v.Server.Name == "":
		c.find(
			Finding{
				Severity: Obstacle,
				Reason:   ServerNotRunning,
				Sentence: "No pod of the Velero server was found. The restore will wait until one runs.",
				Remedy:   "Start it: kubectl get deployments, in the namespace of Velero, tells whether it is scaled down.",
			},
		)
	case !v.Server.Running:
		why := ""
		if v.Server.Waiting != "" {
			why = " (" + v.Server.Waiting + ")"
		}
		c.about(
			v.Server.Name,
			Obstacle,
			ServerNotRunning,
			fmt.Sprintf(
				"The Velero server's pod %s does not run%s. The restore will wait until it does.",
				v.Server.Name,
				why,
			),
			"veltui explain says why jobs wait.",
		)
	}
	if newer := v.Server.Version; velero.IsUnread(newer) {
		c.notLooked(
			"what Velero "+newer+" does otherwise than "+velero.Current.String(),
			"veltui does not know its rules; it may restore volumes in place, over the data of claims that exist, and "+
				"cannot read data that restic stored",
		)
	}
	ahead := slices.Concat(v.Running, v.Waiting)
	switch {
	case v.QueueUnseen != "":
		c.notLooked("the restores ahead", v.QueueUnseen)
	case len(ahead) > 0:
		c.find(
			Finding{
				Severity: Note,
				Reason:   RestoresAhead,
				Resource: "restores.velero.io",
				Count:    len(ahead),
				Names:    ahead[:min(len(ahead), maxNames)],
				Sentence: fmt.Sprintf(
					"Velero works on one restore after another: %s before this one.",
					human.Plural(len(ahead), "other comes", "others come"),
				),
				Remedy: "veltui get restores shows how far they are.",
			},
		)
	}
}

// configured are the actions of Velero that a ConfigMap configures, with the resources that they
// act on (pkg/restore/actions). With two such ConfigMaps an action has an error for each item.
var configured = map[string][]string{
	live.ChangesClasses:   {claims, volumes, statefulSets},
	prepare.ChangesImages: prepare.OfImages,
	prepare.PodVolumes:    {pods},
	// Velero 1.16 and earlier.
	"velero.io/change-pvc-node-selector": {claims},
}

// pluginConfigs finds actions with more than one ConfigMap (pkg/plugin/framework/common/plugin_config.go).
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
		f := Finding{
			Severity:  Obstacle,
			Reason:    PluginConfigAmbiguous,
			Resource:  live.ConfigMaps,
			Namespace: namespace,
			Count:     len(names),
			Names:     names[:min(len(names), maxNames)],
			Sentence: fmt.Sprintf(
				"%d ConfigMaps have the label %s: RestoreItemAction, and Velero takes one. It has an error for each item of "+
					"%s, and restores none of them.",
				len(names),
				action,
				human.List(acts, 3),
			),
			Remedy: "Keep one of the ConfigMaps, and delete the others or their labels.",
		}
		if action == prepare.PodVolumes {
			f.Severity = Doubt
			f.Sentence = fmt.Sprintf(
				"%d ConfigMaps have the label %s: RestoreItemAction, and Velero takes one. It has an error for each pod "+
					"with file-system backups, and restores none of them.",
				len(names),
				action,
			)
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
	if !a.Saw(live.SnapshotClasses, "") {
		return
	}
	enabled, known := c.enablesCSI()
	if enabled && !c.before(1, 18) {
		drivers := slices.Collect(maps.Values(a.SnapshotClasses))
		for driver, g := range s.contents.sorted() {
			if c.has(live.SnapshotClasses, ofDriver+driver, slices.Contains(drivers, driver)) {
				continue
			}
			c.find(g.fill(Finding{
				Severity: Note,
				Reason:   SnapshotClassMissing,
				Resource: contents,
				Sentence: fmt.Sprintf(
					"No volume snapshot class is of driver %s. Velero restores %s without a class: a driver that needs "+
						"credentials to read a snapshot, such as Ceph's, fails.",
					driver,
					human.Count(g.count, "snapshot"),
				),
				Remedy: "Create a volume snapshot class of that driver if it needs credentials.",
			}))
		}
		return
	}
	then := "Velero keeps the name, and without the class the snapshot does not become ready."
	if !known {
		then = "Velero before 1.18, or without the feature flag EnableCSI, keeps the name, and without the class the " +
			"snapshot does not become ready."
	}
	for class, g := range s.snapshots.sorted() {
		if _, there := a.SnapshotClasses[class]; c.has(live.SnapshotClasses, class, there) {
			continue
		}
		c.find(g.fill(Finding{
			Severity: Doubt,
			Reason:   SnapshotClassMissing,
			Resource: snapshots,
			Sentence: fmt.Sprintf(
				"Volume snapshot class %s does not exist, and %s it. %s",
				class,
				human.Plural(g.count, "snapshot names", "snapshots name"),
				then,
			),
			Remedy: "Create a class of that name and of the snapshots' driver.",
		}))
	}
}
