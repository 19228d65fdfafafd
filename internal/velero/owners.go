package velero

import (
	"slices"
	"time"
)

// Actor is a process that may carry a volume on, or end it.
type Actor string

// The actors. status.acceptedByNode names none of them: Velero writes it and never reads it (1.16 to 1.18.3).
const (
	// AnyAgent is each node-agent of the installation: the first one that writes wins.
	AnyAgent Actor = "any node-agent"
	// VolumeAgent is the node-agent of the volume's node: spec.node of a PodVolumeBackup, else status.node.
	VolumeAgent Actor = "the node-agent of its node"
	// FirstAgent is the process of the volume's node-agent that began to move it.
	FirstAgent Actor = "the node-agent that began it"
	// AcceptingAgent is the process of the node-agent that accepted it, until it has made the mover pod.
	AcceptingAgent Actor = "the node-agent that accepted it"
	// MoverPod is the volume's own pod.
	MoverPod Actor = "its mover pod"
	// RestoredPod is the pod whose init container waits for the volume.
	RestoredPod Actor = "the restored pod"
)

// Limits of a node-agent's silent work (pkg/controller/data_upload_controller.go and its siblings, pkg/exposer).
const (
	// CancelDelayOthers is CancelDelay of a volume that is not in progress (cancelDelayOthers, since 1.17).
	CancelDelayOthers = 5 * time.Minute
	// agentPeriod is how often a node-agent looks at open volumes again (preparingMonitorFrequency).
	agentPeriod = time.Minute
	// eventWait is how long a node-agent waits for the last event of a pod that ended (eventWaitTimeout).
	eventWait = time.Minute
	// defaultOperationTimeout is what the server writes into spec.operationTimeout: its --resource-timeout. It also
	// is the default of the node-agent's own --resource-timeout.
	defaultOperationTimeout = 10 * time.Minute
)

// OwnerLimits are the lengths that limits of a volume's owners are made of; zero stands for the default.
type OwnerLimits struct {
	// Operation is spec.operationTimeout of a DataUpload or DataDownload.
	Operation time.Duration
	// Prepare is --data-mover-prepare-timeout of the node-agents.
	Prepare time.Duration
	// Resumed is how many volumes a node-agent attaches itself to when it starts, one after the other.
	Resumed int
}

func (l OwnerLimits) operation() time.Duration {
	if l.Operation > 0 {
		return l.Operation
	}
	return defaultOperationTimeout
}

func (l OwnerLimits) prepare() time.Duration {
	if l.Prepare > 0 {
		return l.Prepare
	}
	return defaultPrepareTimeout
}

// The moments that the limits of owners are counted from.
const (
	// FromWrite is the last write to the volume.
	FromWrite Moment = "the last write"
	// FromAccepted is status.acceptedTimestamp, else the last write.
	FromAccepted Moment = "status.acceptedTimestamp"
	// FromProcess is the last write, or the start of the youngest process that keeps the timer in memory if later.
	FromProcess Moment = "the last write or a later start of the process"
	// FromProcessStart is the start of the process: it does that once.
	FromProcessStart Moment = "the start of the process"
)

// OwnerName names a row of the table of owners.
type OwnerName string

// The rows of Owners by name.
const (
	OwnerTakes    OwnerName = "Take"
	OwnerExposes  OwnerName = "Expose"
	OwnerPrepares OwnerName = "PrepareTimeout"
	OwnerRestored OwnerName = "RestoredPod"
	OwnerMoves    OwnerName = "Move"
	OwnerNotes    OwnerName = "NoteEnd"
	OwnerRebinds  OwnerName = "RebindVolume"
	OwnerResumes  OwnerName = "Resume"
	OwnerFails    OwnerName = "FailAtStart"
	OwnerCancels  OwnerName = "Cancel"
	OwnerForces   OwnerName = "ForceCancel"
)

// Owner is one process that may carry a volume on in silence, and what it does.
type Owner struct {
	Name   OwnerName
	Actor  Actor
	Does   string // in words
	Kinds  []VolumeKind
	Phases []string
	// OnCancel is true for what is done only with volumes whose cancel was requested.
	OnCancel bool
	// Since and Before are the versions in which it is so; zero for all.
	Since, Before Version
	// Setting names the limit, and Limit is its length; nil for work without one.
	Setting string
	Limit   func(OwnerLimits) time.Duration
	// From is what the limit is counted from.
	From Moment
	// OneWorker is true for work that waits until the node-agent's only worker of the kind is free.
	OneWorker bool
	// Source is file and function.
	Source string
}

