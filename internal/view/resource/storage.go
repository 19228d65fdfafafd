package resource

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/veltui/veltui/internal/assess"
	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/view"
	"github.com/veltui/veltui/internal/view/describe"
	"github.com/veltui/veltui/internal/view/document"
	"github.com/veltui/veltui/watch"
)

// Storage lists locations, repositories of volume data, and malformed objects of other kinds.
func Storage() view.Tab {
	return view.Tab{
		Name: "Storage", Kinds: []string{watch.Locations},
		Groups: func(a *assess.Assessment) []view.Group {
			held, repositories := locationKind.group(a), repositoryKind.group(a)
			repositories.Heading, repositories.Note = "repositories of volume data", describe.Unseen(
				a.Snapshot,
				watch.Repositories,
			)
			if len(repositories.Rows) > 0 {
				held.Note = cmp.Or(describe.Unseen(a.Snapshot, watch.Locations), noLocation(a.Snapshot))
			}
			return []view.Group{held, repositories, malformedGroup(a.Snapshot)}
		},
		Empty: noLocation,
	}
}

func noLocation(snap *watch.Snapshot) string {
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
	list(listed, snap.Schedules)
	list(listed, snap.Locations)
	list(listed, snap.Repositories)
	list(listed, snap.Deletions)
	for i := range snap.Malformed {
		m := &snap.Malformed[i]
		if listed[m.UID] {
			continue
		}
		group.Rows = append(group.Rows, view.Row{
			Key: string(m.UID), Words: []string{m.Name, m.Kind, m.Fields[0].Field}, Malformed: m,
			Cells: func(time.Time) []view.Text { return []view.Text{{Text: m.Ref()}} },
			Page: func() view.Page {
				return view.Page{
					Kind:  m.Kind,
					Name:  m.Name,
					State: view.Toned(view.Bad, "malformed"),
					Notes: notes(nil, m),
				}
			},
		})
	}
	return group
}

func list[T metav1.Object](listed map[types.UID]bool, objects []T) {
	for _, o := range objects {
		listed[o.GetUID()] = true
	}
}

var locationKind = Kind{
	Kind:     "BackupStorageLocation",
	Words:    []string{"storage", "location", "locations", "backupstoragelocations", "backupstoragelocation", "bsl"},
	Resource: watch.Locations,
	Lists: []string{
		watch.SnapshotLocations,
	},
	Needs:   []string{watch.Backups, watch.Repositories},
	Columns: locationColumns,
	List:    func(a *assess.Assessment) []Thing { return slices.Concat(locations(a), snapshotLocations(a)) },
}

// snapshotLocationKind are those that the list of storage has, too, by themselves.
var snapshotLocationKind = Kind{
	Kind: "VolumeSnapshotLocation",
	Words: []string{
		"snapshotlocations",
		"snapshotlocation",
		"volumesnapshotlocations",
		"volumesnapshotlocation",
		"vsl",
	},
	Resource: watch.SnapshotLocations,
	Needs:    []string{watch.Backups},
	Columns:  locationColumns,
	List:     snapshotLocations,
}

var locationColumns = []view.Column{
	{Name: "location", Screen: view.ScreenColumn{Title: "LOCATION", Width: 18, Grow: 1, Limit: 40}, ScreenOnly: true},
	{Name: "state", Screen: view.ScreenColumn{Title: "STATE", Width: 11}},
	{Name: "bucket", Screen: view.ScreenColumn{Title: "BUCKET", Width: 18, Grow: 2, Limit: 60, Priority: 3}, Rank: 5},
	{Name: "mode", Screen: view.ScreenColumn{Title: "MODE", Width: 9, Priority: 4}, Rank: 4},
	{Name: "backups", Screen: view.ScreenColumn{Title: "BACKUPS", Width: 7, Priority: 1, Right: true}, Rank: 1},
	{Name: "checked", Screen: view.ScreenColumn{Title: "CHECKED", Width: 7, Priority: 2, Right: true}, Rank: 2},
	{Name: "synced", Screen: view.ScreenColumn{Title: "SYNCED", Width: 7, Priority: 5, Right: true}, Rank: 6},
	{Name: "default", Wide: true},
}

