package diagnosis

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"

	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/velero"
)

// sighting is the reason for a wait, and what the evidence shows of it. Without see, nothing shows it or rules it out.
type sighting struct {
	reason Reason
	see    func(*assessment) sight
}

func sightings() map[velero.WaitName]sighting {
	return map[velero.WaitName]sighting{
		velero.WaitQueue:  {see: (*assessment).seeTurn},
		velero.WaitWorker: {see: (*assessment).seeTurn},
		velero.WaitListing: {
			reason: CollectingItems,
		},
		velero.WaitDownload:     {reason: CollectingItems},
		velero.WaitItemAction:   {reason: SlowItem},
		velero.WaitCRD:          {reason: SlowItem},
		velero.WaitItems:        {reason: SlowItem},
		velero.WaitCacheSync:    {KindNotListed, (*assessment).seeCacheSync},
		velero.WaitNamespace:    {NamespaceTerminating, (*assessment).seeNamespace},
		velero.WaitHook:         {RunningHook, (*assessment).seeHook},
		velero.WaitSnapshot:     {WaitingForSnapshot, (*assessment).seeSnapshot},
		velero.WaitRepository:   {PreparingRepository, (*assessment).seeRepository},
		velero.WaitLock:         {RepositoryLocked, (*assessment).seeLock},
		velero.WaitPodVolumes:   {VolumeSilent, (*assessment).seePodVolumes},
		velero.WaitCancelled:    {CancelledVolumeHang, (*assessment).seeCancelled},
		velero.WaitStoring:      {reason: UploadingArtifacts},
		velero.WaitLastPatch:    {reason: UploadingArtifacts},
		velero.WaitOperations:   {reason: WaitingForOperations},
		velero.WaitFinalizer:    {FinalizingBehind, (*assessment).seeFinalizer},
		velero.WaitRewriting:    {Finalizing, (*assessment).seeRewriting},
		velero.WaitBinding:      {Finalizing, (*assessment).seeBinding},
		velero.WaitGroups:       {Finalizing, (*assessment).seeGroups},
		velero.WaitRestoreHooks: {RunningHook, (*assessment).seeRestoreHooks},
		velero.WaitStore:        {reason: Finalizing},
		velero.WaitDeletion:     {Deleting, (*assessment).seeDeletion},
	}
}

func (a *assessment) seeDeletion() sight {
	d, ok := a.newestDeletion()
	return sight{out: !ok || d.Phase == velero.DeletionProcessed, shown: true}
}

func (a *assessment) seeTurn() sight {
	w := turnOf(a.j, a.env)
	return sight{out: !w.ok || w.free, shown: true, reason: w.why, what: "its turn: it " + w.reason}
}

func (a *assessment) seeCacheSync() sight {
	// Without a log it is one of the slow beginnings; with one, its last line.
	log := a.evidence().Log
	if !log.AwaitsCaches() {
		return sight{out: true}
	}
	return sight{shown: true, what: "the API server to list every kind of the backup",
		note:    func() { a.Supports(SourceLog, log.Last.At, "%s", LoggedText(log.Last)) },
		summary: ", quiet for " + a.quietWords() + "; waits until the API server lists every kind of the backup"}
}

func (a *assessment) seeNamespace() sight {
	names := a.evidence().Terminating
	switch {
	case len(names) > 0:
		return sight{
			shown:   true,
			what:    "namespace " + human.List(names, 3) + " to be gone",
			note:    func() { a.Supports(SourceNamespaces, a.Now, "namespace %s is being deleted", human.List(names, 3)) },
			summary: ", quiet for " + a.quietWords() + "; waits until namespace " + human.List(names, 1) + " is gone",
			advice:  "Look what keeps the namespace: its status names the finalizers that remain.",
		}
	case a.evidence().NamespacesSeen:
		return sight{out: true}
	}
	return sight{note: func() {
		a.Doubts(
			SourceNamespaces,
			a.Now,
			"veltui has not checked whether a namespace that it restores into is being deleted",
		)
	}}
}

func (a *assessment) seeSnapshot() sight {
	s, ok := a.awaitedSnapshot()
	if !ok {
		return sight{out: a.evidence().SnapshotsWhy == ""}
	}
	return sight{
		shown: true,
		since: s.Created,
		what:  "VolumeSnapshot " + s.Name,
		note: func() {
			a.Supports(
				SourceSnapshots,
				s.Created,
				"VolumeSnapshot %s has no snapshot behind it yet%s",
				s.Name,
				because(s.Error),
			)
		},
		summary: "; snapshot " + human.Shorten(
			s.Name,
			60,
		) + " not made for " + a.ago(
			s.Created,
		) + " of " + a.env.Style.Duration(
			velero.SnapshotTimeout(a.j.Object, a.env.Server.Flags),
		) + because(
			s.Error,
		),
		advice: "Look at VolumeSnapshot " + s.Name + " and at its CSI driver if this goes on.",
	}
}

