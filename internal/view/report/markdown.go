package report

import (
	"cmp"
	"strings"
	"time"

	"github.com/veltui/veltui/internal/diagnosis"
	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/stored/results"
	"github.com/veltui/veltui/internal/velero"
	"github.com/veltui/veltui/internal/view"
	"github.com/veltui/veltui/internal/view/document"
	"github.com/veltui/veltui/internal/view/markdown"
)

// Markdown returns the report as a text that reads well with and without rendering.
func (d Document) Markdown() string {
	w := &markdownWriter{markdown.Printer{Now: d.MadeAt.Time}}
	v := d.newVerdict()
	w.writeHead(d, v)
	for _, section := range v.Sections() {
		w.Section(section)
	}
	w.writeAbout(d)
	w.writePastActions(d)
	w.writeMessages(d)
	w.writeTimeline(d)
	w.writeLog(d.Log)
	w.writeVolumes(d)
	w.writeLimits(d, v)
	w.writeUnchecked(d)
	return w.String()
}

// markdownWriter writes the parts of a report.
type markdownWriter struct{ markdown.Printer }

// writeHeading writes a heading and, if there are no entries, the text none.
func (w *markdownWriter) writeHeading(title string, entries int, none string) {
	w.Heading(title)
	if entries == 0 {
		w.Line("%s", none)
	}
}

// momentText formats a time, with its age at the time of the report.
func (w *markdownWriter) momentText(at document.Moment) string {
	return cmp.Or(w.Moment(at.Time), "at an unknown time")
}

// newVerdict returns the verdict of the report, which is redacted, unlike the diagnosis.
func (d Document) newVerdict() view.Verdict {
	v := view.Verdict{Summary: d.Verdict.Summary, NoSteps: "Nothing that veltui knows of."}
	if p := d.Verdict.Proof; p != nil {
		fact := document.Fact{Text: p.Text, Holds: true, Source: p.Source, At: p.At}
		v.Proof = &view.Proof{Kind: p.Kind, Fact: newFact(fact)}
	}
	for _, s := range d.Remaining {
		v.Next = append(v.Next, view.Step{Text: s.Text, Alternatives: s.Commands})
	}
	var facts []diagnosis.Fact
	for _, f := range d.Verdict.Facts {
		isSaid := f.Text == "phase "+d.Job.Phase || d.Verdict.Proof != nil && f.Text == d.Verdict.Proof.Text
		if !isSaid { // in the head
			facts = append(facts, newFact(f))
		}
	}
	v.FactLists = view.NewFactLists(facts)
	waits := make([]velero.WaitName, len(d.Verdict.Waits))
	for i, wait := range d.Verdict.Waits {
		waits[i] = velero.WaitName(wait.Name)
	}
	v.Limits = view.LimitFields(d.Limits, waits)
	return v
}

func newFact(f document.Fact) diagnosis.Fact {
	return diagnosis.Fact{Text: f.Text, Supports: f.Holds, Source: f.Source, At: f.At.Time}
}

func (w *markdownWriter) writeHead(d Document, v view.Verdict) {
	w.Title("Report on %s %s", strings.ToLower(d.Job.Kind), d.Job.Name)
	state := markdown.Format("Phase %s", markdown.Code(d.Job.Phase))
	if d.Verdict.State != "" {
		verdict, reason := markdown.Code(d.Verdict.State), markdown.Code(d.Verdict.Reason)
		state += markdown.Format(", verdict %s (%s)", verdict, reason)
	}
	w.Line("**%s** %s.", human.EndSentence(v.Summary), state)
	causes := worstErrors(d)
	if len(causes) > 0 || v.Proof != nil {
		w.Line("")
	}
	for _, cause := range causes {
		w.Item("%s", cause)
	}
	if v.Proof != nil {
		w.Fact("Proof: ", v.Proof.Fact)
	}
}

