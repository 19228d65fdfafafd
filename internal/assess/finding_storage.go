package assess

import (
	"cmp"
	"strings"
	"time"

	"github.com/veltui/veltui/internal/diagnosis"
	"github.com/veltui/veltui/internal/etcd"
	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/velero"
	"github.com/veltui/veltui/internal/velero/veleroapi"
	"github.com/veltui/veltui/watch"
)

// addLocations lists the locations that cannot be used.
func (l *findingBuilder) addLocations() {
	users := map[string]int{}
	for _, s := range l.Snapshot.Schedules {
		if !s.Spec.Paused {
			users[l.resolveLocation(s.Spec.Template.StorageLocation)]++
		}
	}
	for _, b := range l.JudgeLocations() {
		f := Finding{Severity: Warning}
		switch {
		case IsAlarming(b.Notes):
			f.Reason, f.Summary, f.locationCause = diagnosis.LocationUnavailable, cmp.Or(
				string(b.Status.Phase),
				velero.LocationUnavailable,
			), cmp.Or(
				trimLocationError(b.Status.Message),
				"Velero gives no reason",
			)
			if users[b.Name] > 0 || b.Spec.Default {
				f.Severity = Critical
			}
		case b.Spec.AccessMode == veleroapi.BackupStorageLocationAccessModeReadOnly && users[b.Name] > 0:
			f.Reason, f.Summary, f.locationCause = diagnosis.LocationReadOnly, "ReadOnly", "Velero makes no backup to it"
		default:
			continue
		}
		if added := l.addObjectFinding(watch.StorageLocations, b.BackupStorageLocation, f); added != nil {
			l.locations[b.Name] = added
		}
	}
}

// trimLocationError returns the message without Velero's own lead
// (pkg/controller/backup_storage_location_controller.go) and that of plugins' calls.
func trimLocationError(message string) string {
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
	); ok { // after the attempts and ids of the S3 client
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

// explainLocations adds which schedules a location keeps from making backups, and why.
func (l *findingBuilder) explainLocations() {
	for _, f := range l.locations {
		var users []string
		for _, affected := range f.Affects {
			if name, ok := strings.CutPrefix(affected, "schedule/"); ok {
				users = append(users, name)
			}
		}
		if len(users) > 0 {
			f.Summary += ", so the backups of " + human.JoinNames(users, 3) + " fail"
		}
		f.Summary += ": " + f.locationCause
	}
}

func (l *findingBuilder) addRepositories() {
	for _, r := range l.JudgeRepositories() {
		location := l.locations[r.Spec.BackupStorageLocation]
		away := location != nil && location.Reason == diagnosis.LocationUnavailable
		if !r.finding.Reason.IsZero() && !(away && location.addAffected("repository/"+r.Name)) {
			l.addObjectFinding(watch.Repositories, r.BackupRepository, r.finding)
		}
	}
}

// addDeletions adds one finding for each backup: of several requests, which come newest first, the newest.
func (l *findingBuilder) addDeletions() {
	newest := map[string]*Finding{}
	for _, d := range l.JudgeDeletions() {
		failed := d.Status.Phase == veleroapi.DeleteBackupRequestPhaseProcessed
		f, again := newest[d.Spec.BackupName]
		if again && failed {
			if f != nil {
				f.countRepeat(d.CreationTimestamp.Time)
			}
			continue
		}
		newest[d.Spec.BackupName] = nil
		var cause *Finding
		switch {
		case !failed:
			cause = l.server
		case d.Backup != nil:
			// While Velero deletes nothing from the backup's location, a new request fails too.
			cause = l.locations[d.Backup.StorageLocation]
		}
		if !d.finding.Reason.IsZero() && (d.Backup == nil || !l.hasFinding(d.Backup.UID)) &&
			!cause.addAffected("deletion/"+d.Name) {
			newest[d.Spec.BackupName] = l.addObjectFinding(watch.DeleteRequests, d.DeleteBackupRequest, d.finding)
		}
	}
	for _, f := range newest {
		f.nameRepeats("request")
	}
}

// addEtcd lists OpenShift's etcd backups: for a schedule whose last backup failed, only the schedule.
func (l *findingBuilder) addEtcd() {
	cluster, now := l.Snapshot.Etcd, l.World.Now
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
			Tab:       TabEtcd,
			Since:     since,
			Summary:   human.Capitalize(v.Text),
			isStuck:   v.State() == diagnosis.Stuck,
		}
		if f.isStuck || v.Reason == etcd.FalseCompletion {
			f.Severity = Critical
		}
		l.addFinding(f)
	}
	newestGood := false
	for i := range cluster.Backups { // newest first
		b := cluster.JudgeBackup(&cluster.Backups[i], now)
		newestGood = newestGood || b.Verdict.Reason == etcd.BackupCompleted
		over := b.HasEnded() &&
			(b.Schedule != "" || newestGood || now.Sub(b.Condition.LastTransitionTime.Time) >= maxFailureAge)
		if behind := b.Verdict.Reason == etcd.BehindStuckBackup; behind ||
			b.IsTroubled && !over && b.Verdict.Reason != etcd.BackupSkipped {
			add("etcdbackup", b.Resource, b.Verdict, b.Created)
		}
	}
	for i := range cluster.Schedules {
		s := cluster.JudgeSchedule(&cluster.Schedules[i], now)
		if s.IsTroubled && (s.Running == nil || !s.Running.IsTroubled) {
			add("etcdschedule", s.Resource, s.Verdict, time.Time{})
		}
	}
}
