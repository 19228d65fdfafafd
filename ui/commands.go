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

// tabAliases are other names of tabs, as kubectl and velero have them.
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
	for _, t := range m.dashboard.tabs {
		name := t.setting()
		all = append(all, command.Command{Name: name, Also: tabAliases[name], What: "go to the tab " + t.name,
			Do: func(string) (tea.Cmd, error) { return m.goToTab(t) }})
	}
	return append(
		all,
		command.Command{Name: "backup", Argument: "NAME", What: "open a backup", Values: m.names(job.Backup),
			Do: func(name string) (tea.Cmd, error) { return m.openNamed(job.Backup, name) }},
		command.Command{Name: "restore", Argument: "NAME", What: "open a restore", Values: m.names(job.Restore),
			Do: func(name string) (tea.Cmd, error) { return m.openNamed(job.Restore, name) }},
		command.Command{
			Name:     "preview",
			Argument: "BACKUP",
			What:     "build a restore and preview its effect",
			Values:   m.names(job.Backup),
			Do: func(name string) (tea.Cmd, error) {
				of, j, err := m.oneNamed(job.Backup, name)
				if err != nil {
					return nil, err
				}
				m.showDashboard()
				return m.openForm(of, j), nil
			},
		},
		command.Command{
			Name:     "ctx",
			Also:     []string{"context"},
			Argument: "NAME,...",
			What:     "show other kubeconfig contexts",
			List:     true,
			Values:   slices.Values(m.options.Contexts),
			Do:       m.switchContexts,
		},
		command.Command{
			Name:     "ns",
			Also:     []string{"namespace"},
			Argument: "NAME",
			What:     "show Velero in another namespace",
			Values:   m.namespaces(),
			Do:       func(name string) (tea.Cmd, error) { return m.switchTo(nil, name), nil },
		},
		command.Command{
			Name:     "filter",
			Argument: "[TEXT]",
			What:     "filter the rows as " + m.options.Keys.Key("filter") + " does; without a text show all",
			Do: func(text string) (tea.Cmd, error) {
				m.showDashboard()
				m.dashboard.setFilter(text)
				return nil, nil
			},
		},
		command.Command{
			Name:     "sort",
			Argument: "COLUMN",
			What:     "sort the jobs, " + m.options.Keys.Key("reverse") + " reverses",
			Values:   slices.Values(orderNames()),
			Do:       func(name string) (tea.Cmd, error) { return nil, m.sortBy(name) },
		},
		command.Command{
			Name:     "columns",
			Argument: "[NAME]",
			What:     "choose the columns of jobs (a,b,...), or show all",
			List:     true,
			Values: slices.Values(
				Columns(),
			),
			Do: func(text string) (tea.Cmd, error) { return nil, m.chooseColumns(text) },
		},
		command.Command{
			Name:     "theme",
			Argument: "NAME",
			What:     "change the colours",
			Values:   slices.Values(slices.Concat(draw.Themes(), m.options.Themes, []string{draw.ThemeAuto})),
			Do:       func(name string) (tea.Cmd, error) { return m.changeTheme(name) },
		},
		command.Command{
			Name:     "mouse",
			Argument: "on/off",
			What:     "use the mouse; while it is on, hold shift to select text",
			Values:   slices.Values([]string{"on", "off"}),
			Do:       m.useMouse,
		},
		command.Command{
			Name: "log",
			What: "what veltui has changed from this machine",
			Do:   func(string) (tea.Cmd, error) { return m.openLog(), nil },
		},
		command.Command{Name: "help", What: "all keys and commands of this screen", Do: func(string) (tea.Cmd, error) {
			if !m.helping() {
				m.toggleHelp()
			}
			return nil, nil
		}},
		command.Command{
			Name: "quit",
			Also: []string{"q", "q!", "qa", "exit"},
			What: "quit",
			Do:   func(string) (tea.Cmd, error) { return m.quit(), nil },
		},
	)
}

// Commands are those behind `:`, with the Label and What of help.
func Commands() []keys.Binding {
	m, err := newModel(context.Background(), Options{Clusters: []Cluster{{}}})
	if err != nil {
		return nil
	}
	return m.commandHelp()
}

func (m *Model) commandHelp() []keys.Binding {
	var all []keys.Binding
	for _, c := range m.command.Commands() {
		what := c.What
		if len(c.Also) > 0 {
			what += " (" + strings.Join(c.Also, ", ") + ")"
		}
		all = append(all, keys.Binding{Label: c.Usage(), What: what, Group: keys.Commands})
	}
	return all
}

