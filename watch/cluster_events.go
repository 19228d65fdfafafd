package watch

import (
	"slices"
	"time"

	"github.com/veltui/veltui/internal/client"
	"github.com/veltui/veltui/internal/velero"
	"github.com/veltui/veltui/internal/velero/veleroapi"
)

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
