package resource

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"

	"github.com/veltui/veltui/internal/assess"
	"github.com/veltui/veltui/internal/assess/coverage"
	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/velero"
	"github.com/veltui/veltui/internal/view"
	"github.com/veltui/veltui/internal/view/describe"
	"github.com/veltui/veltui/internal/view/document"
	"github.com/veltui/veltui/watch"
)

// SchedulesName is the name of the tab of [Schedules].
const SchedulesName = "Schedules"

// Schedules lists schedules with their runs. What the next run of one takes is read when its page is opened.
func Schedules() view.Tab {
	return view.Tab{
		Name: SchedulesName, Short: "Sched", Kinds: []string{watch.Schedules},
		Reads: func(a *assess.Assessment, key string) string {
			if i := slices.IndexFunc(
				a.Snapshot.Schedules,
				func(s *velerov1.Schedule) bool { return string(s.UID) == key },
			); i >= 0 {
				return a.Snapshot.Schedules[i].Name
			}
			return ""
		},
		Groups: func(a *assess.Assessment) []view.Group { return []view.Group{scheduleKind.group(a)} },
		Empty: func(snap *watch.Snapshot) string {
			return "There are no schedules in namespace " + snap.Namespace + "."
		},
	}
}

var scheduleKind = Kind{
	Kind: "Schedule", Words: []string{"schedules", "schedule"}, Resource: watch.Schedules,
	Needs: []string{watch.Backups, watch.Locations, watch.Pods}, Then: assess.NeedsVolumes,
	Columns: []view.Column{
		{
			Name: "schedule", ScreenOnly: true,
			Screen: view.ScreenColumn{Title: "SCHEDULE", Width: 19, Grow: 2, Limit: 45},
		},
		{Name: "state", Screen: view.ScreenColumn{Title: "STATE", Width: 9}},
		{Name: "cron", Screen: view.ScreenColumn{Title: "CRON", Width: 14, Grow: 1, Limit: 30, Priority: 3}, Rank: 5},
		{Name: "last run", Screen: view.ScreenColumn{Title: "LAST RUN", Width: 16, Priority: 1}, Rank: 1},
		{Name: "ago", Screen: view.ScreenColumn{Title: "AGO", Width: 6, Priority: 2, Right: true}, Rank: 3},
		{Name: "next in", Screen: view.ScreenColumn{Title: "NEXT IN", Width: 7, Right: true}, Rank: 2},
		{Name: "took", Screen: view.ScreenColumn{Title: "TOOK", Width: 6, Priority: 4, Right: true}, ScreenOnly: true},
		{Name: "kept", Screen: view.ScreenColumn{Title: "KEPT", Width: 4, Priority: 5, Right: true}, Rank: 6},
		{
			Name: "runs", ScreenOnly: true,
			Screen: view.ScreenColumn{Title: "RUNS", Width: 10, Grow: 1, Limit: 30, Priority: 6},
		},
		{Name: "ttl", Screen: view.ScreenColumn{Title: "TTL", Width: 6, Priority: 7, Right: true}, ScreenOnly: true},
		{
			Name: "location", Wide: true,
			Screen: view.ScreenColumn{Title: "LOCATION", Width: 12, Grow: 1, Limit: 30, Priority: 8},
		},
		{Name: "last good", Wide: true},
	},
	List: func(a *assess.Assessment) []Thing {
		return things(a, a.Schedules(), func(s assess.Schedule, _ bool) Thing {
			t := Thing{
				Object:   s.Schedule,
				Notes:    s.Notes,
				Change:   s.State,
				words:    []string{s.Name, s.Spec.Schedule, s.State},
				about:    backsUp(s),
				page:     view.Page{Kind: "schedule", Name: s.Name, State: scheduleState(s)},
				Cells:    func(now time.Time) []view.Cell { return scheduleCells(s, a.Unseen(watch.Backups), now) },
				Document: func() document.Placed { return document.NewSchedule(s, a) },
				Describe: func() []describe.Section { return describe.Schedule(s, a) },
				sections: func() []view.Section { return scheduleSections(a, s) },
			}
			if len(s.Runs) > 0 {
				t.Change += s.Runs[0].Name + s.Runs[0].Phase
			}
			return t
		})
	},
}

