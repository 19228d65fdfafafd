package diagnosis

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/velero"
)

// QueuePosition returns a waiting job's place in its queue (1 is next, 0 unknown) and the reason why it waits; ok is
// false if it does not wait.
func QueuePosition(j *job.Job, env World) (position int, reason string, ok bool) {
	if !isWaitingForTurn(j) {
		return 0, "", false
	}
	return findQueuePosition(j, env)
}

// findQueuePosition is separate from [QueuePosition], which is called for every job: here the environment escapes to
// the heap.
func findQueuePosition(j *job.Job, env World) (position int, reason string, ok bool) {
	w := findTurn(j, &env)
	return w.position, w.reasonText, w.isWaiting
}

func isWaitingForTurn(j *job.Job) bool { return j.Stage == job.StageQueued && !j.Deleting }

// JobsInFront lists the jobs that a job waits for, directly or indirectly: the running jobs of a queue, or the job
// that is finalized before it. The verdict on the job depends on theirs.
func JobsInFront(j *job.Job, env World) []*job.Job {
	if w := findTurn(j, &env); len(w.blockers) > 0 {
		return w.blockers
	}
	if first := newJobJudge(j, &env).firstFinalizingJob(); first != nil && job.StageOf(j.Phase) == job.StageFinalizing {
		return []*job.Job{first}
	}
	return nil
}

type queueTurn struct {
	isWaiting  bool
	position   int
	reasonText string
	reason     Reason
	// blockers are the running jobs that it waits for, directly or indirectly.
	blockers []*job.Job
	canStart bool
}

func findTurn(j *job.Job, env *World) queueTurn {
	switch {
	case !isWaitingForTurn(j):
		return queueTurn{}
	case j.Kind == job.Restore:
		return findTurnAtWorker(j, env)
	case j.Phase == velero.PhaseQueued:
		return findTurnInQueue(j, env, &namespaceComparer{namespaces: env.Namespaces, budget: maxComparisons})
	case j.Phase == velero.PhaseReadyToStart:
		return queueTurn{isWaiting: true, reasonText: "ready to start", reason: Starting, canStart: true}
	}
	return findTurnBeforeQueue(j, env)
}

// findTurnInQueue applies the rule of Velero's queue (docs/dev/velero.md#queue): a queued backup starts if fewer than
// --concurrent-backups run, no running or earlier queued backup includes one of its namespaces, and no earlier queued
// backup could start instead.
func findTurnInQueue(j *job.Job, env *World, c *namespaceComparer) queueTurn {
	running, earlier := findJobsAhead(j, env)
	w := queueTurn{isWaiting: true, position: max(j.QueuePosition, 0)}
	waits := func(why Reason, behind []*job.Job, format string, args ...any) queueTurn {
		w.reason, w.blockers, w.reasonText = why, behind, fmt.Sprintf("waits for "+format, args...)
		return w
	}
	for _, r := range running {
		// Nothing ends a job that the server has forgotten, so this comes before everything that passes by itself.
		if o := c.findOverlap(j, r); o.Exists && isDisowned(r, env) {
			return waits(QueueBlocked, []*job.Job{r}, "%s, which Velero has forgotten: %s", r.Name, overlapText(o))
		}
	}
	limit := env.Server.Flags.ConcurrentBackups
	if busy := countedByServer(running, env); limit > 0 && len(busy) >= limit {
		w = waits(ConcurrencyLimit, busy, "%s: %s", human.JoinNames(jobNames(busy), 2), limitText(limit))
		if i := slices.IndexFunc(busy, (*job.Job).IsTerminal); i >= 0 {
			w.reason = QueuedBehind
			w.reasonText += overriddenText(busy[i])
		}
		for _, r := range running {
			if o := c.findOverlap(j, r); o.Exists {
				w.reasonText += "; " + overlapText(o)
				if len(running) > 1 {
					w.reasonText += " (with " + r.Name + ")"
				}
				break
			}
		}
		return w
	}
	for _, r := range running {
		if o := c.findOverlap(j, r); o.Exists {
			return waits(NamespaceOverlap, []*job.Job{r}, "%s: %s", r.Name, overlapText(o))
		}
	}
	for _, e := range earlier {
		if o := c.findOverlap(j, e); o.Exists {
			return waits(
				QueuedBehind,
				findTurnInQueue(e, env, c).blockers,
				"%s, queued before it: %s",
				e.Name,
				overlapText(o),
			)
		}
	}
	for i, e := range earlier {
		free := c.canRun(e, running, earlier[:i])
		if c.budget == 0 {
			return waits(
				QueuedBehind,
				nil,
				"its turn; %d backups run and %d are queued before it, too many to compare with",
				len(running),
				len(earlier),
			)
		}
		if free {
			return waits(QueuedBehind, nil, "%s, queued before it and free to start", e.Name)
		}
	}
	if c.budget == 0 {
		return waits(QueuedBehind, nil, "its turn; %d backups run, too many to compare with", len(running))
	}
	if limit <= 0 && len(running) > 0 {
		return waits(
			ConcurrencyLimit,
			running,
			"its turn; %s, and how many may run at once is not known",
			runningText(running),
		)
	}
	w.canStart, w.reason, w.reasonText = true, NotPickedUp, "free to start; Velero looks at its queue every minute"
	return w
}

