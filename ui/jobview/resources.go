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
	columns := itemColumns(s.job.Kind)
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
		lines := wrapNote(c, c.Theme.Bad, "The list of the items cannot be read: "+p.itemsAnswer.Err.Error(), 6)
		if s.contents != ForbiddenContents {
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
	below := func(style lipgloss.Style, text string) {
		o.addLines(append([]string{""}, wrapNote(c, style, text, 6)...)...)
	}
	if items.CompareUnavailable != "" {
		below(c.Theme.Waiting, "What of the backup did not come back is not known: "+items.CompareUnavailable)
	}
	if items.ReasonsUnavailable != "" {
		below(c.Theme.Waiting, "Why items failed is not known: "+items.ReasonsUnavailable)
	}
	if items.UnnamedCount > 0 {
		below(c.Theme.Dim, human.Count(items.UnnamedCount, "item")+" more are counted, but not named here.")
	}
	if !s.job.IsTerminal() {
		below(c.Theme.Dim, "Velero may write some items anew until the backup has ended.")
	}
	return o
}

var restoredColumns = []view.ScreenColumn{
	{Width: 1},
	{Width: 1},
	{Title: "RESOURCE", Width: 22, Grow: 1, Limit: 60},
	{Title: "CREATED", Width: 7, Right: true},
	{Title: "UPDATED", Width: 7, Right: true, Priority: 3},
	{Title: "SKIPPED", Width: 7, Right: true, Priority: 2},
	{Title: "FAILED", Width: 7, Right: true},
	{Title: "MISSING", Width: 7, Right: true, Priority: 1},
	{Title: "LEFT OUT", Width: 8, Right: true, Priority: 1},
	{Width: 1},
}

// itemStatuses are the statuses that the columns of a restore count, in their order.
var itemStatuses = []results.ItemStatus{
	results.Created,
	results.Updated,
	results.Skipped,
	results.Failed,
	results.Missing,
	results.LeftOut,
}

var backupColumns = []view.ScreenColumn{
	{Width: 1},
	{Width: 1},
	{Title: "IN THE BACKUP", Width: 22, Grow: 1, Limit: 60},
	{Title: "ITEMS", Width: 8, Right: true},
	{Width: 1},
}

func itemColumns(of job.Kind) []view.ScreenColumn {
	if of == job.Restore {
		return restoredColumns
	}
	return backupColumns
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
			backupColumns,
			sign,
			name,
			kind.Name,
			[]int{kind.CountItems()},
			[]lipgloss.Style{c.Theme.Text},
		)
	}
	var counts []int
	var styles []lipgloss.Style
	for _, did := range itemStatuses {
		_, style := itemStatusSign(c, did)
		counts, styles = append(counts, kind.CountByStatus[did]), append(styles, style)
	}
	return renderCountRow(c, restoredColumns, sign, name, kind.Name, counts, styles)
}

// itemStatusSign returns the sign and the style of an item's status.
func itemStatusSign(c draw.Canvas, did results.ItemStatus) (string, lipgloss.Style) {
	switch did {
	case results.Failed, results.Missing:
		return c.Glyphs.Failed, c.Theme.Bad
	case results.LeftOut, results.Skipped:
		return c.Glyphs.Skipped, c.Theme.Dim
	case results.InBackup:
		return c.Glyphs.Fact, c.Theme.Dim
	}
	return c.Glyphs.Done, c.Theme.Good
}

// renderItemRow draws an item with its status.
func renderItemRow(c draw.Canvas, i *results.Item) string {
	sign, style := itemStatusSign(c, i.Status)
	head := "     " + style.Render(sign) + " "
	if i.Status != results.InBackup {
		head += style.Render(c.FitLeft(string(i.Status), 8)) + " "
	}
	return head + c.Theme.Text.Render(
		human.Namespaced(i.Namespace, i.Name),
	) + c.Theme.Dim.Render(
		originAndReason(i.BackupNamespace, i.Why),
	)
}

// originAndReason returns the text after an item's name: its namespace in the backup, and the reason for its status.
func originAndReason(from, why string) string {
	return human.Prefixed(" from ", from) + human.Prefixed(": ", why)
}

// renderItemCounts counts all items by status, in one line.
func renderItemCounts(c draw.Canvas, j *job.Job, items results.Items) string {
	if j.Kind == job.Backup {
		return c.Theme.Strong.Render(
			fmt.Sprintf(" %s of %s", human.Count(items.CountItems(), "item"), human.Count(len(items.Kinds), "kind")),
		)
	}
	count := map[results.ItemStatus]int{}
	for _, k := range items.Kinds {
		for did, n := range k.CountByStatus {
			count[did] += n
		}
	}
	var parts []string
	for _, did := range itemStatuses {
		if n := count[did]; n > 0 {
			_, style := itemStatusSign(c, did)
			parts = append(parts, style.Render(fmt.Sprintf("%d %s", n, did)))
		}
	}
	if len(parts) == 0 {
		return c.Theme.Dim.Render(" Velero worked on no item.")
	}
	return " " + strings.Join(parts, c.Theme.Dim.Render(", "))
}
