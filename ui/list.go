package ui

import (
	"cmp"
	"maps"
	"slices"
	"strings"

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

// row is one line of a table: a thing with an identity, or a heading.
type row struct {
	key     string // the identity by which a row stays selected; empty for headings
	heading string
	note    string        // stands in place of rows that cannot be shown
	cluster *clusterState // where it is; nil for headings
	item    any           // a *job.Job, a *view.Row, an *clusterFinding, or nil for a heading
	// of a row among what needs attention, which may be a job, or of a tab of what is no job; else nil
	finding *clusterFinding
	group   int // the one of a tab's groups that the row belongs to
}

// list keeps a selection by key over rows that come and go, and the visible window.
type list struct {
	rows   []row
	cursor int // index of the selected row, -1 if there is none
	top    int // index of the first visible row
	height int
	// settled is true once the user chose a row, and the selection stays on it; else the first row is selected.
	settled bool
}

func (t *list) selected() (row, bool) {
	if t.cursor < 0 || t.cursor >= len(t.rows) {
		return row{}, false
	}
	return t.rows[t.cursor], true
}

// setRows replaces the rows. The selected one, or its neighbour, stays selected, and where it was on the screen.
func (t *list) setRows(rows []row) {
	before, had := t.selected()
	line := t.cursor - t.top
	t.rows = rows
	if !t.settled {
		t.cursor, t.top = t.nearest(0), 0
		t.scroll()
		return
	}
	switch found := slices.IndexFunc(rows, func(r row) bool { return had && r.key == before.key && r.key != "" }); {
	case found < 0:
		t.cursor = t.nearest(max(t.cursor, 0))
	case t.top > 0: // at the top, what is new shall be seen
		t.cursor, t.top = found, found-line
	default:
		t.cursor = found
	}
	t.scroll()
}

// nearest is the selectable row at i, or the next one after, or before it.
func (t *list) nearest(i int) int {
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

func (t *list) moved(m keys.Motion) {
	t.settled = true
	t.move(m.Lines(max(t.height/2, 1), max(t.height-1, 1), len(t.rows)))
}

// move goes n selectable rows down, or up if n is negative.
func (t *list) move(n int) {
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
	t.scroll()
}

func (t *list) setHeight(height int) {
	t.height = max(height, 0)
	t.scroll()
}

// scroll moves the window as little as needed to show the cursor and a heading above it.
func (t *list) scroll() {
	if t.cursor >= 0 {
		t.top = min(t.top, t.cursor)
		if t.height > 0 {
			t.top = max(t.top, t.cursor-t.height+1)
		}
		for t.top > 0 && t.rows[t.top-1].key == "" && t.cursor-t.top+1 < t.height {
			t.top--
		}
	}
	t.top = max(min(t.top, len(t.rows)-t.height), 0)
}

func (t *list) visible() (from, to int) {
	return t.top, min(t.top+t.height, len(t.rows))
}

// filter selects rows that have all words, in any case, and none that begins with !.
type filter struct {
	text  string
	words []string
}

func (f filter) empty() bool { return len(f.words) == 0 }

func (f filter) matches(fields ...string) bool {
	all := strings.ToLower(strings.Join(fields, "\n"))
	for _, word := range f.words {
		unwanted, negated := strings.CutPrefix(word, "!")
		if unwanted != "" && negated == strings.Contains(all, unwanted) {
			return false
		}
	}
	return true
}

// click selects the row at a line of the window; again is true if it was selected.
func (t *list) click(line int) (again bool) {
	from, to := t.visible()
	i := from + line
	if i >= to || t.rows[i].key == "" {
		return false
	}
	again = i == t.cursor
	t.settled, t.cursor = true, i
	return again
}

func (t *list) wheel(lines int) {
	t.settled = true
	t.top = max(min(t.top+lines, len(t.rows)-t.height), 0)
	if from, to := t.visible(); from < to {
		t.cursor = t.nearest(min(max(t.cursor, from), to-1))
	}
	t.scroll()
}

// marks are the keys of rows to finalize one after the other.
type marks map[string]bool

func (s marks) prune(clusters []*clusterState) {
	if len(s) == 0 {
		return
	}
	there := marks{}
	for _, j := range allJobs(clusters...) {
		there[j.cluster.key(string(j.UID))] = true
	}
	maps.DeleteFunc(s, func(key string, _ bool) bool { return !there[key] })
}

func (s marks) jobs(c *clusterState) (jobs []*job.Job) {
	if len(s) == 0 {
		return nil
	}
	marked := slices.DeleteFunc(allJobs(c), func(j clusterJob) bool { return !s[c.key(string(j.UID))] })
	byUrgency(marked)
	for _, j := range marked {
		jobs = append(jobs, j.Job)
	}
	return jobs
}

const markCell = 2

// on puts the mark onto a drawn row.
func (s marks) on(c draw.Canvas, r row, line string) string {
	if !s[r.key] {
		return line
	}
	return ansi.Cut(
		line,
		0,
		markCell,
	) + c.Theme.Accent.Render(
		c.Glyphs.Marked,
	) + ansi.Cut(
		line,
		markCell+1,
		lipgloss.Width(line),
	)
}

// order is a way to sort jobs, and how the titles show it.
type order struct {
	name string
	draw.Sorting
	compare func(a, b *job.Job) int
}

// orders are what the sort key goes through. The active tab has its own in place of the first.
var orders = jobOrders()

func jobOrders() []order {
	found := []order{{name: "usual", compare: view.CompareAges}}
	for _, c := range jobColumns {
		if c.Sort.Compare != nil {
			found = append(found, order{
				name:    cmp.Or(c.Sort.Name, c.Name),
				Sorting: draw.Sorting{Column: c.Screen.Title, Ascending: c.Sort.Ascending},
				compare: c.Sort.Compare,
			})
		}
	}
	return found
}

// byAge is the order that turns the usual one round.
var byAge = len(orders) - 1

func orderNames() (names []string) {
	for i := range orders {
		names = append(names, orders[i].name)
	}
	return names
}

type clusterJob struct {
	cluster *clusterState
	*job.Job
}

func (j clusterJob) judged() assess.Judged { return j.cluster.assessed.Of(j.Job) }

// known are the clusters of which something is known.
func known(clusters []*clusterState) []*clusterState {
	return slices.DeleteFunc(slices.Clone(clusters), func(c *clusterState) bool { return c.assessed == nil })
}

// allJobs are those of some clusters, and activeJobs those that have not ended.
func allJobs(clusters ...*clusterState) []clusterJob {
	return jobsOf(clusters, func(s *watch.Snapshot) []*job.Job { return s.Jobs })
}

func activeJobs(clusters ...*clusterState) []clusterJob {
	return jobsOf(clusters, func(s *watch.Snapshot) []*job.Job { return s.Active })
}

func jobsOf(clusters []*clusterState, list func(*watch.Snapshot) []*job.Job) (jobs []clusterJob) {
	for _, c := range known(clusters) {
		for _, j := range list(c.assessed.Snapshot) {
			jobs = append(jobs, clusterJob{c, j})
		}
	}
	return jobs
}

func (o order) sort(jobs []clusterJob, reversed bool) []clusterJob {
	slices.SortStableFunc(jobs, func(a, b clusterJob) int {
		if reversed {
			a, b = b, a
		}
		return o.compare(a.Job, b.Job)
	})
	return jobs
}

// byUrgency orders the active tab: trouble first, then what runs longest, then the queue.
func byUrgency(jobs []clusterJob) {
	rank := make(map[*job.Job]int, len(jobs))
	for _, j := range jobs {
		if !j.judged().Troubled() {
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
			a.Began().Compare(b.Began()),
			human.CompareNames(a.Name, b.Name),
		)
	})
}
