package job

import (
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/veltui/veltui/internal/velero"
)

// lastWriteTimes returns when a server and others last wrote to the job.
func (j *Job) lastWriteTimes() (server, other time.Time) {
	isServer := func(m *metav1.ManagedFieldsEntry) bool { return velero.IsServerManager(m.Manager) }
	return LastWrittenBy(
			j.Object,
			isServer,
		), LastWrittenBy(
			j.Object,
			func(m *metav1.ManagedFieldsEntry) bool { return !isServer(m) },
		)
}

// findOverride reports whether something other than Velero ended the job: Velero records when a job was completed.
func (j *Job) findOverride() (server, other time.Time, ok bool) {
	if !j.Completed.IsZero() || j.Object == nil || !j.IsTerminal() { // the first condition holds for nearly all jobs
		return time.Time{}, time.Time{}, false
	}
	server, other = j.lastWriteTimes()
	return server, other, !server.IsZero() && other.After(j.Created.Add(time.Second))
}

// IsStillRunning reports whether Velero still works on a job that a person ended: it overwrites that status with its
// own, and keeps the job's place (pkg/util/kube/client.go PatchResource, pkg/controller/backup_tracker.go; issue
// 7230).
func (j *Job) IsStillRunning(now time.Time) bool {
	server, other, ok := j.findOverride()
	return ok && !j.Started.IsZero() && server.After(other) && now.Sub(server) < velero.LifelessAfter
}

// HasLostSlot reports whether a person ended a backup that had left the queue and was not started: the server,
// started at since, counts the backup for as long as it lives (pkg/controller/backup_queue_controller.go Reconcile,
// backup_tracker.go; since 1.18).
func (j *Job) HasLostSlot(since time.Time) bool {
	server, other, ok := j.findOverride()
	return ok && j.Kind == Backup && j.Started.IsZero() && server.After(since) && other.After(server)
}

// LastWrittenBy returns when one of the field managers last changed an object: the only clock of objects without
// conditions.
func LastWrittenBy(o metav1.Object, is func(m *metav1.ManagedFieldsEntry) bool) (newest time.Time) {
	fields := o.GetManagedFields()
	for i := range fields {
		if is(&fields[i]) {
			newest = LatestTime(newest, TimeOrZero(fields[i].Time))
		}
	}
	return newest
}

func isAnyManager(*metav1.ManagedFieldsEntry) bool { return true }

// LastWritten returns when an object last changed, as the API server recorded it.
func LastWritten(o metav1.Object) time.Time {
	return LatestTime(o.GetCreationTimestamp().Time, LastWrittenBy(o, isAnyManager))
}

// lastStatusWrite returns when a server or a node-agent of Velero last wrote a status, zero if none did. The writes
// of others are no sign of work, whatever their name, and neither is a label or an annotation of Velero's own.
func lastStatusWrite(o metav1.Object) time.Time {
	fields := o.GetManagedFields()
	exact := slices.ContainsFunc(
		fields,
		func(m metav1.ManagedFieldsEntry) bool { return m.Manager == velero.ServerManager },
	)
	return LastWrittenBy(o, func(m *metav1.ManagedFieldsEntry) bool {
		ours := m.Manager == velero.ServerManager || m.Manager == velero.AgentManager ||
			!exact && velero.IsServerManager(m.Manager) // a rebranded build
		return ours && velero.WritesStatus(m)
	})
}

// TimeOrZero returns a time that may not be set, or the zero time.
func TimeOrZero(t *metav1.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return t.Time
}

// LatestTime returns the latest of several times, the zero time if there is none.
func LatestTime(times ...time.Time) time.Time {
	var newest time.Time
	for _, t := range times {
		if t.After(newest) {
			newest = t
		}
	}
	return newest
}
