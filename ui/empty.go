package ui

import (
	"fmt"
	"slices"
	"strings"

	"github.com/veltui/veltui/watch"

	"github.com/veltui/veltui/human"
	"github.com/veltui/veltui/ui/draw"
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
	if why := d.unseen(snap); why != "" {
		return strings.TrimSpace(why + " " + snap.Notice)
	}
	if snap.Notice != "" {
		return snap.Notice
	}
	if !d.filter.empty() {
		return fmt.Sprintf("Nothing matches /%s. esc clears the filter.", d.filter.text)
	}
	switch d.tab {
	case tabActive:
		return "Nothing is running, queued or stuck, and nothing ended in the last hour."
	case tabRestores:
		return "There are no restores in namespace " + snap.Namespace + "."
	case tabBackups:
		return "There are no backups in namespace " + snap.Namespace + "."
	case tabSchedules:
		return "There are no schedules in namespace " + snap.Namespace + "."
	default:
		return "There is no backup storage location in namespace " + snap.Namespace + ": Velero cannot store anything."
	}
}

// shownKinds are the kinds that a tab shows.
var shownKinds = [tabCount][]string{
	tabActive:    {watch.Backups, watch.Restores},
	tabRestores:  {watch.Restores},
	tabBackups:   {watch.Backups},
	tabSchedules: {watch.Schedules},
	tabStorage:   {watch.Locations},
}

// unseen says why the kinds that the present tab shows are not known.
func (d *dashboard) unseen(snap *watch.Snapshot) string {
	for _, s := range snap.Sources {
		if !slices.Contains(shownKinds[d.tab], s.Resource) {
			continue
		}
		switch s.State {
		case watch.SourceForbidden:
			return fmt.Sprintf("You may not list %s in namespace %s. The role that veltui needs is in docs/rbac.md.", s.Resource, snap.Namespace)
		case watch.SourceMissing:
			return fmt.Sprintf("This cluster has no %s: Velero's CRDs are not installed. veltui keeps looking.", s.Resource)
		case watch.SourceSyncing:
			return "Reading " + s.Resource + " for the first time..."
		}
	}
	return ""
}

// seesJobs reports whether both kinds of job are known.
func seesJobs(snap *watch.Snapshot) bool {
	for _, s := range snap.Sources {
		if slices.Contains(shownKinds[tabActive], s.Resource) && (s.State == watch.SourceForbidden || s.State == watch.SourceMissing || s.State == watch.SourceSyncing) {
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