// writeAbout writes what the job is, where it is and since when.
func (w *markdownWriter) writeAbout(d Document) {
	j := d.Job
	w.Heading("About the job and this report")
	version := cmp.Or(markdown.Code(d.VeleroVersion), "of an unknown version")
	kind, namespace := strings.ToLower(j.Kind), markdown.Code(d.Namespace)
	w.Item("What: a %s by Velero %s in namespace %s%s", kind, version, namespace, originSpan(j))
	if d.Context != "" {
		w.Item("Where: kubeconfig context %s", markdown.Code(d.Context))
	}
	if j.ChangedAt.Truncate(time.Second).Equal(j.CompletedAt.Truncate(time.Second)) {
		j.ChangedAt = document.Moment{}
	}
	for _, point := range []struct {
		title string
		at    document.Moment
	}{{"Created", j.CreatedAt}, {"Started", j.StartedAt}, {"Last change", j.ChangedAt}, {"Ended", j.CompletedAt}} {
		if !point.at.IsZero() {
			w.Item("%s: %s", point.title, w.momentText(point.at))
		}
	}
	if d.Verdict.State != "" {
		w.writeProgress(j)
	}
	w.Item("UID: %s", markdown.Code(j.UID))
	w.Item("This report: made %s by veltui %s", human.MomentUTC(d.MadeAt.Time), markdown.Code(d.VeltuiVersion))
	w.Line("")
	w.Line(
		"All times are in UTC, and ages are those at the time of this report. veltui writes %s in place of what looks "+
			"like a credential. The report holds names of resources.",
		markdown.Code(redactedText),
	)
}

// writeProgress writes the state of an open job as far as the evidence does not include it.
func (w *markdownWriter) writeProgress(j Job) {
	if j.Progress != "" {
		w.Item("Progress: %s in stage %s", j.Progress, markdown.Code(j.Stage))
	}
	if j.Errors+j.Warnings > 0 {
		w.Item("Counts of the status: %s", view.ResultCounts(j.Errors, j.Warnings).Text)
	}
	for _, f := range view.FailureFields(j.FailureReason, j.ValidationErrors) {
		w.Item("%s: %s", f.Label, markdown.Code(f.Text.Text))
	}
}

func originSpan(j Job) markdown.Span {
	switch {
	case j.Kind == string(job.Restore) && j.BackupName != "":
		return ", from backup " + markdown.Code(j.BackupName)
	case j.ScheduleName != "":
		return ", by schedule " + markdown.Code(j.ScheduleName)
	}
	return ""
}

// maxWorstErrors is the largest number of groups of errors in the head.
const maxWorstErrors = 3

// worstErrors returns the first errors of a job that has ended: they are the reason for its result.
func worstErrors(d Document) (points []markdown.Span) {
	if d.Verdict.State != "" {
		return nil
	}
	for i := range d.Messages.Groups {
		m := &d.Messages.Groups[i]
		switch {
		case m.Severity != results.Error:
		case len(points) == maxWorstErrors:
			return append(points, "and more errors: see below")
		default:
			points = append(points, messageSpan(m, human.Shorten(m.DisplayText(), 300)))
		}
	}
	return points
}

// messageSpan returns a text of a group of messages, with their number and place.
func messageSpan(m *results.Message, text string) markdown.Span {
	return markdown.Format("%s: %s", view.MessagePlace(m), markdown.Code(text))
}

func (w *markdownWriter) writePastActions(d Document) {
	w.writeHeading(
		"What was done, and by whom",
		len(d.PastActions),
		"Nobody changed the job with veltui, as far as its annotations and the audit log on the machine of this "+
			"report say. veltui does not see what others did without it.",
	)
	for _, deed := range d.PastActions {
		by := markdown.Prefixed(" by ", markdown.Code(deed.By))
		reason := markdown.Prefixed("; reason: ", markdown.Code(deed.Reason))
		w.Item("%s%s: %s%s [%s]", w.momentText(deed.At), by, deed.Text, reason, markdown.Code(deed.Source))
	}
}

func (w *markdownWriter) writeTimeline(d Document) {
	w.Heading("Timeline")
	for i, e := range d.Timeline {
		if i == maxEvents/4 && d.OmittedEvents > 0 {
			w.Item("(%s between are not in this report)", human.Count(d.OmittedEvents, "event"))
		}
		w.Item("%s: %s [%s]", w.momentText(e.At), e.Text, markdown.Code(e.Source))
	}
	for _, n := range d.TimelineNotes {
		w.Line("\n%s", n)
	}
}

