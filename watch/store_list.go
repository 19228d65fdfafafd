package watch

import (
	"k8s.io/apimachinery/pkg/types"
)

// storeListSink adds a kind's list to a [Store]: the first list object by object, a later one in one step.
type storeListSink struct {
	store   *Store
	kind    *kind
	epoch   int // the store's epoch at the start: a store cleared since then ignores the list
	first   bool
	present map[types.UID]struct{}
	changed []*receivedObject
	onRead  func(read, total int) // called with the progress of the list; may be nil
}

func (s *Store) startList(k *kind) *storeListSink {
	s.mu.Lock()
	defer s.mu.Unlock()
	return &storeListSink{
		store:   s,
		kind:    k,
		epoch:   s.epoch,
		first:   !s.byKind[k.resource].listed,
		present: map[types.UID]struct{}{},
	}
}

func (l *storeListSink) addObject(o *receivedObject) {
	if l.onRead != nil {
		defer l.onRead(1, -1) // without the store's lock
	}
	if !prepareObject(o, l.kind) {
		return
	}
	uid := uidOf(o)
	l.present[uid] = struct{}{}
	s := l.store
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.epoch != l.epoch {
		return
	}
	if l.first {
		s.putObject(l.kind, o.Object, o.malformed, false)
		if e := s.jobs[uid]; e != nil && !e.job.IsTerminal() {
			s.signalUpdate() // a reader waits for running jobs
		}
		return
	}
	known, held := s.byKind[l.kind.resource].versions[uid]
	if !held && s.agedOut.isStillAgedOut(l.kind, o.Object, o.malformed, s.now()) {
		return
	}
	if !held || known.resourceVersion == "" || known.resourceVersion != o.GetResourceVersion() {
		l.changed = append(l.changed, o)
	}
}

// removeObject marks an object as absent. An object already in the store is removed at the end of the list.
func (l *storeListSink) removeObject(o *receivedObject) { delete(l.present, uidOf(o)) }

func (l *storeListSink) restartList(total int) {
	if l.onRead != nil {
		l.onRead(0, total)
	}
	total = min(total, maxItemsPerAnswer) // the API server's word for it
	l.present = make(map[types.UID]struct{}, total)
	l.changed = nil
	if l.first {
		l.store.reserveObjects(l.kind, total)
	}
}

func (l *storeListSink) finishList() {
	s := l.store
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.epoch != l.epoch {
		return
	}
	h := s.byKind[l.kind.resource]
	for uid := range h.versions {
		if _, there := l.present[uid]; !there {
			s.dropObject(l.kind, uid)
		}
	}
	s.agedOut.removeAbsent(l.kind.resource, l.present)
	for _, o := range l.changed {
		if _, there := l.present[uidOf(o)]; there {
			s.putObject(l.kind, o.Object, o.malformed, h.listed)
		}
	}
	h.listed = true
	s.signalUpdate()
}
