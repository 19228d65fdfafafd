package watch

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/veltui/veltui/internal/client"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/velero"
	"github.com/veltui/veltui/internal/velero/decode"
	"github.com/veltui/veltui/internal/velero/veleroapi"
)

// agedOut holds the jobs that ended too long ago to be kept (see [Options.EndedWithin]), reduced to what the snapshot
// needs.
type agedOut struct {
	maxAge          time.Duration // how long ago a job may have ended; 0 keeps all
	jobs            map[types.UID]agedOutJob
	backupLocations map[string]string // the storage locations of backups, by the backup's name
	// counts, bySchedule and byLocation count the jobs by resource, and backups also by schedule and by location.
	counts, bySchedule, byLocation map[string]int
	lastChecked                    time.Time // when the age of the held jobs was last checked
}

// agedOutJob is a job that is left out. Only a backup has more than its resource set.
type agedOutJob struct{ resource, name, schedule, location string }

const ageCheckInterval = time.Minute // how often the age of the held jobs is checked

func newAgedOut(within time.Duration) agedOut {
	return agedOut{maxAge: within, jobs: map[types.UID]agedOutJob{}, backupLocations: map[string]string{},
		counts: map[string]int{}, bySchedule: map[string]int{}, byLocation: map[string]int{}}
}

// isTooOld reports whether a job ended too long ago. A job that still runs, is being deleted or is malformed is kept.
func (l *agedOut) isTooOld(o client.Object, malformed []decode.MalformedField, now time.Time) bool {
	if l.maxAge <= 0 || len(malformed) > 0 || o.GetDeletionTimestamp() != nil {
		return false
	}
	var phase string
	var completed *metav1.Time
	switch o := o.(type) {
	case *veleroapi.Backup:
		phase, completed = string(o.Status.Phase), o.Status.CompletionTimestamp
	case *veleroapi.Restore:
		phase, completed = string(o.Status.Phase), o.Status.CompletionTimestamp
	default:
		return false
	}
	ended := job.LastWritten(o) // nothing else dates a job that failed before it began
	if completed != nil {
		ended = completed.Time
	}
	return velero.IsTerminalPhase(phase) && now.Sub(ended) > l.maxAge
}

func (l *agedOut) addJob(resource string, o client.Object) {
	uid := uidOf(o)
	l.removeJob(uid)
	left := agedOutJob{resource: resource}
	if b, ok := o.(*veleroapi.Backup); ok {
		left.name, left.schedule, left.location = b.Name, internString(
			b.Labels[veleroapi.ScheduleNameLabel],
		), internString(
			b.Spec.StorageLocation,
		)
		l.backupLocations[left.name] = left.location
	}
	l.jobs[uid] = left
	l.adjustCounts(left, 1)
}

func (l *agedOut) adjustCounts(left agedOutJob, n int) {
	l.counts[left.resource] += n
	if left.resource == Backups {
		l.bySchedule[left.schedule] += n
		l.byLocation[left.location] += n
	}
}

func (l *agedOut) removeJob(uid types.UID) {
	if left, known := l.jobs[uid]; known {
		delete(l.jobs, uid)
		delete(l.backupLocations, left.name)
		l.adjustCounts(left, -1)
	}
}

func (l *agedOut) removeAbsent(resource string, present map[types.UID]struct{}) {
	for uid, left := range l.jobs {
		if _, there := present[uid]; left.resource == resource && !there {
			l.removeJob(uid)
		}
	}
}

// isStillAgedOut reports whether a listed object stays left out: an old job, or an ended volume of an old job.
func (l *agedOut) isStillAgedOut(k *kind, o client.Object, malformed []decode.MalformedField, now time.Time) bool {
	if k.toVolume != nil {
		v := k.toVolume(o)
		_, left := l.jobs[volumeOwnerUID(o, k.uidLabel)]
		return left && v.HasEnded()
	}
	_, left := l.jobs[uidOf(o)]
	return left && l.isTooOld(o, malformed, now)
}

// ageOutJob leaves out a job: it drops the job and its ended volumes, and records the job in agedOut.
func (s *Store) ageOutJob(k *kind, o client.Object) {
	uid := uidOf(o)
	s.dropObject(k, uid)
	s.agedOut.addJob(k.resource, o)
	defer s.signalUpdate()
	set := s.volumes[uid]
	if set == nil {
		return // do not search tens of thousands of volumes for a job without any
	}
	kept := map[types.UID]bool{}
	for _, v := range set.mergePending() {
		kept[v.UID] = !v.HasEnded()
	}
	for _, of := range volumeKinds(k.resource) {
		for volume, v := range s.byKind[of.resource].versions {
			if v.owner == uid && !kept[volume] {
				s.dropObject(of, volume)
			}
		}
	}
}

// ageOutJobs leaves out the jobs that have become too old since they were added.
func (s *Store) ageOutJobs() {
	now := s.now()
	if s.agedOut.maxAge <= 0 || now.Sub(s.agedOut.lastChecked) < ageCheckInterval {
		return
	}
	s.agedOut.lastChecked = now
	for _, e := range s.jobs {
		if o, ok := e.job.Object.(client.Object); ok && s.agedOut.isTooOld(o, e.job.MalformedFields, now) {
			s.ageOutJob(e.kind, o)
		}
	}
}
