package draw

import (
	"slices"
	"strings"

	"charm.land/lipgloss/v2"

	"github.com/veltui/veltui/internal/assess"
	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/velero"
	"github.com/veltui/veltui/internal/view"
)

func (c Canvas) Ending(phase string) (string, lipgloss.Style) {
	style := c.Theme.Tone(view.EndTone(phase))
	switch phase {
	case velero.PhaseCompleted:
		return c.Glyphs.Done, style
	case velero.PhasePartiallyFailed:
		return c.Glyphs.Partly, style
	}
	return c.Glyphs.Failed, style
}

// Estimated is the mark in front of figures that are veltui's own estimate.
func (c Canvas) Estimated(j *job.Job, unit job.Unit) string {
	if view.Estimated(j, unit) {
		return c.Glyphs.Approx
	}
	return ""
}

// ProgressWords are a job's amount, rate and time left, as far as they are known.
func (c Canvas) ProgressWords(j assess.Judged) []string {
	return slices.DeleteFunc(
		[]string{c.Amount(j), j.Rate.String(), human.Clause("ETA ", j.ETA.String())},
		func(s string) bool { return s == "" },
	)
}

// Amount is how much of a job is done, marked if it is an estimate; empty if that is not known.
func (c Canvas) Amount(j assess.Judged) string {
	_, _, unit, _ := j.Progress()
	return human.Clause(c.Estimated(j.Job, unit), j.Amount())
}

// Subject names a job as commands do: restore/crm-old.
func Subject(kind job.Kind, name string) string { return strings.ToLower(string(kind)) + "/" + name }
