package main

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"time"
)

// Cause is the kind of fault that makes a job dead.
type Cause string

// The causes.
const (
	LostPatch       Cause = "LostPatch"
	LostMark        Cause = "LostMark"
	ForgottenReady  Cause = "ForgottenReady"
	PhaseEdited     Cause = "PhaseEdited"
	LocationDeleted Cause = "LocationDeleted"
	DeletionFailed  Cause = "DeletionFailed"
	MoverDeleted    Cause = "MoverDeleted"
	CacheHung       Cause = "CacheHung"
	QueueRolledBack Cause = "QueueRolledBack"
)

// detectionDelay is how long after its fault a job has to be seen as dead: by Velero's source
// and the flags of the run nothing is left to wait for then.
func (c Cause) detectionDelay(l Limits) time.Duration {
	switch c {
	case LostPatch:
		return giveUpDelay(l.Resource)
	case CacheHung:
		return time.Minute // the reflector's error repeats every 30 s at most
	case MoverDeleted:
		return moverGoneAfter(l)
	}
	return 0
}

// moverGoneAfter is how long a node-agent may yet work in silence on a volume whose mover
// pod is gone (internal/velero/volume_owners.go): it waits for an event and cleans up (three minutes), or
// has just started and attaches itself to pods. Five minutes more are veltui's margin.
func moverGoneAfter(l Limits) time.Duration {
	attach := l.Resource
	if attach == 0 {
		attach = 10 * time.Minute
	}
	return max(3*time.Minute, attach) + 5*time.Minute
}

// Act is something that happens in a story: a job, or a fault.
type Act string

// The acts: jobs that live, jobs that die, and faults of the cluster.
const (
	PacedRestore      Act = "paced-restore"
	HeldRestore       Act = "held-restore"
	QueuedRestore     Act = "queued-restore"
	OperationsRestore Act = "operations-restore"
	HookRestore       Act = "hook-restore"
	SpecHookRestore   Act = "spec-hook-restore"
	TerminatingTarget Act = "terminating-restore"
	PacedBackup       Act = "paced-backup"
	HookBackup        Act = "hook-backup"
	HeldBackup        Act = "held-backup"
	OperationsBackup  Act = "operations-backup"
	LimitedBackup     Act = "limited-backup"
	PodVolumeBackup   Act = "pod-volume-backup"
	MovingBackup      Act = "moving-backup"
	DeletedBackup     Act = "deleted-backup"
	EverySchedule     Act = "schedule"

	LosePatchOfRestore Act = "lose-restore"
	LosePatchOfBackup  Act = "lose-backup"
	EditPhase          Act = "edit-phase"
	DeleteLocation     Act = "delete-location"
	FailDeletion       Act = "fail-deletion"
	DeleteMover        Act = "delete-mover"
	HangCache          Act = "hang-cache"
	// CrashWithMark kills the server while a restore runs, whose mark is then
	// lost; where the server has a queue, a backup is forgotten as well.
	CrashWithMark Act = "crash-with-mark"

	CrashServer    Act = "crash-server"
	RollOutServer  Act = "roll-out-server"
	PauseServer    Act = "pause-server"
	PauseAPIServer Act = "pause-api-server"
	KillAPIServer  Act = "kill-api-server"
	PauseEtcd      Act = "pause-etcd"
	PauseStore     Act = "pause-store"
	KillStore      Act = "kill-store"
	SecondServer   Act = "second-server"
	RestartAgent   Act = "restart-node-agent"
	RollOutAgent   Act = "roll-out-node-agent"
	DrainNode      Act = "drain-node"
	RollBackServer Act = "roll-back-server"
)

// Step is one act of a story.
type Step struct {
	// At is when it begins, counted from the beginning of the story.
	At  time.Duration `json:"at"`
	Act Act           `json:"act"`
	// Name is that of the job, or of the fault in the recording.
	Name string `json:"name"`
	// Length is how long the job is held up, or the fault lasts.
	Length time.Duration `json:"length"`
}

