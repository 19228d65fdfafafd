package assess

import (
	"time"

	"github.com/veltui/veltui/diagnosis"
	"github.com/veltui/veltui/etcd"
	"github.com/veltui/veltui/internal/human"
)

// addEtcd lists OpenShift's etcd backups: of a schedule that failed its last backup, only the schedule.
func (l *attention) addEtcd() {
	cluster, now := l.Snapshot.Etcd, l.Environment.Now
	if cluster == nil {
		return
	}
	add := func(kind string, r etcd.Resource, v diagnosis.Verdict, since time.Time) {
		f := Finding{Severity: Warning, Reason: v.Reason, Kind: kind, Namespace: etcd.Namespace, Name: r.Name, UID: r.UID, In: InEtcd, Since: since,
			Summary: human.Capital(v.Text), stuck: v.State() == diagnosis.Stuck}
		if f.stuck || v.Reason == etcd.FalseCompletion {
			f.Severity = Critical
		}
		l.add(f)
	}
	newestGood := false
	for i := range cluster.Backups { // newest first
		b := cluster.Judge(&cluster.Backups[i], now)
		newestGood = newestGood || b.Verdict.Reason == etcd.BackupCompleted
		over := b.Ended() && (b.Schedule != "" || newestGood || now.Sub(b.Condition.LastTransitionTime.Time) >= endedRecently)
		if behind := b.Verdict.Reason == etcd.BehindStuckBackup; behind || b.Trouble && !over && b.Verdict.Reason != etcd.BackupSkipped {
			add("etcdbackup", b.Resource, b.Verdict, b.Created)
		}
	}
	for i := range cluster.Schedules {
		s := cluster.JudgeSchedule(&cluster.Schedules[i], now)
		if s.Trouble && (s.Running == nil || !s.Running.Trouble) {
			add("etcdschedule", s.Resource, s.Verdict, time.Time{})
		}
	}
}