// OwnersOf are the rows of a volume, in the table's order. An unknown version (zero) takes those of all versions.
func OwnersOf(table []Owner, kind VolumeKind, phase string, cancelled bool, v Version) []Owner {
	if phase == "" {
		phase = VolumeNew
	}
	var rows []Owner
	for i := range table {
		o := &table[i]
		applies := v == (Version{}) || !v.Before(o.Since) && (o.Before == Version{} || v.Before(o.Before))
		if applies && (cancelled || !o.OnCancel) && slices.Contains(o.Kinds, kind) && slices.Contains(o.Phases, phase) {
			rows = append(rows, *o)
		}
	}
	return rows
}

// ExposeLimit bounds one Expose, which keeps the only worker of a kind: a snapshot or a claim has to be ready, then
// a VolumeSnapshot and its content are deleted.
func ExposeLimit(l OwnerLimits) time.Duration { return l.prepare() + 2*l.operation() }

// lookLimit bounds a worker that looks for the pods of three volumes, which keeps the only worker of a kind each time.
func lookLimit(l OwnerLimits) time.Duration { return 3 * l.operation() }

func resumeLimit(l OwnerLimits) time.Duration {
	return time.Duration(max(l.Resumed, 1)) * l.operation()
}

func fixed(d time.Duration) func(OwnerLimits) time.Duration {
	return func(OwnerLimits) time.Duration { return d }
}

