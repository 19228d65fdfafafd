package tabs

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/veltui/veltui/internal/assess"
	"github.com/veltui/veltui/internal/diagnosis"
	"github.com/veltui/veltui/internal/etcd"
	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/ui/detail"
	"github.com/veltui/veltui/ui/draw"
	"github.com/veltui/veltui/watch"
)

// Etcd lists OpenShift's own etcd backups and their schedules, if the cluster has the kinds.
func Etcd() detail.Tab {
	return detail.Tab{
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

var etcdBackupColumns = []draw.Column{
	{Title: "ETCD BACKUP", Width: 24, Grow: 2, Limit: 50},
	{Title: "STATE", Width: 12},
	{Title: "TOOK", Width: 7, Priority: 2, Right: true},
	{Title: "AGE", Width: 7, Priority: 1, Right: true},
	{Title: "SCHEDULE", Width: 12, Grow: 1, Limit: 30, Priority: 3},
	{Title: "CLAIM", Width: 16, Grow: 1, Limit: 40, Priority: 4},
}

var etcdScheduleColumns = []draw.Column{
	{Title: "SCHEDULE", Width: 24, Grow: 2, Limit: 50},
	{Title: "STATE", Width: 12},
	{Title: "LAST RUN", Width: 8, Priority: 2, Right: true},
	{Title: "NEXT RUN", Width: 9, Priority: 1, Right: true},
	{Title: "CRON", Width: 14, Grow: 1, Limit: 30, Priority: 3},
	{Title: "KEEPS", Width: 20, Priority: 4},
	{Title: "CLAIM", Width: 16, Grow: 1, Limit: 40, Priority: 5},
}

func etcdGroups(a *assess.Assessment) []detail.Group {
	cluster, now := a.Snapshot.Etcd, a.Environment.Now
	if cluster == nil {
		return nil
	}
	backups := detail.Group{Columns: etcdBackupColumns, Note: etcdUnseen(cluster, etcd.Backups)}
	for i := range cluster.Backups {
		b := cluster.Judge(&cluster.Backups[i], now)
		backups.Rows = append(backups.Rows, detail.Row{
			Key: string(b.UID), Words: []string{b.Name, b.Stage(), string(b.Verdict.Reason), b.Schedule, b.Claim},
			Cells: func(now time.Time) []detail.Text { return etcdBackupCells(b, now) },
			About: etcdAbout(b.Verdict), Alarm: b.Trouble && b.Verdict.Reason != etcd.BackupSkipped,
			Page: func() detail.Page { return etcdBackupPage(cluster, b, now) },
		})
	}
	schedules := detail.Group{
		Heading: "schedules",
		Columns: etcdScheduleColumns,
		Note:    etcdUnseen(cluster, etcd.Schedules),
	}
	for i := range cluster.Schedules {
		s := cluster.JudgeSchedule(&cluster.Schedules[i], now)
		schedules.Rows = append(schedules.Rows, detail.Row{
			Key: string(s.UID), Words: []string{s.Name, s.Cron, string(s.Verdict.Reason), s.Claim},
			Cells: func(now time.Time) []detail.Text { return etcdScheduleCells(s, now) },
			About: etcdAbout(s.Verdict), Alarm: s.Trouble,
			Page: func() detail.Page { return etcdSchedulePage(cluster, s, now) },
		})
	}
	return []detail.Group{backups, schedules}
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
func etcdState(b etcd.JudgedBackup) detail.Text {
	switch {
	case b.Verdict.Reason == etcd.FalseCompletion:
		return detail.Styled(detail.Bad, "Failed (log)")
	case b.Verdict.State() == diagnosis.Stuck:
		return detail.Styled(detail.Bad, "stuck")
	}
	style := map[string]detail.Style{
		etcd.Completed: detail.Good,
		etcd.Failed:    detail.Bad,
		etcd.Skipped:   detail.Waiting,
	}[b.Condition.Type]
	if style == detail.Plain && b.Verdict.State() == diagnosis.Unknown {
		style = detail.Waiting
	}
	return detail.Styled(cmp.Or(style, detail.Running), b.Stage())
}

func etcdBackupCells(b etcd.JudgedBackup, now time.Time) []detail.Text {
	return []detail.Text{
		{Text: b.Name}, etcdState(b), {Text: known(b.Took(now))}, {Text: human.Age(b.Created, now)},
		detail.Styled(detail.Dim, cmp.Or(b.Schedule, "by hand")), detail.Styled(detail.Dim, b.Claim),
	}
}

func etcdScheduleState(s etcd.JudgedSchedule) detail.Text {
	switch {
	case s.Verdict.State() == diagnosis.Stuck:
		return detail.Styled(detail.Bad, "stuck")
	case s.Verdict.Reason == etcd.LastBackupFailed:
		return detail.Styled(detail.Bad, "last failed")
	case s.Verdict.State() == diagnosis.Unknown:
		return detail.Styled(detail.Waiting, "unknown")
	case s.Verdict.Reason == etcd.ScheduleRunning:
		return detail.Styled(detail.Running, "running")
	}
	return detail.Styled(detail.Good, "ok")
}

func etcdScheduleCells(s etcd.JudgedSchedule, now time.Time) []detail.Text {
	return []detail.Text{
		{Text: s.Name}, etcdScheduleState(s), {Text: human.Ago(s.LastRun, now)}, {Text: human.In(s.Next, now)},
		{Text: s.Cron}, detail.Styled(detail.Dim, s.Retention.String()), detail.Styled(detail.Dim, s.Claim),
	}
}

func etcdNotes(v diagnosis.Verdict, trouble bool) []detail.Text {
	style := detail.Plain
	if trouble {
		style = detail.Bad
	}
	notes := []detail.Text{detail.Styled(style, draw.Sentence(strings.TrimSuffix(v.Text, ".")))}
	if v.Advice != "" {
		notes = append(notes, detail.Styled(detail.Strong, human.Stop(v.Advice)))
	}
	return notes
}

// factSections are the facts that hold, and those that are unknown or contradict.
func factSections(v diagnosis.Verdict, now time.Time) []detail.Section {
	holds, doubts := detail.Section{Title: "Facts"}, detail.Section{Title: "Not known, or against it"}
	for _, f := range v.Facts {
		text := f.Text + " (" + f.Source + human.Clause(", ", human.Ago(f.At, now)) + ")"
		if f.Holds {
			holds.Lines = append(holds.Lines, detail.Text{Text: text})
		} else {
			doubts.Lines = append(doubts.Lines, detail.Styled(detail.Waiting, text))
		}
	}
	return []detail.Section{holds, doubts}
}

func etcdBackupPage(cluster *etcd.Cluster, b etcd.JudgedBackup, now time.Time) detail.Page {
	page := detail.Page{Kind: "etcd backup", Name: b.Name, State: etcdState(b), Notes: etcdNotes(b.Verdict, b.Trouble)}
	made := detail.Section{Title: "Backup", Fields: []detail.Field{
		plain("reason", string(b.Verdict.Reason)),
		plain("made", human.Moment(b.Created, now)+map[bool]string{true: ", by hand"}[b.Schedule == ""]),
		plain("schedule", b.Schedule),
		plain("claim", cluster.ClaimText(b.Claim)),
		plain(map[bool]string{true: "took", false: "so far"}[b.Ended()], known(b.Took(now))),
	}}
	if at := b.Deadline(); !at.IsZero() {
		made.Fields = append(made.Fields, plain("the pod is ended", human.In(at, now)))
	}
	conditions := detail.Section{Title: "Conditions", Columns: []draw.Column{
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
			detail.Cells{
				Cells: []detail.Text{
					{Text: c.Type},
					{Text: string(c.Status)},
					{Text: human.Age(c.LastTransitionTime.Time, now)},
					{Text: c.Message},
				},
			},
		)
	}
	job := detail.Section{Title: "Job", Fields: []detail.Field{plain("name", b.JobName)}}
	if j := b.Job; j != nil {
		job.Fields = []detail.Field{
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
		job.Columns = []draw.Column{
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
				detail.Cells{
					Cells: []detail.Text{{Text: p.Name}, {Text: string(p.Phase)}, {Text: human.Age(p.Created, now)},
						{Text: p.Node}, detail.Styled(detail.Waiting, cmp.Or(p.Cause(), p.Unschedulable, p.Waiting))},
				},
			)
		}
	}
	page.Sections = append(append([]detail.Section{made}, factSections(b.Verdict, now)...), conditions, job)
	return page
}

func etcdSchedulePage(cluster *etcd.Cluster, s etcd.JudgedSchedule, now time.Time) detail.Page {
	page := detail.Page{
		Kind:  "etcd schedule",
		Name:  s.Name,
		State: etcdScheduleState(s),
		Notes: etcdNotes(s.Verdict, s.Trouble),
	}
	settings := detail.Section{Title: "Schedule", Fields: []detail.Field{
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
	runs := detail.Section{Title: "Its backups", Columns: etcdBackupColumns[:4]}
	for i := range cluster.Backups {
		if b := &cluster.Backups[i]; b.Schedule == s.Name {
			runs.Rows = append(runs.Rows, detail.Cells{Cells: etcdBackupCells(cluster.Judge(b, now), now)[:4]})
		}
	}
	page.Sections = append(append([]detail.Section{settings}, factSections(s.Verdict, now)...), runs)
	return page
}
