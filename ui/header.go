package ui

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"charm.land/lipgloss/v2"

	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/velero"
	"github.com/veltui/veltui/internal/view/describe"
	"github.com/veltui/veltui/ui/draw"
	"github.com/veltui/veltui/watch"
)

// header is the first line of every screen. The server, its age and the counts of what goes well give way first.
func (m *Model) header(c draw.Canvas) string {
	if m.overview() {
		return m.headerOfSeveral(c)
	}
	at := m.focus()
	place := at.place()
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
		left, right = " ", joined("   ", health, m.countsText(c, v.calm, v.words, at))+" "
		if v.brand {
			left += c.Theme.Accent.Render("veltui") + "  "
		}
		place := place
		if !v.brand {
			place = c.CutMiddle(place, c.Width-lipgloss.Width(left+right)-1)
		}
		left += c.Theme.Strong.Render(place) + m.readOnlyText(c)
		if server := at.serverText(c, v.uptime); v.server && server != "" {
			left += "  " + c.Theme.Dim.Render(server)
		} else if v.calm && at.isNewer() {
			left += "  " + c.Theme.Dim.Render("newer velero")
		}
		if lipgloss.Width(left)+lipgloss.Width(right)+2 <= c.Width {
			break
		}
	}
	return c.Split(left, right)
}

func (m *Model) overview() bool { return len(m.clusters) > 1 && m.onDashboard() }

// headerOfSeveral names every cluster with its health; where narrow, those that are not live.
func (m *Model) headerOfSeveral(c draw.Canvas) string {
	live, all, unwell := 0, []string(nil), []string(nil)
	for _, of := range m.clusters {
		text := c.Theme.Strong.Render(of.Context) + " " + healthText(c.AtTime(of.now(m.options.Clock)), of)
		if all = append(all, text); of.health().State == watch.Live {
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
				return c.Split(left, right)
			}
		}
	}
	return c.Split(left, right)
}

func joined(by string, texts ...string) string {
	return strings.Join(slices.DeleteFunc(texts, func(s string) bool { return s == "" }), by)
}

func (m *Model) readOnlyText(c draw.Canvas) string {
	if !m.options.ReadOnly {
		return ""
	}
	return "  " + c.Theme.Waiting.Render("read-only")
}

func (c *clusterState) place() string {
	place := c.Context
	if c.assessed != nil && c.assessed.Snapshot.Namespace != "" {
		place += "/" + c.assessed.Snapshot.Namespace
		if n := len(c.assessed.Snapshot.OtherNamespaces); n > 0 {
			place += fmt.Sprintf(" (+%d)", n)
		}
	}
	return place
}

func (m *Model) placeText() string {
	if m.overview() {
		return fmt.Sprintf("%d clusters", len(m.clusters))
	}
	return m.focus().place()
}

func (c *clusterState) serverText(on draw.Canvas, uptime bool) string {
	if c.assessed == nil {
		return ""
	}
	s := c.assessed.Snapshot.Server
	switch {
	case !s.Visible:
		return ""
	case !s.Running && s.Waiting != "":
		return "velero " + s.Waiting
	case !s.Running:
		return "velero is not running"
	}
	text := strings.TrimSpace("velero " + s.Version)
	if c.isNewer() {
		text += " (newer than veltui knows)"
	}
	if uptime {
		text += " up " + human.Age(s.StartedAt, on.Now)
	}
	return text
}

// isNewer reports whether the server is newer than the versions whose rules veltui knows.
func (c *clusterState) isNewer() bool {
	return c.assessed != nil && velero.IsUnread(c.assessed.Snapshot.Server.Version)
}

func healthText(c draw.Canvas, of *clusterState) string {
	switch h := of.health(); {
	case of.ended != nil:
		return c.Theme.Bad.Render("cannot be used")
	case h.State == watch.Live && of.WriteFailure() != "":
		return c.Theme.Bad.Render("live, writes fail")
	case h.State == watch.Live:
		return c.Theme.Good.Render("live")
	case h.State == watch.Stale:
		// Since is in the cluster's clock, as all that is drawn of it.
		return c.Theme.Bad.Render("stale " + human.Age(h.Since, c.Now))
	case h.State == watch.Unauthorized && h.AsksLogin:
		return c.Theme.Bad.Render("login expired, quit and start veltui again")
	case h.State == watch.Unauthorized:
		return c.Theme.Bad.Render("credentials expired, press " + of.sources.Keys.Key("reconnect"))
	case h.Err != "":
		return c.Theme.Waiting.Render("no connection")
	case of.assessed != nil && of.assessed.Environment.Reading.Kind != "":
		return c.Theme.Waiting.Render(of.assessed.Environment.Reading.String())
	}
	return c.Theme.Waiting.Render("connecting")
}

