package ui

import (
	"cmp"
	"slices"
	"strings"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"

	"github.com/veltui/veltui/ui/draw"
)

var scheduleColumns = []draw.Column{
	{Width: 2},
	{Title: "SCHEDULE", Width: 22, Grow: 2, Limit: 45},
	{Title: "CRON", Width: 18},
	{Title: "STATE", Width: 10},
	{Title: "LAST BACKUP", Width: 12, Priority: 1, Right: true},
	{Title: "KEPT", Width: 6, Priority: 2, Right: true},
}

func (d *dashboard) scheduleRows(schedules []*velerov1.Schedule) []row {
	schedules = slices.Clone(schedules)
	slices.SortFunc(schedules, func(a, b *velerov1.Schedule) int { return strings.Compare(a.Name, b.Name) })
	var rows []row
	for _, s := range schedules {
		if d.filter.matches(s.Name, s.Spec.Schedule, string(s.Status.Phase)) {
			rows = append(rows, row{key: string(s.UID), item: s})
		}
	}
	return rows
}

func scheduleRow(c draw.Canvas, r row, widths []int, selected bool) string {
	s := r.item.(*velerov1.Schedule)
	state, style := string(s.Status.Phase), c.Theme.Good
	switch {
	case s.Spec.Paused:
		state, style = "paused", c.Theme.Waiting
	case s.Status.Phase == velerov1.SchedulePhaseFailedValidation:
		state, style = "not valid", c.Theme.Bad
	}
	last := "never"
	if s.Status.LastBackup != nil {
		last = since(c.Now, s.Status.LastBackup.Time) + " ago"
	}
	kept := ""
	if ttl := s.Spec.Template.TTL.Duration; ttl > 0 {
		kept = Duration(ttl)
	}
	return draw.JoinCells([]string{
		pointer(c, selected, widths[0]),
		named(c, s.Name, widths[1], selected),
		c.Cell(c.Theme.Text, s.Spec.Schedule, widths[2], false),
		c.Cell(style, state, widths[3], false),
		c.Cell(c.Theme.Text, last, widths[4], true),
		c.Cell(c.Theme.Dim, kept, widths[5], true),
	}, widths)
}

var locationColumns = []draw.Column{
	{Width: 2},
	{Title: "LOCATION", Width: 18, Grow: 1, Limit: 40},
	{Title: "STATE", Width: 12},
	{Title: "BUCKET", Width: 20, Grow: 1, Limit: 50, Priority: 1},
	{Title: "MODE", Width: 10, Priority: 3},
	{Title: "CHECKED", Width: 12, Priority: 2, Right: true},
}

func (d *dashboard) locationRows(locations []*velerov1.BackupStorageLocation) []row {
	locations = slices.Clone(locations)
	slices.SortFunc(locations, func(a, b *velerov1.BackupStorageLocation) int { return strings.Compare(a.Name, b.Name) })
	var rows []row
	for _, l := range locations {
		if d.filter.matches(l.Name, bucket(l), string(l.Status.Phase)) {
			rows = append(rows, row{key: string(l.UID), item: l})
		}
	}
	return rows
}

func bucket(l *velerov1.BackupStorageLocation) string {
	if l.Spec.ObjectStorage == nil {
		return ""
	}
	return strings.TrimSuffix(l.Spec.Provider+"/"+l.Spec.ObjectStorage.Bucket+"/"+l.Spec.ObjectStorage.Prefix, "/")
}

func locationRow(c draw.Canvas, r row, widths []int, selected bool) string {
	l := r.item.(*velerov1.BackupStorageLocation)
	style := c.Theme.Good
	if l.Status.Phase != velerov1.BackupStorageLocationPhaseAvailable {
		style = c.Theme.Bad
	}
	checked := "never"
	if l.Status.LastValidationTime != nil {
		checked = since(c.Now, l.Status.LastValidationTime.Time) + " ago"
	}
	name := l.Name
	if l.Spec.Default {
		name += " (default)"
	}
	return draw.JoinCells([]string{
		pointer(c, selected, widths[0]),
		named(c, name, widths[1], selected),
		c.Cell(style, cmp.Or(string(l.Status.Phase), "unknown"), widths[2], false),
		c.Cell(c.Theme.Text, bucket(l), widths[3], false),
		c.Cell(c.Theme.Dim, cmp.Or(string(l.Spec.AccessMode), "ReadWrite"), widths[4], false),
		c.Cell(c.Theme.Text, checked, widths[5], true),
	}, widths)
}

// explainOther is the line about a selected row that is not a job.
func explainOther(item any) string {
	switch o := item.(type) {
	case *velerov1.Schedule:
		if len(o.Status.ValidationErrors) > 0 {
			return o.Name + ": " + strings.Join(o.Status.ValidationErrors, "; ")
		}
		return o.Name + " backs up " + namespacesText(o.Spec.Template.IncludedNamespaces, o.Spec.Template.ExcludedNamespaces) + "."
	case *velerov1.BackupStorageLocation:
		if o.Status.Message != "" {
			return o.Name + ": " + o.Status.Message
		}
		return o.Name + " is " + strings.ToLower(cmp.Or(string(o.Status.Phase), "not checked yet")) + "."
	}
	return ""
}

func namespacesText(included, excluded []string) string {
	text := "all namespaces"
	if len(included) > 0 && !slices.Contains(included, "*") {
		text = "namespaces " + strings.Join(included, ", ")
	}
	if len(excluded) > 0 {
		text += " but " + strings.Join(excluded, ", ")
	}
	return text
}

func pointer(c draw.Canvas, selected bool, width int) string {
	if selected {
		return c.Fit(c.Theme.Accent.Render(c.Glyphs.Cursor), width)
	}
	return c.Fit("", width)
}

func named(c draw.Canvas, name string, width int, selected bool) string {
	if selected {
		return c.Cell(c.Theme.Selected, name, width, false)
	}
	return c.Cell(c.Theme.Text, name, width, false)
}
