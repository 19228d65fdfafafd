package ui

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/ui/command"
	"github.com/veltui/veltui/ui/draw"
	"github.com/veltui/veltui/ui/jobview"
	"github.com/veltui/veltui/ui/keys"
)

// tabAliases are other names of tabs, from kubectl and velero.
var tabAliases = map[string][]string{
	"restores": {
		"rst",
	},
	"backups":   {"bak"},
	"schedules": {"sched"},
	"storage":   {"bsl", "locations"},
	"deletions": {"dbr"},
}

func (m *Model) newCommands() []command.Command {
	var all []command.Command
	for _, t := range m.dashboard.chosenTabs {
		name := t.configName()
		all = append(all, command.Command{Name: name, Aliases: tabAliases[name], Description: "go to the tab " + t.name,
			Do: func(string) (tea.Cmd, error) { return m.goToTab(t) }})
	}
	return append(
		all,
		command.Command{
			Name:           "backup",
			Argument:       "NAME",
			Description:    "open a backup",
			ArgumentValues: m.jobNames(job.Backup),
			Do:             func(name string) (tea.Cmd, error) { return m.openNamedJob(job.Backup, name) },
		},
		command.Command{
			Name:           "restore",
			Argument:       "NAME",
			Description:    "open a restore",
			ArgumentValues: m.jobNames(job.Restore),
			Do:             func(name string) (tea.Cmd, error) { return m.openNamedJob(job.Restore, name) },
		},
		command.Command{
			Name:           "preview",
			Argument:       "BACKUP",
			Description:    "build a restore and preview its effect",
			ArgumentValues: m.jobNames(job.Backup),
			Do: func(name string) (tea.Cmd, error) {
				of, j, err := m.findOneJob(job.Backup, name)
				if err != nil {
					return nil, err
				}
				m.showDashboard()
				return m.openRestoreForm(of, j), nil
			},
		},
		command.Command{
			Name:           "ctx",
			Aliases:        []string{"context"},
			Argument:       "NAME,...",
			Description:    "show other kubeconfig contexts",
			IsList:         true,
			ArgumentValues: slices.Values(m.options.Contexts),
			Do:             m.switchContexts,
		},
		command.Command{
			Name:           "ns",
			Aliases:        []string{"namespace"},
			Argument:       "NAME",
			Description:    "show Velero in another namespace",
			ArgumentValues: m.veleroNamespaces(),
			Do:             func(name string) (tea.Cmd, error) { return m.switchClusters(nil, name), nil },
		},
		command.Command{
			Name:        "filter",
			Argument:    "[TEXT]",
			Description: "filter the rows as " + m.options.Keys.FirstKey("filter") + " does; without a text show all",
			Do: func(text string) (tea.Cmd, error) {
				m.showDashboard()
				m.dashboard.setFilter(text)
				return nil, nil
			},
		},
		command.Command{
			Name:           "sort",
			Argument:       "COLUMN",
			Description:    "sort the jobs, " + m.options.Keys.FirstKey("reverse") + " reverses",
			ArgumentValues: slices.Values(sortOrderNames()),
			Do:             func(name string) (tea.Cmd, error) { return nil, m.sortBy(name) },
		},
		command.Command{
			Name:        "columns",
			Argument:    "[NAME]",
			Description: "choose the columns of jobs (a,b,...), or show all",
			IsList:      true,
			ArgumentValues: slices.Values(
				ColumnNames(),
			),
			Do: func(text string) (tea.Cmd, error) { return nil, m.chooseColumns(text) },
		},
		command.Command{
			Name:           "theme",
			Argument:       "NAME",
			Description:    "change the colours",
			ArgumentValues: slices.Values(slices.Concat(draw.ThemeNames(), m.options.UserThemes, []string{draw.ThemeAuto})),
			Do:             func(name string) (tea.Cmd, error) { return m.changeTheme(name) },
		},
		command.Command{
			Name:           "mouse",
			Argument:       "on/off",
			Description:    "use the mouse; while it is on, hold shift to select text",
			ArgumentValues: slices.Values([]string{"on", "off"}),
			Do:             m.setMouse,
		},
		command.Command{
			Name:        "log",
			Description: "what veltui has changed from this machine",
			Do:          func(string) (tea.Cmd, error) { return m.openAuditScreen(), nil },
		},
		command.Command{Name: "help", Description: "all keys and commands of this screen", Do: func(string) (tea.Cmd, error) {
			if !m.isHelpOpen() {
				m.toggleHelp()
			}
			return nil, nil
		}},
		command.Command{
			Name:        "quit",
			Aliases:     []string{"q", "q!", "qa", "exit"},
			Description: "quit",
			Do:          func(string) (tea.Cmd, error) { return m.quitProgram(), nil },
		},
	)
}

