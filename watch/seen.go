package watch

import (
	"slices"
	"time"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"

	"github.com/veltui/veltui/internal/client"
	"github.com/veltui/veltui/velero"
)

// SeenWhat is a kind of change around the jobs.
type SeenWhat string

const (
	// SeenOutage: what a snapshot shows was out of date from At to Until.
	SeenOutage SeenWhat = "outage"
	// SeenServerStart and SeenServerStop: the server's container started, and
	// ended. At is in the clock of its node.
	SeenServerStart SeenWhat = "server start"
	SeenServerStop  SeenWhat = "server stop"
	// SeenLocation: a storage location came to another phase.
	SeenLocation SeenWhat = "location"
)

// Seen is a change around the jobs. Those of a job itself are in [job.Job].
type Seen struct {
	At       time.Time
	What     SeenWhat
	Until    time.Time // when an outage ended, zero while it goes on
	Name     string    // the server's pod, or the location
	From, To string    // and To are the phases of a location
	Why      string    // the reason of a stop, the location's message, or what did not answer
}

const maxSeen = 100 // maxSeen is how many changes are kept: the newest

// sawServer notes starts and ends of the server's container, each once. The
// caller holds the lock.
func (s *Store) sawServer(now velero.Server) {
	if at := now.LastTerminationAt; !at.IsZero() {
		s.note(Seen{At: at, What: SeenServerStop, Name: now.Name, Why: now.LastTermination})
	}
	if at := now.StartedAt; !at.IsZero() {
		s.note(Seen{At: at, What: SeenServerStart, Name: now.Name})
	}
}

// observeLocation notes that a location came to another phase. The caller holds the
// lock.
func (s *Store) observeLocation(o client.Object) {
	l := o.(*velerov1.BackupStorageLocation)
	old, known := keptOf[*velerov1.BackupStorageLocation](s, Locations).byUID[uidOf(l)]
	if known && old.Status.Phase != l.Status.Phase {
		s.note(Seen{At: s.now(), What: SeenLocation, Name: l.Name, From: string(old.Status.Phase), To: string(l.Status.Phase), Why: l.Status.Message})
	}
}

// note appends to a list of its own, because snapshots hold the old one, unless
// it is known.
func (s *Store) note(n Seen) {
	if slices.Contains(s.seen, n) {
		return
	}
	s.seen = append(slices.Clone(s.seen[max(0, len(s.seen)+1-maxSeen):]), n)
}

// sawHealth notes when an outage begins and ends, and returns all that was seen.
func (s *Store) sawHealth(old, now Health, at time.Time) []Seen {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := func(h Health) bool { return h.State == Stale || h.State == Unauthorized }
	switch {
	case out(now) && !out(old) && old.State == Live:
		s.note(Seen{At: now.Since, What: SeenOutage, Why: now.Err})
	case now.State == Live && old.State != Live:
		for i := len(s.seen) - 1; i >= 0; i-- {
			if s.seen[i].What == SeenOutage && s.seen[i].Until.IsZero() {
				s.seen = slices.Clone(s.seen)
				s.seen[i].Until = at
				break
			}
		}
	}
	return s.seen
}

type journal struct {
	limit   int // how many are kept; none if it is zero
	changes []Change
	dropped int
}

// add notes a change. A full journal gives up its oldest one: the end of the
// story has to be right.
func (j *journal) add(c Change) {
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

func (j *journal) take() (changes []Change, dropped int) {
	changes, dropped = j.changes, j.dropped
	j.changes, j.dropped = nil, 0
	return changes, dropped
}
