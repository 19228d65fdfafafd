package ui

import (
	"slices"
	"time"

	"charm.land/bubbles/v2/textinput"
	tea "charm.land/bubbletea/v2"
	"k8s.io/apimachinery/pkg/types"

	"github.com/veltui/veltui/assess"
	"github.com/veltui/veltui/diagnosis"
	"github.com/veltui/veltui/job"
	"github.com/veltui/veltui/ui/jobview"
	"github.com/veltui/veltui/ui/keys"
	"github.com/veltui/veltui/watch"
)

// recently is how long an ended job stays on the active tab.
const recently = time.Hour

// tab is one of the dashboard's lists.
type tab int

const (
	tabActive tab = iota
	tabRestores
	tabBackups
	tabSchedules
	tabStorage
	tabCount
)

var tabNames = [tabCount]string{"Active", "Restores", "Backups", "Schedules", "Storage"}

// dashboard is the first screen: tabs of lists with one selected row.
type dashboard struct {
	keys []keys.Binding
	// open opens a job's screen.
	open func(types.UID, jobview.Page) tea.Cmd
	// assessed is what the rows were made of, nil before the first snapshot.
	assessed *assess.Assessment

	tab    tab
	lists  [tabCount]list
	counts [tabCount]int
	order  int
	filter filter
	// input is open while the filter is being typed.
	input  textinput.Model
	typing bool
	// marked are the jobs to finalize one after another.
	marked marks
}

func newDashboard() *dashboard {
	input := textinput.New()
	input.Prompt = "/"
	input.CharLimit = 100
	input.SetVirtualCursor(true)
	d := &dashboard{input: input, marked: marks{}}
	for i := range d.lists {
		d.lists[i].cursor = -1
	}
	turn := func(by tab) func(string) tea.Cmd {
		return keys.Run(func() { d.tab = (d.tab + by + tabCount) % tabCount })
	}
	d.keys = append([]keys.Binding{
		{Keys: []string{"enter", "right"}, Label: "enter", What: "open", Group: keys.Look, Short: true, On: d.showsJobs, WhyNot: d.whyNotOpen, Do: d.openSelected(jobview.Overview)},
		{Keys: []string{"1", "2", "3", "4", "5", "6", "7", "8", "9"}, Label: "1..5", What: "go to a tab", Group: keys.Move, Do: d.turnTo},
		{Keys: []string{"tab"}, Label: "tab", What: "next tab", Group: keys.Move, Do: turn(1)},
		{Keys: []string{"shift+tab"}, Label: "shift+tab", What: "previous tab", Group: keys.Move, Do: turn(-1)},
		{Keys: []string{"/"}, Label: "/", What: "filter", Group: keys.Look, Short: true, Do: d.startFilter},
		{Keys: []string{"esc"}, Label: "esc", What: "clear the filter, then the marks", Group: keys.Look, Do: keys.Run(d.clear)},
		{Keys: []string{"s"}, Label: "s", What: "sort", Group: keys.Look, Short: true, On: d.showsJobs, Do: keys.Run(d.nextOrder)},
	}, keys.Moving(func(m keys.Motion) { d.list().moved(m) })...)
	for _, k := range jobview.Openers {
		d.keys = append(d.keys, keys.Binding{Keys: []string{k.Key}, Label: k.Key, What: k.What, Group: keys.Look, Short: k.Short,
			On: d.showsJobs, WhyNot: d.whyNotOpen, Do: d.openSelected(k.Page)})
	}
	return d
}

func (d *dashboard) list() *list { return &d.lists[d.tab] }

// showsJobs reports whether the present tab lists jobs.
func (d *dashboard) showsJobs() bool { return d.tab <= tabBackups }

