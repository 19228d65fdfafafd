package job

import (
	"cmp"
	"fmt"
	"slices"
)

// Queue says why a job that has not begun waits: its place in the line (1 is
// next), and the reason in words. ok is false for a job that does not wait for
// its turn.
func (j *Job) Queue(s Surroundings) (position int, reason string, ok bool) {
	w := j.wait(s)
	return w.position, w.reason, w.ok
}

// wait is why a job has not begun.
type wait struct {
	ok       bool
	position int
	reason   string
	// behind are the running jobs that it waits for, at first or second hand.
	behind []*Job
	// free is true if nothing known holds it back.
	free bool
}

func (j *Job) wait(s Surroundings) wait {
	switch {
	case j.Stage != StageQueued || j.Deleting:
		return wait{}
	case j.Kind == Restore:
		return j.waitForWorker(s)
	case j.Phase == PhaseQueued:
		return j.waitInQueue(s)
	case j.Phase == PhaseReadyToStart:
		return wait{ok: true, reason: "ready to start", free: true}
	}
	return j.waitForQueue(s)
}

// waitInQueue applies the rule of Velero's queue (velero-facts 1.3): a queued
// backup starts if fewer than --concurrent-backups run, none of the running
// or of those queued before it takes a namespace of its own, and none queued
// before it could start instead.
func (j *Job) waitInQueue(s Surroundings) wait {
	running, earlier := j.ahead(s)
	w := wait{ok: true, position: j.QueuePosition}
	if w.position <= 0 {
		w.position = len(earlier) + 1
	}
	mine := j.namespaces()
	for _, r := range running {
		// Nothing ends what the server has forgotten, so this comes before all
		// that passes by itself.
		if o := overlapping(mine, r.namespaces(), s.Namespaces); o.any && r.forgotten(s.Server) {
			w.behind = []*Job{r}
			w.reason = fmt.Sprintf("waits for %s, which Velero has forgotten: %s", r.Name, o)
			return w
		}
	}
	limit := s.Server.ConcurrentBackups
	if busy := remembered(running, s.Server); limit > 0 && len(busy) >= limit {
		w.behind = busy
		w.reason = fmt.Sprintf("waits for %s: %s", list(names(busy), 2), limitWords(limit))
		for _, r := range running {
			if o := overlapping(mine, r.namespaces(), s.Namespaces); o.any {
				w.reason += "; " + o.String()
				if len(running) > 1 {
					w.reason += " (with " + r.Name + ")"
				}
				break
			}
		}
		return w
	}
	for _, r := range running {
		if o := overlapping(mine, r.namespaces(), s.Namespaces); o.any {
			w.behind = []*Job{r}
			w.reason = fmt.Sprintf("waits for %s: %s", r.Name, o)
			return w
		}
	}
	for _, e := range earlier {
		if o := overlapping(mine, e.namespaces(), s.Namespaces); o.any {
			w.behind = e.waitInQueue(s).behind
			w.reason = fmt.Sprintf("waits for %s, queued before it: %s", e.Name, o)
			return w
		}
	}
	for i, e := range earlier {
		if e.runnable(running, earlier[:i], s.Namespaces) {
			w.reason = fmt.Sprintf("waits for %s, queued before it and free to start", e.Name)
			return w
		}
	}
	if limit <= 0 && len(running) > 0 {
		w.behind = running
		w.reason = fmt.Sprintf("waits for its turn; %s, and how many may run at once is not known", runs(running))
		return w
	}
	w.free = true
	w.reason = "free to start; Velero looks at its queue every minute"
	return w
}

// remembered are those of the running backups that the server counts: it does
// so in memory, and a restart makes it forget them (velero-facts 6.4), while
// their namespaces still keep others back.
func remembered(running []*Job, server Server) []*Job {
	var out []*Job
	for _, r := range running {
		if !r.forgotten(server) {
			out = append(out, r)
		}
	}
	return out
}

