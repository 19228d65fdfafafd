package tabs

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"

	"github.com/veltui/veltui/assess"
	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/job"
	"github.com/veltui/veltui/ui/detail"
	"github.com/veltui/veltui/ui/draw"
	"github.com/veltui/veltui/velero"
	"github.com/veltui/veltui/watch"
)

func Schedules() detail.Tab {
	return detail.Tab{
		Name: "Schedules", Short: "Sched", Kinds: []string{watch.Schedules},
		Groups: func(a *assess.Assessment) []detail.Group {
			malformed := malformedByUID(a.Snapshot.Malformed)
			group := detail.Group{Columns: scheduleColumns}
			for _, s := range a.Schedules() {
				row := rowOf(s, s.Notes, malformed, s.Name+" backs up "+namespaces(s.Spec.Template)+".", s.Name, s.Spec.Schedule, s.State)
				row.Cells = func(now time.Time) []detail.Text { return scheduleCells(s, a.Unseen(watch.Backups), now) }
				row.Page = func() detail.Page { return schedulePage(a, s, row.Malformed) }
				group.Rows = append(group.Rows, row)
			}
			return []detail.Group{group}
		},
		Empty: func(snap *watch.Snapshot) string {
			return "There are no schedules in namespace " + snap.Namespace + "."
		},
	}
}

var scheduleColumns = []draw.Column{
	{Title: "SCHEDULE", Width: 19, Grow: 2, Limit: 45},
	{Title: "STATE", Width: 9},
	{Title: "CRON", Width: 14, Grow: 1, Limit: 30, Priority: 3},
	{Title: "LAST RUN", Width: 16, Priority: 1},
	{Title: "AGO", Width: 6, Priority: 2, Right: true},
	{Title: "NEXT IN", Width: 7, Right: true},
	{Title: "TOOK", Width: 6, Priority: 4, Right: true},
	{Title: "KEPT", Width: 4, Priority: 5, Right: true},
	{Title: "RUNS", Width: 10, Grow: 1, Limit: 30, Priority: 6},
	{Title: "TTL", Width: 6, Priority: 7, Right: true},
	{Title: "LOCATION", Width: 12, Grow: 1, Limit: 30, Priority: 8},
}

