package ui

import (
	"cmp"
	"slices"
	"strings"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/veltui/veltui/human"
	"github.com/veltui/veltui/ui/draw"
	"github.com/veltui/veltui/watch"
)

// otherRows are the rows of what is no job, by name. fields are what a filter
// looks at.
func otherRows[T metav1.Object](f filter, objects []T, malformed map[types.UID]*watch.Malformed, fields func(T) []string) []row {
	objects = slices.Clone(objects)
	slices.SortFunc(objects, func(a, b T) int { return strings.Compare(a.GetName(), b.GetName()) })
	var rows []row
	for _, o := range objects {
		if f.matches(fields(o)...) {
			rows = append(rows, row{key: string(o.GetUID()), item: o, malformed: malformed[o.GetUID()]})
		}
	}
	return rows
}

var scheduleColumns = []draw.Column{
	{Width: 2},
	{Title: "SCHEDULE", Width: 22, Grow: 2, Limit: 45},
	{Title: "CRON", Width: 18},
	{Title: "STATE", Width: 10},
	{Title: "LAST BACKUP", Width: 12, Priority: 1, Right: true},
	{Title: "TTL", Width: 6, Priority: 2, Right: true},
}

func scheduleFields(s *velerov1.Schedule) []string {
	return []string{s.Name, s.Spec.Schedule, scheduleState(s)}
}

func scheduleState(s *velerov1.Schedule) string {
	switch {
	case s.Spec.Paused:
		return "paused"
	case s.Status.Phase == velerov1.SchedulePhaseFailedValidation:
		return "not valid"
	}
	return string(s.Status.Phase)
}

func scheduleRow(c draw.Canvas, r row, widths []int, selected bool) string {
	s := r.item.(*velerov1.Schedule)
	if r.malformed != nil {
		return malformedRow(c, s.Name, r.malformed, widths, selected)
	}
	style := c.Theme.Good
	switch {
	case s.Spec.Paused:
		style = c.Theme.Waiting
	case s.Status.Phase == velerov1.SchedulePhaseFailedValidation:
		style = c.Theme.Bad
	}
	last := "never"
	if s.Status.LastBackup != nil {
		last = human.Ago(s.Status.LastBackup.Time, c.Now)
	}
	ttl := ""
	if d := s.Spec.Template.TTL.Duration; d > 0 {
		ttl = human.Duration(d)
	}
	return draw.JoinCells([]string{
		c.Fit(pointer(c, selected), widths[0]),
		c.Cell(c.Theme.Text, s.Name, widths[1], false),
		c.Cell(c.Theme.Text, s.Spec.Schedule, widths[2], false),
		c.Cell(style, scheduleState(s), widths[3], false),
		c.Cell(c.Theme.Text, last, widths[4], true),
		c.Cell(c.Theme.Dim, ttl, widths[5], true),
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

func locationFields(l *velerov1.BackupStorageLocation) []string {
	return []string{l.Name, bucket(l), string(l.Status.Phase)}
}

func bucket(l *velerov1.BackupStorageLocation) string {
	if l.Spec.ObjectStorage == nil {
		return ""
	}
	return strings.TrimSuffix(l.Spec.Provider+"/"+l.Spec.ObjectStorage.Bucket+"/"+l.Spec.ObjectStorage.Prefix, "/")
}

func locationRow(c draw.Canvas, r row, widths []int, selected bool) string {
	if m, ok := r.item.(*watch.Malformed); ok {
		return malformedRow(c, m.Ref(), m, widths, selected)
	}
	l := r.item.(*velerov1.BackupStorageLocation)
	if r.malformed != nil {
		return malformedRow(c, l.Name, r.malformed, widths, selected)
	}
	style := c.Theme.Good
	if l.Status.Phase != velerov1.BackupStorageLocationPhaseAvailable {
		style = c.Theme.Bad
	}
	checked := "never"
	if l.Status.LastValidationTime != nil {
		checked = human.Ago(l.Status.LastValidationTime.Time, c.Now)
	}
	name := l.Name
	if l.Spec.Default {
		name += " (default)"
	}
	return draw.JoinCells([]string{
		c.Fit(pointer(c, selected), widths[0]),
		c.Cell(c.Theme.Text, name, widths[1], false),
		c.Cell(style, cmp.Or(string(l.Status.Phase), "unknown"), widths[2], false),
		c.Cell(c.Theme.Text, bucket(l), widths[3], false),
		c.Cell(c.Theme.Dim, cmp.Or(string(l.Spec.AccessMode), "ReadWrite"), widths[4], false),
		c.Cell(c.Theme.Text, checked, widths[5], true),
	}, widths)
}

// aboutOther is the line about a selected row that is not a job.
func aboutOther(r row) string {
	if r.malformed != nil {
		return aboutMalformed(r.malformed)
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

// pointer is the sign of the selected row.
func pointer(c draw.Canvas, selected bool) string {
	if selected {
		return c.Theme.Accent.Render(c.Glyphs.Cursor)
	}
	return " "
}