// countedByServer returns the running backups that the server counts: not those from before its start
// (docs/dev/velero.md#queue) or given up, which still block others.
func countedByServer(running []*job.Job, env *World) []*job.Job {
	return slices.DeleteFunc(
		slices.Clone(running),
		func(r *job.Job) bool { return isDisowned(r, env) || IsReleasedByWorker(r, *env) },
	)
}

// IsReleasedByWorker reports whether the server's worker no longer holds a job in progress: it has returned from it
// (backup_controller.go Reconcile calls AddPostProcessing or Delete after its last attempt too; restore_controller.go
// Reconcile returns).
func IsReleasedByWorker(j *job.Job, env World) bool {
	if j.Phase != velero.PhaseInProgress || !env.Server.Visible || !env.Server.Running {
		return false
	}
	if HasServerGivenUpAtRest(j, &env) {
		return true
	}
	v := Judge(j, env)
	return !v.Proof.IsZero() && (v.Reason == LostPatch || v.Reason == ServerRestarted)
}

func overriddenText(j *job.Job) string {
	return fmt.Sprintf("; somebody set %s to %s while Velero works on it", j.Name, j.Phase)
}

func limitText(limit int) string {
	if limit == 1 {
		return "one backup at a time (--concurrent-backups=1)"
	}
	return fmt.Sprintf("%d backups at a time (--concurrent-backups=%d)", limit, limit)
}

func runningText(jobs []*job.Job) string {
	if len(jobs) == 1 {
		return jobs[0].Name + " runs"
	}
	return human.JoinNames(jobNames(jobs), 2) + " run"
}

// maxComparisons limits the pairs compared for one verdict: a healthy queue has a few dozen backups.
const maxComparisons = 300

// namespaceComparer compares the namespaces of backups, a limited number of times.
type namespaceComparer struct {
	namespaces []string // the cluster's namespaces, nil if unknown
	budget     int
}

// findOverlap returns the namespaces that two backups both include, none once the budget is 0.
func (c *namespaceComparer) findOverlap(a, b *job.Job) velero.Overlap {
	if c.budget == 0 {
		return velero.Overlap{}
	}
	c.budget--
	return velero.NamespaceFilterOf(a.Object).FindOverlap(velero.NamespaceFilterOf(b.Object), c.namespaces)
}

// canRun reports whether nothing ahead of a queued backup includes its namespaces.
func (c *namespaceComparer) canRun(j *job.Job, running, earlier []*job.Job) bool {
	conflicts := func(other *job.Job) bool { return c.findOverlap(j, other).Exists }
	return !slices.ContainsFunc(running, conflicts) && !slices.ContainsFunc(earlier, conflicts)
}

