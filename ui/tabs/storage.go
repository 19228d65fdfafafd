package tabs

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/veltui/veltui/assess"
	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/job"
	"github.com/veltui/veltui/ui/detail"
	"github.com/veltui/veltui/ui/draw"
	"github.com/veltui/veltui/velero"
	"github.com/veltui/veltui/watch"
)

// Storage lists locations, repositories of volume data, and malformed objects of other kinds.
func Storage() detail.Tab {
	return detail.Tab{
		Name: "Storage", Kinds: []string{watch.Locations},
		Groups: func(a *assess.Assessment) []detail.Group {
			malformed := malformedByUID(a.Snapshot.Malformed)
			locations := detail.Group{Columns: locationColumns}
			for _, l := range a.Locations() {
				row := rowOf(l, l.Notes, malformed, l.Name+" is Available"+backupsHeld(a, l)+".", l.Name, bucket(l), string(l.Status.Phase), "location")
				row.Cells = func(now time.Time) []detail.Text { return locationCells(l, a.Unseen(watch.Backups), now) }
				row.Page = func() detail.Page { return locationPage(a, l, row.Malformed) }
				locations.Rows = append(locations.Rows, row)
			}
			repositories := detail.Group{Heading: "repositories of volume data", Columns: repositoryColumns, Note: detail.Unseen(a.Snapshot, watch.Repositories)}
			for _, r := range a.Repositories() {
				row := rowOf(r, r.Notes, malformed, r.Name+" holds volume data of namespace "+r.Spec.VolumeNamespace+" in location "+r.Spec.BackupStorageLocation+".",
					r.Name, r.Spec.VolumeNamespace, r.Spec.BackupStorageLocation, string(r.Status.Phase), "repository")
				row.Cells = func(now time.Time) []detail.Text { return repositoryCells(r, row.Malformed != nil, now) }
				row.Page = func() detail.Page { return repositoryPage(a, r, row.Malformed) }
				repositories.Rows = append(repositories.Rows, row)
			}
			if len(repositories.Rows) > 0 {
				locations.Note = cmp.Or(detail.Unseen(a.Snapshot, watch.Locations), noLocation(a.Snapshot))
			}
			return []detail.Group{locations, repositories, malformedGroup(a.Snapshot)}
		},
		Empty: noLocation,
	}
}

func noLocation(snap *watch.Snapshot) string {
	return "There is no backup storage location in namespace " + snap.Namespace + ": Velero cannot store anything."
}

