package jobview

import (
	"fmt"
	"strings"
	"time"

	"charm.land/lipgloss/v2"

	"github.com/veltui/veltui/assess"
	"github.com/veltui/veltui/diagnosis"
	"github.com/veltui/veltui/human"
	"github.com/veltui/veltui/job"
	"github.com/veltui/veltui/ui/draw"
)

// overviewPage tells how the job stands and why veltui thinks so, and the facts
// about the job itself.
func overviewPage(c draw.Canvas, s *Screen) []string {
	v := s.job.Verdict
	text := c.Sized(min(c.Width-2, widest), 0)
	lines := text.Para(c.Theme.Strong, v.Summary, 4)
	for _, f := range v.Facts {
		seen := f.Source
		if !f.At.IsZero() {
			seen += ", " + human.Age(f.At, c.Now)
		}
		lines = append(lines, text.Observed(f.Holds, f.Text, seen)...)
	}
	lines = append(lines, text.Para(c.Theme.Accent, Advice(s.job), 5)...)
	lines = append(lines, "")
	for _, f := range fields(c, s.job) {
		lines = append(lines, text.Labelled(f.label, labelWidth, f.style, f.text, 6)...)
	}
	for i := range lines {
		lines[i] = " " + lines[i]
	}
	return lines
}

// Advice is what would help a job, with the keys that lead to it.
func Advice(j assess.Judged) string {
	advice := j.Verdict.Advice
	switch j.Verdict.Action {
	case diagnosis.Finalize:
		advice += " Press f to check the evidence and finalize it."
	case diagnosis.Wake:
		advice += " Press f, then w, to wake it."
	case diagnosis.Restart:
		advice += " Press f, then w, for the command and for what else a restart fails."
	case diagnosis.FixField, diagnosis.RestartNodeAgent:
		advice += " Press f, then w, for the command."
	default:
		if j.Troubled() {
			advice += " Press f to see what can be done."
		}
	}
	return strings.TrimSpace(advice)
}

// widest is how wide text gets: longer lines are hard to read.
const widest = 110

// field is one thing known of the job, with its label.
type field struct {
	label, text string
	style       lipgloss.Style
}

// labelWidth is that of the longest label and a gap.
const labelWidth = 15

func fields(c draw.Canvas, j assess.Judged) []field {
	t := c.Theme
	all := []field{{"Phase", phaseText(j.Phase), t.Text}}
	add := func(label, text string, style lipgloss.Style) {
		if text != "" {
			all = append(all, field{label, text, style})
		}
	}
	if !j.Created.After(j.Began()) { // a backup that was synced is older than its resource
		add("Created", moment(c, j.Created), t.Text)
	}
	add("Started", moment(c, j.Started), t.Text)
	add("Completed", moment(c, j.Completed), t.Text)
	if !j.Started.IsZero() {
		add("Elapsed", human.Duration(j.Elapsed(c.Now)), t.Text)
	}
	if !j.Terminal() {
		add("Last moved", human.Ago(j.QuietSince(), c.Now), t.Text)
	}
	add("Timeout", timeoutText(c, j.Deadline), t.Text)
	add("Items", itemsText(c, j.Job), t.Text)
	if j.Warnings > 0 {
		add("Warnings", fmt.Sprint(j.Warnings), t.Waiting)
	}
	if j.Errors > 0 {
		add("Errors", fmt.Sprint(j.Errors), t.Bad)
	}
	for _, m := range j.Malformed {
		add("Malformed", m.String(), t.Bad)
	}
	add("Failed because", j.FailureReason, t.Bad)
	add("Not valid", strings.Join(j.ValidationErrors, "; "), t.Bad)
	if kind, name := draw.Origin(j.Job); name != "" {
		add("From", kind+" "+name, t.Text)
	}
	add("Stored in", j.StorageLocation, t.Text)
	return all
}

func phaseText(phase string) string {
	if phase == "" {
		return "New (Velero has not picked it up yet)"
	}
	return phase
}

// moment is a time stamp with its age.
func moment(c draw.Canvas, t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.In(c.Now.Location()).Format("2006-01-02 15:04:05") + "  " + human.Ago(t, c.Now)
}

// timeoutText says when Velero itself gives up on the present stage.
func timeoutText(c draw.Canvas, d assess.Deadline) string {
	switch {
	case d.At.IsZero():
		return ""
	case d.At.Before(c.Now):
		return fmt.Sprintf("passed %s (%s)", human.Ago(d.At, c.Now), d.Setting)
	}
	return fmt.Sprintf("Velero gives up in %s (%s)", human.Duration(d.At.Sub(c.Now)), d.Setting)
}

func itemsText(c draw.Canvas, j *job.Job) string {
	if !j.Items.Known {
		return ""
	}
	text := fmt.Sprintf("%d of %s%d", j.Items.Done, c.Estimated(j, job.UnitItems), j.Items.Total)
	if from := j.Items.RevisedFrom; from > 0 && from != j.Items.Total {
		text += fmt.Sprintf(" (Velero revised the total from %d)", from)
	}
	return text
}
