package diagnosis

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/velero"
)

// Queue says why a job waits for its turn: its place (1 is next, 0 unknown) and the reason; ok is false if it does not.
func Queue(j *job.Job, env Environment) (position int, reason string, ok bool) {
	if !waitsForTurn(j) {
		return 0, "", false
	}
	return queuePlace(j, env)
}

// queuePlace is apart from [Queue], which is asked of every job: here the environment goes to the heap.
func queuePlace(j *job.Job, env Environment) (position int, reason string, ok bool) {
	w := turnOf(j, &env)
	return w.position, w.reason, w.ok
}

func waitsForTurn(j *job.Job) bool { return j.Stage == job.StageQueued && !j.Deleting }

// InFront lists the jobs that a job waits for, at first or second hand: the running ones of a queue, or the one that is
// finalized before it. What is said of the job depends on how these fare.
func InFront(j *job.Job, env Environment) []*job.Job {
	if w := turnOf(j, &env); len(w.behind) > 0 {
		return w.behind
	}
	if first := newAssessment(j, &env).finalizesFirst(); first != nil && job.StageOf(j.Phase) == job.StageFinalizing {
		return []*job.Job{first}
	}
	return nil
}

type turn struct {
	ok       bool
	position int
	reason   string
	why      Reason
	// behind are the running jobs that it waits for, at first or second hand.
	behind []*job.Job
	free   bool
}

func turnOf(j *job.Job, env *Environment) turn {
	switch {
	case !waitsForTurn(j):
		return turn{}
	case j.Kind == job.Restore:
		return waitForWorker(j, env)
	case j.Phase == velero.PhaseQueued:
		return waitInQueue(j, env, &comparing{known: env.Namespaces, left: maxComparisons})
	case j.Phase == velero.PhaseReadyToStart:
		return turn{ok: true, reason: "ready to start", why: Starting, free: true}
	}
	return waitForQueue(j, env)
}

// waitInQueue applies the rule of Velero's queue (docs/dev/velero.md#queue): a queued backup starts
// if fewer than --concurrent-backups run, none of the running or of those queued before it takes a
// namespace of its own, and none queued before it could start instead.
func waitInQueue(j *job.Job, env *Environment, c *comparing) turn {
	running, earlier := ahead(j, env)
	w := turn{ok: true, position: max(j.QueuePosition, 0)}
	waits := func(why Reason, behind []*job.Job, format string, args ...any) turn {
		w.why, w.behind, w.reason = why, behind, fmt.Sprintf("waits for "+format, args...)
		return w
	}
	for _, r := range running {
		// Nothing ends what the server has forgotten, so this comes before all that passes by itself.
		if o := c.overlap(j, r); o.Any && forgotten(r, env) {
			return waits(QueueBlocked, []*job.Job{r}, "%s, which Velero has forgotten: %s", r.Name, overlapText(o))
		}
	}
	limit := env.Server.Flags.ConcurrentBackups
	if busy := remembered(running, env); limit > 0 && len(busy) >= limit {
		w = waits(ConcurrencyLimit, busy, "%s: %s", human.List(names(busy), 2), limitWords(limit))
		if i := slices.IndexFunc(busy, (*job.Job).Terminal); i >= 0 {
			w.why = QueuedBehind
			w.reason += overriddenText(busy[i])
		}
		for _, r := range running {
			if o := c.overlap(j, r); o.Any {
				w.reason += "; " + overlapText(o)
				if len(running) > 1 {
					w.reason += " (with " + r.Name + ")"
				}
				break
			}
		}
		return w
	}
	for _, r := range running {
		if o := c.overlap(j, r); o.Any {
			return waits(NamespaceOverlap, []*job.Job{r}, "%s: %s", r.Name, overlapText(o))
		}
	}
	for _, e := range earlier {
		if o := c.overlap(j, e); o.Any {
			return waits(
				QueuedBehind,
				waitInQueue(e, env, c).behind,
				"%s, queued before it: %s",
				e.Name,
				overlapText(o),
			)
		}
	}
	for i, e := range earlier {
		free := c.runnable(e, running, earlier[:i])
		if c.left == 0 {
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
	if c.left == 0 {
		return waits(QueuedBehind, nil, "its turn; %d backups run, too many to compare with", len(running))
	}
	if limit <= 0 && len(running) > 0 {
		return waits(
			ConcurrencyLimit,
			running,
			"its turn; %s, and how many may run at once is not known",
			runs(running),
		)
	}
	w.free, w.why, w.reason = true, NotPickedUp, "free to start; Velero looks at its queue every minute"
	return w
}

// remembered are the running backups that the server counts: not those from before its start
// (docs/dev/velero.md#queue) or given up, which still keep others back.
func remembered(running []*job.Job, env *Environment) []*job.Job {
	return slices.DeleteFunc(
		slices.Clone(running),
		func(r *job.Job) bool { return forgotten(r, env) || Released(r, *env) },
	)
}

// Released: the worker has returned from a job in progress (backup_controller.go Reconcile calls
// AddPostProcessing or Delete after its last attempt too; restore_controller.go Reconcile returns).
func Released(j *job.Job, env Environment) bool {
	if j.Phase != velero.PhaseInProgress || !env.Server.Visible || !env.Server.Running {
		return false
	}
	if GaveUpAtRest(j, &env) {
		return true
	}
	v := Judge(j, env)
	return !v.Proof.IsZero() && (v.Reason == LostPatch || v.Reason == ServerRestarted)
}

func overriddenText(j *job.Job) string {
	return fmt.Sprintf("; somebody set %s to %s while Velero works on it", j.Name, j.Phase)
}

func limitWords(limit int) string {
	if limit == 1 {
		return "one backup at a time (--concurrent-backups=1)"
	}
	return fmt.Sprintf("%d backups at a time (--concurrent-backups=%d)", limit, limit)
}

func runs(jobs []*job.Job) string {
	if len(jobs) == 1 {
		return jobs[0].Name + " runs"
	}
	return human.List(names(jobs), 2) + " run"
}

// maxComparisons bounds the pairs compared for one verdict: a healthy queue is a few dozen long.
const maxComparisons = 300

// comparing compares the namespaces of backups, a bounded number of times.
type comparing struct {
	known []string // the cluster's namespaces, nil if they are not known
	left  int
}

// overlap is what two backups both take. When left is 0 it is nothing.
func (c *comparing) overlap(a, b *job.Job) velero.Overlap {
	if c.left == 0 {
		return velero.Overlap{}
	}
	c.left--
	return velero.NamespacesOf(a.Object).Overlap(velero.NamespacesOf(b.Object), c.known)
}

// runnable reports whether nothing ahead of a queued backup takes its namespaces.
func (c *comparing) runnable(j *job.Job, running, earlier []*job.Job) bool {
	conflicts := func(other *job.Job) bool { return c.overlap(j, other).Any }
	return !slices.ContainsFunc(running, conflicts) && !slices.ContainsFunc(earlier, conflicts)
}

func ahead(j *job.Job, env *Environment) (running, earlier []*job.Job) {
	for _, o := range slices.Concat(env.Jobs, env.Overridden) {
		if o.UID == j.UID || o.Kind != job.Backup || o.Namespace != j.Namespace {
			continue
		}
		switch {
		case o.RunsOn(env.Now), o.Phase == velero.PhaseInProgress, o.Phase == velero.PhaseReadyToStart:
			running = append(running, o)
		case o.Phase == velero.PhaseQueued && o.QueuePosition < j.QueuePosition:
			earlier = append(earlier, o)
		}
	}
	slices.SortFunc(running, byAge)
	slices.SortFunc(earlier, func(a, b *job.Job) int {
		return cmp.Or(cmp.Compare(a.QueuePosition, b.QueuePosition), byAge(a, b))
	})
	return running, earlier
}

func byAge(a, b *job.Job) int {
	return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.Name, b.Name))
}

