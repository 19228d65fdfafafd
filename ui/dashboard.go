package ui

import (
	"slices"
	"strings"
	"time"

	"charm.land/bubbles/v2/textinput"
	tea "charm.land/bubbletea/v2"

	"github.com/veltui/veltui/internal/diagnosis"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/view"
	"github.com/veltui/veltui/internal/view/resource"
	"github.com/veltui/veltui/ui/draw"
	"github.com/veltui/veltui/ui/jobview"
	"github.com/veltui/veltui/ui/keys"
	"github.com/veltui/veltui/watch"
)

// recently is how long an ended job stays on the active tab.
const recently = time.Hour

// attention is how long after the last key the user is taken to look at a selected row.
const attention = 2 * time.Minute

type tab struct {
	list
	name   string
	short  string    // for narrow screens, empty for name
	kinds  []string  // what it shows, as watch.Source names them
	other  *view.Tab // what the rows are made from that are no jobs, nil on a tab of jobs
	count  int
	groups []clusterGroup // the rows of other, in the order of the clusters
	filter filter         // what the user has typed on this tab
	// outdated is true while the rows are those of an earlier state: they are made anew when the tab is shown.
	outdated bool
}

type dashboard struct {
	still
	keys     []keys.Binding
	m        *Model
	attended time.Time // when the user last pressed a key, used the mouse, or had another screen open

	// tabs are all that there can be, and tab is the present one.
	tabs, all                 []*tab // those that the user chose, and all
	tab                       *tab
	asked                     *tab // the tab that was asked about last
	active, restores, backups *tab
	order                     int
	reversed                  bool
	columns                   []int           // those of jobs that are shown, in their order
	input                     textinput.Model // open while the filter is being typed
	typing                    bool
	tabsAt                    []draw.Span // where the tabs were drawn in the first line, to be clicked
	rowsAt                    int         // the line of the first row
	findings                  []clusterFinding
	findingAbout              map[string]*clusterFinding // by the key of a row
	marked                    marks                      // the jobs to finalize one after another
}

