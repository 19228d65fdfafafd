package resource

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/veltui/veltui/internal/assess"
	"github.com/veltui/veltui/internal/diagnosis"
	"github.com/veltui/veltui/internal/etcd"
	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/view"
	"github.com/veltui/veltui/watch"
)

// EtcdTab lists OpenShift's own etcd backups and their schedules, if the cluster has these kinds.
func EtcdTab() view.Tab {
	return view.Tab{
		Name:   "Etcd",
		Exists: func(a *assess.Assessment) bool { return a.Snapshot.Etcd != nil },
		Groups: etcdGroups,
		EmptyText: func(snap *watch.Snapshot) string {
			if snap.Etcd == nil {
				return "This cluster no longer has etcd backups of OpenShift."
			}
			return "There are no etcd backups of OpenShift and no schedules for them."
		},
		DetailKey: func(a *assess.Assessment, key string) string {
			if a == nil || a.Snapshot.Etcd == nil {
				return ""
			}
			for i := range a.Snapshot.Etcd.Backups {
				if b := &a.Snapshot.Etcd.Backups[i]; string(b.UID) == key {
					return a.Snapshot.Etcd.FindUnreadLogPod(b)
				}
			}
			return ""
		},
	}
}

// EtcdBackupColumns are the columns that `etcd` prints and the tab shows for backups.
var EtcdBackupColumns = []view.Column{
	{
		Name: "backup", MinWidth: 6, CutMiddle: true,
		Screen: view.ScreenColumn{Title: "ETCD BACKUP", Width: 24, Grow: 2, Limit: 50},
	},
	{Name: "stage", MinWidth: 5, Screen: view.ScreenColumn{Title: "STATE", Width: 12}},
	{Name: "took", Priority: 2, Screen: view.ScreenColumn{Title: "TOOK", Width: 7, Right: true}},
	{Name: "age", Priority: 1, Screen: view.ScreenColumn{Title: "AGE", Width: 7, Right: true}},
	{
		Name: "schedule", Priority: 3, MinWidth: 8, CutMiddle: true,
		Screen: view.ScreenColumn{Title: "SCHEDULE", Width: 12, Grow: 1, Limit: 30},
	},
	{
		Name: "claim", Priority: 4, MinWidth: 6, CutMiddle: true,
		Screen: view.ScreenColumn{Title: "CLAIM", Width: 16, Grow: 1, Limit: 40},
	},
	{Name: "verdict", MinWidth: 7},
	{Name: "condition", Wide: true},
	{Name: "job", Wide: true, MinWidth: 6, CutMiddle: true},
	{Name: "message", Wide: true, MinWidth: 7},
}

// EtcdScheduleColumns are the columns that `etcd` prints and the tab shows for schedules.
var EtcdScheduleColumns = []view.Column{
	{
		Name: "schedule", MinWidth: 8, CutMiddle: true,
		Screen: view.ScreenColumn{Title: "SCHEDULE", Width: 24, Grow: 2, Limit: 50},
	},
	{Name: "state", ScreenOnly: true, Screen: view.ScreenColumn{Title: "STATE", Width: 12}},
	{Name: "last run", Priority: 2, Screen: view.ScreenColumn{Title: "LAST RUN", Width: 8, Right: true}},
	{Name: "next run", Priority: 1, Screen: view.ScreenColumn{Title: "NEXT RUN", Width: 9, Right: true}},
	{
		Name: "cron", Priority: 4,
		Screen: view.ScreenColumn{Title: "CRON", Width: 14, Grow: 1, Limit: 30},
	},
	{Name: "last backup", Priority: 3},
	{Name: "verdict", MinWidth: 7},
	{Name: "age", Priority: 5},
	{Name: "zone", Wide: true},
	{Name: "keeps", Priority: 6, Wide: true, Screen: view.ScreenColumn{Title: "KEEPS", Width: 20}},
	{
		Name: "claim", Priority: 7, Wide: true, MinWidth: 6, CutMiddle: true,
		Screen: view.ScreenColumn{Title: "CLAIM", Width: 16, Grow: 1, Limit: 40},
	},
	{Name: "last good", Wide: true, MinWidth: 9, CutMiddle: true},
}

