package narrate

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/veltui/veltui/internal/assess"
	"github.com/veltui/veltui/internal/diagnosis"
	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/velero"
	"github.com/veltui/veltui/watch"
)

// News are jobs that ended, and those in trouble, after the first complete assessment. The zero value is ready.
type News struct {
	began time.Time
	jobs  map[types.UID]known
}

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
	text := j.Spoken().Text
	if !strings.HasSuffix(text, "...") { // else it was cut
		text = strings.TrimRight(text, ".")
	}
	return fmt.Sprintf("%s %s%s: %s", j.Kind.Word(), j.Name, state, text)
}

// Complete reports whether everything has been read once, and is up to date.
func Complete(snap *watch.Snapshot) bool {
	syncing := func(s watch.Source) bool { return s.State == watch.SourceSyncing }
	return len(snap.Sources) > 0 && snap.Health.State == watch.Live && !slices.ContainsFunc(snap.Sources, syncing)
}

// Calls lets few calls through: what comes within [callGap] of the last one comes together. The zero value is ready.
type Calls struct {
	queue
	last time.Time
}

const callGap = 10 * time.Second

// Due is what to call a person with, if anything: the heaviest line and how many jobs more; else in how long,
// 0 for never.
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

// Pace lets as many lines through as a person can listen to, and sums up the rest; what is urgent waits.
type Pace struct {
	queue
	said []time.Time
}

const (
	// perMinute is how many lines are said in any minute.
	perMinute = 8
	// forUrgent of them are only for what is urgent.
	forUrgent = 3
	// gap is the least time between two deliveries: what belongs together comes together.
	gap = 5 * time.Second
)

// Due are the lines to say now, what is urgent first.
func (p *Pace) Due(now time.Time) []string {
	p.said = slices.DeleteFunc(p.said, func(at time.Time) bool { return now.Sub(at) >= time.Minute })
	if len(p.waiting) == 0 || len(p.said) > 0 && now.Sub(p.said[len(p.said)-1]) < gap {
		return nil
	}
	urgent := slices.IndexFunc(p.waiting, func(l Line) bool { return l.Weight != Urgent })
	if urgent < 0 {
		urgent = len(p.waiting)
	}
	var due []string
	say := func(text string) {
		due = append(due, text)
		p.said = append(p.said, now)
	}
	for ; urgent > 0 && len(p.said) < perMinute; urgent-- {
		say(p.waiting[0].Text)
		p.waiting = p.waiting[1:]
	}
	room := perMinute - forUrgent - len(p.said)
	if urgent > 0 || room <= 0 {
		return due
	}
	if len(p.waiting) > room {
		room--
	}
	for ; room > 0 && len(p.waiting) > 0; room-- {
		say(p.waiting[0].Text)
		p.waiting = p.waiting[1:]
	}
	if n := len(p.waiting); n > 0 {
		say(sentence("And %s; type: list", human.Plural(n, "more job changed", "more jobs changed")))
		p.waiting = nil
	}
	return due
}

// attention are sentences about all that needs someone, the worst first, and the jobs among it.
func attention(a *assess.Assessment, flags string) (lines []string, jobs map[types.UID]bool) {
	jobs = map[types.UID]bool{}
	found := a.SpokenAttention()
	if n := len(found); n > 1 {
		lines = append(lines, sentence("%d things need attention, the worst first", n))
	}
	for _, f := range found {
		if j := a.Find(f.UID); j != nil {
			jobs[j.UID] = true
			lines = append(lines, Job(a.Of(j), a.Environment.Now, flags))
			continue
		}
		lines = append(lines, findingText(f))
	}
	return lines, jobs
}

func findingText(f assess.Finding) string {
	return sentence(
		"%s: %s %s: %s%s",
		human.Capital(f.Severity.String()),
		f.Kind,
		f.Name,
		f.Summary,
		human.Clause(". It affects ", human.List(f.Affects, 3)),
	)
}

// Findings tells what has come to need someone, and what no longer does. The zero value is ready.
type Findings struct{ before map[string]assess.Finding }

// Since are the lines since the last call, which the first has none of. Others tell of jobs.
func (n *Findings) Since(found []assess.Finding) []Line {
	now := make(map[string]assess.Finding, len(found))
	var lines []Line
	for _, f := range found {
		if f.In == assess.InBackups || f.In == assess.InRestores {
			continue
		}
		about := fmt.Sprint("finding ", f.Ref(), " ", f.Reason)
		now[about] = f
		if _, known := n.before[about]; !known && n.before != nil {
			lines = append(lines, Line{About: about, Text: findingText(f), Weight: Urgent})
		}
	}
	for about, f := range n.before {
		if _, still := now[about]; !still {
			lines = append(
				lines,
				Line{
					About:  about,
					Text:   sentence("No longer %s: %s %s, %s", f.Severity, f.Kind, f.Name, f.Reason),
					Weight: Normal,
				},
			)
		}
	}
	n.before = now
	return lines
}
