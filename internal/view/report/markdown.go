package report

import (
	"strings"

	"github.com/veltui/veltui/internal/diagnosis"
	"github.com/veltui/veltui/internal/velero"
	"github.com/veltui/veltui/internal/view"
	"github.com/veltui/veltui/internal/view/document"
	"github.com/veltui/veltui/internal/view/markdown"
)

// Markdown returns the report as a text that reads well with and without rendering.
func (d Document) Markdown() string {
	p := &markdown.Printer{Now: d.MadeAt.Time}
	v := d.newVerdict()
	p.Title("Report on %s %s", strings.ToLower(d.Job.Kind), d.Job.Name)
	p.VerdictHead(v)
	sections := append(
		v.Sections(),
		d.aboutSection(),
		d.pastActionsSection(),
		d.messagesSection(),
		d.timelineSection(),
		d.logSection(),
		d.volumesSection(),
	)
	if d.Verdict.State != "" { // no limit applies to a job that has ended
		sections = append(sections, v.LimitsSection())
	}
	for _, section := range append(sections, d.uncheckedSection()) {
		p.Section(section)
	}
	return p.String()
}

// newVerdict returns the verdict of the report, which is redacted, unlike the diagnosis.
func (d Document) newVerdict() view.Verdict {
	v := view.Verdict{
		Summary:  d.Verdict.Summary,
		Phase:    d.Job.Phase,
		NoSteps:  "Nothing that veltui knows of.",
		NoLimits: "Nothing that it may wait for has a limit that is known.",
	}
	if d.Verdict.State == "" {
		v.FirstErrors = view.FirstErrors(d.Messages.Groups)
	} else {
		v.State = view.VerdictState(d.Verdict.State, d.Verdict.Reason)
	}
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
