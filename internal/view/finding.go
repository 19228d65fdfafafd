package view

import (
	"fmt"
	"strings"
	"time"

	"github.com/veltui/veltui/internal/assess"
	"github.com/veltui/veltui/internal/diagnosis"
	"github.com/veltui/veltui/internal/human"
)

// FindingRow is one finding, as a row of a list.
type FindingRow struct {
	assess.Finding
	Context      string    // the kubeconfig context
	Velero       string    // the namespace of the Velero that was checked
	Acknowledged bool      // a person has seen the finding
	Now          time.Time // by the cluster's clock
}

// FindingColumns are the columns that `check` prints.
var FindingColumns = []Column{
	{Name: "context", Priority: 1, MinWidth: 6, CutMiddle: true},
	NamespaceColumn,
	{Name: "severity"},
	{Name: "object", MinWidth: 12, CutMiddle: true},
	{Name: "reason", Priority: 2},
	{Name: "since", Priority: 3},
	{Name: "summary", MinWidth: 20},
	{Name: "next", Wide: true},
}

// Cells returns the cells of [FindingColumns].
func (r FindingRow) Cells() []Cell {
	summary := FindingText(&r.Finding)
	if r.Acknowledged {
		summary = "(acknowledged) " + summary
	}
	return []Cell{
		TextCell(Dim, r.Context),
		TextCell(Dim, r.Velero),
		TextCell(SeverityTone(r.Severity), strings.ToUpper(r.Severity.String())),
		TextCell(Strong, r.Ref()),
		TextCell(Plain, r.Reason.String()),
		AgeCell(Plain, r.Since, r.Now, ""),
		TextCell(Plain, summary),
		TextCell(Plain, NextText(r.Next())),
	}
}

// NextText returns what to do next in one line: its first command, or its text if there is none.
func NextText(n diagnosis.Next) string {
	if len(n.Commands) > 0 {
		return n.Commands[0]
	}
	return n.Text
}

// SeverityTone returns the tone of a severity.
func SeverityTone(s assess.Severity) Tone {
	if s == assess.Critical {
		return Bad
	}
	return Waiting
}

// maxAffected is the largest number of affected things that the text of a finding names.
const maxAffected = 3

// FindingText returns what is wrong and what it affects, without a full stop.
func FindingText(f *assess.Finding) string {
	return strings.TrimSuffix(f.Summary, ".") + human.Prefixed(". Affects ", human.JoinNames(f.Affects, maxAffected))
}

// FindingSentence returns a finding with its resource, its severity and its time.
func FindingSentence(f *assess.Finding, now time.Time) string {
	kind := f.Severity.String() + ", " + f.Reason.String() + human.Prefixed(", since ", human.ClockTime(f.Since, now))
	return f.Ref() + human.InParens(kind) + ": " + FindingText(f) + "."
}

// CheckCounts counts the findings of a check, and what the check could not read or left out.
type CheckCounts struct{ Critical, Warnings, Unread, AcknowledgedLeftOut int }

// String returns the counts in words, such as "1 critical, 2 warnings".
func (c CheckCounts) String() string {
	text := fmt.Sprintf("%d critical, %s", c.Critical, human.Count(c.Warnings, "warning"))
	if c.Unread > 0 {
		text += fmt.Sprintf(", %d not read", c.Unread)
	}
	if c.AcknowledgedLeftOut > 0 {
		text += fmt.Sprintf(", %d acknowledged left out", c.AcknowledgedLeftOut)
	}
	return text
}

// mostFindings is the largest number of findings that a summary names.
const mostFindings = 3

// CheckSummary returns the counts and names the first findings, for a line that stands alone.
func CheckSummary(c CheckCounts, findings []assess.Finding) string {
	var names []string
	for i := range findings {
		names = append(names, findings[i].Ref()+" "+findings[i].Reason.String())
	}
	return c.String() + human.Prefixed(": ", human.JoinNames(names, mostFindings))
}
