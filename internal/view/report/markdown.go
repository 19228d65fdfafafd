package report

import (
	"strings"

	"github.com/veltui/veltui/internal/diagnosis"
	"github.com/veltui/veltui/internal/human"
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
	w.Section(d.aboutSection())
	w.Section(d.pastActionsSection())
	w.writeMessages(d)
	w.Section(d.timelineSection())
	w.Section(d.logSection())
	w.Section(d.volumesSection())
	w.writeLimits(d, v)
	w.Section(d.uncheckedSection())
	return w.String()
}

// markdownWriter writes the parts of a report.
type markdownWriter struct{ markdown.Printer }

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
		instances := m.Instances()
		if len(instances) == 0 {
			continue
		}
		names := make([]markdown.Span, len(instances))
		for i, name := range instances {
			names[i] = markdown.Code(name)
		}
		w.Line("  - of %s%s", markdown.Join(names, ", "), human.AndMore(m.OmittedResources))
	}
	if d.Messages.OmittedGroups > 0 {
		command := markdown.Code("veltui results " + d.JobRef() + " --all")
		w.Line("\n%s more; %s prints all.", human.Count(d.Messages.OmittedGroups, "group"), command)
	}
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
