package report

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/sanitize"
	"github.com/veltui/veltui/internal/stored/results"
	"github.com/veltui/veltui/internal/velero"
	"github.com/veltui/veltui/internal/view/document"
)

// Markdown is the report as a text that reads well with and without rendering.
func (d Document) Markdown() string {
	w := &writer{made: d.MadeAt.Time}
	w.head(d)
	w.left(d)
	w.evidence(d)
	w.about(d)
	w.done(d)
	w.messages(d)
	w.timeline(d)
	w.log(d.Log)
	w.volumes(d)
	w.limits(d)
	w.notSeen(d)
	return w.text.String()
}

// writer writes Markdown. Text of others passes text or code, and nothing else.
type writer struct {
	text strings.Builder
	made time.Time
}

func (w *writer) heading(title string) { fmt.Fprintf(&w.text, "\n## %s\n\n", title) }

// section is a heading, and what stands under it without entries.
func (w *writer) section(title string, entries int, none string) {
	w.heading(title)
	if entries == 0 {
		w.line("%s", none)
	}
}

func (w *writer) line(format string, args ...any) { fmt.Fprintf(&w.text, format+"\n", args...) }

// item is a point of a list, without a line break.
func (w *writer) item(format string, args ...any) { w.line("- "+format, args...) }

// special are what Markdown knows anywhere in a line, and opens what at its beginning only.
var special = regexp.MustCompile("[\\\\`*_{}\\[\\]<>#|~&!$@=^]")

var opens = regexp.MustCompile(`^(\s*)([-+]|\d+[.)](?:\s|$))`)

// text is a text of others within a line, without meaning to Markdown.
func text(s string) string {
	s = special.ReplaceAllString(strings.TrimSpace(sanitize.Cut(s, maxText)), `\$0`)
	s = opens.ReplaceAllStringFunc(s, func(found string) string {
		return strings.NewReplacer("-", `\-`, "+", `\+`, ".", `\.`, ")", `\)`).Replace(found)
	})
	return strings.NewReplacer("://", `:\//`, "www.", `www\.`, "WWW.", `WWW\.`, "Www.", `Www\.`).Replace(s)
}

// code is a text of others as code, in a fence longer than its runs of backticks.
func code(s string) string {
	s = strings.TrimSpace(sanitize.Cut(s, maxText))
	longest, run := 0, 0
	for _, r := range s {
		if run++; r != '`' {
			run = 0
		}
		longest = max(longest, run)
	}
	fence := strings.Repeat("`", longest+1)
	switch {
	case s == "":
		return ""
	case longest > 0:
		return fence + " " + s + " " + fence
	}
	return fence + s + fence
}

// at is a moment, and how long before the report.
func (w *writer) at(at document.Moment) string { return cmp.Or(w.seen(at), "at an unknown time") }

// seen is at, but empty for an unknown time.
func (w *writer) seen(at document.Moment) string {
	if at.IsZero() {
		return ""
	}
	t := at.Truncate(time.Second)
	ago := "now"
	switch since := w.made.Sub(t); {
	case since < -time.Second:
		ago = human.In(t, w.made)
	case since >= time.Second:
		ago = human.Ago(t, w.made)
	}
	return t.UTC().Format(time.DateTime) + " (" + ago + ")"
}

func (w *writer) head(d Document) {
	j := d.Job
	w.line("# Report on %s %s", strings.ToLower(j.Kind), text(j.Name))
	w.line("")
	state := "phase " + code(j.Phase)
	if d.Verdict.State != "" {
		state += ", verdict " + code(d.Verdict.State) + " (" + code(d.Verdict.Reason) + ")"
	}
	w.line("**%s** %s", text(human.Stop(d.Verdict.Summary)), human.Capital(state)+".")
	points := worstErrors(d)
	if p := d.Verdict.Proof; p != nil {
		points = append(points,
			fmt.Sprintf("Proof: %s [%s%s]", text(p.Text), code(p.Source), human.Clause(", ", w.seen(p.At))))
	}
	if len(points) > 0 {
		w.line("")
	}
	for _, point := range points {
		w.item("%s", point)
	}
}

