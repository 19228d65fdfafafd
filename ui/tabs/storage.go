package tabs

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
	"github.com/veltui/veltui/internal/view/describe"
	"github.com/veltui/veltui/internal/view/document"
	"github.com/veltui/veltui/ui/detail"
	"github.com/veltui/veltui/ui/draw"
	"github.com/veltui/veltui/watch"
)

// Storage lists locations, repositories of volume data, and malformed objects of other kinds.
func Storage() detail.Tab {
	return detail.Tab{
		Name: "Storage", Kinds: []string{watch.Locations},
		Groups: func(a *assess.Assessment) []detail.Group {
			held, repositories := locationKind.group(a), repositoryKind.group(a)
			repositories.Heading, repositories.Note = "repositories of volume data", describe.Unseen(
				a.Snapshot,
				watch.Repositories,
			)
			if len(repositories.Rows) > 0 {
				held.Note = cmp.Or(describe.Unseen(a.Snapshot, watch.Locations), noLocation(a.Snapshot))
			}
			return []detail.Group{held, repositories, malformedGroup(a.Snapshot)}
		},
		Empty: noLocation,
	}
}

func noLocation(snap *watch.Snapshot) string {
	return "There is no backup storage location in namespace " + snap.Namespace + ": Velero cannot store anything."
}

