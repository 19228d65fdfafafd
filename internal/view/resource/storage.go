package resource

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/veltui/veltui/internal/assess"
	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/velero/veleroapi"
	"github.com/veltui/veltui/internal/view"
	"github.com/veltui/veltui/internal/view/describe"
	"github.com/veltui/veltui/internal/view/document"
	"github.com/veltui/veltui/watch"
)

// StorageTab lists locations, repositories of volume data, and malformed objects of other kinds.
func StorageTab() view.Tab {
	return view.Tab{
		Name: "Storage", Kinds: []string{watch.StorageLocations},
		Groups: func(a *assess.Assessment) []view.Group {
			held, repositories := locationKind.buildGroup(a), repositoryKind.buildGroup(a)
			repositories.Heading, repositories.Note = "repositories of volume data", describe.UncheckedText(
				a.Snapshot,
				watch.Repositories,
			)
			if len(repositories.Rows) > 0 {
				held.Note = cmp.Or(describe.UncheckedText(a.Snapshot, watch.StorageLocations), noLocationText(a.Snapshot))
			}
			return []view.Group{held, repositories, malformedGroup(a.Snapshot)}
		},
		EmptyText: noLocationText,
	}
}

func noLocationText(snap *watch.Snapshot) string {
	return "There is no backup storage location in namespace " + snap.Namespace + ": Velero cannot store anything."
}

func malformedGroup(snap *watch.Snapshot) view.Group {
	group := view.Group{
		Heading: "malformed resources of other kinds",
		Columns: []view.ScreenColumn{
			{Title: "RESOURCE", Width: 24, Grow: 2, Limit: 60},
			{Title: "FIELD", Width: 20, Grow: 3},
		},
	}
	if len(snap.Malformed) == 0 {
		return group
	}
	listed := map[types.UID]bool{}
	for _, j := range snap.Jobs {
		listed[j.UID] = true
	}
	addListedUIDs(listed, snap.Schedules)
	addListedUIDs(listed, snap.StorageLocations)
	addListedUIDs(listed, snap.Repositories)
	addListedUIDs(listed, snap.DeleteRequests)
	for i := range snap.Malformed {
		m := &snap.Malformed[i]
		if listed[m.UID] {
			continue
		}
		group.Rows = append(group.Rows, view.Row{
			Key: string(m.UID), FilterWords: []string{m.Name, m.Kind, m.Fields[0].Field}, Malformed: m,
			Cells: func(time.Time) []view.Text { return []view.Text{{Text: m.Ref()}} },
			Page: func() view.Page {
				return view.Page{
					Kind:  m.Kind,
					Name:  m.Name,
					State: view.Toned(view.Bad, "malformed"),
					Notes: noteTexts(nil, m),
				}
			},
		})
	}
	return group
}

func addListedUIDs[T metav1.Object](listed map[types.UID]bool, objects []T) {
	for _, o := range objects {
		listed[o.GetUID()] = true
	}
}

var locationKind = Kind{
	Kind:     "BackupStorageLocation",
	Aliases:  []string{"storage", "location", "locations", "backupstoragelocations", "backupstoragelocation", "bsl"},
	Resource: watch.StorageLocations,
	ExtraKinds: []string{
		watch.SnapshotLocations,
	},
	NeededKinds:  []string{watch.Backups, watch.Repositories},
	Columns:      locationColumns,
	JudgeEntries: func(a *assess.Assessment) []Entry { return slices.Concat(listLocations(a), listSnapshotLocations(a)) },
}

// snapshotLocationKind are the snapshot locations alone; the list of storage includes them too.
var snapshotLocationKind = Kind{
	Kind: "VolumeSnapshotLocation",
	Aliases: []string{
		"snapshotlocations",
		"snapshotlocation",
		"volumesnapshotlocations",
		"volumesnapshotlocation",
		"vsl",
	},
	Resource:     watch.SnapshotLocations,
	NeededKinds:  []string{watch.Backups},
	Columns:      locationColumns,
	JudgeEntries: listSnapshotLocations,
}

var locationColumns = []view.Column{
	{Name: "location", Screen: view.ScreenColumn{Title: "LOCATION", Width: 18, Grow: 1, Limit: 40}, ScreenOnly: true},
	{Name: "state", Screen: view.ScreenColumn{Title: "STATE", Width: 11}},
	{Name: "bucket", Priority: 3, Screen: view.ScreenColumn{Title: "BUCKET", Width: 18, Grow: 2, Limit: 60}},
	{Name: "mode", Priority: 4, Screen: view.ScreenColumn{Title: "MODE", Width: 9}},
	{Name: "backups", Priority: 1, Screen: view.ScreenColumn{Title: "BACKUPS", Width: 7, Right: true}},
	{Name: "checked", Priority: 2, Screen: view.ScreenColumn{Title: "CHECKED", Width: 7, Right: true}},
	{Name: "synced", Priority: 5, Screen: view.ScreenColumn{Title: "SYNCED", Width: 7, Right: true}},
	{Name: "default", Wide: true},
}