func newDashboard(m *Model) *dashboard {
	input := textinput.New()
	input.Prompt = "/"
	input.CharLimit = 100
	d := &dashboard{
		m: m, input: input, marked: marks{},
		active:   &tab{name: "Active", kinds: []string{watch.Backups, watch.Restores}},
		restores: &tab{name: "Restores", kinds: []string{watch.Restores}},
		backups:  &tab{name: "Backups", kinds: []string{watch.Backups}},
	}
	d.tabs = []*tab{d.active, d.restores, d.backups}
	for _, other := range resource.Tabs() {
		d.tabs = append(d.tabs, &tab{name: other.Name, short: other.Short, kinds: other.Kinds, other: &other})
	}
	for _, t := range d.tabs {
		t.cursor = -1
	}
	d.all = d.tabs
	d.tab, d.columns = d.active, columnOrder(nil)
	turn := func(by int) func(string) tea.Cmd { return keys.Run(func() { d.turn(by) }) }
	whyNotOpen := keys.Unless(func() bool {
		_, ok := d.tab.selected()
		return ok
	}, "nothing is selected")
	noYAML := func() string {
		if d.selectedJob() == nil {
			return "select a backup or restore: veltui shows their YAML only"
		}
		return ""
	}
	notVerified := func() string { return jobview.VerifyUnavailable(&d.m.focus().sources, d.selectedJob()) }
	nextOrder := keys.Run(func() { d.setOrder((d.order+1)%len(orders), false) })
	d.keys = append([]keys.Binding{
		{
			Name:   "open",
			Keys:   []string{"enter", "right"},
			Label:  "enter",
			What:   "open",
			Group:  keys.Look,
			Short:  true,
			WhyNot: whyNotOpen,
			Do:     d.openSelected(jobview.Overview),
		},
		{
			Name:   "describe",
			Keys:   []string{"d"},
			Label:  "d",
			What:   "describe",
			Group:  keys.Look,
			WhyNot: whyNotOpen,
			Do:     d.openSelected(jobview.Overview),
		},
		{
			Name:   "yaml",
			Keys:   []string{"y"},
			Label:  "y",
			What:   "YAML",
			Group:  keys.Look,
			WhyNot: noYAML,
			Do:     d.openSelected(jobview.YAML),
		},
		{
			Name:   "verify",
			Keys:   []string{"V"},
			Label:  "V",
			What:   "verify a restore",
			Group:  keys.Look,
			WhyNot: notVerified,
			Do:     d.openSelected(jobview.Verify),
		},
		{
			Keys:  []string{"1", "2", "3", "4", "5", "6", "7", "8", "9"},
			Label: "1..9",
			What:  "go to a tab",
			Group: keys.Move,
			Do:    d.turnTo,
		},
		{Keys: []string{"0"}, Label: "0", What: "go to the last tab", Group: keys.Move, Do: d.turnTo},
		{Name: "next-tab", Keys: []string{"tab"}, Label: "tab", What: "next tab", Group: keys.Move, Do: turn(1)},
		{
			Name:  "previous-tab",
			Keys:  []string{"shift+tab"},
			Label: "shift+tab",
			What:  "previous tab",
			Group: keys.Move,
			Do:    turn(-1),
		},
		{
			Name:  "filter",
			Keys:  []string{"/"},
			Label: "/",
			What:  "filter",
			Group: keys.Look,
			Short: true,
			Do:    d.startFilter,
		},
		{
			Name:  "clear",
			Keys:  []string{"esc"},
			Label: "esc",
			What:  "clear the filter, then the marks",
			Group: keys.Look,
			Do:    keys.Run(d.clear),
		},
		{
			Name:   "acknowledge",
			Keys:   []string{"a"},
			Label:  "a",
			What:   "acknowledge",
			Group:  keys.Look,
			Short:  true,
			Fits:   d.onFinding,
			WhyNot: d.acknowledgeUnavailable,
			WhatNow: keys.Either(
				d.onFinding,
				"acknowledge",
				"acknowledge what needs attention, until it changes",
			),
			Do: d.acknowledge,
		},
		{
			Name:  "sort",
			Keys:  []string{"s"},
			Label: "s",
			What:  "sort",
			Group: keys.Move,
			Short: true,
			On:    d.showsJobs,
			Do:    nextOrder,
		},
		{
			Name:  "reverse",
			Keys:  []string{"S"},
			Label: "S",
			What:  "reverse the order",
			Group: keys.Move,
			On:    d.showsJobs,
			Do:    keys.Run(d.reverse),
		},
	}, keys.Moving(func(m keys.Motion) { d.tab.moved(m) })...)
	for _, k := range jobview.Openers() {
		d.keys = append(
			d.keys,
			keys.Binding{
				Name:   k.What,
				Keys:   []string{k.Key},
				Label:  k.Key,
				What:   k.What,
				Group:  keys.Look,
				Short:  k.Footer,
				On:     d.showsJobs,
				WhyNot: whyNotOpen,
				Do:     d.openSelected(k.Page),
			},
		)
	}
	return d
}

// Tabs are the names of all tabs, in their usual order.
func Tabs() []string {
	var names []string
	for _, t := range newDashboard(nil).tabs {
		names = append(names, t.setting())
	}
	return names
}

// setting is the tab's name in the configuration.
func (t *tab) setting() string { return strings.ToLower(t.name) }

// choose takes the user's tabs and columns, by their names; none are all.
func (d *dashboard) choose(names, columns []string) {
	d.columns = columnOrder(columns)
	if len(names) == 0 {
		return
	}
	all := d.tabs
	d.tabs = nil
	for _, name := range names {
		if at := slices.IndexFunc(all, func(t *tab) bool { return t.setting() == name }); at >= 0 {
			d.tabs = append(d.tabs, all[at])
		}
	}
	d.tab = d.tabs[0]
}

func (d *dashboard) showsJobs() bool { return d.tab.other == nil }

// shownTabs are the tabs that there are now. The present one stays until left.
func (d *dashboard) shownTabs() []*tab {
	return slices.DeleteFunc(slices.Clone(d.tabs), func(t *tab) bool {
		return t != d.tab && t.other != nil && t.other.There != nil &&
			!slices.ContainsFunc(known(d.m.clusters), func(c *clusterState) bool { return t.other.There(c.assessed) })
	})
}

func (d *dashboard) several() bool { return len(d.m.clusters) > 1 }

