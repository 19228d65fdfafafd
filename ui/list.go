package ui

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/veltui/veltui/internal/assess"
	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/view"
	"github.com/veltui/veltui/ui/draw"
	"github.com/veltui/veltui/ui/keys"
	"github.com/veltui/veltui/watch"
)

// tableRow is one line of a table: a thing with an identity, or a heading.
type tableRow struct {
	key     string // identifies the row, to keep it selected; empty for headings
	heading string
	note    string        // shown in place of rows that cannot be shown
	cluster *clusterState // the row's cluster; nil for headings
	item    any           // a *job.Job, a *view.Row, an *clusterFinding, or nil for a heading
	// the finding of a row that needs attention, be it a job or another resource; else nil
	finding *clusterFinding
	group   int // the index of the tab's group that the row belongs to
}

// rowList keeps a selection by key while rows come and go, and the visible window.
type rowList struct {
	rows         []tableRow
	cursor       int // index of the selected row, -1 if there is none
	firstVisible int // index of the first visible row
	height       int
	// hasUserChoice is true once the user chose a row, so that it stays selected; until then the first row is selected.
	hasUserChoice bool
	// shownKey is the key of the selected row since it was first shown so, at shownAt.
	shownKey string
	shownAt  time.Time
}

// settlePeriod is how long a row must be shown as selected to be the user's choice: whoever has read its name means
// that row with the next key, whatever has come above it since.
const settlePeriod = time.Second

// settleSelection makes a row that has been shown as selected for some time the user's choice.
func (t *rowList) settleSelection(now time.Time) {
	r, ok := t.selectedRow()
	if !ok || r.key != t.shownKey {
		t.shownKey, t.shownAt = r.key, now
		return
	}
	t.hasUserChoice = t.hasUserChoice || r.key != "" && now.Sub(t.shownAt) >= settlePeriod
}

func (t *rowList) selectedRow() (tableRow, bool) {
	if t.cursor < 0 || t.cursor >= len(t.rows) {
		return tableRow{}, false
	}
	return t.rows[t.cursor], true
}

// setRows replaces the rows. The selected row, or its neighbour, stays selected, at the same place on the screen.
func (t *rowList) setRows(rows []tableRow) {
	before, had := t.selectedRow()
	line := t.cursor - t.firstVisible
	t.rows = rows
	if !t.hasUserChoice {
		t.cursor, t.firstVisible = t.nearestSelectable(0), 0
		t.scrollToCursor()
		return
	}
	switch found := slices.IndexFunc(rows, func(r tableRow) bool { return had && r.key == before.key && r.key != "" }); {
	case found < 0:
		t.cursor = t.nearestSelectable(max(t.cursor, 0))
	case t.firstVisible > 0: // at the top, new rows must be visible
		t.cursor, t.firstVisible = found, found-line
	default:
		t.cursor = found
	}
	t.scrollToCursor()
}

// nearestSelectable returns the index of the selectable row at i, or else of the next one after or before i; -1 if
// there is none.
func (t *rowList) nearestSelectable(i int) int {
	i = min(i, len(t.rows)-1)
	for j := max(i, 0); j < len(t.rows); j++ {
		if t.rows[j].key != "" {
			return j
		}
	}
	for j := i; j >= 0; j-- {
		if t.rows[j].key != "" {
			return j
		}
	}
	return -1
}

func (t *rowList) applyMotion(m keys.Motion) {
	t.hasUserChoice = true
	t.moveCursor(m.LineOffset(max(t.height/2, 1), max(t.height-1, 1), len(t.rows)))
}

// moveCursor moves the cursor n selectable rows down, or up if n is negative.
func (t *rowList) moveCursor(n int) {
	step := 1
	if n < 0 {
		step, n = -1, -n
	}
	for i := t.cursor + step; n > 0 && i >= 0 && i < len(t.rows); i += step {
		if t.rows[i].key != "" {
			t.cursor = i
			n--
		}
	}
	t.scrollToCursor()
}

func (t *rowList) setHeight(height int) {
	t.height = max(height, 0)
	t.scrollToCursor()
}

// scrollToCursor scrolls the window as little as needed to show the cursor and a heading above it.
func (t *rowList) scrollToCursor() {
	if t.cursor >= 0 {
		t.firstVisible = min(t.firstVisible, t.cursor)
		if t.height > 0 {
			t.firstVisible = max(t.firstVisible, t.cursor-t.height+1)
		}
		for t.firstVisible > 0 && t.rows[t.firstVisible-1].key == "" && t.cursor-t.firstVisible+1 < t.height {
			t.firstVisible--
		}
	}
	t.firstVisible = max(min(t.firstVisible, len(t.rows)-t.height), 0)
}

func (t *rowList) visibleRange() (from, to int) {
	return t.firstVisible, min(t.firstVisible+t.height, len(t.rows))
}

// rowFilter selects the rows that contain all words, in any case, and no word that is typed after "!".
type rowFilter struct {
	text  string
	words []string
}

func (f rowFilter) isEmpty() bool { return len(f.words) == 0 }

func (f rowFilter) matchesFields(fields ...string) bool {
	all := strings.ToLower(strings.Join(fields, "\n"))
	for _, word := range f.words {
		unwanted, negated := strings.CutPrefix(word, "!")
		if unwanted != "" && negated == strings.Contains(all, unwanted) {
			return false
		}
	}
	return true
}

