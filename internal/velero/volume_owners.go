package velero

import (
	"slices"
	"time"
)

// Actor is a process that may continue to move a volume, or end it.
type Actor string

// The actors. status.acceptedByNode names none of them: Velero writes it and never reads it (1.16 to 1.18.3).
const (
	// AnyAgent is every node-agent of the installation: the first that writes wins.
	AnyAgent Actor = "any node-agent"
	// VolumeAgent is the node-agent of the volume's node: spec.node of a PodVolumeBackup, else status.node.
	VolumeAgent Actor = "the node-agent of its node"
	// FirstAgent is the process of the volume's node-agent that began to move the volume.
	FirstAgent Actor = "the node-agent that began it"
	// AcceptingAgent is the process of the node-agent that accepted the volume, until it has created the mover pod.
	AcceptingAgent Actor = "the node-agent that accepted it"
	// MoverPod is the volume's own pod.
	MoverPod Actor = "its mover pod"
	// RestoredPod is the pod whose init container waits for the volume.
	RestoredPod Actor = "the restored pod"
)

// Limits of a node-agent's silent work (pkg/controller/data_upload_controller.go and its siblings, pkg/exposer).
const (
	// CancelDelayOthers is the same delay of a volume that is not in progress (cancelDelayOthers, since 1.17).
	CancelDelayOthers = 5 * time.Minute
	// agentCheckPeriod is how often a node-agent checks open volumes again (preparingMonitorFrequency).
	agentCheckPeriod = time.Minute
	// eventWaitTimeout is how long a node-agent waits for the last event of a pod that ended (eventWaitTimeout).
	eventWaitTimeout = time.Minute
	// defaultOperationTimeout is what the server writes into spec.operationTimeout: its --resource-timeout. It is also
	// the default of the node-agent's own --resource-timeout.
	defaultOperationTimeout = 10 * time.Minute
)

// OwnerLimits are the lengths from which the limits of a volume's owners are computed; zero stands for the default.
type OwnerLimits struct {
	// OperationTimeout is spec.operationTimeout of a DataUpload or DataDownload.
	OperationTimeout time.Duration
	// PrepareTimeout is --data-mover-prepare-timeout of the node-agents.
	PrepareTimeout time.Duration
	// ResumedVolumes is how many volumes a node-agent resumes when it starts, one after the other.
	ResumedVolumes int
}

func (l OwnerLimits) operationLimit() time.Duration {
	if l.OperationTimeout > 0 {
		return l.OperationTimeout
	}
	return defaultOperationTimeout
}

func (l OwnerLimits) prepareLimit() time.Duration {
	if l.PrepareTimeout > 0 {
		return l.PrepareTimeout
	}
	return defaultPrepareTimeout
}

// The times from which the limits of owners are counted.
const (
	// FromWrite is the last write to the volume.
	FromWrite LimitStart = "the last write"
	// FromAccepted is status.acceptedTimestamp, else the last write.
	FromAccepted LimitStart = "status.acceptedTimestamp"
	// FromProcess is the last write, or, if later, the start of the youngest process that keeps the timer in memory.
	FromProcess LimitStart = "the last write or a later start of the process"
	// FromProcessStart is the start of the process, for work that it does only once.
	FromProcessStart LimitStart = "the start of the process"
)

// OwnerName names a row of the table of owners.
type OwnerName string

// The rows of Owners by name.
const (
	OwnerTakes        OwnerName = "Take"
	OwnerExposes      OwnerName = "Expose"
	OwnerPrepares     OwnerName = "PrepareTimeout"
	OwnerRestoredPod  OwnerName = "RestoredPod"
	OwnerMoves        OwnerName = "Move"
	OwnerNotesEnd     OwnerName = "NoteEnd"
	OwnerRebinds      OwnerName = "RebindVolume"
	OwnerResumes      OwnerName = "Resume"
	OwnerFailsAtStart OwnerName = "FailAtStart"
	OwnerCancels      OwnerName = "Cancel"
	OwnerForcesCancel OwnerName = "ForceCancel"
)

