package jobview

import (
	"fmt"

	"charm.land/lipgloss/v2"

	"github.com/veltui/veltui/ui/draw"
)

// operationsPage counts the asynchronous operations of plugins.
func operationsPage(c draw.Canvas, s *Screen) []string {
	o := s.job.Operations
	if o.Attempted == 0 {
		return []string{"", "  Plugins have started no asynchronous operation for this job" + soFar(s.job.Job) + "."}
	}
	inner := c.Sized(c.Width-2, 0)
	lines := []string{""}
	for _, count := range []struct {
		label string
		n     int
		style lipgloss.Style
	}{
		{"Started", o.Attempted, c.Theme.Text}, {"Completed", o.Completed, c.Theme.Good}, {"Failed", o.Failed, c.Theme.Bad},
		{"Still going", max(o.Attempted-o.Completed-o.Failed, 0), c.Theme.Running},
	} {
		lines = append(lines, inner.Labelled(count.label, labelWidth, count.style, fmt.Sprint(count.n), 1)...)
	}
	lines = append(lines, "")
	lines = append(lines, inner.Para(c.Theme.Dim, "Velero updates these counts every 10s. The Volumes page shows the bytes that its own data mover has moved.", 3)...)
	for i := range lines {
		lines[i] = " " + lines[i]
	}
	return lines
}
