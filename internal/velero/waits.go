package velero

import (
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Step is a part of a job's way in which the same waits are possible. It is finer than a phase.
type Step string

// The steps.
const (
	StepQueued     Step = "queued"     // New, Queued or ReadyToStart
	StepCollecting Step = "collecting" // InProgress, without a count
	StepItems      Step = "items"      // InProgress, some items left
	StepVolumes    Step = "volumes"    // InProgress, all items done, pod volumes left
	StepStoring    Step = "storing"    // InProgress, all items and pod volumes done
	StepOperations Step = "operations" // WaitingForPluginOperations
	StepFinalizing Step = "finalizing" // Finalizing
	StepDeleting   Step = "deleting"   // Deleting
)

// Moment is what a limit is counted from.
type Moment string

// The moments, each the latest at which Velero's code can have begun to count. Since its newest movement a job may
// have waited for several things one after the other, so that FromMovement bounds nothing: it is for words.
const (
	FromStart    Moment = "status.startTimestamp"
	FromMovement Moment = "the last movement"
	FromPhase    Moment = "the beginning of the phase"
	// FromTurn is when the finalizer took the job in hand: after the beginning of the phase, after the
	// server's start, as it then begins anew, and after the end of the job that it had before.
	FromTurn     Moment = "its turn with the finalizer"
	FromEvidence Moment = "its own beginning"
	// FromFirstVolume is the creation of the job's first pod volume, which is after the limit's beginning: a
	// restore counts from when its backup is downloaded, a backup from when the store has answered.
	FromFirstVolume Moment = "the creation of the first volume"
	// FromStored is when the last of the job's files was stored.
	FromStored Moment = "the last stored file"
)

// Bound is a limit of Velero's. The zero value is that of a wait without one.
type Bound struct {
	// Setting names the flag, the field or the constant.
	Setting string
	// Of is the limit's length as Velero's code makes it, at least zero, [Endless] for none; nil if it
	// is the evidence's own, as a hook's.
	Of func(o metav1.Object, f ServerFlags) time.Duration
	// Acts says who acts on a limit that has passed, empty where the wait itself ends, and Delay how
	// long that takes at most.
	Acts  string
	Delay func(f ServerFlags) time.Duration
	// Open is true where Velero acts on the limit and the wait goes on.
	Open bool
}

// WaitName names a row of the table of waits.
type WaitName string

// Wait is one thing that a job can wait for in silence.
type Wait struct {
	Name WaitName
	// For says in words what is waited for.
	For     string
	Subject string // the kind that waits, Backup or Restore
	Steps   []Step
	// Since and Before are the versions in which it is so; zero for all.
	Since, Before Version
	// Worker is who owns the job meanwhile: a controller of the server (of the kind, queue,
	// finalizer or deletion), a node-agent, or a plugin. Workers is how many there are.
	Worker, Workers string
	Limit           Bound
	From            Moment
	// Writes is what Velero writes meanwhile, and how often; empty for nothing.
	Writes string
	// Shows is the evidence that shows it, empty if nothing does: then the wait is always possible.
	Shows string
	// Restart is what a restart of the server does to the job.
	Restart string
	// Source is file and function.
	Source string
}

// WaitsIn are the rows for a kind of job, a step and a version, in the table's order.
func WaitsIn(table []Wait, subject string, step Step, v Version) []Wait {
	var rows []Wait
	for i := range table {
		w := &table[i]
		if w.Subject == subject && slices.Contains(w.Steps, step) && v.within(w.Since, w.Before) {
			rows = append(rows, *w)
		}
	}
	return rows
}

// The waits of Waits by name.
const (
	WaitListing      WaitName = "Listing"
	WaitDownload     WaitName = "Download"
	WaitCacheSync    WaitName = "CacheSync"
	WaitNamespace    WaitName = "Namespace"
	WaitHook         WaitName = "Hook"
	WaitSnapshot     WaitName = "Snapshot"
	WaitItemAction   WaitName = "ItemAction"
	WaitCRD          WaitName = "CustomResourceDefinition"
	WaitItems        WaitName = "AdditionalItems"
	WaitRepository   WaitName = "Repository"
	WaitLock         WaitName = "RepositoryLock"
	WaitPodVolumes   WaitName = "PodVolumes"
	WaitCancelled    WaitName = "CancelledPodVolumes"
	WaitStoring      WaitName = "Storing"
	WaitLastPatch    WaitName = "LastPatch"
	WaitOperations   WaitName = "Operations"
	WaitFinalizer    WaitName = "Finalizer"
	WaitRewriting    WaitName = "Rewriting"
	WaitStore        WaitName = "Store"
	WaitBinding      WaitName = "Binding"
	WaitGroups       WaitName = "GroupSnapshots"
	WaitRestoreHooks WaitName = "RestoreHooks"
	WaitDeletion     WaitName = "Deletion"
	WaitQueue        WaitName = "Queue"
	WaitWorker       WaitName = "Worker"
)

// LastPatch is when Velero makes its last attempt at writing the last status of a phase, and when
// it gives up. The first delay is 10 ms, each is five times the one before, jitter adds a tenth,
// and no attempt follows a delay whose next would pass the resource timeout (pkg/client/retry.go
// CapBackoff with apimachinery's wait.Backoff, since 1.15). Zero and less are no cap: it never gives up.
func LastPatch(o metav1.Object, f ServerFlags) (attempt, givesUp time.Duration) {
	sum, limit := time.Duration(0), patchCap(o, f)
	for delay := 10 * time.Millisecond; ; delay *= 5 {
		switch {
		case limit >= Endless:
			return Endless, Endless
		case delay > limit/5: // ends, as the limit is far from the largest number
			return sum + sum/10, sum + delay + (sum+delay)/10
		}
		sum += delay
	}
}

// patchCap bounds the delays between attempts at a status; Endless for no bound.
func patchCap(o metav1.Object, f ServerFlags) time.Duration {
	flag := f.resourceTimeout()
	noted, isNoted := notedResourceTimeout(o)
	switch {
	case flag < Endless && flag > 0:
		return max(flag, noted)
	case flag >= Endless && isNoted && noted > 0:
		return noted
	}
	return Endless
}

func lastPatch(o metav1.Object, f ServerFlags) time.Duration {
	_, givesUp := LastPatch(o, f)
	return givesUp
}

// CancelDelay is when any node-agent ends a cancelled volume that its own does not end
// (pkg/controller/pod_volume_backup_controller.go cancelDelayInProgress, since 1.17).
const CancelDelay = time.Hour

// operationDelay is a look, and a minute for those at other jobs before it.
func operationDelay(f ServerFlags) time.Duration { return OperationLooks(f) + time.Minute }

var inItems = []Step{StepCollecting, StepItems}

// Successor says that a job may go on from one step to another and write nothing: no evidence tells the two apart.
type Successor struct {
	Subject       string // Backup or Restore
	From, To      Step
	Since, Before Version
	// Ended is true where that takes all pod volumes to have ended.
	Ended bool
	// Source is file and function.
	Source string
}

// Successors are the silent transitions from 1.14 to 1.18.3. Counts are written, but a patch that fails is
// not repeated (pkg/backup/backup.go and pkg/restore/restore.go, "Got error trying to update"): so none of
// them proves a step.
func Successors() []Successor {
	const backup, restore = "Backup", "Restore"
	return []Successor{
		{Subject: backup, From: StepCollecting, To: StepItems, Source: "pkg/backup/backup.go BackupWithResolvers"},
		{Subject: backup, From: StepItems, To: StepVolumes, Source: "pkg/backup/backup.go BackupWithResolvers"},
		{
			Subject: backup,
			From:    StepVolumes,
			To:      StepStoring,
			Before:  Version{1, 18, 3},
			Source:  "pkg/podvolume/backupper.go WaitAllPodVolumesProcessed",
		},
		{
			Subject: backup,
			From:    StepVolumes,
			To:      StepStoring,
			Since:   Version{1, 18, 3},
			Ended:   true,
			Source:  "pkg/podvolume/backupper.go WaitAllPodVolumesProcessed",
		},
		{Subject: restore, From: StepCollecting, To: StepItems, Source: "pkg/restore/restore.go execute"},
		{Subject: restore, From: StepCollecting, To: StepStoring, Source: "pkg/restore/restore.go execute"},
		{Subject: restore, From: StepItems, To: StepVolumes, Source: "pkg/restore/restore.go execute"},
		{Subject: restore, From: StepVolumes, To: StepStoring, Source: "pkg/podvolume/restorer.go RestorePodVolumes"},
	}
}

// Reachable are the steps in which a job can be that was last seen in one, in their order: that one, and all
// that follow it in silence. openVolumes is true while a pod volume of the job has not ended.
func Reachable(subject string, from Step, v Version, openVolumes bool) []Step {
	steps := []Step{from}
	for i := 0; i < len(steps); i++ {
		for _, s := range Successors() {
			holds := s.Subject == subject && s.From == steps[i] && !(s.Ended && openVolumes)
			if holds && v.within(s.Since, s.Before) && !slices.Contains(steps, s.To) {
				steps = append(steps, s.To)
			}
		}
	}
	return steps
}

// Waits are all silent waits, in the order in which a job meets them, from 1.14 to 1.18.3. docs/dev/velero.md
// prints them.
func Waits() []Wait {
	const backup, restore = "Backup", "Restore"
	resource := Bound{Setting: "resource-timeout", Of: ResourceTimeout}
	hooks := Bound{Setting: "resource-timeout", Of: restoreHookTimeout}
	podVolumes := Bound{Setting: "fs-backup-timeout", Of: PodVolumeTimeout}
	cancels := Bound{
		Setting: "fs-backup-timeout",
		Of:      PodVolumeTimeout,
		Acts:    "it cancels them and waits on",
		Open:    true,
	}
	operations := Bound{
		Setting: "itemOperationTimeout",
		Of:      ItemOperationTimeout,
		Acts:    "the next look (item-operation-sync-frequency)",
		Delay:   operationDelay,
	}
	patch := Bound{Setting: "resource-timeout", Of: lastPatch}
	return []Wait{
		{
			Name:    WaitQueue,
			For:     "its turn in the queue",
			Subject: backup,
			Steps:   []Step{StepQueued},
			Since:   Version{1, 18, 0},
			Worker:  "queue",
			Workers: "--concurrent-backups",
			Writes:  "status.queuePosition, as it moves up",
			Restart: "goes on",
			Shows:   "backups that run, or are queued before it",
			Source:  "pkg/controller/backup_queue_controller.go Reconcile",
		},
		{
			Name:    WaitWorker,
			For:     "the backup worker",
			Subject: backup,
			Steps:   []Step{StepQueued},
			Before:  Version{1, 18, 0},
			Worker:  "server",
			Workers: "1",
			Restart: "goes on",
			Shows:   "another backup in progress",
			Source:  "pkg/controller/backup_controller.go SetupWithManager",
		},
		{
			Name:    WaitWorker,
			For:     "the restore worker",
			Subject: restore,
			Steps:   []Step{StepQueued},
			Worker:  "server",
			Workers: "1",
			Restart: "goes on",
			Shows:   "another restore in progress",
			Source:  "pkg/controller/restore_controller.go SetupWithManager",
		},

		{
			Name:    WaitListing,
			For:     "the list of what to back up",
			Subject: backup,
			Steps:   []Step{StepCollecting},
			Worker:  "server",
			Workers: "--concurrent-backups (1 before 1.18)",
			From:    FromMovement,
			Restart: "marks it Failed",
			Source:  "pkg/backup/backup.go BackupWithResolvers",
		},
		{
			Name:    WaitDownload,
			For:     "the download of the backup",
			Subject: restore,
			Steps:   []Step{StepCollecting},
			Worker:  "server",
			Workers: "1",
			From:    FromMovement,
			Restart: "marks it Failed",
			Source:  "pkg/controller/restore_controller.go runValidatedRestore",
		},
		{
			Name:    WaitCacheSync,
			For:     "a kind that the API server does not list",
			Subject: restore,
			Steps:   inItems,
			Worker:  "server",
			Workers: "1",
			From:    FromMovement,
			Restart: "marks it Failed",
			Shows:   "the server's log ends with waiting informer cache sync",
			Source:  "pkg/restore/restore.go execute, getResourceLister",
		},
		{
			Name:    WaitNamespace,
			For:     "a namespace to be gone",
			Subject: restore,
			Steps:   inItems,
			Worker:  "server",
			Workers: "1",
			Limit:   Bound{Setting: "terminating-resource-timeout", Of: terminatingTimeout},
			From:    FromMovement,
			Writes:  "nothing; again with each item",
			Restart: "marks it Failed",
			Shows:   "a namespace that is being deleted",
			Source:  "pkg/util/kube/utils.go EnsureNamespaceExistsAndIsReady",
		},
		{
			Name:    WaitHook,
			For:     "a hook",
			Subject: backup,
			Steps:   inItems,
			Worker:  "server",
			Workers: "--concurrent-backups (1 before 1.18)",
			Limit:   Bound{Setting: "the hook's timeout, each after the other"},
			From:    FromEvidence,
			Restart: "marks it Failed",
			Shows:   "the server's log, spec.hooks, annotations of the pods",
			Source:  "pkg/podexec/pod_command_executor.go ExecutePodCommand",
		},
		{
			Name:    WaitSnapshot,
			For:     "a CSI snapshot",
			Subject: backup,
			Steps:   inItems,
			Worker:  "plugin",
			Workers: "1 a worker",
			Limit:   Bound{Setting: "spec.csiSnapshotTimeout", Of: snapshotLimit},
			From:    FromEvidence,
			Restart: "marks it Failed",
			Shows:   "a VolumeSnapshot without a handle",
			Source:  "pkg/util/csi/volume_snapshot.go WaitUntilVSCHandleIsReady",
		},
		{
			Name:    WaitItemAction,
			For:     "a plugin that works on one item",
			Subject: backup,
			Steps:   inItems,
			Worker:  "plugin",
			Workers: "1 a worker",
			From:    FromMovement,
			Restart: "marks it Failed",
			Source:  "pkg/backup/item_backupper.go executeActions",
		},
		{
			Name:    WaitItemAction,
			For:     "a plugin that works on one item",
			Subject: restore,
			Steps:   inItems,
			Worker:  "plugin",
			Workers: "1",
			From:    FromMovement,
			Restart: "marks it Failed",
			Source:  "pkg/restore/pv_restorer.go executePVAction",
		},
		{
			Name:    WaitCRD,
			For:     "a CustomResourceDefinition to be established",
			Subject: restore,
			Steps:   inItems,
			Worker:  "server",
			Workers: "1",
			Limit:   resource,
			From:    FromMovement,
			Restart: "marks it Failed",
			Source:  "pkg/restore/restore.go crdAvailable",
		},
		{
			Name:    WaitItems,
			For:     "what a plugin added to be ready",
			Subject: restore,
			Steps:   inItems,
			Worker:  "plugin",
			Workers: "1",
			Limit:   resource,
			From:    FromMovement,
			Restart: "marks it Failed",
			Source:  "pkg/restore/restore.go itemsAvailable",
		},
		{
			Name:    WaitPodVolumes,
			For:     "the pod volumes of a pod, before its hooks",
			Subject: backup,
			Steps:   []Step{StepItems},
			Since:   Version{1, 16, 0},
			Worker:  "node-agent",
			Workers: "loadConcurrency of the node",
			Limit:   podVolumes,
			From:    FromFirstVolume,
			Writes:  "bytes of the volume, every ten seconds, while they grow",
			Restart: "marks it Failed",
			Shows:   "PodVolumeBackups that have not ended",
			Source:  "pkg/backup/backup.go handleItemBlockPostHooks",
		},
		{
			Name:    WaitRepository,
			For:     "a repository to be made or connected",
			Subject: backup,
			Steps:   inItems,
			Worker:  "server",
			Workers: "1 a repository",
			Limit:   resource,
			From:    FromMovement,
			Writes:  "the BackupRepository",
			Restart: "marks it Failed",
			Shows:   "a BackupRepository that is not ready",
			Source:  "pkg/repository/ensurer.go EnsureRepo",
		},
		{
			Name:    WaitRepository,
			For:     "a repository to be made or connected",
			Subject: restore,
			Steps:   []Step{StepCollecting, StepItems, StepStoring},
			Worker:  "server",
			Workers: "1 a repository",
			Limit:   resource,
			From:    FromMovement,
			Writes:  "the BackupRepository",
			Restart: "marks it Failed",
			Shows:   "a BackupRepository that is not ready",
			Source:  "pkg/repository/ensurer.go EnsureRepo",
		},
		{
			Name:    WaitLock,
			For:     "the lock of a repository",
			Subject: backup,
			Steps:   inItems,
			Worker:  "server",
			Workers: "1 writer a repository",
			From:    FromMovement,
			Restart: "marks it Failed",
			Shows:   "a deletion in progress; before 1.16 a maintenance Job",
			Source:  "pkg/repository/locker.go RepoLocker",
		},
		{
			Name:    WaitLock,
			For:     "the lock of a repository",
			Subject: restore,
			Steps:   []Step{StepCollecting, StepItems, StepStoring},
			Worker:  "server",
			Workers: "1 writer a repository",
			From:    FromMovement,
			Restart: "marks it Failed",
			Shows:   "a deletion in progress; before 1.16 a maintenance Job",
			Source:  "pkg/repository/locker.go RepoLocker",
		},

		{
			Name:    WaitPodVolumes,
			For:     "its pod volumes",
			Subject: backup,
			Steps:   []Step{StepVolumes},
			Before:  Version{1, 18, 3},
			Worker:  "node-agent",
			Workers: "loadConcurrency of the node",
			Limit:   podVolumes,
			From:    FromFirstVolume,
			Writes:  "bytes of the volume, every ten seconds, while they grow",
			Restart: "marks it Failed",
			Shows:   "PodVolumeBackups that have not ended",
			Source:  "pkg/podvolume/backupper.go WaitAllPodVolumesProcessed",
		},
		{
			Name:    WaitPodVolumes,
			For:     "its pod volumes",
			Subject: backup,
			Steps:   []Step{StepVolumes},
			Since:   Version{1, 18, 3},
			Worker:  "node-agent",
			Workers: "loadConcurrency of the node",
			Limit:   cancels,
			From:    FromFirstVolume,
			Writes:  "bytes of the volume, every ten seconds, while they grow",
			Restart: "marks it Failed",
			Shows:   "PodVolumeBackups that have not ended",
			Source:  "pkg/podvolume/backupper.go WaitAllPodVolumesProcessed",
		},
		{
			Name:    WaitPodVolumes,
			For:     "its pod volumes",
			Subject: restore,
			Steps:   []Step{StepVolumes, StepStoring},
			Worker:  "node-agent",
			Workers: "loadConcurrency of the node",
			Limit:   podVolumes,
			From:    FromFirstVolume,
			Writes:  "bytes of the volume, every ten seconds, while they grow",
			Restart: "marks it Failed",
			Shows:   "PodVolumeRestores that have not ended, or fewer than the backup has",
			Source:  "pkg/podvolume/restorer.go RestorePodVolumes",
		},
		{
			Name:    WaitCancelled,
			For:     "pod volumes that were cancelled (Velero issue 9464)",
			Subject: backup,
			Steps:   []Step{StepItems, StepStoring},
			Since:   Version{1, 17, 0},
			Before:  Version{1, 18, 3},
			Worker:  "server",
			Workers: "--concurrent-backups (1 before 1.18)",
			Limit:   podVolumes,
			From:    FromFirstVolume,
			Restart: "marks it Failed",
			Shows:   "a PodVolumeBackup that is Canceled",
			Source:  "pkg/podvolume/backupper.go WaitAllPodVolumesProcessed",
		},
		{
			Name:    WaitStoring,
			For:     "its files to be stored",
			Subject: backup,
			Steps:   []Step{StepStoring},
			Worker:  "plugin",
			Workers: "1 a worker",
			From:    FromMovement,
			Restart: "marks it Failed",
			Shows:   "the object store",
			Source:  "pkg/controller/backup_controller.go runBackup",
		},
		{
			Name:    WaitStoring,
			For:     "its files to be stored",
			Subject: restore,
			Steps:   []Step{StepStoring},
			Worker:  "plugin",
			Workers: "1",
			From:    FromMovement,
			Restart: "marks it Failed",
			Shows:   "the object store",
			Source:  "pkg/controller/restore_controller.go runValidatedRestore",
		},
		{
			Name:    WaitLastPatch,
			For:     "its last status to be written",
			Subject: backup,
			Steps:   []Step{StepStoring},
			Worker:  "server",
			Workers: "--concurrent-backups (1 before 1.18)",
			Limit:   patch,
			From:    FromStored,
			Restart: "marks it Failed",
			Shows:   "all files stored; the server's log when it gives up",
			Source:  "pkg/util/kube/client.go PatchResourceWithRetriesOnErrors",
		},
		{
			Name:    WaitLastPatch,
			For:     "its last status to be written",
			Subject: restore,
			Steps:   []Step{StepStoring},
			Worker:  "server",
			Workers: "1",
			Limit:   patch,
			From:    FromStored,
			Restart: "marks it Failed",
			Shows:   "all files stored; the server's log when it gives up",
			Source:  "pkg/util/kube/client.go PatchResourceWithRetriesOnErrors",
		},

		{
			Name:    WaitOperations,
			For:     "asynchronous operations",
			Subject: backup,
			Steps:   []Step{StepOperations},
			Worker:  "plugin",
			Workers: "any number",
			Limit:   operations,
			From:    FromPhase,
			Writes:  "how many have ended, every ten seconds, while that grows",
			Restart: "goes on",
			Shows:   "status.backupItemOperations",
			Source:  "pkg/controller/backup_operations_controller.go Reconcile",
		},
		{
			Name:    WaitOperations,
			For:     "asynchronous operations",
			Subject: restore,
			Steps:   []Step{StepOperations},
			Worker:  "plugin",
			Workers: "any number",
			Limit:   operations,
			From:    FromPhase,
			Writes:  "how many have ended, every ten seconds, while that grows",
			Restart: "goes on",
			Shows:   "status.restoreItemOperations",
			Source:  "pkg/controller/restore_operations_controller.go Reconcile",
		},

		{
			Name:    WaitFinalizer,
			For:     "the finalizer",
			Subject: backup,
			Steps:   []Step{StepFinalizing},
			Worker:  "finalizer",
			Workers: "1",
			From:    FromPhase,
			Restart: "goes on",
			Shows:   "another backup being finalized",
			Source:  "pkg/controller/backup_finalizer_controller.go SetupWithManager",
		},
		{
			Name:    WaitRewriting,
			For:     "its contents to be written anew",
			Subject: backup,
			Steps:   []Step{StepFinalizing},
			Worker:  "finalizer",
			Workers: "1",
			From:    FromPhase,
			Restart: "goes on",
			Shows:   "operations that were attempted",
			Source:  "pkg/controller/backup_finalizer_controller.go Reconcile",
		},
		{
			Name:    WaitStore,
			For:     "the object store",
			Subject: backup,
			Steps:   []Step{StepFinalizing},
			Worker:  "finalizer",
			Workers: "1",
			From:    FromPhase,
			Restart: "goes on",
			Source:  "pkg/controller/backup_finalizer_controller.go Reconcile",
		},
		{
			Name:    WaitLastPatch,
			For:     "its last status to be written",
			Subject: backup,
			Steps:   []Step{StepFinalizing},
			Worker:  "finalizer",
			Workers: "1",
			From:    FromPhase,
			Writes:  "nothing; tried again without end",
			Restart: "goes on",
			Source:  "pkg/controller/backup_finalizer_controller.go Reconcile",
		},
		{
			Name:    WaitFinalizer,
			For:     "the finalizer",
			Subject: restore,
			Steps:   []Step{StepFinalizing},
			Worker:  "finalizer",
			Workers: "1",
			From:    FromPhase,
			Restart: "goes on",
			Shows:   "another restore being finalized",
			Source:  "pkg/controller/restore_finalizer_controller.go SetupWithManager",
		},
		{
			Name:    WaitBinding,
			For:     "volumes to be bound",
			Subject: restore,
			Steps:   []Step{StepFinalizing},
			Worker:  "finalizer",
			Workers: "3 volumes at once",
			Limit:   resource,
			From:    FromTurn,
			Restart: "goes on",
			Shows:   "volumes of the backup",
			Source:  "pkg/controller/restore_finalizer_controller.go patchDynamicPVWithVolumeInfo",
		},
		{
			Name:    WaitGroups,
			For:     "snapshots of volume groups",
			Subject: restore,
			Steps:   []Step{StepFinalizing},
			Since:   Version{1, 18, 0},
			Worker:  "finalizer",
			Workers: "1 group at once",
			Limit:   resource,
			From:    FromTurn,
			Restart: "goes on",
			Shows:   "VolumeGroupSnapshotContents of the restore",
			Source:  "pkg/controller/restore_finalizer_controller.go cleanupStubVGSC",
		},
		{
			Name:    WaitRestoreHooks,
			For:     "hooks in restored pods",
			Subject: restore,
			Steps:   []Step{StepFinalizing},
			Before:  Version{1, 18, 3},
			Worker:  "finalizer",
			Workers: "1",
			From:    FromPhase,
			Restart: "forgets it",
			Shows:   "spec.hooks, annotations of the pods",
			Source:  "pkg/controller/restore_finalizer_controller.go WaitRestoreExecHook",
		},
		{
			Name:    WaitRestoreHooks,
			For:     "hooks in restored pods",
			Subject: restore,
			Steps:   []Step{StepFinalizing},
			Since:   Version{1, 18, 3},
			Worker:  "finalizer",
			Workers: "1",
			Limit:   hooks,
			From:    FromTurn,
			Restart: "forgets it",
			Shows:   "spec.hooks, annotations of the pods",
			Source:  "pkg/controller/restore_finalizer_controller.go WaitRestoreExecHook",
		},
		{
			Name:    WaitStore,
			For:     "the object store",
			Subject: restore,
			Steps:   []Step{StepFinalizing},
			Worker:  "finalizer",
			Workers: "1",
			From:    FromPhase,
			Restart: "goes on",
			Source:  "pkg/controller/restore_finalizer_controller.go Reconcile",
		},
		{
			Name:    WaitLastPatch,
			For:     "its last status to be written",
			Subject: restore,
			Steps:   []Step{StepFinalizing},
			Worker:  "finalizer",
			Workers: "1",
			From:    FromPhase,
			Writes:  "nothing; tried again without end",
			Restart: "goes on",
			Source:  "pkg/controller/restore_finalizer_controller.go finishProcessing",
		},

		{
			Name:    WaitDeletion,
			For:     "its files and snapshots to be removed",
			Subject: backup,
			Steps:   []Step{StepDeleting},
			Worker:  "deletion",
			Workers: "1",
			From:    FromPhase,
			Restart: "forgets it",
			Shows:   "a DeleteBackupRequest that has not ended",
			Source:  "pkg/controller/backup_deletion_controller.go Reconcile",
		},
	}
}