// load makes the rows of every tab.
func (d *dashboard) load(a *assess.Assessment) {
	d.assessed = a
	if a == nil {
		return
	}
	d.marked.prune(a)
	snap := a.Snapshot
	var backups, restores, ended []*job.Job
	for _, j := range snap.Jobs {
		if j.Kind == job.Restore {
			restores = append(restores, j)
		} else {
			backups = append(backups, j)
		}
		if j.Terminal() && a.Environment.Now.Sub(endedAt(j)) < recently {
			ended = append(ended, j)
		}
	}
	active := byUrgency(a)
	if d.order > 0 {
		active = orders[d.order].sorted(snap.Active)
	}
	activeRows := d.jobRows(active)
	if endedRows := d.jobRows(byEnd(ended)); len(endedRows) > 0 {
		activeRows = append(append(activeRows, row{heading: "finished in the last hour"}), endedRows...)
	}
	d.counts = [tabCount]int{len(active) + len(ended), len(restores), len(backups), len(snap.Schedules), len(snap.Locations)}
	d.lists[tabActive].setRows(activeRows)
	d.lists[tabRestores].setRows(d.jobRows(orders[d.order].sorted(restores)))
	d.lists[tabBackups].setRows(d.jobRows(orders[d.order].sorted(backups)))
	malformed := malformedByUID(snap.Malformed)
	d.lists[tabSchedules].setRows(otherRows(d.filter, snap.Schedules, malformed, scheduleFields))
	d.lists[tabStorage].setRows(append(otherRows(d.filter, snap.Locations, malformed, locationFields), malformedRows(d.filter, snap.Malformed)...))
	if allRead(snap) {
		for i := range d.lists {
			d.lists[i].settled = true
		}
	}
}

// allRead reports whether every kind has told what there is.
func allRead(snap *watch.Snapshot) bool {
	return snap.Health.State != watch.Connecting &&
		!slices.ContainsFunc(snap.Sources, func(s watch.Source) bool { return s.State == watch.SourceSyncing })
}

func (d *dashboard) jobRows(jobs []*job.Job) []row {
	rows := make([]row, 0, len(jobs))
	for _, j := range jobs {
		if d.filter.empty() || d.filter.matches(jobFields(d.assessed, j)...) {
			rows = append(rows, row{key: string(j.UID), item: j})
		}
	}
	return rows
}

// jobFields are what a filter looks at: what can be read in a row.
func jobFields(a *assess.Assessment, j *job.Job) []string {
	fields := []string{j.Name, j.Phase, string(j.Stage), string(j.Kind), j.BackupName, j.ScheduleName, j.StorageLocation}
	if j.Terminal() {
		return fields
	}
	judged := a.Of(j)
	if judged.Troubled() {
		fields = append(fields, string(diagnosis.Stuck)) // as the header counts it
	}
	return append(fields, string(judged.State))
}

// selectedJob is the job under the cursor, or nil.
func (d *dashboard) selectedJob() *job.Job {
	r, ok := d.list().selected()
	if !ok {
		return nil
	}
	j, _ := r.item.(*job.Job)
	return j
}

func (d *dashboard) openSelected(at jobview.Page) func(string) tea.Cmd {
	return func(string) tea.Cmd {
		if j := d.selectedJob(); j != nil {
			return d.open(j.UID, at)
		}
		return nil
	}
}

func (d *dashboard) whyNotOpen() string {
	if d.selectedJob() == nil {
		return "no backup or restore is selected"
	}
	return ""
}

func (d *dashboard) turnTo(key string) tea.Cmd {
	if n := tab(key[0] - '1'); n < tabCount {
		d.tab = n
	}
	return nil
}

func (d *dashboard) nextOrder() {
	d.order = (d.order + 1) % len(orders)
	d.load(d.assessed)
}

func (d *dashboard) toggleMark() { d.marked.toggle(d.selectedJob().UID) }

// clear takes the filter away, or the marks if there is none.
func (d *dashboard) clear() {
	if d.filter.empty() {
		clear(d.marked)
	}
	d.setFilter("")
}

func (d *dashboard) startFilter(string) tea.Cmd {
	d.typing = true
	d.input.SetValue(d.filter.text)
	d.input.CursorEnd()
	return d.input.Focus()
}

func (d *dashboard) setFilter(text string) {
	if text != d.filter.text {
		d.filter = newFilter(text)
		d.load(d.assessed)
	}
}

// typed handles what happens while the filter is being typed. Rows follow at
// once; enter keeps the filter and esc takes it away.
func (d *dashboard) typed(msg tea.Msg) tea.Cmd {
	if k, ok := msg.(tea.KeyPressMsg); ok {
		switch k.String() {
		case "enter", "up", "down":
			d.typing = false
			d.input.Blur()
			return nil
		case "esc", "ctrl+c":
			d.typing = false
			d.input.Blur()
			d.setFilter("")
			return nil
		}
	}
	var cmd tea.Cmd
	d.input, cmd = d.input.Update(msg)
	d.setFilter(d.input.Value())
	return cmd
}
