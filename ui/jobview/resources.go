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

// resourcesPage shows what became of each item of a job whose items are done; before that, and where that is
// unknown, what a restore restores and where it is in that, or what a backup holds.
type resourcesPage struct {
	still
	items fetch.StoredAnswer[results.Items]
	folds folds
	// by namespace and name in the cluster, and resource or reason; nil until needed
	lost map[[3]string][]restorespec.Item
}

// listed reports whether the job's list of items is shown: of an ended job, or a backup whose items are done.
// Velero stores a backup's list before the phase says so (persistBackup in pkg/controller/backup_controller.go),
// and signs downloads in any phase (download_request_controller.go, both 1.18.3).
func (p *resourcesPage) listed(s *Screen) bool {
	stored := s.job.Terminal() && s.job.Phase != velero.PhaseFailedValidation ||
		s.job.Kind == job.Backup && (s.job.Stage == job.StageOperations || s.job.Stage == job.StageFinalizing)
	return stored && s.sources.Unavailable(cluster.Items) == ""
}

func (s *Screen) resources() *resourcesPage { return s.pages[s.indexOf(Resources)].(*resourcesPage) }

func (p *resourcesPage) load(s *Screen) tea.Cmd { return p.ask(s, s.asker()) }

func (p *resourcesPage) ask(s *Screen, by fetch.Asker) tea.Cmd {
	if !p.listed(s) || s.assessed == nil {
		return nil
	}
	j, server := s.job.Job, s.assessed.Snapshot.Server
	return p.items.Ask(
		by,
		s.job.Terminal(),
		0,
		func(ctx context.Context) (results.Items, error) { return s.sources.Items(ctx, j, server) },
	)
}

func (p *resourcesPage) ages() bool        { return !p.items.Known }
func (p *resourcesPage) answers() []answer { return []answer{&p.items} }

func (p *resourcesPage) keys(s *Screen) []keys.Binding {
	listed := func() bool { return p.listed(s) && p.items.Known }
	return append(
		s.markKeys(
			listed,
			p.item,
			"Nothing is selected here that can be restored alone.",
			func() []restorespec.Item { return cluster.FailedItems(p.items.Value) },
		),
		p.folds.binding(s, "open or close", listed, upTo(1)),
	)
}

// item is what a row stands for, as the backup names it.
func (p *resourcesPage) item(key string) []restorespec.Item {
	var k, i int
	if n, _ := fmt.Sscanf(
		key,
		"%d/%d",
		&k,
		&i,
	); n < 2 || k >= len(p.items.Value.Kinds) ||
		i >= len(p.items.Value.Kinds[k].Items) {
		return nil
	}
	kind := &p.items.Value.Kinds[k]
	return cluster.SourceItem(kind.Name, kind.Items[i].Namespace, kind.Items[i].Name, kind.Items[i].From)
}

func (p *resourcesPage) wantsContents(s *Screen) bool { return !p.listed(s) || p.items.Err != nil }

func (p *resourcesPage) head(c draw.Canvas, s *Screen) []string {
	if !p.listed(s) || !p.items.Known {
		return nil
	}
	columns := itemColumns(s.job.Kind)
	return []string{
		itemsLine(c, s.job.Job, p.items.Value),
		c.Titles(columns, view.FitColumns(columns, c.Width), draw.Sorting{}),
	}
}

func (p *resourcesPage) lines(c draw.Canvas, s *Screen) pager.Source {
	p.folds.settle(s)
	switch {
	case !p.listed(s):
		return pager.Plain(contentsLines(c, s))
	case p.items.Known:
		return p.outline(c, s)
	case p.items.Err != nil:
		lines := note(c, c.Theme.Bad, "The list of the items cannot be read: "+p.items.Err.Error(), 6)
		if s.contents != NoArtifacts {
			lines = append(append(lines, ""), contentsLines(c, s)...)
		}
		return pager.Plain(lines)
	}
	return pager.Plain(
		append(
			[]string{""},
			note(c, c.Theme.Dim, waiting(c, s, "Reading the list of the items", p.items.Since()), 6)...),
	)
}

