package watch

import (
	"k8s.io/apimachinery/pkg/types"
)

// storeList is a list of one kind on its way into a [Store]. The first one of a
// kind is there object by object, as it is read; a later one becomes true in one
// step, deletions included, and until then only what has changed is kept of it.
type storeList struct {
	store *Store
	kind  *kind
	// era is the store's at the start: one that has forgotten everything since
	// wants none of it.
	era     int
	first   bool
	present map[types.UID]struct{}
	changed []*received
}

func (s *Store) list(k *kind) listing {
	s.mu.Lock()
	defer s.mu.Unlock()
	return &storeList{store: s, kind: k, era: s.era, first: !s.byKind[k.resource].listed, present: map[types.UID]struct{}{}}
}

func (l *storeList) add(o *received) {
	if !prepare(o.Object, l.kind) {
		return
	}
	uid := uidOf(o)
	l.present[uid] = struct{}{}
	s := l.store
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.era != l.era {
		return
	}
	if l.first {
		s.put(l.kind, o.Object, o.malformed, false)
		if e := s.jobs[uid]; e != nil && !e.job.Terminal() {
			s.signal() // a reader waits for it
		}
		return
	}
	known, held := s.byKind[l.kind.resource].versions[uid]
	if !held && s.left.stays(l.kind, o.Object, o.malformed, s.now()) {
		return
	}
	if !held || known.resource == "" || known.resource != o.GetResourceVersion() {
		l.changed = append(l.changed, o)
	}
}

// remove leaves what is there already to the end of the list.
func (l *storeList) remove(o *received) { delete(l.present, uidOf(o)) }

func (l *storeList) again(int) {
	clear(l.present)
	l.changed = nil
}

func (l *storeList) done() {
	s := l.store
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.era != l.era {
		return
	}
	h := s.byKind[l.kind.resource]
	for uid := range h.versions {
		if _, there := l.present[uid]; !there {
			s.drop(l.kind, uid)
		}
	}
	s.left.absent(l.kind.resource, l.present)
	for _, o := range l.changed {
		if _, there := l.present[uidOf(o)]; there {
			s.put(l.kind, o.Object, o.malformed, h.listed)
		}
	}
	h.listed = true
	s.signal()
}
