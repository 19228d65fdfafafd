package text

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/sanitize"
	"github.com/veltui/veltui/internal/view"
)

// Printer prints lines to a writer. After an error it prints nothing more.
type Printer struct {
	Writer io.Writer
	err    error
	// hasWritten is true once something was printed.
	hasWritten bool
}

// Err returns the first error of the writer.
func (p *Printer) Err() error { return p.err }

// RecordError records an error of other code that wrote to the same writer.
func (p *Printer) RecordError(err error) {
	if p.err == nil {
		p.err = err
	}
}

// Write passes data to the writer unchanged.
func (p *Printer) Write(data []byte) (int, error) {
	if p.err != nil {
		return 0, p.err
	}
	n, err := p.Writer.Write(data)
	p.err, p.hasWritten = err, true
	return n, err
}

// Line prints one line; a leading line feed prints an empty line first.
func (p *Printer) Line(format string, args ...any) {
	line, gap := strings.CutPrefix(fmt.Sprintf(format, args...), "\n")
	if gap {
		fmt.Fprintln(p)
	}
	fmt.Fprintln(p, sanitize.String(line))
}

// PrefixedLine prints a text after a lead, or nothing if the text is empty.
func (p *Printer) PrefixedLine(lead, text string) {
	if text != "" {
		p.Line("%s%s", lead, text)
	}
}

// Command prints a command without shortening it, so that it can be copied.
func (p *Printer) Command(indent, command string) { fmt.Fprintln(p, indent+sanitize.FullLine(command)) }

// List prints a title with items below it, or nothing if there are no items.
func (p *Printer) List(title string, items []string) {
	if len(items) == 0 {
		return
	}
	p.Line("\n%s", title)
	for _, item := range items {
		p.Line("  - %s", item)
	}
}

// Verdict prints a verdict in the order in which it is read, with details of the resource before the limits.
func (p *Printer) Verdict(v view.Verdict, now time.Time, details ...view.PageSection) {
	p.Line("%s", v.Summary)
	p.PrefixedLine("verdict: ", v.State.Text)
	p.PrefixedLine("proof: ", v.Proof.Sentence())
	for _, s := range slices.Concat(v.Sections(), details, []view.PageSection{v.LimitsSection()}) {
		p.Section(s, now)
	}
}

// Section prints the steps, facts, fields, items, lists and messages of a part of a page at the time now. Each step is
// below an empty line, behind its own title.
func (p *Printer) Section(s view.PageSection, now time.Time) {
	for _, step := range s.Steps {
		p.Step(step)
	}
	var items []string
	for _, f := range s.Facts {
		items = append(items, view.FactSentence(f, now))
	}
	for _, f := range s.Fields {
		items = append(items, f.Label+" "+f.Text.Text)
	}
	for _, item := range s.Items {
		items = append(items, item.Text)
	}
	p.List(s.Title+":", items)
	for _, list := range s.Lists {
		p.List(list.Title+":", view.TextsOf(list.Items))
	}
	if len(s.Messages) > 0 {
		p.Line("\n%s", s.Title)
	}
	for i := range s.Messages {
		m := &s.Messages[i]
		p.Line("  %s%s", view.MessageRepeats(m), m.DisplayText())
		p.PrefixedLine("      ", view.MessageInstances(m, s.MaxNames))
	}
}

// Step prints a step with its commands below an empty line.
func (p *Printer) Step(s view.Step) {
	lead := s.Title
	if lead != "" {
		lead += ": "
	}
	p.Line("\n%s%s", lead, s.Text)
	p.PrefixedLine("  ", s.Reason)
	for _, consequence := range s.Consequences {
		p.Line("  - %s", consequence)
	}
	p.PrefixedLine("  ", s.Objection)
	if s.Command != "" {
		p.Command("  ", s.Command)
		if len(s.Alternatives) > 0 {
			p.Line("  or:")
		}
	}
	for _, command := range s.Alternatives {
		p.Command("  ", command)
	}
}

// Table prints the columns that commands print, as wide as their texts, with an empty line between it and what was
// printed before. It prints nothing without rows.
func (p *Printer) Table(columns []view.Column, rows [][]view.Cell) {
	if len(rows) == 0 {
		return
	}
	printed, lines := selectPrintedColumns(columns, rows, true)
	for _, texts := range lines {
		for i := range texts {
			if printed[i].Uncut {
				texts[i] = sanitize.FullLine(texts[i])
			} else {
				texts[i] = sanitize.String(texts[i])
			}
		}
	}
	if p.hasWritten {
		fmt.Fprintln(p)
	}
	t := Table{Writer: p}
	p.RecordError(t.Print(printed, lines))
}

// TextWithState is the text of a thing, with its state.
type TextWithState struct{ State, Text string }

// stateWidth is the width of the states of a list.
const stateWidth = 16

// ListByState prints a title with the things below it: of each state the first most things, and the number of the
// others; if most is negative, all of them. hint says how to see the others.
func (p *Printer) ListByState(title string, things []TextWithState, most int, hint string) {
	if len(things) == 0 {
		return
	}
	p.Line("\n%s", title)
	count, printed := map[string]int{}, map[string]int{}
	for _, thing := range things {
		count[thing.State]++
	}
	for _, thing := range things {
		switch n := printed[thing.State]; {
		case most < 0 || n < most:
			p.Line("  %-*s %s", stateWidth, thing.State, thing.Text)
		case n == most:
			p.Line("  %-*s%s%s", stateWidth, thing.State, human.AndMore(count[thing.State]-most), hint)
		}
		printed[thing.State]++
	}
}