// load takes what is known now. It makes the rows of the shown tab only: those of the others are made once they are
// shown (see [dashboard.show]), for there may be tens of thousands, and a snapshot may come each second.
func (d *dashboard) load() {
	d.marked.prune(d.m.clusters)
	// On a dashboard left open, what matters most stays on the screen: the first row.
	attended := d.m.options.Clock().Sub(d.attended) < attention
	d.findings, d.findingAbout = attentionOf(d.m.clusters...), map[string]*clusterFinding{}
	for i := range d.findings {
		d.findingAbout[d.findings[i].key()] = &d.findings[i]
	}
	for _, t := range d.all {
		t.settled = t.settled && attended
		t.outdated = true
	}
	d.count()
	d.show(d.tab)
}

// show turns to a tab, and makes its rows if they are not those of what is known now.
func (d *dashboard) show(t *tab) {
	d.tab = t
	if !t.outdated {
		return
	}
	t.outdated = false
	switch {
	case t == d.active:
		t.setRows(d.activeTabRows())
	case t.other != nil:
		t.setRows(d.otherTabRows(t))
	default:
		jobs := slices.DeleteFunc(allJobs(d.m.clusters...), func(j clusterJob) bool {
			return (j.Kind == job.Restore) != (t == d.restores)
		})
		t.setRows(jobRows(orders[d.order].sort(jobs, d.reversed), t.filter))
	}
}

// count says beside the name of each tab how much it has. What the first tab counts follows from its rows.
func (d *dashboard) count() {
	d.restores.count, d.backups.count = 0, 0
	for _, c := range known(d.m.clusters) {
		for _, j := range c.assessed.Snapshot.Jobs {
			if j.Kind == job.Restore {
				d.restores.count++
			} else {
				d.backups.count++
			}
		}
	}
	for _, t := range d.tabs {
		if t.other == nil {
			continue
		}
		t.groups, t.count = groupsOf(d.m.clusters, t.other), 0
		for _, group := range t.groups {
			t.count += len(group.Rows)
		}
	}
}

// activeTabRows are what has not ended, what needs attention, and what ended a short while ago.
func (d *dashboard) activeTabRows() []row {
	active := activeJobs(d.m.clusters...)
	if d.order > 0 {
		orders[d.order].sort(active, d.reversed)
	} else {
		byUrgency(active)
	}
	rows := jobRows(active, d.active.filter)
	attention := d.attentionRows()
	rows = append(rows, attention...)
	ended := without(d.recentlyEnded(), attention)
	if endedRows := jobRows(ended, d.active.filter); len(endedRows) > 0 {
		rows = append(append(rows, row{heading: "finished in the last hour"}), endedRows...)
	}
	d.active.count = len(active) + max(len(attention)-1, 0) + len(ended)
	return rows
}

// recentlyEnded are the jobs that ended a short while ago, the last to end first.
func (d *dashboard) recentlyEnded() (ended []clusterJob) {
	for _, c := range known(d.m.clusters) {
		for _, j := range c.assessed.Snapshot.Jobs {
			if c.assessed.Environment.Now.Sub(endedAt(j)) < recently && j.Terminal() {
				ended = append(ended, clusterJob{c, j})
			}
		}
	}
	slices.SortStableFunc(ended, func(a, b clusterJob) int { return endedAt(b.Job).Compare(endedAt(a.Job)) })
	return ended
}

func (d *dashboard) otherTabRows(t *tab) []row {
	rows := otherRows(t.groups, t.filter)
	for i := range rows {
		rows[i].finding = d.findingAbout[rows[i].key]
	}
	return rows
}

func (d *dashboard) attend() { d.attended = d.m.options.Clock() }

// allRead reports whether every kind has told what there is.
func allRead(snap *watch.Snapshot) bool {
	return snap.Health.State != watch.Connecting &&
		!slices.ContainsFunc(snap.Sources, func(s watch.Source) bool { return s.State == watch.SourceSyncing })
}

func jobRows(jobs []clusterJob, f filter) []row {
	rows := make([]row, 0, len(jobs))
	for _, j := range jobs {
		if f.empty() || f.matches(jobFields(j)...) {
			rows = append(rows, row{key: j.cluster.key(string(j.UID)), cluster: j.cluster, item: j.Job})
		}
	}
	return rows
}

