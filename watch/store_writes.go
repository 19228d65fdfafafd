package watch

import (
	"maps"
	"time"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/veltui/veltui/internal/client"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/velero"
	"github.com/veltui/veltui/internal/velero/decode"
)

// putJob folds a job at once, so that no number is lost between two snapshots.
func (s *Store) putJob(k *kind, uid types.UID, in job.Input, journaled bool) {
	in.At = s.now()
	s.age(uid)
	e := s.jobs[uid]
	if e == nil {
		e = &entry{kind: k, begun: in.At, fresh: true}
		s.jobs[uid] = e
	}
	s.fold(uid, e, in, journaled)
}

// age marks a job as changed. Volumes read before belong to its first sight.
func (s *Store) age(uid types.UID) {
	e := s.jobs[uid]
	if e == nil || !e.fresh {
		return
	}
	if _, unfolded := s.unfolded[uid]; unfolded {
		s.foldVolumesOf(uid, e, s.now())
	}
	e.fresh = false
}

func (s *Store) fold(uid types.UID, e *entry, in job.Input, journaled bool) {
	if v := s.volumes[uid]; v != nil {
		in.Volumes, in.Completed = v.fold(), v.completed
		if v.count == 0 {
			delete(s.volumes, uid)
		}
	}
	delete(s.unfolded, uid)
	next := job.Next(e.job, in)
	if next == e.job {
		return
	}
	e.job = next
	s.noteChange(uid, e)
	if e.told = e.told || journaled; journaled {
		s.journal.add(Change{Job: next})
	}
}

// dropJob takes a job out. One of an unfinished first list was never journaled.
func (s *Store) dropJob(uid types.UID, listed bool) {
	e := s.jobs[uid]
	if e == nil {
		return
	}
	delete(s.jobs, uid)
	delete(s.unfolded, uid)
	s.noteChange(uid, e)
	if listed || e.told {
		s.journal.add(Change{Job: e.job, Deleted: true})
	}
}

// noteChange remembers what the last snapshot has in a changed job's place.
func (s *Store) noteChange(uid types.UID, e *entry) {
	if _, noted := s.changed[uid]; !noted {
		s.changed[uid] = e.published
	}
}

// putVolume takes in a volume and completes its version. It is false for one whose job is left out.
func (s *Store) putVolume(k *kind, o client.Object, malformed []decode.Malformed, journaled bool, now *version) bool {
	v, owner := volumeOf(k, o, malformed), ownerOf(o, k.uidLabel)
	uid := v.UID
	if _, left := s.left.jobs[owner]; left && v.Ended() {
		return false
	}
	if journaled {
		s.age(owner)
	}
	if e := s.jobs[owner]; e != nil {
		owner = e.job.UID // the same text once
		now.summed = s.sums && e.job.Terminal() && v.Phase == velero.VolumeCompleted && len(malformed) == 0 &&
			readable(o)
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
		set = &volumes{}
		s.volumes[owner] = set
	}
	if now.summed {
		set.completed = set.completed.With(&v)
		set.count++
	} else {
		set.put(uid, &v, grow)
	}
	s.noteVolumes(owner, set)
	return true
}

func (s *Store) dropVolume(k *kind, uid types.UID, old version) {
	set := s.volumes[old.owner]
	switch {
	case set == nil:
		return
	case old.summed:
		set.completed = set.completed.Without(k.gvk.GroupVersion() == velerov1.SchemeGroupVersion, old.bytes)
		set.count--
	default:
		set.put(uid, nil, -1)
	}
	s.noteVolumes(old.owner, set)
}

func (s *Store) noteVolumes(owner types.UID, set *volumes) {
	switch {
	case s.jobs[owner] != nil:
		s.unfolded[owner] = s.now()
	case set.count == 0:
		// Nobody will ask for the volumes of a job that is gone.
		delete(s.volumes, owner)
	}
}

// foldVolumesOf folds a job for its volumes. A fresh one is as if first seen: it does not matter which came first.
func (s *Store) foldVolumesOf(uid types.UID, e *entry, at time.Time) {
	in := e.kind.input(e.job.Object.(client.Object))
	in.At, in.Malformed = at, e.job.Malformed
	if e.fresh {
		e.job, in.At, in.VolumesAt = nil, e.begun, at
	}
	s.fold(uid, e, in, !e.fresh)
}

