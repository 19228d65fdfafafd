package resource

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/veltui/veltui/internal/assess"
	"github.com/veltui/veltui/internal/assess/coverage"
	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/velero"
	"github.com/veltui/veltui/internal/velero/veleroapi"
	"github.com/veltui/veltui/internal/view"
	"github.com/veltui/veltui/internal/view/describe"
	"github.com/veltui/veltui/internal/view/document"
	"github.com/veltui/veltui/watch"
)

// SchedulesTabName is the name of the tab of [SchedulesTab].
const SchedulesTabName = "Schedules"

// SchedulesTab lists schedules with their runs. The prediction of a schedule's next run is read when its page is
// opened.
func SchedulesTab() view.Tab {
	return view.Tab{
		Name: SchedulesTabName, ShortName: "Sched", Kinds: []string{watch.Schedules},
		DetailKey: func(a *assess.Assessment, key string) string {
			if i := slices.IndexFunc(
				a.Snapshot.Schedules,
				func(s *veleroapi.Schedule) bool { return string(s.UID) == key },
			); i >= 0 {
				return a.Snapshot.Schedules[i].Name
			}
			return ""
		},
		Groups: func(a *assess.Assessment) []view.Group { return []view.Group{scheduleKind.buildGroup(a)} },
		EmptyText: func(snap *watch.Snapshot) string {
			return "There are no schedules in namespace " + snap.Namespace + "."
		},
	}
}

var scheduleKind = Kind{
	Kind: "Schedule", Aliases: []string{"schedules", "schedule"}, Resource: watch.Schedules,
	NeededKinds: []string{watch.Backups, watch.StorageLocations, watch.Pods}, KindsByJob: assess.NeededVolumeKinds,
	Columns: []view.Column{
		{
			Name: "schedule", ScreenOnly: true,
			Screen: view.ScreenColumn{Title: "SCHEDULE", Width: 19, Grow: 2, Limit: 45},
		},
		{Name: "state", Screen: view.ScreenColumn{Title: "STATE", Width: 9}},
		{Name: "cron", Priority: 4, Screen: view.ScreenColumn{Title: "CRON", Width: 14, Grow: 1, Limit: 30}},
		{Name: "last run", Priority: 2, Screen: view.ScreenColumn{Title: "LAST RUN", Width: 16}},
		{Name: "ago", Priority: 3, Screen: view.ScreenColumn{Title: "AGO", Width: 6, Right: true}},
		{Name: "next in", Priority: 1, Screen: view.ScreenColumn{Title: "NEXT IN", Width: 7, Right: true, Kept: true}},
		{Name: "took", Priority: 5, Screen: view.ScreenColumn{Title: "TOOK", Width: 6, Right: true}, ScreenOnly: true},
		{Name: "kept", Priority: 6, Screen: view.ScreenColumn{Title: "KEPT", Width: 4, Right: true}},
		{
			Name: "runs", Priority: 7, ScreenOnly: true,
			Screen: view.ScreenColumn{Title: "RUNS", Width: 10, Grow: 1, Limit: 30},
		},
		{Name: "ttl", Priority: 8, Screen: view.ScreenColumn{Title: "TTL", Width: 6, Right: true}, ScreenOnly: true},
		{
			Name: "location", Priority: 9, Wide: true,
			Screen: view.ScreenColumn{Title: "LOCATION", Width: 12, Grow: 1, Limit: 30},
		},
		{Name: "last good", Wide: true},
	},
	JudgeEntries: func(a *assess.Assessment) []Entry {
		return newEntries(a, a.JudgeSchedules(), func(s assess.Schedule, _ bool) Entry {
			t := Entry{
				Object:        s.Schedule,
				Notes:         s.Notes,
				ChangeKey:     s.State,
				filterWords:   []string{s.Name, s.Spec.Schedule, s.State},
				summary:       scheduleScopeText(s),
				pageHead:      view.Page{Kind: "schedule", Name: s.Name, State: scheduleState(s)},
				Cells:         func(now time.Time) []view.Cell { return scheduleCells(s, a.IsUnchecked(watch.Backups), now) },
				Document:      func() document.Placed { return document.NewSchedule(s, a) },
				Describe:      func() []describe.Section { return describe.Schedule(s, a) },
				buildSections: func() []view.PageSection { return scheduleSections(a, s) },
			}
			if len(s.Runs) > 0 {
				t.ChangeKey += s.Runs[0].Name + s.Runs[0].Phase
			}
			return t
		})
	},
}