// Story is all that happens in a run. It follows from the seed, the duration
// and what the Velero can do, and is fixed before the run begins.
type Story struct {
	Seed     uint64        `json:"seed"`
	Duration time.Duration `json:"duration"`
	Version  string        `json:"version"`
	Limits   Limits        `json:"limits"`
	Steps    []Step        `json:"steps"`
	Deaths   []Death       `json:"fates"`
}

// Limits are Velero's limits and frequencies in a run, short enough to pass within it.
type Limits struct {
	// Resource is zero for a server that tries for ever to write a last status.
	Resource      time.Duration `json:"resource"`
	Terminating   time.Duration `json:"terminating"`
	PodVolume     time.Duration `json:"podVolume"`
	ItemOperation time.Duration `json:"itemOperation"`
	// OperationSync is how often the server asks how operations are, zero in recordings
	// of five seconds.
	OperationSync time.Duration `json:"operationSync,omitempty"`
}

// ServerFlags are the server's flags.
func (l Limits) ServerFlags(queues bool) []string {
	flags := []string{
		"--features=EnableCSI",
		"--resource-timeout=" + l.Resource.String(),
		"--terminating-resource-timeout=" + l.Terminating.String(),
		"--fs-backup-timeout=" + l.PodVolume.String(),
		"--default-item-operation-timeout=" + l.ItemOperation.String(),
		"--item-operation-sync-frequency=" + l.OperationSync.String(),
	}
	if queues {
		flags = append(flags, "--concurrent-backups=4")
	}
	return flags
}

// giveUpDelay is the longest that Velero tries to write a last status
// (pkg/client/retry.go CapBackoff and client-go's wait.Backoff: pauses of 10 ms
// that grow five times each, a tenth more at random, until one would be longer
// than the resource timeout; then it gives up after the pause before). Without a
// resource timeout it never gives up, and there is no such time.
func giveUpDelay(resource time.Duration) time.Duration {
	total := time.Duration(0)
	for pause := 10 * time.Millisecond; ; pause *= 5 {
		total += pause
		if pause*5 > resource {
			return total * 11 / 10
		}
	}
}

// Abilities are what the story depends on beside the seed.
type Abilities struct {
	Version string
	// Queues is true for a server that has a queue of backups.
	Queues bool
	// RollsBack is true where another version's binary is there, and OlderQueues
	// if that has a queue too.
	RollsBack, OlderQueues bool
}

// storyWriter makes one story. All chance comes from random, so the order of calls
// is part of what a seed means.
type storyWriter struct {
	random    *rand.Rand
	story     Story
	counts    map[Act]int
	abilities Abilities
}

// PlanStory makes the story of a seed.
func PlanStory(seed uint64, duration time.Duration, can Abilities) Story {
	w := storyWriter{random: rand.New(rand.NewPCG(seed, 0)), counts: map[Act]int{}, abilities: can}
	w.story = Story{Seed: seed, Duration: duration, Version: can.Version, Limits: Limits{
		Resource:    pickOne(w.random, 20*time.Second, time.Minute, 0),
		Terminating: pickOne(w.random, 45*time.Second, time.Minute), PodVolume: 90 * time.Second,
		ItemOperation: 4 * time.Hour, OperationSync: pickOne(w.random, 5*time.Second, 20*time.Second, 45*time.Second),
	}}
	w.addLivingJobs()
	w.addFaults()
	w.addDeadJobs()
	slices.SortStableFunc(w.story.Steps, func(a, b Step) int { return cmp.Compare(a.At, b.At) })
	return w.story
}

func pickOne[T any](r *rand.Rand, from ...T) T { return from[r.IntN(len(from))] }

// timeNear is a moment near a share of the story, and length a part of it: between a
// half and all of the share.
func (w *storyWriter) timeNear(share float64) time.Duration {
	share += 0.02 * (w.random.Float64() - 0.5)
	return time.Duration(max(0, share) * float64(w.story.Duration)).Round(time.Second)
}

