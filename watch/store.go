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

// Store holds the watched objects and makes snapshots of them. Writers never wait for a reader: they change the store
// and set a signal of capacity one. The store takes ownership of the objects it is given and cleans them in place.
type Store struct {
	now     func() time.Time
	updates chan struct{}

	mu             sync.Mutex
	seq            uint64
	shared         sharedValues // the values that many jobs have in common
	sumsVolumes    bool         // true if completed volumes of an ended job are only summed up
	agedOut        agedOut      // the jobs that ended too long ago to be kept
	epoch, version int          // epoch counts how often everything was forgotten, version the changes
	kinds          []*kind
	byKind         map[string]*kindState
	jobs           map[types.UID]*jobEntry
	volumes        map[types.UID]*volumeSet
	changedJobs    map[types.UID]*job.Job  // the jobs that differ from the last snapshot, as they are there
	unfolded       map[types.UID]time.Time // the jobs whose volumes changed after the last fold, and when
	sortedJobs     []*job.Job
	activeJobs     []*job.Job
	journal        journal

	malformed sortedSet[MalformedObject]
	events    []ClusterEvent // the newest changes around the jobs; never changed in place
	server    velero.Server
	agents    []velero.NodeAgent
	// lostAgents are the nodes that lost their node-agent, and when.
	lostAgents  map[string]time.Time
	movers      map[velero.VolumeRef]velero.Mover
	maintenance map[string][]velero.MaintenancePod // the ended pods that maintained repositories, by their label
}

type jobEntry struct {
	kind      *kind
	job       *job.Job
	published *job.Job  // the job as it is in the last snapshot, nil if it is not there
	firstSeen time.Time // when it was first seen
	unchanged bool      // true until the job changes; volumes of a first list do not count
	journaled bool      // true once a change of the job was journaled
}

// kindState holds what is known of all objects of one kind, of any kind.
type kindState struct {
	versions   map[types.UID]objectVersion
	uidsByName map[types.NamespacedName]types.UID // detects a resource that was recreated under the same name
	listed     bool                               // true once the kind was listed in full
	objects    keptObjects                        // holds the objects that are kept as they are; nil for jobs and volumes
}

type objectVersion struct {
	name            types.NamespacedName // empty for a summed volume
	resourceVersion string
	owner           types.UID // the job that a volume belongs to
	summed          bool      // true for a volume that is only kept in a sum, to which it added bytes
	bytes           int64
}

// NewStore returns an empty store. now returns the cluster's time; journalLimit is how many changes are kept, 0 for
// none.
func NewStore(now func() time.Time, journalLimit int) *Store {
	return newStore(kinds, now, journalLimit)
}

func newStore(kinds []*kind, now func() time.Time, journalLimit int) *Store {
	s := &Store{now: now, updates: make(chan struct{}, 1), kinds: kinds, journal: journal{limit: journalLimit}}
	s.resetState()
	return s
}

// Updates returns a channel that is ready once something has changed since the last receive.
func (s *Store) Updates() <-chan struct{} { return s.updates }

func (s *Store) signalUpdate() { trySend(s.updates) }

// Upsert adds or updates an object. Unwatched kinds, and pods that are not Velero's, are ignored.
func (s *Store) Upsert(o client.Object) {
	if k, ok := kindByType(o); ok {
		s.upsertReceived(k, &receivedObject{Object: o})
	}
}

func (s *Store) upsertReceived(k *kind, o *receivedObject) {
	wanted := prepareObject(o, k)
	s.mu.Lock()
	defer s.mu.Unlock()
	if !wanted {
		s.dropObject(k, uidOf(o))
	} else if s.putObject(k, o.Object, o.malformed, true) {
		s.signalUpdate()
	}
}

// Delete removes an object by its uid: a resource that was recreated under the same name stays.
func (s *Store) Delete(o client.Object) {
	if k, ok := kindByType(o); ok {
		s.removeObject(k, o)
	}
}

func (s *Store) removeObject(k *kind, o client.Object) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dropObject(k, uidOf(o))
}

