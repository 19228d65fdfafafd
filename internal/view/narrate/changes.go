package narrate

import (
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/veltui/veltui/internal/assess"
	"github.com/veltui/veltui/internal/diagnosis"
	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/velero"
	"github.com/veltui/veltui/internal/view"
	"github.com/veltui/veltui/internal/view/speech"
	"github.com/veltui/veltui/watch"
)

// Priority is the importance of a line.
type Priority int

const (
	// Minor is for progress.
	Minor Priority = iota
	// Normal is for a step in a job's life.
	Normal
	// Urgent is for a line that needs a person's attention.
	Urgent
)

// Line is one sentence about a change.
type Line struct {
	// Subject identifies what the line is about; a newer line replaces a waiting line with the same subject.
	Subject  string
	Text     string
	Priority Priority
}

// comparePriorities orders lines by their weight, the most important first.
func comparePriorities(a, b Line) int { return int(b.Priority - a.Priority) }

// lineQueue holds lines until they are due, the most important first.
type lineQueue struct{ waiting []Line }

// AddLines queues lines. A newer line replaces a waiting line with the same subject.
func (q *lineQueue) AddLines(lines ...Line) {
	for _, l := range lines {
		q.waiting = slices.DeleteFunc(q.waiting, func(w Line) bool { return w.Subject == l.Subject })
		q.waiting = append(q.waiting, l)
	}
	slices.SortStableFunc(q.waiting, comparePriorities)
}

// ChangeTracker finds the lines for each new assessment. The zero value is ready.
type ChangeTracker struct {
	// CommandFlags are the flags that [Job] takes.
	CommandFlags string

	jobs     map[types.UID]jobStatus
	health   watch.HealthState
	findings FindingTracker
}

type jobStatus struct {
	name      string
	kind      job.Kind
	ended     bool
	stage     job.Stage
	state     diagnosis.State
	reason    diagnosis.Reason
	isWaiting bool
	deleting  bool
	// tenthsDone is the number of tenths of the stage that are done.
	tenthsDone int
}

// CollectLines returns the changes since the previous assessment. The first assessment has none.
func (c *ChangeTracker) CollectLines(a *assess.Assessment) []Line {
	first := c.jobs == nil
	lines := c.connectionLines(a, first)
	if a.IsStale() {
		return lines // stale data is not confirmed
	}
	lines = append(lines, c.findings.CollectLines(a.ListFindingsInWords())...)
	jobs := make(map[types.UID]jobStatus, len(a.Snapshot.Jobs))
	for _, j := range a.Snapshot.Jobs {
		judged := a.AssessJob(j)
		before, known := c.jobs[j.UID]
		after := newJobStatus(judged, before)
		jobs[j.UID] = after
		if first {
			continue
		}
		if text, weight, ok := changeText(judged, before, after, known, a, c.CommandFlags); ok {
			lines = append(lines, Line{string(j.UID), text, weight})
		}
	}
	for uid, before := range c.jobs {
		if _, there := jobs[uid]; !there && !before.ended {
			lines = append(
				lines,
				Line{
					string(uid),
					speech.Sentence("Deleted: %s %s is gone before it ended", before.kind.Noun(), before.name),
					Normal,
				},
			)
		}
	}
	c.jobs = jobs
	slices.SortStableFunc(lines, comparePriorities)
	return lines
}

func newJobStatus(j assess.JudgedJob, before jobStatus) jobStatus {
	now := jobStatus{
		name:      j.Name,
		kind:      j.Kind,
		ended:     j.IsTerminal(),
		stage:     j.Stage,
		state:     j.State,
		reason:    j.Verdict.Reason,
		isWaiting: j.Queue.IsWaiting,
		deleting:  !j.DeletionRequestedAt.IsZero(),
	}
	if j.FractionKnown {
		now.tenthsDone = int(j.Fraction*10 + 1e-9)
	}
	if before.stage == now.stage {
		now.tenthsDone = max(now.tenthsDone, before.tenthsDone)
	}
	return now
}

func changeText(
	j assess.JudgedJob,
	before, after jobStatus,
	known bool,
	a *assess.Assessment,
	flags string,
) (text string, weight Priority, ok bool) {
	troubled := func(s diagnosis.State) bool { return s == diagnosis.Stuck || s == diagnosis.Orphaned }
	silent := func(s diagnosis.State) bool { return s == diagnosis.Quiet || s == diagnosis.Unknown }
	prefix, weight := "", Normal
	switch {
	case after.ended && (before.ended || !known && j.Completed.IsZero()): // an old job, or one synced from elsewhere
		return "", 0, false
	case after.ended && j.Phase != velero.PhaseCompleted:
		weight = Urgent
	case after.ended:
	case !known:
		origin := human.Prefixed(", ", view.OriginPhrase(j.BackupName, j.ScheduleName).Text)
		prefix = speech.Sentence("New: %s %s%s", j.Kind.Noun(), j.Name, origin) + " "
	case troubled(after.state) && troubled(before.state) && before.reason == after.reason:
		return "", 0, false
	case troubled(after.state):
		weight = Urgent
	case troubled(before.state):
		prefix = "No longer " + string(before.state) + ": "
	case before.stage != after.stage, before.isWaiting && !after.isWaiting, after.deleting && !before.deleting,
		silent(after.state) && !silent(before.state), after.state == diagnosis.Waiting && before.reason != after.reason:
	case after.tenthsDone > before.tenthsDone:
		weight = Minor
	default:
		return "", 0, false
	}
	return prefix + Job(j, a.World.Now, flags), weight, true
}

func (c *ChangeTracker) connectionLines(a *assess.Assessment, first bool) []Line {
	h := a.Snapshot.Health
	before := c.health
	c.health = h.State
	if first || before == h.State {
		return nil
	}
	text := ""
	switch {
	case h.State == watch.Stale:
		text = speech.Sentence("%s. What veltui said may be out of date; it keeps trying", view.ConnectionLost(h))
	case h.State == watch.Unauthorized && h.NeedsLogin:
		text = speech.Sentence("Your login has expired: %s", h.Err)
	case h.State == watch.Unauthorized:
		text = speech.Sentence(
			"%s. Renew them, then type: reconnect", human.Capitalize(view.CredentialsRejected(h)),
		)
	case h.State == watch.Live:
		text = view.ConnectionRestored + ". " + countsText(a)
	default:
		return nil
	}
	return []Line{{"connection", text, Urgent}}
}