func (m *Model) typedCommand(msg tea.Msg) tea.Cmd {
	if k, ok := msg.(tea.KeyPressMsg); ok && k.String() == "enter" {
		m.notice = ""
	}
	cmd, err := m.command.Update(msg)
	if err != nil {
		m.notice = err.Error()
	}
	if m.command.Typing() {
		return cmd
	}
	return tea.Batch(cmd, m.ask(), m.look())
}

func (m *Model) goToTab(t *tab) (tea.Cmd, error) {
	if !slices.Contains(m.dashboard.shownTabs(), t) {
		return nil, fmt.Errorf("there are no %s here now", strings.ToLower(t.name))
	}
	m.showDashboard()
	m.dashboard.show(t)
	return nil, nil
}

// named are the jobs of a kind called name or context/name.
func (m *Model) named(kind job.Kind, name string) []clusterJob {
	return slices.DeleteFunc(allJobs(m.clusters...), func(j clusterJob) bool {
		return j.Kind != kind || j.Name != name && j.cluster.Context+"/"+j.Name != name
	})
}

func (m *Model) oneNamed(kind job.Kind, name string) (*clusterState, *job.Job, error) {
	found := m.named(kind, name)
	switch len(found) {
	case 0:
		why, tab := "", m.dashboard.backups
		if kind == job.Restore {
			tab = m.dashboard.restores
		}
		if m.dashboard.leftOut(tab) > 0 {
			why = ", or it ended too long ago to be shown (--ended-within)"
		}
		return nil, nil, fmt.Errorf("there is no %s %s%s", kind.Word(), name, why)
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

func (m *Model) openNamed(kind job.Kind, name string) (tea.Cmd, error) {
	of, j, err := m.oneNamed(kind, name)
	if err != nil {
		return nil, err
	}
	m.showDashboard()
	return m.openJob(of, j.UID, jobview.Overview), nil
}

// names are those of the jobs of a kind, the newest first; of several clusters with their context.
func (m *Model) names(kind job.Kind) iter.Seq[string] {
	return func(yield func(string) bool) {
		jobs := slices.DeleteFunc(allJobs(m.clusters...), func(j clusterJob) bool { return j.Kind != kind })
		for _, j := range orders[0].sort(jobs, false) {
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

// namespaces are those in which a Velero was seen.
func (m *Model) namespaces() iter.Seq[string] {
	return func(yield func(string) bool) {
		var all []string
		for _, c := range known(m.clusters) {
			if c.assessed.Snapshot.Notice == "" { // else it is missing, or nobody knows
				all = append(all, c.assessed.Snapshot.Namespace)
			}
			all = append(all, c.assessed.Snapshot.OtherNamespaces...)
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
	wanted, unknown := words(text, m.options.Contexts)
	switch {
	case unknown != "" && len(m.options.Contexts) > 0:
		return nil, fmt.Errorf("there is no context %s in the kubeconfig", unknown)
	case len(wanted) == 0:
		return nil, errors.New("type :ctx with the name of a context")
	}
	return m.switchTo(wanted, ""), nil
}

// words are the elements of a typed list, each once, and the first that is not among names.
func words(text string, names []string) (wanted []string, unknown string) {
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
		m.dashboard.show(m.dashboard.active)
	}
}

func (m *Model) chooseColumns(text string) error {
	wanted, unknown := words(strings.ToLower(text), append(Columns(), "name")) // the name is always there
	wanted = slices.DeleteFunc(wanted, func(column string) bool { return column == "name" })
	if unknown != "" {
		return fmt.Errorf("there is no column %s; choose from %s", unknown, strings.Join(Columns(), ", "))
	}
	m.showJobs()
	m.dashboard.columns = columnOrder(wanted)
	return nil
}

// sortBy sorts the jobs by a column; tabs of what is no job have their own order.
func (m *Model) sortBy(name string) error {
	name = strings.ToLower(name)
	at := slices.IndexFunc(orders, func(o order) bool { return o.name == name || strings.ToLower(o.Column) == name })
	if at < 0 {
		return fmt.Errorf("there is no order by %s; choose one of %s", name, strings.Join(orderNames(), ", "))
	}
	m.showJobs()
	m.dashboard.setOrder(at, false)
	return nil
}

func (m *Model) useMouse(text string) (tea.Cmd, error) {
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
	if slices.Contains(m.options.Themes, name) {
		m.options.UserTheme, err = m.options.LoadTheme(name)
	}
	if err == nil {
		err = m.useTheme(m.dark)
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
