package tabs

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
	"github.com/veltui/veltui/internal/view/describe"
	"github.com/veltui/veltui/internal/view/document"
	"github.com/veltui/veltui/ui/detail"
	"github.com/veltui/veltui/ui/draw"
	"github.com/veltui/veltui/watch"
)

// SchedulesName is the name of the tab of [Schedules].
const SchedulesName = "Schedules"

// Schedules lists schedules with their runs. What the next run of one takes is read when its page is opened.
func Schedules() detail.Tab {
	return detail.Tab{
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
		Groups: func(a *assess.Assessment) []detail.Group { return []detail.Group{scheduleKind.group(a)} },
		Empty: func(snap *watch.Snapshot) string {
			return "There are no schedules in namespace " + snap.Namespace + "."
		},
	}
}

var scheduleKind = Kind{
	Kind: "Schedule", Words: []string{"schedules", "schedule"}, Resource: watch.Schedules,
	Needs: []string{watch.Backups, watch.Locations, watch.Pods}, Then: assess.NeedsVolumes,
	Columns: []Column{
		{Column: draw.Column{Title: "SCHEDULE", Width: 19, Grow: 2, Limit: 45}},
		{Column: draw.Column{Title: "STATE", Width: 9}, Get: "STATE"},
		{Column: draw.Column{Title: "CRON", Width: 14, Grow: 1, Limit: 30, Priority: 3}, Get: "CRON", Rank: 5},
		{Column: draw.Column{Title: "LAST RUN", Width: 16, Priority: 1}, Get: "LAST RUN", Rank: 1},
		{Column: draw.Column{Title: "AGO", Width: 6, Priority: 2, Right: true}, Get: "AGO", Rank: 3},
		{Column: draw.Column{Title: "NEXT IN", Width: 7, Right: true}, Get: "NEXT IN", Rank: 2},
		{Column: draw.Column{Title: "TOOK", Width: 6, Priority: 4, Right: true}},
		{Column: draw.Column{Title: "KEPT", Width: 4, Priority: 5, Right: true}, Get: "KEPT", Rank: 6},
		{Column: draw.Column{Title: "RUNS", Width: 10, Grow: 1, Limit: 30, Priority: 6}},
		{Column: draw.Column{Title: "TTL", Width: 6, Priority: 7, Right: true}},
		{
			Column: draw.Column{Title: "LOCATION", Width: 12, Grow: 1, Limit: 30, Priority: 8},
			Get:    "LOCATION",
			Wide:   true,
		},
		{Get: "LAST GOOD", Wide: true},
	},
	List: func(a *assess.Assessment) []Thing {
		return things(a, a.Schedules(), func(s assess.Schedule, _ bool) Thing {
			t := Thing{
				Object:   s.Schedule,
				Notes:    s.Notes,
				Change:   s.State,
				words:    []string{s.Name, s.Spec.Schedule, s.State},
				about:    backsUp(s),
				page:     detail.Page{Kind: "schedule", Name: s.Name, State: scheduleState(s)},
				Cells:    func(now time.Time) []Cell { return scheduleCells(s, a.Unseen(watch.Backups), now) },
				Document: func() document.Placed { return document.NewSchedule(s, a) },
				Describe: func() []describe.Section { return describe.Schedule(s, a) },
				sections: func() []detail.Section { return scheduleSections(a, s) },
			}
			if len(s.Runs) > 0 {
				t.Change += s.Runs[0].Name + s.Runs[0].Phase
			}
			return t
		})
	},
}

