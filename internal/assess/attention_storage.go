package assess

import (
	"cmp"
	"strings"
	"time"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"

	"github.com/veltui/veltui/internal/diagnosis"
	"github.com/veltui/veltui/internal/etcd"
	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/velero"
	"github.com/veltui/veltui/watch"
)

// addLocations lists those that cannot be used.
func (l *attention) addLocations() {
	users := map[string]int{}
	for _, s := range l.Snapshot.Schedules {
		if !s.Spec.Paused {
			users[l.locationOf(s.Spec.Template.StorageLocation)]++
		}
	}
	for _, b := range l.Locations() {
		f := Finding{Severity: Warning}
		switch {
		case Alarmed(b.Notes):
			f.Reason, f.Summary, f.why = diagnosis.LocationUnavailable, cmp.Or(
				string(b.Status.Phase),
				velero.LocationUnavailable,
			), cmp.Or(
				locationError(b.Status.Message),
				"Velero gives no reason",
			)
			if users[b.Name] > 0 || b.Spec.Default {
				f.Severity = Critical
			}
		case b.Spec.AccessMode == velerov1.BackupStorageLocationAccessModeReadOnly && users[b.Name] > 0:
			f.Reason, f.Summary, f.why = diagnosis.LocationReadOnly, "ReadOnly", "Velero makes no backup to it"
		default:
			continue
		}
		if added := l.addOf(watch.Locations, b.BackupStorageLocation, f); added != nil {
			l.locations[b.Name] = added
		}
	}
}

// locationError is the message without Velero's own lead
// (pkg/controller/backup_storage_location_controller.go) and that of plugins' calls.
func locationError(message string) string {
	if _, rest, ok := strings.Cut(
		message,
		" is unavailable: ",
	); ok &&
		strings.HasPrefix(message, "BackupStorageLocation ") {
		message = rest
	}
	if _, cause, ok := strings.Cut(
		message,
		"request send failed, ",
	); ok { // behind the attempts and ids of the S3 client
		message = cause
	}
	if _, cause, ok := strings.Cut(
		message,
		"\": ",
	); ok &&
		(strings.HasPrefix(message, "Get \"") || strings.HasPrefix(message, "Put \"")) {
		message = cause
	}
	return human.Shorten(strings.TrimSuffix(strings.TrimPrefix(message, "rpc error: code = Unknown desc = "), "."), 200)
}

// explainLocations says which schedules a location keeps from making backups, and why.
func (l *attention) explainLocations() {
	for _, f := range l.locations {
		var users []string
		for _, affected := range f.Affects {
			if name, ok := strings.CutPrefix(affected, "schedule/"); ok {
				users = append(users, name)
			}
		}
		if len(users) > 0 {
			f.Summary += ", so the backups of " + human.List(users, 3) + " fail"
		}
		f.Summary += ": " + f.why
	}
}

func (l *attention) addRepositories() {
	for _, r := range l.Repositories() {
		location := l.locations[r.Spec.BackupStorageLocation]
		away := location != nil && location.Reason == diagnosis.LocationUnavailable
		if r.finding.Reason != "" && !(away && location.causes("repository/"+r.Name)) {
			l.addOf(watch.Repositories, r.BackupRepository, r.finding)
		}
	}
}

// addDeletions has one finding for each backup: of several requests, which come newest first, the newest.
func (l *attention) addDeletions() {
	newest := map[string]*Finding{}
	for _, d := range l.Deletions() {
		failed := d.Status.Phase == velerov1.DeleteBackupRequestPhaseProcessed
		f, again := newest[d.Spec.BackupName]
		if again && failed {
			if f != nil {
				f.repeat(d.CreationTimestamp.Time)
			}
			continue
		}
		newest[d.Spec.BackupName] = nil
		var cause *Finding
		switch {
		case !failed:
			cause = l.server
		case d.Backup != nil: // as long as Velero deletes nothing from its location, a new request fails too
			cause = l.locations[d.Backup.StorageLocation]
		}
		if d.finding.Reason != "" && (d.Backup == nil || !l.isListed(d.Backup.UID)) &&
			!cause.causes("deletion/"+d.Name) {
			newest[d.Spec.BackupName] = l.addOf(watch.Deletions, d.DeleteBackupRequest, d.finding)
		}
	}
}

// addEtcd lists OpenShift's etcd backups: of a schedule that failed its last backup, only the schedule.
func (l *attention) addEtcd() {
	cluster, now := l.Snapshot.Etcd, l.Environment.Now
	if cluster == nil {
		return
	}
	add := func(kind string, r etcd.Resource, v diagnosis.Verdict, since time.Time) {
		f := Finding{
			Severity:  Warning,
			Reason:    v.Reason,
			Kind:      kind,
			Namespace: etcd.Namespace,
			Name:      r.Name,
			UID:       r.UID,
			In:        InEtcd,
			Since:     since,
			Summary:   human.Capital(v.Text),
			stuck:     v.State() == diagnosis.Stuck,
		}
		if f.stuck || v.Reason == etcd.FalseCompletion {
			f.Severity = Critical
		}
		l.add(f)
	}
	newestGood := false
	for i := range cluster.Backups { // newest first
		b := cluster.Judge(&cluster.Backups[i], now)
		newestGood = newestGood || b.Verdict.Reason == etcd.BackupCompleted
		over := b.Ended() &&
			(b.Schedule != "" || newestGood || now.Sub(b.Condition.LastTransitionTime.Time) >= endedRecently)
		if behind := b.Verdict.Reason == etcd.BehindStuckBackup; behind ||
			b.Trouble && !over && b.Verdict.Reason != etcd.BackupSkipped {
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
