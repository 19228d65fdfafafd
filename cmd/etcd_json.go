package cmd

import (
	"time"

	"github.com/veltui/veltui/etcd"
)

// etcdDocument is what `etcd -o json` prints.
type etcdDocument struct {
	APIVersion string             `json:"apiVersion"`
	Kind       string             `json:"kind"`
	Items      []etcdBackupJSON   `json:"items"`
	Schedules  []etcdScheduleJSON `json:"schedules"`
	// Unseen are the resources that could not be read.
	Unseen []unseenJSON `json:"unseen,omitempty"`
}

type unseenJSON struct {
	Resource string `json:"resource"`
	// Missing is true for a kind that the cluster does not have.
	Missing bool   `json:"missing,omitempty"`
	Error   string `json:"error"`
}

type etcdBackupJSON struct {
	Name string `json:"name"`
	UID  string `json:"uid"`
	// Stage is the condition as people call it.
	Stage string `json:"stage"`
	// Condition is the type of the newest that is True, and Message its message.
	Condition string `json:"condition"`
	Message   string `json:"message,omitempty"`
	Claim     string `json:"claim"`
	// Schedule is the Backup that made it, absent for one made by hand.
	Schedule    string  `json:"schedule,omitempty"`
	Job         string  `json:"job,omitempty"`
	CreatedAt   *moment `json:"createdAt,omitempty"`
	ChangedAt   *moment `json:"changedAt,omitempty"`
	TookSeconds *int64  `json:"tookSeconds,omitempty"`
	// DeadlineAt is when the pod that runs is ended.
	DeadlineAt *moment `json:"deadlineAt,omitempty"`
	// Trouble is true if it holds no data or somebody has to do something.
	Trouble bool `json:"trouble"`
	// Verdict is there for ended ones too; its state is empty then.
	Verdict   verdictJSON     `json:"verdict"`
	Summary   string          `json:"summary"`
	Malformed []malformedJSON `json:"malformed,omitempty"`
}

type etcdScheduleJSON struct {
	Name      string        `json:"name"`
	UID       string        `json:"uid"`
	Cron      string        `json:"cron"`
	TimeZone  string        `json:"timeZone,omitempty"`
	Claim     string        `json:"claim"`
	Retention retentionJSON `json:"retention"`
	CreatedAt *moment       `json:"createdAt,omitempty"`
	LastRunAt *moment       `json:"lastRunAt,omitempty"`
	NextRunAt *moment       `json:"nextRunAt,omitempty"`
	// LastBackup is the newest that ended, LastGoodBackup the newest that
	// completed, RunningBackup one that has not ended.
	LastBackup     string          `json:"lastBackup,omitempty"`
	LastGoodBackup string          `json:"lastGoodBackup,omitempty"`
	RunningBackup  string          `json:"runningBackup,omitempty"`
	Trouble        bool            `json:"trouble"`
	Verdict        verdictJSON     `json:"verdict"`
	Summary        string          `json:"summary"`
	Malformed      []malformedJSON `json:"malformed,omitempty"`
}

type retentionJSON struct {
	// Type is RetentionNumber or RetentionSize.
	Type string `json:"type"`
	// Limit is a number of backups or of gigabytes.
	Limit int64 `json:"limit"`
	// Default is true if the operator chose it.
	Default bool `json:"default,omitempty"`
}

func etcdDocumentOf(l judgedEtcd) etcdDocument {
	d := etcdDocument{APIVersion: apiVersion, Kind: "EtcdBackupList", Items: []etcdBackupJSON{}, Schedules: []etcdScheduleJSON{}}
	for _, b := range l.backups {
		item := etcdBackupJSON{
			Name: b.Name, UID: string(b.UID), Stage: b.Stage(), Condition: b.Condition.Type, Message: b.Condition.Message,
			Claim: b.Claim, Schedule: b.Schedule, Job: b.JobName, CreatedAt: stamp(b.Created), ChangedAt: stamp(b.Condition.Changed),
			DeadlineAt: stamp(b.Deadline()), Trouble: b.Trouble, Verdict: verdictOf(b.Verdict), Summary: b.Verdict.Summary, Malformed: malformedOf(b.Malformed),
		}
		if took := b.Took(l.now); took > 0 {
			seconds := int64(took / time.Second)
			item.TookSeconds = &seconds
		}
		d.Items = append(d.Items, item)
	}
	for _, s := range l.schedules {
		d.Schedules = append(d.Schedules, etcdScheduleJSON{
			Name: s.Name, UID: string(s.UID), Cron: s.Cron, TimeZone: s.TimeZone, Claim: s.Claim, Retention: retentionJSON(s.Retention),
			CreatedAt: stamp(s.Created), LastRunAt: stamp(s.LastRun), NextRunAt: stamp(s.Next), LastBackup: nameOf(s.Last), LastGoodBackup: nameOf(s.Good),
			RunningBackup: nameOf(s.Running), Trouble: s.Trouble, Verdict: verdictOf(s.Verdict), Summary: s.Verdict.Summary, Malformed: malformedOf(s.Malformed),
		})
	}
	for _, u := range l.cluster.Unseen {
		d.Unseen = append(d.Unseen, unseenJSON{u.Resource, u.Missing, u.Why})
	}
	return d
}

func nameOf(b *etcd.JudgedBackup) string {
	if b == nil {
		return ""
	}
	return b.Name
}
