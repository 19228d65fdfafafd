package narrate

import (
	"fmt"
	"strings"
	"time"

	"github.com/veltui/veltui/internal/assess"
	"github.com/veltui/veltui/internal/diagnosis"
	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/velero"
)

// Job says how a job is, what matters most first. flags end the commands that it names, such as --context east.
func Job(j assess.Judged, now time.Time, flags string) string {
	j.Verdict = j.Spoken()
	name := j.Kind.Word() + " " + j.Name
	subject := strings.TrimSpace(j.Kind.Word() + "/" + j.Name + " " + flags)
	if j.Terminal() {
		ended := "Ended"
		if !j.Completed.IsZero() && now.Sub(j.Completed) >= time.Minute {
			ended += " " + human.Spoken.Duration(now.Sub(j.Completed)) + " ago"
		}
		return sentence("%s: %s: %s %s", ended, name, human.Stop(j.Verdict.Text), wrong(j, subject))
	}
	switch {
	case j.Troubled(), len(j.Malformed) > 0, j.State == diagnosis.Quiet, j.State == diagnosis.Unknown:
		state := human.Capital(string(j.State))
		if len(j.Malformed) > 0 && !j.Troubled() {
			state = "Malformed"
		}
		return sentence("%s: %s: %s %s", state, name, human.Stop(j.Verdict.Text), help(j, subject))
	case j.Queue.Waits && j.Queue.Position > 0:
		return sentence("Waiting: %s is %s in the queue: %s", name, human.Ordinal(j.Queue.Position), j.Queue.Reason)
	case j.Queue.Waits:
		return sentence("Waiting: %s has not begun: %s", name, j.Queue.Reason)
	case j.State == diagnosis.Waiting:
		return sentence("Waiting: %s: %s %s", name, human.Stop(j.Verdict.Text), j.Verdict.Advice)
	}
	deletion := ""
	if !j.DeletionAt.IsZero() && j.Stage != job.StageDeleting {
		deletion = "; its deletion was requested " + human.Spoken.Duration(now.Sub(j.DeletionAt)) + " ago"
	}
	return sentence("%s %s: %s%s%s", human.Capital(j.Kind.Word()), j.Name, does(j), progress(j), deletion)
}

// Facts are the facts behind the verdict on a job, at most so many.
func Facts(j assess.Judged, most int) []string {
	var lines []string
	facts := j.Spoken().Facts
	for _, f := range facts {
		if len(lines) == most {
			lines = append(lines, sentence("And %s", human.Count(len(facts)-most, "fact more")))
			break
		}
		kind := "Fact"
		if !f.Holds {
			kind = "Unknown or contradicting"
		}
		lines = append(lines, sentence("%s: %s", kind, f.Text))
	}
	return lines
}

func help(j assess.Judged, subject string) string {
	said := human.Clause("What helps: ", human.Stop(j.Verdict.Advice)) + " "
	if j.NeedsLook {
		said += "For all the evidence, type: explain " + subject + ". "
	}
	switch {
	case j.Verdict.Action == diagnosis.Wake:
		said += "To wake it, type: finalize " + subject + " --wake. "
	case j.Verdict.Action != "":
		said += "To see what veltui can do, type: finalize " + subject + ". "
	}
	return strings.TrimSpace(said)
}

// wrong is where to read more about a job that did not end well.
func wrong(j assess.Judged, subject string) string {
	switch {
	case j.Errors+j.Warnings > 0:
		return "For the messages, type: results " + subject
	case j.Phase != velero.PhaseCompleted:
		return "For the reason, type: explain " + subject
	}
	return ""
}

var doing = map[job.Stage][2]string{
	job.StageQueued:     {"not started", "not started"},
	job.StageItems:      {"backing up items", "restoring items"},
	job.StageVolumes:    {"backing up volumes", "restoring volumes"},
	job.StageOperations: {"uploading volumes", "downloading volumes"},
	job.StageFinalizing: {"finalizing", "finalizing"},
	job.StageDeleting:   {"being deleted", "being deleted"},
}

func does(j assess.Judged) string {
	text, known := doing[j.Stage]
	switch {
	case !known:
		return "phase " + j.Phase
	case j.Stage == job.StageOperations && j.DataMovements().Count == 0:
		return "waiting for plugin operations"
	case j.Kind == job.Restore:
		return text[1]
	}
	return text[0]
}

func progress(j assess.Judged) string {
	text := ""
	if j.FractionKnown {
		text = ", " + strings.TrimSuffix(human.Percent(j.Fraction), "%") + " percent"
	}
	if done, total, unit, known := j.Progress(); known && total > 0 {
		text += ", " + amount(done, total, unit)
	}
	switch {
	case !j.ETA.Known:
	case j.ETA.Rough:
		text += ", about " + human.Spoken.Duration(j.ETA.Low) + " to " + human.Spoken.Duration(j.ETA.High) + " left"
	default:
		text += ", about " + human.Spoken.TimeLeft(j.ETA.Left) + " left"
	}
	return text
}

func amount(done, total int64, unit job.Unit) string {
	if unit == job.UnitBytes {
		return bytes(done) + " of " + bytes(total)
	}
	return fmt.Sprintf("%s of %s", human.Number(done), human.Count(total, strings.TrimSuffix(string(unit), "s")))
}

// bytes writes a size with the name of its unit.
func bytes(n int64) string {
	short := human.Bytes(n)
	number, unit := short[:len(short)-1], short[len(short)-1:]
	if unit == "B" {
		return number + " bytes"
	}
	return number + " " + unit + "iB"
}

// sentence ends with a full stop.
func sentence(format string, args ...any) string {
	return human.Stop(strings.TrimSpace(fmt.Sprintf(format, args...)))
}