// about says what the job is, where and since when.
func (w *writer) about(d Document) {
	j := d.Job
	w.heading("About the job and this report")
	velero := "Velero " + cmp.Or(code(d.Velero), "of an unknown version")
	w.item("What: a %s by %s in namespace %s%s", strings.ToLower(j.Kind), velero, code(d.Namespace), origin(j))
	if d.Context != "" {
		w.item("Where: kubeconfig context %s", code(d.Context))
	}
	if j.ChangedAt.Truncate(time.Second).Equal(j.CompletedAt.Truncate(time.Second)) {
		j.ChangedAt = document.Moment{}
	}
	for _, point := range []struct {
		title string
		at    document.Moment
	}{{"Created", j.CreatedAt}, {"Started", j.StartedAt}, {"Last change", j.ChangedAt}, {"Ended", j.CompletedAt}} {
		if !point.at.IsZero() {
			w.item("%s: %s", point.title, w.at(point.at))
		}
	}
	if d.Verdict.State != "" {
		w.going(j)
	}
	w.item("UID: %s", code(j.UID))
	w.item("This report: made %s by veltui %s", d.MadeAt.UTC().Format(time.DateTime), code(d.Veltui))
	w.line("")
	w.line(
		"All times are in UTC, and ages are those at the time of this report. veltui writes %s in place of what looks "+
			"like a credential. The report holds names of resources.",
		code(redacted),
	)
}

// going is what the evidence does not say of an open job.
func (w *writer) going(j Job) {
	if j.Progress != "" {
		w.item("Progress: %s in stage %s", text(j.Progress), code(j.Stage))
	}
	if j.Errors+j.Warnings > 0 {
		w.item("Counts of the status: %s, %s", human.Count(j.Errors, "error"), human.Count(j.Warnings, "warning"))
	}
	if j.FailureReason != "" {
		w.item("Failure reason: %s", code(j.FailureReason))
	}
	for _, e := range j.ValidationErrors {
		w.item("Validation error: %s", code(e))
	}
}

func origin(j Job) string {
	switch {
	case j.Kind == string(job.Restore) && j.BackupName != "":
		return ", from backup " + code(j.BackupName)
	case j.ScheduleName != "":
		return ", by schedule " + code(j.ScheduleName)
	}
	return ""
}

func (w *writer) evidence(d Document) {
	w.section("Evidence", len(d.Verdict.Facts), "veltui has no further evidence.")
	for _, holds := range []bool{true, false} {
		first := true
		for _, f := range d.Verdict.Facts {
			isSaid := f.Text == "phase "+d.Job.Phase || d.Verdict.Proof != nil && f.Text == d.Verdict.Proof.Text
			if f.Holds != holds || isSaid { // by the head
				continue
			}
			if first && !holds {
				w.line("\nUnknown, or against it:\n")
			}
			first = false
			w.item("%s [%s%s]", text(f.Text), code(f.Source), human.Clause(", ", w.seen(f.At)))
		}
	}
}

// maxWorst is how many groups of errors say why a job ended as it did.
const maxWorst = 3

// worstErrors names the first errors of a job that has ended: they are why.
func worstErrors(d Document) (points []string) {
	if d.Verdict.State != "" {
		return nil
	}
	for _, m := range d.Messages.Groups {
		switch {
		case m.Severity != results.Error:
		case len(points) == maxWorst:
			return append(points, "and more errors: see below")
		default:
			points = append(points, fmt.Sprintf(
				"%s, %s: %s",
				human.Count(m.Count, string(m.Severity)),
				text(m.Place()),
				code(human.Shorten(m.Words(), 300)),
			))
		}
	}
	return points
}

func (w *writer) left(d Document) {
	w.section("What is left to do", len(d.Left), "Nothing that veltui knows of.")
	for i, s := range d.Left {
		w.line("%d. %s", i+1, text(s.Text))
		for _, c := range s.Commands {
			w.line("   - %s", code(c))
		}
	}
}

func (w *writer) done(d Document) {
	w.section(
		"What was done, and by whom",
		len(d.Done),
		"Nobody changed the job with veltui, as far as its annotations and the audit log on the machine of this "+
			"report say. veltui does not see what others did without it.",
	)
	for _, deed := range d.Done {
		w.item(
			"%s%s: %s%s [%s]",
			w.at(deed.At),
			human.Clause(" by ", code(deed.By)),
			text(deed.Text),
			human.Clause("; reason: ", code(deed.Reason)),
			code(deed.Source),
		)
	}
}

func (w *writer) timeline(d Document) {
	w.heading("Timeline")
	for i, e := range d.Timeline {
		if i == maxEvents/4 && d.TimelineLeft > 0 {
			w.item("(%s between are not in this report)", human.Count(d.TimelineLeft, "event"))
		}
		w.item("%s: %s [%s]", w.at(e.At), text(e.Text), code(e.Source))
	}
	for _, n := range d.TimelineNotes {
		w.line("\n%s", text(n))
	}
}

