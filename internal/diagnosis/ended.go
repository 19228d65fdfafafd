package diagnosis

import (
	"fmt"
	"strings"

	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/velero"
	"github.com/veltui/veltui/internal/velero/decode"
)

// ended says how the job ended. It has no state, but it may have advice.
func (a *assessment) ended() Verdict {
	j := a.j
	a.noteCounts()
	at := job.Latest(j.Completed, j.Changed)
	a.Supports(SourceWatch, at, "phase %s", j.Phase)
	if j.FailureReason != "" {
		a.Supports(SourceWatch, at, "%s", human.Shorten(j.FailureReason, 400))
	}
	for _, e := range j.ValidationErrors {
		a.Supports(SourceWatch, at, "%s", human.Shorten(e, 400))
	}
	if j.Revived() {
		a.Supports(SourceWatch, at, "it had ended before, and went on: its phase was written over")
	}
	failed := a.noteFailedVolumes()
	advice, open := "", ""
	if n := j.ActiveVolumes(); n > 0 {
		// They go on, or stay for ever (Velero issues 7908, 7067, 4403).
		a.Supports(SourceWatch, at, "%s not ended, although the job is over", human.Count(n, "volume"))
		advice = "What still moves can be cancelled at the volume."
		open = fmt.Sprintf("; %s not ended", human.OfAll(n, j.VolumeCount(), "volume"))
	}
	if j.Deleting {
		advice = "It goes when the Velero server has removed its files; that needs its storage location."
	}
	text := a.outcome(failed)
	if why := a.evidence().NotFinalized; why != "" {
		a.Supports(SourceStorage, a.Now, "%s", why)
		text += "; its contents lack what its operations made"
		advice = "Take another backup: of this one, volumes that were moved cannot be restored."
	}
	if text += open; j.Deleting {
		text += "; being deleted"
	}
	if len(j.Malformed) > 0 {
		text += fmt.Sprintf("; %s. %s", j.Malformed[0], decode.ServerWarning)
	}
	return a.Conclude("", Reason(j.Phase), advice, "%s", text)
}

func (a *assessment) noteFailedVolumes() int {
	failed := 0
	for i := range a.j.Volumes {
		v := &a.j.Volumes[i]
		if !v.Failed() {
			continue
		}
		failed++
		if failed <= 5 {
			a.Supports(SourceWatch, v.Changed, "%s %s is %s%s", v.Kind, v.Target, v.Phase, because(v.Message))
		}
	}
	if failed > 5 {
		a.Supports(SourceWatch, a.j.Changed, "and %s more failed", human.Count(failed-5, "volume"))
	}
	return failed
}

// reasonRunes is how much of a foreign reason a summary has; the facts hold all of it.
const reasonRunes = 60

func (a *assessment) outcome(failedVolumes int) string {
	j, took := a.j, ""
	if !j.Completed.IsZero() && !j.Started.IsZero() {
		took = a.env.Style.Duration(j.Elapsed(j.Completed))
	}
	tail := tail(j)
	switch j.Phase {
	case velero.PhaseCompleted:
		// Velero calls a backup Completed although volumes of it failed (Velero issues 6212 and 6490).
		if failedVolumes > 0 {
			return fmt.Sprintf(
				"Completed, but %s failed%s",
				human.OfAll(failedVolumes, j.VolumeCount(), "volume"),
				tail,
			)
		}
		return "Completed" + human.Clause(" in ", took) + tail
	case velero.PhaseFailedValidation:
		if len(j.ValidationErrors) > 0 {
			return "FailedValidation: " + human.Shorten(j.ValidationErrors[0], reasonRunes)
		}
		return "FailedValidation"
	case velero.PhaseFailed:
		text := "Failed" + human.Clause(" after ", took)
		if j.Items.Known && j.Items.Total > 0 {
			text += fmt.Sprintf(" at %s of %s", human.Number(j.Items.Done), human.Count(j.Items.Total, "item"))
		}
		return text + human.Clause(": ", human.Shorten(j.FailureReason, reasonRunes))
	}
	text := j.Phase + human.Clause(" after ", took) + tail
	if failedVolumes > 0 {
		text += fmt.Sprintf(", %s failed", human.OfAll(failedVolumes, j.VolumeCount(), "volume"))
	}
	return text + human.Clause(": ", human.Shorten(j.FailureReason, reasonRunes))
}

func tail(j *job.Job) string {
	text := ""
	switch {
	case j.Items.Known && j.Items.Done < j.Items.Total:
		text += fmt.Sprintf(", %s of %s counted", human.Number(j.Items.Done), human.Count(j.Items.Total, "item"))
	case j.Items.Known:
		text += ", " + human.Count(j.Items.Total, "item")
	}
	if j.Errors > 0 {
		text += ", " + human.Count(j.Errors, "error")
	}
	if j.Warnings > 0 {
		text += ", " + human.Count(j.Warnings, "warning")
	}
	return text
}

func progressText(j *job.Job) string {
	switch j.Stage {
	case job.StageQueued:
		return "has not begun"
	case job.StageItems:
		return itemsText(j)
	case job.StageVolumes:
		return volumesText(j.PodVolumes())
	case job.StageOperations:
		if j.DataMovements().Count > 0 {
			return volumesText(j.DataMovements())
		}
		return fmt.Sprintf("items done; %d of %s ended", j.Operations.Ended(),
			human.Count(j.Operations.Attempted, "operation"))
	case job.StageFinalizing:
		if strings.HasSuffix(j.Phase, velero.PhasePartiallyFailed) {
			return "all work done, with errors; Velero finalizes"
		}
		return "all work done, Velero finalizes"
	case job.StageDeleting:
		return "being deleted"
	}
	return "phase " + human.Shorten(j.Phase, 40)
}

func itemsText(j *job.Job) string {
	switch {
	case !j.Items.Known && j.Kind == job.Restore:
		return "reading the backup, no count yet"
	case !j.Items.Known:
		return "collecting what to back up, no count yet"
	case j.Items.Done >= j.Items.Total:
		return human.All(j.Items.Total, "item") + " done"
	}
	return fmt.Sprintf("%s of %s", human.Number(j.Items.Done), human.Count(j.Items.Total, "item"))
}

func volumesText(t job.Tally) string {
	switch {
	case t.Active() == 0:
		return fmt.Sprintf("items done; %s ended", human.Count(t.Count, "volume"))
	case t.Sized():
		return fmt.Sprintf(
			"items done; %s of %s in %s",
			human.Bytes(t.Done),
			human.Bytes(t.Total),
			human.Count(t.Count, "volume"),
		)
	}
	return fmt.Sprintf("items done; %d of %s ended", t.Ended, human.Count(t.Count, "volume"))
}
