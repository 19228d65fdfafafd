package job

import (
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// atWork is how long ago Velero must have written to a job that a person ended, for it
// to count as being worked on.
const atWork = 5 * time.Minute

// writers are when a server and when anything else last wrote to the job, as the API
// server noted it. A server's field manager ends in -server (pkg/cmd/server/server.go,
// SetBasename); velero is the command line.
func (j *Job) writers() (server, other time.Time) {
	isServer := func(manager string) bool { return strings.HasSuffix(manager, "-server") }
	return managedBy(j.Object, isServer), managedBy(j.Object, func(m string) bool { return !isServer(m) })
}

// overridden reports whether something else than Velero seems to have ended the job:
// Velero notes when a job was completed.
func (j *Job) overridden() (server, other time.Time, ok bool) {
	if j.Object == nil || !j.Terminal() || !j.Completed.IsZero() {
		return time.Time{}, time.Time{}, false
	}
	server, other = j.writers()
	return server, other, !server.IsZero() && other.After(j.Created.Add(time.Second))
}

// RunsOn reports whether Velero works on a job on which a person wrote a final phase:
// Velero writes its own copy of the status over it, and keeps its worker and its place
// in the queue (pkg/util/kube/client.go PatchResource, pkg/controller/backup_tracker.go;
// Velero issue 7230).
func (j *Job) RunsOn(now time.Time) bool {
	server, other, ok := j.overridden()
	return ok && !j.Started.IsZero() && server.After(other) && now.Sub(server) < atWork
}

// LostSlot reports whether a person ended a backup that the server may have let out of
// its queue, but not started: the server counts it as running for as long as it lives
// (pkg/controller/backup_queue_controller.go Reconcile, backup_tracker.go; since
// 1.18). since is the server's start.
func (j *Job) LostSlot(since time.Time) bool {
	server, other, ok := j.overridden()
	return ok && j.Kind == Backup && j.Started.IsZero() && server.After(since) && other.After(server)
}

// managedBy is the newest time at which the API server noted that one of the field
// managers changed the object, zero if none did.
func managedBy(object metav1.Object, is func(manager string) bool) time.Time {
	var newest time.Time
	for _, entry := range object.GetManagedFields() {
		if is(entry.Manager) {
			newest = Latest(newest, TimeOf(entry.Time))
		}
	}
	return newest
}

// newestManaged is when any field manager last changed the object: the only clock that a
// resource without conditions carries.
func newestManaged(object metav1.Object) time.Time {
	return managedBy(object, func(string) bool { return true })
}

// managedByVelero is when Velero itself last changed the object, or anything if none of
// the managers bears Velero's name: an annotation that a person touches is no progress.
func managedByVelero(object metav1.Object) time.Time {
	newest := managedBy(object, func(m string) bool { return strings.HasPrefix(m, "velero") })
	if newest.IsZero() {
		return newestManaged(object)
	}
	return newest
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
