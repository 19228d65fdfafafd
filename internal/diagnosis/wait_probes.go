package diagnosis

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/velero"
	"github.com/veltui/veltui/internal/velero/veleroapi"
)

// waitProbe is the reason for a wait, and a probe that finds what the evidence shows of it. Without a probe, nothing
// shows the wait or rules it out.
type waitProbe struct {
	reason Reason
	probe  func(*jobJudge) probeResult
}

func waitProbes() map[velero.WaitName]waitProbe {
	return map[velero.WaitName]waitProbe{
		velero.WaitQueue:  {probe: (*jobJudge).probeQueueTurn},
		velero.WaitWorker: {probe: (*jobJudge).probeQueueTurn},
		velero.WaitListing: {
			reason: CollectingItems,
		},
		velero.WaitDownload:            {reason: CollectingItems},
		velero.WaitItemAction:          {reason: SlowItem},
		velero.WaitCRD:                 {reason: SlowItem},
		velero.WaitAdditionalItems:     {reason: SlowItem},
		velero.WaitCacheSync:           {KindNotListed, (*jobJudge).probeCacheSync},
		velero.WaitNamespace:           {NamespaceTerminating, (*jobJudge).probeTerminatingNamespaces},
		velero.WaitHook:                {RunningHook, (*jobJudge).probeRunningHook},
		velero.WaitSnapshot:            {WaitingForSnapshot, (*jobJudge).probeSnapshot},
		velero.WaitRepository:          {PreparingRepository, (*jobJudge).probeRepository},
		velero.WaitRepositoryLock:      {RepositoryLocked, (*jobJudge).probeRepositoryLock},
		velero.WaitPodVolumes:          {VolumeSilent, (*jobJudge).probePodVolumes},
		velero.WaitCancelledPodVolumes: {CancelledVolumeHang, (*jobJudge).probeCancelledVolumes},
		velero.WaitStoring:             {reason: UploadingArtifacts},
		velero.WaitLastPatch:           {reason: UploadingArtifacts},
		velero.WaitOperations:          {reason: WaitingForOperations},
		velero.WaitFinalizer:           {FinalizingBehind, (*jobJudge).probeFinalizer},
		velero.WaitRewriting:           {Finalizing, (*jobJudge).probeBackupRewriting},
		velero.WaitBinding:             {Finalizing, (*jobJudge).probeBinding},
		velero.WaitGroupSnapshots:      {Finalizing, (*jobJudge).probeGroupSnapshots},
		velero.WaitRestoreHooks:        {RunningHook, (*jobJudge).probeRestoreHooks},
		velero.WaitObjectStore:         {reason: Finalizing},
		velero.WaitDeletion:            {Deleting, (*jobJudge).probeDeletion},
	}
}

func (a *jobJudge) probeDeletion() probeResult {
	d, ok := a.findNewestDeletion()
	return probeResult{isRuledOut: !ok || d.Phase == velero.DeletionProcessed, isConfirmed: true}
}

func (a *jobJudge) probeQueueTurn() probeResult {
	w := findTurn(a.j, a.world)
	return probeResult{
		isRuledOut:  !w.isWaiting || w.canStart,
		isConfirmed: true,
		reason:      w.reason,
		label:       "its turn: it " + w.reasonText,
	}
}

func (a *jobJudge) probeCacheSync() probeResult {
	// Without a log this is one of the slow beginnings; with a log, the last line decides.
	log := a.jobEvidence().ServerLog
	if !log.AwaitsCaches() {
		return probeResult{isRuledOut: true}
	}
	return probeResult{isConfirmed: true, label: "the API server to list every kind of the backup",
		addFacts: func() { a.AddSupport(SourceLog, log.Last.At, "%s", LoggedText(log.Last)) },
		summary:  ", quiet for " + a.quietText() + "; waits until the API server lists every kind of the backup"}
}