// CommandBindings returns the commands behind `:`, with the label and description that help shows.
func CommandBindings() []keys.Binding {
	m, err := newModel(context.Background(), Options{Clusters: []Cluster{{}}})
	if err != nil {
		return nil
	}
	return m.commandBindings()
}

func (m *Model) commandBindings() []keys.Binding {
	var all []keys.Binding
	for _, c := range m.commandLine.Commands() {
		what := c.Description
		if len(c.Aliases) > 0 {
			what += " (" + strings.Join(c.Aliases, ", ") + ")"
		}
		all = append(all, keys.Binding{Label: c.Usage(), Description: what, Group: keys.GroupCommands})
	}
	return all
}

func (m *Model) handleCommandInput(msg tea.Msg) tea.Cmd {
	if k, ok := msg.(tea.KeyPressMsg); ok && k.String() == "enter" {
		m.notice = ""
	}
	cmd, err := m.commandLine.Update(msg)
	if err != nil {
		m.notice = err.Error()
	}
	if m.commandLine.IsTyping() {
		return cmd
	}
	return tea.Batch(cmd, m.fetchMissing(), m.lookCloser())
}

func (m *Model) goToTab(t *dashboardTab) (tea.Cmd, error) {
	if !slices.Contains(m.dashboard.shownTabs(), t) {
		return nil, fmt.Errorf("there are no %s here now", strings.ToLower(t.name))
	}
	m.showDashboard()
	m.dashboard.showTab(t)
	return nil, nil
}

// findNamedJobs returns the jobs of a kind called name or context/name.
func (m *Model) findNamedJobs(kind job.Kind, name string) []clusterJob {
	return slices.DeleteFunc(allJobs(m.clusters...), func(j clusterJob) bool {
		return j.Kind != kind || j.Name != name && j.cluster.Context+"/"+j.Name != name
	})
}

func (m *Model) findOneJob(kind job.Kind, name string) (*clusterState, *job.Job, error) {
	found := m.findNamedJobs(kind, name)
	switch len(found) {
	case 0:
		why, tab := "", m.dashboard.backupsTab
		if kind == job.Restore {
			tab = m.dashboard.restoresTab
		}
		if m.dashboard.countAgedOut(tab) > 0 {
			why = ", or it ended too long ago to be shown (--ended-within)"
		}
		return nil, nil, fmt.Errorf("there is no %s %s%s", kind.Noun(), name, why)
	case 1:
	default:
		return nil, nil, fmt.Errorf(
			"several clusters have %s: type its context first, such as %s/%s",
			name,
			found[0].cluster.Context,
			name,
		)
	}
	return found[0].cluster, found[0].Job, nil
}

func (m *Model) openNamedJob(kind job.Kind, name string) (tea.Cmd, error) {
	of, j, err := m.findOneJob(kind, name)
	if err != nil {
		return nil, err
	}
	m.showDashboard()
	return m.openJob(of, j.UID, jobview.Overview), nil
}