func findJobsAhead(j *job.Job, env *World) (running, earlier []*job.Job) {
	for _, o := range slices.Concat(env.Jobs, env.OverriddenJobs) {
		if o.UID == j.UID || o.Kind != job.Backup || o.Namespace != j.Namespace {
			continue
		}
		switch {
		case o.IsStillRunning(env.Now), o.Phase == velero.PhaseInProgress, o.Phase == velero.PhaseReadyToStart:
			running = append(running, o)
		case o.Phase == velero.PhaseQueued && o.QueuePosition < j.QueuePosition:
			earlier = append(earlier, o)
		}
	}
	slices.SortFunc(running, compareAge)
	slices.SortFunc(earlier, func(a, b *job.Job) int {
		return cmp.Or(cmp.Compare(a.QueuePosition, b.QueuePosition), compareAge(a, b))
	})
	return running, earlier
}

func compareAge(a, b *job.Job) int {
	return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.Name, b.Name))
}

func jobNames(jobs []*job.Job) []string {
	out := make([]string, len(jobs))
	for i, o := range jobs {
		out[i] = o.Name
	}
	return out
}

// findTurnBeforeQueue returns the turn of a new backup: Velero queues it at once, or up to 1.17 runs one at a time.
func findTurnBeforeQueue(j *job.Job, env *World) queueTurn {
	running, _ := findJobsAhead(j, env)
	version, known := velero.ParseVersion(env.Server.Version)
	if !known && env.Server.Visible && len(running) > 0 {
		return queueTurn{
			isWaiting: true,
			blockers:  running,
			reason:    VersionUnknown,
			reasonText: fmt.Sprintf(
				"%s; up to v1.17 Velero runs one backup at a time, and its version is not known",
				runningText(running),
			),
		}
	}
	if known && !version.QueuesBackups() && len(running) > 0 {
		return queueTurn{isWaiting: true, blockers: running, reason: ConcurrencyLimit,
			reasonText: fmt.Sprintf(
				"waits for %s: this Velero runs one backup at a time",
				human.JoinNames(jobNames(running), 2),
			)}
	}
	return queueTurn{isWaiting: true, canStart: true, reason: NotPickedUp, reasonText: "not yet taken up by Velero"}
}

// findTurnAtWorker returns the turn of a restore: one worker runs all restores (docs/dev/velero.md#restore-worker),
// now the one that began last.
func findTurnAtWorker(j *job.Job, env *World) queueTurn {
	w := queueTurn{isWaiting: true, position: 1}
	tied := false
	var holder *job.Job
	for _, o := range slices.Concat(env.Jobs, env.OverriddenJobs) {
		if o.UID == j.UID || o.Kind != job.Restore || o.Namespace != j.Namespace {
			continue
		}
		switch {
		case o.Phase == velero.PhaseInProgress || o.IsStillRunning(env.Now):
			if holder == nil || cmp.Or(o.Started.Compare(holder.Started), compareAge(o, holder)) > 0 {
				holder = o
			}
		case o.Stage == job.StageQueued && o.Created.Equal(j.Created):
			tied = true
		case o.Stage == job.StageQueued && o.Created.Before(j.Created):
			w.position++
		}
	}
	if tied {
		// Creation times have whole seconds: which job comes first is unknown.
		w.position = 0
	}
	if holder == nil || IsReleasedByWorker(holder, *env) {
		w.canStart, w.reason, w.reasonText = true, NotPickedUp, "not yet taken up by Velero"
		return w
	}
	w.blockers, w.reason = []*job.Job{holder}, RestoreWorkerBusy
	w.reasonText = fmt.Sprintf("waits for %s: Velero runs one restore at a time", holder.Name)
	if holder.IsTerminal() {
		w.reasonText += overriddenText(holder)
	}
	return w
}

func overlapText(o velero.Overlap) string {
	may := ""
	if !o.Certain {
		may = "may "
	}
	switch {
	case len(o.Names) == 0:
		return "both " + may + "take all namespaces"
	case !o.Certain:
		return "both may take namespaces like " + human.JoinNames(o.Names, 2)
	case len(o.Names) == 1:
		return "both take namespace " + o.Names[0]
	}
	return "both take namespaces " + human.JoinNames(o.Names, 3)
}
