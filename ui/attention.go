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

// Acknowledgements remembers, on this machine only, which findings of a cluster a person has seen, by
// [assess.Finding.Key].
type Acknowledgements interface {
	LoadKeys(ctx context.Context) (map[string]bool, error)
	// Set adds and removes keys of findings about the Velero in a namespace.
	Set(ctx context.Context, namespace string, keys map[string]bool) error
}

// loadAcknowledgements reads which findings of a cluster were acknowledged before.
func (m *Model) loadAcknowledgements(of *clusterState) tea.Cmd {
	if of.Acknowledgements == nil {
		return nil
	}
	by := fetch.Requester{Start: of.jobDependencies.Start, Clock: m.options.Clock, OnAnswer: func() tea.Cmd {
		if err := of.ackAnswer.Err; err != nil && err.Error() != of.acknowledgedProblem {
			m.notice, of.acknowledgedProblem = err.Error(), err.Error()
		}
		maps.Copy(of.acknowledgedKeys, of.ackAnswer.Value)
		m.dashboard.rebuildRows()
		return nil
	}}
	return of.ackAnswer.FetchIfDue(by, 0, of.Acknowledgements.LoadKeys)
}

// saveAcknowledgements applies changed acknowledgements to a cluster, in memory and on disk.
func (m *Model) saveAcknowledgements(of *clusterState, keys map[string]bool) tea.Cmd {
	maps.Copy(of.acknowledgedKeys, keys)
	maps.DeleteFunc(of.acknowledgedKeys, func(_ string, on bool) bool { return !on })
	m.dashboard.rebuildRows()
	if of.Acknowledgements == nil {
		return nil
	}
	namespace := of.assessment.Snapshot.Namespace
	cmd, _ := m.startWork(func(ctx context.Context) tea.Msg {
		if err := of.Acknowledgements.Set(ctx, namespace, keys); err != nil {
			return jobview.NoticeMsg{Text: "veltui cannot keep what was acknowledged: " + err.Error()}
		}
		return nil
	})
	return cmd
}

// updateFindings computes the findings of a cluster, and drops the acknowledgements of findings that are over.
func (m *Model) updateFindings(c *clusterState) tea.Cmd {
	c.findings = c.assessment.ListFindings()
	if why := c.WriteFailure(); why != "" {
		c.findings = append(
			c.findings,
			assess.Finding{
				Severity:  assess.Critical,
				Reason:    assess.WritesFail,
				Kind:      "cluster",
				Name:      c.Context,
				Namespace: c.assessment.Snapshot.Namespace,
				Summary:   "The API server does not store what is written: " + why,
			},
		)
		assess.SortFindings(c.findings)
	}
	if !isFullyRead(c.assessment.Snapshot) || c.assessment.IsStale() || c.currentHealth().State != watch.Live {
		return nil
	}
	over := map[string]bool{}
	for key := range c.acknowledgedKeys {
		known := c.coverageReading.Result != nil || !assess.NeedsCoverage(key)
		if known && !slices.ContainsFunc(c.findings, func(f assess.Finding) bool { return f.Key() == key }) {
			over[key] = false
		}
	}
	if len(over) == 0 {
		return m.loadAcknowledgements(c) // again, if an earlier read failed
	}
	return m.saveAcknowledgements(c, over)
}

// clusterFinding is a finding of a cluster. An acknowledged finding is dimmed and not counted.
type clusterFinding struct {
	cluster *clusterState
	*assess.Finding
	acknowledged bool
}

// collectFindings lists the findings of some clusters, the worst first and the acknowledged ones last.
func collectFindings(clusters ...*clusterState) (found []clusterFinding) {
	for _, c := range knownClusters(clusters) {
		for i := range c.findings {
			found = append(found, clusterFinding{c, &c.findings[i], c.acknowledgedKeys[c.findings[i].Key()]})
		}
	}
	last := map[bool]int{true: 1}
	slices.SortStableFunc(found, func(a, b clusterFinding) int {
		return cmp.Or(last[a.acknowledged]-last[b.acknowledged], assess.CompareFindings(a.Finding, b.Finding))
	})
	return found
}

// countOpenFindings counts the unacknowledged findings of a tab, or of all tabs if in is empty. Over all tabs it
// leaves out stuck jobs, which the header counts separately, and what only a reading of coverage tells: the number must
// not depend on which tabs were opened.
func (d *dashboard) countOpenFindings(in string, clusters ...*clusterState) (n int, worst assess.Severity) {
	for _, f := range d.findings {
		if slices.Contains(clusters, f.cluster) && !f.acknowledged &&
			(in == "" && !f.IsStuckJob() && !assess.NeedsCoverage(f.Key()) || in != "" && string(f.Tab) == in) {
			n, worst = n+1, max(worst, f.Severity)
		}
	}
	return n, worst
}

func severityStyle(c draw.Canvas, s assess.Severity) lipgloss.Style {
	return c.Theme.ToneStyle(view.SeverityTone(s))
}

// attentionText returns the count of findings of a tab, or of all tabs for the header; the short form is like "!2".
func (d *dashboard) attentionText(c draw.Canvas, in string, short bool, clusters ...*clusterState) string {
	n, worst := d.countOpenFindings(in, clusters...)
	if n == 0 && in != "" {
		return ""
	}
	text := attentionCountText(n)
	if short && n > 0 {
		text = fmt.Sprintf("%s%d", c.Glyphs.Attention, n)
	}
	return severityStyle(c, worst).Render(text)
}

func attentionCountText(n int) string {
	if n == 0 {
		return ""
	}
	return human.CountForms(n, "needs attention", "need attention")
}

