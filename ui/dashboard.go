package ui

import (
	"slices"
	"strings"
	"time"

	"charm.land/bubbles/v2/textinput"
	tea "charm.land/bubbletea/v2"

	"github.com/veltui/veltui/internal/diagnosis"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/velero/veleroapi"
	"github.com/veltui/veltui/internal/view"
	"github.com/veltui/veltui/internal/view/resource"
	"github.com/veltui/veltui/ui/draw"
	"github.com/veltui/veltui/ui/jobview"
	"github.com/veltui/veltui/ui/keys"
	"github.com/veltui/veltui/watch"
)

// recentPeriod is how long an ended job stays on the active tab.
const recentPeriod = time.Hour

// attentionPeriod is how long after the last key the user is assumed to be reading a selected row.
const attentionPeriod = 2 * time.Minute

type dashboardTab struct {
	rowList
	name        string
	shortName   string    // for narrow screens, empty for name
	kinds       []string  // the kinds that it shows, as watch.Source names them
	resourceTab *view.Tab // makes the rows of resources other than jobs, nil on a tab of jobs
	rowCount    int
	groups      []clusterGroup // the groups of resourceTab, in the order of the clusters
	filter      rowFilter      // typed by the user on this tab
	// outdated is true while the rows show an earlier state: they are rebuilt when the tab is shown.
	outdated bool
}

type dashboard struct {
	noopScreen
	keyBindings  []keys.Binding
	model        *Model
	lastActivity time.Time // when the user last pressed a key, used the mouse, or had another screen open

	// chosenTabs and allTabs are the dashboard's tabs, and openTab is the present one.
	chosenTabs, allTabs                []*dashboardTab // the tabs that the user chose, and all tabs
	openTab                            *dashboardTab
	lastFetchedTab                     *dashboardTab // the last tab that FetchMissing saw open
	activeTab, restoresTab, backupsTab *dashboardTab
	sortOrderIndex                     int
	isReversed                         bool
	columns                            []int           // the shown columns of jobs, in their order
	filterInput                        textinput.Model // open while the filter is being typed
	isFilterOpen                       bool
	tabSpans                           []draw.Span // where the first line has the tabs, for clicks
	firstRowLine                       int         // the line of the first row
	findings                           []clusterFinding
	findingByRow                       map[string]*clusterFinding // by the key of a row
	marked                             markedRows                 // the jobs to finalize one after another
}

