package diagnosis

import "github.com/veltui/veltui/internal/velero"

// Reason says why a thing is as it is, in one CamelCase word, and what to do about it. Reasons are API: they are never
// renamed. docs/reasons.md lists them all, with the meaning that their comments give here (`make docs`). Only
// [NewReason] makes one, so that none is without a next step. The zero Reason is none.
type Reason struct{ definition *reasonDefinition }

type reasonDefinition struct {
	name, meaning string
	step          NextStep
}

// NewReason returns a new reason, which differs from all others. A reason is made once, in a variable of its name.
func NewReason(name string, step NextStep) Reason {
	return Reason{&reasonDefinition{name: name, step: step}}
}

// NewCause returns a reason why a job ended badly, with what it means: a sentence without its first capital and its
// full stop.
func NewCause(name, meaning string, step NextStep) Reason {
	return Reason{&reasonDefinition{name, meaning, step}}
}

// Meaning returns what a cause means, empty for another reason.
func (r Reason) Meaning() string {
	if r.IsZero() {
		return ""
	}
	return r.definition.meaning
}

// IsZero reports whether there is no reason.
func (r Reason) IsZero() bool { return r.definition == nil }

// String returns the word, empty for no reason.
func (r Reason) String() string {
	if r.IsZero() {
		return ""
	}
	return r.definition.name
}

// MarshalText returns the word.
func (r Reason) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// NextStep returns what to do about it.
func (r Reason) NextStep() NextStep {
	if r.IsZero() {
		return NextStep{}
	}
	return r.definition.step
}

// phaseReasons are the reasons of jobs that have ended, by their phase.
var phaseReasons = map[string]Reason{
	velero.PhaseCompleted:        Completed,
	velero.PhasePartiallyFailed:  PartiallyFailed,
	velero.PhaseFailed:           Failed,
	velero.PhaseFailedValidation: FailedValidation,
}

// ReasonOfPhase returns the reason of a job that has ended, none for another phase.
func ReasonOfPhase(phase string) Reason { return phaseReasons[phase] }

// The job moves.
var (
	// ItemsMoving: its items are counted up.
	ItemsMoving = NewReason("ItemsMoving", NoStep("Nothing: it moves."))
	// BytesMoving: the bytes of its volumes are counted up.
	BytesMoving = NewReason("BytesMoving", NoStep("Nothing: it moves."))
	// LogMoving: nothing is counted up, but the server's log spoke of it in
	// the last two minutes.
	LogMoving = NewReason("LogMoving", NoStep(
		"Nothing yet. Its log shows what Velero does.",
		"veltui logs KIND/NAME -f",
	))
)

// The job has not begun.
var (
	// NotPickedUp: nothing known holds it back, but Velero has not looked at it.
	NotPickedUp = NewReason("NotPickedUp", NewStep(
		"Read the log of the Velero server. A restart makes it look at every backup again, and fails what is "+
			"in progress.",
		"kubectl logs SERVER --since=1h",
	))
	// Starting: Velero let it out of the queue and is about to begin.
	Starting = NewReason("Starting", NoStep(
		"Nothing for the first minutes. If it is stuck, make Velero look again; until then it keeps its place "+
			"in the queue, and others may not start.",
		"veltui finalize KIND/NAME --wake",
	))
	// QueuedBehind: another one is before it in the queue.
	QueuedBehind = NewReason("QueuedBehind", NoStep(
		"Nothing: it starts after the one before it.",
		"veltui get",
	))
	// ConcurrencyLimit: as many as may run at once do.
	ConcurrencyLimit = NewReason("ConcurrencyLimit", NoStep(
		"Nothing, or raise --concurrent-backups of the Velero server.",
		"veltui get",
	))
	// NamespaceOverlap: one that runs takes a namespace of its own.
	NamespaceOverlap = NewReason("NamespaceOverlap", NoStep(
		"Nothing: it starts when the other one ends.",
		"veltui get",
	))
	// RestoreWorkerBusy: the only restore worker is taken.
	RestoreWorkerBusy = NewReason("RestoreWorkerBusy", NoStep(
		"Nothing: Velero runs one restore at a time.",
		"veltui get restores",
	))
	// QueueBlocked: what it waits for is stuck or forgotten itself.
	QueueBlocked = NewReason("QueueBlocked", NewStep(
		"Look at the job that the verdict names. This one begins when that one is out of the way.",
		"veltui get --stuck",
	))
	// QueueStalled: it is free to start, but the server starts nothing.
	QueueStalled = NewReason("QueueStalled", NewStep(
		"Restart the Velero server. That fails what is in progress.",
		"veltui get",
		"kubectl rollout restart DEPLOYMENT",
	))
	// WorkerHung: no restore runs, but the only restore worker takes none.
	WorkerHung = NewReason("WorkerHung", NewStep(
		"Restart the Velero server. That fails what is in progress.",
		"veltui get",
		"kubectl rollout restart DEPLOYMENT",
	))
	// ForgottenReady: it was ready to start when the server restarted, which
	// makes Velero forget it.
	ForgottenReady = NewReason("ForgottenReady", NewStep(
		"Make Velero look at it again, which starts it. Until then it keeps back queued backups of the same "+
			"namespaces.",
		"veltui finalize KIND/NAME --wake",
	))
	// NotHandled: the server's version has no controller for its phase, or its flags
	// disable that controller.
	NotHandled = NewReason("NotHandled", NewStep(
		"Delete it or end it as Failed, and make it again; or let the server run the controller that the "+
			"verdict names.",
		"veltui finalize KIND/NAME --phase Failed",
	))
)

