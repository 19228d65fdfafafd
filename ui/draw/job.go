package draw

import (
	"slices"
	"strings"
	"time"

	"charm.land/lipgloss/v2"

	"github.com/veltui/veltui/internal/assess"
	"github.com/veltui/veltui/internal/diagnosis"
	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/velero"
)

func (c Canvas) Ending(phase string) (string, lipgloss.Style) {
	switch phase {
	case velero.PhaseCompleted:
		return c.Glyphs.Done, c.Theme.Good
	case velero.PhasePartiallyFailed:
		return c.Glyphs.Partly, c.Theme.Waiting
	}
	return c.Glyphs.Failed, c.Theme.Bad
}

// Estimated is the mark in front of figures that are veltui's own estimate.
func (c Canvas) Estimated(j *job.Job, unit job.Unit) string {
	if unit == job.UnitItems && j.Items.Estimated && (j.Stage == job.StageItems || j.Stage == job.StageQueued) {
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

func (c Canvas) Mood(s diagnosis.State) lipgloss.Style {
	switch s {
	case diagnosis.Stuck, diagnosis.Orphaned:
		return c.Theme.Bad
	case diagnosis.Waiting, diagnosis.Quiet, diagnosis.Unknown:
		return c.Theme.Waiting
	}
	return c.Theme.Running
}

func KindLetter(k job.Kind) string {
	if k == job.Restore {
		return "R"
	}
	return "B"
}

// Origin is a restore's backup or a backup's schedule; the name may be empty.
func Origin(j *job.Job) (kind, name string) {
	if j.Kind == job.Restore && j.BackupName != "" {
		return "backup", j.BackupName
	}
	return "schedule", j.ScheduleName
}

// Age is how long ago t was, in steps that spare redrawing every row each second; empty if not known.
func Age(t, now time.Time) string {
	if t.IsZero() {
		return ""
	}
	switch age := now.Sub(t); {
	case age >= time.Minute:
		return human.Duration(age.Truncate(time.Minute))
	case age >= 10*time.Second:
		return human.Duration(age.Truncate(10 * time.Second))
	}
	return "<10s"
}

// StageAge is how long the present stage lasts, empty if that is not known.
func StageAge(j *job.Job, now time.Time) string {
	for _, record := range j.Stages {
		if record.Stage == j.Stage {
			return Age(record.Began, now)
		}
	}
	return ""
}

// Subject names a job as commands do: restore/crm-old.
func Subject(kind job.Kind, name string) string { return strings.ToLower(string(kind)) + "/" + name }