func etcdGroups(a *assess.Assessment) []view.Group {
	cluster, now := a.Snapshot.Etcd, a.World.Now
	if cluster == nil {
		return nil
	}
	backups := view.Group{
		Columns: view.ScreenColumns(EtcdBackupColumns),
		Note:    etcdUncheckedText(cluster, etcd.ResourceBackups),
	}
	for i := range cluster.Backups {
		b := cluster.JudgeBackup(&cluster.Backups[i], now)
		backups.Rows = append(backups.Rows, view.Row{
			Key: string(b.UID), FilterWords: []string{b.Name, b.StageName(), b.Verdict.Reason.String(), b.Schedule, b.Claim},
			Cells: func(now time.Time) []view.Text {
				return view.ScreenTexts(EtcdBackupColumns, EtcdBackupCells(b, now))
			},
			Summary: etcdSummary(b.Verdict), NeedsAttention: b.IsTroubled && b.Verdict.Reason != etcd.BackupSkipped,
			Page: func() view.Page { return etcdBackupPage(cluster, b, now) },
		})
	}
	schedules := view.Group{
		Heading: "schedules",
		Columns: view.ScreenColumns(EtcdScheduleColumns),
		Note:    etcdUncheckedText(cluster, etcd.ResourceSchedules),
	}
	for i := range cluster.Schedules {
		s := cluster.JudgeSchedule(&cluster.Schedules[i], now)
		schedules.Rows = append(schedules.Rows, view.Row{
			Key: string(s.UID), FilterWords: []string{s.Name, s.CronSchedule, s.Verdict.Reason.String(), s.Claim},
			Cells: func(now time.Time) []view.Text {
				return view.ScreenTexts(EtcdScheduleColumns, EtcdScheduleCells(s, now))
			},
			Summary: etcdSummary(s.Verdict), NeedsAttention: s.IsTroubled,
			Page: func() view.Page { return etcdSchedulePage(cluster, s, now) },
		})
	}
	return []view.Group{backups, schedules}
}

func etcdUncheckedText(cluster *etcd.Cluster, resource string) string {
	for _, u := range cluster.Unchecked {
		switch {
		case u.Resource == resource && u.IsMissing:
			return "This cluster has no " + resource + "."
		case u.Resource == resource:
			return "You may not list " + resource + ". The role that veltui needs is in docs/rbac.md."
		}
	}
	return ""
}

func etcdSummary(v diagnosis.Verdict) string {
	return human.EndSentence(v.Summary()) + human.Prefixed(" ", human.EndSentence(v.Advice))
}

// etcdBackupState returns the stage, or what is wrong: a backup whose log contradicts its completion has failed.
func etcdBackupState(b etcd.JudgedBackup) view.Text {
	switch {
	case b.Verdict.Reason == etcd.FalseCompletion:
		return view.Toned(view.Bad, "Failed (log)")
	case b.Verdict.State() == diagnosis.Stuck:
		return view.Toned(view.Bad, "stuck")
	}
	style := map[string]view.Tone{
		etcd.ConditionCompleted: view.Good,
		etcd.ConditionFailed:    view.Bad,
		etcd.ConditionSkipped:   view.Waiting,
	}[b.Condition.Type]
	if style == view.Plain && b.Verdict.State() == diagnosis.Unknown {
		style = view.Waiting
	}
	return view.Toned(cmp.Or(style, view.Running), b.StageName())
}

// EtcdBackupCells returns the cells of [EtcdBackupColumns].
func EtcdBackupCells(b etcd.JudgedBackup, now time.Time) []view.Cell {
	return []view.Cell{
		view.TextCell(view.Plain, b.Name),
		{Text: etcdBackupState(b), PrintedText: b.StageName()},
		view.TextCell(view.Plain, durationText(b.TotalDuration(now))),
		view.AgeCell(view.Plain, b.Created, now, ""),
		{Text: view.Toned(view.Dim, cmp.Or(b.Schedule, "by hand")), PrintedText: b.Schedule},
		view.TextCell(view.Dim, b.Claim),
		view.TextCell(view.Plain, etcdVerdict(b.Verdict, b.IsTroubled)),
		view.TextCell(view.Plain, b.Condition.Type),
		view.TextCell(view.Plain, b.JobName),
		view.TextCell(view.Plain, b.Condition.Message),
	}
}