func malformedGroup(snap *watch.Snapshot) detail.Group {
	group := detail.Group{Heading: "malformed resources of other kinds", Columns: []draw.Column{{Title: "RESOURCE", Width: 24, Grow: 2, Limit: 60}, {Title: "FIELD", Width: 20, Grow: 3}}}
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
				return detail.Page{Kind: m.Kind, Name: m.Name, State: detail.Styled(detail.Bad, "malformed"), Notes: notes(nil, m)}
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

var locationColumns = []draw.Column{
	{Title: "LOCATION", Width: 18, Grow: 1, Limit: 40},
	{Title: "STATE", Width: 11},
	{Title: "BUCKET", Width: 18, Grow: 2, Limit: 60, Priority: 3},
	{Title: "MODE", Width: 9, Priority: 4},
	{Title: "BACKUPS", Width: 7, Priority: 1, Right: true},
	{Title: "CHECKED", Width: 7, Priority: 2, Right: true},
	{Title: "SYNCED", Width: 7, Priority: 5, Right: true},
}

func bucket(l assess.Location) string {
	if l.Spec.ObjectStorage == nil {
		return ""
	}
	return strings.TrimSuffix(l.Spec.Provider+"/"+l.Spec.ObjectStorage.Bucket+"/"+l.Spec.ObjectStorage.Prefix, "/")
}

func locationState(l assess.Location) detail.Text {
	style := detail.Bad
	if l.Status.Phase == velerov1.BackupStorageLocationPhaseAvailable {
		style = detail.Good
	}
	return detail.Styled(style, cmp.Or(string(l.Status.Phase), "not checked"))
}

func mode(l assess.Location) string {
	return cmp.Or(string(l.Spec.AccessMode), string(velerov1.BackupStorageLocationAccessModeReadWrite))
}

func locationCells(l assess.Location, unseen bool, now time.Time) []detail.Text {
	backups := fmt.Sprint(l.Backups)
	if unseen {
		backups = "?"
	}
	name := l.Name
	if l.Spec.Default {
		name += " (default)"
	}
	return []detail.Text{
		{Text: name}, locationState(l), {Text: bucket(l)}, detail.Styled(detail.Dim, mode(l)), {Text: backups},
		{Text: cmp.Or(human.Age(job.TimeOf(l.Status.LastValidationTime), now), "never")},
		detail.Styled(detail.Dim, cmp.Or(human.Age(job.TimeOf(l.Status.LastSyncedTime), now), "never")),
	}
}

func locationPage(a *assess.Assessment, l assess.Location, malformed *watch.Malformed) detail.Page {
	now := a.Environment.Now
	page := detail.Page{Kind: "storage location", Name: l.Name, State: locationState(l), Notes: notes(l.Notes, malformed)}
	where := detail.Section{Title: "Where", Fields: []detail.Field{plain("provider", l.Spec.Provider)}}
	if o := l.Spec.ObjectStorage; o != nil {
		ca := ""
		switch {
		case o.CACertRef != nil:
			ca = "secret " + o.CACertRef.Name + ", key " + o.CACertRef.Key
		case len(o.CACert) > 0:
			ca = "in the location itself"
		}
		where.Fields = append(where.Fields, plain("bucket", o.Bucket), plain("prefix", cmp.Or(o.Prefix, "none")), plain("CA certificate", ca))
	}
	credential := "the server's own"
	if c := l.Spec.Credential; c != nil {
		credential = "secret " + c.Name + ", key " + c.Key
	}
	where.Fields = append(where.Fields, plain("credential", credential))
	for _, key := range slices.Sorted(maps.Keys(l.Spec.Config)) {
		where.Fields = append(where.Fields, plain(key, l.Spec.Config[key]))
	}
	state := detail.Section{Title: "State", Fields: []detail.Field{
		{Label: "phase", Text: page.State},
		plain("message", unlessNoted(l.Status.Message, l.Notes)),
		plain("access mode", mode(l)),
		plain("default", map[bool]string{true: "yes: for backups that name no location", false: "no"}[l.Spec.Default]),
		plain("last validated", moment(job.TimeOf(l.Status.LastValidationTime), now, "never")),
		plain("validated every", period(l.Spec.ValidationFrequency)),
		plain("last synced", moment(job.TimeOf(l.Status.LastSyncedTime), now, "never")),
		plain("synced every", period(l.Spec.BackupSyncPeriod)),
		plain("created", moment(l.CreationTimestamp.Time, now, "")),
	}}
	page.Sections = []detail.Section{state, where, heldSection(a, l, now)}
	return page
}

func backupsHeld(a *assess.Assessment, l assess.Location) string {
	if a.Unseen(watch.Backups) {
		return ""
	}
	return "; it holds " + human.Count(l.Backups, "backup")
}

func heldSection(a *assess.Assessment, l assess.Location, now time.Time) detail.Section {
	backups, repositories := fmt.Sprint(l.Backups), fmt.Sprint(l.Repositories)
	if l.Bad > 0 {
		backups += fmt.Sprintf(", %d of %s not Completed", l.Bad, map[bool]string{true: "those that are shown", false: "them"}[l.Left > 0])
	}
	section := detail.Section{Title: "What it holds", Lines: tooOld(l.Left), Fields: []detail.Field{
		plain("backups", cmp.Or(detail.Unseen(a.Snapshot, watch.Backups), backups)),
		plain("repositories", cmp.Or(detail.Unseen(a.Snapshot, watch.Repositories), repositories)),
	}}
	if l.Newest == nil {
		return section
	}
	section.Columns = []draw.Column{{Title: "", Width: 7}, {Title: "BACKUP", Width: 24, Grow: 2, Limit: 63}, {Title: "PHASE", Width: 15, Grow: 1, Limit: 24}, {Title: "BEGAN", Width: 22, Priority: 1}}
	add := func(which string, j *job.Job) {
		section.Rows = append(section.Rows, detail.Cells{Job: j.UID, Cells: []detail.Text{
			detail.Styled(detail.Dim, which), {Text: j.Name}, phaseText(j), {Text: moment(j.Began(), now, "")}}})
	}
	add("newest", l.Newest)
	if l.Left == 0 { // else there are older ones
		add("oldest", l.Oldest)
	}
	return section
}

var repositoryColumns = []draw.Column{
	{Title: "NAMESPACE", Width: 18, Grow: 1, Limit: 40},
	{Title: "STATE", Width: 11},
	{Title: "LOCATION", Width: 15, Grow: 2, Limit: 60, Priority: 3},
	{Title: "TYPE", Width: 9, Priority: 4},
	{Title: "FAILED", Width: 7, Priority: 1, Right: true},
	{Title: "MAINTAINED", Width: 10, Priority: 2, Right: true},
	{Title: "DUE IN", Width: 7, Priority: 5, Right: true},
}

var repositoryStyles = map[velerov1.BackupRepositoryPhase]detail.Style{
	velerov1.BackupRepositoryPhaseReady: detail.Good, velerov1.BackupRepositoryPhaseNotReady: detail.Bad,
}

func repositoryState(r assess.Repository) detail.Text {
	return detail.Styled(cmp.Or(repositoryStyles[r.Status.Phase], detail.Waiting), cmp.Or(string(r.Status.Phase), velero.PhaseNew))
}

func repositoryType(r assess.Repository) string {
	return cmp.Or(r.Spec.RepositoryType, velerov1.BackupRepositoryTypeRestic) // before 1.10 there was no other
}

func repositoryCells(r assess.Repository, malformed bool, now time.Time) []detail.Text {
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
	return []detail.Text{
		{Text: name}, repositoryState(r), {Text: r.Spec.BackupStorageLocation}, detail.Styled(detail.Dim, repositoryType(r)), failures,
		{Text: cmp.Or(human.Age(job.TimeOf(r.Status.LastMaintenanceTime), now), "never")},
		detail.Styled(detail.Dim, until(r.Due, now, "")),
	}
}

func repositoryPage(a *assess.Assessment, r assess.Repository, malformed *watch.Malformed) detail.Page {
	now := a.Environment.Now
	page := detail.Page{Kind: "repository", Name: r.Name, State: repositoryState(r), Notes: notes(r.Notes, malformed)}
	due := moment(r.Due, now, "not known")
	if r.Due.After(now) {
		due = human.Clock(r.Due, now) + ", in " + human.Duration(r.Due.Sub(now))
	}
	state := detail.Section{Title: "State", Fields: []detail.Field{
		{Label: "phase", Text: page.State},
		plain("message", unlessNoted(r.Status.Message, r.Notes)),
		plain("volumes of namespace", r.Spec.VolumeNamespace),
		plain("in location", r.Spec.BackupStorageLocation),
		plain("type", repositoryType(r)),
		plain("restic identifier", r.Spec.ResticIdentifier),
		plain("created", moment(r.CreationTimestamp.Time, now, "")),
	}}
	for _, key := range slices.Sorted(maps.Keys(r.Spec.RepositoryConfig)) {
		state.Fields = append(state.Fields, plain(key, r.Spec.RepositoryConfig[key]))
	}
	care := detail.Section{Title: "Maintenance", Fields: []detail.Field{
		plain("last success", moment(job.TimeOf(r.Status.LastMaintenanceTime), now, "never")),
		plain("every", durationOr(r.Spec.MaintenanceFrequency.Duration, "not set yet")),
		plain("next due", due),
	}}
	recent := slices.Clone(r.Status.RecentMaintenance)
	slices.Reverse(recent)
	if len(recent) > 0 {
		care.Columns = []draw.Column{{Title: "RESULT", Width: 10}, {Title: "BEGAN", Width: 22}, {Title: "TOOK", Width: 7, Right: true}, {Title: "MESSAGE", Width: 20, Grow: 1, Priority: 1}}
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
			detail.Styled(style, cmp.Or(string(m.Result), "running")), {Text: moment(began, now, "")}, {Text: took}, detail.Styled(style, m.Message)}})
	}
	care.Lines = []detail.Text{detail.Styled(detail.Dim, "Velero keeps the last 3 results.")}
	page.Sections = []detail.Section{state, care}
	return page
}