// The job is in progress.
var (
	// CollectingItems: Velero lists the cluster or reads the backup; no count yet.
	CollectingItems = NewReason("CollectingItems", NoStep(
		"Nothing. It takes long where there is much to list or download.",
		"veltui logs KIND/NAME -f",
	))
	// KindNotListed: a restore waits until the API server lists a kind that it cannot
	// list.
	KindNotListed = NewReason("KindNotListed", NewStep(
		"Make the API server list that kind again: its conversion webhook, its aggregated API, or the version "+
			"that the backup has. The restore then goes on. No other restore runs meanwhile.",
		"kubectl get apiservices",
		"kubectl get crds -o custom-columns=CRD:.metadata.name,CONVERSION:.spec.conversion.strategy,"+
			"SERVICE:.spec.conversion.webhook.clientConfig.service.name",
	))
	// SlowItem: one item takes long, and nothing tells which or why.
	SlowItem = NewReason("SlowItem", NoStep(
		"Nothing proves that it hangs. The verdict lists what it may wait for.",
		"veltui logs KIND/NAME -f",
	))
	// RunningHook: it waits for a hook that was asked for.
	RunningHook = NewReason("RunningHook", NoStep(
		"Nothing, or look into the pod that the verdict names: the hook runs there.",
		"veltui logs KIND/NAME -f",
	))
	// NamespaceTerminating: it waits for a namespace to be gone.
	NamespaceTerminating = NewReason("NamespaceTerminating", NewStep(
		"Look at the status of the namespace: it names the finalizers that remain. Velero gives up after its "+
			"resource timeout.",
		"kubectl get namespaces --field-selector status.phase=Terminating -o yaml",
	))
	// PreparingRepository: a backup repository is being created or connected.
	PreparingRepository = NewReason("PreparingRepository", NoStep(
		"Nothing. If it fails, the BackupRepository says why.",
		"veltui get repositories",
	))
	// RepositoryLocked: it waits for the server's lock on a backup repository.
	RepositoryLocked = NewReason("RepositoryLocked", NoStep(
		"Nothing. It goes on when the deletion that holds the lock has ended.",
		"veltui get deletions",
	))
	// UploadingArtifacts: all items are done and Velero stores its files.
	UploadingArtifacts = NewReason("UploadingArtifacts", NoStep(
		"Nothing. If it lasts, look at the storage location.",
		"veltui get storage",
	))
	// LostPatch: all work is done, but the status patch that says so never landed.
	LostPatch = NewReason("LostPatch", NewStep(
		"Finalize it. If its results are stored, Velero finishes it. If you restart Velero instead, it marks "+
			"the job Failed, and all others in progress too.",
		"veltui finalize KIND/NAME",
	))
	// Reopened: it had ended, and somebody set it back to InProgress, which nobody takes
	// up.
	Reopened = NewReason("Reopened", NewStep(
		"Finalize it. If its results are stored, Velero finishes it. If you restart Velero instead, it marks "+
			"the job Failed, and all others in progress too.",
		"veltui finalize KIND/NAME",
	))
	// SchemaTooOld: the CRD does not allow the phase that comes next.
	SchemaTooOld = NewReason("SchemaTooOld", NewStep(
		"Apply the CRDs of the server's own version.",
		"kubectl exec SERVER -- ./velero install --crds-only --dry-run -o yaml | kubectl apply -f -",
	))
	// HasStatusSubresource: the CRD splits the status off, and nothing that Velero writes
	// lands.
	StatusSubresource = NewReason("StatusSubresource", NewStep(
		"Apply the CRDs of the server's own version, which have no status subresource. What Velero wrote "+
			"meanwhile is lost.",
		"kubectl exec SERVER -- ./velero install --crds-only --dry-run -o yaml | kubectl apply -f -",
	))
	// LocationReadOnly: its storage location is read-only, so Velero cannot end it.
	LocationReadOnly = NewReason("LocationReadOnly", NewStep(
		"Make the storage location ReadWrite. Velero then ends the job by itself.",
		`kubectl patch backupstoragelocations.velero.io LOCATION --type=merge -p {"spec":{"accessMode":"ReadWrite"}}`,
		"veltui get storage",
	))
	// LimitPassed: every limit that Velero puts on it has passed.
	LimitPassed = NewReason("LimitPassed", NewStep(
		"Read the log of the Velero server: it should have given up by itself. Then finalize says what the "+
			"evidence allows.",
		"kubectl logs SERVER --since=1h",
		"veltui finalize KIND/NAME",
	))
	// CancelledVolumeHang: Velero waits for a volume that was cancelled (issue 9464), up to
	// its limit.
	CancelledVolumeHang = NewReason("CancelledVolumeHang", NewStep(
		"Do not wait for the timeout: this Velero then loses the list of the volumes that did end. A restart "+
			"of the server fails everything in progress. Velero 1.17.0 to 1.18.2 hang so.",
		"veltui finalize KIND/NAME",
	))
	// WaitingForSnapshot: it waits for a CSI driver to make a snapshot.
	WaitingForSnapshot = NewReason("WaitingForSnapshot", NewStep(
		"If it lasts, look at the VolumeSnapshot that the verdict names, and at its CSI driver.",
		"kubectl get volumesnapshots -A",
		"kubectl get volumesnapshotcontents",
	))
	// WaitingForSlot: its volumes wait for a slot on a node, or in the queue of
	// the node-agents.
	WaitingForSlot = NewReason("WaitingForSlot", NoStep(
		"Nothing, or raise loadConcurrency in the ConfigMap of the node-agents. What holds the slot is named "+
			"with each volume.",
		"veltui describe KIND/NAME",
	))
	// BehindLeftover: its volumes wait for a slot that a volume of a job that has ended holds.
	BehindLeftover = NewReason("BehindLeftover", NewStep(
		"The slot does not come free by itself: cancel the volumes that the job which the verdict names left behind.",
		"veltui finalize backup/BACKUP --cancel-volumes",
	))
	// PreparingVolume: a volume's snapshot, claim or pod is being made.
	PreparingVolume = NewReason("PreparingVolume", NoStep(
		"Nothing at first. For a restore, look whether the restored pods are scheduled and start.",
		"veltui describe KIND/NAME",
	))
	// VolumeSilent: a volume in progress shows no new bytes, which is no proof
	// that nothing moves.
	VolumeSilent = NewReason("VolumeSilent", NoStep(
		"Nothing at first. If it lasts, read the log of the node-agent on that node.",
		"veltui logs KIND/NAME --volumes",
		"kubectl logs AGENT --since=1h",
	))
	// VolumeStalled: nobody starts a volume that may begin, or prepares it on.
	VolumeStalled = NewReason("VolumeStalled", NewStep(
		"Read the log of the node-agent. If a volume cannot go on, cancel it: a cancelled volume is lost to "+
			"the job, which then ends PartiallyFailed.",
		"kubectl delete RESTARTABLE",
		"kubectl logs AGENT --since=1h",
		"veltui logs KIND/NAME --volumes",
		"veltui finalize KIND/NAME --cancel-volumes",
	))
	// MoverUnschedulable: no node can take the pod that moves a volume.
	MoverUnschedulable = NewReason("MoverUnschedulable", NewStep(
		"Make room on a node that may run the pod. The node-agent gives the volume up after its prepare "+
			"timeout.",
		"kubectl describe pod POD",
		"kubectl get pods -o wide --field-selector status.phase=Pending",
	))
	// MoverGone: the pod that moved a volume is gone or has failed.
	MoverGone = NewReason("MoverGone", NewStep(
		"Remove the cause that the facts name (evicted, out of memory, image not found). Then cancel the "+
			"volume that cannot go on.",
		"veltui finalize KIND/NAME --cancel-volumes",
		"kubectl logs AGENT --since=1h",
	))
	// MoverForgotten: the pod has moved a volume, but the node-agent lost track.
	MoverForgotten = NewReason("MoverForgotten", NewStep(
		"Restart the node-agent on that node. Do not cancel the volume: its data are complete.",
		"kubectl delete AGENT",
		"veltui finalize KIND/NAME",
	))
	// NodeAgentMissing: no node-agent runs where a volume needs one.
	NodeAgentMissing = NewReason("NodeAgentMissing", NewStep(
		"Get the node-agent to run on the node that the verdict names.",
		"kubectl describe node NODE",
	))
	// WaitingForOperations: asynchronous operations have not ended.
	WaitingForOperations = NewReason("WaitingForOperations", NoStep(
		"Nothing. The verdict says when Velero gives up.",
		"veltui describe KIND/NAME",
	))
	// Finalizing: the job is in its last steps.
	Finalizing = NewReason("Finalizing", NoStep(
		"Nothing. If a restore lasts, look whether a hook still runs in a restored pod.",
		"veltui logs KIND/NAME -f",
	))
	// FinalizingBehind: another job is being finalized before it.
	FinalizingBehind = NewReason("FinalizingBehind", NewStep(
		"Look at the other job first: one worker finalizes all jobs of a kind.",
		"veltui get",
	))
	// FinalizerStalled: finalizing lasts longer than anything explains.
	FinalizerStalled = NewReason("FinalizerStalled", NewStep(
		"Of a backup, make Velero look again; if that does not help, restart the server, which goes on with "+
			"finalizing. Of a restore, read the log of the Velero server.",
		"veltui finalize KIND/NAME",
		"kubectl logs SERVER --since=1h",
	))
	// HookHung: finalizing waits for a hook that does not end.
	HookHung = NewReason("HookHung", NewStep(
		"Get the pod that the verdict names to start, or end the hook in it. A restart of the server ends the "+
			"restore, and its hooks never run.",
		"kubectl get pods -A -l velero.io/restore-name=NAME -o wide",
	))
	// LocationUnavailable: the storage location that it needs cannot be reached.
	LocationUnavailable = NewReason("LocationUnavailable", NewStep(
		"Bring the storage location back. Velero then goes on by itself.",
		"veltui describe storage/LOCATION",
		"veltui get storage",
	))
)

