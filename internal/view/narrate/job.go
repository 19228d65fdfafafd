package narrate

import (
	"strings"
	"time"

	"github.com/veltui/veltui/internal/assess"
	"github.com/veltui/veltui/internal/diagnosis"
	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/velero"
	"github.com/veltui/veltui/internal/view"
	"github.com/veltui/veltui/internal/view/speech"
)

// Job returns the state of a job, the most important part first. flags are appended to the commands that it names,
// such as --context east.
func Job(j assess.JudgedJob, now time.Time, flags string) string {
	j.Verdict = j.VerdictInWords()
	name := j.Kind.Noun() + " " + j.Name
	subject := strings.TrimSpace(j.Kind.Noun() + "/" + j.Name + " " + flags)
	if j.IsTerminal() {
		ended := "Ended"
		if !j.Completed.IsZero() && now.Sub(j.Completed) >= time.Minute {
			ended += " " + human.SpokenStyle.Duration(now.Sub(j.Completed)) + " ago"
		}
		return speech.Sentence("%s: %s: %s %s", ended, name, human.EndSentence(j.Verdict.Text), detailsHint(j, subject))
	}
	switch {
	case j.IsTroubled(), len(j.MalformedFields) > 0, j.State == diagnosis.Quiet, j.State == diagnosis.Unknown:
		state := human.Capitalize(string(j.State))
		if len(j.MalformedFields) > 0 && !j.IsTroubled() {
			state = "Malformed"
		}
		return speech.Sentence("%s: %s: %s %s", state, name, human.EndSentence(j.Verdict.Text), adviceText(j, subject))
	case j.Queue.IsWaiting && j.Queue.Position > 0:
		return speech.Sentence("Waiting: %s is %s in the queue: %s", name, human.Ordinal(j.Queue.Position), j.Queue.Reason)
	case j.Queue.IsWaiting:
		return speech.Sentence("Waiting: %s has not begun: %s", name, j.Queue.Reason)
	case j.State == diagnosis.Waiting:
		return speech.Sentence("Waiting: %s: %s %s", name, human.EndSentence(j.Verdict.Text), j.Verdict.Advice)
	}
	deletion := ""
	if !j.DeletionRequestedAt.IsZero() && j.Stage != job.StageDeleting {
		deletion = "; its deletion was requested " + human.SpokenStyle.Duration(now.Sub(j.DeletionRequestedAt)) + " ago"
	}
	progress := human.Prefixed(", ", view.SpokenProgress(j))
	return speech.Sentence(
		"%s %s: %s%s%s",
		human.Capitalize(j.Kind.Noun()),
		j.Name,
		view.JobActivity(j.Job),
		progress,
		deletion,
	)
}

// Facts returns the facts behind the verdict on a job, at most most of them.
func Facts(j assess.JudgedJob, most int) []string {
	p := speech.Printer{Max: most}
	for _, list := range view.NewFactLists(j.VerdictInWords().Facts) {
		p.Section(list.Section())
	}
	return p.Lines()
}

func adviceText(j assess.JudgedJob, subject string) string {
	advice := human.Prefixed("What helps: ", human.EndSentence(j.Verdict.Advice)) + " "
	if j.NeedsCloserLook {
		advice += "For all the evidence, type: explain " + subject + ". "
	}
	switch {
	case j.Verdict.Action == diagnosis.Wake:
		advice += "To wake it, type: finalize " + subject + " --wake. "
	case j.Verdict.Action != "":
		advice += "To see what veltui can do, type: finalize " + subject + ". "
	}
	return strings.TrimSpace(advice)
}

// detailsHint says where to read more about a job that did not end well.
func detailsHint(j assess.JudgedJob, subject string) string {
	switch {
	case !j.Verdict.Cause.IsZero():
		return "What helps: " + human.EndSentence(j.Verdict.Next().Text) +
			" For the evidence and the commands, type: explain " + subject
	case j.Operations.Failed > 0: // their errors are in no results
		return "For the operations that failed, type: explain " + subject
	case j.Errors+j.Warnings > 0:
		return "For the messages, type: results " + subject
	case j.Phase != velero.PhaseCompleted: // what never began, or ended at a start of the server, has no log
		return "For all the evidence, type: explain " + subject
	}
	return ""
}
