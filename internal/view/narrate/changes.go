package narrate

import (
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/veltui/veltui/internal/assess"
	"github.com/veltui/veltui/internal/diagnosis"
	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/velero"
	"github.com/veltui/veltui/watch"
)

// Weight is how much a line matters.
type Weight int

const (
	// Minor is progress.
	Minor Weight = iota
	// Normal is a step in a job's life.
	Normal
	// Urgent wants a person's attention.
	Urgent
)

// Line is one sentence about a change.
type Line struct {
	// About is what it is about; a newer line replaces a waiting one about the same.
	About  string
	Text   string
	Weight Weight
}

// byWeight orders lines by their weight, the heaviest first.
func byWeight(a, b Line) int { return int(b.Weight - a.Weight) }

// queue holds lines until they are due, the heaviest first.
type queue struct{ waiting []Line }

// Add takes lines. A line that waits gives way to a newer one about the same.
func (q *queue) Add(lines ...Line) {
	for _, l := range lines {
		q.waiting = slices.DeleteFunc(q.waiting, func(w Line) bool { return w.About == l.About })
		q.waiting = append(q.waiting, l)
	}
	slices.SortStableFunc(q.waiting, byWeight)
}

// Changes finds what to say of each assessment after another. The zero value is ready.
type Changes struct {
	// Flags are those of [Job].
	Flags string

	jobs     map[types.UID]told
	health   watch.HealthState
	findings Findings
}

type told struct {
	name     string
	kind     job.Kind
	ended    bool
	stage    job.Stage
	state    diagnosis.State
	reason   diagnosis.Reason
	waits    bool
	deleting bool
	// tenth is how many tenths of the stage are done.
	tenth int
}

// Since are the changes since the assessment before. The first one has none.
func (c *Changes) Since(a *assess.Assessment) []Line {
	first := c.jobs == nil
	lines := c.connection(a, first)
	if a.Stale() {
		return lines // the rest is not confirmed
	}
	lines = append(lines, c.findings.Since(a.SpokenAttention())...)
	jobs := make(map[types.UID]told, len(a.Snapshot.Jobs))
	for _, j := range a.Snapshot.Jobs {
		judged := a.Of(j)
		before, known := c.jobs[j.UID]
		after := toldOf(judged, before)
		jobs[j.UID] = after
		if first {
			continue
		}
		if text, weight, ok := change(judged, before, after, known, a, c.Flags); ok {
			lines = append(lines, Line{string(j.UID), text, weight})
		}
	}
	for uid, before := range c.jobs {
		if _, there := jobs[uid]; !there && !before.ended {
			lines = append(
				lines,
				Line{
					string(uid),
					sentence("Deleted: %s %s is gone before it ended", before.kind.Word(), before.name),
					Normal,
				},
			)
		}
	}
	c.jobs = jobs
	slices.SortStableFunc(lines, byWeight)
	return lines
}

func toldOf(j assess.Judged, before told) told {
	now := told{
		name:     j.Name,
		kind:     j.Kind,
		ended:    j.Terminal(),
		stage:    j.Stage,
		state:    j.State,
		reason:   j.Verdict.Reason,
		waits:    j.Queue.Waits,
		deleting: !j.DeletionAt.IsZero(),
	}
	if j.FractionKnown {
		now.tenth = int(j.Fraction*10 + 1e-9)
	}
	if before.stage == now.stage {
		now.tenth = max(now.tenth, before.tenth)
	}
	return now
}

func change(
	j assess.Judged,
	before, after told,
	known bool,
	a *assess.Assessment,
	flags string,
) (text string, weight Weight, ok bool) {
	troubled := func(s diagnosis.State) bool { return s == diagnosis.Stuck || s == diagnosis.Orphaned }
	silent := func(s diagnosis.State) bool { return s == diagnosis.Quiet || s == diagnosis.Unknown }
	prefix, weight := "", Normal
	switch {
	case after.ended && (before.ended || !known && j.Completed.IsZero()): // of old; it was synced from elsewhere
		return "", 0, false
	case after.ended && j.Phase != velero.PhaseCompleted:
		weight = Urgent
	case after.ended:
	case !known:
		prefix = sentence("New: %s %s%s", j.Kind.Word(), j.Name, human.Clause(", from backup ", j.BackupName)) + " "
	case troubled(after.state) && troubled(before.state) && before.reason == after.reason:
		return "", 0, false
	case troubled(after.state):
		weight = Urgent
	case troubled(before.state):
		prefix = "No longer " + string(before.state) + ": "
	case before.stage != after.stage, before.waits && !after.waits, after.deleting && !before.deleting,
		silent(after.state) && !silent(before.state), after.state == diagnosis.Waiting && before.reason != after.reason:
	case after.tenth > before.tenth:
		weight = Minor
	default:
		return "", 0, false
	}
	return prefix + Job(j, a.Environment.Now, flags), weight, true
}

func (c *Changes) connection(a *assess.Assessment, first bool) []Line {
	h := a.Snapshot.Health
	before := c.health
	c.health = h.State
	if first || before == h.State {
		return nil
	}
	text := ""
	switch {
	case h.State == watch.Stale:
		text = sentence("Connection lost: %s. What veltui said may be out of date; it keeps trying", h.Err)
	case h.State == watch.Unauthorized && h.AsksLogin:
		text = sentence("Your login has expired: %s", h.Err)
	case h.State == watch.Unauthorized:
		text = sentence("The API server rejects your credentials: %s. Renew them, then type: reconnect", h.Err)
	case h.State == watch.Live:
		text = "Connected again. " + counts(a)
	default:
		return nil
	}
	return []Line{{"connection", text, Urgent}}
}