func listLocations(a *assess.Assessment) []Entry {
	return newEntries(a, a.JudgeLocations(), func(l assess.Location, _ bool) Entry {
		return Entry{
			Object: l.BackupStorageLocation,
			Notes:  l.Notes,
			filterWords: []string{
				l.Name,
				l.BucketPath(),
				string(l.Status.Phase),
				"location",
			},
			summary:       l.Name + " is Available" + heldBackupsText(a, l) + ".",
			pageHead:      view.Page{Kind: "storage location", Name: l.Name, State: locationState(l)},
			Cells:         func(now time.Time) []view.Cell { return locationCells(l, a.IsUnchecked(watch.Backups), now) },
			Document:      func() document.Placed { return document.NewStorageLocation(l, a) },
			Describe:      func() []describe.Section { return describe.Location(l, a) },
			buildSections: func() []view.PageSection { return locationSections(a, l) },
		}
	})
}

func listSnapshotLocations(a *assess.Assessment) []Entry {
	return newEntries(a, a.SnapshotLocations(), func(l assess.SnapshotLocation, _ bool) Entry {
		return Entry{
			Kind: "VolumeSnapshotLocation", Object: l.VolumeSnapshotLocation,
			Cells: func(time.Time) []view.Cell {
				return []view.Cell{
					view.TextCell(view.Plain, l.Name),
					view.TextCell(view.Plain, string(l.Status.Phase)),
					view.TextCell(view.Plain, l.Spec.Provider),
					view.TextCell(view.Dim, "snapshots"),
					view.NumberCell(view.Plain, l.Backups, fmt.Sprint(l.Backups)),
					{},
					{},
					{},
				}
			},
			Document: func() document.Placed { return document.NewSnapshotLocation(l, a) },
			Describe: func() []describe.Section { return describe.SnapshotLocation(l, a) },
		}
	})
}

func locationState(l assess.Location) view.Text {
	style := view.Bad
	if l.Status.Phase == veleroapi.BackupStorageLocationPhaseAvailable {
		style = view.Good
	}
	return view.Toned(style, l.State())
}

func locationCells(l assess.Location, unseen bool, now time.Time) []view.Cell {
	name, backups, isDefault := l.Name, fmt.Sprint(l.Backups), ""
	if unseen {
		backups = "?"
	}
	if l.Spec.Default {
		name, isDefault = l.Name+" (default)", "yes"
	}
	return []view.Cell{
		view.TextCell(
			view.Plain,
			name,
		),
		view.StateCell(locationState(l)),
		view.TextCell(view.Plain, l.BucketPath()),
		view.TextCell(view.Dim, l.Mode()),
		view.NumberCell(view.Plain, l.Backups, backups),
		view.AgeCell(
			view.Plain,
			job.TimeOrZero(l.Status.LastValidationTime),
			now,
			"never",
		),
		view.AgeCell(view.Dim, job.TimeOrZero(l.Status.LastSyncedTime), now, "never"),
		view.TextCell(view.Plain, isDefault),
	}
}

// locationSections returns the sections of describe, with the newest and the oldest backup.
func locationSections(a *assess.Assessment, l assess.Location) []view.PageSection {
	found := pageSections(describe.Location(l, a), locationState(l))
	held := &found[len(found)-1]
	if held.Lines = agedOutNote(l.AgedOutBackups); l.NewestBackup == nil {
		return found
	}
	held.Columns = []view.ScreenColumn{
		{Title: "", Width: 7},
		{Title: "BACKUP", Width: 24, Grow: 2, Limit: 63},
		{Title: "PHASE", Width: 15, Grow: 1, Limit: 24},
		{Title: "BEGAN", Width: 22, Priority: 1},
	}
	add := func(which string, j *job.Job) {
		held.Rows = append(held.Rows, view.TableRow{JobUID: j.UID, Cells: []view.Text{
			view.Toned(
				view.Dim,
				which,
			),
			{Text: j.Name},
			phaseText(j),
			{Text: human.ClockWithAge(j.BeganAt(), a.World.Now)},
		}})
	}
	add("newest", l.NewestBackup)
	if l.AgedOutBackups == 0 { // otherwise there are older ones
		add("oldest", l.OldestBackup)
	}
	return found
}

func heldBackupsText(a *assess.Assessment, l assess.Location) string {
	if a.IsUnchecked(watch.Backups) {
		return ""
	}
	return "; it holds " + human.Count(l.Backups, "backup")
}