func scheduleCells(s assess.Schedule, unseen bool, now time.Time) []detail.Text {
	run, took, ago := detail.Styled(detail.Dim, "none"), "", human.Age(job.TimeOf(s.Status.LastBackup), now)
	if len(s.Runs) > 0 {
		newest := s.Runs[0]
		run, took, ago = phaseText(newest), durationOr(newest.Took(), ""), human.Age(newest.Began(), now)
	}
	kept := fmt.Sprint(len(s.Runs) + s.Left)
	if len(s.Runs) == 0 && s.Left > 0 {
		run = detail.Styled(detail.Dim, "not shown")
	}
	if unseen {
		run, kept = detail.Styled(detail.Waiting, "not seen"), "?"
	}
	return []detail.Text{
		{Text: s.Name}, scheduleState(s), {Text: s.Spec.Schedule}, run, {Text: ago}, {Text: until(s.Next, now, "-")},
		detail.Styled(detail.Dim, took), detail.Styled(detail.Dim, kept), {Phases: endings(s.Runs)},
		detail.Styled(detail.Dim, durationOr(s.Spec.Template.TTL.Duration, "")), detail.Styled(detail.Dim, s.Spec.Template.StorageLocation),
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

func schedulePage(a *assess.Assessment, s assess.Schedule, malformed *watch.Malformed) detail.Page {
	now := a.Environment.Now
	page := detail.Page{Kind: "schedule", Name: s.Name, State: scheduleState(s), Notes: notes(s.Notes, malformed)}
	next := detail.Text{Text: human.Clock(s.Next, now)}
	switch {
	case s.Next.IsZero():
		next = detail.Styled(detail.Waiting, "none: it is "+s.State)
		if s.State != assess.SchedulePaused && s.State != assess.ScheduleNotValid {
			next.Text = "not known"
		}
	case s.Next.After(now):
		next.Text += ", in " + human.Duration(s.Next.Sub(now))
	default:
		next = detail.Styled(detail.Waiting, "due since "+next.Text+", for "+human.Age(s.Next, now))
	}
	after := ""
	if s.Interval > 0 {
		after = human.Duration(s.Interval) + " later"
	}
	zone := s.Zone + ", the server's"
	if strings.HasPrefix(s.Spec.Schedule, "CRON_TZ=") || strings.HasPrefix(s.Spec.Schedule, "TZ=") {
		zone = "the one in the expression"
	} else if !a.Environment.Server.Visible {
		zone = s.Zone + " is assumed: veltui may not see the server's pod"
	}
	when := detail.Section{Title: "When", Fields: []detail.Field{
		plain("cron", s.Spec.Schedule),
		{Label: "next run", Text: next},
		plain("the run after", after),
		plain("time zone", zone),
		plain("last backup", moment(job.TimeOf(s.Status.LastBackup), now, "never")),
		plain("last skipped", moment(job.TimeOf(s.Status.LastSkipped), now, "")),
		plain("paused", map[bool]string{true: "yes"}[s.Spec.Paused]),
		plain("phase", cmp.Or(string(s.Status.Phase), velero.PhaseNew)),
		plain("errors", strings.Join(s.Status.ValidationErrors, "; ")),
		plain("created", moment(s.CreationTimestamp.Time, now, "")),
	}}
	page.Sections = []detail.Section{when, runsSection(s, detail.Unseen(a.Snapshot, watch.Backups), now), templateSection(s.Spec)}
	return page
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
		section.BarsSay = fmt.Sprintf("How long each run took, from %s to %s, and how it ended. %s", human.Duration(shortest), human.Duration(longest), section.BarsSay)
	}
	for _, j := range s.Runs[:min(len(s.Runs), shownRuns)] {
		items := ""
		if j.Items.Known {
			items = fmt.Sprint(j.Items.Done)
		}
		section.Rows = append(section.Rows, detail.Cells{Job: j.UID, Cells: []detail.Text{
			{Text: j.Name}, phaseText(j), {Text: human.Age(j.Began(), now)}, {Text: durationOr(j.Took(), "")},
			detail.Styled(detail.Dim, items), detail.Styled(detail.Bad, draw.NonZero(j.Errors)), detail.Styled(detail.Waiting, draw.NonZero(j.Warnings)),
		}})
	}
	if more := len(s.Runs) - shownRuns; more > 0 {
		section.Lines = append([]detail.Text{detail.Styled(detail.Dim, human.Count(more, "older backup")+" not shown. Filter the Backups tab by the schedule's name to see all.")}, section.Lines...)
	}
	return section
}

func templateSection(s velerov1.ScheduleSpec) detail.Section {
	t := s.Template
	section := detail.Section{Title: "What it backs up", Fields: []detail.Field{
		plain("namespaces", namespaces(t)),
		plain("resources", kinds(t)),
		plain("selector", selector(t)),
		plain("volumes", volumes(t)),
		plain("hooks", hooks(t)),
		plain("location", cmp.Or(t.StorageLocation, "the default one")),
		plain("snapshot locations", strings.Join(t.VolumeSnapshotLocations, ", ")),
		plain("kept for", durationOr(t.TTL.Duration, "the server's default")),
		plain("labels", labelsText(t.Metadata.Labels)),
	}}
	if t.ResourcePolicy != nil {
		section.Fields = append(section.Fields, plain("resource policy", strings.ToLower(t.ResourcePolicy.Kind)+" "+t.ResourcePolicy.Name))
	}
	if own := s.UseOwnerReferencesInBackup; own != nil && *own {
		section.Fields = append(section.Fields, detail.Field{Label: "owner references", Text: detail.Styled(detail.Waiting, "yes: whoever deletes the schedule deletes its backups from the cluster")})
	}
	if skip := s.SkipImmediately; skip != nil && *skip {
		section.Fields = append(section.Fields, plain("skipImmediately", "yes, until Velero has seen it"))
	}
	return section
}

var endStyles = map[string]detail.Style{
	velero.PhaseCompleted: detail.Good, velero.PhasePartiallyFailed: detail.Waiting, velero.PhaseFailed: detail.Bad, velero.PhaseFailedValidation: detail.Bad,
}

// phaseText is how a job ended, or where it stands.
func phaseText(j *job.Job) detail.Text {
	style, ended := endStyles[j.Phase]
	if ended || j.Stage == job.StageUnknown {
		return detail.Styled(cmp.Or(style, detail.Running), j.Phase)
	}
	return detail.Styled(detail.Running, string(j.Stage))
}
