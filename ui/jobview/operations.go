package jobview

import (
	"context"
	"strings"

	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"

	"github.com/veltui/veltui/internal/assess"
	"github.com/veltui/veltui/internal/cluster"
	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/stored/artifact"
	"github.com/veltui/veltui/internal/view"
	"github.com/veltui/veltui/ui/draw"
	"github.com/veltui/veltui/ui/fetch"
	"github.com/veltui/veltui/ui/keys"
	"github.com/veltui/veltui/ui/pager"
)

// operationsPage lists the plugins' asynchronous operations. The counts are live; the list is read while the page is
// open. Requesting the list makes Velero store its present state.
type operationsPage struct {
	noopPage
	listAnswer fetch.StoredAnswer[[]artifact.Operation]
	folds      foldState
	records    map[string]*assess.Operation
}

func (p *operationsPage) countText(j *job.Job) string { return formatCount(j.Operations.Attempted) }

func (p *operationsPage) fetchMissing(s *Screen) tea.Cmd {
	j := s.job.Job
	if s.dependencies.UnavailableReason(cluster.CapabilityStored) != "" || j.Operations.Attempted == 0 ||
		!s.job.HasStoredLists() {
		return nil
	}
	return p.listAnswer.FetchIfDue(
		s.newRequester(),
		s.job.IsTerminal(),
		pageMaxAge,
		func(ctx context.Context) ([]artifact.Operation, error) { return s.dependencies.FetchOperations(ctx, j) },
	)
}

func (p *operationsPage) pageAnswers() []answerHandle { return []answerHandle{&p.listAnswer} }

func (p *operationsPage) newBindings(s *Screen) []keys.Binding {
	listed := func() bool { return p.listAnswer.HasValue }
	return newListBindings(s, p, &p.folds, listed, "the list of operations", func() (string, string) {
		o := p.records[s.SelectedKey()]
		if o == nil {
			return "", ""
		}
		c := s.copyCanvas()
		fields := view.OperationRow{Operation: o, Now: c.Now}.Fields()
		return "the operation on " + human.Shorten(o.ItemName(), 60), plainText(renderDetails(c, fields))
	})
}

// renderHead draws the counts of the operations, and the age of the list.
func (p *operationsPage) renderHead(c draw.Canvas, s *Screen) []string {
	j := s.job.Job
	o := j.Operations
	if o.Attempted == 0 {
		return nil
	}
	var parts []string
	counts := view.NewOperationCounts(o)
	for _, part := range []view.Text{counts.Completed, counts.Failed, counts.Open} {
		if part.Text != "" {
			parts = append(parts, c.Theme.ToneStyle(part.Tone).Render(part.Text))
		}
	}
	text, style := p.listStatus(c, s)
	head := " " + view.OperationsTitle + ": " + strings.Join(parts, ", ")
	return append([]string{head}, wrapNote(c, style, text, maxAboutLines(c))...)
}

// listStatus returns the age of the list, or why there is none.
func (p *operationsPage) listStatus(c draw.Canvas, s *Screen) (string, lipgloss.Style) {
	j := s.job.Job
	var age string
	if p.listAnswer.HasValue && !j.IsTerminal() {
		// The list's age is by our own clock, because the list has no time.
		age = "The list is " + human.Age(p.listAnswer.ReadAt, s.dependencies.Clock()) + " old."
	}
	switch why := s.dependencies.UnavailableReason(cluster.CapabilityStored); {
	case why != "":
		return strings.TrimSpace(why + " The operations themselves are unknown."), c.Theme.Dim
	case !s.job.HasStoredLists():
		return "Velero stores the list of operations when all items are done.", c.Theme.Dim
	case p.listAnswer.Err != nil && p.listAnswer.HasValue:
		return age + " It could not be read again: " + p.listAnswer.Err.Error(), c.Theme.Waiting
	case p.listAnswer.Err != nil:
		return "The operations themselves are unknown: " + p.listAnswer.Err.Error(), c.Theme.Waiting
	case p.listAnswer.IsPending() && !p.listAnswer.HasValue:
		return "Reading the list of operations...", c.Theme.Dim
	case j.IsTerminal():
		return " ", c.Theme.Dim
	}
	return strings.TrimSpace(age + " veltui asks again every 30s while this page is open."), c.Theme.Dim
}

func (p *operationsPage) renderLines(c draw.Canvas, s *Screen) pager.Source {
	j := s.job.Job
	if j.Operations.Attempted == 0 {
		return pager.PlainLines([]string{"", "  " + view.NoOperations(j)})
	}
	if !p.listAnswer.HasValue {
		if len(j.Volumes) > 0 {
			page := human.Capitalize(pageTitle(Volumes))
			return pager.PlainLines([]string{"", "  " + page + " shows the bytes that data movers have moved."})
		}
		return pager.Lines{}
	}
	operations := s.assessment.JoinOperations(j, p.listAnswer.Value, s.assessment.JudgeVolumes(j))
	p.records = make(map[string]*assess.Operation, len(operations))
	shown := markedColumns(view.OperationColumns)
	widths := view.FitColumns(shown, c.Width)
	o := &outline{canvas: c, folds: p.folds}
	o.addLines(c.RenderTableHeader(shown, widths, draw.SortOrder{}))
	for i := range operations {
		operation := &operations[i]
		key := operation.ID + "/" + operation.ItemText()
		p.records[key] = operation
		row := view.OperationRow{Operation: operation, Now: c.Now}
		o.addRow(key, func(c draw.Canvas) string {
			cells := markedCells(c, view.OperationColumns, widths, view.OperationState(operation), row.Cells())
			return renderTableRow(c, shown, widths, cells...)
		})
		if o.folds.isOpen(key, false) {
			o.addLines(renderDetails(c, row.Fields())...)
		} else {
			o.addLines(renderBelow(c, c.Theme.Bad, operation.Error)...)
		}
	}
	return o
}
