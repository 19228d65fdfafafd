package ui

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"charm.land/lipgloss/v2"

	"github.com/veltui/veltui/internal/assess"
	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/velero"
	"github.com/veltui/veltui/internal/view"
	"github.com/veltui/veltui/internal/view/describe"
	"github.com/veltui/veltui/ui/draw"
	"github.com/veltui/veltui/watch"
)

// renderHeader draws the first line of every screen. In a narrow window it drops the server's age, the server and the
// counts of healthy jobs first.
func (m *Model) renderHeader(c draw.Canvas) string {
	if m.showsAllClusters() {
		return m.renderClustersHeader(c)
	}
	at := m.focusedCluster()
	place := at.contextText()
	health := healthText(c, at)
	var left, right string
	for _, v := range []struct {
		server, uptime, words, calm, brand bool
	}{
		{true, true, true, true, true},
		{true, false, true, true, true},
		{false, false, true, true, true},
		{false, false, false, true, true},
		{false, false, false, false, true},
		{},
	} {
		left, right = " ", joinNonEmpty("   ", health, m.countsText(c, v.calm, v.words, at))+" "
		if v.brand {
			left += c.Theme.Accent.Render("veltui") + "  "
		}
		place := place
		if !v.brand {
			place = c.TruncateMiddle(place, c.Width-lipgloss.Width(left+right)-1)
		}
		left += c.Theme.Strong.Render(place) + m.readOnlyText(c)
		if server := at.serverText(c, v.uptime); v.server && server != "" {
			left += "  " + c.Theme.Dim.Render(server)
		} else if v.calm && at.isServerNewer() {
			left += "  " + c.Theme.Dim.Render("newer velero")
		}
		if lipgloss.Width(left)+lipgloss.Width(right)+2 <= c.Width {
			break
		}
	}
	return c.AlignEnds(left, right)
}

func (m *Model) showsAllClusters() bool { return len(m.clusters) > 1 && m.isOnDashboard() }

// renderClustersHeader draws every cluster with its health; in a narrow window, only the clusters that are not live.
func (m *Model) renderClustersHeader(c draw.Canvas) string {
	live, all, unwell := 0, []string(nil), []string(nil)
	for _, of := range m.clusters {
		text := c.Theme.Strong.Render(of.Context) + " " + healthText(c.WithNow(of.clusterTime(m.options.Clock)), of)
		if all = append(all, text); of.currentHealth().State == watch.Live {
			live++
		} else {
			unwell = append(unwell, text)
		}
	}
	summary := fmt.Sprintf("%d clusters, %d live", len(m.clusters), live)
	texts := []string{strings.Join(all, "   ")}
	for n := len(unwell); n > 0; n-- {
		text := summary + ": " + strings.Join(unwell[:n], ", ")
		if rest := len(unwell) - n; rest > 0 {
			text += fmt.Sprintf(" (+%d)", rest)
		}
		texts = append(texts, text)
	}
	var left, right string
	for _, text := range append(texts, summary) {
		left = " " + c.Theme.Accent.Render("veltui") + "  " + text + m.readOnlyText(c)
		for _, calm := range []bool{true, false} {
			right = m.countsText(c, calm, calm, m.clusters...) + " "
			if lipgloss.Width(left+right)+2 <= c.Width {
				return c.AlignEnds(left, right)
			}
		}
	}
	return c.AlignEnds(left, right)
}

func joinNonEmpty(by string, texts ...string) string {
	return strings.Join(slices.DeleteFunc(texts, func(s string) bool { return s == "" }), by)
}

func (m *Model) readOnlyText(c draw.Canvas) string {
	if !m.options.ReadOnly {
		return ""
	}
	return "  " + c.Theme.Waiting.Render("read-only")
}

func (c *clusterState) contextText() string {
	place := c.Context
	if c.assessment != nil && c.assessment.Snapshot.Namespace != "" {
		place += "/" + c.assessment.Snapshot.Namespace
		if n := len(c.assessment.Snapshot.OtherNamespaces); n > 0 {
			place += fmt.Sprintf(" (+%d)", n)
		}
	}
	return place
}

