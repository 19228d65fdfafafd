package markdown

import (
	"fmt"
	"strings"
	"time"

	"github.com/veltui/veltui/internal/diagnosis"
	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/stored/results"
	"github.com/veltui/veltui/internal/view"
)

// Printer prints a document in Markdown. Times are in UTC, and their ages are those at the time Now. Formats are
// those of [Format].
type Printer struct {
	Now  time.Time
	text strings.Builder
}

// String returns the document.
func (p *Printer) String() string { return p.text.String() }

// Title prints the title of the document.
func (p *Printer) Title(format string, args ...any) { p.Line("# "+format+"\n", args...) }

// Heading prints the heading of a section.
func (p *Printer) Heading(title string) { p.Line("\n## %s\n", title) }

// Line prints one line; a leading line feed prints an empty line first.
func (p *Printer) Line(format string, args ...any) { fmt.Fprintln(&p.text, Format(format, args...)) }

// Item prints an item of a list.
func (p *Printer) Item(format string, args ...any) { p.Line("- "+format, args...) }

// Fact prints a fact as an item, with its origin and the moment of its observation.
func (p *Printer) Fact(lead string, f diagnosis.Fact) {
	p.Item("%s%s [%s%s]", Span(lead), f.Text, Code(f.Source), Prefixed(", ", Text(view.MomentAndAge(f.At, p.Now))))
}

// VerdictHead prints the head of a verdict: the summary with the phase and the state, the first errors and the proof.
func (p *Printer) VerdictHead(v view.Verdict) {
	p.Line("**%s** %s", human.EndSentence(v.Summary), Phrase(v.StateSentence()))
	if len(v.FirstErrors) > 0 || v.Proof != nil {
		p.Line("")
	}
	for _, text := range v.FirstErrors {
		p.Item("%s", Phrase(text))
	}
	if v.Proof != nil {
		p.Fact("Proof: ", v.Proof.Fact)
	}
}

// Section prints the steps, facts, fields, items, lines, lists and messages of a part of a page below its heading.
func (p *Printer) Section(s view.PageSection) {
	p.Heading(human.Capitalize(s.Title))
	for i, step := range s.Steps {
		p.Line("%d. %s", i+1, step.Text)
		for _, command := range step.Commands() {
			p.Line("   - %s", Code(command))
		}
	}
	for _, f := range s.Facts {
		p.Fact("", f)
	}
	for _, f := range s.Fields {
		p.Item("%s: %s", Code(f.Label), f.Text.Text)
	}
	for _, item := range s.Items {
		p.Item("%s", Phrase(item))
	}
	if len(s.Steps)+len(s.Facts)+len(s.Fields)+len(s.Items) > 0 && len(s.Lines) > 0 {
		p.Line("") // else the line belongs to the last item
	}
	for i, line := range s.Lines {
		if i > 0 {
			p.Line("")
		}
		p.Line("%s", Phrase(line))
	}
	for _, list := range s.Lists {
		p.printList(list)
	}
	if len(s.Lines) > 0 && len(s.Messages) > 0 {
		p.Line("")
	}
	for i := range s.Messages {
		p.printMessage(&s.Messages[i])
	}
	for _, line := range s.Footer {
		p.Line("\n%s", Phrase(line))
	}
}

// printMessage prints a message as an item, and below it the names that vary in it.
func (p *Printer) printMessage(m *results.Message) {
	p.Item("%s", Phrase(view.MessagePhrase(m, m.DisplayText())))
	var names []Span
	for _, name := range m.Instances() {
		names = append(names, Code(name))
	}
	if len(names) > 0 {
		p.Line("  - of %s%s", Join(names, ", "), Span(human.AndMore(m.OmittedResources)))
	}
}

func (p *Printer) printList(l view.List) {
	if len(l.Items) == 0 {
		return
	}
	p.Line("\n%s\n", Span(l.Title))
	for _, item := range l.Items {
		p.Item("%s", Phrase(item))
	}
}
