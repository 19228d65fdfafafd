package diagnosis

// Reason says why a job is as it is, in one CamelCase word. Reasons are API:
// they are never renamed. docs/reasons.md lists them all, with the meaning that
// their comments give here (`make docs`).
type Reason string

// The job moves.
const (
	// ItemsMoving: its items are counted up.
	ItemsMoving Reason = "ItemsMoving"
	// BytesMoving: the bytes of its volumes are counted up.
	BytesMoving Reason = "BytesMoving"
	// LogMoving: nothing is counted up, but the server's log spoke of it in
	// the last two minutes.
	LogMoving Reason = "LogMoving"
)

// The job has not begun.
const (
	// NotPickedUp: nothing known holds it back, but Velero has not looked at it.
	NotPickedUp Reason = "NotPickedUp"
	// Starting: Velero let it out of the queue and is about to begin.
	Starting Reason = "Starting"
	// QueuedBehind: another one is before it in the queue.
	QueuedBehind Reason = "QueuedBehind"
	// ConcurrencyLimit: as many as may run at once do.
	ConcurrencyLimit Reason = "ConcurrencyLimit"
	// NamespaceOverlap: one that runs takes a namespace of its own.
	NamespaceOverlap Reason = "NamespaceOverlap"
	// RestoreWorkerBusy: the only restore worker is taken.
	RestoreWorkerBusy Reason = "RestoreWorkerBusy"
	// QueueBlocked: what it waits for is stuck or forgotten itself.
	QueueBlocked Reason = "QueueBlocked"
	// QueueStalled: it is free to start, but the server starts nothing.
	QueueStalled Reason = "QueueStalled"
	// WorkerHung: no restore runs, but the only restore worker takes none.
	WorkerHung Reason = "WorkerHung"
	// ForgottenReady: it was ready to start when the server restarted, which
	// makes Velero forget it.
	ForgottenReady Reason = "ForgottenReady"
	// NotHandled: the server's version has no controller for its phase, or its flags
	// disable that controller.
	NotHandled Reason = "NotHandled"
)

// The job is in progress.
const (
	// CollectingItems: Velero lists the cluster or reads the backup; no count yet.
	CollectingItems Reason = "CollectingItems"
	// KindNotListed: a restore waits until the API server lists a kind that it cannot
	// list.
	KindNotListed Reason = "KindNotListed"
	// SlowItem: one item takes long, and nothing tells which or why.
	SlowItem Reason = "SlowItem"
	// RunningHook: it waits for a hook that was asked for.
	RunningHook Reason = "RunningHook"
	// NamespaceTerminating: it waits for a namespace to be gone.
	NamespaceTerminating Reason = "NamespaceTerminating"
	// PreparingRepository: a backup repository is being created or connected.
	PreparingRepository Reason = "PreparingRepository"
	// RepositoryLocked: it waits for the server's lock on a backup repository.
	RepositoryLocked Reason = "RepositoryLocked"
	// UploadingArtifacts: all items are done and Velero stores its files.
	UploadingArtifacts Reason = "UploadingArtifacts"
	// LostPatch: all work is done, but the status patch that says so never landed.
	LostPatch Reason = "LostPatch"
	// Reopened: it had ended, and somebody set it back to InProgress, which nobody takes
	// up.
	Reopened Reason = "Reopened"
	// SchemaTooOld: the CRD does not allow the phase that comes next.
	SchemaTooOld Reason = "SchemaTooOld"
	// HasStatusSubresource: the CRD splits the status off, and nothing that Velero writes
	// lands.
	StatusSubresource Reason = "StatusSubresource"
	// LocationReadOnly: its storage location is read-only, so Velero cannot end it.
	LocationReadOnly Reason = "LocationReadOnly"
	// LimitPassed: every limit that Velero puts on it has passed.
	LimitPassed Reason = "LimitPassed"
	// CancelledVolumeHang: Velero waits for a volume that was cancelled (issue 9464), up to
	// its limit.
	CancelledVolumeHang Reason = "CancelledVolumeHang"
	// WaitingForSnapshot: it waits for a CSI driver to make a snapshot.
	WaitingForSnapshot Reason = "WaitingForSnapshot"
	// WaitingForSlot: its volumes wait for a slot on a node, or in the queue of
	// the node-agents.
	WaitingForSlot Reason = "WaitingForSlot"
	// PreparingVolume: a volume's snapshot, claim or pod is being made.
	PreparingVolume Reason = "PreparingVolume"
	// VolumeSilent: a volume in progress shows no new bytes, which is no proof
	// that nothing moves.
	VolumeSilent Reason = "VolumeSilent"
	// VolumeStalled: nobody starts a volume that may begin, or prepares it on.
	VolumeStalled Reason = "VolumeStalled"
	// MoverUnschedulable: no node can take the pod that moves a volume.
	MoverUnschedulable Reason = "MoverUnschedulable"
	// MoverGone: the pod that moved a volume is gone or has failed.
	MoverGone Reason = "MoverGone"
	// MoverForgotten: the pod has moved a volume, but the node-agent lost track.
	MoverForgotten Reason = "MoverForgotten"
	// NodeAgentMissing: no node-agent runs where a volume needs one.
	NodeAgentMissing Reason = "NodeAgentMissing"
	// WaitingForOperations: asynchronous operations have not ended.
	WaitingForOperations Reason = "WaitingForOperations"
	// Finalizing: the job is in its last steps.
	Finalizing Reason = "Finalizing"
	// FinalizingBehind: another job is being finalized before it.
	FinalizingBehind Reason = "FinalizingBehind"
	// FinalizerStalled: finalizing lasts longer than anything explains.
	FinalizerStalled Reason = "FinalizerStalled"
	// HookHung: finalizing waits for a hook that does not end.
	HookHung Reason = "HookHung"
	// LocationUnavailable: the storage location that it needs cannot be reached.
	LocationUnavailable Reason = "LocationUnavailable"
)

