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

// seenAfter is how long after its fault a job has to be seen as dead: by Velero's source
// and the flags of the run nothing is left to wait for then.
func (c Cause) seenAfter(l Limits) time.Duration {
	switch c {
	case LostPatch:
		return givesUpAfter(l.Resource)
	case CacheHung:
		return time.Minute // the reflector's error repeats every 30 s at most
	case MoverDeleted:
		return moverGoneAfter(l)
	}
	return 0
}

// moverGoneAfter is how long a node-agent may yet work in silence on a volume whose mover
// pod is gone (internal/velero/owners.go): it waits for an event and cleans up (three minutes), or
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
	Fates    []Fate        `json:"fates"`
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

// Flags are the server's flags.
func (l Limits) Flags(queues bool) []string {
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

// givesUpAfter is the longest that Velero tries to write a last status
// (pkg/client/retry.go CapBackoff and client-go's wait.Backoff: pauses of 10 ms
// that grow five times each, a tenth more at random, until one would be longer
// than the resource timeout; then it gives up after the pause before). Without a
// resource timeout it never gives up, and there is no such time.
func givesUpAfter(resource time.Duration) time.Duration {
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

// writer makes one story. All chance comes from random, so the order of calls
// is part of what a seed means.
type writer struct {
	random *rand.Rand
	story  Story
	counts map[Act]int
	can    Abilities
}

// Plan makes the story of a seed.
func Plan(seed uint64, duration time.Duration, can Abilities) Story {
	w := writer{random: rand.New(rand.NewPCG(seed, 0)), counts: map[Act]int{}, can: can}
	w.story = Story{Seed: seed, Duration: duration, Version: can.Version, Limits: Limits{
		Resource:    pick(w.random, 20*time.Second, time.Minute, 0),
		Terminating: pick(w.random, 45*time.Second, time.Minute), PodVolume: 90 * time.Second,
		ItemOperation: 4 * time.Hour, OperationSync: pick(w.random, 5*time.Second, 20*time.Second, 45*time.Second),
	}}
	w.living()
	w.faults()
	w.dead()
	slices.SortStableFunc(w.story.Steps, func(a, b Step) int { return cmp.Compare(a.At, b.At) })
	return w.story
}

func pick[T any](r *rand.Rand, from ...T) T { return from[r.IntN(len(from))] }

// at is a moment near a share of the story, and length a part of it: between a
// half and all of the share.
func (w *writer) at(share float64) time.Duration {
	share += 0.02 * (w.random.Float64() - 0.5)
	return time.Duration(max(0, share) * float64(w.story.Duration)).Round(time.Second)
}

func (w *writer) length(share float64) time.Duration {
	return time.Duration(share * (0.6 + 0.4*w.random.Float64()) * float64(w.story.Duration)).Round(time.Second)
}

func (w *writer) add(act Act, at, length time.Duration) Step {
	w.counts[act]++
	s := Step{At: at, Act: act, Name: string(act) + "-" + string(rune('a'+w.counts[act]-1)), Length: length}
	w.story.Steps = append(w.story.Steps, s)
	return s
}

// living adds the jobs that end by themselves, most of them slowly. The early
// ones end before the server first ends or survive that; one restore runs at a
// time, so their lengths together leave room.
func (w *writer) living() {
	w.add(EverySchedule, w.at(0), 0)
	w.add(OperationsBackup, w.at(0.01), w.length(0.35))
	w.add(MovingBackup, w.at(0.02), w.length(0.30))
	w.add(HookBackup, w.at(0.01), w.length(0.06))
	w.add(PacedRestore, w.at(0.01), w.length(0.06))

	held := w.at(0.27)
	w.add(HeldRestore, held, w.length(0.10))
	w.add(QueuedRestore, held+2*time.Second, 0)
	w.add(QueuedRestore, held+3*time.Second, 0)
	w.add(HeldBackup, w.at(0.28), w.length(0.15))
	w.add(HookBackup, w.at(0.30), w.length(0.20))
	w.add(LimitedBackup, w.at(0.31), max(30*time.Second, w.length(0.1)))
	w.add(PodVolumeBackup, w.at(0.33), 0)
	w.add(MovingBackup, w.at(0.32), w.length(0.15))
	w.add(OperationsRestore, w.at(0.50), w.length(0.20))
	w.add(HookRestore, w.at(0.51), w.length(0.15))
	w.add(SpecHookRestore, w.at(0.52), w.length(0.10))
	w.add(TerminatingTarget, w.at(0.55), w.length(0.10))
	w.add(DeletedBackup, w.at(0.50), 0)
	w.add(PacedBackup, w.at(0.56), w.length(0.15))
	w.add(PacedRestore, w.at(0.70), w.length(0.06))
	w.add(HeldBackup, w.at(0.74), w.length(0.12))
	w.add(QueuedRestore, w.at(0.76), 0)
}

// faults adds what ends by itself. No server ends after the first third: that
// would end what is dead. No node-agent starts after the first half, for the same
// reason. An API server that was away may wake it: Velero's
// informers then list all anew, and tell of each object as if it had changed.
func (w *writer) faults() {
	w.fault(pick(w.random, PauseStore, PauseAPIServer, PauseEtcd, KillAPIServer), 0.04)
	if w.can.RollsBack {
		w.die(RollBackServer, 0.09)
		w.can.Queues = w.can.OlderQueues
	} else {
		w.fault(pick(w.random, CrashServer, RollOutServer), 0.09)
	}
	w.fault(SecondServer, 0.14)
	w.fault(RollOutAgent, 0.25)
	w.fault(pick(w.random, PauseServer, PauseStore, PauseEtcd), 0.37)
	w.fault(RestartAgent, 0.43)
	w.fault(DrainNode, 0.47)
	w.fault(pick(w.random, PauseServer, PauseAPIServer, PauseEtcd), 0.60)
	w.fault(pick(w.random, PauseAPIServer, PauseServer, KillStore), 0.80)
}

// fault lasts for seconds to a minute.
func (w *writer) fault(act Act, share float64) {
	seconds := 5 + w.random.IntN(25)
	if w.story.Duration >= 10*time.Minute {
		seconds = 10 + w.random.IntN(60)
	}
	if act == KillAPIServer || act == CrashServer {
		seconds = min(seconds, 25) // a last patch must not be lost in it but by intent
	}
	w.add(act, w.at(share), time.Duration(seconds)*time.Second)
}

// dead adds the jobs that die: always a lost mark, both lost patches (of a server that
// never gives up, they are late instead), and four of the others. What takes the only restore worker comes last.
func (w *writer) dead() {
	w.die(CrashWithMark, 0.20)
	w.die(LosePatchOfRestore, 0.42)
	w.die(LosePatchOfBackup, 0.40)
	others := []struct {
		act   Act
		share float64
	}{{EditPhase, 0.52}, {DeleteLocation, 0.58}, {FailDeletion, 0.68}, {DeleteMover, 0.57}, {HangCache, 0.86}}
	w.random.Shuffle(len(others), func(i, j int) { others[i], others[j] = others[j], others[i] })
	for _, o := range others[:4] {
		w.die(o.act, o.share)
	}
}

// die adds an act and the fates that follow from it.
func (w *writer) die(act Act, share float64) {
	s := w.add(act, w.at(share), w.length(0.06))
	fate := func(kind, name string, cause Cause, source string) {
		w.story.Fates = append(w.story.Fates, Fate{
			Job:    kind + "/" + name,
			Cause:  cause,
			After:  cause.seenAfter(w.story.Limits),
			Source: source,
		})
	}
	switch act {
	case RollBackServer:
		if w.can.Queues && !w.can.OlderQueues {
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
		if w.can.Queues {
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
