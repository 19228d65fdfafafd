package ui

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/veltui/veltui/internal/assess"
	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/view"
	"github.com/veltui/veltui/ui/draw"
	"github.com/veltui/veltui/ui/fetch"
	"github.com/veltui/veltui/ui/jobview"
	"github.com/veltui/veltui/watch"
)

// Acknowledged remembers, on this machine only, which findings of a cluster a person has seen, by [assess.Finding.Key].
type Acknowledged interface {
	Keys(ctx context.Context) (map[string]bool, error)
	// Set adds and removes keys of findings about the Velero in a namespace.
	Set(ctx context.Context, namespace string, keys map[string]bool) error
}

// loadAcknowledged reads what was acknowledged before in a cluster.
func (m *Model) loadAcknowledged(of *clusterState) tea.Cmd {
	if of.Acknowledged == nil {
		return nil
	}
	by := fetch.Asker{Start: of.sources.Start, Clock: m.options.Clock, Answered: func() tea.Cmd {
		if err := of.kept.Err; err != nil && err.Error() != of.acknowledgedProblem {
			m.notice, of.acknowledgedProblem = err.Error(), err.Error()
		}
		maps.Copy(of.acknowledged, of.kept.Value)
		m.dashboard.load()
		return nil
	}}
	return of.kept.Ask(by, 0, of.Acknowledged.Keys)
}

// setAcknowledged keeps keys of a cluster, now and on disk.
func (m *Model) setAcknowledged(of *clusterState, keys map[string]bool) tea.Cmd {
	maps.Copy(of.acknowledged, keys)
	maps.DeleteFunc(of.acknowledged, func(_ string, on bool) bool { return !on })
	m.dashboard.load()
	if of.Acknowledged == nil {
		return nil
	}
	namespace := of.assessed.Snapshot.Namespace
	cmd, _ := m.starts(func(ctx context.Context) tea.Msg {
		if err := of.Acknowledged.Set(ctx, namespace, keys); err != nil {
			return jobview.Noticed{Text: "veltui cannot keep what was acknowledged: " + err.Error()}
		}
		return nil
	})
	return cmd
}

// findAttention computes what needs someone. It forgets what was acknowledged and is over.
func (m *Model) findAttention(c *clusterState) tea.Cmd {
	c.findings = c.assessed.Attention()
	if why := c.WriteFailure(); why != "" {
		c.findings = append(
			c.findings,
			assess.Finding{
				Severity:  assess.Critical,
				Reason:    assess.WritesFail,
				Kind:      "cluster",
				Name:      c.Context,
				Namespace: c.assessed.Snapshot.Namespace,
				Summary:   "The API server does not store what is written: " + why,
			},
		)
		assess.SortFindings(c.findings)
	}
	if !allRead(c.assessed.Snapshot) || c.assessed.Stale() || c.health().State != watch.Live {
		return nil
	}
	over := map[string]bool{}
	for key := range c.acknowledged {
		known := c.coverage.Result != nil || !assess.NeedsCoverage(key)
		if known && !slices.ContainsFunc(c.findings, func(f assess.Finding) bool { return f.Key() == key }) {
			over[key] = false
		}
	}
	if len(over) == 0 {
		return m.loadAcknowledged(c) // again, if that was not possible
	}
	return m.setAcknowledged(c, over)
}

// clusterFinding is a finding of a cluster. What was acknowledged is dimmed and not counted.
type clusterFinding struct {
	cluster *clusterState
	*assess.Finding
	acknowledged bool
}

// attentionOf lists the findings of some clusters, the worst first and what was acknowledged last.
func attentionOf(clusters ...*clusterState) (found []clusterFinding) {
	for _, c := range known(clusters) {
		for i := range c.findings {
			found = append(found, clusterFinding{c, &c.findings[i], c.acknowledged[c.findings[i].Key()]})
		}
	}
	last := map[bool]int{true: 1}
	slices.SortStableFunc(found, func(a, b clusterFinding) int {
		return cmp.Or(last[a.acknowledged]-last[b.acknowledged], assess.CompareFindings(a.Finding, b.Finding))
	})
	return found
}

// openFindings counts what was not acknowledged, in a tab or in all. The header counts stuck jobs on their own.
func (d *dashboard) openFindings(in string, clusters ...*clusterState) (n int, worst assess.Severity) {
	for _, f := range d.findings {
		if slices.Contains(clusters, f.cluster) && !f.acknowledged &&
			(in == "" && !f.IsStuckJob() || in != "" && string(f.In) == in) {
			n, worst = n+1, max(worst, f.Severity)
		}
	}
	return n, worst
}

func severityStyle(c draw.Canvas, s assess.Severity) lipgloss.Style {
	if s == assess.Critical {
		return c.Theme.Bad
	}
	return c.Theme.Waiting
}

// attentionText counts the findings of a tab, or of all for the header; in short such as !2.
func (d *dashboard) attentionText(c draw.Canvas, in string, short bool, clusters ...*clusterState) string {
	n, worst := d.openFindings(in, clusters...)
	if n == 0 && in != "" {
		return ""
	}
	text := attentionCount(n)
	if short && n > 0 {
		text = fmt.Sprintf("%s%d", c.Glyphs.Attention, n)
	}
	return severityStyle(c, worst).Render(text)
}

func attentionCount(n int) string {
	if n == 0 {
		return ""
	}
	return human.Plural(n, "needs attention", "need attention")
}