func scheduleCells(s assess.Schedule, unseen bool, now time.Time) []view.Cell {
	run, took, began, lastGood := view.Cell{Text: view.Toned(view.Dim, "none")}, "", job.TimeOf(s.Status.LastBackup), ""
	if !began.IsZero() {
		run.Text.Text = "deleted" // it ran, and the backup is gone
	}
	if len(s.Runs) > 0 {
		newest := s.Runs[0]
		run = view.StateCell(phaseText(newest))
		took, began = known(newest.Took()), newest.Began()
	}
	kept := view.NumberCell(view.Dim, len(s.Runs), fmt.Sprint(len(s.Runs)+s.Left))
	if len(s.Runs) == 0 && s.Left > 0 {
		run.Text.Text = "not shown"
	}
	if unseen {
		run.Text, kept.Text.Text = view.Toned(view.Waiting, "not seen"), "?"
	}
	if good := s.LastGood(); good != nil {
		lastGood = good.Name
	}
	return []view.Cell{
		view.TextCell(
			view.Plain,
			s.Name,
		),
		view.StateCell(scheduleState(s)),
		view.TextCell(view.Plain, s.Spec.Schedule),
		run,
		view.AgeCell(view.Plain, began, now, ""),
		view.DueCell(view.Plain, s.Next, now, "-"),
		view.TextCell(view.Dim, took),
		kept,
		{Text: view.Text{Phases: endings(s.Runs)}},
		view.TextCell(
			view.Dim,
			known(s.Spec.Template.TTL.Duration),
		),
		view.TextCell(view.Dim, s.Spec.Template.StorageLocation),
		view.TextCell(view.Dim, lastGood),
	}
}

func endings(runs []*job.Job) []string {
	var phases []string
	for _, j := range runs {
		if len(phases) < pictured && j.Terminal() {
			phases = append(phases, j.Phase)
		}
	}
	slices.Reverse(phases)
	return phases
}

var scheduleStyles = map[string]view.Tone{
	assess.ScheduleNotValid: view.Bad, assess.ScheduleLate: view.Bad, assess.SchedulePaused: view.Waiting,
	string(velerov1.SchedulePhaseEnabled): view.OK,
}

func scheduleState(s assess.Schedule) view.Text {
	return view.Toned(cmp.Or(scheduleStyles[s.State], view.Busy), s.State)
}

// shownRuns is how many runs a page lists, and pictured how many its picture has.
const (
	shownRuns = 20
	pictured  = 60
)

func scheduleSections(a *assess.Assessment, s assess.Schedule) []view.Section {
	when := sections([]describe.Section{describe.ScheduleTimes(s, a)}, view.Text{})
	runs := runsSection(s, describe.Unseen(a.Snapshot, watch.Backups), a.Environment.Now)
	return append(when, runs, templateSection(s.Spec, a.Environment.Server.Version), nextRunSection(a.NextRun, s.Name))
}

// nextRunSection shows what `veltui coverage --next` prints, once it was read.
func nextRunSection(read *coverage.Reading[coverage.Prediction], schedule string) view.Section {
	section := view.Section{
		Title:   "What the next run takes",
		Columns: []view.ScreenColumn{{Title: "KIND", Width: 13}, {Title: "NAME", Width: 24, Grow: 1, Limit: 160}},
	}
	if read == nil || read.Schedule != schedule {
		return section
	}
	if now := cmp.Or(errorText(read.Err), read.Progress); now != "" {
		section.Lines = []view.Text{view.Toned(view.Waiting, "? "+human.Capital(now))}
	}
	switch p := read.Result; {
	case p == nil:
	case p.Refused != "":
		section.Lines = append(section.Lines, view.Toned(view.Bad, "Nothing: "+p.Refused+"."))
	default:
		for _, list := range p.Lists() {
			title := list.Title
			for _, item := range list.Items {
				section.Rows = append(section.Rows, view.Cells{Cells: []view.Text{{Text: title}, {Text: item}}})
				title = ""
			}
		}
	}
	return section
}