// forgotten reports whether the server started after it, or one before it,
// took up the job.
func (j *Job) forgotten(server Server) bool {
	since := j.Started
	if j.Phase == PhaseReadyToStart && j.track.movedKnown {
		since = j.track.moved
	}
	if since.IsZero() || !server.StartedAt.After(since) {
		return false
	}
	// During a rolling update two servers run, and the old one works on.
	return !(j.track.movedKnown && j.track.moved.After(server.StartedAt))
}

func limitWords(limit int) string {
	if limit == 1 {
		return "one backup at a time (--concurrent-backups=1)"
	}
	return fmt.Sprintf("%d backups at a time (--concurrent-backups=%d)", limit, limit)
}

func runs(jobs []*Job) string {
	if len(jobs) == 1 {
		return jobs[0].Name + " runs"
	}
	return list(names(jobs), 2) + " run"
}

// runnable reports whether nothing ahead of a queued backup takes one of its
// namespaces.
func (j *Job) runnable(running, earlier []*Job, known []string) bool {
	mine := j.namespaces()
	conflicts := func(other *Job) bool { return overlapping(mine, other.namespaces(), known).any }
	return !slices.ContainsFunc(running, conflicts) && !slices.ContainsFunc(earlier, conflicts)
}

// ahead are the backups that run and those queued before j, in their order.
func (j *Job) ahead(s Surroundings) (running, earlier []*Job) {
	for _, o := range s.Jobs {
		if o.UID == j.UID || o.Kind != Backup || o.Namespace != j.Namespace {
			continue
		}
		switch {
		case o.Phase == PhaseInProgress || o.Phase == PhaseReadyToStart:
			running = append(running, o)
		case o.Phase == PhaseQueued && o.QueuePosition < j.QueuePosition:
			earlier = append(earlier, o)
		}
	}
	slices.SortFunc(running, byAge)
	slices.SortFunc(earlier, func(a, b *Job) int {
		return cmp.Or(cmp.Compare(a.QueuePosition, b.QueuePosition), byAge(a, b))
	})
	return running, earlier
}

func byAge(a, b *Job) int {
	return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.Name, b.Name))
}

func names(jobs []*Job) []string {
	out := make([]string, len(jobs))
	for i, o := range jobs {
		out[i] = o.Name
	}
	return out
}

// waitForQueue is a new backup: Velero from 1.18 on queues it at once, and
// older ones run one backup at a time without a queue.
func (j *Job) waitForQueue(s Surroundings) wait {
	running, _ := j.ahead(s)
	if before(s.Server.Version, 1, 18, 0) && len(running) > 0 {
		return wait{
			ok: true, behind: running,
			reason: fmt.Sprintf("waits for %s: this Velero runs one backup at a time", list(names(running), 2)),
		}
	}
	return wait{ok: true, free: true, reason: "not yet taken up by Velero"}
}

// waitForWorker is a new restore: one worker runs all restores, one after the
// other (velero-facts 1.4). Of several in progress it has the one that began
// last; the others are left over, because it begins none before it is done
// with the one before.
func (j *Job) waitForWorker(s Surroundings) wait {
	w := wait{ok: true, position: 1}
	var holder *Job
	for _, o := range s.Jobs {
		if o.UID == j.UID || o.Kind != Restore || o.Namespace != j.Namespace {
			continue
		}
		switch {
		case o.Phase == PhaseInProgress:
			if holder == nil || cmp.Or(o.Started.Compare(holder.Started), byAge(o, holder)) > 0 {
				holder = o
			}
		case o.Stage == StageQueued && byAge(o, j) < 0:
			w.position++
		}
	}
	if holder == nil {
		w.free = true
		w.reason = "not yet taken up by Velero"
		return w
	}
	w.behind = []*Job{holder}
	w.reason = fmt.Sprintf("waits for %s: Velero runs one restore at a time", holder.Name)
	return w
}