func (a *jobJudge) probeTerminatingNamespaces() probeResult {
	names := a.jobEvidence().TerminatingNamespaces
	switch {
	case len(names) > 0:
		return probeResult{
			isConfirmed: true,
			label:       "namespace " + human.JoinNames(names, 3) + " to be gone",
			addFacts: func() {
				a.AddSupport(SourceNamespaces, a.Now, "namespace %s is being deleted", human.JoinNames(names, 3))
			},
			summary: ", quiet for " + a.quietText() + "; waits until namespace " + human.JoinNames(names, 1) + " is gone",
			advice:  "Look what keeps the namespace: its status names the finalizers that remain.",
		}
	case a.jobEvidence().NamespacesChecked:
		return probeResult{isRuledOut: true}
	}
	return probeResult{addFacts: func() {
		a.AddDoubt(
			SourceNamespaces,
			a.Now,
			"veltui has not checked whether a namespace that it restores into is being deleted",
		)
	}}
}

func (a *jobJudge) probeSnapshot() probeResult {
	s, ok := a.findAwaitedSnapshot()
	if !ok {
		return probeResult{isRuledOut: a.jobEvidence().SnapshotsUnchecked == ""}
	}
	return probeResult{
		isConfirmed: true,
		since:       s.Created,
		label:       "VolumeSnapshot " + s.Name,
		addFacts: func() {
			a.AddSupport(
				SourceSnapshots,
				s.Created,
				"VolumeSnapshot %s has no snapshot behind it yet%s",
				s.Name,
				causeClause(s.Error),
			)
		},
		summary: "; snapshot " + human.Shorten(
			s.Name,
			60,
		) + " not made for " + a.formatAge(
			s.Created,
		) + " of " + a.world.Style.Duration(
			velero.SnapshotTimeout(a.j.Object, a.world.Server.Flags),
		) + causeClause(
			s.Error,
		),
		advice: "Look at VolumeSnapshot " + s.Name + " and at its CSI driver if this goes on.",
	}
}

func (a *jobJudge) probeRepository() probeResult {
	r, ok := a.findPendingRepository()
	if !ok {
		return probeResult{isRuledOut: true}
	}
	return probeResult{isConfirmed: true, label: "repository " + r.Name + " to be made or connected",
		addFacts: func() { a.AddSupport(SourceWatch, r.LastChanged, "backup repository %s is not ready", r.Name) },
		summary:  ", quiet for " + a.quietText() + "; Velero prepares repository " + r.Name}
}

// probeRepositoryLock finds the holder of a repository's lock: a deletion shows it. Up to 1.15 maintenance holds the
// lock too, while its Job runs (pkg/repository/manager.go PruneRepo, 1.14.1 and 1.15.2), and nothing shows that.
func (a *jobJudge) probeRepositoryLock() probeResult {
	d, ok := a.findLockingDeletion()
	isConcerned := func(r RepositoryStatus) bool { return a.namespaceMatcher()(r.Namespace) }
	switch {
	case ok:
		return probeResult{
			isConfirmed: true,
			label:       "the lock of a repository that the deletion of " + d.Backup + " may hold",
			addFacts: func() {
				a.AddSupport(
					SourceWatch,
					d.Created,
					"deletion %s of backup %s is in progress and locks backup repositories",
					d.Name,
					d.Backup,
				)
			},
			summary: ", quiet for " + a.quietText() + "; the deletion of " + human.Shorten(
				d.Backup,
				30,
			) + " may hold the lock on a repository",
		}
	case a.effectiveVersion().LocksForMaintenance() && slices.ContainsFunc(a.world.Repositories, isConcerned):
		return probeResult{label: "the lock of a repository that its maintenance may hold"}
	}
	return probeResult{isRuledOut: true}
}

func (a *jobJudge) probePodVolumes() probeResult {
	j := a.j
	switch n := j.PodVolumes().ActiveCount(); {
	case n > 0:
		return probeResult{isConfirmed: true, label: human.Count(n, "pod volume"), reason: a.podVolumeReason(),
			addFacts: a.notePodVolumes,
			summary:  ", quiet for " + a.quietText() + "; hooks behind it wait for " + human.Count(n, "pod volume")}
	case a.world.Listed.OwnVolumes != FullyListed:
		return probeResult{label: "pod volumes, which were not seen"}
	case a.likelyStep() == velero.StepStoring && j.PodVolumes().Count > 0 && a.jobEvidence().StoredAt.IsZero():
		// Velero also waits for a deleted pod volume restore, invisibly (pkg/podvolume/restorer.go newRestorer,
		// RestorePodVolumes).
		return probeResult{label: "pod volumes whose resources were deleted"}
	}
	return probeResult{isRuledOut: true}
}

