package watch

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/veltui/veltui/internal/client"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/velero"
	"github.com/veltui/veltui/internal/velero/decode"
)

// Store holds what the watches have told and makes snapshots of it. Writers never wait for a reader: they change the
// store and set a signal of capacity one. It takes over the objects that it is given and cleans them in place.
type Store struct {
	now   func() time.Time
	dirty chan struct{}

	mu           sync.Mutex
	seq          uint64
	copies       copies  // of what many jobs have in common
	sums         bool    // true if volumes that completed in a job that has ended are only summed up
	left         leftOut // the jobs that ended too long ago to be kept
	era, version int     // counts how often everything was forgotten, and version what has changed since
	kinds        []*kind
	byKind       map[string]*kindState
	jobs         map[types.UID]*entry
	volumes      map[types.UID]*volumes
	changed      map[types.UID]*job.Job  // the jobs that differ from the last snapshot, with what that one has
	unfolded     map[types.UID]time.Time // those whose volumes changed after the job was folded, and when
	ordered      []*job.Job
	active       []*job.Job
	journal      journal

	malformed sortedSet[Malformed]
	seen      []Seen // the newest changes around the jobs; never changed in place
	server    velero.Server
	agents    []velero.Agent
	// agentsGone are the nodes that lost their node-agent, and when.
	agentsGone map[string]time.Time
	movers     map[velero.VolumeRef]velero.Mover
}

type entry struct {
	kind      *kind
	job       *job.Job
	published *job.Job  // the job as the last snapshot has it, nil if it has not
	begun     time.Time // when it was first seen
	fresh     bool      // true until something of it changed; volumes that are only being read do not count
	told      bool      // true once a change of it was journaled
}

// kindState is what is known of all objects of one kind, whatever the kind.
type kindState struct {
	versions map[types.UID]version
	named    map[types.NamespacedName]types.UID // tells a resource that was made anew under the same name
	listed   bool                               // true once the kind was given as a whole
	list     keptList                           // holds the objects that are kept as they are; nil for jobs and volumes
}

type version struct {
	name     types.NamespacedName // empty for a summed volume
	resource string
	owner    types.UID // the job that a volume belongs to
	summed   bool      // true for a volume of which only the sum is kept, and bytes are its
	bytes    int64
}

// NewStore makes an empty store. now tells the cluster's time; journalLimit is how many changes are kept, 0 for none.
func NewStore(now func() time.Time, journalLimit int) *Store {
	return newStore(kinds, now, journalLimit)
}

func newStore(kinds []*kind, now func() time.Time, journalLimit int) *Store {
	s := &Store{now: now, dirty: make(chan struct{}, 1), kinds: kinds, journal: journal{limit: journalLimit}}
	s.clear()
	return s
}

// Dirty is ready once something has changed since it was received from.
func (s *Store) Dirty() <-chan struct{} { return s.dirty }

func (s *Store) signal() { notify(s.dirty) }

// Upsert takes in a new or changed object. Unwatched kinds, and pods that are not Velero's, are ignored.
func (s *Store) Upsert(o client.Object) {
	if k, ok := kindOf(o); ok {
		s.upsert(k, &received{Object: o})
	}
}

func (s *Store) upsert(k *kind, o *received) {
	wanted := prepare(o.Object, k)
	s.mu.Lock()
	defer s.mu.Unlock()
	if !wanted {
		s.drop(k, uidOf(o))
	} else if s.put(k, o.Object, o.malformed, true) {
		s.signal()
	}
}

// Delete takes an object out by its uid: a resource that was made anew under the same name stays.
func (s *Store) Delete(o client.Object) {
	if k, ok := kindOf(o); ok {
		s.remove(k, o)
	}
}

func (s *Store) remove(k *kind, o client.Object) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.drop(k, uidOf(o))
}

// Replace makes objects all that there is of a kind. The first time is the state that a journal starts from.
func (s *Store) Replace(resource string, objects []client.Object) {
	k, ok := kindNamed(resource)
	if !ok {
		return
	}
	l := s.list(k)
	for _, o := range objects {
		l.add(wrap(o))
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
	s.byKind = make(map[string]*kindState, len(s.kinds))
	for _, k := range s.kinds {
		state := &kindState{versions: map[types.UID]version{}, named: map[types.NamespacedName]types.UID{}}
		if k.newList != nil {
			state.list = k.newList()
		}
		s.byKind[k.resource] = state
	}
	s.jobs = map[types.UID]*entry{}
	s.volumes = map[types.UID]*volumes{}
	s.changed = map[types.UID]*job.Job{}
	s.unfolded = map[types.UID]time.Time{}
	s.ordered, s.active = nil, nil
	s.server, s.agents, s.movers = velero.Server{}, nil, nil
	s.malformed = sortedSet[Malformed]{}
	s.seen = nil
	s.copies = copies{}
	s.left = newLeftOut(s.left.within)

	s.journal.take()
}

func (s *Store) count(resource string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.byKind[resource].versions)
}

// put returns false if a prepared object is known already. The caller holds the lock and signals.
func (s *Store) put(k *kind, o client.Object, malformed []decode.Malformed, journaled bool) bool {
	uid, h := uidOf(o), s.byKind[k.resource]
	old, known := h.versions[uid]
	now := version{
		name:     types.NamespacedName{Namespace: o.GetNamespace(), Name: o.GetName()},
		resource: o.GetResourceVersion(),
	}
	if known && now.resource != "" && now.resource == old.resource {
		// A list after a break brings back what is known already.
		return false
	}
	s.version++
	if s.left.tooOld(o, malformed, s.now()) {
		s.leave(k, o)
		return true
	}
	s.left.drop(uid) // it is alive again
	if other, taken := h.named[now.name]; taken && other != uid {
		s.drop(k, other)
	}
	if k.volume != nil && !s.putVolume(k, o, malformed, journaled, &now) {
		s.drop(k, uid)
		return true
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
	if len(malformed) > 0 {
		s.malformed.put(uid, Malformed{k.resource, k.gvk.Kind, o.GetNamespace(), o.GetName(), uid, malformed})
	} else {
		s.malformed.drop(uid)
	}
	if k.observe != nil {
		k.observe(s, o)
	}
	switch {
	case k.input != nil:
		k.share(&s.copies, o)
		in := k.input(o)
		in.Malformed = malformed
		s.putJob(k, uid, in, journaled)
	case h.list != nil:
		h.list.put(uid, o)
	}
	return true
}

// drop takes an object out if it is held. The caller holds the lock.
func (s *Store) drop(k *kind, uid types.UID) {
	h := s.byKind[k.resource]
	s.left.drop(uid)
	old, known := h.versions[uid]
	if !known {
		return
	}
	s.version++
	delete(h.versions, uid)
	s.malformed.drop(uid)
	if h.named[old.name] == uid {
		delete(h.named, old.name)
	}
	switch {
	case k.input != nil:
		s.dropJob(uid, h.listed)
	case k.volume != nil:
		s.dropVolume(k, uid, old)
	default:
		h.list.drop(uid)
	}
	s.signal()
}