var repositoryKind = Kind{
	Kind:        "BackupRepository",
	Aliases:     []string{"repositories", "repository", "repo", "repos", "backuprepositories", "backuprepository"},
	Resource:    watch.Repositories,
	NeededKinds: []string{watch.StorageLocations},
	Columns: []view.Column{
		{
			Name: "namespace", ScreenOnly: true,
			Screen: view.ScreenColumn{Title: "NAMESPACE", Width: 18, Grow: 1, Limit: 40},
		},
		{Name: "state", Screen: view.ScreenColumn{Title: "STATE", Width: 11}},
		{Name: "namespace", Priority: 3},
		{
			Name: "location", Priority: 4,
			Screen: view.ScreenColumn{Title: "LOCATION", Width: 15, Grow: 2, Limit: 60},
		},
		{Name: "type", Priority: 5, Screen: view.ScreenColumn{Title: "TYPE", Width: 9}},
		{
			Name: "failed", Priority: 1, ScreenOnly: true,
			Screen: view.ScreenColumn{Title: "FAILED", Width: 7, Right: true},
		},
		{
			Name: "maintained", Priority: 2,
			Screen: view.ScreenColumn{Title: "MAINTAINED", Width: 10, Right: true},
		},
		{Name: "due in", Priority: 6, Screen: view.ScreenColumn{Title: "DUE IN", Width: 7, Right: true}},
	},
	JudgeEntries: func(a *assess.Assessment) []Entry {
		return newEntries(a, a.JudgeRepositories(), func(r assess.Repository, malformed bool) Entry {
			return Entry{
				Object: r.BackupRepository,
				Notes:  r.Notes,
				filterWords: []string{
					r.Name,
					r.Spec.VolumeNamespace,
					r.Spec.BackupStorageLocation,
					string(r.Status.Phase),
					"repository",
				},
				summary: r.Name + " holds volume data of namespace " + r.Spec.VolumeNamespace +
					" in location " + r.Spec.BackupStorageLocation + ".",
				pageHead:      view.Page{Kind: "repository", Name: r.Name, State: repositoryState(r)},
				Cells:         func(now time.Time) []view.Cell { return repositoryCells(r, malformed, now) },
				Document:      func() document.Placed { return document.NewRepository(r, a) },
				Describe:      func() []describe.Section { return describe.Repository(r, a) },
				buildSections: func() []view.PageSection { return repositorySections(a, r) },
			}
		})
	},
}

var repositoryTones = map[veleroapi.BackupRepositoryPhase]view.Tone{
	veleroapi.BackupRepositoryPhaseReady: view.Good, veleroapi.BackupRepositoryPhaseNotReady: view.Bad,
}

func repositoryState(r assess.Repository) view.Text {
	return view.Toned(cmp.Or(repositoryTones[r.Status.Phase], view.Waiting), r.State())
}

func repositoryCells(r assess.Repository, malformed bool, now time.Time) []view.Cell {
	failed, failures := 0, view.Text{Text: "-"}
	for _, m := range r.Status.RecentMaintenance {
		if m.Result == veleroapi.BackupRepositoryMaintenanceFailed {
			failed++
			failures.Tone = view.Bad
		}
		failures.Text = fmt.Sprintf("%d of %d", failed, len(r.Status.RecentMaintenance))
	}
	name := r.Spec.VolumeNamespace
	if name == "" || malformed {
		name = r.Name // so that the resource itself can be found
	}
	return []view.Cell{
		view.TextCell(
			view.Plain,
			name,
		),
		view.StateCell(repositoryState(r)),
		view.TextCell(view.Plain, r.Spec.VolumeNamespace),
		view.TextCell(view.Plain, r.Spec.BackupStorageLocation),
		view.TextCell(view.Dim, r.Type()),
		{Text: failures},
		view.AgeCell(view.Plain, job.TimeOrZero(r.Status.LastMaintenanceTime), now, "never"),
		view.UntilCell(view.Dim, r.MaintenanceDue, now, ""),
	}
}

func repositorySections(a *assess.Assessment, r assess.Repository) []view.PageSection {
	now, found := a.World.Now, pageSections(describe.Repository(r, a), repositoryState(r))
	care := &found[len(found)-1]
	recent := slices.Clone(r.Status.RecentMaintenance)
	slices.Reverse(recent)
	if len(recent) > 0 {
		care.Columns = []view.ScreenColumn{
			{Title: "RESULT", Width: 10},
			{Title: "BEGAN", Width: 22},
			{Title: "TOOK", Width: 7, Right: true},
			{Title: "MESSAGE", Width: 20, Grow: 1, Priority: 1},
		}
	}
	for _, m := range recent {
		style, took := view.Good, ""
		if m.Result == veleroapi.BackupRepositoryMaintenanceFailed {
			style = view.Bad
		}
		began := job.TimeOrZero(m.StartTimestamp)
		if ended := job.TimeOrZero(m.CompleteTimestamp); !began.IsZero() && !ended.IsZero() {
			took = human.Duration(ended.Sub(began))
		}
		care.Rows = append(care.Rows, view.TableRow{Cells: []view.Text{
			view.Toned(
				style,
				cmp.Or(string(m.Result), "running"),
			),
			{Text: human.ClockWithAge(began, now)},
			{Text: took},
			view.Toned(style, m.Message),
		}})
	}
	care.Lines = []view.Text{view.Toned(view.Dim, "Velero keeps the last 3 results.")}
	return found
}
