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

// Etcd lists OpenShift's own etcd backups and their schedules, if the cluster has the kinds.
func Etcd() view.Tab {
	return view.Tab{
		Name:   "Etcd",
		There:  func(a *assess.Assessment) bool { return a.Snapshot.Etcd != nil },
		Groups: etcdGroups,
		Empty: func(snap *watch.Snapshot) string {
			if snap.Etcd == nil {
				return "This cluster no longer has etcd backups of OpenShift."
			}
			return "There are no etcd backups of OpenShift and no schedules for them."
		},
		Reads: func(a *assess.Assessment, key string) string {
			if a == nil || a.Snapshot.Etcd == nil {
				return ""
			}
			for i := range a.Snapshot.Etcd.Backups {
				if b := &a.Snapshot.Etcd.Backups[i]; string(b.UID) == key {
					return a.Snapshot.Etcd.PodToRead(b)
				}
			}
			return ""
		},
	}
}

var etcdBackupColumns = []view.ScreenColumn{
	{Title: "ETCD BACKUP", Width: 24, Grow: 2, Limit: 50},
	{Title: "STATE", Width: 12},
	{Title: "TOOK", Width: 7, Priority: 2, Right: true},
	{Title: "AGE", Width: 7, Priority: 1, Right: true},
	{Title: "SCHEDULE", Width: 12, Grow: 1, Limit: 30, Priority: 3},
	{Title: "CLAIM", Width: 16, Grow: 1, Limit: 40, Priority: 4},
}

var etcdScheduleColumns = []view.ScreenColumn{
	{Title: "SCHEDULE", Width: 24, Grow: 2, Limit: 50},
	{Title: "STATE", Width: 12},
	{Title: "LAST RUN", Width: 8, Priority: 2, Right: true},
	{Title: "NEXT RUN", Width: 9, Priority: 1, Right: true},
	{Title: "CRON", Width: 14, Grow: 1, Limit: 30, Priority: 3},
	{Title: "KEEPS", Width: 20, Priority: 4},
	{Title: "CLAIM", Width: 16, Grow: 1, Limit: 40, Priority: 5},
}

func etcdGroups(a *assess.Assessment) []view.Group {
	cluster, now := a.Snapshot.Etcd, a.Environment.Now
	if cluster == nil {
		return nil
	}
	backups := view.Group{Columns: etcdBackupColumns, Note: etcdUnseen(cluster, etcd.Backups)}
	for i := range cluster.Backups {
		b := cluster.Judge(&cluster.Backups[i], now)
		backups.Rows = append(backups.Rows, view.Row{
			Key: string(b.UID), Words: []string{b.Name, b.Stage(), string(b.Verdict.Reason), b.Schedule, b.Claim},
			Cells: func(now time.Time) []view.Text { return etcdBackupCells(b, now) },
			About: etcdAbout(b.Verdict), Alarm: b.Trouble && b.Verdict.Reason != etcd.BackupSkipped,
			Page: func() view.Page { return etcdBackupPage(cluster, b, now) },
		})
	}
	schedules := view.Group{
		Heading: "schedules",
		Columns: etcdScheduleColumns,
		Note:    etcdUnseen(cluster, etcd.Schedules),
	}
	for i := range cluster.Schedules {
		s := cluster.JudgeSchedule(&cluster.Schedules[i], now)
		schedules.Rows = append(schedules.Rows, view.Row{
			Key: string(s.UID), Words: []string{s.Name, s.Cron, string(s.Verdict.Reason), s.Claim},
			Cells: func(now time.Time) []view.Text { return etcdScheduleCells(s, now) },
			About: etcdAbout(s.Verdict), Alarm: s.Trouble,
			Page: func() view.Page { return etcdSchedulePage(cluster, s, now) },
		})
	}
	return []view.Group{backups, schedules}
}

func etcdUnseen(cluster *etcd.Cluster, resource string) string {
	for _, u := range cluster.Unseen {
		switch {
		case u.Resource == resource && u.Missing:
			return "This cluster has no " + resource + "."
		case u.Resource == resource:
			return "You may not list " + resource + ". The role that veltui needs is in docs/rbac.md."
		}
	}
	return ""
}

func etcdAbout(v diagnosis.Verdict) string {
	return human.Stop(v.Summary()) + human.Clause(" ", human.Stop(v.Advice))
}

// etcdState is the stage, or what is wrong: one that its log contradicts is not completed.
func etcdState(b etcd.JudgedBackup) view.Text {
	switch {
	case b.Verdict.Reason == etcd.FalseCompletion:
		return view.Toned(view.Bad, "Failed (log)")
	case b.Verdict.State() == diagnosis.Stuck:
		return view.Toned(view.Bad, "stuck")
	}
	style := map[string]view.Tone{
		etcd.Completed: view.OK,
		etcd.Failed:    view.Bad,
		etcd.Skipped:   view.Waiting,
	}[b.Condition.Type]
	if style == view.Plain && b.Verdict.State() == diagnosis.Unknown {
		style = view.Waiting
	}
	return view.Toned(cmp.Or(style, view.Busy), b.Stage())
}

func etcdBackupCells(b etcd.JudgedBackup, now time.Time) []view.Text {
	return []view.Text{
		{Text: b.Name}, etcdState(b), {Text: known(b.Took(now))}, {Text: human.Age(b.Created, now)},
		view.Toned(view.Dim, cmp.Or(b.Schedule, "by hand")), view.Toned(view.Dim, b.Claim),
	}
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
		return view.Toned(view.Busy, "running")
	}
	return view.Toned(view.OK, "ok")
}