func newDashboard(m *Model) *dashboard {
	input := textinput.New()
	input.Prompt = "/"
	input.CharLimit = 100
	d := &dashboard{
		model: m, filterInput: input, marked: markedRows{},
		activeTab:   &dashboardTab{name: "Active", kinds: []string{watch.Backups, watch.Restores}},
		restoresTab: &dashboardTab{name: "Restores", kinds: []string{watch.Restores}},
		backupsTab:  &dashboardTab{name: "Backups", kinds: []string{watch.Backups}},
	}
	d.chosenTabs = []*dashboardTab{d.activeTab, d.restoresTab, d.backupsTab}
	for _, other := range resource.Tabs() {
		d.chosenTabs = append(
			d.chosenTabs,
			&dashboardTab{name: other.Name, shortName: other.ShortName, kinds: other.Kinds, resourceTab: &other},
		)
	}
	for _, t := range d.chosenTabs {
		t.cursor = -1
	}
	d.allTabs = d.chosenTabs
	d.openTab, d.columns = d.activeTab, columnOrder(nil)
	turn := func(by int) func(string) tea.Cmd { return keys.DoFunc(func() { d.cycleTabs(by) }) }
	whyNotOpen := keys.UnavailableUnless(func() bool {
		_, ok := d.openTab.selectedRow()
		return ok
	}, "nothing is selected")
	noYAML := func() string {
		if d.selectedJob() == nil {
			return "select a backup or restore: veltui shows their YAML only"
		}
		return ""
	}
	noJob := keys.UnavailableUnless(func() bool { return d.selectedJob() != nil }, noJobSelected)
	notVerified := func() string {
		return jobview.VerifyUnavailable(&d.model.focusedCluster().jobDependencies, d.selectedJob())
	}
	nextOrder := keys.DoFunc(func() { d.setSortOrder((d.sortOrderIndex+1)%len(sortOrders), false) })
	d.keyBindings = append([]keys.Binding{
		{
			Name:        "open",
			Keys:        []string{"enter", "right"},
			Label:       "enter",
			Description: "open",
			Group:       keys.GroupLook,
			InFooter:    true,
			Unavailable: whyNotOpen,
			Do:          d.openSelected(jobview.Overview),
		},
		{
			Name:        "describe",
			Keys:        []string{"d"},
			Label:       "d",
			Description: "describe",
			Group:       keys.GroupLook,
			Unavailable: whyNotOpen,
			Do:          d.openSelected(jobview.Overview),
		},
		{
			Name:        "yaml",
			Keys:        []string{"y"},
			Label:       "y",
			Description: "YAML",
			Group:       keys.GroupLook,
			Unavailable: noYAML,
			Do:          d.openSelected(jobview.YAML),
		},
		{
			Name:        "verify",
			Keys:        []string{"V"},
			Label:       "V",
			Description: "verify a restore",
			Group:       keys.GroupLook,
			Unavailable: notVerified,
			Do:          d.openSelected(jobview.Verify),
		},
		{
			Keys:        []string{"1", "2", "3", "4", "5", "6", "7", "8", "9"},
			Label:       "1..9",
			Description: "go to a tab",
			Group:       keys.GroupMove,
			Do:          d.goToNumberedTab,
		},
		{Keys: []string{"0"}, Label: "0", Description: "go to the last tab", Group: keys.GroupMove, Do: d.goToNumberedTab},
		{Name: "next-tab", Keys: []string{"tab"}, Label: "tab", Description: "next tab", Group: keys.GroupMove, Do: turn(1)},
		{
			Name:        "previous-tab",
			Keys:        []string{"shift+tab"},
			Label:       "shift+tab",
			Description: "previous tab",
			Group:       keys.GroupMove,
			Do:          turn(-1),
		},
		{
			Name:        "filter",
			Keys:        []string{"/"},
			Label:       "/",
			Description: "filter",
			Group:       keys.GroupLook,
			InFooter:    true,
			Do:          d.startFilter,
		},
		{
			Name:        "clear",
			Keys:        []string{"esc"},
			Label:       "esc",
			Description: "clear the filter, then the marks",
			Group:       keys.GroupLook,
			Do:          keys.DoFunc(d.clearFilterOrMarks),
		},
		{
			Name:         "acknowledge",
			Keys:         []string{"a"},
			Label:        "a",
			Description:  "acknowledge",
			Group:        keys.GroupLook,
			InFooter:     true,
			ShowInFooter: d.isFindingSelected,
			Unavailable:  d.acknowledgeUnavailable,
			DynamicDescription: keys.ChooseText(
				d.isFindingSelected,
				"acknowledge",
				"acknowledge what needs attention, until it changes",
			),
			Do: d.toggleAcknowledged,
		},
		{
			Name:        "sort",
			Keys:        []string{"s"},
			Label:       "s",
			Description: "sort",
			Group:       keys.GroupMove,
			InFooter:    true,
			Active:      d.showsJobs,
			Do:          nextOrder,
		},
		{
			Name:        "reverse",
			Keys:        []string{"S"},
			Label:       "S",
			Description: "reverse the order",
			Group:       keys.GroupMove,
			Active:      d.showsJobs,
			Do:          keys.DoFunc(d.reverseOrder),
		},
	}, keys.MotionBindings(func(m keys.Motion) { d.openTab.applyMotion(m) })...)
	for _, k := range jobview.TabsWithKeys() {
		d.keyBindings = append(
			d.keyBindings,
			keys.Binding{
				Name:        k.Description,
				Keys:        []string{k.Key},
				Label:       k.Key,
				Description: k.Description,
				Group:       keys.GroupLook,
				InFooter:    k.InFooter,
				Active:      d.showsJobs,
				Unavailable: noJob,
				Do:          d.openSelected(k.Page),
			},
		)
	}
	return d
}