func scheduleCells(s assess.Schedule, unseen bool, now time.Time) []view.Cell {
	run, took, began, lastGood := view.Cell{
		Text: view.Toned(view.Dim, "none"),
	}, "", job.TimeOrZero(
		s.Status.LastBackup,
	), ""
	if !began.IsZero() {
		run.Text.Text = "deleted" // it ran, and its backup was deleted
	}
	if len(s.Runs) > 0 {
		newest := s.Runs[0]
		run = view.StateCell(phaseText(newest))
		took, began = durationText(newest.TotalDuration()), newest.BeganAt()
	}
	kept := view.NumberCell(view.Dim, len(s.Runs), fmt.Sprint(len(s.Runs)+s.AgedOutRuns))
	if len(s.Runs) == 0 && s.AgedOutRuns > 0 {
		run.Text.Text = "not shown"
	}
	if unseen {
		run.Text, kept.Text.Text = view.Toned(view.Waiting, "not seen"), "?"
	}
	if good := s.LastCompleted(); good != nil {
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
		view.UntilCell(view.Plain, s.NextRun, now, "-"),
		view.TextCell(view.Dim, took),
		kept,
		{Text: view.Text{Phases: runPhases(s.Runs)}},
		view.TextCell(
			view.Dim,
			durationText(s.Spec.Template.TTL.Duration),
		),
		view.TextCell(view.Dim, s.Spec.Template.StorageLocation),
		view.TextCell(view.Dim, lastGood),
	}
}

func runPhases(runs []*job.Job) []string {
	var phases []string
	for _, j := range runs {
		if len(phases) < maxBars && j.IsTerminal() {
			phases = append(phases, j.Phase)
		}
	}
	slices.Reverse(phases)
	return phases
}

var scheduleTones = map[string]view.Tone{
	assess.ScheduleNotValid: view.Bad, assess.ScheduleLate: view.Bad, assess.SchedulePaused: view.Waiting,
	string(veleroapi.SchedulePhaseEnabled): view.Good,
}

func scheduleState(s assess.Schedule) view.Text {
	return view.Toned(cmp.Or(scheduleTones[s.State], view.Running), s.State)
}

// maxListedRuns is the largest number of runs in a page's list, and maxBars in its bars.
const (
	maxListedRuns = 20
	maxBars       = 60
)

func scheduleSections(a *assess.Assessment, s assess.Schedule) []view.PageSection {
	when := pageSections([]describe.Section{describe.ScheduleTimes(s, a)}, view.Text{})
	runs := runsSection(s, describe.UncheckedText(a.Snapshot, watch.Backups), a.World.Now)
	return append(when, runs, templateSection(s.Spec, a.World.Server.Version), nextRunSection(a.NextRunPrediction, s.Name))
}

// nextRunSection shows what `veltui coverage --next` prints, once it has been read.
func nextRunSection(read *coverage.Reading[coverage.Prediction], schedule string) view.PageSection {
	section := view.PageSection{
		Title:   "What the next run takes",
		Columns: []view.ScreenColumn{{Title: "KIND", Width: 13}, {Title: "NAME", Width: 24, Grow: 1, Limit: 160}},
	}
	if read == nil || read.Schedule != schedule {
		return section
	}
	if now := cmp.Or(errorTextOrEmpty(read.Err), read.Progress); now != "" {
		section.Lines = []view.Text{view.Toned(view.Waiting, "? "+human.Capitalize(now))}
	}
	switch p := read.Result; {
	case p == nil:
	case p.RefusalReason != "":
		section.Lines = append(section.Lines, view.Toned(view.Bad, "Nothing: "+p.RefusalReason+"."))
	default:
		for _, list := range p.TitledLists() {
			title := list.Title
			for _, item := range list.Items {
				section.Rows = append(section.Rows, view.TableRow{Cells: []view.Text{{Text: title}, {Text: item}}})
				title = ""
			}
		}
	}
	return section
}