// runsSection shows how long the last runs took and how they ended, and a table.
func runsSection(s assess.Schedule, unseen string, now time.Time) view.Section {
	section := view.Section{Title: "Runs", Lines: tooOld(s.Left), Columns: []view.ScreenColumn{
		{Title: "BACKUP", Width: 24, Grow: 2, Limit: 63},
		{Title: "PHASE", Width: 15, Grow: 1, Limit: 24},
		{Title: "BEGAN", Width: 6, Right: true},
		{Title: "TOOK", Width: 6, Right: true},
		{Title: "ITEMS", Width: 7, Priority: 1, Right: true},
		{Title: "ERR", Width: 4, Priority: 2, Right: true},
		{Title: "WARN", Width: 4, Priority: 3, Right: true},
		{Title: "VOLS", Width: 4, Priority: 4, Right: true},
		{Title: "BYTES", Width: 6, Priority: 5, Right: true},
		{Title: "NAMESPACES", Width: 14, Grow: 1, Limit: 40, Priority: 6},
	}}
	if len(s.Runs) == 0 && s.Left == 0 {
		section.Lines = []view.Text{view.Toned(view.Dim, cmp.Or(unseen, "There is no backup of this schedule."))}
	}
	if len(s.Runs) == 0 {
		return section
	}
	var shortest, longest time.Duration
	for _, j := range s.Runs[:min(len(s.Runs), pictured)] {
		if !j.Terminal() {
			continue
		}
		took := j.Took()
		section.Bars = append([]view.Bar{{Value: took.Seconds(), Phase: j.Phase}}, section.Bars...)
		if longest = max(longest, took); took > 0 && (shortest == 0 || took < shortest) {
			shortest = took
		}
	}
	if len(section.Bars) == 1 {
		section.Bars = nil // one bar says nothing
	}
	section.BarsSay = "The newest is at the right."
	if longest > 0 {
		section.BarsSay = fmt.Sprintf(
			"How long each run took, from %s to %s, and how it ended. %s",
			human.Duration(shortest),
			human.Duration(longest),
			section.BarsSay,
		)
	}
	for _, r := range s.Trend[:min(len(s.Trend), shownRuns)] {
		items, volumes, bytes := "", "", ""
		if r.Items.Known {
			items = fmt.Sprint(r.Items.Done)
		}
		if r.VolumesKnown {
			volumes = view.NonZero(int(r.Volumes))
		}
		if r.Bytes > 0 {
			bytes = human.Bytes(r.Bytes)
		}
		section.Rows = append(section.Rows, view.Cells{Job: r.UID, Cells: []view.Text{
			{Text: r.Name},
			phaseText(r.Job),
			{Text: human.Age(r.Began(), now)},
			{Text: known(r.Took())},
			view.Toned(
				view.Dim,
				items,
			),
			view.Toned(view.Bad, view.NonZero(r.Errors)),
			view.Toned(view.Waiting, view.NonZero(r.Warnings)),
			view.Toned(view.Dim, volumes),
			view.Toned(view.Dim, bytes),
			{Text: describe.NamespaceChanges(r)},
		}})
	}
	empty := func(c int) bool {
		return !slices.ContainsFunc(section.Rows, func(row view.Cells) bool { return row.Cells[c].Text != "" })
	}
	for c := len(section.Columns) - 1; section.Columns[c].Priority > 3 && empty(c); c-- {
		section.Columns = section.Columns[:c] // no run has any
	}
	if more := len(s.Runs) - shownRuns; more > 0 {
		section.Lines = append(
			[]view.Text{
				view.Toned(
					view.Dim,
					human.Count(
						more,
						"older backup",
					)+" not shown. Filter the Backups tab by the schedule's name to see all.",
				),
			},
			section.Lines...)
	}
	return section
}

func backsUp(s assess.Schedule) string {
	spec := s.Spec.Template
	if len(spec.IncludedNamespaces)+len(spec.ExcludedNamespaces) == 0 {
		return s.Name + " backs up all namespaces."
	}
	noun := " backs up namespaces "
	if len(spec.IncludedNamespaces) == 1 && len(spec.ExcludedNamespaces) == 0 {
		noun = " backs up namespace "
	}
	return s.Name + noun + describe.Filter(spec.IncludedNamespaces, spec.ExcludedNamespaces) + "."
}

// templateSection shows what the template sets, and the namespaces in any case.
func templateSection(s velerov1.ScheduleSpec, server string) view.Section {
	section := view.Section{Title: "What it backs up"}
	for _, part := range describe.BackupSpec(s.Template, server) {
		for _, f := range part.Fields {
			if f.Unset && f.Name != "includedNamespaces" {
				continue
			}
			field := f.Labelled()
			if field.Label = label(f.Title); f.Name == "hooks" {
				field.Label = "hook " + f.Title
			}
			section.Fields = append(section.Fields, field)
		}
	}
	if own := s.UseOwnerReferencesInBackup; own != nil && *own {
		section.Fields = append(
			section.Fields,
			view.Field{
				Label: "owner references",
				Text: view.Toned(
					view.Waiting,
					"yes: whoever deletes the schedule deletes its backups from the cluster",
				),
			},
		)
	}
	if skip := s.SkipImmediately; skip != nil && *skip {
		section.Fields = append(section.Fields, plain("skipImmediately", "yes, until Velero has seen it"))
	}
	return section
}

var endStyles = map[string]view.Tone{
	velero.PhaseCompleted:        view.OK,
	velero.PhasePartiallyFailed:  view.Waiting,
	velero.PhaseFailed:           view.Bad,
	velero.PhaseFailedValidation: view.Bad,
}

// phaseText is how a job ended, or where it stands.
func phaseText(j *job.Job) view.Text {
	return view.Toned(cmp.Or(endStyles[j.Phase], view.Busy), j.PhaseOrStage())
}