// jobNames yields the names of the jobs of a kind, the newest first; with several clusters each follows its context.
func (m *Model) jobNames(kind job.Kind) iter.Seq[string] {
	return func(yield func(string) bool) {
		jobs := slices.DeleteFunc(allJobs(m.clusters...), func(j clusterJob) bool { return j.Kind != kind })
		for _, j := range sortOrders[0].sortJobs(jobs, false) {
			name := j.Name
			if len(m.clusters) > 1 {
				name = j.cluster.Context + "/" + name
			}
			if !yield(name) {
				return
			}
		}
	}
}

// veleroNamespaces yields the namespaces in which a Velero was seen.
func (m *Model) veleroNamespaces() iter.Seq[string] {
	return func(yield func(string) bool) {
		var all []string
		for _, c := range knownClusters(m.clusters) {
			if c.assessment.Snapshot.NamespaceNotice == "" { // a notice means that Velero is missing or unknown
				all = append(all, c.assessment.Snapshot.Namespace)
			}
			all = append(all, c.assessment.Snapshot.OtherNamespaces...)
		}
		slices.Sort(all)
		for _, name := range slices.Compact(all) {
			if name != "" && !yield(name) {
				return
			}
		}
	}
}

func (m *Model) switchContexts(text string) (tea.Cmd, error) {
	wanted, unknown := parseNameList(text, m.options.Contexts)
	switch {
	case unknown != "" && len(m.options.Contexts) > 0:
		return nil, fmt.Errorf("there is no context %s in the kubeconfig", unknown)
	case len(wanted) == 0:
		return nil, errors.New("type :ctx with the name of a context")
	}
	return m.switchClusters(wanted, ""), nil
}

// parseNameList returns the elements of a typed list, each once, and the first one that is not among names.
func parseNameList(text string, names []string) (wanted []string, unknown string) {
	for _, name := range strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ' ' }) {
		if !slices.Contains(names, name) {
			unknown = cmp.Or(unknown, name)
		}
		if !slices.Contains(wanted, name) {
			wanted = append(wanted, name)
		}
	}
	return wanted, unknown
}

func (m *Model) showJobs() {
	m.showDashboard()
	if !m.dashboard.showsJobs() {
		m.dashboard.showTab(m.dashboard.activeTab)
	}
}

func (m *Model) chooseColumns(text string) error {
	wanted, unknown := parseNameList(strings.ToLower(text), append(ColumnNames(), "name")) // the name is always shown
	wanted = slices.DeleteFunc(wanted, func(column string) bool { return column == "name" })
	if unknown != "" {
		return fmt.Errorf("there is no column %s; choose from %s", unknown, strings.Join(ColumnNames(), ", "))
	}
	m.showJobs()
	m.dashboard.columns = columnOrder(wanted)
	return nil
}

// sortBy sorts the jobs by a column. Tabs of other resources have their own order.
func (m *Model) sortBy(name string) error {
	name = strings.ToLower(name)
	at := slices.IndexFunc(
		sortOrders,
		func(o jobOrder) bool { return o.name == name || strings.ToLower(o.Column) == name },
	)
	if at < 0 {
		return fmt.Errorf("there is no order by %s; choose one of %s", name, strings.Join(sortOrderNames(), ", "))
	}
	m.showJobs()
	m.dashboard.setSortOrder(at, false)
	return nil
}

func (m *Model) setMouse(text string) (tea.Cmd, error) {
	if text != "on" && text != "off" {
		return nil, errors.New("type :mouse on or :mouse off")
	}
	m.options.Mouse = text == "on"
	return nil, nil
}

func (m *Model) changeTheme(name string) (tea.Cmd, error) {
	if m.options.NoColor {
		return nil, errors.New("colours are off: veltui was started with NO_COLOR or --no-color")
	}
	before := m.options
	m.options.Theme, m.options.UserTheme = name, nil
	var err error
	if slices.Contains(m.options.UserThemes, name) {
		m.options.UserTheme, err = m.options.LoadTheme(name)
	}
	if err == nil {
		err = m.useTheme(m.darkBackground)
	}
	if err != nil {
		m.options = before
		return nil, err
	}
	if _, byBackground := m.themeName(true); byBackground {
		return tea.RequestBackgroundColor, nil
	}
	return nil, nil
}