func (m *Model) contextText() string {
	if m.showsAllClusters() {
		return fmt.Sprintf("%d clusters", len(m.clusters))
	}
	return m.focusedCluster().contextText()
}

func (c *clusterState) serverText(on draw.Canvas, uptime bool) string {
	if c.assessment == nil {
		return ""
	}
	s := c.assessment.Snapshot.Server
	switch {
	case !s.Visible:
		return ""
	case !s.Running && s.WaitingReason != "":
		return "velero " + s.WaitingReason
	case !s.Running:
		return "velero is not running"
	}
	text := strings.TrimSpace("velero " + s.Version)
	if c.isServerNewer() {
		text += " (newer than veltui knows)"
	}
	if uptime {
		text += " up " + human.Age(s.StartedAt, on.Now)
	}
	return text
}

// isServerNewer reports whether the server is newer than the versions whose rules veltui knows.
func (c *clusterState) isServerNewer() bool {
	return c.assessment != nil && velero.IsUnreviewedVersion(c.assessment.Snapshot.Server.Version)
}

func healthText(c draw.Canvas, of *clusterState) string {
	switch h := of.currentHealth(); {
	case of.watchErr != nil:
		return c.Theme.Bad.Render("cannot be used")
	case h.State == watch.Live && of.WriteFailure() != "":
		return c.Theme.Bad.Render("live, writes fail")
	case h.State == watch.Live:
		return c.Theme.Good.Render("live")
	case h.State == watch.Stale:
		// Since is in the cluster's clock, like all times that are drawn of a cluster.
		return c.Theme.Bad.Render("stale " + human.Age(h.Since, c.Now))
	case h.State == watch.Unauthorized && h.NeedsLogin:
		return c.Theme.Bad.Render("login expired, quit and start veltui again")
	case h.State == watch.Unauthorized:
		return c.Theme.Bad.Render("credentials expired, press " + of.jobDependencies.Keys.FirstKey("reconnect"))
	case h.Err != "":
		return c.Theme.Waiting.Render("no connection")
	case of.assessment != nil && of.assessment.World.ReadProgress.Kind != "":
		return c.Theme.Waiting.Render(of.assessment.World.ReadProgress.String())
	}
	return c.Theme.Waiting.Render("connecting")
}

// countsText counts the jobs in trouble and, with calm, the running and the queued jobs. Without words, it
// abbreviates the count of other findings.
func (m *Model) countsText(c draw.Canvas, calm, words bool, clusters ...*clusterState) string {
	n, idle := countJobs(clusters), len(knownClusters(clusters)) == len(clusters)
	for _, of := range knownClusters(clusters) {
		snap := of.assessment.Snapshot
		idle = idle && len(snap.Active) == 0 && snap.Health.State != watch.Connecting &&
			describe.UncheckedText(snap, watch.Backups, watch.Restores) == ""
	}
	attention := m.dashboard.attentionText(c, "", !words, clusters...)
	if idle && calm {
		return joinNonEmpty("  ", c.Theme.Dim.Render("idle"), attention)
	}
	count := func(style lipgloss.Style, text string) string { // an empty text in a style is not empty
		if text == "" {
			return ""
		}
		return style.Render(text)
	}
	stuck := count(c.Theme.Bad, n.Stuck)
	if !calm {
		return joinNonEmpty("  ", stuck, attention)
	}
	return joinNonEmpty("  ", count(c.Theme.Running, n.Running), count(c.Theme.Waiting, n.Queued), stuck, attention)
}

// countJobs counts the active jobs of the clusters that are known.
func countJobs(clusters []*clusterState) view.JobCounts {
	var assessed []*assess.Assessment
	for _, c := range knownClusters(clusters) {
		assessed = append(assessed, c.assessment)
	}
	return view.NewJobCounts(assessed...)
}

// emptyTableReasons returns why a table has no rows: one text, or one for each cluster if they differ.
func (d *dashboard) emptyTableReasons() []string {
	var texts []string
	for _, c := range d.model.clusters {
		texts = append(texts, d.emptyTableReason(c))
	}
	if len(slices.Compact(slices.Clone(texts))) == 1 {
		return texts[:1]
	}
	for i, c := range d.model.clusters {
		texts[i] = c.Context + ": " + texts[i]
	}
	return texts
}

