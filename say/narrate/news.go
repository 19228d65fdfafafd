package narrate

import (
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/veltui/veltui/assess"
	"github.com/veltui/veltui/diagnosis"
	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/job"
	"github.com/veltui/veltui/velero"
	"github.com/veltui/veltui/watch"
)

// News finds what is worth a call: a job that ended, and one that is stuck or orphaned. What
// was so in the first complete assessment is no news. The zero value is ready.
type News struct {
	began time.Time
	jobs  map[types.UID]known
}

// known is what News has seen of a job.
type known struct{ ended, troubled bool }

// Since are the news since the assessment before; Normal is what ended well.
func (n *News) Since(a *assess.Assessment) []Line {
	if !Complete(a.Snapshot) {
		return nil
	}
	first := n.jobs == nil
	if first {
		n.began = a.Environment.Now
	}
	jobs := make(map[types.UID]known, len(a.Snapshot.Jobs))
	var lines []Line
	for _, j := range a.Snapshot.Jobs {
		before, seen := n.jobs[j.UID]
		after := known{ended: j.Terminal()}
		if !after.ended {
			judged := a.Of(j)
			// Where the state is not known now, it is what it was.
			after.troubled = judged.Troubled() || before.troubled && judged.State == diagnosis.Unknown
		}
		jobs[j.UID] = after
		ended := j.Completed
		if ended.IsZero() { // Velero dates no end of a job that fails its validation
			ended = job.Latest(j.Changed, j.Created)
		}
		old := !seen && ended.Before(n.began) // read late, or stored by another cluster
		switch {
		case first, after.ended && (before.ended || old), !after.ended && (!after.troubled || before.troubled):
			continue
		}
		line := Line{About: string(j.UID), Text: headline(a.Of(j)), Weight: Urgent}
		if j.Phase == velero.PhaseCompleted {
			line.Weight = Normal
		}
		lines = append(lines, line)
	}
	n.jobs = jobs
	return lines
}

func headline(j assess.Judged) string {
	state := ""
	if !j.Terminal() {
		state = " is " + string(j.State)
	}
	return fmt.Sprintf("%s %s%s: %s", j.Kind.Word(), j.Name, state, summary(j))
}

// Complete reports whether everything has been read once, and is up to date.
func Complete(snap *watch.Snapshot) bool {
	syncing := func(s watch.Source) bool { return s.State == watch.SourceSyncing }
	return len(snap.Sources) > 0 && snap.Health.State == watch.Live && !slices.ContainsFunc(snap.Sources, syncing)
}

// Calls lets few calls through: what comes within [callGap] of the last one comes together.
// The zero value is ready.
type Calls struct {
	queue
	last time.Time
}

// callGap is the least time between two calls.
const callGap = 10 * time.Second

// Due is what to call a person with now, empty for nothing yet: the heaviest line, and how
// many jobs there are beside. wait is how long until something is due, 0 if nothing waits.
func (c *Calls) Due(now time.Time) (text string, wait time.Duration) {
	if len(c.waiting) == 0 {
		return "", 0
	}
	if wait := callGap - now.Sub(c.last); !c.last.IsZero() && wait > 0 {
		return "", min(wait, callGap) // also where the clock was put back
	}
	text = c.waiting[0].Text
	if more := len(c.waiting) - 1; more > 0 {
		text = fmt.Sprintf("%s (and %s)", text, human.Plural(more, "more job", "more jobs"))
	}
	c.waiting, c.last = nil, now
	return text, 0
}