func (w *storyWriter) randomLength(share float64) time.Duration {
	return time.Duration(share * (0.6 + 0.4*w.random.Float64()) * float64(w.story.Duration)).Round(time.Second)
}

func (w *storyWriter) addStep(act Act, at, length time.Duration) Step {
	w.counts[act]++
	s := Step{At: at, Act: act, Name: string(act) + "-" + string(rune('a'+w.counts[act]-1)), Length: length}
	w.story.Steps = append(w.story.Steps, s)
	return s
}

// addLivingJobs adds the jobs that end by themselves, most of them slowly. The early
// ones end before the server first ends or survive that; one restore runs at a
// time, so their lengths together leave room.
func (w *storyWriter) addLivingJobs() {
	w.addStep(EverySchedule, w.timeNear(0), 0)
	w.addStep(OperationsBackup, w.timeNear(0.01), w.randomLength(0.35))
	w.addStep(MovingBackup, w.timeNear(0.02), w.randomLength(0.30))
	w.addStep(HookBackup, w.timeNear(0.01), w.randomLength(0.06))
	w.addStep(PacedRestore, w.timeNear(0.01), w.randomLength(0.06))

	held := w.timeNear(0.27)
	w.addStep(HeldRestore, held, w.randomLength(0.10))
	w.addStep(QueuedRestore, held+2*time.Second, 0)
	w.addStep(QueuedRestore, held+3*time.Second, 0)
	w.addStep(HeldBackup, w.timeNear(0.28), w.randomLength(0.15))
	w.addStep(HookBackup, w.timeNear(0.30), w.randomLength(0.20))
	w.addStep(LimitedBackup, w.timeNear(0.31), max(30*time.Second, w.randomLength(0.1)))
	w.addStep(PodVolumeBackup, w.timeNear(0.33), 0)
	w.addStep(MovingBackup, w.timeNear(0.32), w.randomLength(0.15))
	w.addStep(OperationsRestore, w.timeNear(0.50), w.randomLength(0.20))
	w.addStep(HookRestore, w.timeNear(0.51), w.randomLength(0.15))
	w.addStep(SpecHookRestore, w.timeNear(0.52), w.randomLength(0.10))
	w.addStep(TerminatingTarget, w.timeNear(0.55), w.randomLength(0.10))
	w.addStep(DeletedBackup, w.timeNear(0.50), 0)
	w.addStep(PacedBackup, w.timeNear(0.56), w.randomLength(0.15))
	w.addStep(PacedRestore, w.timeNear(0.70), w.randomLength(0.06))
	w.addStep(HeldBackup, w.timeNear(0.74), w.randomLength(0.12))
	w.addStep(QueuedRestore, w.timeNear(0.76), 0)
}

// addFaults adds what ends by itself. No server ends after the first third: that
// would end what is dead. No node-agent starts after the first half, for the same
// reason. An API server that was away may wake it: Velero's
// informers then list all anew, and tell of each object as if it had changed.
func (w *storyWriter) addFaults() {
	w.addFault(pickOne(w.random, PauseStore, PauseAPIServer, PauseEtcd, KillAPIServer), 0.04)
	if w.abilities.RollsBack {
		w.addDeath(RollBackServer, 0.09)
		w.abilities.Queues = w.abilities.OlderQueues
	} else {
		w.addFault(pickOne(w.random, CrashServer, RollOutServer), 0.09)
	}
	w.addFault(SecondServer, 0.14)
	w.addFault(RollOutAgent, 0.25)
	w.addFault(pickOne(w.random, PauseServer, PauseStore, PauseEtcd), 0.37)
	w.addFault(RestartAgent, 0.43)
	w.addFault(DrainNode, 0.47)
	w.addFault(pickOne(w.random, PauseServer, PauseAPIServer, PauseEtcd), 0.60)
	w.addFault(pickOne(w.random, PauseAPIServer, PauseServer, KillStore), 0.80)
}