// etcdVerdict returns the state, or the reason if the verdict needs attention.
func etcdVerdict(v diagnosis.Verdict, trouble bool) string {
	switch {
	case trouble && v.State() == diagnosis.Stuck:
		return string(v.State()) + ": " + v.Reason.String()
	case trouble:
		return v.Reason.String()
	}
	return string(v.State())
}

func etcdScheduleState(s etcd.JudgedSchedule) view.Text {
	switch {
	case s.Verdict.State() == diagnosis.Stuck:
		return view.Toned(view.Bad, "stuck")
	case s.Verdict.Reason == etcd.LastBackupFailed:
		return view.Toned(view.Bad, "last failed")
	case s.Verdict.State() == diagnosis.Unknown:
		return view.Toned(view.Waiting, "unknown")
	case s.Verdict.Reason == etcd.ScheduleRunning:
		return view.Toned(view.Running, "running")
	}
	return view.Toned(view.Good, "ok")
}

// EtcdScheduleCells returns the cells of [EtcdScheduleColumns].
func EtcdScheduleCells(s etcd.JudgedSchedule, now time.Time) []view.Cell {
	last, good := "", ""
	if s.LastEnded != nil {
		last = s.LastEnded.StageName()
	}
	if s.LastCompleted != nil {
		good = s.LastCompleted.Name
	}
	return []view.Cell{
		view.TextCell(view.Plain, s.Name),
		view.StateCell(etcdScheduleState(s)),
		view.TextCell(view.Plain, human.Ago(s.LastRun, now)),
		view.TextCell(view.Plain, human.Until(s.NextRun, now)),
		view.TextCell(view.Plain, s.CronSchedule),
		view.TextCell(view.Plain, last),
		view.TextCell(view.Plain, etcdVerdict(s.Verdict, s.IsTroubled)),
		view.AgeCell(view.Plain, s.Created, now, ""),
		view.TextCell(view.Plain, s.TimeZone),
		view.TextCell(view.Dim, s.Retention.String()),
		view.TextCell(view.Dim, s.Claim),
		view.TextCell(view.Plain, good),
	}
}

func etcdVerdictNotes(v diagnosis.Verdict, trouble bool) []view.Text {
	style := view.Plain
	if trouble {
		style = view.Bad
	}
	notes := []view.Text{view.Toned(style, human.Capitalize(human.EndSentence(v.Text)))}
	if v.Advice != "" {
		notes = append(notes, view.Toned(view.Strong, human.EndSentence(v.Advice)))
	}
	return notes
}

// evidenceSections returns a section of the facts that hold, and one of those that are unknown or contradict.
func evidenceSections(v diagnosis.Verdict) (sections []view.PageSection) {
	for _, e := range view.NewFactLists(v.Facts) {
		sections = append(sections, e.Section())
	}
	return sections
}

// EtcdBackupFields returns what its page and `etcd NAME` say of a backup beside the verdict.
func EtcdBackupFields(cluster *etcd.Cluster, b etcd.JudgedBackup, now time.Time) []view.PageField {
	fields := []view.PageField{
		plainField("reason", b.Verdict.Reason.String()),
		plainField("made", human.ClockWithAge(b.Created, now)+map[bool]string{true: ", by hand"}[b.Schedule == ""]),
		plainField("schedule", b.Schedule),
		plainField("claim", cluster.FormatClaim(b.Claim)),
		plainField(map[bool]string{true: "took", false: "so far"}[b.HasEnded()], durationText(b.TotalDuration(now))),
	}
	if at := b.Deadline(); !at.IsZero() {
		fields = append(fields, plainField("pod is stopped", human.Until(at, now)))
	}
	return fields
}