func etcdScheduleCells(s etcd.JudgedSchedule, now time.Time) []view.Text {
	return []view.Text{
		{Text: s.Name}, etcdScheduleState(s), {Text: human.Ago(s.LastRun, now)}, {Text: human.In(s.Next, now)},
		{Text: s.Cron}, view.Toned(view.Dim, s.Retention.String()), view.Toned(view.Dim, s.Claim),
	}
}

func etcdNotes(v diagnosis.Verdict, trouble bool) []view.Text {
	style := view.Plain
	if trouble {
		style = view.Bad
	}
	notes := []view.Text{view.Toned(style, human.Capital(human.Stop(v.Text)))}
	if v.Advice != "" {
		notes = append(notes, view.Toned(view.Strong, human.Stop(v.Advice)))
	}
	return notes
}

// factSections are the facts that hold, and those that are unknown or contradict.
func factSections(v diagnosis.Verdict, now time.Time) []view.Section {
	holds, doubts := view.Section{Title: "Facts"}, view.Section{Title: "Not known, or against it"}
	for _, f := range v.Facts {
		text := f.Text + " (" + f.Source + human.Clause(", ", human.Ago(f.At, now)) + ")"
		if f.Holds {
			holds.Lines = append(holds.Lines, view.Text{Text: text})
		} else {
			doubts.Lines = append(doubts.Lines, view.Toned(view.Waiting, text))
		}
	}
	return []view.Section{holds, doubts}
}

func etcdBackupPage(cluster *etcd.Cluster, b etcd.JudgedBackup, now time.Time) view.Page {
	page := view.Page{Kind: "etcd backup", Name: b.Name, State: etcdState(b), Notes: etcdNotes(b.Verdict, b.Trouble)}
	made := view.Section{Title: "Backup", Fields: []view.Field{
		plain("reason", string(b.Verdict.Reason)),
		plain("made", human.Moment(b.Created, now)+map[bool]string{true: ", by hand"}[b.Schedule == ""]),
		plain("schedule", b.Schedule),
		plain("claim", cluster.ClaimText(b.Claim)),
		plain(map[bool]string{true: "took", false: "so far"}[b.Ended()], known(b.Took(now))),
	}}
	if at := b.Deadline(); !at.IsZero() {
		made.Fields = append(made.Fields, plain("the pod is ended", human.In(at, now)))
	}
	conditions := view.Section{Title: "Conditions", Columns: []view.ScreenColumn{
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
			view.Cells{
				Cells: []view.Text{
					{Text: c.Type},
					{Text: string(c.Status)},
					{Text: human.Age(c.LastTransitionTime.Time, now)},
					{Text: c.Message},
				},
			},
		)
	}
	job := view.Section{Title: "Job", Fields: []view.Field{plain("name", b.JobName)}}
	if j := b.Job; j != nil {
		job.Fields = []view.Field{
			plain("name", j.Name),
			plain("started", cmp.Or(human.Moment(j.Started, now), "not yet")),
			plain("ended", human.Moment(j.Ended, now)),
			plain("result", strings.TrimSuffix(strings.TrimSpace(j.Result+" "+j.Reason+": "+j.Message), ":")),
			plain(
				"pods",
				fmt.Sprintf(
					"%d of at most %d failed; each may run for %s",
					j.Failed,
					j.Most,
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
				view.Cells{
					Cells: []view.Text{{Text: p.Name}, {Text: string(p.Phase)}, {Text: human.Age(p.Created, now)},
						{Text: p.Node}, view.Toned(view.Waiting, cmp.Or(p.Cause(), p.Unschedulable, p.Waiting))},
				},
			)
		}
	}
	page.Sections = append(append([]view.Section{made}, factSections(b.Verdict, now)...), conditions, job)
	return page
}

func etcdSchedulePage(cluster *etcd.Cluster, s etcd.JudgedSchedule, now time.Time) view.Page {
	page := view.Page{
		Kind:  "etcd schedule",
		Name:  s.Name,
		State: etcdScheduleState(s),
		Notes: etcdNotes(s.Verdict, s.Trouble),
	}
	settings := view.Section{Title: "Schedule", Fields: []view.Field{
		plain("reason", string(s.Verdict.Reason)),
		plain("cron", cmp.Or(s.Cron, "none")),
		plain("time zone", cmp.Or(s.TimeZone, "not set: that of the kube-controller-manager, taken for UTC")),
		plain("last run", human.Moment(s.LastRun, now)),
		plain("next run", human.Moment(s.Next, now)),
		plain("keeps", s.Retention.String()+", removed before the next backup"),
		plain("claim", cluster.ClaimText(s.Claim)),
		plain("made", human.Moment(s.Created, now)),
	}}
	if s.Good != nil {
		settings.Fields = append(
			settings.Fields,
			plain("last that completed", s.Good.Name+", "+human.Ago(s.Good.Condition.LastTransitionTime.Time, now)),
		)
	}
	runs := view.Section{Title: "Its backups", Columns: etcdBackupColumns[:4]}
	for i := range cluster.Backups {
		if b := &cluster.Backups[i]; b.Schedule == s.Name {
			runs.Rows = append(runs.Rows, view.Cells{Cells: etcdBackupCells(cluster.Judge(b, now), now)[:4]})
		}
	}
	page.Sections = append(append([]view.Section{settings}, factSections(s.Verdict, now)...), runs)
	return page
}