func (a *assessment) seeRepository() sight {
	r, ok := a.preparedRepository()
	if !ok {
		return sight{out: true}
	}
	return sight{shown: true, what: "repository " + r.Name + " to be made or connected",
		note:    func() { a.Supports(SourceWatch, r.Changed, "backup repository %s is not ready", r.Name) },
		summary: ", quiet for " + a.quietWords() + "; Velero prepares repository " + r.Name}
}

// seeLock: a deletion shows the holder. Up to 1.15 maintenance holds the lock too, while its Job runs
// (pkg/repository/manager.go PruneRepo, 1.14.1 and 1.15.2), and nothing shows it.
func (a *assessment) seeLock() sight {
	d, ok := a.lockingDeletion()
	isConcerned := func(r Repository) bool { return a.namespaces()(r.Namespace) }
	switch {
	case ok:
		return sight{
			shown: true,
			what:  "the lock of a repository that the deletion of " + d.Backup + " may hold",
			note: func() {
				a.Supports(
					SourceWatch,
					d.Created,
					"deletion %s of backup %s is in progress and locks backup repositories",
					d.Name,
					d.Backup,
				)
			},
			summary: ", quiet for " + a.quietWords() + "; the deletion of " + human.Shorten(
				d.Backup,
				30,
			) + " may hold the lock on a repository",
		}
	case a.version().LocksForMaintenance() && slices.ContainsFunc(a.env.Repositories, isConcerned):
		return sight{what: "the lock of a repository that its maintenance may hold"}
	}
	return sight{out: true}
}

func (a *assessment) seePodVolumes() sight {
	j := a.j
	switch n := j.PodVolumes().Active(); {
	case n > 0:
		return sight{shown: true, what: human.Count(n, "pod volume"), reason: a.podVolumeReason(),
			note:    a.notePodVolumes,
			summary: ", quiet for " + a.quietWords() + "; hooks behind it wait for " + human.Count(n, "pod volume")}
	case a.env.Listed.OwnVolumes != Whole:
		return sight{what: "pod volumes, which were not seen"}
	case a.step() == velero.StepStoring && j.PodVolumes().Count > 0 && a.evidence().Stored.IsZero():
		// A deleted pod volume restore is waited for unseen (pkg/podvolume/restorer.go newRestorer, RestorePodVolumes).
		return sight{what: "pod volumes whose resources were deleted"}
	}
	return sight{out: true}
}

// podVolumeReason is that of the first open pod volume that is not stuck.
func (a *assessment) podVolumeReason() Reason {
	c := NewVolumeContext(a.env, a.j)
	for i := range a.j.Volumes {
		if v := &a.j.Volumes[i]; v.Kind.IsPodVolume() && !v.Ended() {
			if verdict := c.verdict(v); !verdict.Stuck && verdict.Reason != BytesMoving {
				return verdict.Reason
			}
			break
		}
	}
	return VolumeSilent
}

func (a *assessment) notePodVolumes() {
	noted := 0
	for i := range a.j.Volumes {
		v := &a.j.Volumes[i]
		if !v.Kind.IsPodVolume() || v.Ended() {
			continue
		}
		if noted++; noted <= 3 {
			a.Supports(
				SourceWatch,
				v.Changed,
				"%s %s is %s for %s",
				v.Kind,
				v.Target,
				cmp.Or(v.Phase, velero.VolumeNew),
				a.env.Style.Duration(v.Quiet(a.Now)),
			)
		}
	}
}

// seeCancelled: issue 9464 hangs where Velero waits for pod volumes: before a pod's post hooks, and after the
// last item.
func (a *assessment) seeCancelled() sight {
	if a.j.PodVolumes().Active() > 0 {
		return sight{out: true}
	}
	for i := range a.j.Volumes {
		c := &a.j.Volumes[i]
		if c.Kind != velero.PodVolumeBackup || c.Phase != velero.VolumeCanceled {
			continue
		}
		v, known := velero.ParseVersion(a.env.Server.Version)
		note := func() {
			a.Supports(SourceWatch, c.Changed, "volume %s was cancelled", c.Target)
			if known {
				a.Supports(SourcePod, a.env.Server.SeenAt, "Velero %s has the bug of issue 9464", v)
			} else {
				a.Doubts(SourcePod, a.env.Server.SeenAt, "the server's version is not known")
			}
		}
		if !known || a.step() != velero.StepStoring {
			return sight{note: note}
		}
		until := ""
		if limit := velero.PodVolumeTimeout(a.j.Object, a.env.Server.Flags); limit < velero.Endless {
			until = " until " + human.Clock(firstPodVolume(a.j).Add(limit), a.Now)
		}
		return sight{
			shown:   true,
			note:    note,
			action:  Restart,
			summary: "; hangs on a cancelled volume" + until + " (Velero issue 9464)",
			advice: "Do not wait for the time-out: this version then loses the list of the volumes that did end. A " +
				"restart of the Velero server fails all that is in progress.",
		}
	}
	return sight{out: true}
}

