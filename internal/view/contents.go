package view

import (
	"fmt"

	"github.com/veltui/veltui/collector"
	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/job"
)

// Contents are the contents of a job's backup, as far as they were read. A value is never changed.
type Contents struct {
	// While Pending, Done of Total bytes were read; Total is 0 if unknown.
	Pending     bool
	Done, Total int64

	Estimate  collector.Estimate        // the items that a restore restores
	Resources []collector.ResourceCount // the items that a backup holds
	Err       error
}

// ForbiddenContents replaces the contents where veltui may not read any.
var ForbiddenContents = &Contents{}

// UnavailableText returns why there are no contents of a job to show; empty if there are. The contents are nil if they
// were not requested.
func (c *Contents) UnavailableText(j *job.Job) string {
	switch {
	case c == ForbiddenContents:
		return "With --no-artifacts veltui does not read the contents of backups."
	case c == nil && j.Kind == job.Backup && (j.Stage == job.StageOperations || j.Stage == job.StageFinalizing):
		return "Velero may write the contents of this backup anew until it has ended; veltui reads them then."
	case c == nil && j.Kind == job.Backup && !j.IsTerminal():
		return "Velero stores what is in a backup when all items are done."
	case c == nil && j.Kind == job.Restore && j.BackupName == "":
		return "The restore has no backup yet."
	case c == nil:
		return "The backup's contents were not read."
	case c.Pending:
		return "Reading the backup's contents (downloaded only once)..."
	case c.Err != nil:
		return "The backup's contents are unknown: " + c.Err.Error()
	case len(c.Estimate.Refusals) > 0:
		return EstimateRefusal(c.Estimate.Refusals)
	}
	return ""
}

// ContentsColumns are the columns of a backup's contents.
var ContentsColumns = []ScreenColumn{
	{Width: 1},
	{Title: "IN THE BACKUP", Width: 18, Grow: 1, Limit: 50},
	{Title: "ITEMS", Width: 8, Right: true},
	{Title: "NAMESPACES", Width: 24, Grow: 2, Priority: 1},
}

// ItemsOfKinds counts items and their kinds: 402 items of 12 kinds.
func ItemsOfKinds(items, kinds int) string {
	return human.Count(items, "item") + " of " + human.Count(kinds, "kind")
}

// RestoreStepColumns returns the columns of a restore's steps. If Velero counts errors, it is unknown which of the
// items that it tried are restored. approx is the sign of an estimate.
func RestoreStepColumns(j *job.Job, approx string) []ScreenColumn {
	done := "RESTORED"
	if j.Errors > 0 {
		done = "TRIED"
	}
	return []ScreenColumn{
		{Width: 1},
		{Title: "RESOURCE (restore order)", Width: 18, Grow: 2, Limit: 50},
		{Width: 1},
		{Title: done, Width: 8, Right: true},
		{Title: "OF", Width: 7, Right: true},
		{Title: "from the tarball, " + approx, Width: 20, Grow: 1, Limit: 40, Priority: 1},
	}
}

// CurrentStepText returns the step at which a running restore is, with fewer words for less room; empty if there is
// none. approx is the sign of an estimate.
func CurrentStepText(j *job.Job, e *collector.Estimate, at collector.Position, approx string) Text {
	if j.IsTerminal() || j.Stage != job.StageItems || at.Resource == "" {
		return Text{}
	}
	short := fmt.Sprintf("Now %s, %d of %s%d", at.Resource, at.Done, approx, at.Total)
	step := Toned(Strong,
		fmt.Sprintf("%s, the %s of %s", short, human.Ordinal(at.Step+1), human.Count(len(e.Steps), "kind")))
	step.Narrow = []string{short}
	return step
}

// EstimateDifference compares an estimate with what Velero counts of the restore; empty if they do not contradict each
// other. An aborted restore has no final count.
func EstimateDifference(j *job.Job, e *collector.Estimate) string {
	if j.Kind == job.Restore && !j.IsTerminal() && !j.Items.Estimated {
		j = j.WithItemEstimate(e.ItemEstimate())
	}
	format := "Velero already counts %s; the estimate is %s."
	switch {
	case j.Kind != job.Restore || !j.Items.Known || j.Items.Total <= 0 || j.Items.Total == e.Total:
		return ""
	case j.IsTerminal() && j.Items.Done != j.Items.Total, !j.IsTerminal() && !j.Items.Estimated && j.Items.Total < e.Total:
		return ""
	case j.IsTerminal():
		format = "Velero counted %s; the estimate is %s, for the target's present kinds and namespaces."
	case j.Items.Estimated:
		format = "By Velero's counts it will be %s; the estimate was %s."
	}
	return fmt.Sprintf(format, human.Count(j.Items.Total, "item"), human.Number(e.Total))
}

// RestoreStepNotes returns what the counts of a restore's steps do not tell, and the assumptions of its estimate.
func RestoreStepNotes(j *job.Job, e *collector.Estimate) []string {
	var notes []string
	if j.Errors > 0 {
		notes = append(notes, "Velero reports "+human.Count(j.Errors, "error")+
			": it tried to restore these items, and not all of them are restored.")
	}
	if difference := EstimateDifference(j, e); difference != "" {
		notes = append(notes, difference)
	}
	return append(notes, e.Assumptions...)
}