// The job is being deleted.
var (
	// Deleting: Velero removes it.
	Deleting = NewReason("Deleting", NoStep(
		"Nothing. It needs the storage location.",
		"veltui get deletions",
	))
	// DeletionFailed: its deletion began and did not end.
	DeletionFailed = NewReason("DeletionFailed", NewStep(
		"Remove what its DeleteBackupRequest reports, then delete it again.",
		"veltui get deletions",
		"veltui backup delete NAME",
	))
)

// The server decides.
var (
	// ServerStarting: no server runs at the moment, but one did just now.
	ServerStarting = NewReason("ServerStarting", NoStep(
		"Nothing. If no server comes up, the verdict becomes ServerDown.",
		"kubectl get pods",
	))
	// ServerRestarted: the server started after the job began.
	ServerRestarted = NewReason("ServerRestarted", NewStep(
		"Wait a moment: Velero marks it Failed at its start. If that was lost, finalize it as Failed.",
		"veltui finalize KIND/NAME",
	))
	// ServerElsewhere: no pod was recognised as the server, but something writes
	// as one.
	ServerElsewhere = NewReason("ServerElsewhere", NoStep(
		"Nothing here. Find out who else runs a Velero in this namespace.",
		"kubectl get deployments,pods -A -l component=velero",
	))
	// ServerDown: no server runs.
	ServerDown = NewReason("ServerDown", NewStep(
		"Get the Velero server to run: its pod says why it does not. A job in progress is then marked Failed; "+
			"a job that waits goes on.",
		"kubectl describe SERVERPOD",
		"kubectl get deployments,pods",
	))
	// ServerCrashLooping: the server ends again and again.
	ServerCrashLooping = NewReason("ServerCrashLooping", NewStep(
		"Read why it ends; the facts name the last reason, such as OOMKilled.",
		"kubectl logs SERVER --previous",
		"kubectl describe SERVERPOD",
	))
)

