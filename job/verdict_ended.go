package job

import "fmt"

// ended says how the job ended. It has no state, but it may have advice.
func (q *inquiry) ended() Verdict {
	j := q.job
	q.noteCounts()
	at := latest(j.Completed, j.Changed)
	q.holds(sourceWatch, at, "phase %s", j.Phase)
	if j.FailureReason != "" {
		q.holds(sourceWatch, at, "%s", cut(j.FailureReason, 400))
	}
	for _, e := range j.ValidationErrors {
		q.holds(sourceWatch, at, "%s", cut(e, 400))
	}
	if j.track.revived {
		q.holds(sourceWatch, at, "it had ended before, and went on: its phase was written over")
	}
	failed := q.noteFailedVolumes()
	advice := ""
	if n := j.unended(); n > 0 {
		// They go on, or stay for ever (Velero issues 7908, 7067, 4403).
		q.holds(sourceWatch, at, "%s not ended, although the job is over", plural(n, "volume"))
		advice = "What still moves can be cancelled at the volume."
	}
	if j.Deleting {
		advice = "It goes when the Velero server has removed its files; that needs its storage location."
	}
	text := j.outcome(failed)
	if n := j.unended(); n > 0 {
		text += fmt.Sprintf("; %d of its %s not ended", n, plural(len(j.Volumes), "volume"))
	}
	if j.Deleting {
		text += "; being deleted"
	}
	return q.rule("", advice, "%s", text)
}

// unended is how many volumes have not ended.
func (j *Job) unended() int { return j.track.filesystem.active() + j.track.movers.active() }

func (q *inquiry) noteFailedVolumes() int {
	failed := 0
	for i := range q.job.Volumes {
		v := &q.job.Volumes[i]
		if !v.Failed() {
			continue
		}
		failed++
		if failed <= 5 {
			q.holds(sourceWatch, v.Changed, "%s %s is %s%s", v.Kind, v.Target, v.Phase, because(v.Message))
		}
	}
	if failed > 5 {
		q.holds(sourceWatch, q.job.Changed, "and %s more failed", plural(failed-5, "volume"))
	}
	return failed
}

// reasonRunes is how much of a foreign reason fits into a summary; the facts
// hold all of it.
const reasonRunes = 60

// outcome is the end of a job in one sentence.
func (j *Job) outcome(failedVolumes int) string {
	took := ""
	if !j.Completed.IsZero() && !j.Started.IsZero() {
		took = span(j.Elapsed(j.Completed))
	}
	tail := j.tail()
	switch j.Phase {
	case PhaseCompleted:
		// Velero calls a backup Completed although volumes of it failed
		// (Velero issues 6212 and 6490).
		if failedVolumes > 0 {
			return fmt.Sprintf("Completed, but %d of its %s failed%s", failedVolumes,
				plural(len(j.Volumes), "volume"), tail)
		}
		return "Completed" + prefixed(" in ", took) + tail
	case PhaseFailedValidation:
		if len(j.ValidationErrors) > 0 {
			return "FailedValidation: " + cut(j.ValidationErrors[0], reasonRunes)
		}
		return "FailedValidation"
	case PhaseFailed:
		text := "Failed" + prefixed(" after ", took)
		if j.Items.Known && j.Items.Total > 0 {
			text += fmt.Sprintf(" at %d of %s", j.Items.Done, plural(j.Items.Total, "item"))
		}
		return text + prefixed(": ", cut(j.FailureReason, reasonRunes))
	}
	text := j.Phase + prefixed(" after ", took) + tail
	if failedVolumes > 0 {
		text += fmt.Sprintf(", %d of its %s failed", failedVolumes, plural(len(j.Volumes), "volume"))
	}
	return text + prefixed(": ", cut(j.FailureReason, reasonRunes))
}

// tail is items, errors and warnings.
func (j *Job) tail() string {
	text := ""
	switch {
	case j.Items.Known && j.Items.Done < j.Items.Total:
		text += fmt.Sprintf(", %d of %s counted", j.Items.Done, plural(j.Items.Total, "item"))
	case j.Items.Known:
		text += ", " + plural(j.Items.Total, "item")
	}
	if j.Errors > 0 {
		text += ", " + plural(j.Errors, "error")
	}
	if j.Warnings > 0 {
		text += ", " + plural(j.Warnings, "warning")
	}
	return text
}

func prefixed(prefix, s string) string {
	if s == "" {
		return ""
	}
	return prefix + s
}