func etcdBackupPage(cluster *etcd.Cluster, b etcd.JudgedBackup, now time.Time) view.Page {
	page := view.Page{
		Kind:  "etcd backup",
		Name:  b.Name,
		State: etcdBackupState(b),
		Notes: etcdVerdictNotes(b.Verdict, b.IsTroubled),
	}
	made := view.PageSection{Title: "Backup", Fields: EtcdBackupFields(cluster, b, now)}
	conditions := view.PageSection{Title: "Conditions", Columns: []view.ScreenColumn{
		{
			Title: "TYPE",
			Width: 16,
			Grow:  1,
			Limit: 30,
		},
		{Title: "STATUS", Width: 7},
		{Title: "SINCE", Width: 8, Priority: 1, Right: true},
		{Title: "MESSAGE", Width: 30, Grow: 4, Limit: 160, Priority: 2},
	}}
	for _, c := range b.Conditions {
		conditions.Rows = append(
			conditions.Rows,
			view.TableRow{
				Cells: []view.Text{
					{Text: c.Type},
					{Text: string(c.Status)},
					{Text: human.Age(c.LastTransitionTime.Time, now)},
					{Text: c.Message},
				},
			},
		)
	}
	job := view.PageSection{Title: "Job", Fields: []view.PageField{plainField("name", b.JobName)}}
	if j := b.Job; j != nil {
		job.Fields = []view.PageField{
			plainField("name", j.Name),
			plainField("started", cmp.Or(human.ClockWithAge(j.Started, now), "not yet")),
			plainField("ended", human.ClockWithAge(j.Ended, now)),
			plainField("result", strings.TrimSuffix(strings.TrimSpace(j.Result+" "+j.Reason+": "+j.Message), ":")),
			plainField(
				"pods",
				fmt.Sprintf(
					"%d of at most %d failed; each may run for %s",
					j.FailedPods,
					j.MaxPods,
					human.Duration(j.Deadline),
				),
			),
		}
		job.Columns = []view.ScreenColumn{
			{Title: "POD", Width: 30, Grow: 1, Limit: 63},
			{Title: "PHASE", Width: 10},
			{Title: "AGE", Width: 7, Priority: 1, Right: true},
			{
				Title:    "NODE",
				Width:    12,
				Grow:     1,
				Limit:    40,
				Priority: 2,
			},
			{Title: "WAITS OR FAILED", Width: 24, Grow: 4, Limit: 160, Priority: 3},
		}
		for i := range j.Pods {
			p := &j.Pods[i]
			job.Rows = append(
				job.Rows,
				view.TableRow{
					Cells: []view.Text{{Text: p.Name}, {Text: string(p.Phase)}, {Text: human.Age(p.Created, now)},
						{Text: p.Node}, view.Toned(view.Waiting, cmp.Or(p.FailureCause(), p.UnschedulableReason, p.WaitingReason))},
				},
			)
		}
	}
	page.Sections = append(append([]view.PageSection{made}, evidenceSections(b.Verdict)...), conditions, job)
	return page
}

// EtcdScheduleFields returns what its page and `etcd NAME` say of a schedule beside the verdict.
func EtcdScheduleFields(cluster *etcd.Cluster, s etcd.JudgedSchedule, now time.Time) []view.PageField {
	fields := []view.PageField{
		plainField("reason", s.Verdict.Reason.String()),
		plainField("cron", cmp.Or(s.CronSchedule, "none")),
		plainField("time zone", cmp.Or(s.TimeZone, "not set: that of the kube-controller-manager, taken for UTC")),
		plainField("last run", human.ClockWithAge(s.LastRun, now)),
		plainField("next run", human.ClockWithAge(s.NextRun, now)),
		plainField("keeps", s.Retention.String()+", removed before the next backup"),
		plainField("claim", cluster.FormatClaim(s.Claim)),
		plainField("made", human.ClockWithAge(s.Created, now)),
	}
	if last := s.LastCompleted; last != nil {
		age := human.Ago(last.Condition.LastTransitionTime.Time, now)
		fields = append(fields, plainField("last completed", last.Name+", "+age))
	}
	return fields
}

func etcdSchedulePage(cluster *etcd.Cluster, s etcd.JudgedSchedule, now time.Time) view.Page {
	page := view.Page{
		Kind:  "etcd schedule",
		Name:  s.Name,
		State: etcdScheduleState(s),
		Notes: etcdVerdictNotes(s.Verdict, s.IsTroubled),
	}
	settings := view.PageSection{Title: "Schedule", Fields: EtcdScheduleFields(cluster, s, now)}
	runs := view.PageSection{Title: "Backups", Columns: view.ScreenColumns(EtcdBackupColumns[:4])}
	for i := range cluster.Backups {
		if b := &cluster.Backups[i]; b.Schedule == s.Name {
			cells := EtcdBackupCells(cluster.JudgeBackup(b, now), now)
			runs.Rows = append(runs.Rows, view.TableRow{Cells: view.ScreenTexts(EtcdBackupColumns[:4], cells)})
		}
	}
	page.Sections = append(append([]view.PageSection{settings}, evidenceSections(s.Verdict)...), runs)
	return page
}