// noteAgents takes the node-agents in, and dates those that a node has lost: in a roll-out it gets another one.
func (s *Store) noteAgents(agents []velero.Agent) {
	ready := map[string]bool{}
	for _, a := range agents {
		if ready[a.Node] = ready[a.Node] || a.Ready; ready[a.Node] {
			delete(s.agentsGone, a.Node)
		}
	}
	for _, a := range s.agents {
		if !a.Ready || ready[a.Node] {
			continue
		}
		if s.agentsGone == nil {
			s.agentsGone = map[string]time.Time{}
		}
		s.agentsGone[a.Node] = s.now()
	}
	s.agents = agents
	maps.DeleteFunc(s.agentsGone, func(_ string, gone time.Time) bool { return s.now().Sub(gone) > time.Hour })
}

// Snapshot returns the present state, with the journal since the last one. The [Watcher] adds what is its own.
func (s *Store) Snapshot() *Snapshot {
	s.mu.Lock()
	defer s.mu.Unlock()
	for uid, at := range s.unfolded {
		s.foldVolumesOf(uid, s.jobs[uid], at)
	}
	s.ageOut()
	s.order()
	if known := keptOf[*corev1.Pod](s, Pods); known.stale {
		pods := known.byName()
		s.server = velero.ServerOf(pods, s.now())
		s.noteAgents(velero.AgentsOf(pods))
		s.movers = velero.MoversOf(pods)
		s.sawServer(s.server)
	}
	s.seq++
	n := &Snapshot{
		Seq:               s.seq,
		At:                s.now(),
		Jobs:              s.ordered,
		Active:            s.active,
		Schedules:         keptOf[*velerov1.Schedule](s, Schedules).byName(),
		Locations:         keptOf[*velerov1.BackupStorageLocation](s, Locations).byName(),
		SnapshotLocations: keptOf[*velerov1.VolumeSnapshotLocation](s, SnapshotLocations).byName(),
		Repositories:      keptOf[*velerov1.BackupRepository](s, Repositories).byName(),
		Deletions:         keptOf[*velerov1.DeleteBackupRequest](s, Deletions).byName(),
		Malformed:         s.malformed.sorted(compareMalformed),
		Server:            s.server,
		NodeAgents:        s.agents,
		AgentsGone:        maps.Clone(s.agentsGone),
		movers:            s.movers,
		Seen:              s.seen,
		LeftBackups:       s.left.counts[Backups],
		LeftRestores:      s.left.counts[Restores],
		LeftOf:            maps.Clone(s.left.ofSchedule),
		LeftIn:            maps.Clone(s.left.inLocation),
		EndedWithin:       s.left.within,
	}
	for _, j := range s.active {
		if location, left := s.left.locations[j.BackupName]; left && j.Kind == job.Restore {
			if n.leftLocations == nil {
				n.leftLocations = map[string]string{}
			}
			n.leftLocations[j.BackupName] = location
		}
	}
	for uid := range s.left.jobs {
		if set := s.volumes[uid]; set != nil {
			n.leftVolumes = append(n.leftVolumes, notEnded(set.fold())...)
		}
	}
	n.Changes, n.Dropped = s.journal.take()
	return n
}

// order brings the sorted lists up to date with the changed jobs.
func (s *Store) order() {
	if len(s.changed) == 0 {
		return
	}
	steps := make([]step, 0, len(s.changed))
	for uid, from := range s.changed {
		now := step{from: from}
		if e := s.jobs[uid]; e != nil {
			now.to, e.published = e.job, e.job
		}
		steps = append(steps, now)
	}
	clear(s.changed)
	s.ordered = reorder(s.ordered, steps)
	s.active = nil
	for _, j := range s.ordered {
		if !j.Terminal() {
			s.active = append(s.active, j)
		}
	}
}

// storeList is a kind's list on its way into a [Store]: a first one object by object, a later one in one step.
type storeList struct {
	store   *Store
	kind    *kind
	era     int // the store's at the start: one that has forgotten everything since wants none of it
	first   bool
	present map[types.UID]struct{}
	changed []*received
	count   func(read, total int) // is told how far the list is read; nil for none
}

func (s *Store) list(k *kind) *storeList {
	s.mu.Lock()
	defer s.mu.Unlock()
	return &storeList{
		store:   s,
		kind:    k,
		era:     s.era,
		first:   !s.byKind[k.resource].listed,
		present: map[types.UID]struct{}{},
	}
}

func (l *storeList) add(o *received) {
	if l.count != nil {
		defer l.count(1, -1) // without the store's lock
	}
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

func (l *storeList) again(total int) {
	if l.count != nil {
		l.count(0, total)
	}
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