// countsText counts the jobs in trouble and, with calm, those that run and wait; without words, other
// findings as a number.
func (m *Model) countsText(c draw.Canvas, calm, words bool, clusters ...*clusterState) string {
	n, idle := countJobs(clusters), len(known(clusters)) == len(clusters)
	for _, of := range known(clusters) {
		snap := of.assessed.Snapshot
		idle = idle && len(snap.Active) == 0 && snap.Health.State != watch.Connecting &&
			describe.Unseen(snap, watch.Backups, watch.Restores) == ""
	}
	attention := m.dashboard.attentionText(c, "", !words, clusters...)
	if idle && calm {
		return joined("  ", c.Theme.Dim.Render("idle"), attention)
	}
	count := func(style lipgloss.Style, text string) string { // an empty text in a style is not empty
		if text == "" {
			return ""
		}
		return style.Render(text)
	}
	stuck := count(c.Theme.Bad, n.stuck)
	if !calm {
		return joined("  ", stuck, attention)
	}
	return joined("  ", count(c.Theme.Running, n.running), count(c.Theme.Waiting, n.queued), stuck, attention)
}

// jobCounts are words such as 2 stuck, each empty for none.
type jobCounts struct{ stuck, running, queued string }

func countJobs(clusters []*clusterState) jobCounts {
	stuck, running, queued := 0, 0, 0
	for _, c := range known(clusters) {
		stuck, running, queued = stuck+c.assessed.Troubled, running+c.assessed.Running, queued+c.assessed.Queued
	}
	count := func(n int, what string) string {
		if n == 0 {
			return ""
		}
		return fmt.Sprintf("%d %s", n, what)
	}
	return jobCounts{count(stuck, "stuck"), count(running, "running"), count(queued, "queued")}
}

// emptyTexts say why a table has no rows, each cluster's reason on its own.
func (d *dashboard) emptyTexts() []string {
	var texts []string
	for _, c := range d.m.clusters {
		texts = append(texts, d.emptyText(c))
	}
	if len(slices.Compact(slices.Clone(texts))) == 1 {
		return texts[:1]
	}
	for i, c := range d.m.clusters {
		texts[i] = c.Context + ": " + texts[i]
	}
	return texts
}

func (d *dashboard) emptyText(c *clusterState) string {
	if health := c.health(); health.State == watch.Connecting || c.assessed == nil {
		how := health.Err
		if c.assessed != nil && c.assessed.Environment.Reading.Kind != "" {
			how = c.assessed.Environment.Reading.String()
		}
		return "Connecting to the cluster" + cmp.Or(human.Clause(": ", how), "...")
	}
	snap := c.assessed.Snapshot
	if why := describe.Unseen(snap, d.tab.kinds...); why != "" {
		return strings.TrimSpace(why + " " + snap.Notice)
	}
	if snap.Notice != "" {
		return snap.Notice
	}
	if f := d.tab.filter; !f.empty() {
		return fmt.Sprintf(
			"Nothing matches /%s, which hides %s. %s clears the filter.",
			f.text,
			human.Count(d.tab.count, "row"),
			d.m.options.Keys.Key("clear"),
		)
	}
	if left := d.leftOut(d.tab); left > 0 {
		return human.Count(left, "job") + " ended too long ago to be shown (--ended-within)."
	}
	switch d.tab {
	case d.active:
		if snap.LeftBackups+snap.LeftRestores > 0 {
			return "Nothing is running, queued or stuck, and no shown job ended in the last hour (--ended-within)."
		}
		return "Nothing is running, queued or stuck, and nothing ended in the last hour."
	case d.restores:
		return "There are no restores in namespace " + snap.Namespace + "."
	case d.backups:
		return "There are no backups in namespace " + snap.Namespace + "."
	}
	return d.tab.other.Empty(snap)
}

// trouble is what is wrong with the first cluster that has something.
func (d *dashboard) trouble(c draw.Canvas) string {
	for _, of := range d.m.clusters {
		text := troubleOf(c, of)
		switch {
		case lipgloss.Width(text) == 0:
		case d.several():
			return c.Theme.Strong.Render(of.Context+":") + " " + text
		default:
			return text
		}
	}
	return ""
}

func troubleOf(c draw.Canvas, of *clusterState) string {
	h := of.health()
	switch {
	case of.ended != nil:
		return c.Theme.Bad.Render(h.Err)
	case of.assessed == nil:
		return ""
	}
	snap := of.assessed.Snapshot
	switch {
	case h.State == watch.Stale && h.RetryAt.After(c.Now):
		return c.Theme.Bad.Render(fmt.Sprintf("%s; next try in %s", h.Err, human.Duration(h.RetryAt.Sub(c.Now))))
	case h.State == watch.Stale, h.State == watch.Unauthorized:
		return c.Theme.Bad.Render(h.Err)
	case snap.Notice != "":
		return c.Theme.Waiting.Render(snap.Notice)
	}
	left := c.Theme.Waiting.Render(missingSources(snap))
	if n := len(snap.Malformed); n > 0 {
		return strings.TrimSpace(c.Theme.Bad.Render(human.Count(n, "malformed resource")) + " " + left)
	}
	return left
}

func missingSources(snap *watch.Snapshot) string {
	names := map[watch.SourceState][]string{}
	for _, s := range snap.Sources {
		name, _, _ := strings.Cut(s.Resource, ".")
		names[s.State] = append(names[s.State], name)
	}
	var parts []string
	if forbidden := names[watch.SourceForbidden]; len(forbidden) > 0 {
		parts = append(parts, "not allowed to list "+human.List(forbidden, 2))
	}
	if missing := names[watch.SourceMissing]; len(missing) > 0 {
		parts = append(parts, "no CRD for "+human.List(missing, 2))
	}
	return strings.Join(parts, "; ")
}