// PossibleOwner is a process that may continue to move a volume in silence, and what it does.
type PossibleOwner struct {
	Name   OwnerName
	Actor  Actor
	Work   string // in words
	Kinds  []VolumeKind
	Phases []string
	// OnlyOnCancel is true for work that is done only on volumes whose cancellation was requested.
	OnlyOnCancel bool
	// Since and Before are the versions for which the row holds; zero for all.
	Since, Before Version
	// Setting names the limit, and Limit returns its length; nil for work without a limit.
	Setting string
	Limit   func(OwnerLimits) time.Duration
	// LimitStart is when the limit starts.
	LimitStart LimitStart
	// NeedsOnlyWorker is true for work that waits until the node-agent's only worker of the kind is free.
	NeedsOnlyWorker bool
	// Source is the file and function in Velero's source.
	Source string
}

// FindOwners returns the rows for a volume, in the table's order. For an unknown version (zero) it returns those of
// all versions.
func FindOwners(table []PossibleOwner, kind VolumeKind, phase string, cancelled bool, v Version) []PossibleOwner {
	if phase == "" {
		phase = VolumeNew
	}
	var rows []PossibleOwner
	for i := range table {
		o := &table[i]
		applies := v == (Version{}) || !v.Before(o.Since) && (o.Before == Version{} || v.Before(o.Before))
		if applies && (cancelled || !o.OnlyOnCancel) && slices.Contains(o.Kinds, kind) && slices.Contains(o.Phases, phase) {
			rows = append(rows, *o)
		}
	}
	return rows
}

// ExposeLimit returns the limit of one Expose, which occupies the only worker of a kind: a snapshot or a claim has to
// be ready, then a VolumeSnapshot and its content are deleted.
func ExposeLimit(l OwnerLimits) time.Duration { return l.prepareLimit() + 2*l.operationLimit() }

// podSearchLimit returns the limit of a worker that searches for the pods of three volumes, and occupies the only
// worker of a kind each time.
func podSearchLimit(l OwnerLimits) time.Duration { return 3 * l.operationLimit() }

func resumeLimit(l OwnerLimits) time.Duration {
	return time.Duration(max(l.ResumedVolumes, 1)) * l.operationLimit()
}

func fixedLimit(d time.Duration) func(OwnerLimits) time.Duration {
	return func(OwnerLimits) time.Duration { return d }
}

