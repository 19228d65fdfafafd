package jobview

import (
	"charm.land/lipgloss/v2"

	"github.com/veltui/veltui/human"
	"github.com/veltui/veltui/job"
	"github.com/veltui/veltui/ui/draw"
	"github.com/veltui/veltui/velero/decode"
)

var volumeColumns = []draw.Column{
	{Width: 1},
	{Title: "VOLUME", Width: 22, Grow: 2, Limit: 60},
	{Title: "PHASE", Width: 10},
	{Title: "PROGRESS", Width: 16, Grow: 1, Limit: 30},
	{Title: "DONE", Width: 11, Right: true},
	{Title: "CHANGED", Width: 8, Priority: 1, Right: true},
	{Title: "NODE", Width: 14, Grow: 1, Limit: 30, Priority: 3},
	{Title: "KIND", Width: 16, Priority: 2},
}

// volumesPage lists the volumes whose data is moved for the job.
func volumesPage(c draw.Canvas, s *Screen) []string {
	j := s.job.Job
	if len(j.Volumes) == 0 {
		return []string{"", "  No volume data is moved for this job" + soFar(j) + "."}
	}
	widths := draw.FitColumns(volumeColumns, c.Width)
	lines := []string{c.Titles(volumeColumns, widths, draw.Sorting{})}
	for _, v := range j.Volumes {
		style := volumeStyle(c, v)
		progress := c.NoBar(widths[3])
		if fraction, known := v.Fraction(); known {
			progress = c.Bar(fraction, widths[3]-5) + c.FitRight(human.Percent(fraction), 5)
		}
		lines = append(lines, draw.JoinCells([]string{
			" ",
			c.Cell(c.Theme.Text, v.Target, widths[1], false),
			c.Cell(style, v.Phase, widths[2], false),
			progress,
			c.Cell(c.Theme.Text, human.BytesOf(v.Done, v.Total), widths[4], true),
			c.Cell(c.Theme.Dim, human.Age(v.Changed, c.Now), widths[5], true),
			c.Cell(c.Theme.Dim, v.Node, widths[6], false),
			c.Cell(c.Theme.Dim, string(v.Kind), widths[7], false),
		}, widths))
		if v.Malformed != (decode.Malformed{}) {
			lines = append(lines, "    "+c.Theme.Bad.Render(v.Name+" is malformed: "+v.Malformed.String()))
		}
		if v.Message != "" {
			lines = append(lines, "    "+style.Render(v.Message))
		}
	}
	return lines
}

// soFar qualifies what may still come; to an ended job nothing comes.
func soFar(j *job.Job) string {
	if j.Terminal() {
		return ""
	}
	return " so far"
}

func volumeStyle(c draw.Canvas, v job.Volume) lipgloss.Style {
	switch v.Phase {
	case "Completed":
		return c.Theme.Good
	case "Failed", "Canceled", "Canceling":
		return c.Theme.Bad
	case "InProgress":
		return c.Theme.Running
	default:
		return c.Theme.Waiting
	}
}