func (a *assessment) seeRewriting() sight {
	if a.j.Operations.Attempted == 0 && a.j.DataMovements().Count == 0 {
		return sight{out: true}
	}
	return sight{shown: true, note: func() {
		a.Supports(
			SourceWatch,
			a.Now,
			"it has operations, so Velero reads its contents back, changes them and stores them anew, without a limit",
		)
	}, summary: "; Velero writes its contents anew, which takes as long as they are big"}
}

// bindingRounds: three volumes are bound at a time, CSI snapshots and pod volumes alike.
func (a *assessment) bindingRounds() int {
	return (max(1, a.j.VolumeCount(), a.backupVolumes()) + 2) / 3
}

func (a *assessment) seeBinding() sight {
	n := max(a.j.VolumeCount(), a.backupVolumes())
	return sight{
		rounds:  a.bindingRounds(),
		unsure:  !a.volumesCounted(),
		shown:   n > 0,
		summary: "; Velero waits until " + human.Count(n, "volume") + " are bound, and for hooks",
		note:    func() { a.Supports(SourceWatch, a.Now, "%s to be bound, three at a time", human.Count(n, "volume")) },
	}
}

// volumesCounted: how many volumes a restore binds is known only with its backup and its own volumes.
func (a *assessment) volumesCounted() bool {
	_, known := a.env.BackupVolumes[a.j.BackupName]
	return known && a.env.Listed.OwnVolumes == Whole
}

func (a *assessment) backupVolumes() int { return a.env.BackupVolumes[a.j.BackupName] }

func (a *assessment) seeGroups() sight {
	return sight{
		out:    !a.env.BackupGroups[a.j.BackupName],
		rounds: max(1, a.backupVolumes()),
		unsure: !a.volumesCounted(),
		what:   "snapshots of volume groups",
	}
}

// seeRestoreHooks: they are waited for when all volumes are bound. A look at the pods rules them out, or shows one.
func (a *assessment) seeRestoreHooks() sight {
	s := sight{
		rounds: 1 + a.bindingRounds(),
		unsure: !a.volumesCounted(),
		what:   "hooks in restored pods",
		advice: "Look whether a hook still runs in one of the restored pods. A restart of the server ends the restore " +
			"with its hooks never run.",
	}
	open := a.openHooks()
	runs := slices.IndexFunc(open, func(h velero.RestoreHook) bool { return h.State == velero.HookRuns })
	switch {
	case !a.evidence().HooksSeen && hasHooks(a.j):
		s.note = func() { a.Supports(SourceWatch, a.Now, "the restore asks for hooks") }
	case !a.evidence().HooksSeen:
		s.note = func() {
			a.Doubts(SourceWatch, a.Now, "veltui has not checked whether pods ask for hooks by annotation")
		}
	case len(open) == 0:
		s.out = true
	case runs >= 0:
		h := open[runs]
		s.shown, s.what = true, "the hook of pod "+h.Pod
		s.note = func() { a.Supports(SourcePod, a.Now, "the hook of pod %s runs in container %s", h.Pod, h.Container) }
		s.summary = "; the hook of pod " + human.Shorten(h.Pod, 60) + " runs"
	default:
		h := open[0]
		s.what = "hooks in " + human.Count(len(open), "restored container")
		s.note = func() {
			a.Supports(
				SourcePod,
				h.Created,
				"pod %s asks for a hook, and its container %s is not up%s",
				h.Pod,
				h.Container,
				because(h.Blocked),
			)
		}
	}
	return s
}

// openHooks are the hooks that a restore may still wait for, as far as they were seen.
func (a *assessment) openHooks() []velero.RestoreHook {
	return slices.DeleteFunc(
		slices.Clone(a.evidence().Hooks),
		func(h velero.RestoreHook) bool { return h.State == velero.HookOver },
	)
}