func locations(a *assess.Assessment) []Thing {
	return things(a, a.Locations(), func(l assess.Location, _ bool) Thing {
		return Thing{
			Object: l.BackupStorageLocation,
			Notes:  l.Notes,
			words: []string{
				l.Name,
				l.Bucket(),
				string(l.Status.Phase),
				"location",
			},
			about:    l.Name + " is Available" + backupsHeld(a, l) + ".",
			page:     view.Page{Kind: "storage location", Name: l.Name, State: locationState(l)},
			Cells:    func(now time.Time) []view.Cell { return locationCells(l, a.Unseen(watch.Backups), now) },
			Document: func() document.Placed { return document.NewStorageLocation(l, a) },
			Describe: func() []describe.Section { return describe.Location(l, a) },
			sections: func() []view.Section { return locationSections(a, l) },
		}
	})
}

func snapshotLocations(a *assess.Assessment) []Thing {
	return things(a, a.SnapshotLocations(), func(l assess.SnapshotLocation, _ bool) Thing {
		return Thing{
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
	if l.Status.Phase == velerov1.BackupStorageLocationPhaseAvailable {
		style = view.OK
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
		view.TextCell(view.Plain, l.Bucket()),
		view.TextCell(view.Dim, l.Mode()),
		view.NumberCell(view.Plain, l.Backups, backups),
		view.AgeCell(
			view.Plain,
			job.TimeOf(l.Status.LastValidationTime),
			now,
			"never",
		),
		view.AgeCell(view.Dim, job.TimeOf(l.Status.LastSyncedTime), now, "never"),
		view.TextCell(view.Plain, isDefault),
	}
}

// locationSections are those of describe, with the newest and the oldest backup.
func locationSections(a *assess.Assessment, l assess.Location) []view.Section {
	found := sections(describe.Location(l, a), locationState(l))
	held := &found[len(found)-1]
	if held.Lines = tooOld(l.Left); l.Newest == nil {
		return found
	}
	held.Columns = []view.ScreenColumn{
		{Title: "", Width: 7},
		{Title: "BACKUP", Width: 24, Grow: 2, Limit: 63},
		{Title: "PHASE", Width: 15, Grow: 1, Limit: 24},
		{Title: "BEGAN", Width: 22, Priority: 1},
	}
	add := func(which string, j *job.Job) {
		held.Rows = append(held.Rows, view.Cells{Job: j.UID, Cells: []view.Text{
			view.Toned(
				view.Dim,
				which,
			),
			{Text: j.Name},
			phaseText(j),
			{Text: human.Moment(j.Began(), a.Environment.Now)},
		}})
	}
	add("newest", l.Newest)
	if l.Left == 0 { // else there are older ones
		add("oldest", l.Oldest)
	}
	return found
}

func backupsHeld(a *assess.Assessment, l assess.Location) string {
	if a.Unseen(watch.Backups) {
		return ""
	}
	return "; it holds " + human.Count(l.Backups, "backup")
}

var repositoryKind = Kind{
	Kind:     "BackupRepository",
	Words:    []string{"repositories", "repository", "repo", "repos", "backuprepositories", "backuprepository"},
	Resource: watch.Repositories,
	Needs:    []string{watch.Locations},
	Columns: []view.Column{
		{
			Name: "namespace", ScreenOnly: true,
			Screen: view.ScreenColumn{Title: "NAMESPACE", Width: 18, Grow: 1, Limit: 40},
		},
		{Name: "state", Screen: view.ScreenColumn{Title: "STATE", Width: 11}},
		{Name: "namespace", Rank: 3},
		{
			Name: "location", Rank: 4,
			Screen: view.ScreenColumn{Title: "LOCATION", Width: 15, Grow: 2, Limit: 60, Priority: 3},
		},
		{Name: "type", Screen: view.ScreenColumn{Title: "TYPE", Width: 9, Priority: 4}, Rank: 6},
		{
			Name: "failed", ScreenOnly: true,
			Screen: view.ScreenColumn{Title: "FAILED", Width: 7, Priority: 1, Right: true},
		},
		{
			Name: "maintained", Rank: 1,
			Screen: view.ScreenColumn{Title: "MAINTAINED", Width: 10, Priority: 2, Right: true},
		},
		{Name: "due in", Screen: view.ScreenColumn{Title: "DUE IN", Width: 7, Priority: 5, Right: true}, Rank: 2},
	},
	List: func(a *assess.Assessment) []Thing {
		return things(a, a.Repositories(), func(r assess.Repository, malformed bool) Thing {
			return Thing{
				Object: r.BackupRepository,
				Notes:  r.Notes,
				words: []string{
					r.Name,
					r.Spec.VolumeNamespace,
					r.Spec.BackupStorageLocation,
					string(r.Status.Phase),
					"repository",
				},
				about: r.Name + " holds volume data of namespace " + r.Spec.VolumeNamespace +
					" in location " + r.Spec.BackupStorageLocation + ".",
				page:     view.Page{Kind: "repository", Name: r.Name, State: repositoryState(r)},
				Cells:    func(now time.Time) []view.Cell { return repositoryCells(r, malformed, now) },
				Document: func() document.Placed { return document.NewRepository(r, a) },
				Describe: func() []describe.Section { return describe.Repository(r, a) },
				sections: func() []view.Section { return repositorySections(a, r) },
			}
		})
	},
}

var repositoryStyles = map[velerov1.BackupRepositoryPhase]view.Tone{
	velerov1.BackupRepositoryPhaseReady: view.OK, velerov1.BackupRepositoryPhaseNotReady: view.Bad,
}

func repositoryState(r assess.Repository) view.Text {
	return view.Toned(cmp.Or(repositoryStyles[r.Status.Phase], view.Waiting), r.State())
}

func repositoryCells(r assess.Repository, malformed bool, now time.Time) []view.Cell {
	failed, failures := 0, view.Text{Text: "-"}
	for _, m := range r.Status.RecentMaintenance {
		if m.Result == velerov1.BackupRepositoryMaintenanceFailed {
			failed++
			failures.Tone = view.Bad
		}
		failures.Text = fmt.Sprintf("%d of %d", failed, len(r.Status.RecentMaintenance))
	}
	name := r.Spec.VolumeNamespace
	if name == "" || malformed {
		name = r.Name // the resource itself has to be found
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
		view.AgeCell(view.Plain, job.TimeOf(r.Status.LastMaintenanceTime), now, "never"),
		view.DueCell(view.Dim, r.Due, now, ""),
	}
}

func repositorySections(a *assess.Assessment, r assess.Repository) []view.Section {
	now, found := a.Environment.Now, sections(describe.Repository(r, a), repositoryState(r))
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
		style, took := view.OK, ""
		if m.Result == velerov1.BackupRepositoryMaintenanceFailed {
			style = view.Bad
		}
		began := job.TimeOf(m.StartTimestamp)
		if ended := job.TimeOf(m.CompleteTimestamp); !began.IsZero() && !ended.IsZero() {
			took = human.Duration(ended.Sub(began))
		}
		care.Rows = append(care.Rows, view.Cells{Cells: []view.Text{
			view.Toned(
				style,
				cmp.Or(string(m.Result), "running"),
			),
			{Text: human.Moment(began, now)},
			{Text: took},
			view.Toned(style, m.Message),
		}})
	}
	care.Lines = []view.Text{view.Toned(view.Dim, "Velero keeps the last 3 results.")}
	return found
}
