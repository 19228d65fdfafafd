package watch

import (
	"sync"
	"time"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/veltui/veltui/job"
	"github.com/veltui/veltui/velero"
	"github.com/veltui/veltui/velero/decode"
)

// Store holds what the watches have told and makes snapshots of it. Writers
// never wait for a reader: they change the store and set a signal of capacity
// one. It takes over the objects that it is given and cleans them in place.
//
// A [Watcher] has one of its own; another can be fed by hand, for tests and
// benchmarks of what draws snapshots.
type Store struct {
	now   func() time.Time
	dirty chan struct{}

	mu  sync.Mutex
	seq uint64
	// copies are of what many jobs have in common.
	copies copies
	// sums is true if volumes that completed in a job that has ended are only
	// summed up.
	sums bool
	// left are the jobs that ended too long ago to be kept.
	left leftOut
	// era counts how often everything was forgotten.
	era     int
	byKind  map[string]*kindState
	jobs    map[types.UID]*entry
	volumes map[types.UID]*volumes
	// changed are the jobs that differ from the last snapshot, with what that
	// one has; unfolded are those whose volumes changed after the job was
	// folded, with the time of that.
	changed  map[types.UID]*job.Job
	unfolded map[types.UID]time.Time
	ordered  []*job.Job
	active   []*job.Job
	journal  journal

	schedules    objectList[*velerov1.Schedule]
	locations    objectList[*velerov1.BackupStorageLocation]
	repositories objectList[*velerov1.BackupRepository]
	deletions    objectList[*velerov1.DeleteBackupRequest]
	pods         objectList[*corev1.Pod]
	malformed    malformedList
	// seen are the newest changes around the jobs, oldest first. The list is
	// never changed in place.
	seen   []Seen
	server velero.Server
	agents []velero.Agent
	movers map[velero.VolumeRef]velero.Mover
}

// entry is one Backup or Restore.
type entry struct {
	job *job.Job
	// published is the job as the last snapshot has it, nil if it has not.
	published *job.Job
	// begun is when it was first seen. It is fresh as long as nothing of it was
	// seen to change since, which volumes that are only being read do not show.
	begun time.Time
	fresh bool
	// told is true once a change of it was journaled.
	told bool
}

// kindState is what is known of all objects of one kind, whatever the kind.
type kindState struct {
	versions map[types.UID]version
	// named tells a resource that was made anew under the same name.
	named map[types.NamespacedName]types.UID
	// listed is true once the kind was given as a whole.
	listed bool
}

type version struct {
	// name is empty for a summed volume.
	name     types.NamespacedName
	resource string
	// owner is the job that a volume belongs to.
	owner types.UID
	// summed is true for a volume of which only the sum is kept, and bytes are its.
	summed bool
	bytes  int64
}

// NewStore makes an empty store. now tells the cluster's time; journal is how
// many changes of jobs are kept from one snapshot to the next, 0 for none.
func NewStore(now func() time.Time, journalLimit int) *Store {
	s := &Store{now: now, dirty: make(chan struct{}, 1), journal: journal{limit: journalLimit}}
	s.clear()
	return s
}

// Dirty is ready to be received from when something has changed since it was
// received from before.
func (s *Store) Dirty() <-chan struct{} { return s.dirty }

// signal never waits.
func (s *Store) signal() {
	select {
	case s.dirty <- struct{}{}:
	default:
	}
}

// Upsert takes in an object that is new or has changed. Objects of kinds that
// are not watched, and pods that are not Velero's, are ignored.
func (s *Store) Upsert(o client.Object) {
	o, malformed := unwrap(o)
	k, ok := kindOf(o)
	if !ok {
		return
	}
	wanted := prepare(o, k)
	s.mu.Lock()
	defer s.mu.Unlock()
	if wanted {
		if s.put(k.resource, o, malformed, true) {
			s.signal()
		}
	} else {
		s.drop(k.resource, uidOf(o))
	}
}

// Delete takes an object out. It goes by the uid: a resource that was made
// anew under the same name stays. A [cache.DeletedFinalStateUnknown] is taken
// for the object that it holds.
func (s *Store) Delete(o any) {
	if unknown, ok := o.(cache.DeletedFinalStateUnknown); ok {
		o = unknown.Obj
	}
	object, ok := o.(client.Object)
	if !ok {
		return
	}
	object, _ = unwrap(object)
	k, ok := kindOf(object)
	if !ok {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.drop(k.resource, uidOf(object))
}

// Replace makes objects all that there is of a kind, given by its resource
// such as [Backups]. The first time is the state that a journal starts from;
// later ones are journaled as the changes that they bring.
func (s *Store) Replace(resource string, objects []client.Object) {
	k, ok := kindNamed(resource)
	if !ok {
		return
	}
	l := s.list(k)
	for _, o := range objects {
		o, malformed := unwrap(o)
		l.add(&received{o, malformed})
	}
	l.done()
}

// Clear forgets everything, for a change of the namespace.
func (s *Store) Clear() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clear()
	s.signal()
}