// Replace replaces all objects of a kind. The first call sets the state from which a journal starts.
func (s *Store) Replace(resource string, objects []client.Object) {
	k, ok := kindByResource(resource)
	if !ok {
		return
	}
	l := s.startList(k)
	l.restartList(len(objects))
	for _, o := range objects {
		l.addObject(wrapObject(o))
	}
	l.finishList()
}

// Clear removes everything, for a change of the namespace.
func (s *Store) Clear() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.resetState()
	s.signalUpdate()
}

func (s *Store) resetState() {
	s.epoch++
	s.byKind = make(map[string]*kindState, len(s.kinds))
	for _, k := range s.kinds {
		state := &kindState{versions: map[types.UID]objectVersion{}, uidsByName: map[types.NamespacedName]types.UID{}}
		if k.newList != nil {
			state.objects = k.newList()
		}
		s.byKind[k.resource] = state
	}
	s.jobs = map[types.UID]*jobEntry{}
	s.volumes = map[types.UID]*volumeSet{}
	s.changedJobs = map[types.UID]*job.Job{}
	s.unfolded = map[types.UID]time.Time{}
	s.sortedJobs, s.activeJobs = nil, nil
	s.server, s.agents, s.movers, s.maintenance = velero.Server{}, nil, nil, nil
	s.malformed = sortedSet[MalformedObject]{}
	s.events = nil
	s.shared = sharedValues{}
	s.agedOut = newAgedOut(s.agedOut.maxAge)

	s.journal.takeChanges()
}

func (s *Store) countObjects(resource string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.byKind[resource].versions)
}

// putObject adds or updates a prepared object. It is false if this version is known already. The caller holds the
// lock and signals.
func (s *Store) putObject(k *kind, o client.Object, malformed []decode.MalformedField, journaled bool) bool {
	uid, h := uidOf(o), s.byKind[k.resource]
	old, known := h.versions[uid]
	now := objectVersion{
		name:            types.NamespacedName{Namespace: o.GetNamespace(), Name: o.GetName()},
		resourceVersion: o.GetResourceVersion(),
	}
	if known && now.resourceVersion != "" && now.resourceVersion == old.resourceVersion {
		// A list after an interruption repeats known objects.
		return false
	}
	s.version++
	if s.agedOut.isTooOld(o, malformed, s.now()) {
		s.ageOutJob(k, o)
		return true
	}
	s.agedOut.removeJob(uid) // it is not, or no longer, too old
	if other, taken := h.uidsByName[now.name]; taken && other != uid {
		s.dropObject(k, other)
	}
	if k.toVolume != nil && !s.putVolume(k, o, malformed, journaled, &now) {
		s.dropObject(k, uid)
		return true
	}
	if now.summed {
		// Tens of thousands of these volumes are kept only to be counted, so without their names: if a volume is recreated,
		// the sum loses the old one when its deletion or the next list arrives.
		delete(h.uidsByName, now.name)
		now.name = types.NamespacedName{}
	} else {
		h.uidsByName[now.name] = uid
	}
	h.versions[uid] = now
	if len(malformed) > 0 {
		s.malformed.putValue(uid, MalformedObject{k.resource, k.gvk.Kind, o.GetNamespace(), o.GetName(), uid, malformed})
	} else {
		s.malformed.removeValue(uid)
	}
	if k.beforePut != nil {
		k.beforePut(s, o)
	}
	switch {
	case k.toObservedJob != nil:
		k.shareValues(&s.shared, o)
		in := k.toObservedJob(o)
		in.MalformedFields = malformed
		s.putJob(k, uid, in, journaled)
	case h.objects != nil:
		h.objects.putValue(uid, o)
	}
	return true
}

// dropObject removes an object if it is held. The caller holds the lock.
func (s *Store) dropObject(k *kind, uid types.UID) {
	h := s.byKind[k.resource]
	s.agedOut.removeJob(uid)
	old, known := h.versions[uid]
	if !known {
		return
	}
	s.version++
	delete(h.versions, uid)
	s.malformed.removeValue(uid)
	if h.uidsByName[old.name] == uid {
		delete(h.uidsByName, old.name)
	}
	switch {
	case k.toObservedJob != nil:
		s.dropJob(uid, h.listed)
	case k.toVolume != nil:
		s.dropVolume(k, uid, old)
	default:
		h.objects.removeValue(uid)
	}
	s.signalUpdate()
}