// TabNames returns the names of all tabs, in their usual order.
func TabNames() []string {
	var names []string
	for _, t := range newDashboard(nil).chosenTabs {
		names = append(names, t.configName())
	}
	return names
}

// configName returns the tab's name in the configuration.
func (t *dashboardTab) configName() string { return strings.ToLower(t.name) }

// chooseTabs sets the tabs and columns by the names that the user chose; no names mean all.
func (d *dashboard) chooseTabs(names, columns []string) {
	d.columns = columnOrder(columns)
	if len(names) == 0 {
		return
	}
	all := d.chosenTabs
	d.chosenTabs = nil
	for _, name := range names {
		if at := slices.IndexFunc(all, func(t *dashboardTab) bool { return t.configName() == name }); at >= 0 {
			d.chosenTabs = append(d.chosenTabs, all[at])
		}
	}
	d.openTab = d.chosenTabs[0]
}

func (d *dashboard) showsJobs() bool { return d.openTab.resourceTab == nil }

// shownTabs returns the tabs that exist now. The open one stays until the user leaves it.
func (d *dashboard) shownTabs() []*dashboardTab {
	return slices.DeleteFunc(slices.Clone(d.chosenTabs), func(t *dashboardTab) bool {
		return t != d.openTab && t.resourceTab != nil && t.resourceTab.Exists != nil &&
			!slices.ContainsFunc(
				knownClusters(d.model.clusters),
				func(c *clusterState) bool { return t.resourceTab.Exists(c.assessment) },
			)
	})
}

func (d *dashboard) hasSeveralClusters() bool { return len(d.model.clusters) > 1 }

func (d *dashboard) isAttended() bool {
	return d.model.options.Clock().Sub(d.lastActivity) < attentionPeriod
}

// rebuildRows applies the present state. It builds the rows of the shown tab only. Those of other tabs are built when
// they are shown (see [dashboard.showTab]), because there may be tens of thousands and a snapshot every second.
func (d *dashboard) rebuildRows() {
	d.marked.dropMissing(d.model.clusters)
	// On an unattended dashboard the first row, which matters most, stays on the screen.
	attended := d.isAttended()
	d.findings, d.findingByRow = collectFindings(d.model.clusters...), map[string]*clusterFinding{}
	for i := range d.findings {
		d.findingByRow[d.findings[i].rowKey()] = &d.findings[i]
	}
	for _, t := range d.allTabs {
		t.hasUserChoice = t.hasUserChoice && attended
		t.outdated = true
	}
	d.updateCounts()
	d.showTab(d.openTab)
}

// showTab opens a tab, and builds its rows if they are outdated.
func (d *dashboard) showTab(t *dashboardTab) {
	if d.openTab != t {
		d.openTab, t.shownKey = t, ""
	} else if t != d.activeTab && d.isAttended() && d.isFullyRead() { // the first tab follows what matters most
		t.settleSelection(d.model.options.Clock())
	}
	if !t.outdated {
		return
	}
	t.outdated = false
	switch {
	case t == d.activeTab:
		t.setRows(d.buildActiveRows())
	case t.resourceTab != nil:
		t.setRows(d.buildResourceTabRows(t))
	default:
		jobs := slices.DeleteFunc(allJobs(d.model.clusters...), func(j clusterJob) bool {
			return (j.Kind == job.Restore) != (t == d.restoresTab)
		})
		t.setRows(newJobTableRows(sortOrders[d.sortOrderIndex].sortJobs(jobs, d.isReversed), t.filter))
	}
}

// updateCounts sets the number of rows beside each tab's name. The count of the first tab follows from its rows.
func (d *dashboard) updateCounts() {
	d.restoresTab.rowCount, d.backupsTab.rowCount = 0, 0
	for _, c := range knownClusters(d.model.clusters) {
		for _, j := range c.assessment.Snapshot.Jobs {
			if j.Kind == job.Restore {
				d.restoresTab.rowCount++
			} else {
				d.backupsTab.rowCount++
			}
		}
	}
	for _, t := range d.chosenTabs {
		if t.resourceTab == nil {
			continue
		}
		t.groups, t.rowCount = buildGroups(d.model.clusters, t.resourceTab), 0
		for _, group := range t.groups {
			t.rowCount += len(group.Rows)
		}
	}
}

