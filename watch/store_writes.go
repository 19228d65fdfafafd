package watch

import (
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
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

// noteAgents records the node-agents, and when a node lost its node-agent: in a rollout the node gets another one.
func (s *Store) noteAgents(agents []velero.NodeAgent) {
	ready := map[string]bool{}
	for _, a := range agents {
		if ready[a.Node] = ready[a.Node] || a.Ready; ready[a.Node] {
			delete(s.lostAgents, a.Node)
		}
	}
	for _, a := range s.agents {
		if !a.Ready || ready[a.Node] {
			continue
		}
		if s.lostAgents == nil {
			s.lostAgents = map[string]time.Time{}
		}
		s.lostAgents[a.Node] = s.now()
	}
	s.agents = agents
	maps.DeleteFunc(s.lostAgents, func(_ string, gone time.Time) bool { return s.now().Sub(gone) > time.Hour })
}

// Snapshot returns the current state, with the changes since the last snapshot. The [Watcher] adds its own state.
func (s *Store) Snapshot() *Snapshot {
	s.mu.Lock()
	defer s.mu.Unlock()
	for uid, at := range s.unfolded {
		s.foldVolumesOf(uid, s.jobs[uid], at)
	}
	s.ageOutJobs()
	s.updateSortedJobs()
	if known := keptObjectsOf[*corev1.Pod](s, Pods); known.stale {
		pods := known.sortedByName()
		s.server = velero.ServerOf(pods, s.now())
		s.noteAgents(velero.NodeAgentsOf(pods))
		s.movers = velero.FindMovers(pods)
		s.maintenance = velero.FindMaintenancePods(pods)
		s.noteServer(s.server)
	}
	s.seq++
	n := &Snapshot{
		Seq:               s.seq,
		At:                s.now(),
		Jobs:              s.sortedJobs,
		Active:            s.activeJobs,
		Schedules:         keptObjectsOf[*veleroapi.Schedule](s, Schedules).sortedByName(),
		StorageLocations:  keptObjectsOf[*veleroapi.BackupStorageLocation](s, StorageLocations).sortedByName(),
		SnapshotLocations: keptObjectsOf[*veleroapi.VolumeSnapshotLocation](s, SnapshotLocations).sortedByName(),
		Repositories:      keptObjectsOf[*veleroapi.BackupRepository](s, Repositories).sortedByName(),
		DeleteRequests:    keptObjectsOf[*veleroapi.DeleteBackupRequest](s, DeleteRequests).sortedByName(),
		Malformed:         s.malformed.sortedValues(compareMalformed),
		Server:            s.server,
		NodeAgents:        s.agents,
		LostAgents:        maps.Clone(s.lostAgents),
		movers:            s.movers,
		MaintenancePods:   s.maintenance,
		Events:            s.events,
		AgedOutBackups:    s.agedOut.counts[Backups],
		AgedOutRestores:   s.agedOut.counts[Restores],
		AgedOutBySchedule: maps.Clone(s.agedOut.bySchedule),
		AgedOutByLocation: maps.Clone(s.agedOut.byLocation),
		EndedWithin:       s.agedOut.maxAge,
	}
	for _, j := range s.activeJobs {
		if location, left := s.agedOut.backupLocations[j.BackupName]; left && j.Kind == job.Restore {
			if n.agedOutLocations == nil {
				n.agedOutLocations = map[string]string{}
			}
			n.agedOutLocations[j.BackupName] = location
		}
	}
	for uid := range s.agedOut.jobs {
		if set := s.volumes[uid]; set != nil {
			n.agedOutVolumes = append(n.agedOutVolumes, withoutEndedVolumes(set.mergePending())...)
		}
	}
	n.Changes, n.DroppedChanges = s.journal.takeChanges()
	return n
}

// updateSortedJobs brings the sorted lists up to date with the changed jobs.
func (s *Store) updateSortedJobs() {
	if len(s.changedJobs) == 0 {
		return
	}
	steps := make([]jobUpdate, 0, len(s.changedJobs))
	for uid, from := range s.changedJobs {
		now := jobUpdate{from: from}
		if e := s.jobs[uid]; e != nil {
			now.to, e.published = e.job, e.job
		}
		steps = append(steps, now)
	}
	clear(s.changedJobs)
	s.sortedJobs = applyUpdates(s.sortedJobs, steps)
	s.activeJobs = nil
	for _, j := range s.sortedJobs {
		if !j.IsTerminal() {
			s.activeJobs = append(s.activeJobs, j)
		}
	}
}

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