// Owners are all who may carry a volume on in silence, from 1.14 to 1.18.3. docs/dev/velero.md prints them.
//
// The time-outs of the server are not among them: they end the job's wait, not the volume's (see Waits).
func Owners() []Owner {
	var (
		movements  = []VolumeKind{DataUpload, DataDownload}
		podVolumes = []VolumeKind{PodVolumeBackup, PodVolumeRestore}
		all        = VolumeKinds[:]

		isNew, accepted, prepared = []string{VolumeNew}, []string{VolumeAccepted}, []string{VolumePrepared}
		inProgress, moving        = []string{VolumeInProgress}, []string{VolumeInProgress, VolumeCanceling}
		before15, before17        = Version{1, 15, 0}, Version{1, 17, 0}

		upload   = "pkg/controller/data_upload_controller.go"
		download = "pkg/controller/data_download_controller.go"
		backup   = "pkg/controller/pod_volume_backup_controller.go"
		restore  = "pkg/controller/pod_volume_restore_controller.go"
		watcher  = "pkg/datapath/micro_service_watcher.go"
		exposer  = "pkg/exposer/csi_snapshot.go"
	)
	const (
		prepareFlag, operationField = "data-mover-prepare-timeout", "spec.operationTimeout"
		exposeSetting               = prepareFlag + " + 2 × " + operationField
	)
	return []Owner{
		{
			Name:      OwnerTakes,
			Actor:     AnyAgent,
			Does:      "accepts it",
			Kinds:     movements,
			Phases:    isNew,
			OneWorker: true,
			Setting:   exposeSetting,
			Limit:     ExposeLimit,
			From:      FromProcess,
			Source:    upload + " Reconcile, acceptDataUpload",
		},
		{
			Name:      OwnerTakes,
			Actor:     VolumeAgent,
			Does:      "accepts it, before 1.17 begins with it",
			Kinds:     []VolumeKind{PodVolumeBackup},
			Phases:    isNew,
			OneWorker: true,
			Setting:   "3 × resource-timeout",
			Limit:     lookLimit,
			From:      FromProcess,
			Source:    backup + " Reconcile",
		},
		{
			Name:   OwnerRestored,
			Actor:  RestoredPod,
			Does:   "runs its init container",
			Kinds:  []VolumeKind{PodVolumeRestore},
			Phases: isNew,
			Source: restore + " shouldProcess",
		},
		{
			Name:      OwnerTakes,
			Actor:     AnyAgent,
			Does:      "accepts it if the restored pod is on its node, before 1.17 begins with it",
			Kinds:     []VolumeKind{PodVolumeRestore},
			Phases:    isNew,
			OneWorker: true,
			Setting:   "3 × resource-timeout",
			Limit:     lookLimit,
			From:      FromProcess,
			Source:    restore + " Reconcile",
		},

		{
			Name:    OwnerExposes,
			Actor:   AcceptingAgent,
			Does:    "waits for the snapshot or the claim and makes the pod",
			Kinds:   movements,
			Phases:  accepted,
			Setting: exposeSetting,
			Limit:   ExposeLimit,
			From:    FromAccepted,
			Source:  exposer + " Expose",
		},
		{
			Name:      OwnerPrepares,
			Actor:     AnyAgent,
			Does:      "goes on once the pod runs on its node, and fails it at the time-out",
			Kinds:     movements,
			Phases:    accepted,
			OneWorker: true,
			Setting:   prepareFlag,
			Limit:     OwnerLimits.prepare,
			From:      FromAccepted,
			Source:    upload + " Reconcile, onPrepareTimeout, findDataUploadForPod",
		},
		{
			Name:      OwnerPrepares,
			Actor:     AnyAgent,
			Does:      "goes on once the pod runs on its node, and fails it at the time-out",
			Kinds:     podVolumes,
			Phases:    accepted,
			OneWorker: true,
			Since:     before17,
			Setting:   prepareFlag,
			Limit:     OwnerLimits.prepare,
			From:      FromAccepted,
			Source:    backup + " Reconcile, onPrepareTimeout",
		},

		{
			Name:      OwnerTakes,
			Actor:     VolumeAgent,
			Does:      "looks for the pod and begins",
			Kinds:     movements,
			Phases:    prepared,
			OneWorker: true,
			Setting:   exposeSetting,
			Limit:     ExposeLimit,
			From:      FromProcess,
			Source:    upload + " Reconcile",
		},
		{
			Name:      OwnerTakes,
			Actor:     VolumeAgent,
			Does:      "looks for the pod and begins",
			Kinds:     podVolumes,
			Phases:    prepared,
			OneWorker: true,
			Since:     before17,
			Setting:   "3 × resource-timeout",
			Limit:     lookLimit,
			From:      FromProcess,
			Source:    backup + " Reconcile",
		},

		{
			Name:   OwnerMoves,
			Actor:  MoverPod,
			Does:   "moves it, and stops once it is cancelled",
			Kinds:  movements,
			Phases: moving,
			Since:  before15,
			Source: watcher + " startWatch",
		},
		{
			Name:   OwnerMoves,
			Actor:  MoverPod,
			Does:   "moves it, and stops once it is cancelled",
			Kinds:  podVolumes,
			Phases: moving,
			Since:  before17,
			Source: watcher + " startWatch",
		},
		{
			Name:    OwnerNotes,
			Actor:   VolumeAgent,
			Does:    "waits for the pod's last event and removes what was made for it",
			Kinds:   []VolumeKind{DataUpload},
			Phases:  moving,
			Since:   before15,
			Setting: "eventWaitTimeout + 2 × cleanUpTimeout",
			Limit:   fixed(eventWait + 2*time.Minute),
			From:    FromWrite,
			Source:  exposer + " CleanUp",
		},
		{
			Name:    OwnerNotes,
			Actor:   VolumeAgent,
			Does:    "waits for the pod's last event",
			Kinds:   podVolumes,
			Phases:  moving,
			Since:   before17,
			Setting: "eventWaitTimeout",
			Limit:   fixed(eventWait),
			From:    FromWrite,
			Source:  watcher + " startWatch",
		},
		{
			Name:    OwnerRebinds,
			Actor:   VolumeAgent,
			Does:    "waits for the pod's last event and binds the claim to the new volume, without the pod",
			Kinds:   []VolumeKind{DataDownload},
			Phases:  moving,
			Since:   before15,
			Setting: "eventWaitTimeout + 4 × " + operationField,
			From:    FromWrite,
			Source:  download + " OnDataDownloadCompleted",
			Limit:   func(l OwnerLimits) time.Duration { return eventWait + 4*l.operation() },
		},
		{
			Name:    OwnerResumes,
			Actor:   VolumeAgent,
			Does:    "attaches itself to the pod again, or requests the cancel",
			Kinds:   movements,
			Phases:  inProgress,
			Since:   before15,
			Setting: operationField + " of each volume in progress there",
			Limit:   resumeLimit,
			From:    FromProcessStart,
			Source:  upload + " AttemptDataUploadResume",
		},
		{
			Name:    OwnerResumes,
			Actor:   VolumeAgent,
			Does:    "attaches itself to the pod again, or requests the cancel",
			Kinds:   podVolumes,
			Phases:  inProgress,
			Since:   before17,
			Setting: "resource-timeout of each volume in progress there",
			Limit:   resumeLimit,
			From:    FromProcessStart,
			Source:  backup + " AttemptPVBResume",
		},

		{
			Name:   OwnerMoves,
			Actor:  FirstAgent,
			Does:   "moves it in its own process",
			Kinds:  movements,
			Phases: moving,
			Before: before15,
			Source: "pkg/datapath/file_system.go StartBackup",
		},
		{
			Name:   OwnerMoves,
			Actor:  FirstAgent,
			Does:   "moves it in its own process",
			Kinds:  podVolumes,
			Phases: moving,
			Before: before17,
			Source: "pkg/datapath/file_system.go StartBackup",
		},
		{
			Name:    OwnerRebinds,
			Actor:   FirstAgent,
			Does:    "binds the claim to the new volume",
			Kinds:   []VolumeKind{DataDownload},
			Phases:  moving,
			Before:  before15,
			Setting: "4 × " + operationField,
			From:    FromWrite,
			Source:  download + " OnDataDownloadCompleted",
			Limit:   func(l OwnerLimits) time.Duration { return 4 * l.operation() },
		},
		{
			Name:    OwnerFails,
			Actor:   VolumeAgent,
			Does:    "marks what it finds in progress at its start",
			Kinds:   all,
			Phases:  inProgress,
			Before:  before17,
			Setting: "at once",
			Limit:   fixed(agentPeriod),
			From:    FromProcessStart,
			Source:  "pkg/cmd/cli/nodeagent/server.go run",
		},

		{
			Name:      OwnerCancels,
			Actor:     AnyAgent,
			Does:      "ends it at once",
			Kinds:     movements,
			Phases:    []string{VolumeNew, VolumeAccepted, VolumePrepared},
			OnCancel:  true,
			OneWorker: true,
			Before:    before17,
			Setting:   exposeSetting,
			Limit:     ExposeLimit,
			From:      FromProcess,
			Source:    upload + " Reconcile",
		},
		{
			Name:      OwnerCancels,
			Actor:     AnyAgent,
			Does:      "ends it at once",
			Kinds:     all,
			Phases:    isNew,
			OnCancel:  true,
			OneWorker: true,
			Since:     before17,
			Setting:   exposeSetting,
			Limit:     ExposeLimit,
			From:      FromProcess,
			Source:    upload + " Reconcile, tryCancelDataUpload",
		},
		{
			Name:      OwnerForces,
			Actor:     AnyAgent,
			Does:      "ends it, if it is not ended by then",
			Kinds:     all,
			Phases:    []string{VolumeAccepted, VolumePrepared, VolumeCanceling},
			OnCancel:  true,
			OneWorker: true,
			Since:     before17,
			Setting:   "cancelDelayOthers",
			Limit:     fixed(CancelDelayOthers),
			From:      FromProcess,
			Source:    upload + " Reconcile, tryCancelDataUpload",
		},
		{
			Name:      OwnerForces,
			Actor:     AnyAgent,
			Does:      "ends it, if it is not ended by then",
			Kinds:     all,
			Phases:    inProgress,
			OnCancel:  true,
			OneWorker: true,
			Since:     before17,
			Setting:   "cancelDelayInProgress",
			Limit:     fixed(CancelDelay),
			From:      FromProcess,
			Source:    upload + " Reconcile, tryCancelDataUpload",
		},
		{
			Name:      OwnerCancels,
			Actor:     VolumeAgent,
			Does:      "ends it at once, and removes what was made for it",
			Kinds:     all,
			Phases:    []string{VolumePrepared, VolumeInProgress, VolumeCanceling},
			OnCancel:  true,
			OneWorker: true,
			Setting:   exposeSetting,
			Limit:     ExposeLimit,
			From:      FromProcess,
			Source:    upload + " Reconcile, OnDataUploadCancelled",
		},
	}
}