// buildActiveRows returns the rows of the jobs that have not ended, of the findings and of the recently ended jobs.
func (d *dashboard) buildActiveRows() []tableRow {
	active := activeJobs(d.model.clusters...)
	if d.sortOrderIndex > 0 {
		sortOrders[d.sortOrderIndex].sortJobs(active, d.isReversed)
	} else {
		sortByUrgency(active)
	}
	rows := newJobTableRows(active, d.activeTab.filter)
	attention := d.buildAttentionRows()
	rows = append(rows, attention...)
	ended := excludeRows(d.recentlyEnded(), attention)
	if endedRows := newJobTableRows(ended, d.activeTab.filter); len(endedRows) > 0 {
		rows = append(append(rows, tableRow{heading: "finished in the last hour"}), endedRows...)
	}
	d.activeTab.rowCount = len(active) + max(len(attention)-1, 0) + len(ended)
	return rows
}

// recentlyEnded returns the jobs that ended within recentPeriod, the last to end first.
func (d *dashboard) recentlyEnded() (ended []clusterJob) {
	for _, c := range knownClusters(d.model.clusters) {
		for _, j := range c.assessment.Snapshot.Jobs {
			if c.assessment.World.Now.Sub(view.EndedAt(j)) < recentPeriod && j.IsTerminal() {
				ended = append(ended, clusterJob{c, j})
			}
		}
	}
	slices.SortStableFunc(ended, func(a, b clusterJob) int { return view.EndedAt(b.Job).Compare(view.EndedAt(a.Job)) })
	return ended
}

func (d *dashboard) buildResourceTabRows(t *dashboardTab) []tableRow {
	rows := buildResourceRows(t.groups, t.filter)
	for i := range rows {
		rows[i].finding = d.findingByRow[rows[i].key]
	}
	return rows
}

func (d *dashboard) noteActivity() { d.lastActivity = d.model.options.Clock() }

// isFullyRead reports whether every kind of every known cluster has been read completely.
func (d *dashboard) isFullyRead() bool {
	return !slices.ContainsFunc(knownClusters(d.model.clusters), func(c *clusterState) bool {
		return !isFullyRead(c.assessment.Snapshot)
	})
}

// isFullyRead reports whether every kind has been read completely.
func isFullyRead(snap *watch.Snapshot) bool {
	return snap.Health.State != watch.Connecting &&
		!slices.ContainsFunc(snap.Sources, func(s watch.Source) bool { return s.State == watch.SourceSyncing })
}

func newJobTableRows(jobs []clusterJob, f rowFilter) []tableRow {
	rows := make([]tableRow, 0, len(jobs))
	for _, j := range jobs {
		if f.isEmpty() || f.matchesFields(filterableFields(j)...) {
			rows = append(rows, tableRow{key: j.cluster.rowKey(string(j.UID)), cluster: j.cluster, item: j.Job})
		}
	}
	return rows
}

func filterableFields(j clusterJob) []string {
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
	if j.IsTerminal() {
		return fields
	}
	judged := j.judgedJob()
	if judged.IsTroubled() {
		fields = append(fields, string(diagnosis.Stuck)) // so that the filter finds the jobs that the header counts as stuck
	}
	return append(fields, string(judged.State))
}

func (d *dashboard) selectedJob() *job.Job {
	r, ok := d.openTab.selectedRow()
	if !ok {
		return nil
	}
	j, _ := r.item.(*job.Job)
	return j
}

func (d *dashboard) openSelected(at jobview.PageName) func(string) tea.Cmd {
	return func(string) tea.Cmd {
		d.openTab.hasUserChoice = true // so that the row is still selected on return
		switch r, _ := d.openTab.selectedRow(); item := r.item.(type) {
		case *job.Job:
			return d.model.openJob(r.cluster, item.UID, at)
		case *clusterFinding:
			return d.openFinding(r.cluster, item.Finding)
		case *view.Row:
			return d.model.openResource(r.cluster, *d.openTab.resourceTab, item.Key)
		}
		return nil
	}
}