func jobFields(j clusterJob) []string {
	fields := []string{
		j.Name,
		j.Phase,
		string(j.Stage),
		string(j.Kind),
		j.BackupName,
		j.ScheduleName,
		j.StorageLocation,
		j.cluster.Context,
	}
	if j.Terminal() {
		return fields
	}
	judged := j.judged()
	if judged.Troubled() {
		fields = append(fields, string(diagnosis.Stuck)) // as the header counts it
	}
	return append(fields, string(judged.State))
}

func (d *dashboard) selectedJob() *job.Job {
	r, ok := d.tab.selected()
	if !ok {
		return nil
	}
	j, _ := r.item.(*job.Job)
	return j
}

func (d *dashboard) openSelected(at jobview.Page) func(string) tea.Cmd {
	return func(string) tea.Cmd {
		d.tab.settled = true // on the return the row that was left is selected
		switch r, _ := d.tab.selected(); item := r.item.(type) {
		case *job.Job:
			return d.m.openJob(r.cluster, item.UID, at)
		case *clusterFinding:
			return d.openFinding(r.cluster, item.Finding)
		case *view.Row:
			return d.m.openOther(r.cluster, *d.tab.other, item.Key)
		}
		return nil
	}
}

func (d *dashboard) turn(by int) {
	shown := d.shownTabs()
	d.show(shown[(slices.Index(shown, d.tab)+by+len(shown))%len(shown)])
}

// turnTo goes to the tab of a digit; 0 is the last.
func (d *dashboard) turnTo(key string) tea.Cmd {
	shown := d.shownTabs()
	if key == "0" {
		d.show(shown[len(shown)-1])
	} else if n := int(key[0] - '1'); n < len(shown) {
		d.show(shown[n])
	}
	return nil
}

// reverse turns the order round; the usual one by age.
func (d *dashboard) reverse() {
	if d.order == 0 {
		d.setOrder(byAge, true)
		return
	}
	d.setOrder(d.order, !d.reversed)
}

func (d *dashboard) setOrder(order int, reversed bool) {
	d.order, d.reversed = order, reversed
	d.load()
}

func (d *dashboard) sorting() draw.Sorting {
	s := orders[d.order].Sorting
	s.Ascending = s.Ascending != d.reversed
	return s
}

func (d *dashboard) toggleMark() {
	if r, _ := d.tab.selected(); d.marked[r.key] {
		delete(d.marked, r.key)
	} else {
		d.marked[r.key] = true
	}
}

// markedJobs are the marked ones, the most urgent first, and their cluster.
func (d *dashboard) markedJobs() (*clusterState, []*job.Job) {
	for _, c := range d.m.clusters {
		if marked := d.marked.jobs(c); len(marked) > 0 {
			return c, marked
		}
	}
	return nil, nil
}

// clear takes the filter away, or the marks if there is none.
func (d *dashboard) clear() {
	if d.tab.filter.empty() {
		clear(d.marked)
	}
	d.setFilter("")
}

func (d *dashboard) startFilter(string) tea.Cmd {
	d.typing = true
	d.input.SetValue(d.tab.filter.text)
	d.input.CursorEnd()
	return d.input.Focus()
}

func (d *dashboard) setFilter(text string) {
	if text != d.tab.filter.text {
		d.tab.filter = filter{text: text, words: strings.Fields(strings.ToLower(text))}
		d.load()
	}
}

func (d *dashboard) allows() allowed      { return onMain(d.showsJobs()) }
func (d *dashboard) Keys() []keys.Binding { return d.keys }
func (d *dashboard) Typing() bool         { return d.typing }

func (d *dashboard) Prompt(width int) string {
	d.input.SetWidth(max(width-4, 1))
	return " " + d.input.View()
}

// Update takes keys while the filter is typed. Rows follow at once.
func (d *dashboard) Update(msg tea.Msg) (cmd tea.Cmd, handled bool) {
	if !d.typing {
		return nil, false
	}
	if k, ok := msg.(tea.KeyPressMsg); ok {
		switch name := k.String(); name {
		case "enter", "up", "down", "esc", "ctrl+c":
			d.typing = false
			d.input.Blur()
			if name == "esc" || name == "ctrl+c" {
				d.setFilter("")
			}
			return nil, true
		}
	}
	d.input, cmd = d.input.Update(msg)
	d.setFilter(d.input.Value())
	return cmd, true
}