// seeFinalizer: one worker finalizes all jobs of a kind, the first one first.
func (a *assessment) seeFinalizer() sight {
	o := a.finalizesFirst()
	switch {
	case o == nil && a.env.Listed.Jobs != Whole:
		return sight{reason: Finalizing, what: "the finalizer, which may have another one in hand"}
	case o == nil:
		return sight{out: true}
	}
	return sight{
		shown: true,
		what:  "the finalizer, which may have " + o.Name + " in hand",
		note: func() {
			a.Supports(
				SourceWatch,
				o.QuietSince(),
				"%s is being finalized too, for %s; Velero does one at a time",
				o.Name,
				a.ago(o.QuietSince()),
			)
		},
		summary: ", maybe behind " + o.Name,
		advice:  "Look at " + o.Name + " first: one worker finalizes all jobs of a kind.",
	}
}

// defaultHookTimeout is what a hook gets that names none (pkg/podexec/pod_command_executor.go, defaultTimeout).
const defaultHookTimeout = 30 * time.Second

// longestHooks bounds what is added up: a time-out of years says nothing.
const longestHooks = 1000 * time.Hour

// seeHook: a hook that the log shows within its time, else one of the spec. In how many pods that runs,
// and what annotations ask for, is not known.
func (a *assessment) seeHook() sight {
	h := a.evidence().Log.Hook
	ran, limit := a.loggedAgo(h.At), cmp.Or(h.Timeout, defaultHookTimeout)
	if !h.At.IsZero() && ran <= limit+waitMargin {
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
		return sight{
			shown: true,
			since: h.At.Add(-a.env.ServerAhead),
			limit: limit,
			what:  "the " + which + " in " + where,
			note: func() {
				a.Supports(SourceLog, h.At, "the server runs the %s %s in %s", which, human.Shorten(h.Name, 60), where)
			},
			summary: fmt.Sprintf(
				"; %s %s runs for %s of %s",
				which,
				whose,
				a.env.Style.Duration(ran),
				a.env.Style.Duration(limit),
			),
		}
	}
	if hook := backupHookTimeout(a.j); hook > defaultHookTimeout && a.quiet() < hook+waitMargin {
		return sight{shown: true, what: "the hooks of its spec",
			note: func() {
				a.Supports(SourceWatch, a.Now, "its spec asks for a hook that may take %s", a.env.Style.Duration(hook))
			},
			summary: fmt.Sprintf(", quiet for %s; a hook may take %s", a.quietWords(), a.env.Style.Duration(hook))}
	}
	return sight{note: func() {
		a.Doubts(SourceWatch, a.Now, "veltui has not checked whether a pod asks for a hook by annotation")
	}}
}

// HungHook is a hook that a restore waits for without limit and that never runs, nil if there is none, or if that is
// not certain.
func HungHook(j *job.Job, env *Environment) *velero.RestoreHook {
	e := env.Evidence[j.UID]
	v, known := velero.ParseVersion(env.Server.Version)
	if !known || !e.HooksSeen || velero.IsUnread(env.Server.Version) {
		return nil
	}
	return velero.WaitsForEver(e.Hooks, v)
}

// hungHook is the verdict on a restore that waits for such a hook.
func (a *assessment) hungHook() (Verdict, bool) {
	h := HungHook(a.j, a.env)
	if h == nil {
		return Verdict{}, false
	}
	fact := a.Supports(
		SourcePod,
		a.Now,
		"pod %s asks for a hook in container %s, which never runs: %s",
		h.Pod,
		h.Container,
		h.Blocked,
	)
	advice := "Get pod " + h.Pod + " to start: its hook then runs, and all goes on. A restart of the server ends " +
		"the restore with its hooks never run."
	if !h.Repairable() {
		advice = "Only a restart of the server ends the wait, with the hooks that have not run never run."
	}
	return a.stuck(
		ByRefusal(fact),
		HookHung,
		advice,
		"finalizing for %s; waits without limit for the hook of pod %s, which never runs (%s)",
		a.quietWords(),
		human.Shorten(h.Pod, 60),
		h.Blocked,
	), true
}

// backupHookTimeout is how long the hooks of a backup's spec may take for one pod, zero for none. They
// run one after the other, and the count stands still (pkg/backup/backup.go, handleItemBlockPreHooks and
// handleItemBlockPostHooks; internal/hook/item_hook_handler.go, HandleHooks).
func backupHookTimeout(j *job.Job) time.Duration {
	b, ok := j.Object.(*velerov1.Backup)
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
					sum = min(sum+h.Exec.Timeout.Duration, longestHooks)
				} else if h.Exec != nil {
					sum += defaultHookTimeout
				}
			}
		}
		longest = max(longest, sum)
	}
	return longest
}
