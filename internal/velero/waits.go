package velero

import (
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Step is a part of a job's life in which the same waits are possible. It is finer than a phase.
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

// LimitStart is the time from which a limit is counted.
type LimitStart string

// The moments, each the latest time at which Velero's code can have started to count. After its newest movement, a
// job may have waited for several things in a row, so FromMovement bounds nothing: it is only for texts.
const (
	FromStart    LimitStart = "status.startTimestamp"
	FromMovement LimitStart = "the last movement"
	FromPhase    LimitStart = "the beginning of the phase"
	// FromTurn is when the finalizer started with the job: after the beginning of the phase, after the server's start,
	// because it then starts again, and after the end of the previous job.
	FromTurn     LimitStart = "its turn with the finalizer"
	FromEvidence LimitStart = "its own beginning"
	// FromFirstVolume is the creation of the job's first pod volume, which is after the limit's start: a restore counts
	// from when its backup is downloaded, a backup from when the store has answered.
	FromFirstVolume LimitStart = "the creation of the first volume"
	// FromStored is when the last of the job's files was stored.
	FromStored LimitStart = "the last stored file"
)

// WaitLimit is a limit of Velero's. The zero value stands for a wait without a limit.
type WaitLimit struct {
	// Setting names the flag, the field or the constant.
	Setting string
	// Length returns the limit's length as Velero's code computes it, at least zero, [Unlimited] for none; nil if the
	// length is in the evidence, as for a hook.
	Length func(o metav1.Object, f ServerFlags) time.Duration
	// Effect says who acts when a limit has passed, empty where the wait itself ends; Delay is how long that takes at
	// most.
	Effect      string
	EffectDelay func(f ServerFlags) time.Duration
	// ContinuesAfter is true where Velero acts on the limit and the wait goes on.
	ContinuesAfter bool
}

// WaitName names a row of the table of waits.
type WaitName string

// PossibleWait is something that a job can wait for in silence.
type PossibleWait struct {
	Name WaitName
	// Target is what the job waits for, in words.
	Target  string
	JobKind string // the kind of job, Backup or Restore
	Steps   []Step
	// Since and Before are the versions for which the row holds; zero for all.
	Since, Before Version
	// Worker is who owns the job meanwhile: a controller of the server (of the kind, queue, finalizer or deletion), a
	// node-agent, or a plugin. Workers is the number of them.
	Worker, WorkerCount string
	Limit               WaitLimit
	LimitStart          LimitStart
	// Writes is what Velero writes meanwhile, and how often; empty for nothing.
	Writes string
	// Evidence is the evidence that shows the wait, empty if nothing does: then the wait is always possible.
	Evidence string
	// RestartEffect is what a restart of the server does to the job.
	RestartEffect string
	// Source is the file and function in Velero's source.
	Source string
}

// FindWaits returns the rows for a kind of job, a step and a version, in the table's order.
func FindWaits(table []PossibleWait, subject string, step Step, v Version) []PossibleWait {
	var rows []PossibleWait
	for i := range table {
		w := &table[i]
		if w.JobKind == subject && slices.Contains(w.Steps, step) && v.isWithin(w.Since, w.Before) {
			rows = append(rows, *w)
		}
	}
	return rows
}

// The names of the rows of [WaitTable].
const (
	WaitListing             WaitName = "Listing"
	WaitDownload            WaitName = "Download"
	WaitCacheSync           WaitName = "CacheSync"
	WaitNamespace           WaitName = "Namespace"
	WaitHook                WaitName = "Hook"
	WaitSnapshot            WaitName = "Snapshot"
	WaitItemAction          WaitName = "ItemAction"
	WaitCRD                 WaitName = "CustomResourceDefinition"
	WaitAdditionalItems     WaitName = "AdditionalItems"
	WaitRepository          WaitName = "Repository"
	WaitRepositoryLock      WaitName = "RepositoryLock"
	WaitPodVolumes          WaitName = "PodVolumes"
	WaitCancelledPodVolumes WaitName = "CancelledPodVolumes"
	WaitStoring             WaitName = "Storing"
	WaitLastPatch           WaitName = "LastPatch"
	WaitOperations          WaitName = "Operations"
	WaitFinalizer           WaitName = "Finalizer"
	WaitRewriting           WaitName = "Rewriting"
	WaitObjectStore         WaitName = "Store"
	WaitBinding             WaitName = "Binding"
	WaitGroupSnapshots      WaitName = "GroupSnapshots"
	WaitRestoreHooks        WaitName = "RestoreHooks"
	WaitDeletion            WaitName = "Deletion"
	WaitQueue               WaitName = "Queue"
	WaitWorker              WaitName = "Worker"
)

// LastPatchTimes returns when Velero makes its last attempt to write the last status of a phase, and when it gives
// up. The first delay is 10 ms, each is five times the one before, jitter adds a tenth, and no attempt follows a
// delay whose successor would exceed the resource timeout (pkg/client/retry.go CapBackoff with apimachinery's
// wait.Backoff, since 1.15). Zero and less are no cap: Velero never gives up.
func LastPatchTimes(o metav1.Object, f ServerFlags) (attempt, givesUp time.Duration) {
	sum, limit := time.Duration(0), patchRetryCap(o, f)
	for delay := 10 * time.Millisecond; ; delay *= 5 {
		switch {
		case limit >= Unlimited:
			return Unlimited, Unlimited
		case delay > limit/5: // ends, as the limit is far from the largest number
			return sum + sum/10, sum + delay + (sum+delay)/10
		}
		sum += delay
	}
}

// patchRetryCap returns the bound of the delays between attempts to write a status; Endless for no bound.
func patchRetryCap(o metav1.Object, f ServerFlags) time.Duration {
	flag := f.resourceTimeout()
	noted, isNoted := annotatedResourceTimeout(o)
	switch {
	case flag < Unlimited && flag > 0:
		return max(flag, noted)
	case flag >= Unlimited && isNoted && noted > 0:
		return noted
	}
	return Unlimited
}

func lastPatchDeadline(o metav1.Object, f ServerFlags) time.Duration {
	_, givesUp := LastPatchTimes(o, f)
	return givesUp
}

// CancelDelayInProgress is when any node-agent ends a cancelled volume that the volume's own node-agent does not end
// (pkg/controller/pod_volume_backup_controller.go cancelDelayInProgress, since 1.17).
const CancelDelayInProgress = time.Hour

// operationDelay returns the time of one check of operations, plus a minute for the checks of other jobs before it.
func operationDelay(f ServerFlags) time.Duration { return OperationCheckDelay(f) + time.Minute }

var itemSteps = []Step{StepCollecting, StepItems}

// Transition says that a job may go from one step to another without writing anything: no evidence distinguishes the
// two.
type Transition struct {
	JobKind       string // Backup or Restore
	From, To      Step
	Since, Before Version
	// NeedsVolumesEnded is true where the transition requires that all pod volumes have ended.
	NeedsVolumesEnded bool
	// Source is the file and function in Velero's source.
	Source string
}

// SilentTransitions returns the silent transitions from 1.14 to 1.18.3. Counts are written, but a failed patch is not
// repeated (pkg/backup/backup.go and pkg/restore/restore.go, "Got error trying to update"), so none of them proves a
// step.
func SilentTransitions() []Transition {
	const backup, restore = "Backup", "Restore"
	return []Transition{
		{JobKind: backup, From: StepCollecting, To: StepItems, Source: "pkg/backup/backup.go BackupWithResolvers"},
		{JobKind: backup, From: StepItems, To: StepVolumes, Source: "pkg/backup/backup.go BackupWithResolvers"},
		{
			JobKind: backup,
			From:    StepVolumes,
			To:      StepStoring,
			Before:  Version{1, 18, 3},
			Source:  "pkg/podvolume/backupper.go WaitAllPodVolumesProcessed",
		},
		{
			JobKind:           backup,
			From:              StepVolumes,
			To:                StepStoring,
			Since:             Version{1, 18, 3},
			NeedsVolumesEnded: true,
			Source:            "pkg/podvolume/backupper.go WaitAllPodVolumesProcessed",
		},
		{JobKind: restore, From: StepCollecting, To: StepItems, Source: "pkg/restore/restore.go execute"},
		{JobKind: restore, From: StepCollecting, To: StepStoring, Source: "pkg/restore/restore.go execute"},
		{JobKind: restore, From: StepItems, To: StepVolumes, Source: "pkg/restore/restore.go execute"},
		{JobKind: restore, From: StepVolumes, To: StepStoring, Source: "pkg/podvolume/restorer.go RestorePodVolumes"},
	}
}

// ReachableSteps returns the steps, in their order, in which a job can be that was last seen in step from: that step,
// and all that may follow it in silence. openVolumes is true while a pod volume of the job has not ended.
func ReachableSteps(subject string, from Step, v Version, openVolumes bool) []Step {
	steps := []Step{from}
	for i := 0; i < len(steps); i++ {
		for _, s := range SilentTransitions() {
			holds := s.JobKind == subject && s.From == steps[i] && !(s.NeedsVolumesEnded && openVolumes)
			if holds && v.isWithin(s.Since, s.Before) && !slices.Contains(steps, s.To) {
				steps = append(steps, s.To)
			}
		}
	}
	return steps
}

// WaitTable returns all silent waits, in the order in which a job meets them, from 1.14 to 1.18.3. docs/dev/velero.md
// prints them.
func WaitTable() []PossibleWait {
	const backup, restore = "Backup", "Restore"
	resource := WaitLimit{Setting: "resource-timeout", Length: ResourceTimeout}
	hooks := WaitLimit{Setting: "resource-timeout", Length: restoreHookTimeout}
	podVolumes := WaitLimit{Setting: "fs-backup-timeout", Length: PodVolumeTimeout}
	cancels := WaitLimit{
		Setting:        "fs-backup-timeout",
		Length:         PodVolumeTimeout,
		Effect:         "it cancels them and waits on",
		ContinuesAfter: true,
	}
	operations := WaitLimit{
		Setting:     "itemOperationTimeout",
		Length:      ItemOperationTimeout,
		Effect:      "the next look (item-operation-sync-frequency)",
		EffectDelay: operationDelay,
	}
	patch := WaitLimit{Setting: "resource-timeout", Length: lastPatchDeadline}
	return []PossibleWait{
		{
			Name:          WaitQueue,
			Target:        "its turn in the queue",
			JobKind:       backup,
			Steps:         []Step{StepQueued},
			Since:         Version{1, 18, 0},
			Worker:        "queue",
			WorkerCount:   "--concurrent-backups",
			Writes:        "status.queuePosition, as it moves up",
			RestartEffect: "goes on",
			Evidence:      "backups that run, or are queued before it",
			Source:        "pkg/controller/backup_queue_controller.go Reconcile",
		},
		{
			Name:          WaitWorker,
			Target:        "the backup worker",
			JobKind:       backup,
			Steps:         []Step{StepQueued},
			Before:        Version{1, 18, 0},
			Worker:        "server",
			WorkerCount:   "1",
			RestartEffect: "goes on",
			Evidence:      "another backup in progress",
			Source:        "pkg/controller/backup_controller.go SetupWithManager",
		},
		{
			Name:          WaitWorker,
			Target:        "the restore worker",
			JobKind:       restore,
			Steps:         []Step{StepQueued},
			Worker:        "server",
			WorkerCount:   "1",
			RestartEffect: "goes on",
			Evidence:      "another restore in progress",
			Source:        "pkg/controller/restore_controller.go SetupWithManager",
		},

		{
			Name:          WaitListing,
			Target:        "the list of what to back up",
			JobKind:       backup,
			Steps:         []Step{StepCollecting},
			Worker:        "server",
			WorkerCount:   "--concurrent-backups (1 before 1.18)",
			LimitStart:    FromMovement,
			RestartEffect: "marks it Failed",
			Source:        "pkg/backup/backup.go BackupWithResolvers",
		},
		{
			Name:          WaitDownload,
			Target:        "the download of the backup",
			JobKind:       restore,
			Steps:         []Step{StepCollecting},
			Worker:        "server",
			WorkerCount:   "1",
			LimitStart:    FromMovement,
			RestartEffect: "marks it Failed",
			Source:        "pkg/controller/restore_controller.go runValidatedRestore",
		},
		{
			Name:          WaitCacheSync,
			Target:        "a kind that the API server does not list",
			JobKind:       restore,
			Steps:         itemSteps,
			Worker:        "server",
			WorkerCount:   "1",
			LimitStart:    FromMovement,
			RestartEffect: "marks it Failed",
			Evidence:      "the server's log ends with waiting informer cache sync",
			Source:        "pkg/restore/restore.go execute, getResourceLister",
		},
		{
			Name:          WaitNamespace,
			Target:        "a namespace to be gone",
			JobKind:       restore,
			Steps:         itemSteps,
			Worker:        "server",
			WorkerCount:   "1",
			Limit:         WaitLimit{Setting: "terminating-resource-timeout", Length: terminatingTimeout},
			LimitStart:    FromMovement,
			Writes:        "nothing; again with each item",
			RestartEffect: "marks it Failed",
			Evidence:      "a namespace that is being deleted",
			Source:        "pkg/util/kube/utils.go EnsureNamespaceExistsAndIsReady",
		},
		{
			Name:          WaitHook,
			Target:        "a hook",
			JobKind:       backup,
			Steps:         itemSteps,
			Worker:        "server",
			WorkerCount:   "--concurrent-backups (1 before 1.18)",
			Limit:         WaitLimit{Setting: "the hook's timeout, each after the other"},
			LimitStart:    FromEvidence,
			RestartEffect: "marks it Failed",
			Evidence:      "the server's log, spec.hooks, annotations of the pods",
			Source:        "pkg/podexec/pod_command_executor.go ExecutePodCommand",
		},
		{
			Name:          WaitSnapshot,
			Target:        "a CSI snapshot",
			JobKind:       backup,
			Steps:         itemSteps,
			Worker:        "plugin",
			WorkerCount:   "1 a worker",
			Limit:         WaitLimit{Setting: "spec.csiSnapshotTimeout", Length: snapshotLimit},
			LimitStart:    FromEvidence,
			RestartEffect: "marks it Failed",
			Evidence:      "a VolumeSnapshot without a handle",
			Source:        "pkg/util/csi/volume_snapshot.go WaitUntilVSCHandleIsReady",
		},
		{
			Name:          WaitItemAction,
			Target:        "a plugin that works on one item",
			JobKind:       backup,
			Steps:         itemSteps,
			Worker:        "plugin",
			WorkerCount:   "1 a worker",
			LimitStart:    FromMovement,
			RestartEffect: "marks it Failed",
			Source:        "pkg/backup/item_backupper.go executeActions",
		},
		{
			Name:          WaitItemAction,
			Target:        "a plugin that works on one item",
			JobKind:       restore,
			Steps:         itemSteps,
			Worker:        "plugin",
			WorkerCount:   "1",
			LimitStart:    FromMovement,
			RestartEffect: "marks it Failed",
			Source:        "pkg/restore/pv_restorer.go executePVAction",
		},
		{
			Name:          WaitCRD,
			Target:        "a CustomResourceDefinition to be established",
			JobKind:       restore,
			Steps:         itemSteps,
			Worker:        "server",
			WorkerCount:   "1",
			Limit:         resource,
			LimitStart:    FromMovement,
			RestartEffect: "marks it Failed",
			Source:        "pkg/restore/restore.go crdAvailable",
		},
		{
			Name:          WaitAdditionalItems,
			Target:        "what a plugin added to be ready",
			JobKind:       restore,
			Steps:         itemSteps,
			Worker:        "plugin",
			WorkerCount:   "1",
			Limit:         resource,
			LimitStart:    FromMovement,
			RestartEffect: "marks it Failed",
			Source:        "pkg/restore/restore.go itemsAvailable",
		},
		{
			Name:          WaitPodVolumes,
			Target:        "the pod volumes of a pod, before its hooks",
			JobKind:       backup,
			Steps:         []Step{StepItems},
			Since:         Version{1, 16, 0},
			Worker:        "node-agent",
			WorkerCount:   "loadConcurrency of the node",
			Limit:         podVolumes,
			LimitStart:    FromFirstVolume,
			Writes:        "bytes of the volume, every ten seconds, while they grow",
			RestartEffect: "marks it Failed",
			Evidence:      "PodVolumeBackups that have not ended",
			Source:        "pkg/backup/backup.go handleItemBlockPostHooks",
		},
		{
			Name:          WaitRepository,
			Target:        "a repository to be made or connected",
			JobKind:       backup,
			Steps:         itemSteps,
			Worker:        "server",
			WorkerCount:   "1 a repository",
			Limit:         resource,
			LimitStart:    FromMovement,
			Writes:        "the BackupRepository",
			RestartEffect: "marks it Failed",
			Evidence:      "a BackupRepository that is not ready",
			Source:        "pkg/repository/ensurer.go EnsureRepo",
		},
		{
			Name:          WaitRepository,
			Target:        "a repository to be made or connected",
			JobKind:       restore,
			Steps:         []Step{StepCollecting, StepItems, StepStoring},
			Worker:        "server",
			WorkerCount:   "1 a repository",
			Limit:         resource,
			LimitStart:    FromMovement,
			Writes:        "the BackupRepository",
			RestartEffect: "marks it Failed",
			Evidence:      "a BackupRepository that is not ready",
			Source:        "pkg/repository/ensurer.go EnsureRepo",
		},
		{
			Name:          WaitRepositoryLock,
			Target:        "the lock of a repository",
			JobKind:       backup,
			Steps:         itemSteps,
			Worker:        "server",
			WorkerCount:   "1 writer a repository",
			LimitStart:    FromMovement,
			RestartEffect: "marks it Failed",
			Evidence:      "a deletion in progress; before 1.16 a maintenance Job",
			Source:        "pkg/repository/locker.go RepoLocker",
		},
		{
			Name:          WaitRepositoryLock,
			Target:        "the lock of a repository",
			JobKind:       restore,
			Steps:         []Step{StepCollecting, StepItems, StepStoring},
			Worker:        "server",
			WorkerCount:   "1 writer a repository",
			LimitStart:    FromMovement,
			RestartEffect: "marks it Failed",
			Evidence:      "a deletion in progress; before 1.16 a maintenance Job",
			Source:        "pkg/repository/locker.go RepoLocker",
		},

		{
			Name:          WaitPodVolumes,
			Target:        "its pod volumes",
			JobKind:       backup,
			Steps:         []Step{StepVolumes},
			Before:        Version{1, 18, 3},
			Worker:        "node-agent",
			WorkerCount:   "loadConcurrency of the node",
			Limit:         podVolumes,
			LimitStart:    FromFirstVolume,
			Writes:        "bytes of the volume, every ten seconds, while they grow",
			RestartEffect: "marks it Failed",
			Evidence:      "PodVolumeBackups that have not ended",
			Source:        "pkg/podvolume/backupper.go WaitAllPodVolumesProcessed",
		},
		{
			Name:          WaitPodVolumes,
			Target:        "its pod volumes",
			JobKind:       backup,
			Steps:         []Step{StepVolumes},
			Since:         Version{1, 18, 3},
			Worker:        "node-agent",
			WorkerCount:   "loadConcurrency of the node",
			Limit:         cancels,
			LimitStart:    FromFirstVolume,
			Writes:        "bytes of the volume, every ten seconds, while they grow",
			RestartEffect: "marks it Failed",
			Evidence:      "PodVolumeBackups that have not ended",
			Source:        "pkg/podvolume/backupper.go WaitAllPodVolumesProcessed",
		},
		{
			Name:          WaitPodVolumes,
			Target:        "its pod volumes",
			JobKind:       restore,
			Steps:         []Step{StepVolumes, StepStoring},
			Worker:        "node-agent",
			WorkerCount:   "loadConcurrency of the node",
			Limit:         podVolumes,
			LimitStart:    FromFirstVolume,
			Writes:        "bytes of the volume, every ten seconds, while they grow",
			RestartEffect: "marks it Failed",
			Evidence:      "PodVolumeRestores that have not ended, or fewer than the backup has",
			Source:        "pkg/podvolume/restorer.go RestorePodVolumes",
		},
		{
			Name:          WaitCancelledPodVolumes,
			Target:        "pod volumes that were cancelled (Velero issue 9464)",
			JobKind:       backup,
			Steps:         []Step{StepItems, StepStoring},
			Since:         Version{1, 17, 0},
			Before:        Version{1, 18, 3},
			Worker:        "server",
			WorkerCount:   "--concurrent-backups (1 before 1.18)",
			Limit:         podVolumes,
			LimitStart:    FromFirstVolume,
			RestartEffect: "marks it Failed",
			Evidence:      "a PodVolumeBackup that is Canceled",
			Source:        "pkg/podvolume/backupper.go WaitAllPodVolumesProcessed",
		},
		{
			Name:          WaitStoring,
			Target:        "its files to be stored",
			JobKind:       backup,
			Steps:         []Step{StepStoring},
			Worker:        "plugin",
			WorkerCount:   "1 a worker",
			LimitStart:    FromMovement,
			RestartEffect: "marks it Failed",
			Evidence:      "the object store",
			Source:        "pkg/controller/backup_controller.go runBackup",
		},
		{
			Name:          WaitStoring,
			Target:        "its files to be stored",
			JobKind:       restore,
			Steps:         []Step{StepStoring},
			Worker:        "plugin",
			WorkerCount:   "1",
			LimitStart:    FromMovement,
			RestartEffect: "marks it Failed",
			Evidence:      "the object store",
			Source:        "pkg/controller/restore_controller.go runValidatedRestore",
		},
		{
			Name:          WaitLastPatch,
			Target:        "its last status to be written",
			JobKind:       backup,
			Steps:         []Step{StepStoring},
			Worker:        "server",
			WorkerCount:   "--concurrent-backups (1 before 1.18)",
			Limit:         patch,
			LimitStart:    FromStored,
			RestartEffect: "marks it Failed",
			Evidence:      "all files stored; the server's log when it gives up",
			Source:        "pkg/util/kube/client.go PatchResourceWithRetriesOnErrors",
		},
		{
			Name:          WaitLastPatch,
			Target:        "its last status to be written",
			JobKind:       restore,
			Steps:         []Step{StepStoring},
			Worker:        "server",
			WorkerCount:   "1",
			Limit:         patch,
			LimitStart:    FromStored,
			RestartEffect: "marks it Failed",
			Evidence:      "all files stored; the server's log when it gives up",
			Source:        "pkg/util/kube/client.go PatchResourceWithRetriesOnErrors",
		},

		{
			Name:          WaitOperations,
			Target:        "asynchronous operations",
			JobKind:       backup,
			Steps:         []Step{StepOperations},
			Worker:        "plugin",
			WorkerCount:   "any number",
			Limit:         operations,
			LimitStart:    FromPhase,
			Writes:        "how many have ended, every ten seconds, while that grows",
			RestartEffect: "goes on",
			Evidence:      "status.backupItemOperations",
			Source:        "pkg/controller/backup_operations_controller.go Reconcile",
		},
		{
			Name:          WaitOperations,
			Target:        "asynchronous operations",
			JobKind:       restore,
			Steps:         []Step{StepOperations},
			Worker:        "plugin",
			WorkerCount:   "any number",
			Limit:         operations,
			LimitStart:    FromPhase,
			Writes:        "how many have ended, every ten seconds, while that grows",
			RestartEffect: "goes on",
			Evidence:      "status.restoreItemOperations",
			Source:        "pkg/controller/restore_operations_controller.go Reconcile",
		},

		{
			Name:          WaitFinalizer,
			Target:        "the finalizer",
			JobKind:       backup,
			Steps:         []Step{StepFinalizing},
			Worker:        "finalizer",
			WorkerCount:   "1",
			LimitStart:    FromPhase,
			RestartEffect: "goes on",
			Evidence:      "another backup being finalized",
			Source:        "pkg/controller/backup_finalizer_controller.go SetupWithManager",
		},
		{
			Name:          WaitRewriting,
			Target:        "its contents to be written anew",
			JobKind:       backup,
			Steps:         []Step{StepFinalizing},
			Worker:        "finalizer",
			WorkerCount:   "1",
			LimitStart:    FromPhase,
			RestartEffect: "goes on",
			Evidence:      "operations that were attempted",
			Source:        "pkg/controller/backup_finalizer_controller.go Reconcile",
		},
		{
			Name:          WaitObjectStore,
			Target:        "the object store",
			JobKind:       backup,
			Steps:         []Step{StepFinalizing},
			Worker:        "finalizer",
			WorkerCount:   "1",
			LimitStart:    FromPhase,
			RestartEffect: "goes on",
			Source:        "pkg/controller/backup_finalizer_controller.go Reconcile",
		},
		{
			Name:          WaitLastPatch,
			Target:        "its last status to be written",
			JobKind:       backup,
			Steps:         []Step{StepFinalizing},
			Worker:        "finalizer",
			WorkerCount:   "1",
			LimitStart:    FromPhase,
			Writes:        "nothing; tried again without end",
			RestartEffect: "goes on",
			Source:        "pkg/controller/backup_finalizer_controller.go Reconcile",
		},
		{
			Name:          WaitFinalizer,
			Target:        "the finalizer",
			JobKind:       restore,
			Steps:         []Step{StepFinalizing},
			Worker:        "finalizer",
			WorkerCount:   "1",
			LimitStart:    FromPhase,
			RestartEffect: "goes on",
			Evidence:      "another restore being finalized",
			Source:        "pkg/controller/restore_finalizer_controller.go SetupWithManager",
		},
		{
			Name:          WaitBinding,
			Target:        "volumes to be bound",
			JobKind:       restore,
			Steps:         []Step{StepFinalizing},
			Worker:        "finalizer",
			WorkerCount:   "3 volumes at once",
			Limit:         resource,
			LimitStart:    FromTurn,
			RestartEffect: "goes on",
			Evidence:      "volumes of the backup",
			Source:        "pkg/controller/restore_finalizer_controller.go patchDynamicPVWithVolumeInfo",
		},
		{
			Name:          WaitGroupSnapshots,
			Target:        "snapshots of volume groups",
			JobKind:       restore,
			Steps:         []Step{StepFinalizing},
			Since:         Version{1, 18, 0},
			Worker:        "finalizer",
			WorkerCount:   "1 group at once",
			Limit:         resource,
			LimitStart:    FromTurn,
			RestartEffect: "goes on",
			Evidence:      "VolumeGroupSnapshotContents of the restore",
			Source:        "pkg/controller/restore_finalizer_controller.go cleanupStubVGSC",
		},
		{
			Name:          WaitRestoreHooks,
			Target:        "hooks in restored pods",
			JobKind:       restore,
			Steps:         []Step{StepFinalizing},
			Before:        Version{1, 18, 3},
			Worker:        "finalizer",
			WorkerCount:   "1",
			LimitStart:    FromPhase,
			RestartEffect: "forgets it",
			Evidence:      "spec.hooks, annotations of the pods",
			Source:        "pkg/controller/restore_finalizer_controller.go WaitRestoreExecHook",
		},
		{
			Name:          WaitRestoreHooks,
			Target:        "hooks in restored pods",
			JobKind:       restore,
			Steps:         []Step{StepFinalizing},
			Since:         Version{1, 18, 3},
			Worker:        "finalizer",
			WorkerCount:   "1",
			Limit:         hooks,
			LimitStart:    FromTurn,
			RestartEffect: "forgets it",
			Evidence:      "spec.hooks, annotations of the pods",
			Source:        "pkg/controller/restore_finalizer_controller.go WaitRestoreExecHook",
		},
		{
			Name:          WaitObjectStore,
			Target:        "the object store",
			JobKind:       restore,
			Steps:         []Step{StepFinalizing},
			Worker:        "finalizer",
			WorkerCount:   "1",
			LimitStart:    FromPhase,
			RestartEffect: "goes on",
			Source:        "pkg/controller/restore_finalizer_controller.go Reconcile",
		},
		{
			Name:          WaitLastPatch,
			Target:        "its last status to be written",
			JobKind:       restore,
			Steps:         []Step{StepFinalizing},
			Worker:        "finalizer",
			WorkerCount:   "1",
			LimitStart:    FromPhase,
			Writes:        "nothing; tried again without end",
			RestartEffect: "goes on",
			Source:        "pkg/controller/restore_finalizer_controller.go finishProcessing",
		},

		{
			Name:          WaitDeletion,
			Target:        "its files and snapshots to be removed",
			JobKind:       backup,
			Steps:         []Step{StepDeleting},
			Worker:        "deletion",
			WorkerCount:   "1",
			LimitStart:    FromPhase,
			RestartEffect: "forgets it",
			Evidence:      "a DeleteBackupRequest that has not ended",
			Source:        "pkg/controller/backup_deletion_controller.go Reconcile",
		},
	}
}