func scheduleCells(s assess.Schedule, unseen bool, now time.Time) []Cell {
	run, took, began, lastGood := Cell{Text: detail.Styled(detail.Dim, "none")}, "", job.TimeOf(s.Status.LastBackup), ""
	if !began.IsZero() {
		run.Text.Text = "deleted" // it ran, and the backup is gone
	}
	if len(s.Runs) > 0 {
		newest := s.Runs[0]
		run, took, began = Cell{
			Text: phaseText(newest),
			Get:  newest.PhaseOrStage(),
		}, known(
			newest.Took(),
		), newest.Began()
	}
	kept := number(detail.Dim, len(s.Runs), fmt.Sprint(len(s.Runs)+s.Left))
	if len(s.Runs) == 0 && s.Left > 0 {
		run.Text.Text = "not shown"
	}
	if unseen {
		run.Text, kept.Text.Text = detail.Styled(detail.Waiting, "not seen"), "?"
	}
	if good := s.LastGood(); good != nil {
		lastGood = good.Name
	}
	return []Cell{
		text(
			detail.Plain,
			s.Name,
		),
		stateCell(scheduleState(s)),
		text(detail.Plain, s.Spec.Schedule),
		run,
		ago(detail.Plain, began, now, ""),
		due(detail.Plain, s.Next, now, "-"),
		text(detail.Dim, took),
		kept,
		{Text: detail.Text{Phases: endings(s.Runs)}},
		text(
			detail.Dim,
			known(s.Spec.Template.TTL.Duration),
		),
		text(detail.Dim, s.Spec.Template.StorageLocation),
		text(detail.Dim, lastGood),
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

var scheduleStyles = map[string]detail.Style{
	assess.ScheduleNotValid: detail.Bad, assess.ScheduleLate: detail.Bad, assess.SchedulePaused: detail.Waiting,
	string(velerov1.SchedulePhaseEnabled): detail.Good,
}

func scheduleState(s assess.Schedule) detail.Text {
	return detail.Styled(cmp.Or(scheduleStyles[s.State], detail.Running), s.State)
}

// shownRuns is how many runs a page lists, and pictured how many its picture has.
const (
	shownRuns = 20
	pictured  = 60
)

func scheduleSections(a *assess.Assessment, s assess.Schedule) []detail.Section {
	when := sections([]describe.Section{describe.ScheduleTimes(s, a)}, detail.Text{})
	runs := runsSection(s, describe.Unseen(a.Snapshot, watch.Backups), a.Environment.Now)
	return append(when, runs, templateSection(s.Spec, a.Environment.Server.Version), nextRunSection(a.NextRun, s.Name))
}

// nextRunSection shows what `veltui coverage --next` prints, once it was read.
func nextRunSection(read *coverage.Reading[coverage.Prediction], schedule string) detail.Section {
	section := detail.Section{
		Title:   "What the next run takes",
		Columns: []draw.Column{{Title: "KIND", Width: 13}, {Title: "NAME", Width: 24, Grow: 1, Limit: 160}},
	}
	if read == nil || read.Schedule != schedule {
		return section
	}
	if now := cmp.Or(errorText(read.Err), read.Progress); now != "" {
		section.Lines = []detail.Text{detail.Styled(detail.Waiting, "? "+human.Capital(now))}
	}
	switch p := read.Result; {
	case p == nil:
	case p.Refused != "":
		section.Lines = append(section.Lines, detail.Styled(detail.Bad, "Nothing: "+p.Refused+"."))
	default:
		for _, list := range p.Lists() {
			title := list.Title
			for _, item := range list.Items {
				section.Rows = append(section.Rows, detail.Cells{Cells: []detail.Text{{Text: title}, {Text: item}}})
				title = ""
			}
		}
	}
	return section
}

// runsSection shows how long the last runs took and how they ended, and a table.
func runsSection(s assess.Schedule, unseen string, now time.Time) detail.Section {
	section := detail.Section{Title: "Runs", Lines: tooOld(s.Left), Columns: []draw.Column{
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
		section.Lines = []detail.Text{detail.Styled(detail.Dim, cmp.Or(unseen, "There is no backup of this schedule."))}
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
		section.Bars = append([]detail.Bar{{Value: took.Seconds(), Phase: j.Phase}}, section.Bars...)
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
			volumes = draw.NonZero(int(r.Volumes))
		}
		if r.Bytes > 0 {
			bytes = human.Bytes(r.Bytes)
		}
		section.Rows = append(section.Rows, detail.Cells{Job: r.UID, Cells: []detail.Text{
			{Text: r.Name},
			phaseText(r.Job),
			{Text: human.Age(r.Began(), now)},
			{Text: known(r.Took())},
			detail.Styled(
				detail.Dim,
				items,
			),
			detail.Styled(detail.Bad, draw.NonZero(r.Errors)),
			detail.Styled(detail.Waiting, draw.NonZero(r.Warnings)),
			detail.Styled(detail.Dim, volumes),
			detail.Styled(detail.Dim, bytes),
			{Text: describe.NamespaceChanges(r)},
		}})
	}
	empty := func(c int) bool {
		return !slices.ContainsFunc(section.Rows, func(row detail.Cells) bool { return row.Cells[c].Text != "" })
	}
	for c := len(section.Columns) - 1; section.Columns[c].Priority > 3 && empty(c); c-- {
		section.Columns = section.Columns[:c] // no run has any
	}
	if more := len(s.Runs) - shownRuns; more > 0 {
		section.Lines = append(
			[]detail.Text{
				detail.Styled(
					detail.Dim,
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
func templateSection(s velerov1.ScheduleSpec, server string) detail.Section {
	section := detail.Section{Title: "What it backs up"}
	for _, part := range describe.BackupSpec(s.Template, server) {
		for _, f := range part.Fields {
			if f.Unset && f.Name != "includedNamespaces" {
				continue
			}
			field := detail.Described(f)
			if field.Label = label(f.Title); f.Name == "hooks" {
				field.Label = "hook " + f.Title
			}
			section.Fields = append(section.Fields, field)
		}
	}
	if own := s.UseOwnerReferencesInBackup; own != nil && *own {
		section.Fields = append(
			section.Fields,
			detail.Field{
				Label: "owner references",
				Text: detail.Styled(
					detail.Waiting,
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

var endStyles = map[string]detail.Style{
	velero.PhaseCompleted:        detail.Good,
	velero.PhasePartiallyFailed:  detail.Waiting,
	velero.PhaseFailed:           detail.Bad,
	velero.PhaseFailedValidation: detail.Bad,
}

// phaseText is how a job ended, or where it stands.
func phaseText(j *job.Job) detail.Text {
	return detail.Styled(cmp.Or(endStyles[j.Phase], detail.Running), j.PhaseOrStage())
}
