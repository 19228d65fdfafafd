package jobview

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"

	"github.com/veltui/veltui/internal/cluster"
	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/restore/restorespec"
	"github.com/veltui/veltui/internal/stored/results"
	"github.com/veltui/veltui/internal/velero"
	"github.com/veltui/veltui/internal/view"
	"github.com/veltui/veltui/ui/draw"
	"github.com/veltui/veltui/ui/fetch"
	"github.com/veltui/veltui/ui/keys"
	"github.com/veltui/veltui/ui/pager"
)

// resourcesPage shows the result for each item of a job whose items are done. Before that, or if the results are
// unknown, it shows what a restore restores and how far it is, or what a backup holds.
type resourcesPage struct {
	noopPage
	itemsAnswer fetch.StoredAnswer[results.Items]
	folds       foldState
	// by namespace and name in the cluster, and by resource or reason; nil until needed
	failedByName map[[3]string][]restorespec.Item
}

// showsItems reports whether the job's list of items is shown: of an ended job, or a backup whose items are done.
// Velero stores a backup's list before the phase says so (persistBackup in pkg/controller/backup_controller.go),
// and signs downloads in any phase (download_request_controller.go, both 1.18.3).
func (p *resourcesPage) showsItems(s *Screen) bool {
	stored := s.job.IsTerminal() && s.job.Phase != velero.PhaseFailedValidation ||
		s.job.Kind == job.Backup && (s.job.Stage == job.StageOperations || s.job.Stage == job.StageFinalizing)
	return stored && s.dependencies.UnavailableReason(cluster.CapabilityItems) == ""
}

func (s *Screen) findResourcesPage() *resourcesPage {
	return s.pages[s.tabIndex(Resources)].(*resourcesPage)
}

func (p *resourcesPage) fetchMissing(s *Screen) tea.Cmd { return p.fetchItems(s, s.newRequester()) }

func (p *resourcesPage) fetchItems(s *Screen, by fetch.Requester) tea.Cmd {
	if !p.showsItems(s) || s.assessment == nil {
		return nil
	}
	j, server := s.job.Job, s.assessment.Snapshot.Server
	return p.itemsAnswer.FetchIfDue(
		by,
		s.job.IsTerminal(),
		0,
		func(ctx context.Context) (results.Items, error) { return s.dependencies.FetchItems(ctx, j, server) },
	)
}

func (p *resourcesPage) showsAges() bool             { return !p.itemsAnswer.HasValue }
func (p *resourcesPage) pageAnswers() []answerHandle { return []answerHandle{&p.itemsAnswer} }

func (p *resourcesPage) newBindings(s *Screen) []keys.Binding {
	listed := func() bool { return p.showsItems(s) && p.itemsAnswer.HasValue }
	return append(
		s.newMarkBindings(
			listed,
			p.itemsAt,
			"Nothing is selected here that can be restored alone.",
			func() []restorespec.Item { return cluster.FailedItems(p.itemsAnswer.Value) },
		),
		p.folds.newBinding(s, "open or close", listed, groupAtDepth(1)),
	)
}

// itemsAt returns the items of a row, by their names in the backup.
func (p *resourcesPage) itemsAt(key string) []restorespec.Item {
	var k, i int
	if n, _ := fmt.Sscanf(
		key,
		"%d/%d",
		&k,
		&i,
	); n < 2 || k >= len(p.itemsAnswer.Value.Kinds) ||
		i >= len(p.itemsAnswer.Value.Kinds[k].Items) {
		return nil
	}
	kind := &p.itemsAnswer.Value.Kinds[k]
	return cluster.SourceItems(kind.Name, kind.Items[i].Namespace, kind.Items[i].Name, kind.Items[i].BackupNamespace)
}

func (p *resourcesPage) wantsContents(s *Screen) bool {
	return !p.showsItems(s) || p.itemsAnswer.Err != nil
}

func (p *resourcesPage) renderHead(c draw.Canvas, s *Screen) []string {
	if !p.showsItems(s) || !p.itemsAnswer.HasValue {
		return nil
	}
	columns := view.ItemColumns(s.job.Kind)
	return []string{
		renderItemCounts(c, s.job.Job, p.itemsAnswer.Value),
		c.RenderTableHeader(columns, view.FitColumns(columns, c.Width), draw.SortOrder{}),
	}
}

