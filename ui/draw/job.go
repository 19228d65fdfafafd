package draw

import (
	"strings"

	"charm.land/lipgloss/v2"

	"github.com/veltui/veltui/internal/assess"
	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/velero"
	"github.com/veltui/veltui/internal/view"
)

func (c Canvas) EndPhaseGlyph(phase string) (string, lipgloss.Style) {
	style := c.Theme.ToneStyle(view.EndPhaseTone(phase))
	switch phase {
	case velero.PhaseCompleted:
		return c.Glyphs.Done, style
	case velero.PhasePartiallyFailed:
		return c.Glyphs.PartiallyFailed, style
	}
	return c.Glyphs.Failed, style
}

// MarkGlyph returns the glyph of a mark.
func (c Canvas) MarkGlyph(mark view.Mark) string {
	g := c.Glyphs
	return [...]string{
		view.MarkAhead:     g.Ahead,
		view.MarkNow:       g.Current,
		view.MarkDone:      g.Done,
		view.MarkFailed:    g.Failed,
		view.MarkSkipped:   g.Skipped,
		view.MarkUnknown:   g.Unproven,
		view.MarkAttention: g.Attention,
	}[mark]
}

// RenderPhaseSigns draws the signs of the phases in which jobs ended.
func (c Canvas) RenderPhaseSigns(phases []string) string {
	var all strings.Builder
	for _, phase := range phases {
		sign, style := c.EndPhaseGlyph(phase)
		all.WriteString(style.Render(sign))
	}
	return all.String()
}

// EstimateMark returns the mark in front of figures that veltui estimates itself.
func (c Canvas) EstimateMark(j *job.Job, unit job.Unit) string {
	if view.IsEstimated(j, unit) {
		return c.Glyphs.Approx
	}
	return ""
}

// ProgressTexts returns a job's amount, rate and remaining time, as far as they are known.
func (c Canvas) ProgressTexts(j assess.JudgedJob) (words []string) {
	for _, part := range view.JobProgress(j) {
		words = append(words, c.WithEstimateMark(part))
	}
	return words
}

// WithEstimateMark returns a text, with a mark in front of a figure that veltui estimates itself.
func (c Canvas) WithEstimateMark(t view.Text) string {
	if t.Estimated {
		return human.Prefixed(c.Glyphs.Approx, t.Text)
	}
	return t.Text
}

// JobReference returns a job's name as commands take it: restore/crm-old.
func JobReference(kind job.Kind, name string) string {
	return strings.ToLower(string(kind)) + "/" + name
}
