package oldscene

import (
	"time"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// schedule is one of the demo's Schedules, with the backups that it left
// behind: past of them, one each period.
type schedule struct {
	name, cron string
	namespaces []string
	ttl        time.Duration
	fsBackup   bool
	snapshots  bool
	paused     bool

	past int
	// period is the time between runs, offset when a run is within it,
	// counted from a Monday's midnight in UTC.
	period, offset time.Duration
	took           time.Duration
}

// schedules: the first ones run every few minutes and keep their backups for
// less than an hour, so that the demo goes on for ever within bounds. Their
// past adds up to 200 finished backups.
var schedules = []schedule{
	{name: "shop-frequent", cron: "*/4 * * * *", namespaces: []string{"shop"}, ttl: 40 * time.Minute, fsBackup: true},
	{name: "billing-frequent", cron: "*/5 * * * *", namespaces: []string{"billing"}, ttl: 40 * time.Minute, snapshots: true},
	{name: "web-frequent", cron: "*/2 * * * *", namespaces: []string{"web"}, ttl: 20 * time.Minute},
	{name: "crm-frequent", cron: "*/6 * * * *", namespaces: []string{"crm"}, ttl: 40 * time.Minute, snapshots: true},
	{name: "shop-hourly", cron: "0 * * * *", namespaces: []string{"shop"}, ttl: 168 * time.Hour, fsBackup: true, past: 110, period: time.Hour, took: 127 * time.Second},
	{name: "billing-6h", cron: "15 */6 * * *", namespaces: []string{"billing"}, ttl: 720 * time.Hour, snapshots: true, past: 30, period: 6 * time.Hour, offset: 15 * time.Minute, took: 214 * time.Second},
	{name: "crm-nightly", cron: "30 1 * * *", namespaces: []string{"crm"}, ttl: 720 * time.Hour, fsBackup: true, past: 20, period: 24 * time.Hour, offset: 90 * time.Minute, took: 71 * time.Second},
	{name: "ops-nightly", cron: "45 1 * * *", namespaces: []string{"ops"}, ttl: 720 * time.Hour, past: 18, period: 24 * time.Hour, offset: 105 * time.Minute, took: 18 * time.Second},
	{name: "erp-nightly", cron: "0 2 * * *", namespaces: []string{"erp"}, ttl: 720 * time.Hour, fsBackup: true, past: 12, period: 24 * time.Hour, offset: 2 * time.Hour, took: 262 * time.Second},
	{name: "all-weekly", cron: "0 3 * * 0", namespaces: []string{"*"}, ttl: 2160 * time.Hour, past: 6, period: 168 * time.Hour, offset: 147 * time.Hour, took: 94 * time.Second},
	{name: "media-weekly", cron: "0 4 * * 6", namespaces: []string{"media"}, ttl: 2160 * time.Hour, fsBackup: true, past: 4, period: 168 * time.Hour, offset: 124 * time.Hour, took: 31 * time.Minute},
	{name: "web-before-2025", cron: "0 5 * * *", namespaces: []string{"web"}, ttl: 720 * time.Hour, paused: true},
}

func (s schedule) template() velerov1.BackupSpec {
	return velerov1.BackupSpec{
		IncludedNamespaces: s.namespaces, StorageLocation: "default", TTL: metav1.Duration{Duration: s.ttl},
		DefaultVolumesToFsBackup: ptr.To(s.fsBackup), SnapshotMoveData: ptr.To(s.snapshots), SnapshotVolumes: ptr.To(s.snapshots),
	}
}

// newest is the last run that had ended by now.
func (s schedule) newest(now time.Time) time.Time {
	return now.Add(-s.took - time.Minute - s.offset).Truncate(s.period).Add(s.offset)
}

func (s schedule) object(now time.Time) *velerov1.Schedule {
	object := &velerov1.Schedule{
		ObjectMeta: metav1.ObjectMeta{Namespace: Namespace, Name: s.name},
		Spec:       velerov1.ScheduleSpec{Schedule: s.cron, Template: s.template(), Paused: s.paused},
	}
	if s.past > 0 {
		object.Status = velerov1.ScheduleStatus{Phase: velerov1.SchedulePhaseEnabled, LastBackup: &metav1.Time{Time: s.newest(now)}}
	}
	return object
}