// attentionRows are those of the first tab, under a heading. Stuck jobs stand above them already.
func (d *dashboard) attentionRows() (rows []row) {
	acknowledged := 0
	for _, f := range d.findings {
		fields := append(
			[]string{f.Kind, f.Name, string(f.Reason), f.Summary, f.Severity.String(), f.cluster.Context},
			f.Affects...)
		if f.IsStuckJob() || !d.active.filter.matches(fields...) {
			continue
		}
		if f.acknowledged {
			acknowledged++
		}
		r := row{key: f.cluster.key("attention " + f.Key()), cluster: f.cluster, item: &f, finding: &f}
		if j := f.cluster.assessed.Find(f.UID); j != nil && j.Terminal() {
			r.key, r.item = f.cluster.key(string(f.UID)), j
		}
		rows = append(rows, r)
	}
	if len(rows) == 0 {
		return nil
	}
	heading := "needs attention"
	if acknowledged > 0 {
		heading += fmt.Sprintf(", %d acknowledged", acknowledged)
	}
	return append([]row{{heading: heading}}, rows...)
}

// without leaves out the jobs that are among those rows.
func without(jobs []clusterJob, rows []row) []clusterJob {
	listed := map[string]bool{}
	for _, r := range rows {
		listed[r.key] = true
	}
	return slices.DeleteFunc(
		slices.Clone(jobs),
		func(j clusterJob) bool { return listed[j.cluster.key(string(j.UID))] },
	)
}

// look returns the sign of a finding, and the styles of its name and its text.
func (f *clusterFinding) look(c draw.Canvas) (sign string, name, text lipgloss.Style) {
	if f.acknowledged {
		return c.Theme.Dim.Render(c.Glyphs.Ahead), c.Theme.Dim, c.Theme.Dim
	}
	return severityStyle(c, f.Severity).Render(c.Glyphs.Attention), c.Theme.Strong, c.Theme.Text
}

// alarmed puts the sign of a finding onto the drawn row of a job.
func (d *dashboard) alarmed(c draw.Canvas, r row, line string, selected bool) string {
	sign, _, text := r.finding.look(c)
	rest := ansi.Cut(line, markCell, lipgloss.Width(line))
	if r.finding.acknowledged {
		rest = text.Render(ansi.Strip(rest))
	}
	return pointer(c, selected) + sign + rest
}

const widestRef = 36

// findingRow draws what it is about, the summary and the age.
func (d *dashboard) findingRow(c draw.Canvas, r row, selected bool) string {
	f := r.finding
	widest := 0
	for _, other := range d.active.rows {
		if of, ok := other.item.(*clusterFinding); ok {
			widest = max(widest, len(d.inCluster(other)+of.Ref()))
		}
	}
	ref := min(widest, widestRef, c.Width*2/5)
	columns := []view.ScreenColumn{{Width: 2}, {Width: ref + 1}, {Width: 1, Grow: 1}, {Width: 6, Right: true}}
	if c.Width < 100 {
		columns = columns[:3]
	}
	sign, name, text := f.look(c)
	widths := view.FitColumns(columns, c.Width)
	cells := []string{
		c.Fit(pointer(c, selected)+sign, 2),
		c.Cell(name, c.CutMiddle(d.inCluster(r)+f.Kind+" "+f.Name, ref), widths[1], false),
		c.Cell(
			text,
			c.Cut(f.Summary+consequence(f.Finding), widths[2]),
			widths[2],
			false,
		),
		c.Cell(text, human.Age(f.Since, c.Now), 6, true),
	}
	return draw.JoinCells(cells[:len(widths)], widths)
}

func consequence(f *assess.Finding) string {
	return human.Clause(". Affects ", human.List(f.Affects, 3))
}

// aboutFinding is the whole text about a finding.
func (d *dashboard) aboutFinding(c draw.Canvas, f *clusterFinding) string {
	text := f.Ref() + " (" + f.Severity.String() + ", " + string(
		f.Reason,
	) + human.Clause(
		", since ",
		human.Clock(f.Since, c.Now),
	) + "): " + f.Summary + consequence(
		f.Finding,
	) + "."
	if f.acknowledged {
		text += " Acknowledged until it changes; " + d.m.options.Keys.Key("acknowledge") + " takes that back."
	}
	return text
}

// key is that of the row of what a finding is about.
func (f *clusterFinding) key() string {
	return f.cluster.key(cmp.Or(string(f.UID), string(f.In)+"/"+f.Name))
}

// selectedFinding is that of the selected row, whatever the tab; nil if there is none.
func (d *dashboard) selectedFinding() *clusterFinding {
	r, _ := d.tab.selected()
	return cmp.Or(r.finding, d.findingAbout[r.key])
}

func (d *dashboard) onFinding() bool {
	r, _ := d.tab.selected()
	return r.finding != nil
}

func (d *dashboard) acknowledge(string) tea.Cmd {
	f := d.selectedFinding()
	if f == nil {
		return nil
	}
	on := !f.acknowledged
	if d.m.notice = "No longer acknowledged: " + f.Ref() + "."; on {
		d.m.notice = "Acknowledged until it changes: " + f.Ref() + "."
	}
	return d.m.setAcknowledged(f.cluster, map[string]bool{f.Key(): on})
}

func (d *dashboard) acknowledgeUnavailable() string {
	if d.selectedFinding() == nil {
		return "nothing about the selected row needs attention"
	}
	return ""
}

// openFinding opens the page about a finding.
func (d *dashboard) openFinding(c *clusterState, f *assess.Finding) tea.Cmd {
	if c.assessed.Find(f.UID) != nil {
		return d.m.openJob(c, f.UID, jobview.Overview)
	}
	for _, t := range d.all {
		if t.other != nil && assess.Place(t.setting()) == f.In {
			return d.m.openOther(c, *t.other, cmp.Or(string(f.UID), string(f.In)+"/"+f.Name))
		}
	}
	return nil
}
