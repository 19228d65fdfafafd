package jobview

import (
	"context"
	"fmt"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"

	"github.com/veltui/veltui/internal/assess"
	"github.com/veltui/veltui/internal/cluster"
	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/stored/artifact"
	"github.com/veltui/veltui/internal/velero"
	"github.com/veltui/veltui/internal/view"
	"github.com/veltui/veltui/ui/draw"
	"github.com/veltui/veltui/ui/fetch"
	"github.com/veltui/veltui/ui/keys"
	"github.com/veltui/veltui/ui/pager"
)

// operationsPage lists plugins' asynchronous operations. Counts are live; the list is read while the page is open.
// Asking for it makes Velero store what it knows.
type operationsPage struct {
	still
	list    fetch.StoredAnswer[[]artifact.Operation]
	folds   folds
	records map[string]*assess.Operation
}

func (p *operationsPage) count(j *job.Job) string { return counted(j.Operations.Attempted) }

func (p *operationsPage) load(s *Screen) tea.Cmd {
	j := s.job.Job
	if s.sources.Unavailable(cluster.Stored) != "" || j.Operations.Attempted == 0 || !s.job.ListsStored() {
		return nil
	}
	return p.list.Ask(
		s.asker(),
		s.job.Terminal(),
		readAge,
		func(ctx context.Context) ([]artifact.Operation, error) { return s.sources.Operations(ctx, j) },
	)
}

func (p *operationsPage) answers() []answer { return []answer{&p.list} }

func (p *operationsPage) keys(s *Screen) []keys.Binding {
	listed := func() bool { return p.list.Known }
	return listKeys(s, p, &p.folds, listed, "the list of operations", func() (string, string) {
		o := p.records[s.Selected()]
		if o == nil {
			return "", ""
		}
		return "the operation on " + human.Shorten(o.ItemName(), 60), plainText(operationDetails(s.wide(), o))
	})
}

// head counts the operations, and says how old the list is.
func (p *operationsPage) head(c draw.Canvas, s *Screen) []string {
	j := s.job.Job
	o := j.Operations
	if o.Attempted == 0 {
		return nil
	}
	parts := []string{
		human.Count(o.Attempted, "operation"),
		c.Theme.Good.Render(fmt.Sprintf("%d completed", o.Completed)),
	}
	if o.Failed > 0 {
		parts = append(parts, c.Theme.Bad.Render(fmt.Sprintf("%d failed", o.Failed)))
	}
	if going := o.Attempted - o.Completed - o.Failed; going > 0 {
		parts = append(parts, c.Theme.Running.Render(fmt.Sprintf("%d going on", going)))
	}
	text, style := p.about(c, s)
	return append([]string{" " + strings.Join(parts, ", ")}, note(c, style, text, aboutLines(c))...)
}

// about says how old the list is, or why there is none.
func (p *operationsPage) about(c draw.Canvas, s *Screen) (string, lipgloss.Style) {
	j := s.job.Job
	var age string
	if p.list.Known && !j.Terminal() {
		// The list's age is by our own clock, as it has no other.
		age = "The list is " + human.Age(p.list.Read, s.sources.Clock()) + " old."
	}
	switch why := s.sources.Unavailable(cluster.Stored); {
	case why != "":
		return strings.TrimSpace(why + " The operations themselves are not known."), c.Theme.Dim
	case !s.job.ListsStored():
		return "Velero stores the list of operations when all items are done.", c.Theme.Dim
	case p.list.Err != nil && p.list.Known:
		return age + " It could not be read again: " + p.list.Err.Error(), c.Theme.Waiting
	case p.list.Err != nil:
		return "The operations themselves are not known: " + p.list.Err.Error(), c.Theme.Waiting
	case p.list.Pending() && !p.list.Known:
		return "Reading the list of operations...", c.Theme.Dim
	case j.Terminal():
		return " ", c.Theme.Dim
	}
	return strings.TrimSpace(age + " veltui asks again every 30s while this page is open."), c.Theme.Dim
}

var operationColumns = []view.ScreenColumn{
	{Width: 1},
	{Title: "ITEM", Width: 24, Grow: 2, Limit: 60},
	{Title: "PHASE", Width: 10},
	{Title: "DONE", Width: 12, Grow: 1, Limit: 20, Right: true},
	{Title: "UPDATED", Width: 7, Priority: 2, Right: true},
	{Title: "DEADLINE", Width: 8, Priority: 1, Right: true},
	{Title: "CREATED", Width: 7, Priority: 4, Right: true},
	{Title: "KIND", Width: 22, Grow: 1, Limit: 40, Priority: 3},
	{Title: "PLUGIN", Width: 28, Grow: 1, Limit: 50, Priority: 5},
	{Title: "VOLUME", Width: 26, Grow: 1, Limit: 50, Priority: 6},
}