// addFault lasts for seconds to a minute.
func (w *storyWriter) addFault(act Act, share float64) {
	seconds := 5 + w.random.IntN(25)
	if w.story.Duration >= 10*time.Minute {
		seconds = 10 + w.random.IntN(60)
	}
	if act == KillAPIServer || act == CrashServer {
		seconds = min(seconds, 25) // a last patch must not be lost in it but by intent
	}
	w.addStep(act, w.timeNear(share), time.Duration(seconds)*time.Second)
}

// addDeadJobs adds the jobs that die: always a lost mark, both lost patches (of a server that
// never gives up, they are late instead), and four of the others. What takes the only restore worker comes last.
func (w *storyWriter) addDeadJobs() {
	w.addDeath(CrashWithMark, 0.20)
	w.addDeath(LosePatchOfRestore, 0.42)
	w.addDeath(LosePatchOfBackup, 0.40)
	others := []struct {
		act   Act
		share float64
	}{{EditPhase, 0.52}, {DeleteLocation, 0.58}, {FailDeletion, 0.68}, {DeleteMover, 0.57}, {HangCache, 0.86}}
	w.random.Shuffle(len(others), func(i, j int) { others[i], others[j] = others[j], others[i] })
	for _, o := range others[:4] {
		w.addDeath(o.act, o.share)
	}
}

// addDeath adds an act and the fates that follow from it.
func (w *storyWriter) addDeath(act Act, share float64) {
	s := w.addStep(act, w.timeNear(share), w.randomLength(0.06))
	fate := func(kind, name string, cause Cause, source string) {
		w.story.Deaths = append(w.story.Deaths, Death{
			Job:             kind + "/" + name,
			Cause:           cause,
			DetectableAfter: cause.detectionDelay(w.story.Limits),
			Source:          source,
		})
	}
	switch act {
	case RollBackServer:
		if w.abilities.Queues && !w.abilities.OlderQueues {
			fate(
				"backup",
				s.Name+"-behind",
				QueueRolledBack,
				"pkg/controller/backup_controller.go Reconcile (up to 1.17 only new ones are looked at)",
			)
		}
	case CrashWithMark:
		fate(
			"restore",
			s.Name,
			LostMark,
			"pkg/cmd/server/server.go markInProgressRestoresFailed (one try, the error is only logged)",
		)
		if w.abilities.Queues {
			fate(
				"backup",
				s.Name,
				ForgottenReady,
				"pkg/controller/backup_controller.go SetupWithManager (create events are dropped, so a backup that is "+
					"ReadyToStart when the server starts is never looked at)",
			)
		}
	case LosePatchOfRestore, LosePatchOfBackup:
		kind := map[Act]string{LosePatchOfRestore: "restore", LosePatchOfBackup: "backup"}[act]
		if limit := w.story.Limits.Resource; limit > 0 {
			fate(
				kind,
				s.Name,
				LostPatch,
				"pkg/controller/"+kind+"_controller.go Reconcile, pkg/client/retry.go (counted from the last upload)",
			)
		}
	case EditPhase:
		fate(
			"restore",
			s.Name,
			PhaseEdited,
			"pkg/controller/restore_controller.go Reconcile (only new ones are looked at; one worker, counted from its "+
				"next restore)",
		)
	case DeleteLocation:
		fate(
			"backup",
			s.Name,
			LocationDeleted,
			"pkg/controller/backup_finalizer_controller.go Reconcile (tried again for ever while the location is not there)",
		)
	case FailDeletion:
		fate(
			"backup",
			s.Name,
			DeletionFailed,
			"pkg/controller/backup_deletion_controller.go Reconcile (counted from the request's end; a processed one is "+
				"skipped)",
		)
	case DeleteMover:
		fate(
			"backup",
			s.Name,
			MoverDeleted,
			"pkg/datapath/micro_service_watcher.go Init (a deleted pod is never noticed), data_upload_controller.go (no "+
				"limit in InProgress)",
		)
	case HangCache:
		fate(
			"restore",
			s.Name,
			CacheHung,
			"pkg/restore/restore.go execute (WaitForCacheSync has no limit; the reflector's error repeats every 30 s at most)",
		)
	}
}