// The job is being deleted.
const (
	// Deleting: Velero removes it.
	Deleting Reason = "Deleting"
	// DeletionFailed: its deletion began and did not end.
	DeletionFailed Reason = "DeletionFailed"
)

// The server decides.
const (
	// ServerStarting: no server runs at the moment, but one did just now.
	ServerStarting Reason = "ServerStarting"
	// ServerRestarted: the server started after the job began.
	ServerRestarted Reason = "ServerRestarted"
	// ServerElsewhere: no pod was recognised as the server, but something writes
	// as one.
	ServerElsewhere Reason = "ServerElsewhere"
	// ServerDown: no server runs.
	ServerDown Reason = "ServerDown"
	// ServerCrashLooping: the server ends again and again.
	ServerCrashLooping Reason = "ServerCrashLooping"
)

// Velero cannot work with the job as it is written.
const (
	// MalformedSpec: a field has a value that the API server accepts and Velero
	// cannot read. It may be another resource's, of the job's own kind, which keeps
	// the server from seeing any of them.
	MalformedSpec Reason = "MalformedSpec"
)

// The job cannot be judged further.
const (
	// PodsHidden: pods may not be listed.
	PodsHidden Reason = "PodsHidden"
	// VersionUnknown: what holds it up depends on the server's version, which is
	// not known.
	VersionUnknown Reason = "VersionUnknown"
	// UnknownPhase: the phase is not known to this veltui.
	UnknownPhase Reason = "UnknownPhase"
	// StaleData: the API server does not answer.
	StaleData Reason = "StaleData"
)

// The job has ended: the reason is its phase.
const (
	// Completed: it ended, and Velero counted no errors.
	Completed Reason = "Completed"
	// PartiallyFailed: it ended, and Velero counted errors on the way.
	PartiallyFailed Reason = "PartiallyFailed"
	// Failed: it ended before its work was done, or Velero found it in progress
	// when it started.
	Failed Reason = "Failed"
	// FailedValidation: Velero did not begin it, because its spec cannot be carried
	// out.
	FailedValidation Reason = "FailedValidation"
)
