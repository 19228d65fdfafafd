package job

import (
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/veltui/veltui/internal/velero"
)

// writers are when a server and others last wrote to the job.
func (j *Job) writers() (server, other time.Time) {
	isServer := func(m *metav1.ManagedFieldsEntry) bool { return velero.IsServerManager(m.Manager) }
	return WrittenBy(
			j.Object,
			isServer,
		), WrittenBy(
			j.Object,
			func(m *metav1.ManagedFieldsEntry) bool { return !isServer(m) },
		)
}

// overridden reports whether something else ended the job: Velero notes when a job was completed.
func (j *Job) overridden() (server, other time.Time, ok bool) {
	if !j.Completed.IsZero() || j.Object == nil || !j.Terminal() { // the first holds of nearly all jobs
		return time.Time{}, time.Time{}, false
	}
	server, other = j.writers()
	return server, other, !server.IsZero() && other.After(j.Created.Add(time.Second))
}

// RunsOn: Velero works on a job that a person ended: it writes its own status over that, and keeps its
// place (pkg/util/kube/client.go PatchResource, pkg/controller/backup_tracker.go; issue 7230).
func (j *Job) RunsOn(now time.Time) bool {
	server, other, ok := j.overridden()
	return ok && !j.Started.IsZero() && server.After(other) && now.Sub(server) < velero.Lifeless
}

// LostSlot: a person ended a backup that left the queue and was not started: the server, started at since, counts
// it as long as it lives (pkg/controller/backup_queue_controller.go Reconcile, backup_tracker.go; since 1.18).
func (j *Job) LostSlot(since time.Time) bool {
	server, other, ok := j.overridden()
	return ok && j.Kind == Backup && j.Started.IsZero() && server.After(since) && other.After(server)
}

// WrittenBy is when one of the field managers last changed an object: the only clock of one without conditions.
func WrittenBy(o metav1.Object, is func(m *metav1.ManagedFieldsEntry) bool) (newest time.Time) {
	fields := o.GetManagedFields()
	for i := range fields {
		if is(&fields[i]) {
			newest = Latest(newest, TimeOf(fields[i].Time))
		}
	}
	return newest
}

func anyManager(*metav1.ManagedFieldsEntry) bool { return true }

// LastWritten is when an object last changed, as the API server noted it.
func LastWritten(o metav1.Object) time.Time {
	return Latest(o.GetCreationTimestamp().Time, WrittenBy(o, anyManager))
}

// worked is when a server or a node-agent of Velero last wrote a status, zero if none did. What others write is no
// work, whatever their name, nor is a label or an annotation of Velero's own.
func worked(o metav1.Object) time.Time {
	fields := o.GetManagedFields()
	exact := slices.ContainsFunc(
		fields,
		func(m metav1.ManagedFieldsEntry) bool { return m.Manager == velero.ServerManager },
	)
	return WrittenBy(o, func(m *metav1.ManagedFieldsEntry) bool {
		ours := m.Manager == velero.ServerManager || m.Manager == velero.AgentManager ||
			!exact && velero.IsServerManager(m.Manager) // a rebranded build
		return ours && velero.WritesStatus(m)
	})
}

// TimeOf is a time that may not be set, else the zero time.
func TimeOf(t *metav1.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return t.Time
}

// Latest is the latest of some moments, the zero time if there is none.
func Latest(times ...time.Time) time.Time {
	var newest time.Time
	for _, t := range times {
		if t.After(newest) {
			newest = t
		}
	}
	return newest
}