func (d *dashboard) emptyTableReason(c *clusterState) string {
	if health := c.currentHealth(); health.State == watch.Connecting || c.assessment == nil {
		how := health.Err
		if c.assessment != nil && c.assessment.World.ReadProgress.Kind != "" {
			how = c.assessment.World.ReadProgress.String()
		}
		return "Connecting to the cluster" + cmp.Or(human.Prefixed(": ", how), "...")
	}
	snap := c.assessment.Snapshot
	if why := describe.UncheckedText(snap, d.openTab.kinds...); why != "" {
		return strings.TrimSpace(why + " " + snap.NamespaceNotice)
	}
	if snap.NamespaceNotice != "" {
		return snap.NamespaceNotice
	}
	if f := d.openTab.filter; !f.isEmpty() {
		return fmt.Sprintf(
			"Nothing matches /%s, which hides %s. %s clears the filter.",
			f.text,
			human.Count(d.openTab.rowCount, "row"),
			d.model.options.Keys.FirstKey("clear"),
		)
	}
	if left := d.countAgedOut(d.openTab); left > 0 {
		return human.Count(left, "job") + " ended too long ago to be shown (--ended-within)."
	}
	switch d.openTab {
	case d.activeTab:
		if snap.AgedOutBackups+snap.AgedOutRestores > 0 {
			return "Nothing is running, queued or stuck, and no shown job ended in the last hour (--ended-within)."
		}
		return "Nothing is running, queued or stuck, and nothing ended in the last hour."
	case d.restoresTab:
		return "There are no restores in namespace " + snap.Namespace + "."
	case d.backupsTab:
		return "There are no backups in namespace " + snap.Namespace + "."
	}
	return d.openTab.resourceTab.EmptyText(snap)
}

// renderConnectionProblem returns what is wrong with the first cluster in trouble.
func (d *dashboard) renderConnectionProblem(c draw.Canvas) string {
	for _, of := range d.model.clusters {
		text := renderClusterProblem(c, of)
		switch {
		case lipgloss.Width(text) == 0:
		case d.hasSeveralClusters():
			return c.Theme.Strong.Render(of.Context+":") + " " + text
		default:
			return text
		}
	}
	return ""
}

func renderClusterProblem(c draw.Canvas, of *clusterState) string {
	h := of.currentHealth()
	switch {
	case of.watchErr != nil:
		return c.Theme.Bad.Render(h.Err)
	case of.assessment == nil:
		return ""
	}
	snap := of.assessment.Snapshot
	switch {
	case h.State == watch.Stale && h.RetryAt.After(c.Now):
		return c.Theme.Bad.Render(fmt.Sprintf("%s; next try in %s", h.Err, human.Duration(h.RetryAt.Sub(c.Now))))
	case h.State == watch.Stale, h.State == watch.Unauthorized:
		return c.Theme.Bad.Render(h.Err)
	case snap.NamespaceNotice != "":
		return c.Theme.Waiting.Render(snap.NamespaceNotice)
	}
	left := c.Theme.Waiting.Render(missingSourcesText(snap))
	if n := len(snap.Malformed); n > 0 {
		return strings.TrimSpace(c.Theme.Bad.Render(human.Count(n, "malformed resource")) + " " + left)
	}
	return left
}

func missingSourcesText(snap *watch.Snapshot) string {
	names := map[watch.SourceState][]string{}
	for _, s := range snap.Sources {
		name, _, _ := strings.Cut(s.Resource, ".")
		names[s.State] = append(names[s.State], name)
	}
	var parts []string
	if forbidden := names[watch.SourceForbidden]; len(forbidden) > 0 {
		parts = append(parts, "not allowed to list "+human.JoinNames(forbidden, 2))
	}
	if missing := names[watch.SourceMissing]; len(missing) > 0 {
		parts = append(parts, "no CRD for "+human.JoinNames(missing, 2))
	}
	return strings.Join(parts, "; ")
}
