package ui

import (
	"fmt"
	"slices"
	"strings"

	"charm.land/lipgloss/v2"

	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/ui/detail"
	"github.com/veltui/veltui/ui/draw"
	"github.com/veltui/veltui/watch"
)

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

// emptyText says why there are no rows of a cluster.
func (d *dashboard) emptyText(c *cluster) string {
	if health := c.health(); health.State == watch.Connecting || c.assessed == nil {
		if c.assessed != nil && c.assessed.Environment.Reading.Kind != "" {
			return connectingText(c.assessed.Environment.Reading.String())
		}
		return connectingText(health.Err)
	}
	snap := c.assessed.Snapshot
	if why := detail.Unseen(snap, d.tab.kinds...); why != "" {
		return strings.TrimSpace(why + " " + snap.Notice)
	}
	if snap.Notice != "" {
		return snap.Notice
	}
	if !d.filter.empty() {
		return fmt.Sprintf("Nothing matches /%s. %s clears the filter.", d.filter.text, d.m.options.Keys.Key("clear"))
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

func connectingText(err string) string {
	if err == "" {
		return "Connecting to the cluster..."
	}
	return "Connecting to the cluster: " + err
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

func troubleOf(c draw.Canvas, of *cluster) string {
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

// missingSources names what is left out of the picture, and why.
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