func (d *dashboard) cycleTabs(by int) {
	shown := d.shownTabs()
	d.showTab(shown[(slices.Index(shown, d.openTab)+by+len(shown))%len(shown)])
}

// goToNumberedTab shows the tab with the number of the digit key; 0 is the last tab.
func (d *dashboard) goToNumberedTab(key string) tea.Cmd {
	shown := d.shownTabs()
	if key == "0" {
		d.showTab(shown[len(shown)-1])
	} else if n := int(key[0] - '1'); n < len(shown) {
		d.showTab(shown[n])
	}
	return nil
}

// reverseOrder reverses the order of the jobs; the usual order becomes the reversed order by age.
func (d *dashboard) reverseOrder() {
	if d.sortOrderIndex == 0 {
		d.setSortOrder(ageOrderIndex, true)
		return
	}
	d.setSortOrder(d.sortOrderIndex, !d.isReversed)
}

func (d *dashboard) setSortOrder(order int, reversed bool) {
	d.sortOrderIndex, d.isReversed = order, reversed
	d.rebuildRows()
}

func (d *dashboard) titleSortOrder() draw.SortOrder {
	s := sortOrders[d.sortOrderIndex].SortOrder
	s.Ascending = s.Ascending != d.isReversed
	return s
}

func (d *dashboard) toggleMark() {
	if r, _ := d.openTab.selectedRow(); d.marked[r.key] {
		delete(d.marked, r.key)
	} else {
		d.marked[r.key] = true
	}
}

// markedJobs returns the marked jobs of the open tab, the most urgent first, and their cluster. Marks of a tab that is
// not open count for nothing: a key must not change what the screen does not show.
func (d *dashboard) markedJobs() (*clusterState, []*job.Job) {
	if !d.showsJobs() {
		return nil, nil
	}
	for _, c := range d.model.clusters {
		marked := slices.DeleteFunc(d.marked.jobsOfCluster(c), func(j *job.Job) bool {
			return !slices.Contains(d.openTab.kinds, j.Kind.Resource()+"."+veleroapi.GroupVersion.Group)
		})
		if len(marked) > 0 {
			return c, marked
		}
	}
	return nil, nil
}

func (d *dashboard) countMarked() int {
	_, marked := d.markedJobs()
	return len(marked)
}

// clearFilterOrMarks clears the filter, or the marks if there is no filter.
func (d *dashboard) clearFilterOrMarks() {
	if d.openTab.filter.isEmpty() {
		clear(d.marked)
	}
	d.setFilter("")
}

func (d *dashboard) startFilter(string) tea.Cmd {
	d.isFilterOpen = true
	d.filterInput.SetValue(d.openTab.filter.text)
	d.filterInput.CursorEnd()
	return d.filterInput.Focus()
}

func (d *dashboard) setFilter(text string) {
	if text != d.openTab.filter.text {
		d.openTab.filter = rowFilter{text: text, words: strings.Fields(strings.ToLower(text))}
		d.rebuildRows()
	}
}

func (d *dashboard) globalKeys() globalKeySet { return mainScreenKeys(d.showsJobs()) }
func (d *dashboard) Bindings() []keys.Binding { return d.keyBindings }
func (d *dashboard) IsTyping() bool           { return d.isFilterOpen }

func (d *dashboard) RenderPrompt(width int) string {
	d.filterInput.SetWidth(max(width-4, 1))
	return " " + d.filterInput.View()
}

// Update handles keys while the filter is being typed. The rows follow at once.
func (d *dashboard) Update(msg tea.Msg) (cmd tea.Cmd, handled bool) {
	if !d.isFilterOpen {
		return nil, false
	}
	if k, ok := msg.(tea.KeyPressMsg); ok {
		switch name := k.String(); name {
		case "enter", "up", "down", "esc", "ctrl+c":
			d.isFilterOpen = false
			d.filterInput.Blur()
			if name == "esc" || name == "ctrl+c" {
				d.setFilter("")
			}
			return nil, true
		}
	}
	d.filterInput, cmd = d.filterInput.Update(msg)
	d.setFilter(d.filterInput.Value())
	return cmd, true
}
