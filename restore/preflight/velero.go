package preflight

import (
	"fmt"
	"slices"
	"time"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"

	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/restore/restorespec"
	"github.com/veltui/veltui/velero"
)

// soon is how long before its expiry a backup may be deleted: garbage is collected hourly.
const soon = 2 * time.Hour

func (c *check) velero() {
	if b := c.Velero.Backup; b == nil {
		name := c.Restore.BackupName
		c.about(name, Obstacle, BackupMissing, fmt.Sprintf("There is no backup %s.", name), "veltui get backups lists those that there are.")
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
		c.about(b.Name, Doubt, BackupPartiallyFailed,
			fmt.Sprintf("Backup %s is PartiallyFailed with %s: something is not in it.", b.Name, human.Count(b.Status.Errors, "error")),
			"Read its errors: veltui results backup/"+b.Name+".")
	case "", velerov1.BackupPhaseNew:
		c.about(b.Name, Obstacle, BackupNotReady, fmt.Sprintf("Backup %s has not started.", b.Name), "Wait until it has ended, or take another backup.")
	case velerov1.BackupPhaseFailed, velerov1.BackupPhaseFailedValidation:
		c.about(b.Name, Obstacle, BackupNotReady, fmt.Sprintf("Backup %s is %s: there may be nothing of it to restore.", b.Name, phase), "Take another backup.")
	default:
		c.about(b.Name, Obstacle, BackupNotReady, fmt.Sprintf("Backup %s is still %s.", b.Name, phase), "Wait until it has ended.")
	}
	c.finalized(b)
	if b.Status.Phase == velerov1.BackupPhaseDeleting || b.DeletionTimestamp != nil || c.Velero.Deletion != nil {
		c.about(b.Name, Obstacle, BackupDeleting, fmt.Sprintf("Backup %s is being deleted.", b.Name), "Take another backup.")
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
		c.about(b.Name, Obstacle, BackupExpired,
			fmt.Sprintf("Backup %s expired %s. Velero may delete it, and its data, at any moment.", b.Name, human.Ago(b.Status.Expiration.Time, c.Now)),
			"Take another backup. If there is none, raise spec.ttl and status.expiration of this one first, or stop Velero's garbage collection (--garbage-collection-frequency).")
	case left < soon:
		c.about(b.Name, Doubt, BackupExpiresSoon,
			fmt.Sprintf("Backup %s expires in %s. Velero may delete it while the restore runs.", b.Name, human.Duration(left)),
			"Take a newer backup, or raise spec.ttl and status.expiration of this one first.")
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
	c.about(b.Name, severity, BackupNotFinalized,
		fmt.Sprintf("Velero ended backup %s without storing its contents after %s: what they made, such as moved volumes, cannot be restored.",
			b.Name, human.Count(b.Status.BackupItemOperationsAttempted, "operation")),
		"Take another backup.")
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
		sentence := fmt.Sprintf("Velero %s ignores --%s: servers read it since %s.", c.Velero.Server.Version, f.Flag, f.Since())
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
		c.about(name, Obstacle, LocationMissing, fmt.Sprintf("The backup's storage location %s does not exist. Velero refuses the restore.", name),
			"Create the BackupStorageLocation again, with the same name.")
	case v.Location.Status.Phase != velerov1.BackupStorageLocationPhaseAvailable:
		severity, then := Obstacle, "Velero refuses the restore."
		if version, known := velero.ParseVersion(v.Server.Version); known && !version.RefusesUnavailableLocation() {
			then = "Velero " + v.Server.Version + " starts the restore all the same, and it fails if the object store does not answer."
			if v.Location.Status.Phase != velerov1.BackupStorageLocationPhaseUnavailable {
				severity = Doubt
			}
		}
		if message := v.Location.Status.Message; message != "" {
			then += " Velero says: " + human.Shorten(message, 300)
		}
		c.about(name, severity, LocationUnavailable, fmt.Sprintf("The backup's storage location %s is not Available. %s", name, then),
			"Check the object store and its credentials: kubectl -n "+v.Location.Namespace+" describe backupstoragelocation "+name+".")
	}
}

func (c *check) server() {
	v := c.Velero
	switch {
	case !v.Server.Visible:
		c.notLooked("whether the Velero server runs, its version and its flags", "you may not list pods in its namespace")
	case v.Server.Name == "":
		c.find(Finding{Severity: Obstacle, Reason: ServerNotRunning, Sentence: "No pod of the Velero server was found. The restore will wait until one runs.", Remedy: "Start it: kubectl get deployments, in the namespace of Velero, tells whether it is scaled down."})
	case !v.Server.Running:
		why := ""
		if v.Server.Waiting != "" {
			why = " (" + v.Server.Waiting + ")"
		}
		c.about(v.Server.Name, Obstacle, ServerNotRunning,
			fmt.Sprintf("The Velero server's pod %s does not run%s. The restore will wait until it does.", v.Server.Name, why), "veltui explain says why jobs wait.")
	}
	if newer := v.Server.Version; velero.IsUnread(newer) {
		c.notLooked("what Velero "+newer+" does otherwise than "+velero.Current.String(),
			"veltui does not know its rules; it may restore volumes in place, over the data of claims that exist, and cannot read data that restic stored")
	}
	ahead := slices.Concat(v.Running, v.Waiting)
	switch {
	case v.QueueUnseen != "":
		c.notLooked("the restores ahead", v.QueueUnseen)
	case len(ahead) > 0:
		many := human.Plural(len(ahead), "one comes", "come")
		if len(ahead) > 1 {
			many = fmt.Sprintf("%d come", len(ahead))
		}
		c.find(Finding{Severity: Note, Reason: RestoresAhead, Resource: "restores.velero.io", Count: len(ahead), Names: ahead[:min(len(ahead), maxNames)],
			Sentence: fmt.Sprintf("Velero works on one restore after another: %s before this one.", many), Remedy: "veltui get restores shows how far they are."})
	}
}