// podVolumeReason returns the reason of the first open pod volume that is not stuck.
func (a *jobJudge) podVolumeReason() Reason {
	c := NewVolumeContext(a.world, a.j)
	for i := range a.j.Volumes {
		if v := &a.j.Volumes[i]; v.Kind.IsPodVolume() && !v.HasEnded() {
			if verdict := c.judgeVolume(v); !verdict.Stuck && verdict.Reason != BytesMoving {
				return verdict.Reason
			}
			break
		}
	}
	return VolumeSilent
}

func (a *jobJudge) notePodVolumes() {
	noted := 0
	for i := range a.j.Volumes {
		v := &a.j.Volumes[i]
		if !v.Kind.IsPodVolume() || v.HasEnded() {
			continue
		}
		if noted++; noted <= 3 {
			a.AddSupport(
				SourceWatch,
				v.LastChanged,
				"%s %s is %s for %s",
				v.Kind,
				v.Target,
				cmp.Or(v.Phase, velero.VolumeNew),
				a.world.Style.Duration(v.QuietDuration(a.Now)),
			)
		}
	}
}

// probeCancelledVolumes covers issue 9464, which hangs where Velero waits for pod volumes: before a pod's post hooks,
// and after the last item.
func (a *jobJudge) probeCancelledVolumes() probeResult {
	if a.j.PodVolumes().ActiveCount() > 0 {
		return probeResult{isRuledOut: true}
	}
	for i := range a.j.Volumes {
		c := &a.j.Volumes[i]
		if c.Kind != velero.PodVolumeBackup || c.Phase != velero.VolumeCanceled {
			continue
		}
		v, known := velero.ParseVersion(a.world.Server.Version)
		note := func() {
			a.AddSupport(SourceWatch, c.LastChanged, "volume %s was cancelled", c.Target)
			if known {
				a.AddSupport(SourcePod, a.world.Server.SeenAt, "Velero %s has the bug of issue 9464", v)
			} else {
				a.AddDoubt(SourcePod, a.world.Server.SeenAt, "the server's version is not known")
			}
		}
		if !known || a.likelyStep() != velero.StepStoring {
			return probeResult{addFacts: note}
		}
		until := ""
		if limit := velero.PodVolumeTimeout(a.j.Object, a.world.Server.Flags); limit < velero.Unlimited {
			until = " until " + human.ClockTime(firstPodVolumeCreated(a.j).Add(limit), a.Now)
		}
		return probeResult{
			isConfirmed: true,
			addFacts:    note,
			action:      Restart,
			summary:     "; hangs on a cancelled volume" + until + " (Velero issue 9464)",
			advice: "Do not wait for the time-out: this version then loses the list of the volumes that did end. A " +
				"restart of the Velero server fails all that is in progress.",
		}
	}
	return probeResult{isRuledOut: true}
}

func (a *jobJudge) probeBackupRewriting() probeResult {
	if a.j.Operations.Attempted == 0 && a.j.DataMovements().Count == 0 {
		return probeResult{isRuledOut: true}
	}
	return probeResult{isConfirmed: true, addFacts: func() {
		a.AddSupport(
			SourceWatch,
			a.Now,
			"it has operations, so Velero reads its contents back, changes them and stores them anew, without a limit",
		)
	}, summary: "; Velero writes its contents anew, which takes as long as they are big"}
}

// countBindingRounds returns the number of rounds in which volumes are bound: three at a time, CSI snapshots and pod
// volumes alike.
func (a *jobJudge) countBindingRounds() int {
	return (max(1, a.j.VolumeCount(), a.backupVolumeCount()) + 2) / 3
}

func (a *jobJudge) probeBinding() probeResult {
	n := max(a.j.VolumeCount(), a.backupVolumeCount())
	return probeResult{
		rounds:          a.countBindingRounds(),
		roundsUncertain: !a.isVolumeCountKnown(),
		isConfirmed:     n > 0,
		summary:         "; Velero waits until " + human.Count(n, "volume") + " are bound, and for hooks",
		addFacts: func() {
			a.AddSupport(SourceWatch, a.Now, "%s to be bound, three at a time", human.Count(n, "volume"))
		},
	}
}

// isVolumeCountKnown reports whether the number of volumes that a restore binds is known: it needs the backup's and
// the restore's volumes.
func (a *jobJudge) isVolumeCountKnown() bool {
	_, known := a.world.BackupVolumeCounts[a.j.BackupName]
	return known && a.world.Listed.OwnVolumes == FullyListed
}