func names(jobs []*job.Job) []string {
	out := make([]string, len(jobs))
	for i, o := range jobs {
		out[i] = o.Name
	}
	return out
}

// waitForQueue is a new backup: Velero queues it at once, or up to 1.17 runs one at a time.
func waitForQueue(j *job.Job, env *Environment) turn {
	running, _ := ahead(j, env)
	version, known := velero.ParseVersion(env.Server.Version)
	if !known && env.Server.Visible && len(running) > 0 {
		return turn{
			ok:     true,
			behind: running,
			why:    VersionUnknown,
			reason: fmt.Sprintf(
				"%s; up to v1.17 Velero runs one backup at a time, and its version is not known",
				runs(running),
			),
		}
	}
	if known && !version.QueuesBackups() && len(running) > 0 {
		return turn{ok: true, behind: running, why: ConcurrencyLimit,
			reason: fmt.Sprintf("waits for %s: this Velero runs one backup at a time", human.List(names(running), 2))}
	}
	return turn{ok: true, free: true, why: NotPickedUp, reason: "not yet taken up by Velero"}
}

// waitForWorker: one worker runs all restores (docs/dev/velero.md#restore-worker), now the one that began last.
func waitForWorker(j *job.Job, env *Environment) turn {
	w := turn{ok: true, position: 1}
	tied := false
	var holder *job.Job
	for _, o := range slices.Concat(env.Jobs, env.Overridden) {
		if o.UID == j.UID || o.Kind != job.Restore || o.Namespace != j.Namespace {
			continue
		}
		switch {
		case o.Phase == velero.PhaseInProgress || o.RunsOn(env.Now):
			if holder == nil || cmp.Or(o.Started.Compare(holder.Started), byAge(o, holder)) > 0 {
				holder = o
			}
		case o.Stage == job.StageQueued && o.Created.Equal(j.Created):
			tied = true
		case o.Stage == job.StageQueued && o.Created.Before(j.Created):
			w.position++
		}
	}
	if tied {
		w.position = 0 // creation times have whole seconds: which of them comes first is not known
	}
	if holder == nil || Released(holder, *env) {
		w.free, w.why, w.reason = true, NotPickedUp, "not yet taken up by Velero"
		return w
	}
	w.behind, w.why = []*job.Job{holder}, RestoreWorkerBusy
	w.reason = fmt.Sprintf("waits for %s: Velero runs one restore at a time", holder.Name)
	if holder.Terminal() {
		w.reason += overriddenText(holder)
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
		return "both may take namespaces like " + human.List(o.Names, 2)
	case len(o.Names) == 1:
		return "both take namespace " + o.Names[0]
	}
	return "both take namespaces " + human.List(o.Names, 3)
}
