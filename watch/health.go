package watch

import (
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/veltui/veltui/internal/client"
	"github.com/veltui/veltui/internal/velero"
	"github.com/veltui/veltui/internal/velero/veleroapi"
)

// the number of objects from which memory is returned to the system after the first list
const memoryReleaseThreshold = 2000

const memoryReleaseDelay = 5 * time.Second // how long after that memory is returned again

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

// updateHealth combines the heartbeat and the sources. The caller holds the lock.
func (w *Watcher) updateHealth(beat livenessState, statuses []sourceStatus) Health {
	syncing := slices.ContainsFunc(statuses, func(s sourceStatus) bool { return s.State == SourceSyncing })
	if !w.synced && w.installation.namespace != "" && !syncing {
		w.synced = true
		held := 0
		for _, s := range statuses {
			held += s.ObjectCount
		}
		if held >= memoryReleaseThreshold {
			// Return the memory that the lists needed to the system now,
			go debug.FreeOSMemory()
			// and again once the first snapshots have left garbage behind.
			time.AfterFunc(memoryReleaseDelay, debug.FreeOSMemory)
		}
	}
	h := w.currentHealth(beat, statuses)
	if h.Since.IsZero() {
		h.Since = w.health.Since
		if h.State != w.health.State {
			h.Since = w.clusterTime()
		}
	}
	w.health = h
	return h
}

// currentHealth returns the health. It leaves Since empty where it is the time at which the state began.
func (w *Watcher) currentHealth(beat livenessState, statuses []sourceStatus) Health {
	if beat.lost {
		h := Health{State: Stale, Err: beat.err, RetryAt: beat.retryAt.Add(beat.offset)}
		switch {
		case beat.denied:
			h = unauthorizedHealth(beat.err, h.RetryAt)
		case !w.synced:
			h.State, h.Misdirected = Connecting, beat.misdirected
		default:
			h.Since = beat.answeredAt.Add(beat.offset)
		}
		return h
	}
	for _, s := range statuses {
		if s.denied {
			return unauthorizedHealth(s.Err, s.retryAt)
		}
	}
	if !w.synced {
		return Health{State: Connecting, Err: w.installationErr}
	}
	h := Health{State: Live}
	for _, s := range statuses {
		// The data shown of the source may be outdated. A forbidden kind shows nothing, unless it was allowed before.
		outdated := s.State == SourceStale || s.State == SourceSyncing || s.State == SourceForbidden && s.ObjectCount > 0
		if outdated && (h.State == Live || s.Since.Before(h.Since)) {
			h = Health{State: Stale, Since: s.Since, Err: s.Resource + ": " + s.Err, RetryAt: s.retryAt}
		}
	}
	return h
}

const loginAdvice = "; log in again or renew the credentials in the kubeconfig; veltui reads them again"

// stdinUnavailable is client-go's error for a plugin that must prompt the user and cannot
// (plugin/pkg/client/auth/exec/exec.go).
const stdinUnavailable = "standard input is unavailable"

func unauthorizedHealth(why string, retryAt time.Time) Health {
	h := Health{State: Unauthorized, Err: why, RetryAt: retryAt, NeedsLogin: strings.Contains(why, stdinUnavailable)}
	if !h.NeedsLogin {
		h.Err += loginAdvice
	}
	return h
}

// EventKind is a kind of [ClusterEvent].
type EventKind string

const (
	EventOutage EventKind = "outage" // the snapshots were out of date from At to Until
	// EventServerStart and EventServerStop date the start and the end of the server's container. At is in its node's
	// clock.
	EventServerStart   EventKind = "server start"
	EventServerStop    EventKind = "server stop"
	EventLocationPhase EventKind = "location" // a storage location changed its phase
)

// ClusterEvent is a change around the jobs. The changes of a job itself are in [job.Job].
type ClusterEvent struct {
	At       time.Time
	Kind     EventKind
	Until    time.Time // when an outage ended, zero while it goes on
	Name     string    // the server's pod, or the location
	From, To string    // a location's old and new phase
	Reason   string    // the reason of a stop, the location's message, or the error of an outage
}

const maxEvents = 100 // how many events are kept: the newest

// noteServer records starts and ends of the server's container, each once. The caller holds the lock.
func (s *Store) noteServer(now velero.Server) {
	if at := now.LastTerminationAt; !at.IsZero() {
		s.noteEvent(ClusterEvent{At: at, Kind: EventServerStop, Name: now.Name, Reason: now.LastTerminationReason})
	}
	if at := now.StartedAt; !at.IsZero() {
		s.noteEvent(ClusterEvent{At: at, Kind: EventServerStart, Name: now.Name})
	}
}

// noteLocation records that a location changed its phase. The caller holds the lock.
func (s *Store) noteLocation(o client.Object) {
	l := o.(*veleroapi.BackupStorageLocation)
	old, known := keptObjectsOf[*veleroapi.BackupStorageLocation](s, StorageLocations).byUID[uidOf(l)]
	if known && old.Status.Phase != l.Status.Phase {
		s.noteEvent(
			ClusterEvent{
				At:     s.now(),
				Kind:   EventLocationPhase,
				Name:   l.Name,
				From:   string(old.Status.Phase),
				To:     string(l.Status.Phase),
				Reason: l.Status.Message,
			},
		)
	}
}

// noteEvent adds an event unless it is known. It copies the list, because snapshots hold the old one.
func (s *Store) noteEvent(n ClusterEvent) {
	if slices.Contains(s.events, n) {
		return
	}
	s.events = append(slices.Clone(s.events[max(0, len(s.events)+1-maxEvents):]), n)
}

// noteHealth records when an outage begins and ends, and returns all events.
func (s *Store) noteHealth(old, now Health, at time.Time) []ClusterEvent {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := func(h Health) bool { return h.State == Stale || h.State == Unauthorized }
	switch {
	case out(now) && !out(old) && old.State == Live:
		s.noteEvent(ClusterEvent{At: now.Since, Kind: EventOutage, Reason: now.Err})
	case now.State == Live && old.State != Live:
		for i := len(s.events) - 1; i >= 0; i-- {
			if s.events[i].Kind == EventOutage && s.events[i].Until.IsZero() {
				s.events = slices.Clone(s.events)
				s.events[i].Until = at
				break
			}
		}
	}
	return s.events
}

type journal struct {
	limit   int // how many changes are kept; 0 for none
	changes []Change
	dropped int
}

// recordChange adds a change. A full journal drops its oldest change: the newest ones have to be right.
func (j *journal) recordChange(c Change) {
	if j.limit == 0 {
		return
	}
	if len(j.changes) == j.limit {
		j.changes[0] = Change{}
		j.changes = j.changes[1:]
		j.dropped++
	}
	j.changes = append(j.changes, c)
}

func (j *journal) takeChanges() (changes []Change, dropped int) {
	changes, dropped = j.changes, j.dropped
	j.changes, j.dropped = nil, 0
	return changes, dropped
}