// selectLine selects the row at a line of the window; again is true if it was already selected.
func (t *rowList) selectLine(line int) (again bool) {
	from, to := t.visibleRange()
	i := from + line
	if i >= to || t.rows[i].key == "" {
		return false
	}
	again = i == t.cursor
	t.hasUserChoice, t.cursor = true, i
	return again
}

func (t *rowList) scrollLines(lines int) {
	t.hasUserChoice = true
	t.firstVisible = max(min(t.firstVisible+lines, len(t.rows)-t.height), 0)
	if from, to := t.visibleRange(); from < to {
		t.cursor = t.nearestSelectable(min(max(t.cursor, from), to-1))
	}
	t.scrollToCursor()
}

// markedRows holds the keys of the marked rows, whose jobs a change applies to one after the other.
type markedRows map[string]bool

func (s markedRows) dropMissing(clusters []*clusterState) {
	if len(s) == 0 {
		return
	}
	there := markedRows{}
	for _, j := range allJobs(clusters...) {
		there[j.cluster.rowKey(string(j.UID))] = true
	}
	maps.DeleteFunc(s, func(key string, _ bool) bool { return !there[key] })
}

func (s markedRows) jobsOfCluster(c *clusterState) (jobs []*job.Job) {
	if len(s) == 0 {
		return nil
	}
	marked := slices.DeleteFunc(allJobs(c), func(j clusterJob) bool { return !s[c.rowKey(string(j.UID))] })
	sortByUrgency(marked)
	for _, j := range marked {
		jobs = append(jobs, j.Job)
	}
	return jobs
}

const markOffset = 2

// overlayMark puts the mark onto a drawn row.
func (s markedRows) overlayMark(c draw.Canvas, r tableRow, line string) string {
	if !s[r.key] {
		return line
	}
	return ansi.Cut(
		line,
		0,
		markOffset,
	) + c.Theme.Accent.Render(
		c.Glyphs.Marked,
	) + ansi.Cut(
		line,
		markOffset+1,
		lipgloss.Width(line),
	)
}

// jobOrder is a way to sort jobs, with the way the titles show it.
type jobOrder struct {
	name string
	draw.SortOrder
	compare func(a, b *job.Job) int
}

// sortOrders are the orders that the sort key cycles through. The active tab has its own order instead of the first.
var sortOrders = newSortOrders()

func newSortOrders() []jobOrder {
	found := []jobOrder{{name: "usual", compare: view.CompareAges}}
	for _, c := range jobColumns {
		if c.Sort.Compare != nil {
			found = append(found, jobOrder{
				name:      cmp.Or(c.Sort.Name, c.Name),
				SortOrder: draw.SortOrder{Column: c.Screen.Title, Ascending: c.Sort.Ascending},
				compare:   c.Sort.Compare,
			})
		}
	}
	return found
}

// ageOrderIndex is the index of the order that reverses the usual one.
var ageOrderIndex = len(sortOrders) - 1

func sortOrderNames() (names []string) {
	for i := range sortOrders {
		names = append(names, sortOrders[i].name)
	}
	return names
}

type clusterJob struct {
	cluster *clusterState
	*job.Job
}

func (j clusterJob) judgedJob() assess.JudgedJob { return j.cluster.assessment.AssessJob(j.Job) }

// knownClusters returns the clusters with an assessment.
func knownClusters(clusters []*clusterState) []*clusterState {
	return slices.DeleteFunc(slices.Clone(clusters), func(c *clusterState) bool { return c.assessment == nil })
}

// allJobs returns the jobs of the clusters; activeJobs returns those that have not ended.
func allJobs(clusters ...*clusterState) []clusterJob {
	return collectJobs(clusters, func(s *watch.Snapshot) []*job.Job { return s.Jobs })
}

func activeJobs(clusters ...*clusterState) []clusterJob {
	return collectJobs(clusters, func(s *watch.Snapshot) []*job.Job { return s.Active })
}

func collectJobs(clusters []*clusterState, list func(*watch.Snapshot) []*job.Job) (jobs []clusterJob) {
	for _, c := range knownClusters(clusters) {
		for _, j := range list(c.assessment.Snapshot) {
			jobs = append(jobs, clusterJob{c, j})
		}
	}
	return jobs
}

func (o jobOrder) sortJobs(jobs []clusterJob, reversed bool) []clusterJob {
	slices.SortStableFunc(jobs, func(a, b clusterJob) int {
		if reversed {
			a, b = b, a
		}
		return o.compare(a.Job, b.Job)
	})
	return jobs
}

// sortByUrgency sorts for the active tab: jobs in trouble first, then running jobs, the longest first, then the
// queue.
func sortByUrgency(jobs []clusterJob) {
	rank := make(map[*job.Job]int, len(jobs))
	for _, j := range jobs {
		if !j.judgedJob().IsTroubled() {
			rank[j.Job] += 2
		}
		if j.Stage == job.StageQueued {
			rank[j.Job]++
		}
	}
	slices.SortStableFunc(jobs, func(a, b clusterJob) int {
		return cmp.Or(
			cmp.Compare(rank[a.Job], rank[b.Job]),
			-strings.Compare(string(a.Kind), string(b.Kind)), // restores first: people wait for them
			cmp.Compare(a.QueuePosition, b.QueuePosition),
			a.BeganAt().Compare(b.BeganAt()),
			human.CompareNames(a.Name, b.Name),
		)
	})
}
