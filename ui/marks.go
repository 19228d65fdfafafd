package ui

import (
	"maps"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/veltui/veltui/job"
	"github.com/veltui/veltui/ui/draw"
)

// marks are the rows of jobs that are to be finalized one after the other, by
// their keys.
type marks map[string]bool

// toggle marks a job, or takes its mark away.
func (s marks) toggle(key string) {
	if s[key] {
		delete(s, key)
	} else {
		s[key] = true
	}
}

// prune forgets jobs that are gone or have ended.
func (s marks) prune(clusters []*cluster) {
	if len(s) == 0 {
		return
	}
	there := marks{}
	for _, c := range clusters {
		if c.assessed == nil {
			continue
		}
		for _, j := range c.assessed.Snapshot.Active {
			there[c.key(string(j.UID))] = true
		}
	}
	maps.DeleteFunc(s, func(key string, _ bool) bool { return !there[key] })
}

// jobs are the marked ones of a cluster, the most urgent first.
func (s marks) jobs(c *cluster) []*job.Job {
	if len(s) == 0 || c.assessed == nil {
		return nil
	}
	var marked []clusterJob
	for _, j := range c.assessed.Snapshot.Active {
		if s[c.key(string(j.UID))] {
			marked = append(marked, clusterJob{c, j})
		}
	}
	byUrgency(marked)
	jobs := make([]*job.Job, len(marked))
	for i, j := range marked {
		jobs[i] = j.Job
	}
	return jobs
}

// markCell is where a row has its mark: the gap behind cursor and sign.
const markCell = 2

// on puts the mark onto a drawn row.
func (s marks) on(c draw.Canvas, r row, line string) string {
	if !s[r.key] {
		return line
	}
	return ansi.Cut(line, 0, markCell) + c.Theme.Accent.Render(c.Glyphs.Marked) + ansi.Cut(line, markCell+1, lipgloss.Width(line))
}
