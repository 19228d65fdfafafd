package narrate

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/veltui/veltui/assess"
	"github.com/veltui/veltui/diagnosis"
	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/job"
	"github.com/veltui/veltui/velero"
)

// Job says how a job is, what matters most first. flags end the commands that it names, such as --context east.
func Job(j assess.Judged, now time.Time, flags string) string {
	name := j.Kind.Word() + " " + j.Name
	subject := strings.TrimSpace(j.Kind.Word() + "/" + j.Name + " " + flags)
	if j.Terminal() {
		ended := "Ended"
		if !j.Completed.IsZero() && now.Sub(j.Completed) >= time.Minute {
			ended += " " + lasts(now.Sub(j.Completed)) + " ago"
		}
		return sentence("%s: %s: %s %s", ended, name, sentence("%s", summary(j)), wrong(j, subject))
	}
	switch {
	case j.Troubled(), len(j.Malformed) > 0, j.State == diagnosis.Quiet, j.State == diagnosis.Unknown:
		state := human.Capital(string(j.State))
		if len(j.Malformed) > 0 && !j.Troubled() {
			state = "Malformed"
		}
		return sentence("%s: %s: %s %s", state, name, sentence("%s", summary(j)), help(j, subject))
	case j.Queue.Waits && j.Queue.Position > 0:
		return sentence("Waiting: %s is %s in the queue: %s", name, human.Ordinal(j.Queue.Position), aloud(j.Queue.Reason))
	case j.Queue.Waits:
		return sentence("Waiting: %s has not begun: %s", name, aloud(j.Queue.Reason))
	case j.State == diagnosis.Waiting:
		return sentence("Waiting: %s: %s %s", name, sentence("%s", summary(j)), j.Verdict.Advice)
	}
	deletion := ""
	if !j.DeletionAt.IsZero() && j.Stage != job.StageDeleting {
		deletion = "; its deletion was requested " + lasts(now.Sub(j.DeletionAt)) + " ago"
	}
	return sentence("%s %s %s%s%s", human.Capital(j.Kind.Word()), j.Name, does(j), progress(j), deletion)
}

// Facts are the facts behind the verdict on a job, at most so many.
func Facts(j assess.Judged, most int) []string {
	var lines []string
	for _, f := range j.Verdict.Facts {
		if len(lines) == most {
			lines = append(lines, sentence("And %s", human.Count(len(j.Verdict.Facts)-most, "fact more")))
			break
		}
		kind := "Fact"
		if !f.Holds {
			kind = "Unknown or contradicting"
		}
		lines = append(lines, sentence("%s: %s", kind, aloud(f.Text)))
	}
	return lines
}

// summary is the verdict's sentence without the name before it and without its full stop.
func summary(j assess.Judged) string {
	text := strings.TrimPrefix(j.Verdict.Summary, j.Name+": ")
	if !strings.HasSuffix(text, "...") {
		text = strings.TrimRight(text, ".")
	}
	return aloud(text)
}

func help(j assess.Judged, subject string) string {
	said := human.Clause("What helps: ", aloud(strings.TrimRight(j.Verdict.Advice, ".")))
	if said != "" {
		said += ". "
	}
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
	job.StageQueued:     {"has not begun", "has not begun"},
	job.StageItems:      {"backs up items", "restores items"},
	job.StageVolumes:    {"backs up volumes", "restores volumes"},
	job.StageOperations: {"uploads volumes", "downloads volumes"},
	job.StageFinalizing: {"is finalizing", "is finalizing"},
	job.StageDeleting:   {"is being deleted", "is being deleted"},
}

func does(j assess.Judged) string {
	text, known := doing[j.Stage]
	switch {
	case !known:
		return "is in phase " + j.Phase
	case j.Stage == job.StageOperations && j.DataMovements().Count == 0:
		return "waits for plugin operations"
	case j.Kind == job.Restore:
		return text[1]
	}
	return text[0]
}

func progress(j assess.Judged) string {
	text := ""
	if j.FractionKnown {
		text = ": " + strings.TrimSuffix(human.Percent(j.Fraction), "%") + " percent"
	}
	if done, total, unit, known := j.Progress(); known && total > 0 {
		separator := ", "
		if text == "" {
			separator = ": "
		}
		text += separator + amount(done, total, unit)
	}
	switch {
	case !j.ETA.Known:
	case j.ETA.Rough:
		text += ", about " + lasts(j.ETA.Low) + " to " + lasts(j.ETA.High) + " left"
	default:
		text += ", about " + aloud(human.TimeLeft(j.ETA.Left)) + " left"
	}
	return text
}

func amount(done, total int64, unit job.Unit) string {
	if unit == job.UnitBytes {
		return bytes(done) + " of " + bytes(total)
	}
	return fmt.Sprintf("%s of %s", human.Number(done), human.Count(total, strings.TrimSuffix(string(unit), "s")))
}

// A duration as package human writes it, such as 16s, 3m12s, 1h05m and 3d, and what parts it from others in a sentence.
var (
	duration = regexp.MustCompile(`^(?:(\d{1,18})d|(?:(\d{1,18})h)?(?:(\d{1,18})m)?(?:(\d{1,18})s)?)$`)
	word     = regexp.MustCompile(`[^ ,;:()]+`)
)

// aloud spells out the durations of a sentence of veltui's. Part of a longer word, such as a name, stays as it is.
func aloud(text string) string {
	return word.ReplaceAllStringFunc(text, func(word string) string {
		short := strings.TrimRight(word, ".")
		m := duration.FindStringSubmatch(short)
		if m == nil || short == "" {
			return word
		}
		var long []string
		for i, unit := range []string{"day", "hour", "minute", "second"} {
			if n, err := strconv.Atoi(m[i+1]); err == nil {
				long = append(long, human.Count(n, unit))
			}
		}
		return strings.Join(long, " ") + word[len(short):]
	})
}

func lasts(d time.Duration) string { return aloud(human.Duration(d)) }

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
	text := strings.TrimSpace(fmt.Sprintf(format, args...))
	if text == "" || strings.ContainsAny(text[len(text)-1:], ".?!") {
		return text
	}
	return text + "."
}