// outline lists the kinds, with the items of those that are open.
func (p *resourcesPage) outline(c draw.Canvas, s *Screen) *outline {
	o, items, of := &outline{canvas: c, folds: p.folds}, p.items.Value, s.job.Kind
	for k := range items.Kinds {
		kind, key := &items.Kinds[k], strconv.Itoa(k)
		if !o.group(key, false, func(c draw.Canvas, sign string) string { return kindRow(c, of, kind, sign) }) {
			continue
		}
		for i := range kind.Items {
			own := key + "/" + strconv.Itoa(i)
			marked := s.areMarked(p.item(own))
			o.add(own, func(c draw.Canvas) string { return markRow(c, marked, itemRow(c, &kind.Items[i])) })
		}
	}
	below := func(style lipgloss.Style, text string) { o.say(append([]string{""}, note(c, style, text, 6)...)...) }
	if items.NotCompared != "" {
		below(c.Theme.Waiting, "What of the backup did not come back is not known: "+items.NotCompared)
	}
	if items.NoReasons != "" {
		below(c.Theme.Waiting, "Why items failed is not known: "+items.NoReasons)
	}
	if items.Unnamed > 0 {
		below(c.Theme.Dim, human.Count(items.Unnamed, "item")+" more are counted, but not named here.")
	}
	if !s.job.Terminal() {
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

// dids are what the columns of a restore count, in their order.
var dids = []results.Did{
	results.Created,
	results.Updated,
	results.Skipped,
	results.Failed,
	results.Missing,
	results.LeftOut,
}

var heldColumns = []view.ScreenColumn{
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
	return heldColumns
}

// kindRow draws a kind with the counts of what became of its items.
func kindRow(c draw.Canvas, of job.Kind, kind *results.Kind, sign string) string {
	name := c.Theme.Text
	if kind.Lost() > 0 {
		name = c.Theme.Bad
	} else if of == job.Restore && kind.Count[results.LeftOut] == kind.Total() {
		name = c.Theme.Dim
	}
	if of == job.Backup {
		return countRow(c, heldColumns, sign, name, kind.Name, []int{kind.Total()}, []lipgloss.Style{c.Theme.Text})
	}
	var counts []int
	var styles []lipgloss.Style
	for _, did := range dids {
		_, style := didSign(c, did)
		counts, styles = append(counts, kind.Count[did]), append(styles, style)
	}
	return countRow(c, restoredColumns, sign, name, kind.Name, counts, styles)
}

// didSign is the sign and style of what became of an item.
func didSign(c draw.Canvas, did results.Did) (string, lipgloss.Style) {
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

// itemRow draws an item with what became of it.
func itemRow(c draw.Canvas, i *results.Item) string {
	sign, style := didSign(c, i.Did)
	head := "     " + style.Render(sign) + " "
	if i.Did != results.InBackup {
		head += style.Render(c.Fit(string(i.Did), 8)) + " "
	}
	return head + c.Theme.Text.Render(
		human.Namespaced(i.Namespace, i.Name),
	) + c.Theme.Dim.Render(
		fromWhy(i.From, i.Why),
	)
}

// fromWhy is what stands behind an item: its namespace in the backup, and the reason for what became of it.
func fromWhy(from, why string) string {
	return human.Clause(" from ", from) + human.Clause(": ", why)
}

// itemsLine is what became of all items, in one line.
func itemsLine(c draw.Canvas, j *job.Job, items results.Items) string {
	if j.Kind == job.Backup {
		return c.Theme.Strong.Render(
			fmt.Sprintf(" %s of %s", human.Count(items.Total(), "item"), human.Count(len(items.Kinds), "kind")),
		)
	}
	count := map[results.Did]int{}
	for _, k := range items.Kinds {
		for did, n := range k.Count {
			count[did] += n
		}
	}
	var parts []string
	for _, did := range dids {
		if n := count[did]; n > 0 {
			_, style := didSign(c, did)
			parts = append(parts, style.Render(fmt.Sprintf("%d %s", n, did)))
		}
	}
	if len(parts) == 0 {
		return c.Theme.Dim.Render(" Velero worked on no item.")
	}
	return " " + strings.Join(parts, c.Theme.Dim.Render(", "))
}
