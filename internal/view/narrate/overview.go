package narrate

import (
	"fmt"
	"slices"
	"strings"

	"github.com/veltui/veltui/internal/assess"
	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/watch"
)

// Overview says how everything is: counts, what needs attention, at most so many open jobs, trouble first, and the
// one that ended last. flags are those of [Job].
func Overview(a *assess.Assessment, most int, flags string) []string {
	needed, said := attention(a, flags)
	lines := append(append([]string{counts(a)}, around(a)...), needed...)
	active := slices.DeleteFunc(urgentFirst(a), func(j assess.Judged) bool { return said[j.UID] })
	for i, j := range active {
		if i == most {
			lines = append(lines, sentence("And %d more; type: get", len(active)-most))
			break
		}
		lines = append(lines, Job(j, a.Environment.Now, flags))
	}
	if j := lastEnded(a); j != nil && !said[j.UID] {
		lines = append(lines, Job(a.Of(j), a.Environment.Now, flags))
	}
	return lines
}

func counts(a *assess.Assessment) string {
	ended := len(a.Snapshot.Jobs) - len(a.Snapshot.Active) + a.Snapshot.LeftBackups + a.Snapshot.LeftRestores
	if len(a.Snapshot.Active) == 0 {
		return sentence("No backup or restore is active; %s ended", human.Plural(ended, "has", "have"))
	}
	var parts []string
	for _, p := range []struct {
		n    int
		what string
	}{{a.Troubled, "stuck"}, {a.Running, "running"}, {a.Queued, "in the queue"}} {
		if p.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", p.n, p.what))
		}
	}
	return sentence(
		"%s active: %s; %s ended",
		human.Plural(len(a.Snapshot.Active), "job is", "jobs are"),
		strings.Join(parts, ", "),
		human.Plural(ended, "has", "have"),
	)
}

// around are sentences about what is wrong around the jobs.
func around(a *assess.Assessment) []string {
	var lines []string
	if a.Snapshot.Notice != "" {
		lines = append(lines, sentence("Note: %s", a.Snapshot.Notice))
	}
	for _, s := range a.Snapshot.Sources {
		if s.State == watch.SourceForbidden {
			lines = append(lines, sentence("Note: you may not list %s, so veltui does not see them", s.Resource))
		}
	}
	return lines
}

func urgentFirst(a *assess.Assessment) []assess.Judged {
	var active []assess.Judged
	for _, j := range a.Snapshot.Active {
		active = append(active, a.Of(j))
	}
	rank := func(j assess.Judged) int {
		switch {
		case j.Troubled(), len(j.Malformed) > 0:
			return 0
		case j.Stage == job.StageQueued:
			return 2
		}
		return 1
	}
	slices.SortStableFunc(active, func(a, b assess.Judged) int { return rank(a) - rank(b) })
	return active
}

// lastEnded is the job that ended last, nil for none.
func lastEnded(a *assess.Assessment) (last *job.Job) {
	for _, j := range a.Snapshot.Jobs {
		if j.Terminal() && (last == nil || j.Completed.After(last.Completed)) {
			last = j
		}
	}
	return last
}

// Find are the jobs with a name, or else those whose name contains it, such as crm-old or restore/crm-old.
func Find(a *assess.Assessment, name string) []assess.Judged {
	kind, rest, both := strings.Cut(name, "/")
	if !both {
		kind, rest = "", name
	}
	var exact, near []assess.Judged
	for _, j := range a.Snapshot.Jobs {
		switch {
		case kind != "" && !strings.HasPrefix(j.Kind.Resource(), strings.ToLower(strings.TrimSuffix(kind, "s"))):
		case j.Name == rest:
			exact = append(exact, a.Of(j))
		case rest != "" && strings.Contains(j.Name, rest):
			near = append(near, a.Of(j))
		}
	}
	if len(exact) > 0 {
		return exact
	}
	return near
}