func (p *resourcesPage) renderLines(c draw.Canvas, s *Screen) pager.Source {
	p.folds.followSearch(s)
	switch {
	case !p.showsItems(s):
		return pager.PlainLines(renderContents(c, s))
	case p.itemsAnswer.HasValue:
		return p.buildOutline(c, s)
	case p.itemsAnswer.Err != nil:
		note := view.ItemsUnavailable(p.itemsAnswer.Err)
		lines := wrapNote(c, c.Theme.ToneStyle(note.Tone), note.Text, 6)
		if s.contents != view.ForbiddenContents {
			lines = append(append(lines, ""), renderContents(c, s)...)
		}
		return pager.PlainLines(lines)
	}
	return pager.PlainLines(
		append(
			[]string{""},
			wrapNote(c, c.Theme.Dim, waitingText(c, s, "Reading the list of the items", p.itemsAnswer.RequestedAt()), 6)...),
	)
}

// buildOutline lists the kinds, with the items of the open kinds.
func (p *resourcesPage) buildOutline(c draw.Canvas, s *Screen) *outline {
	o, items, of := &outline{canvas: c, folds: p.folds}, p.itemsAnswer.Value, s.job.Kind
	for k := range items.Kinds {
		kind, key := &items.Kinds[k], strconv.Itoa(k)
		if !o.addGroup(key, false, func(c draw.Canvas, sign string) string { return renderKindRow(c, of, kind, sign) }) {
			continue
		}
		for i := range kind.Items {
			own := key + "/" + strconv.Itoa(i)
			marked := s.areMarked(p.itemsAt(own))
			o.addRow(own, func(c draw.Canvas) string { return overlayMark(c, marked, renderItemRow(c, &kind.Items[i])) })
		}
	}
	for _, note := range view.ItemNotes(s.job.Job, &items) {
		o.addLines(append([]string{""}, wrapNote(c, c.Theme.ToneStyle(note.Tone), note.Text, 6)...)...)
	}
	return o
}

// renderKindRow draws a kind with the number of its items in each status.
func renderKindRow(c draw.Canvas, of job.Kind, kind *results.Kind, sign string) string {
	name := c.Theme.Text
	if kind.CountLost() > 0 {
		name = c.Theme.Bad
	} else if of == job.Restore && kind.CountByStatus[results.LeftOut] == kind.CountItems() {
		name = c.Theme.Dim
	}
	if of == job.Backup {
		return renderCountRow(
			c,
			view.ItemColumns(of),
			sign,
			name,
			kind.Name,
			[]int{kind.CountItems()},
			[]lipgloss.Style{c.Theme.Text},
		)
	}
	var counts []int
	var styles []lipgloss.Style
	for _, status := range view.ItemStatuses {
		counts = append(counts, kind.CountByStatus[status])
		styles = append(styles, c.Theme.ToneStyle(view.ItemStatusTone(status)))
	}
	return renderCountRow(c, view.ItemColumns(of), sign, name, kind.Name, counts, styles)
}

// itemStatusSign returns the sign of an item's status.
func itemStatusSign(c draw.Canvas, status results.ItemStatus) string {
	switch status {
	case results.Failed, results.Missing:
		return c.Glyphs.Failed
	case results.LeftOut, results.Skipped:
		return c.Glyphs.Skipped
	case results.InBackup:
		return c.Glyphs.Fact
	}
	return c.Glyphs.Done
}

// renderItemRow draws an item with its status.
func renderItemRow(c draw.Canvas, i *results.Item) string {
	style := c.Theme.ToneStyle(view.ItemStatusTone(i.Status))
	head := "     " + style.Render(itemStatusSign(c, i.Status)) + " "
	if i.Status != results.InBackup {
		head += style.Render(c.FitLeft(string(i.Status), 8)) + " "
	}
	return head + c.Theme.Text.Render(human.Namespaced(i.Namespace, i.Name)) + c.Theme.Dim.Render(view.ItemDetails(i))
}

// renderItemCounts counts all items, in one line.
func renderItemCounts(c draw.Canvas, j *job.Job, items results.Items) string {
	var parts []string
	for _, count := range view.ItemCounts(j.Kind, &items) {
		parts = append(parts, c.Theme.ToneStyle(count.Tone).Render(count.Text))
	}
	return " " + strings.Join(parts, c.Theme.Dim.Render(", "))
}
