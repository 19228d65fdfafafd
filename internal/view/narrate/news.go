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
	"github.com/veltui/veltui/internal/view"
	"github.com/veltui/veltui/internal/view/speech"
	"github.com/veltui/veltui/watch"
)

// NewsTracker finds the jobs that end or get into trouble after the first complete assessment. The zero value is ready.
type NewsTracker struct {
	startedAt time.Time
	jobs      map[types.UID]jobOutcome
}

type jobOutcome struct{ ended, troubled bool }

// CollectLines returns the news since the previous assessment; a job that ended well has weight Normal.
func (n *NewsTracker) CollectLines(a *assess.Assessment) []Line {
	if !IsSnapshotComplete(a.Snapshot) {
		return nil
	}
	first := n.jobs == nil
	if first {
		n.startedAt = a.World.Now
	}
	jobs := make(map[types.UID]jobOutcome, len(a.Snapshot.Jobs))
	var lines []Line
	for _, j := range a.Snapshot.Jobs {
		before, seen := n.jobs[j.UID]
		after := jobOutcome{ended: j.IsTerminal()}
		if !after.ended {
			judged := a.AssessJob(j)
			// If the state is unknown now, the former one still counts.
			after.troubled = judged.IsTroubled() || before.troubled && judged.State == diagnosis.Unknown
		}
		jobs[j.UID] = after
		ended := j.Completed
		if ended.IsZero() { // Velero records no end of a job that fails validation
			ended = job.LatestTime(j.LastChanged, j.Created)
		}
		old := !seen && ended.Before(n.startedAt) // read late, or stored by another cluster
		switch {
		case first, after.ended && (before.ended || old), !after.ended && (!after.troubled || before.troubled):
			continue
		}
		line := Line{Subject: string(j.UID), Text: headlineText(a.AssessJob(j)), Priority: Urgent}
		if j.Phase == velero.PhaseCompleted {
			line.Priority = Normal
		}
		lines = append(lines, line)
	}
	n.jobs = jobs
	return lines
}

func headlineText(j assess.JudgedJob) string {
	state := ""
	if !j.IsTerminal() {
		state = " is " + string(j.State)
	}
	text := j.VerdictInWords().Text
	if !strings.HasSuffix(text, "...") { // otherwise the text was cut
		text = strings.TrimRight(text, ".")
	}
	return fmt.Sprintf("%s %s%s: %s", j.Kind.Noun(), j.Name, state, text)
}

// IsSnapshotComplete reports whether everything has been read once and is up to date.
func IsSnapshotComplete(snap *watch.Snapshot) bool {
	syncing := func(s watch.Source) bool { return s.State == watch.SourceSyncing }
	return len(snap.Sources) > 0 && snap.Health.State == watch.Live && !slices.ContainsFunc(snap.Sources, syncing)
}

// Notifications limits the number of notifications: lines that come within [notificationGap] of the last notification
// are combined. The zero value is ready.
type Notifications struct {
	lineQueue
	last time.Time
}

const notificationGap = 10 * time.Second

// NextNotification returns the text of the notification to send now: the most important line, with the number of
// other jobs. If none is due, it returns how long to wait, 0 for no waiting line.
func (c *Notifications) NextNotification(now time.Time) (text string, wait time.Duration) {
	if len(c.waiting) == 0 {
		return "", 0
	}
	if wait := notificationGap - now.Sub(c.last); !c.last.IsZero() && wait > 0 {
		return "", min(wait, notificationGap) // also if the clock was set back
	}
	text = c.waiting[0].Text
	if more := len(c.waiting) - 1; more > 0 {
		text = fmt.Sprintf("%s (and %s)", text, human.CountForms(more, "more job", "more jobs"))
	}
	c.waiting, c.last = nil, now
	return text, 0
}

// Pacer passes as many lines as a person can listen to, and sums up the rest; urgent lines wait.
type Pacer struct {
	lineQueue
	spokenAt []time.Time
}

const (
	// maxLinesPerMinute is the largest number of lines in any minute.
	maxLinesPerMinute = 8
	// reservedUrgentLines is how many of these lines are only for urgent ones.
	reservedUrgentLines = 3
	// deliveryGap is the shortest time between two deliveries, so that related lines come together.
	deliveryGap = 5 * time.Second
)

// TakeDueLines returns the lines to say now, the urgent ones first.
func (p *Pacer) TakeDueLines(now time.Time) []string {
	p.spokenAt = slices.DeleteFunc(p.spokenAt, func(at time.Time) bool { return now.Sub(at) >= time.Minute })
	if len(p.waiting) == 0 || len(p.spokenAt) > 0 && now.Sub(p.spokenAt[len(p.spokenAt)-1]) < deliveryGap {
		return nil
	}
	urgent := slices.IndexFunc(p.waiting, func(l Line) bool { return l.Priority != Urgent })
	if urgent < 0 {
		urgent = len(p.waiting)
	}
	var due []string
	say := func(text string) {
		due = append(due, text)
		p.spokenAt = append(p.spokenAt, now)
	}
	for ; urgent > 0 && len(p.spokenAt) < maxLinesPerMinute; urgent-- {
		say(p.waiting[0].Text)
		p.waiting = p.waiting[1:]
	}
	room := maxLinesPerMinute - reservedUrgentLines - len(p.spokenAt)
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
		say(speech.Sentence("And %s; type: list", human.CountForms(n, "more job changed", "more jobs changed")))
		p.waiting = nil
	}
	return due
}

// attentionLines returns sentences about all findings, the worst first, and the jobs among them.
func attentionLines(a *assess.Assessment, flags string) (lines []string, jobs map[types.UID]bool) {
	jobs = map[types.UID]bool{}
	found := a.ListFindingsInWords()
	if n := len(found); n > 1 {
		lines = append(lines, speech.Sentence("%d things need attention, the worst first", n))
	}
	for _, f := range found {
		if j := a.FindJob(f.UID); j != nil {
			jobs[j.UID] = true
			lines = append(lines, Job(a.AssessJob(j), a.World.Now, flags))
			continue
		}
		lines = append(lines, findingText(f))
	}
	return lines, jobs
}

func findingText(f assess.Finding) string {
	return speech.Sentence("%s: %s %s: %s", human.Capitalize(f.Severity.String()), f.Kind, f.Name, view.FindingText(&f))
}

// FindingTracker finds new findings and findings that are over. The zero value is ready.
type FindingTracker struct{ previous map[string]assess.Finding }

// CollectLines returns the lines since the previous call; the first call returns none. Findings about jobs are left
// out, because [ChangeTracker] and [NewsTracker] cover them.
func (n *FindingTracker) CollectLines(found []assess.Finding) []Line {
	now := make(map[string]assess.Finding, len(found))
	var lines []Line
	for _, f := range found {
		if f.Tab == assess.TabBackups || f.Tab == assess.TabRestores {
			continue
		}
		about := fmt.Sprint("finding ", f.Ref(), " ", f.Reason)
		now[about] = f
		if _, known := n.previous[about]; !known && n.previous != nil {
			lines = append(lines, Line{Subject: about, Text: findingText(f), Priority: Urgent})
		}
	}
	for about, f := range n.previous {
		if _, still := now[about]; !still {
			lines = append(
				lines,
				Line{
					Subject:  about,
					Text:     speech.Sentence("No longer %s: %s %s, %s", f.Severity, f.Kind, f.Name, f.Reason),
					Priority: Normal,
				},
			)
		}
	}
	n.previous = now
	return lines
}