func (w *writer) messages(d Document) {
	w.heading("Errors and warnings")
	switch groups := len(d.Messages.Groups); {
	case d.Messages.Note != "" && groups > 0:
		w.line("%s\n", text(d.Messages.Note))
	case d.Messages.Note != "":
		w.line("%s", text(d.Messages.Note))
	case groups == 0 && d.Messages.Complete:
		w.line("There are none.")
	}
	for _, m := range d.Messages.Groups {
		w.item("%s, %s: %s", human.Count(m.Count, string(m.Severity)), text(m.Place()), code(m.Words()))
		if len(m.Resources) > 0 {
			named := make([]string, len(m.Resources))
			for i, r := range m.Resources {
				named[i] = code(r.String())
			}
			more := ""
			if m.More > 0 {
				more = fmt.Sprintf(" and %d more", m.More)
			}
			w.line("  - of %s%s", strings.Join(named, ", "), more)
		}
	}
	if d.Messages.Left > 0 {
		w.line("\n%s more; `veltui results %s --all` prints all.", human.Count(d.Messages.Left, "group"), d.Subject())
	}
}

func (w *writer) log(l Log) {
	w.heading("The log's decisive lines")
	if len(l.Lost)+len(l.FirstErrors)+len(l.Last) == 0 {
		w.line("None were found.")
		return
	}
	if l.From != "" {
		w.line("From %s.", text(l.From))
	}
	told := map[LogLine]bool{}
	for _, part := range []struct {
		title string
		lines []LogLine
	}{{"Velero gave up writing the status:", l.Lost}, {"The first errors:", l.FirstErrors}, {"The last lines:", l.Last}} {
		lines := slices.DeleteFunc(slices.Clone(part.lines), func(line LogLine) bool { return told[line] })
		if len(lines) == 0 {
			continue
		}
		w.line("\n%s\n", part.title)
		for _, line := range lines {
			told[line] = true
			parts := []string{w.seen(line.At), line.Level, code(line.Text + human.Clause(": ", line.Error))}
			if line.Repeated > 0 {
				parts = append(parts, "(after "+human.Count(line.Repeated, "line")+" like it)")
			}
			w.item("%s", strings.TrimPrefix(strings.Join(parts, " "), " "))
		}
	}
}

func (w *writer) volumes(d Document) {
	w.heading("Volumes and operations")
	for _, c := range d.Volumes.Phases {
		w.item("%s: %d", text(c.Name), c.Count)
	}
	if len(d.Volumes.Phases) == 0 {
		w.item("No volume data.")
	}
	for _, v := range d.Volumes.Open {
		amount := ""
		if v.BytesTotal > 0 {
			amount = human.BytesOf(v.BytesDone, v.BytesTotal)
		}
		said := code(v.Kind+" "+v.Name) + ", of " + code(v.Target) + ", " + text(cmp.Or(v.Phase, velero.VolumeNew))
		for _, more := range []string{amount, v.Cause, v.Message} {
			said += human.Clause(", ", text(more))
		}
		said += human.Clause(", on node ", code(v.Node))
		w.item("%s", said)
	}
	if d.Volumes.Left > 0 {
		w.item("%d more", d.Volumes.Left)
	}
	if o := d.Operations; o.Attempted > 0 {
		w.item("Item operations: %d begun, %d completed, %d failed", o.Attempted, o.Completed, o.Failed)
	}
	for _, o := range d.Operations.Open {
		w.item("Operation %s", text(o))
	}
}

func (w *writer) limits(d Document) {
	if d.Verdict.State == "" { // nothing limits a job that has ended
		return
	}
	waits := make([]velero.WaitName, len(d.Verdict.Waits))
	for i, wait := range d.Verdict.Waits {
		waits[i] = velero.WaitName(wait.Name)
	}
	limits := velero.NamedLimits(d.Limits, waits)
	w.section("Limits of what it waits for", len(limits), "Nothing that it may wait for has a limit that is known.")
	for _, l := range limits {
		w.item("%s: %s (%s)", code(l.Name), code(l.Value), text(l.Source))
	}
}

func (w *writer) notSeen(d Document) {
	w.section("What could not be checked", len(d.NotSeen), "Nothing was out of reach.")
	for _, n := range d.NotSeen {
		w.item("%s: %s", text(human.Capital(n.What)), text(n.Why))
	}
}