func (w *markdownWriter) writeMessages(d Document) {
	w.Heading("Errors and warnings")
	switch groups := len(d.Messages.Groups); {
	case d.Messages.Note != "":
		w.Line("%s", d.Messages.Note)
		if groups > 0 {
			w.Line("")
		}
	case groups == 0 && d.Messages.Complete:
		w.Line("%s", results.NoMessages)
	}
	for i := range d.Messages.Groups {
		m := &d.Messages.Groups[i]
		w.Item("%s", messageSpan(m, m.DisplayText()))
		if len(m.Resources) == 0 {
			continue
		}
		names := make([]markdown.Span, len(m.Resources))
		for i, r := range m.Resources {
			names[i] = markdown.Code(r.String())
		}
		w.Line("  - of %s%s", markdown.Join(names, ", "), human.AndMore(m.OmittedResources))
	}
	if d.Messages.OmittedGroups > 0 {
		command := markdown.Code("veltui results " + d.JobRef() + " --all")
		w.Line("\n%s more; %s prints all.", human.Count(d.Messages.OmittedGroups, "group"), command)
	}
}

func (w *markdownWriter) writeLog(l Log) {
	w.Heading("The log's decisive lines")
	if len(l.Lost)+len(l.FirstErrors)+len(l.Last) == 0 {
		w.Line("None were found.")
		return
	}
	if l.From != "" {
		w.Line("From %s.", l.From)
	}
	written := map[LogLine]bool{}
	for _, part := range []struct {
		title string
		lines []LogLine
	}{{"Velero gave up writing the status:", l.Lost}, {"The first errors:", l.FirstErrors}, {"The last lines:", l.Last}} {
		var items []markdown.Span
		for _, line := range part.lines {
			if !written[line] {
				items = append(items, w.logLineSpan(line))
			}
		}
		for _, line := range part.lines {
			written[line] = true
		}
		w.Items(part.title, items)
	}
}

func (w *markdownWriter) logLineSpan(line LogLine) markdown.Span {
	parts := []markdown.Span{
		markdown.Text(w.Moment(line.At.Time)),
		markdown.Text(line.Level),
		markdown.Code(line.Text + human.Prefixed(": ", line.Error)),
	}
	if line.Repeated > 0 {
		parts = append(parts, markdown.Format("(after %s like it)", human.Count(line.Repeated, "line")))
	}
	return markdown.Join(parts, " ")
}

func (w *markdownWriter) writeVolumes(d Document) {
	w.Heading("Volumes and operations")
	for _, count := range d.Volumes.Counts {
		w.Item("%s %s", count.Label, count.Text.Text)
	}
	if len(d.Volumes.Counts) == 0 {
		w.Item("%s", d.Volumes.None)
	}
	for _, line := range d.Volumes.Lines {
		w.Item("%s", volumeSpan(line))
	}
	if d.Volumes.OmittedVolumes > 0 {
		w.Item("%s", human.More(d.Volumes.OmittedVolumes))
	}
	if o := d.Operations; o.Attempted > 0 {
		w.Item("%s: %s", view.OperationsTitle, view.NewOperationCounts(o.Operations).String())
	}
	for _, o := range d.Operations.Open {
		w.Item("Operation %s", o)
	}
}

func volumeSpan(l view.VolumeLine) markdown.Span {
	name := func(s string) string { return string(markdown.Code(s)) }
	text := func(s string) string { return string(markdown.Text(s)) }
	return markdown.Span(l.Format(name, text))
}

func (w *markdownWriter) writeLimits(d Document, v view.Verdict) {
	if d.Verdict.State == "" { // no limit applies to a job that has ended
		return
	}
	section := v.LimitsSection()
	if section.IsEmpty() {
		none := "Nothing that it may wait for has a limit that is known."
		section.Lines = []view.Text{view.Toned(view.Plain, none)}
	}
	w.Section(section)
}

func (w *markdownWriter) writeUnchecked(d Document) {
	w.writeHeading("What could not be checked", len(d.Unchecked), "Nothing was out of reach.")
	for _, n := range d.Unchecked {
		w.Item("%s: %s", human.Capitalize(n.What), n.Why)
	}
}
