package watch

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/veltui/veltui/internal/client"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/velero"
	"github.com/veltui/veltui/internal/velero/decode"
	"github.com/veltui/veltui/internal/velero/veleroapi"
)

// putJob adds or updates a job. It folds the job at once, so that no number is lost between two snapshots.
func (s *Store) putJob(k *kind, uid types.UID, in job.Observation, journaled bool) {
	in.ObservedAt = s.now()
	s.markFirstSeen(uid)
	e := s.jobs[uid]
	if e == nil {
		e = &jobEntry{kind: k, firstSeen: in.ObservedAt, unchanged: true}
		s.jobs[uid] = e
	}
	s.foldJob(uid, e, in, journaled)
}

// markFirstSeen ends a job's first state, since a change follows. Volumes read before are folded as part of its first
// state.
func (s *Store) markFirstSeen(uid types.UID) {
	e := s.jobs[uid]
	if e == nil || !e.unchanged {
		return
	}
	if _, unfolded := s.unfolded[uid]; unfolded {
		s.foldVolumesOf(uid, e, s.now())
	}
	e.unchanged = false
}

func (s *Store) foldJob(uid types.UID, e *jobEntry, in job.Observation, journaled bool) {
	if v := s.volumes[uid]; v != nil {
		in.Volumes, in.Completed = v.mergePending(), v.completedSum
		if v.count == 0 {
			delete(s.volumes, uid)
		}
	}
	delete(s.unfolded, uid)
	next := job.Fold(e.job, in)
	if next == e.job {
		return
	}
	e.job = next
	s.markChanged(uid, e)
	if e.journaled = e.journaled || journaled; journaled {
		s.journal.recordChange(Change{Job: next})
	}
}

// dropJob removes a job. A job of an unfinished first list was never journaled.
func (s *Store) dropJob(uid types.UID, listed bool) {
	e := s.jobs[uid]
	if e == nil {
		return
	}
	delete(s.jobs, uid)
	delete(s.unfolded, uid)
	s.markChanged(uid, e)
	if listed || e.journaled {
		s.journal.recordChange(Change{Job: e.job, Deleted: true})
	}
}

// markChanged records the last snapshot's version of a changed job.
func (s *Store) markChanged(uid types.UID, e *jobEntry) {
	if _, noted := s.changedJobs[uid]; !noted {
		s.changedJobs[uid] = e.published
	}
}

// putVolume adds a volume and completes its version. It is false for an ended volume of a job that is left out.
func (s *Store) putVolume(
	k *kind,
	o client.Object,
	malformed []decode.MalformedField,
	journaled bool,
	now *objectVersion,
) bool {
	v, owner := newVolume(k, o, malformed), volumeOwnerUID(o, k.uidLabel)
	uid := v.UID
	if _, left := s.agedOut.jobs[owner]; left && v.HasEnded() {
		return false
	}
	if journaled {
		s.markFirstSeen(owner)
	}
	if e := s.jobs[owner]; e != nil {
		owner = e.job.UID // share the text
		now.summed = s.sumsVolumes && e.job.IsTerminal() && v.Phase == velero.VolumeCompleted && len(malformed) == 0 &&
			hasUIDLabel(o)
	}
	now.owner, now.bytes = owner, v.Total
	grow := 1
	if old, known := s.byKind[k.resource].versions[uid]; known {
		if old.owner == owner && !old.summed && !now.summed {
			grow = 0
		} else {
			s.dropVolume(k, uid, old)
		}
	}
	set := s.volumes[owner]
	switch {
	case owner == "":
		return true
	case set == nil:
		set = &volumeSet{}
		s.volumes[owner] = set
	}
	if now.summed {
		set.completedSum = set.completedSum.AddVolume(&v)
		set.count++
	} else {
		set.putVolume(uid, &v, grow)
	}
	s.markVolumesChanged(owner, set)
	return true
}

func (s *Store) dropVolume(k *kind, uid types.UID, old objectVersion) {
	set := s.volumes[old.owner]
	switch {
	case set == nil:
		return
	case old.summed:
		set.completedSum = set.completedSum.RemoveVolume(k.gvk.GroupVersion() == veleroapi.GroupVersion, old.bytes)
		set.count--
	default:
		set.putVolume(uid, nil, -1)
	}
	s.markVolumesChanged(old.owner, set)
}

func (s *Store) markVolumesChanged(owner types.UID, set *volumeSet) {
	switch {
	case s.jobs[owner] != nil:
		s.unfolded[owner] = s.now()
	case set.count == 0:
		// Nobody will ask for the volumes of a deleted job.
		delete(s.volumes, owner)
	}
}

// foldVolumesOf folds a job whose volumes changed. An unchanged job is folded as if first seen, so that it does not
// matter whether the job or its volumes came first.
func (s *Store) foldVolumesOf(uid types.UID, e *jobEntry, at time.Time) {
	in := e.kind.toObservedJob(e.job.Object.(client.Object))
	in.ObservedAt, in.MalformedFields = at, e.job.MalformedFields
	if e.unchanged {
		e.job, in.ObservedAt, in.VolumesObservedAt = nil, e.firstSeen, at
	}
	s.foldJob(uid, e, in, !e.unchanged)
}

// reserveObjects makes room for the objects of a kind of which there are none yet: a map that grows is copied again and
// again.
func (s *Store) reserveObjects(k *kind, n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	state := s.byKind[k.resource]
	if len(state.versions) > 0 {
		return
	}
	state.versions = make(map[types.UID]objectVersion, n)
	state.uidsByName = make(map[types.NamespacedName]types.UID, n)
	if k.toObservedJob != nil && len(s.jobs) == 0 {
		s.jobs = make(map[types.UID]*jobEntry, n)
		s.changedJobs = make(map[types.UID]*job.Job, n)
	}
}