func (a *jobJudge) backupVolumeCount() int { return a.world.BackupVolumeCounts[a.j.BackupName] }

func (a *jobJudge) probeGroupSnapshots() probeResult {
	return probeResult{
		isRuledOut:      !a.world.GroupSnapshotBackups[a.j.BackupName],
		rounds:          max(1, a.backupVolumeCount()),
		roundsUncertain: !a.isVolumeCountKnown(),
		label:           "snapshots of volume groups",
	}
}

// probeRestoreHooks covers hooks, which are awaited once all volumes are bound. Reading the pods rules them out, or
// shows one.
func (a *jobJudge) probeRestoreHooks() probeResult {
	s := probeResult{
		rounds:          1 + a.countBindingRounds(),
		roundsUncertain: !a.isVolumeCountKnown(),
		label:           "hooks in restored pods",
		advice: "Look whether a hook still runs in one of the restored pods. A restart of the server ends the restore " +
			"with its hooks never run.",
	}
	open := a.openHooks()
	runs := slices.IndexFunc(open, func(h velero.RestoreHook) bool { return h.State == velero.HookRunning })
	switch {
	case !a.jobEvidence().HooksChecked && hasSpecHooks(a.j):
		s.addFacts = func() { a.AddSupport(SourceWatch, a.Now, "the restore asks for hooks") }
	case !a.jobEvidence().HooksChecked:
		s.addFacts = func() {
			a.AddDoubt(SourceWatch, a.Now, "veltui has not checked whether pods ask for hooks by annotation")
		}
	case len(open) == 0:
		s.isRuledOut = true
	case runs >= 0:
		h := open[runs]
		s.isConfirmed, s.label = true, "the hook of pod "+h.Pod
		s.addFacts = func() { a.AddSupport(SourcePod, a.Now, "the hook of pod %s runs in container %s", h.Pod, h.Container) }
		s.summary = "; the hook of pod " + human.Shorten(h.Pod, 60) + " runs"
	default:
		h := open[0]
		s.label = "hooks in " + human.Count(len(open), "restored container")
		s.addFacts = func() {
			a.AddSupport(
				SourcePod,
				h.Created,
				"pod %s asks for a hook, and its container %s is not up%s",
				h.Pod,
				h.Container,
				causeClause(h.BlockedReason),
			)
		}
	}
	return s
}

// openHooks returns the hooks that a restore may still wait for, as far as they were read.
func (a *jobJudge) openHooks() []velero.RestoreHook {
	return slices.DeleteFunc(
		slices.Clone(a.jobEvidence().RestoreHooks),
		func(h velero.RestoreHook) bool { return h.State == velero.HookEnded },
	)
}

// probeFinalizer covers the turn at the finalizer: one worker finalizes all jobs of a kind, the first one first.
func (a *jobJudge) probeFinalizer() probeResult {
	o := a.firstFinalizingJob()
	switch {
	case o == nil && a.world.Listed.Jobs != FullyListed:
		return probeResult{reason: Finalizing, label: "the finalizer, which may have another one in hand"}
	case o == nil:
		return probeResult{isRuledOut: true}
	}
	return probeResult{
		isConfirmed: true,
		label:       "the finalizer, which may have " + o.Name + " in hand",
		addFacts: func() {
			a.AddSupport(
				SourceWatch,
				o.QuietSince(),
				"%s is being finalized too, for %s; Velero does one at a time",
				o.Name,
				a.formatAge(o.QuietSince()),
			)
		},
		summary: ", maybe behind " + o.Name,
		advice:  "Look at " + o.Name + " first: one worker finalizes all jobs of a kind.",
	}
}

// defaultHookTimeout is the time-out of a hook that sets none (pkg/podexec/pod_command_executor.go, defaultTimeout).
const defaultHookTimeout = 30 * time.Second

// maxHookDuration limits the sum of the time-outs: a time-out of years says nothing.
const maxHookDuration = 1000 * time.Hour

