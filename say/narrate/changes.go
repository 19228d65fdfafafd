package narrate

import (
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/veltui/veltui/assess"
	"github.com/veltui/veltui/diagnosis"
	"github.com/veltui/veltui/job"
	"github.com/veltui/veltui/velero"
	"github.com/veltui/veltui/watch"
)

// Weight is how much a line matters.
type Weight int

// The weights.
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
	// About is what it is about; a newer line about the same replaces one that
	// was not said yet.
	About  string
	Text   string
	Weight Weight
}

// Changes finds what to say of each assessment by what was there before. The
// zero value has seen nothing.
type Changes struct {
	// Flags are those of [Job].
	Flags string

	jobs      map[types.UID]told
	health    watch.HealthState
	server    string
	locations map[string]string
}

// told is what was last said of a job.
type told struct {
	name   string
	kind   job.Kind
	ended  bool
	stage  job.Stage
	state  diagnosis.State
	reason diagnosis.Reason
	waits  bool
	// deleting is true once the deletion is requested.
	deleting bool
	// tenth is how many tenths of the stage are done.
	tenth int
}

// Since are the changes since the assessment before. The first one has none:
// [Overview] says how everything is then.
func (c *Changes) Since(a *assess.Assessment) []Line {
	first := c.jobs == nil
	lines := c.connection(a, first)
	if a.Stale() {
		return lines // the rest is not confirmed
	}
	lines = append(lines, c.surroundings(a, first)...)
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
			lines = append(lines, Line{string(uid), sentence("Deleted: %s %s is gone before it ended", before.kind.Word(), before.name), Normal})
		}
	}
	c.jobs = jobs
	slices.SortStableFunc(lines, func(a, b Line) int { return int(b.Weight - a.Weight) })
	return lines
}

func toldOf(j assess.Judged, before told) told {
	now := told{name: j.Name, kind: j.Kind, ended: j.Terminal(), stage: j.Stage, state: j.State, reason: j.Verdict.Reason, waits: j.Queue.Waits, deleting: !j.DeletionAt.IsZero()}
	if j.FractionKnown {
		now.tenth = int(j.Fraction*10 + 1e-9)
	}
	if before.stage == now.stage {
		now.tenth = max(now.tenth, before.tenth)
	}
	return now
}

// change is what to say of a job, if anything.
func change(j assess.Judged, before, after told, known bool, a *assess.Assessment, flags string) (text string, weight Weight, ok bool) {
	now := a.Environment.Now
	troubled := func(s diagnosis.State) bool { return s == diagnosis.Stuck || s == diagnosis.Orphaned }
	silent := func(s diagnosis.State) bool { return s == diagnosis.Quiet || s == diagnosis.Unknown }
	switch {
	case after.ended && (!known || !before.ended):
		if !known && j.Completed.IsZero() {
			return "", 0, false // of old; it was synced from elsewhere
		}
		if j.Phase != velero.PhaseCompleted {
			return Job(j, now, flags), Urgent, true
		}
		return Job(j, now, flags), Normal, true
	case after.ended:
		return "", 0, false
	case !known:
		from := ""
		if j.BackupName != "" {
			from = ", from backup " + j.BackupName
		}
		return sentence("New: %s %s%s", j.Kind.Word(), j.Name, from) + " " + Job(j, now, flags), Normal, true
	case troubled(after.state) && (!troubled(before.state) || before.reason != after.reason):
		return Job(j, now, flags), Urgent, true
	case troubled(before.state):
		return "No longer " + string(before.state) + ": " + Job(j, now, flags), Normal, !troubled(after.state)
	case before.stage != after.stage, before.waits && !after.waits, after.deleting && !before.deleting:
		return Job(j, now, flags), Normal, true
	case silent(after.state) && !silent(before.state):
		return Job(j, now, flags), Normal, true
	case after.state == diagnosis.Waiting && before.reason != after.reason:
		return Job(j, now, flags), Normal, true
	case after.tenth > before.tenth:
		return Job(j, now, flags), Minor, true
	}
	return "", 0, false
}

// connection says that the API server went away or came back.
func (c *Changes) connection(a *assess.Assessment, first bool) []Line {
	h := a.Snapshot.Health
	before := c.health
	c.health = h.State
	if first || before == h.State {
		return nil
	}
	switch h.State {
	case watch.Stale:
		return []Line{{"connection", sentence("Connection lost: %s. What veltui said may be out of date; it keeps trying", h.Err), Urgent}}
	case watch.Unauthorized:
		if h.AsksLogin {
			return []Line{{"connection", sentence("Your login has expired: %s", h.Err), Urgent}}
		}
		return []Line{{"connection", sentence("The API server rejects your credentials: %s. Renew them, then type: reconnect", h.Err), Urgent}}
	case watch.Live:
		return []Line{{"connection", "Connected again. " + counts(a), Urgent}}
	}
	return nil
}

// surroundings says what changed around the jobs.
func (c *Changes) surroundings(a *assess.Assessment, first bool) []Line {
	var lines []Line
	if text := server(a); text != c.server {
		c.server = text
		if text == "" {
			text = "Velero's server is running again."
		}
		lines = append(lines, Line{"server", text, Urgent})
	}
	locations := map[string]string{}
	for _, l := range a.Snapshot.Locations {
		text := location(l.Name, string(l.Status.Phase), l.Status.Message)
		locations[l.Name] = text
		switch before := c.locations[l.Name]; {
		case (text == "") == (before == ""):
		case text == "":
			lines = append(lines, Line{"location " + l.Name, sentence("Storage location %s is available again", l.Name), Normal})
		default:
			lines = append(lines, Line{"location " + l.Name, text, Urgent})
		}
	}
	c.locations = locations
	if first {
		return nil
	}
	return lines
}
