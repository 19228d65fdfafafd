package watch

import (
	"time"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/veltui/veltui/internal/client"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/velero"
	"github.com/veltui/veltui/internal/velero/decode"
)

// leftOut are the jobs that ended too long ago to be kept (see [Options.EndedWithin]), with what else needs of them.
type leftOut struct {
	within                         time.Duration // how long ago a job may have ended; 0 keeps all
	jobs                           map[types.UID]leftJob
	locations                      map[string]string // where backups lie, by name
	counts, ofSchedule, inLocation map[string]int    // by resource, and of backups also by schedule and by location
	aged                           time.Time         // when those that are held were last gone through
}

// leftJob is a job that is left out. Only a backup has more than a resource.
type leftJob struct{ resource, name, schedule, location string }

const agePause = time.Minute // between looks at the age of jobs that are held

func newLeftOut(within time.Duration) leftOut {
	return leftOut{within: within, jobs: map[types.UID]leftJob{}, locations: map[string]string{},
		counts: map[string]int{}, ofSchedule: map[string]int{}, inLocation: map[string]int{}}
}

// tooOld reports whether a job ended too long ago. One that goes on, is being deleted or malformed is kept.
func (l *leftOut) tooOld(o client.Object, malformed []decode.Malformed, now time.Time) bool {
	if l.within <= 0 || len(malformed) > 0 || o.GetDeletionTimestamp() != nil {
		return false
	}
	var phase string
	var completed *metav1.Time
	switch o := o.(type) {
	case *velerov1.Backup:
		phase, completed = string(o.Status.Phase), o.Status.CompletionTimestamp
	case *velerov1.Restore:
		phase, completed = string(o.Status.Phase), o.Status.CompletionTimestamp
	default:
		return false
	}
	ended := job.LastWritten(o) // nothing else dates what failed before it began
	if completed != nil {
		ended = completed.Time
	}
	return velero.TerminalPhase(phase) && now.Sub(ended) > l.within
}

func (l *leftOut) put(resource string, o client.Object) {
	uid := uidOf(o)
	l.drop(uid)
	left := leftJob{resource: resource}
	if b, ok := o.(*velerov1.Backup); ok {
		left.name, left.schedule, left.location = b.Name, intern(
			b.Labels[velerov1.ScheduleNameLabel],
		), intern(
			b.Spec.StorageLocation,
		)
		l.locations[left.name] = left.location
	}
	l.jobs[uid] = left
	l.count(left, 1)
}

func (l *leftOut) count(left leftJob, n int) {
	l.counts[left.resource] += n
	if left.resource == Backups {
		l.ofSchedule[left.schedule] += n
		l.inLocation[left.location] += n
	}
}

func (l *leftOut) drop(uid types.UID) {
	if left, known := l.jobs[uid]; known {
		delete(l.jobs, uid)
		delete(l.locations, left.name)
		l.count(left, -1)
	}
}

func (l *leftOut) absent(resource string, present map[types.UID]struct{}) {
	for uid, left := range l.jobs {
		if _, there := present[uid]; left.resource == resource && !there {
			l.drop(uid)
		}
	}
}

// stays reports whether a listed object stays left out: an old job, or a volume of one that has ended.
func (l *leftOut) stays(k *kind, o client.Object, malformed []decode.Malformed, now time.Time) bool {
	if k.volume != nil {
		v := k.volume(o)
		_, left := l.jobs[ownerOf(o, k.uidLabel)]
		return left && v.Ended()
	}
	_, left := l.jobs[uidOf(o)]
	return left && l.tooOld(o, malformed, now)
}

// leave leaves a job out, and what is held of it and of its volumes that have ended.
func (s *Store) leave(k *kind, o client.Object) {
	uid := uidOf(o)
	s.drop(k, uid)
	s.left.put(k.resource, o)
	defer s.signal()
	set := s.volumes[uid]
	if set == nil {
		return // without a volume there is nothing to look for among tens of thousands
	}
	kept := map[types.UID]bool{}
	for _, v := range set.fold() {
		kept[v.UID] = !v.Ended()
	}
	for _, of := range volumeKinds(k.resource) {
		for volume, v := range s.byKind[of.resource].versions {
			if v.owner == uid && !kept[volume] {
				s.drop(of, volume)
			}
		}
	}
}

// ageOut leaves out the jobs that have become too old since they were taken in.
func (s *Store) ageOut() {
	now := s.now()
	if s.left.within <= 0 || now.Sub(s.left.aged) < agePause {
		return
	}
	s.left.aged = now
	for _, e := range s.jobs {
		if o, ok := e.job.Object.(client.Object); ok && s.left.tooOld(o, e.job.Malformed, now) {
			s.leave(e.kind, o)
		}
	}
}
