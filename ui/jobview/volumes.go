package jobview

import (
	"slices"

	"charm.land/lipgloss/v2"

	"github.com/veltui/veltui/assess"
	"github.com/veltui/veltui/human"
	"github.com/veltui/veltui/job"
	"github.com/veltui/veltui/ui/draw"
	"github.com/veltui/veltui/velero/decode"
)

var volumeColumns = []draw.Column{
	{Width: 1},
	{Title: "VOLUME", Width: 22, Grow: 2, Limit: 60},
	{Title: "PHASE", Width: 10},
	{Title: "PROGRESS", Width: 14, Grow: 1, Limit: 30},
	{Title: "DONE", Width: 11, Right: true},
	{Title: "RATE", Width: 8, Priority: 2, Right: true},
	{Title: "LEFT", Width: 6, Priority: 1, Right: true},
	{Title: "CHANGED", Width: 8, Priority: 3, Right: true},
	{Title: "NODE", Width: 14, Grow: 1, Limit: 30, Priority: 5},
	{Title: "KIND", Width: 16, Priority: 4},
}

// volumesPage lists the volumes whose data is moved for the job, and names the
// one that holds it up.
func volumesPage(c draw.Canvas, s *Screen) []string {
	j := s.job.Job
	if len(j.Volumes) == 0 {
		return []string{"", "  No volume data is moved for this job" + soFar(j) + "."}
	}
	volumes := s.assessed.Volumes(j)
	widths := draw.FitColumns(volumeColumns, c.Width)
	lines := []string{c.Titles(volumeColumns, widths, draw.Sorting{})}
	if last := assess.Last(volumes); last != nil && len(volumes) > 1 && !j.Terminal() && c.Height >= 8 {
		lines = slices.Insert(lines, 0, " "+c.Theme.Accent.Render("Held up by "+last.Target+lastWords(last)), "")
	}
	for _, v := range volumes {
		style := volumeStyle(c, *v.Volume)
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
			c.Cell(c.Theme.Text, v.Rate.String(), widths[5], true),
			c.Cell(c.Theme.Text, v.ETA.String(), widths[6], true),
			c.Cell(c.Theme.Dim, human.Age(v.Changed, c.Now), widths[7], true),
			c.Cell(c.Theme.Dim, v.Node, widths[8], false),
			c.Cell(c.Theme.Dim, string(v.Kind), widths[9], false),
		}, widths))
		if v.Malformed != (decode.Malformed{}) {
			lines = append(lines, "    "+c.Theme.Bad.Render(v.Name+" is malformed: "+v.Malformed.String()))
		}
		switch {
		case v.Verdict.Stuck:
			lines = append(lines, "    "+c.Theme.Bad.Render(v.Verdict.Cause))
		case v.Verdict.Cause != "":
			lines = append(lines, "    "+c.Theme.Dim.Render(v.Verdict.Cause))
		}
		if v.Message != "" {
			lines = append(lines, "    "+style.Render(v.Message))
		}
	}
	return lines
}

// lastWords says how the volume that holds the job up stands.
func lastWords(v *assess.Volume) string {
	switch {
	case v.ETA.Known:
		return ", " + v.ETA.String() + " left"
	case v.Verdict.Cause != "":
		return ": " + v.Verdict.Cause
	}
	return ""
}

// soFar qualifies what may still come; to an ended job nothing comes.
func soFar(j *job.Job) string {
	if j.Terminal() {
		return ""
	}
	return " so far"
}

func volumeStyle(c draw.Canvas, v job.Volume) lipgloss.Style {
	t := c.Theme
	styles := map[string]lipgloss.Style{"Completed": t.Good, "InProgress": t.Running, "Failed": t.Bad, "Canceled": t.Bad, "Canceling": t.Bad}
	if style, known := styles[v.Phase]; known {
		return style
	}
	return t.Waiting
}