// buildAttentionRows returns the rows of findings on the first tab, under a heading, without stuck jobs: those are
// listed above.
func (d *dashboard) buildAttentionRows() (rows []tableRow) {
	acknowledged := 0
	for _, f := range d.findings {
		fields := append(
			[]string{f.Kind, f.Name, f.Reason.String(), f.Summary, f.Severity.String(), f.cluster.Context},
			f.Affects...)
		if f.IsStuckJob() || assess.NeedsCoverage(f.Key()) || !d.activeTab.filter.matchesFields(fields...) {
			continue
		}
		if f.acknowledged {
			acknowledged++
		}
		r := tableRow{key: f.cluster.rowKey("attention " + f.Key()), cluster: f.cluster, item: &f, finding: &f}
		if j := f.cluster.assessment.FindJob(f.UID); j != nil && j.IsTerminal() {
			r.key, r.item = f.cluster.rowKey(string(f.UID)), j
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
	return append([]tableRow{{heading: heading}}, rows...)
}

// excludeRows returns the jobs that have no row among rows.
func excludeRows(jobs []clusterJob, rows []tableRow) []clusterJob {
	listed := map[string]bool{}
	for _, r := range rows {
		listed[r.key] = true
	}
	return slices.DeleteFunc(
		slices.Clone(jobs),
		func(j clusterJob) bool { return listed[j.cluster.rowKey(string(j.UID))] },
	)
}

// signAndStyles returns the sign of a finding, and the styles of its name and its text.
func (f *clusterFinding) signAndStyles(c draw.Canvas) (sign string, name, text lipgloss.Style) {
	if f.acknowledged {
		return c.Theme.Dim.Render(c.Glyphs.Ahead), c.Theme.Dim, c.Theme.Dim
	}
	return severityStyle(c, f.Severity).Render(c.Glyphs.Attention), c.Theme.Strong, c.Theme.Text
}

// overlayFindingSign puts the sign of a finding onto the drawn row of a job.
func (d *dashboard) overlayFindingSign(c draw.Canvas, r tableRow, line string, selected bool) string {
	sign, _, text := r.finding.signAndStyles(c)
	rest := ansi.Cut(line, markOffset, lipgloss.Width(line))
	if r.finding.acknowledged {
		rest = text.Render(ansi.Strip(rest))
	}
	return renderCursor(c, selected) + sign + rest
}

const maxRefWidth = 36

// renderFindingRow draws the resource of a finding, the summary and the age.
func (d *dashboard) renderFindingRow(c draw.Canvas, r tableRow, selected bool) string {
	f := r.finding
	widest := 0
	for _, other := range d.activeTab.rows {
		if of, ok := other.item.(*clusterFinding); ok {
			widest = max(widest, len(d.clusterPrefix(other)+of.Ref()))
		}
	}
	ref := min(widest, maxRefWidth, c.Width*2/5)
	columns := []view.ScreenColumn{{Width: 2}, {Width: ref + 1}, {Width: 1, Grow: 1}, {Width: 6, Right: true}}
	if c.Width < 100 {
		columns = columns[:3]
	}
	sign, name, text := f.signAndStyles(c)
	widths := view.FitColumns(columns, c.Width)
	cells := []string{
		c.FitLeft(renderCursor(c, selected)+sign, 2),
		c.RenderCell(name, c.TruncateMiddle(d.clusterPrefix(r)+f.Kind+" "+f.Name, ref), widths[1], false),
		c.RenderCell(
			text,
			c.Truncate(view.FindingText(f.Finding), widths[2]),
			widths[2],
			false,
		),
		c.RenderCell(text, human.Age(f.Since, c.Now), 6, true),
	}
	return draw.JoinCells(cells[:len(widths)], widths)
}

// findingText returns the whole text about a finding.
func (d *dashboard) findingText(c draw.Canvas, f *clusterFinding) string {
	text := view.FindingSentence(f.Finding, c.Now)
	if f.acknowledged {
		text += " Acknowledged until it changes; " + d.model.options.Keys.FirstKey("acknowledge") + " takes that back."
	}
	return text
}

// rowKey returns the key of the row of the resource that the finding is about.
func (f *clusterFinding) rowKey() string {
	return f.cluster.rowKey(cmp.Or(string(f.UID), string(f.Tab)+"/"+f.Name))
}

// selectedFinding returns the finding of the selected row on any tab, nil if it has none.
func (d *dashboard) selectedFinding() *clusterFinding {
	r, _ := d.openTab.selectedRow()
	return cmp.Or(r.finding, d.findingByRow[r.key])
}

func (d *dashboard) isFindingSelected() bool {
	r, _ := d.openTab.selectedRow()
	return r.finding != nil
}

func (d *dashboard) toggleAcknowledged(string) tea.Cmd {
	f := d.selectedFinding()
	if f == nil {
		return nil
	}
	on := !f.acknowledged
	if d.model.notice = "No longer acknowledged: " + f.Ref() + "."; on {
		d.model.notice = "Acknowledged until it changes: " + f.Ref() + "."
	}
	return d.model.saveAcknowledgements(f.cluster, map[string]bool{f.Key(): on})
}

func (d *dashboard) acknowledgeUnavailable() string {
	if d.selectedFinding() == nil {
		return "nothing about the selected row needs attention"
	}
	return ""
}

// openFinding opens the page of the resource that the finding is about.
func (d *dashboard) openFinding(c *clusterState, f *assess.Finding) tea.Cmd {
	if c.assessment.FindJob(f.UID) != nil {
		return d.model.openJob(c, f.UID, jobview.Overview)
	}
	for _, t := range d.allTabs {
		if t.resourceTab != nil && assess.Tab(t.configName()) == f.Tab {
			return d.model.openResource(c, *t.resourceTab, cmp.Or(string(f.UID), string(f.Tab)+"/"+f.Name))
		}
	}
	return nil
}
