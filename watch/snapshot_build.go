package watch

import (
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/velero"
	"github.com/veltui/veltui/internal/velero/veleroapi"
)

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

// buildSnapshot adds the watcher's state to the store's snapshot.
func (w *Watcher) buildSnapshot() *Snapshot {
	// Read the states first: the store then has all objects of each live source.
	statuses := make([]sourceStatus, len(w.sources))
	for i, s := range w.sources {
		statuses[i] = s.currentStatus()
	}
	beat := w.liveness.currentState()
	n := w.store.Snapshot()
	n.ClockOffset = beat.offset
	n.isPartial = len(w.opts.OnlyJobs) > 0

	w.mu.Lock()
	defer w.mu.Unlock()
	w.installation.fillSnapshot(n)
	for _, s := range statuses {
		if beat.lost && s.State == SourceLive {
			// Its watch may be open, but nothing can come through it.
			s.State, s.Since, s.Err = SourceStale, beat.answeredAt.Add(beat.offset), beat.err
		}
		n.Sources = append(n.Sources, s.Source)
		if s.Resource == Pods {
			n.Server.Visible = s.State == SourceLive || s.State == SourceStale
		}
	}
	before := w.health
	n.Health = w.updateHealth(beat, statuses)
	n.Events = w.store.noteHealth(before, n.Health, w.clusterTime())
	n.Etcd = w.etcd.buildCluster(beat)
	return n
}