// OwnerTable returns all processes that may continue to move a volume in silence, from 1.14 to 1.18.3.
// docs/dev/velero.md prints them.
//
// The server's time-outs are not among them: they end the job's wait, not the volume's (see [WaitTable]).
func OwnerTable() []PossibleOwner {
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
	return []PossibleOwner{
		{
			Name:            OwnerTakes,
			Actor:           AnyAgent,
			Work:            "accepts it",
			Kinds:           movements,
			Phases:          isNew,
			NeedsOnlyWorker: true,
			Setting:         exposeSetting,
			Limit:           ExposeLimit,
			LimitStart:      FromProcess,
			Source:          upload + " Reconcile, acceptDataUpload",
		},
		{
			Name:            OwnerTakes,
			Actor:           VolumeAgent,
			Work:            "accepts it, before 1.17 begins with it",
			Kinds:           []VolumeKind{PodVolumeBackup},
			Phases:          isNew,
			NeedsOnlyWorker: true,
			Setting:         "3 × resource-timeout",
			Limit:           podSearchLimit,
			LimitStart:      FromProcess,
			Source:          backup + " Reconcile",
		},
		{
			Name:   OwnerRestoredPod,
			Actor:  RestoredPod,
			Work:   "runs its init container",
			Kinds:  []VolumeKind{PodVolumeRestore},
			Phases: isNew,
			Source: restore + " shouldProcess",
		},
		{
			Name:            OwnerTakes,
			Actor:           AnyAgent,
			Work:            "accepts it if the restored pod is on its node, before 1.17 begins with it",
			Kinds:           []VolumeKind{PodVolumeRestore},
			Phases:          isNew,
			NeedsOnlyWorker: true,
			Setting:         "3 × resource-timeout",
			Limit:           podSearchLimit,
			LimitStart:      FromProcess,
			Source:          restore + " Reconcile",
		},

		{
			Name:       OwnerExposes,
			Actor:      AcceptingAgent,
			Work:       "waits for the snapshot or the claim and makes the pod",
			Kinds:      movements,
			Phases:     accepted,
			Setting:    exposeSetting,
			Limit:      ExposeLimit,
			LimitStart: FromAccepted,
			Source:     exposer + " Expose",
		},
		{
			Name:            OwnerPrepares,
			Actor:           AnyAgent,
			Work:            "goes on once the pod runs on its node, and fails it at the time-out",
			Kinds:           movements,
			Phases:          accepted,
			NeedsOnlyWorker: true,
			Setting:         prepareFlag,
			Limit:           OwnerLimits.prepareLimit,
			LimitStart:      FromAccepted,
			Source:          upload + " Reconcile, onPrepareTimeout, findDataUploadForPod",
		},
		{
			Name:            OwnerPrepares,
			Actor:           AnyAgent,
			Work:            "goes on once the pod runs on its node, and fails it at the time-out",
			Kinds:           podVolumes,
			Phases:          accepted,
			NeedsOnlyWorker: true,
			Since:           before17,
			Setting:         prepareFlag,
			Limit:           OwnerLimits.prepareLimit,
			LimitStart:      FromAccepted,
			Source:          backup + " Reconcile, onPrepareTimeout",
		},

		{
			Name:            OwnerTakes,
			Actor:           VolumeAgent,
			Work:            "looks for the pod and begins",
			Kinds:           movements,
			Phases:          prepared,
			NeedsOnlyWorker: true,
			Setting:         exposeSetting,
			Limit:           ExposeLimit,
			LimitStart:      FromProcess,
			Source:          upload + " Reconcile",
		},
		{
			Name:            OwnerTakes,
			Actor:           VolumeAgent,
			Work:            "looks for the pod and begins",
			Kinds:           podVolumes,
			Phases:          prepared,
			NeedsOnlyWorker: true,
			Since:           before17,
			Setting:         "3 × resource-timeout",
			Limit:           podSearchLimit,
			LimitStart:      FromProcess,
			Source:          backup + " Reconcile",
		},

		{
			Name:   OwnerMoves,
			Actor:  MoverPod,
			Work:   "moves it, and stops once it is cancelled",
			Kinds:  movements,
			Phases: moving,
			Since:  before15,
			Source: watcher + " startWatch",
		},
		{
			Name:   OwnerMoves,
			Actor:  MoverPod,
			Work:   "moves it, and stops once it is cancelled",
			Kinds:  podVolumes,
			Phases: moving,
			Since:  before17,
			Source: watcher + " startWatch",
		},
		{
			Name:       OwnerNotesEnd,
			Actor:      VolumeAgent,
			Work:       "waits for the pod's last event and removes what was made for it",
			Kinds:      []VolumeKind{DataUpload},
			Phases:     moving,
			Since:      before15,
			Setting:    "eventWaitTimeout + 2 × cleanUpTimeout",
			Limit:      fixedLimit(eventWaitTimeout + 2*time.Minute),
			LimitStart: FromWrite,
			Source:     exposer + " CleanUp",
		},
		{
			Name:       OwnerNotesEnd,
			Actor:      VolumeAgent,
			Work:       "waits for the pod's last event",
			Kinds:      podVolumes,
			Phases:     moving,
			Since:      before17,
			Setting:    "eventWaitTimeout",
			Limit:      fixedLimit(eventWaitTimeout),
			LimitStart: FromWrite,
			Source:     watcher + " startWatch",
		},
		{
			Name:       OwnerRebinds,
			Actor:      VolumeAgent,
			Work:       "waits for the pod's last event and binds the claim to the new volume, without the pod",
			Kinds:      []VolumeKind{DataDownload},
			Phases:     moving,
			Since:      before15,
			Setting:    "eventWaitTimeout + 4 × " + operationField,
			LimitStart: FromWrite,
			Source:     download + " OnDataDownloadCompleted",
			Limit:      func(l OwnerLimits) time.Duration { return eventWaitTimeout + 4*l.operationLimit() },
		},
		{
			Name:       OwnerResumes,
			Actor:      VolumeAgent,
			Work:       "attaches itself to the pod again, or requests the cancel",
			Kinds:      movements,
			Phases:     inProgress,
			Since:      before15,
			Setting:    operationField + " of each volume in progress there",
			Limit:      resumeLimit,
			LimitStart: FromProcessStart,
			Source:     upload + " AttemptDataUploadResume",
		},
		{
			Name:       OwnerResumes,
			Actor:      VolumeAgent,
			Work:       "attaches itself to the pod again, or requests the cancel",
			Kinds:      podVolumes,
			Phases:     inProgress,
			Since:      before17,
			Setting:    "resource-timeout of each volume in progress there",
			Limit:      resumeLimit,
			LimitStart: FromProcessStart,
			Source:     backup + " AttemptPVBResume",
		},

		{
			Name:   OwnerMoves,
			Actor:  FirstAgent,
			Work:   "moves it in its own process",
			Kinds:  movements,
			Phases: moving,
			Before: before15,
			Source: "pkg/datapath/file_system.go StartBackup",
		},
		{
			Name:   OwnerMoves,
			Actor:  FirstAgent,
			Work:   "moves it in its own process",
			Kinds:  podVolumes,
			Phases: moving,
			Before: before17,
			Source: "pkg/datapath/file_system.go StartBackup",
		},
		{
			Name:       OwnerRebinds,
			Actor:      FirstAgent,
			Work:       "binds the claim to the new volume",
			Kinds:      []VolumeKind{DataDownload},
			Phases:     moving,
			Before:     before15,
			Setting:    "4 × " + operationField,
			LimitStart: FromWrite,
			Source:     download + " OnDataDownloadCompleted",
			Limit:      func(l OwnerLimits) time.Duration { return 4 * l.operationLimit() },
		},
		{
			Name:       OwnerFailsAtStart,
			Actor:      VolumeAgent,
			Work:       "marks what it finds in progress at its start",
			Kinds:      all,
			Phases:     inProgress,
			Before:     before17,
			Setting:    "at once",
			Limit:      fixedLimit(agentCheckPeriod),
			LimitStart: FromProcessStart,
			Source:     "pkg/cmd/cli/nodeagent/server.go run",
		},

		{
			Name:            OwnerCancels,
			Actor:           AnyAgent,
			Work:            "ends it at once",
			Kinds:           movements,
			Phases:          []string{VolumeNew, VolumeAccepted, VolumePrepared},
			OnlyOnCancel:    true,
			NeedsOnlyWorker: true,
			Before:          before17,
			Setting:         exposeSetting,
			Limit:           ExposeLimit,
			LimitStart:      FromProcess,
			Source:          upload + " Reconcile",
		},
		{
			Name:            OwnerCancels,
			Actor:           AnyAgent,
			Work:            "ends it at once",
			Kinds:           all,
			Phases:          isNew,
			OnlyOnCancel:    true,
			NeedsOnlyWorker: true,
			Since:           before17,
			Setting:         exposeSetting,
			Limit:           ExposeLimit,
			LimitStart:      FromProcess,
			Source:          upload + " Reconcile, tryCancelDataUpload",
		},
		{
			Name:            OwnerForcesCancel,
			Actor:           AnyAgent,
			Work:            "ends it, if it is not ended by then",
			Kinds:           all,
			Phases:          []string{VolumeAccepted, VolumePrepared, VolumeCanceling},
			OnlyOnCancel:    true,
			NeedsOnlyWorker: true,
			Since:           before17,
			Setting:         "cancelDelayOthers",
			Limit:           fixedLimit(CancelDelayOthers),
			LimitStart:      FromProcess,
			Source:          upload + " Reconcile, tryCancelDataUpload",
		},
		{
			Name:            OwnerForcesCancel,
			Actor:           AnyAgent,
			Work:            "ends it, if it is not ended by then",
			Kinds:           all,
			Phases:          inProgress,
			OnlyOnCancel:    true,
			NeedsOnlyWorker: true,
			Since:           before17,
			Setting:         "cancelDelayInProgress",
			Limit:           fixedLimit(CancelDelayInProgress),
			LimitStart:      FromProcess,
			Source:          upload + " Reconcile, tryCancelDataUpload",
		},
		{
			Name:            OwnerCancels,
			Actor:           VolumeAgent,
			Work:            "ends it at once, and removes what was made for it",
			Kinds:           all,
			Phases:          []string{VolumePrepared, VolumeInProgress, VolumeCanceling},
			OnlyOnCancel:    true,
			NeedsOnlyWorker: true,
			Setting:         exposeSetting,
			Limit:           ExposeLimit,
			LimitStart:      FromProcess,
			Source:          upload + " Reconcile, OnDataUploadCancelled",
		},
	}
}