// Velero cannot work with the job as it is written.
var (
	// MalformedSpec: a field has a value that the API server accepts and Velero
	// cannot read. It may be another resource's, of the job's own kind, which keeps
	// the server from seeing any of them.
	MalformedSpec = NewReason("MalformedSpec", NewStep(
		"Correct or delete the resource with kubectl. Do not restart the Velero server before that: it may "+
			"not come up again.",
		"veltui check",
	))
)

// The job cannot be judged further.
var (
	// PodsHidden: pods may not be listed.
	PodsHidden = NewReason("PodsHidden", NewStep(
		"Ask for the right to list pods in Velero's namespace, or look at the Velero pod yourself.",
		"kubectl auth can-i list pods",
		"veltui rbac viewer",
	))
	// VersionUnknown: what holds it up depends on the server's version, which is
	// not known.
	VersionUnknown = NewReason("VersionUnknown", NoStep(
		"Nothing, or let veltui see the image of the Velero server: what a job waits for differs between "+
			"versions.",
		"kubectl get pods -o custom-columns=RUNS:.metadata.name,IMAGE:.spec.containers[*].image",
	))
	// UnknownPhase: the phase is not known to this veltui.
	UnknownPhase = NewReason("UnknownPhase", NewStep("A newer veltui may know the phase.", "veltui version"))
	// StaleData: the API server does not answer.
	StaleData = NewReason("StaleData", NewStep(
		"Wait until the API server answers.",
		"kubectl get --raw /readyz",
	))
)

// The job has ended: the reason is its phase.
var (
	// Completed: it ended, and Velero counted no errors.
	Completed = NewReason("Completed", NoStep("Nothing."))
	// PartiallyFailed: it ended, and Velero counted errors on the way.
	PartiallyFailed = NewReason("PartiallyFailed", NewStep("Read its errors.", "veltui results KIND/NAME"))
	// Failed: it ended before its work was done, or Velero found it in progress
	// when it started.
	Failed = NewReason("Failed", NewStep(
		"Read why in its log, then make a new one.",
		"veltui logs KIND/NAME",
	))
	// FailedValidation: Velero did not begin it, because its spec cannot be carried
	// out.
	FailedValidation = NewReason("FailedValidation", NewStep(
		"Correct what is not valid, and make a new one.",
		"veltui describe KIND/NAME",
	))
)

