package ui

import (
	"cmp"
	"slices"
	"strings"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/veltui/veltui/watch"
)

var scheduleColumns = []column{
	{width: 2},
	{title: "SCHEDULE", width: 22, grow: 2, limit: 45},
	{title: "CRON", width: 18},
	{title: "STATE", width: 10},
	{title: "LAST BACKUP", width: 12, priority: 1, right: true},
	{title: "KEPT", width: 6, priority: 2, right: true},
}

func (d *dashboard) scheduleRows(schedules []*velerov1.Schedule, malformed map[types.UID]*watch.Malformed) []row {
	schedules = slices.Clone(schedules)
	slices.SortFunc(schedules, func(a, b *velerov1.Schedule) int { return strings.Compare(a.Name, b.Name) })
	var rows []row
	for _, s := range schedules {
		if d.filter.matches(s.Name, s.Spec.Schedule, string(s.Status.Phase)) {
			rows = append(rows, row{key: string(s.UID), item: s, malformed: malformed[s.UID]})
		}
	}
	return rows
}

func (c canvas) scheduleRow(r row, widths []int, selected bool) string {
	s := r.item.(*velerov1.Schedule)
	if r.malformed != nil {
		return c.malformedRow(s.Name, r.malformed, widths, selected)
	}
	state, style := string(s.Status.Phase), c.theme.good
	switch {
	case s.Spec.Paused:
		state, style = "paused", c.theme.waiting
	case s.Status.Phase == velerov1.SchedulePhaseFailedValidation:
		state, style = "not valid", c.theme.bad
	}
	last := "never"
	if s.Status.LastBackup != nil {
		last = since(c.now, s.Status.LastBackup.Time) + " ago"
	}
	kept := ""
	if ttl := s.Spec.Template.TTL.Duration; ttl > 0 {
		kept = Duration(ttl)
	}
	return joinCells([]string{
		c.pointer(selected, widths[0]),
		c.named(s.Name, widths[1], selected),
		c.cell(c.theme.text, s.Spec.Schedule, widths[2], false),
		c.cell(style, state, widths[3], false),
		c.cell(c.theme.text, last, widths[4], true),
		c.cell(c.theme.dim, kept, widths[5], true),
	}, widths)
}

var locationColumns = []column{
	{width: 2},
	{title: "LOCATION", width: 18, grow: 1, limit: 40},
	{title: "STATE", width: 12},
	{title: "BUCKET", width: 20, grow: 1, limit: 50, priority: 1},
	{title: "MODE", width: 10, priority: 3},
	{title: "CHECKED", width: 12, priority: 2, right: true},
}

func (d *dashboard) locationRows(locations []*velerov1.BackupStorageLocation, malformed map[types.UID]*watch.Malformed) []row {
	locations = slices.Clone(locations)
	slices.SortFunc(locations, func(a, b *velerov1.BackupStorageLocation) int { return strings.Compare(a.Name, b.Name) })
	var rows []row
	for _, l := range locations {
		if d.filter.matches(l.Name, bucket(l), string(l.Status.Phase)) {
			rows = append(rows, row{key: string(l.UID), item: l, malformed: malformed[l.UID]})
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

func (c canvas) locationRow(r row, widths []int, selected bool) string {
	if m, ok := r.item.(*watch.Malformed); ok {
		return c.malformedRow(m.Ref(), m, widths, selected)
	}
	l := r.item.(*velerov1.BackupStorageLocation)
	if r.malformed != nil {
		return c.malformedRow(l.Name, r.malformed, widths, selected)
	}
	style := c.theme.good
	if l.Status.Phase != velerov1.BackupStorageLocationPhaseAvailable {
		style = c.theme.bad
	}
	checked := "never"
	if l.Status.LastValidationTime != nil {
		checked = since(c.now, l.Status.LastValidationTime.Time) + " ago"
	}
	name := l.Name
	if l.Spec.Default {
		name += " (default)"
	}
	return joinCells([]string{
		c.pointer(selected, widths[0]),
		c.named(name, widths[1], selected),
		c.cell(style, cmp.Or(string(l.Status.Phase), "unknown"), widths[2], false),
		c.cell(c.theme.text, bucket(l), widths[3], false),
		c.cell(c.theme.dim, cmp.Or(string(l.Spec.AccessMode), "ReadWrite"), widths[4], false),
		c.cell(c.theme.text, checked, widths[5], true),
	}, widths)
}

// explainOther is the line about a selected row that is not a job.
func explainOther(r row) string {
	if r.malformed != nil {
		return explainMalformed(r.malformed)
	}
	switch o := r.item.(type) {
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

func (c canvas) pointer(selected bool, width int) string {
	if selected {
		return c.fit(c.theme.accent.Render(c.glyphs.cursor), width)
	}
	return c.fit("", width)
}

func (c canvas) named(name string, width int, selected bool) string {
	if selected {
		return c.cell(c.theme.selected, name, width, false)
	}
	return c.cell(c.theme.text, name, width, false)
}
