package narrate

import (
	"slices"
	"strings"

	"github.com/veltui/veltui/internal/assess"
	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/view"
	"github.com/veltui/veltui/internal/view/speech"
	"github.com/veltui/veltui/watch"
)

// Overview returns the overall state: counts, findings, at most most other active jobs, the urgent ones first, and
// the job that ended last. flags are as for [Job].
func Overview(a *assess.Assessment, most int, flags string) []string {
	needed, named := attentionLines(a, flags)
	lines := append(append([]string{countsText(a)}, noticeLines(a)...), needed...)
	active := slices.DeleteFunc(sortByUrgency(a), func(j assess.JudgedJob) bool { return named[j.UID] })
	for i, j := range active {
		if i == most {
			lines = append(lines, speech.Sentence("And %s; type: get", human.More(len(active)-most)))
			break
		}
		lines = append(lines, Job(j, a.World.Now, flags))
	}
	if j := findLastEnded(a); j != nil && !named[j.UID] {
		lines = append(lines, Job(a.AssessJob(j), a.World.Now, flags))
	}
	return lines
}

func countsText(a *assess.Assessment) string {
	ended := len(a.Snapshot.Jobs) - len(a.Snapshot.Active) + a.Snapshot.AgedOutBackups + a.Snapshot.AgedOutRestores
	if len(a.Snapshot.Active) == 0 {
		return speech.Sentence("No backup or restore is active; %s ended", human.CountForms(ended, "has", "have"))
	}
	n := view.NewJobCounts(a)
	parts := slices.DeleteFunc([]string{n.Stuck, n.Running, n.Queued}, func(text string) bool { return text == "" })
	return speech.Sentence(
		"%s active: %s; %s ended",
		human.CountForms(len(a.Snapshot.Active), "job is", "jobs are"),
		strings.Join(parts, ", "),
		human.CountForms(ended, "has", "have"),
	)
}

// noticeLines returns sentences about problems other than those of jobs.
func noticeLines(a *assess.Assessment) []string {
	var lines []string
	if a.Snapshot.NamespaceNotice != "" {
		lines = append(lines, speech.Sentence("Note: %s", a.Snapshot.NamespaceNotice))
	}
	for _, s := range a.Snapshot.Sources {
		if s.State == watch.SourceForbidden {
			lines = append(lines, speech.Sentence("Note: you may not list %s, so veltui does not see them", s.Resource))
		}
	}
	return lines
}

func sortByUrgency(a *assess.Assessment) []assess.JudgedJob {
	var active []assess.JudgedJob
	for _, j := range a.Snapshot.Active {
		active = append(active, a.AssessJob(j))
	}
	rank := func(j assess.JudgedJob) int {
		switch {
		case j.IsTroubled(), len(j.MalformedFields) > 0:
			return 0
		case j.Stage == job.StageQueued:
			return 2
		}
		return 1
	}
	slices.SortStableFunc(active, func(a, b assess.JudgedJob) int { return rank(a) - rank(b) })
	return active
}

// findLastEnded returns the job that ended last, nil for none.
func findLastEnded(a *assess.Assessment) (last *job.Job) {
	for _, j := range a.Snapshot.Jobs {
		if j.IsTerminal() && (last == nil || j.Completed.After(last.Completed)) {
			last = j
		}
	}
	return last
}

// FindJobs returns the jobs with a name such as crm-old or restore/crm-old, or else those whose name contains it.
func FindJobs(a *assess.Assessment, name string) []assess.JudgedJob {
	kind, rest, both := strings.Cut(name, "/")
	if !both {
		kind, rest = "", name
	}
	var exact, near []assess.JudgedJob
	for _, j := range a.Snapshot.Jobs {
		switch {
		case kind != "" && !strings.HasPrefix(j.Kind.Resource(), strings.ToLower(strings.TrimSuffix(kind, "s"))):
		case j.Name == rest:
			exact = append(exact, a.AssessJob(j))
		case rest != "" && strings.Contains(j.Name, rest):
			near = append(near, a.AssessJob(j))
		}
	}
	if len(exact) > 0 {
		return exact
	}
	return near
}