func malformedGroup(snap *watch.Snapshot) detail.Group {
	group := detail.Group{
		Heading: "malformed resources of other kinds",
		Columns: []draw.Column{
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
		group.Rows = append(group.Rows, detail.Row{
			Key: string(m.UID), Words: []string{m.Name, m.Kind, m.Fields[0].Field}, Malformed: m,
			Cells: func(time.Time) []detail.Text { return []detail.Text{{Text: m.Ref()}} },
			Page: func() detail.Page {
				return detail.Page{
					Kind:  m.Kind,
					Name:  m.Name,
					State: detail.Styled(detail.Bad, "malformed"),
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

var locationColumns = []Column{
	{Column: draw.Column{Title: "LOCATION", Width: 18, Grow: 1, Limit: 40}},
	{Column: draw.Column{Title: "STATE", Width: 11}, Get: "STATE"},
	{Column: draw.Column{Title: "BUCKET", Width: 18, Grow: 2, Limit: 60, Priority: 3}, Get: "BUCKET", Rank: 5},
	{Column: draw.Column{Title: "MODE", Width: 9, Priority: 4}, Get: "MODE", Rank: 4},
	{Column: draw.Column{Title: "BACKUPS", Width: 7, Priority: 1, Right: true}, Get: "BACKUPS", Rank: 1},
	{Column: draw.Column{Title: "CHECKED", Width: 7, Priority: 2, Right: true}, Get: "CHECKED", Rank: 2},
	{Column: draw.Column{Title: "SYNCED", Width: 7, Priority: 5, Right: true}, Get: "SYNCED", Rank: 6},
	{Get: "DEFAULT", Wide: true},
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
			page:     detail.Page{Kind: "storage location", Name: l.Name, State: locationState(l)},
			Cells:    func(now time.Time) []Cell { return locationCells(l, a.Unseen(watch.Backups), now) },
			Document: func() document.Placed { return document.NewStorageLocation(l, a) },
			Describe: func() []describe.Section { return describe.Location(l, a) },
			sections: func() []detail.Section { return locationSections(a, l) },
		}
	})
}

func snapshotLocations(a *assess.Assessment) []Thing {
	return things(a, a.SnapshotLocations(), func(l assess.SnapshotLocation, _ bool) Thing {
		return Thing{
			Kind: "VolumeSnapshotLocation", Object: l.VolumeSnapshotLocation,
			Cells: func(time.Time) []Cell {
				return []Cell{
					text(detail.Plain, l.Name),
					text(detail.Plain, string(l.Status.Phase)),
					text(detail.Plain, l.Spec.Provider),
					text(detail.Dim, "snapshots"),
					number(detail.Plain, l.Backups, fmt.Sprint(l.Backups)),
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

func locationState(l assess.Location) detail.Text {
	style := detail.Bad
	if l.Status.Phase == velerov1.BackupStorageLocationPhaseAvailable {
		style = detail.Good
	}
	return detail.Styled(style, l.State())
}

func locationCells(l assess.Location, unseen bool, now time.Time) []Cell {
	name, backups, isDefault := l.Name, fmt.Sprint(l.Backups), ""
	if unseen {
		backups = "?"
	}
	if l.Spec.Default {
		name, isDefault = l.Name+" (default)", "yes"
	}
	return []Cell{
		text(
			detail.Plain,
			name,
		),
		stateCell(locationState(l)),
		text(detail.Plain, l.Bucket()),
		text(detail.Dim, l.Mode()),
		number(detail.Plain, l.Backups, backups),
		ago(
			detail.Plain,
			job.TimeOf(l.Status.LastValidationTime),
			now,
			"never",
		),
		ago(detail.Dim, job.TimeOf(l.Status.LastSyncedTime), now, "never"),
		text(detail.Plain, isDefault),
	}
}

// locationSections are those of describe, with the newest and the oldest backup.
func locationSections(a *assess.Assessment, l assess.Location) []detail.Section {
	found := sections(describe.Location(l, a), locationState(l))
	held := &found[len(found)-1]
	if held.Lines = tooOld(l.Left); l.Newest == nil {
		return found
	}
	held.Columns = []draw.Column{
		{Title: "", Width: 7},
		{Title: "BACKUP", Width: 24, Grow: 2, Limit: 63},
		{Title: "PHASE", Width: 15, Grow: 1, Limit: 24},
		{Title: "BEGAN", Width: 22, Priority: 1},
	}
	add := func(which string, j *job.Job) {
		held.Rows = append(held.Rows, detail.Cells{Job: j.UID, Cells: []detail.Text{
			detail.Styled(
				detail.Dim,
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
	Columns: []Column{
		{Column: draw.Column{Title: "NAMESPACE", Width: 18, Grow: 1, Limit: 40}},
		{Column: draw.Column{Title: "STATE", Width: 11}, Get: "STATE"},
		{Get: "NAMESPACE", Rank: 3},
		{Column: draw.Column{Title: "LOCATION", Width: 15, Grow: 2, Limit: 60, Priority: 3}, Get: "LOCATION", Rank: 4},
		{Column: draw.Column{Title: "TYPE", Width: 9, Priority: 4}, Get: "TYPE", Rank: 6},
		{Column: draw.Column{Title: "FAILED", Width: 7, Priority: 1, Right: true}},
		{Column: draw.Column{Title: "MAINTAINED", Width: 10, Priority: 2, Right: true}, Get: "MAINTAINED", Rank: 1},
		{Column: draw.Column{Title: "DUE IN", Width: 7, Priority: 5, Right: true}, Get: "DUE IN", Rank: 2},
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
				page:     detail.Page{Kind: "repository", Name: r.Name, State: repositoryState(r)},
				Cells:    func(now time.Time) []Cell { return repositoryCells(r, malformed, now) },
				Document: func() document.Placed { return document.NewRepository(r, a) },
				Describe: func() []describe.Section { return describe.Repository(r, a) },
				sections: func() []detail.Section { return repositorySections(a, r) },
			}
		})
	},
}

var repositoryStyles = map[velerov1.BackupRepositoryPhase]detail.Style{
	velerov1.BackupRepositoryPhaseReady: detail.Good, velerov1.BackupRepositoryPhaseNotReady: detail.Bad,
}

func repositoryState(r assess.Repository) detail.Text {
	return detail.Styled(cmp.Or(repositoryStyles[r.Status.Phase], detail.Waiting), r.State())
}

func repositoryCells(r assess.Repository, malformed bool, now time.Time) []Cell {
	failed, failures := 0, detail.Text{Text: "-"}
	for _, m := range r.Status.RecentMaintenance {
		if m.Result == velerov1.BackupRepositoryMaintenanceFailed {
			failed++
			failures.Style = detail.Bad
		}
		failures.Text = fmt.Sprintf("%d of %d", failed, len(r.Status.RecentMaintenance))
	}
	name := r.Spec.VolumeNamespace
	if name == "" || malformed {
		name = r.Name // the resource itself has to be found
	}
	return []Cell{
		text(
			detail.Plain,
			name,
		),
		stateCell(repositoryState(r)),
		text(detail.Plain, r.Spec.VolumeNamespace),
		text(detail.Plain, r.Spec.BackupStorageLocation),
		text(detail.Dim, r.Type()),
		{Text: failures},
		ago(detail.Plain, job.TimeOf(r.Status.LastMaintenanceTime), now, "never"),
		due(detail.Dim, r.Due, now, ""),
	}
}

func repositorySections(a *assess.Assessment, r assess.Repository) []detail.Section {
	now, found := a.Environment.Now, sections(describe.Repository(r, a), repositoryState(r))
	care := &found[len(found)-1]
	recent := slices.Clone(r.Status.RecentMaintenance)
	slices.Reverse(recent)
	if len(recent) > 0 {
		care.Columns = []draw.Column{
			{Title: "RESULT", Width: 10},
			{Title: "BEGAN", Width: 22},
			{Title: "TOOK", Width: 7, Right: true},
			{Title: "MESSAGE", Width: 20, Grow: 1, Priority: 1},
		}
	}
	for _, m := range recent {
		style, took := detail.Good, ""
		if m.Result == velerov1.BackupRepositoryMaintenanceFailed {
			style = detail.Bad
		}
		began := job.TimeOf(m.StartTimestamp)
		if ended := job.TimeOf(m.CompleteTimestamp); !began.IsZero() && !ended.IsZero() {
			took = human.Duration(ended.Sub(began))
		}
		care.Rows = append(care.Rows, detail.Cells{Cells: []detail.Text{
			detail.Styled(
				style,
				cmp.Or(string(m.Result), "running"),
			),
			{Text: human.Moment(began, now)},
			{Text: took},
			detail.Styled(style, m.Message),
		}})
	}
	care.Lines = []detail.Text{detail.Styled(detail.Dim, "Velero keeps the last 3 results.")}
	return found
}