// Why a job ended badly. A verdict has it besides the phase, as its cause.
var (
	ServerOutOfMemory = NewCause("ServerOutOfMemory",
		"the Velero server was killed for memory while it worked on the job", NewStep(
			"Raise the memory limit of the Velero server, then run the job again.",
			"kubectl set resources DEPLOYMENT -c CONTAINER --limits=memory=MEMORY",
			"kubectl describe SERVERPOD",
		).OnOADP(
			"Raise spec.configuration.velero.podConfig.resourceAllocations.limits.memory in the "+
				"DataProtectionApplication, then run the job again. Its operator reverts what is changed elsewhere.",
			"kubectl edit dataprotectionapplications.oadp.openshift.io",
		))
	ServerPanicked = NewCause("ServerPanicked",
		"the Velero server failed with a panic while it worked on the job", NewStep(
			"Read the panic in the log of the container that ended: it names the code. A job that makes the "+
				"server panic does so again.",
			"kubectl logs SERVER --previous --tail=200",
			"veltui report KIND/NAME",
		))
	ServerEvicted = NewCause("ServerEvicted",
		"the node evicted the Velero server while it worked on the job", NewStep(
			"Make room on the node, or give the server requests that keep it there, then run the job again.",
			"kubectl describe SERVERPOD",
			"kubectl get pods -o wide",
		))
	ServerReplaced = NewCause("ServerReplaced",
		"another pod took the place of the Velero server while it worked on the job: a roll-out, a drain, or a "+
			"deleted pod", NewStep(
			"Run the job again, and change or drain the Velero server while no job runs.",
			"kubectl rollout history DEPLOYMENT",
			"kubectl get events --sort-by=.lastTimestamp",
		))
	ServerEnded = NewCause("ServerEnded", "the Velero server ended while it worked on the job", NewStep(
		"Read why it ended, then run the job again.",
		"kubectl logs SERVER --previous --tail=200",
		"kubectl describe SERVERPOD",
	))
	NodeAgentOutOfMemory = NewCause("NodeAgentOutOfMemory",
		"a node-agent was killed for memory while it moved volumes of the job", NewStep(
			"Raise the memory limit of the node-agents, then run the job again.",
			"kubectl set resources daemonset/node-agent -c node-agent --limits=memory=MEMORY",
			"kubectl describe AGENT",
		).OnOADP(
			"Raise spec.configuration.nodeAgent.podConfig.resourceAllocations.limits.memory in the "+
				"DataProtectionApplication, then run the job again. Its operator reverts what is changed elsewhere.",
			"kubectl edit dataprotectionapplications.oadp.openshift.io",
		))
	NodeAgentEvicted = NewCause("NodeAgentEvicted",
		"the node evicted a node-agent while it moved volumes of the job", NewStep(
			"Make room on the node for what the node-agent needs, often ephemeral storage for its cache, then "+
				"run the job again.",
			"kubectl describe node NODE",
			"kubectl get pods -o wide",
		))
	MoverEvicted = NewCause("MoverEvicted", "a node evicted pods that moved volumes of the job", NewStep(
		"Make room on the node for what the pods need, often ephemeral storage for their cache, then run the job again.",
		"kubectl describe node NODE",
		"kubectl get events --sort-by=.lastTimestamp",
	))
	NodeAgentEnded = NewCause("NodeAgentEnded",
		"a node-agent ended or was replaced while it moved volumes of the job", NewStep(
			"Read why it ended, then run the job again.",
			"kubectl logs AGENT --previous --tail=200",
			"kubectl get pods -o wide",
		))
	NodeShutDown = NewCause("NodeShutDown",
		"the node on which the Velero server or a node-agent worked on the job was shut down", NewStep(
			"Run the job again. Shut down or drain a node while no job runs on it.",
			"kubectl get nodes",
			"kubectl get pods -o wide",
		))
	StoreDenies = NewCause("StoreDenies", "the object store denies Velero access", NewStep(
		"Give the credentials of the storage location the rights to list, read, write and delete in its "+
			"bucket.",
		"veltui describe storage/LOCATION",
		"kubectl get backupstoragelocations.velero.io LOCATION -o yaml",
	))
	StoreCredentialsExpired = NewCause("StoreCredentialsExpired",
		"the credentials for the object store have expired", NewStep(
			"Renew the credentials in the Secret of the storage location, or what hands them out, and restart "+
				"the server.",
			"veltui describe storage/LOCATION",
			"kubectl get backupstoragelocations.velero.io LOCATION -o jsonpath={.spec.credential}",
		))
	StoreCredentialsWrong = NewCause("StoreCredentialsWrong",
		"the object store does not know the credentials, or there are none", NewStep(
			"Correct the credentials in the Secret of the storage location.",
			"veltui describe storage/LOCATION",
			"kubectl get backupstoragelocations.velero.io LOCATION -o jsonpath={.spec.credential}",
		))
	StoreRegionWrong = NewCause("StoreRegionWrong",
		"the bucket is in another region, or the address is another region's", NewStep(
			"Set spec.config.region of the storage location, and s3Url if it has one, to the bucket's region.",
			"kubectl edit backupstoragelocations.velero.io LOCATION",
			"veltui describe storage/LOCATION",
		).OnOADP(
			"Set config.region of the location in spec.backupLocations of the DataProtectionApplication to the "+
				"bucket's region. Its operator reverts what is changed elsewhere.",
			"kubectl edit dataprotectionapplications.oadp.openshift.io",
		))
	StoreBucketMissing = NewCause("StoreBucketMissing", "the object store has no such bucket", NewStep(
		"Create the bucket, or correct spec.objectStorage.bucket of the storage location.",
		"kubectl edit backupstoragelocations.velero.io LOCATION",
		"veltui describe storage/LOCATION",
	).OnOADP(
		"Create the bucket, or correct it in spec.backupLocations of the DataProtectionApplication. Its "+
			"operator reverts what is changed elsewhere.",
		"kubectl edit dataprotectionapplications.oadp.openshift.io",
	))
	StoreHoldsOthers = NewCause("StoreHoldsOthers", "the bucket holds folders that are not Velero's", NewStep(
		"Give Velero a bucket or a prefix of its own (spec.objectStorage.prefix), or move the folders away that the "+
			"message names.",
		"veltui describe storage/LOCATION",
		"kubectl edit backupstoragelocations.velero.io LOCATION",
	).OnOADP(
		"Give Velero a bucket or a prefix of its own in spec.backupLocations of the DataProtectionApplication. Its "+
			"operator reverts what is changed elsewhere.",
		"kubectl edit dataprotectionapplications.oadp.openshift.io",
	))
	StoreRefusesChecksum = NewCause("StoreRefusesChecksum",
		"the object store refuses the checksums that newer plugins send", NewStep(
			`Switch the checksums off with checksumAlgorithm "" in the config of the storage location, or `+
				"update the store.",
			"kubectl patch backupstoragelocations.velero.io LOCATION --type=merge "+
				`-p {"spec":{"config":{"checksumAlgorithm":""}}}`,
		).OnOADP(
			`Set config.checksumAlgorithm to "" for the location in spec.backupLocations of the `+
				"DataProtectionApplication. Its operator reverts what is changed elsewhere.",
			"kubectl edit dataprotectionapplications.oadp.openshift.io",
		))
	StoreClockDiffers = NewCause("StoreClockDiffers",
		"the clocks of the object store and of the server's node differ too much", NewStep(
			"Set the clock of the server's node or of the store.",
			"kubectl get pods -o wide",
			"veltui describe storage/LOCATION",
		))
	StoreFull = NewCause("StoreFull", "the object store is full, or the quota of the bucket is used up", NewStep(
		"Make room in the object store, or raise the quota of the bucket. Deleting old backups frees room "+
			"after the repository's maintenance.",
		"veltui describe storage/LOCATION",
		"veltui get backups --sort-by age",
	))
	StoreRefusesSize = NewCause("StoreRefusesSize",
		"the object store, or a proxy before it, refuses requests of this size", NewStep(
			"Raise the limit of what stands before the store, such as client_max_body_size of nginx, or proxy-body-size "+
				"of its ingress.",
			"veltui describe storage/LOCATION",
			"kubectl get ingresses -A",
		))
	StoreThrottles = NewCause("StoreThrottles",
		"the object store refuses requests because there are too many", NewStep(
			"Run the job again when the store has less to do, or raise its limits.",
			"veltui describe storage/LOCATION",
		))
	StoreUnreachable = NewCause("StoreUnreachable", "the object store cannot be reached", NewStep(
		"Make the object store reachable from the Velero server: its name, its network and its proxy.",
		"veltui describe storage/LOCATION",
		"kubectl get backupstoragelocations.velero.io LOCATION -o yaml",
	))
	ConnectionFailed = NewCause("ConnectionFailed",
		"a connection failed, was not trusted, or was not answered in time", NewStep(
			"The message names what did not answer: make it reachable, then run the job again.",
			"veltui logs KIND/NAME",
			"veltui get storage",
		))
	StoreCertificateUntrusted = NewCause("StoreCertificateUntrusted",
		"the certificate of the object store is not trusted", NewStep(
			"Put the store's CA into spec.objectStorage.caCert or caCertRef of the storage location.",
			"kubectl edit backupstoragelocations.velero.io LOCATION",
			"veltui describe storage/LOCATION",
		).OnOADP(
			"Put the store's CA into objectStorage.caCert of the location in spec.backupLocations of the "+
				"DataProtectionApplication. Its operator reverts what is changed elsewhere.",
			"kubectl edit dataprotectionapplications.oadp.openshift.io",
		))
	LocationNotFound = NewCause("LocationNotFound",
		"the storage location that the job names does not exist", NewStep(
			"Create the location, or name another one in a new job.",
			"veltui get storage",
		))
	BackupNotFound = NewCause("BackupNotFound",
		"the backup that the restore names does not exist or cannot be restored from", NewStep(
			"Restore from another backup.",
			"veltui get backups",
		))
	VolumeFull = NewCause("VolumeFull", "a volume or a node's disk is full", NewStep(
		"Make room where the message says: a restored claim must be as large as its data, and the cache of "+
			"the node-agents needs room on the node.",
		"veltui results KIND/NAME",
		"kubectl get pods -o wide",
	))
	QuotaExceeded = NewCause("QuotaExceeded", "a ResourceQuota of the namespace refuses objects", NewStep(
		"Raise the quota of the namespace, or free what counts against it.",
		"kubectl get resourcequotas -A",
		"veltui results KIND/NAME",
	))
	WebhookDenies = NewCause("WebhookDenies", "an admission webhook refuses objects", NewStep(
		"Change the objects, or exempt them from the webhook that the message names.",
		"veltui results KIND/NAME",
		"kubectl get validatingwebhookconfigurations,mutatingwebhookconfigurations",
	))
	PolicyDenies = NewCause("PolicyDenies", "an admission policy of the API server refuses objects", NewStep(
		"Change the objects, or leave them out of the binding of the policy that the message names.",
		"kubectl get validatingadmissionpolicies,validatingadmissionpolicybindings",
		"veltui results KIND/NAME",
	))
	PodSecurityDenies = NewCause("PodSecurityDenies",
		"the Pod Security level of a namespace refuses pods", NewStep(
			"Raise the level that the namespace enforces, or change the pods on the way with a resource modifier.",
			"kubectl get namespaces -L pod-security.kubernetes.io/enforce",
			"veltui results KIND/NAME",
		))
	WebhookUnreachable = NewCause("WebhookUnreachable",
		"an admission or conversion webhook does not answer", NewStep(
			"Get the webhook to run; while a cluster is restored, its own pods may not be there yet.",
			"kubectl get validatingwebhookconfigurations,mutatingwebhookconfigurations",
			"veltui results KIND/NAME",
		))
	StorageClassMissing = NewCause("StorageClassMissing", "a StorageClass that claims name does not exist", NewStep(
		"Create the class, or map it to one that exists (velero.io/change-storage-class), and restore "+
			"again.",
		"kubectl get storageclasses",
		"veltui results KIND/NAME",
	))
	SnapshotClassMissing = NewCause("SnapshotClassMissing",
		"no VolumeSnapshotClass fits the driver of a volume", NewStep(
			"Label a VolumeSnapshotClass of the driver with velero.io/csi-volumesnapshot-class=true.",
			"kubectl get volumesnapshotclasses --show-labels",
			"veltui results KIND/NAME",
		))
	SnapshotFailed = NewCause("SnapshotFailed", "a snapshot of a volume was not made, or not in time", NewStep(
		"Read what the driver or the plugin says. With CSI, look at the VolumeSnapshot and at the driver's snapshotter: a "+
			"slow driver needs a longer csiSnapshotTimeout.",
		"veltui logs KIND/NAME --level warning",
		"kubectl get volumesnapshots,volumesnapshotcontents -A",
	))
	MoverNotReady = NewCause("MoverNotReady",
		"the pods that move volumes did not get ready within the prepare timeout", NewStep(
			"Look why the pods do not start: a claim that does not bind, a node without room, an image.",
			"veltui describe KIND/NAME",
			"veltui logs KIND/NAME --volumes",
		))
	VolumesTimedOut = NewCause("VolumesTimedOut", "volumes were not moved within Velero's limit", NewStep(
		"Look why they are slow, or raise --fs-backup-timeout of the server.",
		"veltui describe KIND/NAME",
		"veltui logs KIND/NAME --volumes",
	))
	OperationTimedOut = NewCause("OperationTimedOut",
		"an operation did not end within the item operation timeout", NewStep(
			"Raise spec.itemOperationTimeout, or look why the operation is slow.",
			"veltui describe KIND/NAME",
			"veltui logs KIND/NAME --level warning",
		))
	VolumesCancelled = NewCause("VolumesCancelled", "volumes were cancelled", NewStep(
		"Find out who cancelled them: a person, or Velero at its start.",
		"veltui describe KIND/NAME",
		"veltui audit KIND/NAME",
	))
	PluginMissing = NewCause("PluginMissing", "the server lacks a plugin that the job needs", NewStep(
		"Add the plugin to the init containers of the Velero server.",
		"kubectl get DEPLOYMENT -o jsonpath={.spec.template.spec.initContainers[*].image}",
		"veltui logs KIND/NAME --level error",
	).OnOADP(
		"Add the plugin to spec.configuration.velero.defaultPlugins or customPlugins of the "+
			"DataProtectionApplication. Its operator reverts what is changed elsewhere.",
		"kubectl edit dataprotectionapplications.oadp.openshift.io",
	))
	RightsMissing = NewCause("RightsMissing", "the API server forbids Velero something", NewStep(
		"Give Velero's service account the right that the message names.",
		"veltui results KIND/NAME",
		"kubectl get clusterrolebindings -o wide",
	))
	KindMissing = NewCause("KindMissing", "the cluster does not serve a kind of the job", NewStep(
		"Install what serves the kind, such as its CRD, then run the job again.",
		"veltui results KIND/NAME",
		"kubectl api-resources",
	))
	ObjectRefused = NewCause("ObjectRefused", "the API server refuses objects as they are", NewStep(
		"Read which fields it refuses. A resource modifier can change them on the way.",
		"veltui results KIND/NAME",
	))
	RuleBroken = NewCause("RuleBroken", "objects break a validation rule of their CRD", NewStep(
		"Read which rule: a newer CRD may have rules that the objects of the backup do not keep. A resource modifier "+
			"can change the objects on the way.",
		"veltui results KIND/NAME",
	))
	SpecRefused = NewCause("SpecRefused", "Velero refuses its spec", NewStep(
		"Correct what Velero names, and make a new one.",
		"veltui describe KIND/NAME",
	))
	APIServerFailed = NewCause("APIServerFailed", "the API server, an API behind it, or etcd did not answer", NewStep(
		"Get the API to answer that the message is about, then run the job again.",
		"kubectl get --raw /readyz?verbose",
		"kubectl get apiservices",
		"veltui results KIND/NAME",
	))
	RepositoryPasswordWrong = NewCause("RepositoryPasswordWrong",
		"the password of the backup repository is not that with which it was made", NewStep(
			"Put back the Secret velero-repo-credentials with which the repository was made.",
			"veltui get repositories",
			"kubectl get secret velero-repo-credentials",
		))
	HookFailed = NewCause("HookFailed", "hooks failed in their pods", NewStep(
		"Read what the hooks printed, and correct their commands.",
		"veltui results KIND/NAME",
		"veltui logs KIND/NAME --level warning",
	))
	ClaimNotBound = NewCause("ClaimNotBound", "restored claims were not bound when the restore ended", NewStep(
		"Start what uses the claims, if their class waits for a first consumer, or look at the events of "+
			"the claims.",
		"kubectl get pvc -A",
		"veltui verify KIND/NAME",
	))
	LocationWasUnavailable = NewCause("LocationWasUnavailable", "its storage location was unavailable", NewStep(
		"Bring the storage location back, then run the job again.",
		"veltui describe storage/LOCATION",
	))
	LocationWasReadOnly = NewCause("LocationWasReadOnly", "its storage location was read-only", NewStep(
		"Make the storage location ReadWrite, or name another one, and run the job again.",
		`kubectl patch backupstoragelocations.velero.io LOCATION --type=merge -p {"spec":{"accessMode":"ReadWrite"}}`,
	))
	MoverNotScheduled = NewCause("MoverNotScheduled", "no node took the pods that move volumes", NewStep(
		"Make room on a node that may run the pods, or let their claims bind. Velero before 1.15 gives up "+
			"on such a pod at once.",
		"veltui describe KIND/NAME",
		"kubectl describe nodes",
	))
	NamespaceMissing = NewCause("NamespaceMissing", "a namespace that the job names does not exist", NewStep(
		"Correct the namespaces that the job includes, or create the namespace, and run the job again.",
		"kubectl get namespaces",
		"veltui describe KIND/NAME",
	))
	LimitRangeRefuses = NewCause("LimitRangeRefuses", "a LimitRange of the namespace refuses objects", NewStep(
		"Change the LimitRange of the namespace, or what the objects ask for.",
		"kubectl get limitranges -A -o yaml",
		"veltui results KIND/NAME",
	))
	ConfigMapMissing = NewCause("ConfigMapMissing", "a ConfigMap that the job names does not exist", NewStep(
		"Create the ConfigMap in Velero's namespace, or name another one in a new job.",
		"kubectl get configmaps",
		"veltui describe KIND/NAME",
	))
	ConfigMapInvalid = NewCause("ConfigMapInvalid", "a ConfigMap that the job names holds no rules that Velero takes",
		NewStep(
			"Correct the ConfigMap that the message names, and make a new job.",
			"veltui describe KIND/NAME",
			"kubectl get configmaps",
		))
	ModifierFailed = NewCause("ModifierFailed", "a rule of the resource modifier fails on objects", NewStep(
		"Correct the rule: the message names its path or its expression. Velero restores no object on which a rule fails.",
		"veltui results KIND/NAME",
		"veltui describe KIND/NAME",
	))
	BackupDamaged = NewCause("BackupDamaged", "the stored files of the backup are missing or damaged", NewStep(
		"Restore from another backup. If the files were moved or changed in the bucket, put them back.",
		"veltui get backups",
		"veltui describe storage/LOCATION",
	))
	NodeAgentNotRunning = NewCause("NodeAgentNotRunning", "no node-agent runs on a node whose volumes are to be moved",
		NewStep(
			"Get the node-agents to run, also on that node: its taints, and the selector of the DaemonSet.",
			"kubectl get daemonsets",
			"kubectl get pods -o wide",
		))
	PluginFailed = NewCause("PluginFailed", "a plugin failed on objects", NewStep(
		"Read what the plugin says: the message is the plugin's, not Velero's.",
		"veltui results KIND/NAME",
		"veltui logs KIND/NAME --level warning",
	))
	OperationFailed = NewCause("OperationFailed", "an item operation failed", NewStep(
		"Read what the operation says; for a moved volume, read the logs of its node-agent, too.",
		"veltui results KIND/NAME",
		"veltui describe KIND/NAME",
	))
	NamespaceDeleted = NewCause("NamespaceDeleted", "a namespace of the job was being deleted, or is gone", NewStep(
		"Run the job again when the namespace is gone, or is there to stay.",
		"veltui results KIND/NAME",
		"kubectl get namespaces",
	))
)