func (p *operationsPage) lines(c draw.Canvas, s *Screen) pager.Source {
	j := s.job.Job
	if j.Operations.Attempted == 0 {
		return pager.Plain(
			[]string{"", "  Plugins have started no asynchronous operation for this job" + soFar(j) + "."},
		)
	}
	if !p.list.Known {
		if len(j.Volumes) > 0 {
			page := human.Capital(nameWithKey(Volumes, s.sources.Keys))
			return pager.Plain([]string{"", "  " + page + " shows the bytes that data movers have moved."})
		}
		return pager.Lines{}
	}
	operations := s.assessed.Operations(j, p.list.Value, s.assessed.Volumes(j))
	p.records = make(map[string]*assess.Operation, len(operations))
	widths := view.FitColumns(operationColumns, c.Width)
	o := &outline{canvas: c, folds: p.folds}
	o.say(c.Titles(operationColumns, widths, draw.Sorting{}))
	for i := range operations {
		operation := &operations[i]
		key := operation.ID + "/" + operation.Item()
		p.records[key] = operation
		o.add(key, func(c draw.Canvas) string { return operationRow(c, operation, widths) })
		if o.folds.isOpen(key, false) {
			o.say(operationDetails(c, operation)...)
		} else {
			o.say(below(c, c.Theme.Bad, operation.Error)...)
		}
	}
	return o
}

func operationRow(c draw.Canvas, o *assess.Operation, widths []int) string {
	sign, style := c.Glyphs.Now, c.Theme.Running
	switch {
	case o.Failed():
		sign, style = c.Glyphs.Failed, c.Theme.Bad
	case o.Ended():
		sign, style = c.Glyphs.Done, c.Theme.Good
	case o.Phase == velero.OperationNew || o.Phase == "":
		sign, style = c.Glyphs.Ahead, c.Theme.Waiting
	}
	volume := ""
	if o.Volume != nil {
		volume = o.Volume.Ref().String()
	}
	text, dim := c.Theme.Text, c.Theme.Dim
	return tableRow(
		c,
		operationColumns,
		widths,
		cell{style, sign},
		cell{text, c.CutMiddle(o.ItemName(), widths[1])},
		cell{style, o.Phase},
		cell{
			text,
			o.Amount(),
		},
		cell{dim, human.Age(o.Updated, c.Now)},
		deadline(c, o),
		cell{dim, human.Age(o.Created, c.Now)},
		cell{dim, o.ItemKind()},
		cell{dim, o.Action},
		cell{dim, volume},
	)
}

// deadline is how long Velero still waits for an operation.
func deadline(c draw.Canvas, o *assess.Operation) cell {
	left := o.Deadline.Sub(c.Now)
	switch text := "in " + human.Duration(left); {
	case o.Deadline.IsZero():
		return cell{}
	case left <= 0:
		return cell{c.Theme.Waiting, "passed"}
	case left < 10*time.Minute:
		return cell{c.Theme.Waiting, text}
	default:
		return cell{c.Theme.Dim, text}
	}
}

// operationDetails are all that is known of one operation, below its row.
func operationDetails(c draw.Canvas, o *assess.Operation) []string {
	amount := o.Amount()
	if o.Total > 0 && strings.EqualFold(o.Units, "bytes") {
		amount = fmt.Sprintf("%s (%d of %d bytes)", amount, o.Done, o.Total)
	}
	all := fields{
		{"Item", o.Item()}, {"Plugin", o.Action}, {"Operation", o.ID}, {"Phase", o.Phase},
		{"Done", amount}, {"It says", o.Description}, {"Updates", o.Updates}, {"Error", o.Error},
	}
	if v := o.Volume; v != nil {
		all = append(all, fields{
			{"Moves", v.Ref().String() + ", " + v.Target},
			{"Its phase", volumePhase(v.Phase)}, {"Its bytes", human.BytesOf(v.Done, v.Total)},
			{"Its cause", v.Verdict.Cause}, {"Its message", v.Message},
		}...)
	}
	deadline := ""
	switch {
	case o.Deadline.IsZero():
	case o.Deadline.After(c.Now):
		deadline = fmt.Sprintf(
			"Velero cancels it in %s (itemOperationTimeout, from its creation)",
			human.Duration(o.Deadline.Sub(c.Now)),
		)
	default:
		deadline = fmt.Sprintf("passed %s (itemOperationTimeout, from its creation)", human.Ago(o.Deadline, c.Now))
	}
	all = append(all, fields{
		{
			"Created",
			moment(c, o.Created),
		},
		{"Started", moment(c, o.Started)},
		{"Updated", moment(c, o.Updated)},
		{"Deadline", deadline},
	}...)
	return all.details(c)
}
