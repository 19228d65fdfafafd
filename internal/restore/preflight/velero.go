package preflight

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/restore/live"
	"github.com/veltui/veltui/internal/restore/prepare"
	"github.com/veltui/veltui/internal/restore/restorespec"
	"github.com/veltui/veltui/internal/velero"
	"github.com/veltui/veltui/internal/velero/veleroapi"
)

// expirySoon is the time to its expiry below which a backup may soon be deleted: Velero collects garbage hourly.
const expirySoon = 2 * time.Hour

func (c *checker) checkVelero() {
	if b := c.Velero.Backup; b == nil {
		name := c.Restore.BackupName
		c.addFindingFor(
			name,
			Obstacle,
			BackupMissing,
			fmt.Sprintf("There is no backup %s.", name),
			"veltui get backups lists those that there are.",
		)
	} else {
		c.checkBackupState(b)
		c.checkLocation()
	}
	c.checkServer()
}

// checkBackupState judges the backup itself. Velero's own validation checks only that the backup exists and that its
// location is Available (pkg/controller/restore_controller.go).
func (c *checker) checkBackupState(b *veleroapi.Backup) {
	switch phase := b.Status.Phase; phase {
	case veleroapi.BackupPhaseCompleted, veleroapi.BackupPhaseDeleting:
	case veleroapi.BackupPhasePartiallyFailed:
		c.addFindingFor(
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
	case "", veleroapi.BackupPhaseNew:
		c.addFindingFor(
			b.Name,
			Obstacle,
			BackupNotReady,
			fmt.Sprintf("Backup %s has not started.", b.Name),
			"Wait until it has ended, or take another backup.",
		)
	case veleroapi.BackupPhaseFailed, veleroapi.BackupPhaseFailedValidation:
		c.addFindingFor(
			b.Name,
			Obstacle,
			BackupNotReady,
			fmt.Sprintf("Backup %s is %s: there may be nothing of it to restore.", b.Name, phase),
			"Take another backup.",
		)
	default:
		c.addFindingFor(
			b.Name,
			Obstacle,
			BackupNotReady,
			fmt.Sprintf("Backup %s is still %s.", b.Name, phase),
			"Wait until it has ended.",
		)
	}
	c.checkFinalized(b)
	if b.Status.Phase == veleroapi.BackupPhaseDeleting || b.DeletionTimestamp != nil || c.Velero.Deletion != nil {
		c.addFindingFor(
			b.Name,
			Obstacle,
			BackupDeleting,
			fmt.Sprintf("Backup %s is being deleted.", b.Name),
			"Take another backup.",
		)
		return
	}
	if c.Velero.DeletionsUnchecked != "" {
		c.addUnchecked("whether somebody asked to delete the backup", c.Velero.DeletionsUnchecked)
	}
	if b.Status.Expiration == nil {
		return
	}
	switch left := b.Status.Expiration.Sub(c.Now); {
	case left <= 0:
		c.addFindingFor(
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
	case left < expirySoon:
		c.addFindingFor(
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

// checkFinalized judges whether the stored contents include the snapshots and data movements of a backup: Velero adds
// what the operations made at the backup's end, and an upload that fails then shows nowhere
// (pkg/controller/backup_finalizer_controller.go Reconcile).
func (c *checker) checkFinalized(b *veleroapi.Backup) {
	if c.Velero.FinalizedUnchecked != "" {
		c.addUnchecked("whether Velero stored the backup's contents after its operations", c.Velero.FinalizedUnchecked)
	}
	if !c.Velero.NotFinalized {
		return
	}
	severity := Doubt
	if b.Spec.SnapshotMoveData != nil && *b.Spec.SnapshotMoveData {
		severity = Obstacle
	}
	c.addFindingFor(
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

// serverReadsField reports whether the server reads a field of the Restore; a server of unknown version reads all.
func (c *checker) serverReadsField(flag string) bool {
	v, known := velero.ParseVersion(c.Velero.Server.Version)
	f, _ := restorespec.FindFlag(flag)
	return !known || f.IsReadBy(v)
}

// checkIgnoredFields finds the fields that the restore sets and that the server is too old to read.
func (c *checker) checkIgnoredFields() {
	d := restorespec.Draft{Restore: veleroapi.Restore{Spec: c.Restore}}
	for _, f := range d.GivenFlags() {
		if c.serverReadsField(f.Flag) {
			continue
		}
		severity, remedy := Doubt, "Leave it out, or upgrade Velero before you restore."
		sentence := fmt.Sprintf(
			"Velero %s ignores --%s: servers read it since %s.",
			c.Velero.Server.Version,
			f.Flag,
			f.ReadSince(),
		)
		if f.IsFilter {
			severity, remedy = Obstacle, "Use other filters, or upgrade Velero before you restore."
			sentence += " The restore brings back what it would leave out, too."
		}
		c.addFindingFor("--"+f.Flag, severity, FieldIgnored, sentence, remedy)
	}
}

func (c *checker) checkLocation() {
	v := c.Velero
	name := v.Backup.Spec.StorageLocation
	switch {
	case v.LocationsUnchecked != "":
		c.addUnchecked("the backup's storage location", v.LocationsUnchecked)
	case v.Location == nil:
		c.addFindingFor(
			name,
			Obstacle,
			LocationMissing,
			fmt.Sprintf("The backup's storage location %s does not exist. Velero refuses the restore.", name),
			"Create the BackupStorageLocation again, with the same name.",
		)
	case v.Location.Status.Phase != veleroapi.BackupStorageLocationPhaseAvailable:
		severity, then := Obstacle, "Velero refuses the restore."
		if version, known := velero.ParseVersion(v.Server.Version); known && !version.RefusesUnavailableLocation() {
			then = "Velero " + v.Server.Version + " starts the restore all the same, and it fails if the object store " +
				"does not answer."
			if v.Location.Status.Phase != veleroapi.BackupStorageLocationPhaseUnavailable {
				severity = Doubt
			}
		}
		if message := v.Location.Status.Message; message != "" {
			then += " Velero says: " + human.Shorten(message, 300)
		}
		c.addFindingFor(
			name,
			severity,
			LocationUnavailable,
			fmt.Sprintf("The backup's storage location %s is not Available. %s", name, then),
			"Check the object store and its credentials: kubectl -n "+v.Location.Namespace+
				" describe backupstoragelocation "+name+".",
		)
	}
}

func (c *checker) checkServer() {
	v := c.Velero
	switch {
	case !v.Server.Visible:
		c.addUnchecked(
			"whether the Velero server runs, its version and its flags",
			"you may not list pods in its namespace",
		)
	case v.Server.Name == "":
		c.addFinding(
			Finding{
				Severity: Obstacle,
				Reason:   ServerNotRunning,
				Sentence: "No pod of the Velero server was found. The restore will wait until one runs.",
				Remedy:   "Start it: kubectl get deployments, in the namespace of Velero, tells whether it is scaled down.",
			},
		)
	case !v.Server.Running:
		why := ""
		if v.Server.WaitingReason != "" {
			why = " (" + v.Server.WaitingReason + ")"
		}
		c.addFindingFor(
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
	if newer := v.Server.Version; velero.IsUnreviewedVersion(newer) {
		c.addUnchecked(
			"what Velero "+newer+" does otherwise than "+velero.LatestReviewedVersion.String(),
			"veltui does not know its rules; it may restore volumes in place, over the data of claims that exist, and "+
				"cannot read data that restic stored",
		)
	}
	ahead := slices.Concat(v.Running, v.Waiting)
	switch {
	case v.QueueUnchecked != "":
		c.addUnchecked("the restores ahead", v.QueueUnchecked)
	case len(ahead) > 0:
		c.addFinding(
			Finding{
				Severity: Note,
				Reason:   RestoresAhead,
				Resource: "restores.velero.io",
				Count:    len(ahead),
				Names:    ahead[:min(len(ahead), maxNames)],
				Sentence: fmt.Sprintf(
					"Velero works on one restore after another: %s before this one.",
					human.CountForms(len(ahead), "other comes", "others come"),
				),
				Remedy: "veltui get restores shows how far they are.",
			},
		)
	}
}

// configuredActions maps the actions of Velero that a ConfigMap configures to the resources that they change
// (pkg/restore/actions). With two such ConfigMaps, an action reports an error for each item.
var configuredActions = map[string][]string{
	live.ChangeStorageClassLabel:  {claims, volumes, statefulSets},
	prepare.ChangeImageNameLabel:  prepare.ImageResources,
	prepare.PodVolumeRestoreLabel: {pods},
	// Velero 1.16 and earlier.
	"velero.io/change-pvc-node-selector": {claims},
}

// checkPluginConfigs finds actions with more than one ConfigMap (pkg/plugin/framework/common/plugin_config.go).
func (c *checker) checkPluginConfigs() {
	if c.Environment == nil {
		return
	}
	namespace := ""
	if c.Velero.Backup != nil {
		namespace = c.Velero.Backup.Namespace
	}
	for _, action := range slices.Sorted(maps.Keys(c.Environment.PluginConfigs)) {
		names := c.Environment.PluginConfigs[action]
		var acts []string
		for _, resource := range configuredActions[action] {
			if c.provided[resource] != nil {
				acts = append(acts, resource)
			}
		}
		if len(names) < 2 || len(acts) == 0 || action == "velero.io/change-pvc-node-selector" && !c.isServerBefore(1, 17) {
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
				human.JoinNames(acts, 3),
			),
			Remedy: "Keep one of the ConfigMaps, and delete the others or their labels.",
		}
		if action == prepare.PodVolumeRestoreLabel {
			f.Severity = Doubt
			f.Sentence = fmt.Sprintf(
				"%d ConfigMaps have the label %s: RestoreItemAction, and Velero takes one. It has an error for each pod "+
					"with file-system backups, and restores none of them.",
				len(names),
				action,
			)
		}
		c.addFinding(f)
	}
}

// isServerBefore reports whether the server is known to be older than a version.
func (c *checker) isServerBefore(major, minor int) bool {
	v, ok := velero.ParseVersion(c.Velero.Server.Version)
	return ok && (v[0] < major || v[0] == major && v[1] < minor)
}

// enablesCSI reports whether the server runs with EnableCSI, and whether that is known.
func (c *checker) enablesCSI() (enabled, known bool) {
	s := c.Velero.Server
	return slices.Contains(s.Flags.Features, "EnableCSI"), s.Running
}

// skipsCSI reports whether Velero skips its CSI actions, so that claims get no data from snapshots
// (pkg/restore/actions/csi and restore.go; in Velero itself since 1.14).
func (c *checker) skipsCSI() bool {
	enabled, known := c.enablesCSI()
	return known && !enabled && !c.isServerBefore(1, 14) && c.restoresVolumes()
}

// driverPrefix precedes the driver of a snapshot class that the restore brings.
const driverPrefix = "driver "

// checkSnapshotClasses finds snapshots without a class. Since 1.18 and with EnableCSI, Velero drops the class that a
// snapshot names, and takes a class of the same driver, if there is one
// (pkg/restore/actions/csi/volumesnapshotcontent_action.go).
func (c *checker) checkSnapshotClasses(s *storageNeeds) {
	a := c.Environment
	if !a.WasChecked(live.SnapshotClasses, "") {
		return
	}
	enabled, known := c.enablesCSI()
	if enabled && !c.isServerBefore(1, 18) {
		drivers := slices.Collect(maps.Values(a.SnapshotClasses))
		for driver, g := range s.snapshotContents.sortedByKey() {
			if c.isAvailable(live.SnapshotClasses, driverPrefix+driver, slices.Contains(drivers, driver)) {
				continue
			}
			c.addFinding(g.fillFinding(Finding{
				Severity: Note,
				Reason:   SnapshotClassMissing,
				Resource: snapshotContents,
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
	for class, g := range s.snapshots.sortedByKey() {
		if _, there := a.SnapshotClasses[class]; c.isAvailable(live.SnapshotClasses, class, there) {
			continue
		}
		c.addFinding(g.fillFinding(Finding{
			Severity: Doubt,
			Reason:   SnapshotClassMissing,
			Resource: snapshots,
			Sentence: fmt.Sprintf(
				"Volume snapshot class %s does not exist, and %s it. %s",
				class,
				human.CountForms(g.count, "snapshot names", "snapshots name"),
				then,
			),
			Remedy: "Create a class of that name and of the snapshots' driver.",
		}))
	}
}
