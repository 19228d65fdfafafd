package ui

import (
	"fmt"
	"strings"

	"github.com/veltui/veltui/human"
	"github.com/veltui/veltui/ui/detail"
	"github.com/veltui/veltui/ui/draw"
	"github.com/veltui/veltui/watch"
)

// emptyText says why a table has no rows: nothing is known yet, nothing may be
// known, the filter hides all, or there really is nothing.
func (d *dashboard) emptyText() string {
	if d.assessed == nil {
		return connectingText("")
	}
	snap := d.assessed.Snapshot
	if snap.Health.State == watch.Connecting {
		return connectingText(snap.Health.Err)
	}
	if why := detail.Unseen(snap, d.tab.kinds...); why != "" {
		return strings.TrimSpace(why + " " + snap.Notice)
	}
	if snap.Notice != "" {
		return snap.Notice
	}
	if !d.filter.empty() {
		return fmt.Sprintf("Nothing matches /%s. esc clears the filter.", d.filter.text)
	}
	switch d.tab {
	case d.active:
		return "Nothing is running, queued or stuck, and nothing ended in the last hour."
	case d.restores:
		return "There are no restores in namespace " + snap.Namespace + "."
	case d.backups:
		return "There are no backups in namespace " + snap.Namespace + "."
	}
	return d.tab.other.Empty(snap)
}

// seesJobs reports whether both kinds of job are known.
func seesJobs(snap *watch.Snapshot) bool {
	for _, s := range snap.Sources {
		if (s.Resource == watch.Backups || s.Resource == watch.Restores) && (s.State == watch.SourceForbidden || s.State == watch.SourceMissing || s.State == watch.SourceSyncing) {
			return false
		}
	}
	return true
}

func connectingText(err string) string {
	if err == "" {
		return "Connecting to the cluster..."
	}
	return "Connecting to the cluster: " + err
}

// trouble is the most important thing that is wrong with what is shown.
func trouble(c draw.Canvas, snap *watch.Snapshot) string {
	h := snap.Health
	switch {
	case h.State == watch.Stale && h.RetryAt.After(c.Now):
		return c.Theme.Bad.Render(fmt.Sprintf("%s; next try in %s", h.Err, human.Duration(h.RetryAt.Sub(c.Now))))
	case h.State == watch.Stale:
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
	var forbidden, missing []string
	for _, s := range snap.Sources {
		name, _, _ := strings.Cut(s.Resource, ".")
		switch s.State {
		case watch.SourceForbidden:
			forbidden = append(forbidden, name)
		case watch.SourceMissing:
			missing = append(missing, name)
		}
	}
	var parts []string
	if len(forbidden) > 0 {
		parts = append(parts, "not allowed to list "+human.List(forbidden, 2))
	}
	if len(missing) > 0 {
		parts = append(parts, "no CRD for "+human.List(missing, 2))
	}
	return strings.Join(parts, "; ")
}
