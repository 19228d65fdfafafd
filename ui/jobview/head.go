package jobview

import (
	"strings"

	"charm.land/lipgloss/v2"

	"github.com/veltui/veltui/assess"
	"github.com/veltui/veltui/diagnosis"
	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/job"
	"github.com/veltui/veltui/ui/draw"
	"github.com/veltui/veltui/velero"
)

func (s *Screen) title(c draw.Canvas) string {
	j := s.job.Job
	named := func(width int) string {
		return " " + c.Theme.Dim.Render(draw.KindLetter(j.Kind)) + " " + c.Theme.Strong.Render(c.CutMiddle(j.Name, width-4))
	}
	right := ""
	if kind, name := draw.Origin(j); name != "" {
		right = c.Theme.Dim.Render("from " + kind + " " + name)
	}
	switch {
	case s.deleted && s.aged:
		right = c.Theme.Waiting.Render("not read any more")
	case s.deleted:
		right = c.Theme.Bad.Render("deleted from the cluster")
	case !s.job.DeletionAt.IsZero():
		right = c.Theme.Waiting.Render("being deleted for " + human.Age(s.job.DeletionAt, c.Now))
	case lipgloss.Width(named(c.Width))+lipgloss.Width(right)+2 > c.Width:
		right = ""
	}
	return c.Split(named(c.Width-lipgloss.Width(right)-1), right+" ")
}

// stageLine shows the stages in order. The names of passed stages give way on narrow screens.
func stageLine(c draw.Canvas, j *job.Job) string {
	line := ""
	for brief := range 3 {
		if line = stageLineBrief(c, j, brief); lipgloss.Width(line) <= c.Width {
			break
		}
	}
	return c.Cut(line, c.Width)
}

func stageLineBrief(c draw.Canvas, j *job.Job, brief int) string {
	var parts []string
	for _, record := range j.Stages {
		name := string(record.Stage)
		if record.Stage == job.StageQueued && j.Kind == job.Restore {
			name = velero.PhaseNew
		}
		here := record.Stage == j.Stage
		switch {
		case here && !j.Terminal():
			text := name + " " + c.Glyphs.Now
			if !record.Began.IsZero() {
				text += " " + human.Age(record.Began, c.Now)
			}
			parts = append(parts, c.Theme.Running.Render(text))
		case here:
			glyph, style := c.Ending(j.Phase)
			parts = append(parts, style.Render(j.Phase+" "+glyph))
		case record.Skipped && record.Ended.IsZero() && record.Began.IsZero():
			if brief < 1 {
				parts = append(parts, c.Theme.Dim.Render(name+" "+c.Glyphs.Skipped))
			}
		case !record.Ended.IsZero():
			text := name + " " + c.Glyphs.Done
			if brief < 2 && !record.Began.IsZero() {
				text += " " + human.Duration(record.Ended.Sub(record.Began))
			}
			parts = append(parts, c.Theme.Good.Render(text))
		case !j.Terminal():
			parts = append(parts, c.Theme.Dim.Render(name+" "+c.Glyphs.Ahead))
		case j.Phase == velero.PhaseCompleted || j.Phase == velero.PhasePartiallyFailed: // it went through all of them
			parts = append(parts, c.Theme.Good.Render(name+" "+c.Glyphs.Done))
		}
	}
	return " " + strings.Join(parts, c.Theme.Dim.Render(" "+c.Glyphs.Stage+" "))
}

func progressLine(c draw.Canvas, j assess.Judged) string {
	var words []string
	drawn := j.FractionKnown || j.Terminal()
	if drawn {
		words = append(words, c.Theme.Strong.Render(c.Estimated(j.Job, job.UnitItems)+human.Percent(j.Fraction)))
	}
	if amount := j.Amount(); amount != "" {
		_, _, unit, _ := j.Progress()
		words = append(words, c.Estimated(j.Job, unit)+amount)
	}
	if speed := j.Rate.String(); speed != "" {
		words = append(words, speed)
	}
	if left := j.ETA.String(); left != "" {
		words = append(words, "ETA "+left)
	}
	switch j.State {
	case diagnosis.Stuck, diagnosis.Orphaned, diagnosis.Quiet, diagnosis.Unknown:
		words = append(words, c.Mood(j.State).Render(string(j.State)))
	}
	text := strings.Join(words, "  ")
	width := c.Width - lipgloss.Width(text) - 4
	if width < 8 {
		return " " + c.Cut(text, c.Width-1)
	}
	bar := c.NoBar(width)
	if drawn {
		bar = c.Bar(j.Fraction, width)
	}
	return " " + bar + "  " + text
}