func (s *Store) clear() {
	s.era++
	s.byKind = make(map[string]*kindState, len(kinds))
	for i := range kinds {
		s.byKind[kinds[i].resource] = &kindState{versions: map[types.UID]version{}, named: map[types.NamespacedName]types.UID{}}
	}
	s.jobs = map[types.UID]*entry{}
	s.volumes = map[types.UID]*volumes{}
	s.changed = map[types.UID]*job.Job{}
	s.unfolded = map[types.UID]time.Time{}
	s.ordered, s.active = nil, nil
	s.schedules = objectList[*velerov1.Schedule]{}
	s.locations = objectList[*velerov1.BackupStorageLocation]{}
	s.repositories = objectList[*velerov1.BackupRepository]{}
	s.deletions = objectList[*velerov1.DeleteBackupRequest]{}
	s.pods = objectList[*corev1.Pod]{}
	s.server, s.agents, s.movers = velero.Server{}, nil, nil
	s.malformed = malformedList{}
	s.seen = nil
	s.copies = copies{}
	s.left = leftOut{within: s.left.within}

	s.journal.take()
}

// count is how many objects of a kind are held.
func (s *Store) count(resource string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.byKind[resource].versions)
}

// put takes in a prepared object and returns false if it is known already. The
// caller holds the lock and tells of it.
func (s *Store) put(resource string, o client.Object, malformed []decode.Malformed, journaled bool) bool {
	uid, h := uidOf(o), s.byKind[resource]
	old, known := h.versions[uid]
	now := version{name: client.ObjectKeyFromObject(o), resource: o.GetResourceVersion()}
	if known && now.resource != "" && now.resource == old.resource {
		// A list after a break brings back what is known already.
		return false
	}
	if s.left.tooOld(o, malformed, s.now()) {
		s.leave(resource, o)
		return true
	}
	s.left.drop(uid) // it is alive again
	if other, taken := h.named[now.name]; taken && other != uid {
		s.drop(resource, other)
	}
	if v, owner, ok := volumeOf(o); ok {
		if _, left := s.left.jobs[owner]; left && v.Ended() {
			s.drop(resource, uid)
			return true
		}
		if journaled {
			s.age(owner)
		}
		if e := s.jobs[owner]; e != nil {
			owner = e.job.UID // the same text once
			now.summed = s.sums && e.job.Terminal() && v.Phase == velero.VolumeCompleted && len(malformed) == 0 && readable(o)
		}
		v.UID, now.owner, now.bytes = uid, owner, v.Total
		if len(malformed) > 0 {
			v.Malformed = malformed[0]
		}
		grow := 1
		switch {
		case known && old.owner == owner && !old.summed && !now.summed:
			grow = 0
		case known:
			s.dropVolume(resource, uid, old)
		}
		if now.summed {
			s.sumVolume(owner, &v)
		} else {
			s.putVolume(owner, uid, &v, grow)
		}
	}
	if now.summed {
		// Tens of thousands of these are kept only to be counted, so without their
		// names: the sum loses one made anew when its deletion or the next list comes.
		delete(h.named, now.name)
		now.name = types.NamespacedName{}
	} else {
		h.named[now.name] = uid
	}
	h.versions[uid] = now
	s.malformed.put(resource, o, malformed)
	switch o := o.(type) {
	case *velerov1.Backup:
		s.copies.share(o)
		s.putJob(uid, job.Input{Backup: o, Malformed: malformed}, journaled)
	case *velerov1.Restore:
		s.copies.share(o)
		s.putJob(uid, job.Input{Restore: o, Malformed: malformed}, journaled)
	case *velerov1.Schedule:
		s.schedules.put(o)
	case *velerov1.BackupStorageLocation:
		s.sawLocation(o)
		s.locations.put(o)
	case *velerov1.BackupRepository:
		s.repositories.put(o)
	case *velerov1.DeleteBackupRequest:
		s.deletions.put(o)
	case *corev1.Pod:
		s.pods.put(o)
	}
	return true
}

// drop takes an object out if it is held. The caller holds the lock.
func (s *Store) drop(resource string, uid types.UID) {
	h := s.byKind[resource]
	s.left.drop(uid)
	old, known := h.versions[uid]
	if !known {
		return
	}
	delete(h.versions, uid)
	s.malformed.drop(uid)
	if h.named[old.name] == uid {
		delete(h.named, old.name)
	}
	switch resource {
	case Backups, Restores:
		s.dropJob(uid, h.listed)
	case PodVolumeBackups, PodVolumeRestores, DataUploads, DataDownloads:
		s.dropVolume(resource, uid, old)
	case Schedules:
		s.schedules.drop(uid)
	case Locations:
		s.locations.drop(uid)
	case Repositories:
		s.repositories.drop(uid)
	case Deletions:
		s.deletions.drop(uid)
	case Pods:
		s.pods.drop(uid)
	}
	s.signal()
}