// probeRunningHook finds a hook that the log shows and whose time is not over, else a hook of the spec. In how many
// pods the latter runs, and what annotations ask for, is unknown.
func (a *jobJudge) probeRunningHook() probeResult {
	h := a.jobEvidence().ServerLog.Hook
	ran, limit := a.logAge(h.At), cmp.Or(h.Timeout, defaultHookTimeout)
	if !h.At.IsZero() && ran <= limit+waitLimitMargin {
		which, where, whose := strings.TrimPrefix(
			h.Phase+"-hook",
			"-",
		), "container "+h.Container, "in container "+human.Shorten(
			h.Container,
			60,
		)
		if h.Pod != "" {
			where, whose = where+" of pod "+h.Pod, "of pod "+human.Shorten(h.Pod, 60)
		}
		return probeResult{
			isConfirmed: true,
			since:       h.At.Add(-a.world.ServerClockOffset),
			limit:       limit,
			label:       "the " + which + " in " + where,
			addFacts: func() {
				a.AddSupport(SourceLog, h.At, "the server runs the %s %s in %s", which, human.Shorten(h.Name, 60), where)
			},
			summary: fmt.Sprintf(
				"; %s %s runs for %s of %s",
				which,
				whose,
				a.world.Style.Duration(ran),
				a.world.Style.Duration(limit),
			),
		}
	}
	if hook := backupHookTimeout(a.j); hook > defaultHookTimeout && a.quietDuration() < hook+waitLimitMargin {
		return probeResult{isConfirmed: true, label: "the hooks of its spec",
			addFacts: func() {
				a.AddSupport(SourceWatch, a.Now, "its spec asks for a hook that may take %s", a.world.Style.Duration(hook))
			},
			summary: fmt.Sprintf(", quiet for %s; a hook may take %s", a.quietText(), a.world.Style.Duration(hook))}
	}
	return probeResult{addFacts: func() {
		a.AddDoubt(SourceWatch, a.Now, "veltui has not checked whether a pod asks for a hook by annotation")
	}}
}

// FindHungHook returns a hook that never runs and that a restore waits for without limit, nil if there is none or
// that is uncertain.
func FindHungHook(j *job.Job, env *World) *velero.RestoreHook {
	e := env.Evidence[j.UID]
	v, known := velero.ParseVersion(env.Server.Version)
	if !known || !e.HooksChecked || velero.IsUnreviewedVersion(env.Server.Version) {
		return nil
	}
	return velero.FindEndlessHook(e.RestoreHooks, v)
}

// judgeHungHook judges a restore that waits for such a hook.
func (a *jobJudge) judgeHungHook() (Verdict, bool) {
	h := FindHungHook(a.j, a.world)
	if h == nil {
		return Verdict{}, false
	}
	fact := a.AddSupport(
		SourcePod,
		a.Now,
		"pod %s asks for a hook in container %s, which never runs: %s",
		h.Pod,
		h.Container,
		h.BlockedReason,
	)
	advice := "Get pod " + h.Pod + " to start: its hook then runs, and all goes on. A restart of the server ends " +
		"the restore with its hooks never run."
	if !h.IsRepairable() {
		advice = "Only a restart of the server ends the wait, with the hooks that have not run never run."
	}
	return a.proveStuck(
		ProveRefused(fact),
		HookHung,
		advice,
		"finalizing for %s; waits without limit for the hook of pod %s, which never runs (%s)",
		a.quietText(),
		human.Shorten(h.Pod, 60),
		h.BlockedReason,
	), true
}

// backupHookTimeout returns how long the hooks of a backup's spec may take for one pod, zero for none. They run one
// after the other while the item count stands still (pkg/backup/backup.go, handleItemBlockPreHooks and
// handleItemBlockPostHooks; internal/hook/item_hook_handler.go, HandleHooks).
func backupHookTimeout(j *job.Job) time.Duration {
	b, ok := j.Object.(*veleroapi.Backup)
	if !ok {
		return 0
	}
	longest := time.Duration(0)
	for _, post := range []bool{false, true} {
		sum := time.Duration(0)
		for _, r := range b.Spec.Hooks.Resources {
			hooks := r.PreHooks
			if post {
				hooks = r.PostHooks
			}
			for _, h := range hooks {
				if h.Exec != nil && h.Exec.Timeout.Duration > 0 {
					sum = min(sum+h.Exec.Timeout.Duration, maxHookDuration)
				} else if h.Exec != nil {
					sum += defaultHookTimeout
				}
			}
		}
		longest = max(longest, sum)
	}
	return longest
}
