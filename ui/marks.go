package ui

import (
	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"
	"k8s.io/apimachinery/pkg/types"

	"github.com/veltui/veltui/assess"
	"github.com/veltui/veltui/job"
	"github.com/veltui/veltui/ui/draw"
)

// marks are the jobs that are to be finalized one after the other.
type marks map[types.UID]bool

// toggle marks a job, or takes its mark away.
func (s marks) toggle(uid types.UID) {
	if s[uid] {
		delete(s, uid)
	} else {
		s[uid] = true
	}
}

// prune forgets jobs that are gone or have ended.
func (s marks) prune(a *assess.Assessment) {
	for uid := range s {
		if j := a.Find(uid); j == nil || j.Terminal() {
			delete(s, uid)
		}
	}
}

// jobs are the marked ones, the most urgent first.
func (s marks) jobs(a *assess.Assessment) []*job.Job {
	if len(s) == 0 || a == nil {
		return nil
	}
	var marked []*job.Job
	for _, j := range byUrgency(a) {
		if s[j.UID] {
			marked = append(marked, j)
		}
	}
	return marked
}

// markCell is where a row has its mark: the gap behind cursor and sign.
const markCell = 2

// on puts the mark onto a drawn row.
func (s marks) on(c draw.Canvas, r row, line string) string {
	if !s[types.UID(r.key)] {
		return line
	}
	return ansi.Cut(line, 0, markCell) + c.Theme.Accent.Render(c.Glyphs.Marked) + ansi.Cut(line, markCell+1, lipgloss.Width(line))
}
