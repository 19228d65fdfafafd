package document

import (
	"time"

	"github.com/veltui/veltui/internal/etcd"
)

// EtcdBackupList is what `etcd -o json` prints.
type EtcdBackupList struct {
	Header
	Items     []EtcdBackup   `json:"items"`
	Schedules []EtcdSchedule `json:"schedules"`
	// Unseen are the resources that could not be read.
	Unseen []etcd.UncheckedResource `json:"unseen,omitempty"`
}

// EtcdBackup is an EtcdBackup of OpenShift's.
type EtcdBackup struct {
	Name string `json:"name"`
	UID  string `json:"uid"`
	// Stage is the condition as people call it.
	Stage string `json:"stage"`
	// Condition is the type of the newest that is True, and Message its message.
	Condition string `json:"condition"`
	Message   string `json:"message,omitempty"`
	Claim     string `json:"claim"`
	// Schedule is the Backup that made it, absent for one made by hand.
	Schedule    string `json:"schedule,omitempty"`
	Job         string `json:"job,omitempty"`
	CreatedAt   Moment `json:"createdAt,omitzero"`
	ChangedAt   Moment `json:"changedAt,omitzero"`
	TookSeconds *int64 `json:"tookSeconds,omitempty"`
	// DeadlineAt is when the pod that runs is ended.
	DeadlineAt Moment `json:"deadlineAt,omitzero"`
	EtcdVerdict
}

// EtcdVerdict is what veltui says of a backup or a schedule.
type EtcdVerdict struct {
	// Trouble is true if it holds no data or somebody has to do something.
	Trouble bool `json:"trouble"`
	// Verdict is there for ended ones too; its state is empty then.
	Verdict   Verdict     `json:"verdict"`
	Summary   string      `json:"summary"`
	Malformed []Malformed `json:"malformed,omitempty"`
}

// EtcdSchedule is a Backup of config.openshift.io.
type EtcdSchedule struct {
	Name      string         `json:"name"`
	UID       string         `json:"uid"`
	Cron      string         `json:"cron"`
	TimeZone  string         `json:"timeZone,omitempty"`
	Claim     string         `json:"claim"`
	Retention etcd.Retention `json:"retention"`
	CreatedAt Moment         `json:"createdAt,omitzero"`
	LastRunAt Moment         `json:"lastRunAt,omitzero"`
	NextRunAt Moment         `json:"nextRunAt,omitzero"`
	// LastBackup is the newest that ended, LastGoodBackup the newest that
	// completed, RunningBackup one that has not ended.
	LastBackup     string `json:"lastBackup,omitempty"`
	LastGoodBackup string `json:"lastGoodBackup,omitempty"`
	RunningBackup  string `json:"runningBackup,omitempty"`
	EtcdVerdict
}

// NewEtcdBackupList returns a list of backups and schedules.
func NewEtcdBackupList(
	backups []etcd.JudgedBackup,
	schedules []etcd.JudgedSchedule,
	unseen []etcd.UncheckedResource,
	now time.Time,
) EtcdBackupList {
	return EtcdBackupList{
		Header: NewHeader("EtcdBackupList"), Unseen: unseen,
		Items: convertAll(backups, func(b etcd.JudgedBackup) EtcdBackup {
			d := EtcdBackup{
				Name:      b.Name,
				UID:       string(b.UID),
				Stage:     b.StageName(),
				Condition: b.Condition.Type,
				Message:   b.Condition.Message,
				Claim:     b.Claim,
				Schedule:  b.Schedule,
				Job:       b.JobName,
				CreatedAt: Moment{
					b.Created,
				},
				ChangedAt:  Moment{b.Condition.LastTransitionTime.Time},
				DeadlineAt: Moment{b.Deadline()},
				EtcdVerdict: EtcdVerdict{
					b.IsTroubled,
					NewVerdict(b.Verdict),
					b.Verdict.Summary(),
					NewMalformed(b.Malformed),
				},
			}
			if took := b.TotalDuration(now); took > 0 {
				d.TookSeconds = new(int64(took / time.Second))
			}
			return d
		}),
		Schedules: convertAll(schedules, func(s etcd.JudgedSchedule) EtcdSchedule {
			return EtcdSchedule{
				Name:           s.Name,
				UID:            string(s.UID),
				Cron:           s.CronSchedule,
				TimeZone:       s.TimeZone,
				Claim:          s.Claim,
				Retention:      s.Retention,
				CreatedAt:      Moment{s.Created},
				LastRunAt:      Moment{s.LastRun},
				NextRunAt:      Moment{s.NextRun},
				LastBackup:     etcdBackupName(s.LastEnded),
				LastGoodBackup: etcdBackupName(s.LastCompleted),
				RunningBackup:  etcdBackupName(s.Running),
				EtcdVerdict: EtcdVerdict{
					s.IsTroubled,
					NewVerdict(s.Verdict),
					s.Verdict.Summary(),
					NewMalformed(s.Malformed),
				},
			}
		}),
	}
}

func etcdBackupName(b *etcd.JudgedBackup) string {
	if b == nil {
		return ""
	}
	return b.Name
}