// runsSection shows the durations and results of the last runs as bars, and a table of them.
func runsSection(s assess.Schedule, unseen string, now time.Time) view.PageSection {
	section := view.PageSection{Title: "Runs", Lines: agedOutNote(s.AgedOutRuns), Columns: []view.ScreenColumn{
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
	if len(s.Runs) == 0 && s.AgedOutRuns == 0 {
		section.Lines = []view.Text{view.Toned(view.Dim, cmp.Or(unseen, "There is no backup of this schedule."))}
	}
	if len(s.Runs) == 0 {
		return section
	}
	var shortest, longest time.Duration
	for _, j := range s.Runs[:min(len(s.Runs), maxBars)] {
		if !j.IsTerminal() {
			continue
		}
		took := j.TotalDuration()
		section.Bars = append([]view.Bar{{Value: took.Seconds(), Phase: j.Phase}}, section.Bars...)
		if longest = max(longest, took); took > 0 && (shortest == 0 || took < shortest) {
			shortest = took
		}
	}
	if len(section.Bars) == 1 {
		section.Bars = nil // a single bar says nothing
	}
	section.BarsCaption = "The newest is at the right."
	if longest > 0 {
		section.BarsCaption = fmt.Sprintf(
			"How long each run took, from %s to %s, and how it ended. %s",
			human.Duration(shortest),
			human.Duration(longest),
			section.BarsCaption,
		)
	}
	for _, r := range s.ComparedRuns[:min(len(s.ComparedRuns), maxListedRuns)] {
		items, volumes, bytes := "", "", ""
		if r.Items.Known {
			items = fmt.Sprint(r.Items.Done)
		}
		if r.VolumesKnown {
			volumes = view.NonZeroText(int(r.Volumes))
		}
		if r.Bytes > 0 {
			bytes = human.Bytes(r.Bytes)
		}
		section.Rows = append(section.Rows, view.TableRow{JobUID: r.UID, Cells: []view.Text{
			{Text: r.Name},
			phaseText(r.Job),
			{Text: human.Age(r.BeganAt(), now)},
			{Text: durationText(r.TotalDuration())},
			view.Toned(
				view.Dim,
				items,
			),
			view.Toned(view.Bad, view.NonZeroText(r.Errors)),
			view.Toned(view.Waiting, view.NonZeroText(r.Warnings)),
			view.Toned(view.Dim, volumes),
			view.Toned(view.Dim, bytes),
			{Text: describe.NamespaceChanges(r)},
		}})
	}
	empty := func(c int) bool {
		return !slices.ContainsFunc(section.Rows, func(row view.TableRow) bool { return row.Cells[c].Text != "" })
	}
	for c := len(section.Columns) - 1; section.Columns[c].Priority > 3 && empty(c); c-- {
		section.Columns = section.Columns[:c] // no run has a value
	}
	if more := len(s.Runs) - maxListedRuns; more > 0 {
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

func scheduleScopeText(s assess.Schedule) string {
	spec := s.Spec.Template
	if len(spec.IncludedNamespaces)+len(spec.ExcludedNamespaces) == 0 {
		return s.Name + " backs up all namespaces."
	}
	noun := " backs up namespaces "
	if len(spec.IncludedNamespaces) == 1 && len(spec.ExcludedNamespaces) == 0 {
		noun = " backs up namespace "
	}
	return s.Name + noun + view.FilterText(spec.IncludedNamespaces, spec.ExcludedNamespaces) + "."
}

// templateSection shows the settings of the template, and always its namespaces.
func templateSection(s veleroapi.ScheduleSpec, server string) view.PageSection {
	section := view.PageSection{Title: "What it backs up"}
	for _, part := range describe.BackupSpec(s.Template, server) {
		for _, f := range part.Fields {
			if f.Unset && f.Name != "includedNamespaces" {
				continue
			}
			field := f.PageField()
			if field.Label = fieldLabel(f.Title); f.Name == "hooks" {
				field.Label = "hook " + f.Title
			}
			section.Fields = append(section.Fields, field)
		}
	}
	if own := s.UseOwnerReferencesInBackup; own != nil && *own {
		section.Fields = append(
			section.Fields,
			view.PageField{
				Label: "owner references",
				Text: view.Toned(
					view.Waiting,
					"yes: whoever deletes the schedule deletes its backups from the cluster",
				),
			},
		)
	}
	if skip := s.SkipImmediately; skip != nil && *skip {
		section.Fields = append(section.Fields, plainField("skipImmediately", "yes, until Velero has seen it"))
	}
	return section
}

var phaseTones = map[string]view.Tone{
	velero.PhaseCompleted:        view.Good,
	velero.PhasePartiallyFailed:  view.Waiting,
	velero.PhaseFailed:           view.Bad,
	velero.PhaseFailedValidation: view.Bad,
}

// phaseText returns the phase in which a job ended, or its present stage.
func phaseText(j *job.Job) view.Text {
	return view.Toned(cmp.Or(phaseTones[j.Phase], view.Running), j.PhaseOrStage())
}
