package watch

import (
	"runtime/debug"
	"slices"
	"strings"
	"time"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"

	"github.com/veltui/veltui/internal/client"
	"github.com/veltui/veltui/internal/velero"
)

const many = 2000 // the number of objects from which memory is given back after the first list

const freeAgain = 5 * time.Second // the time after which it is given back again

// snapshot adds the watcher's state to the store's snapshot.
func (w *Watcher) snapshot() *Snapshot {
	// The states come first: the store has all objects of a source that is live by then.
	statuses := make([]sourceStatus, len(w.sources))
	for i, s := range w.sources {
		statuses[i] = s.status()
	}
	beat := w.liveness.read()
	n := w.store.Snapshot()
	n.ClockOffset = beat.offset
	n.narrow = len(w.opts.Only) > 0

	w.mu.Lock()
	defer w.mu.Unlock()
	w.installation.describe(n)
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
	n.Seen = w.store.sawHealth(before, n.Health, w.now())
	n.Etcd = w.etcd.snapshot(beat)
	return n
}

// updateHealth combines the heartbeat and the sources. The caller holds the lock.
func (w *Watcher) updateHealth(beat livenessState, statuses []sourceStatus) Health {
	syncing := slices.ContainsFunc(statuses, func(s sourceStatus) bool { return s.State == SourceSyncing })
	if !w.complete && w.installation.namespace != "" && !syncing {
		w.complete = true
		held := 0
		for _, s := range statuses {
			held += s.Objects
		}
		if held >= many {
			// What was needed to read them is given back, not kept for more of the kind,
			go debug.FreeOSMemory()
			// and what the first snapshots left behind, too.
			time.AfterFunc(freeAgain, debug.FreeOSMemory)
		}
	}
	h := w.currentHealth(beat, statuses)
	if h.Since.IsZero() {
		h.Since = w.health.Since
		if h.State != w.health.State {
			h.Since = w.now()
		}
	}
	w.health = h
	return h
}

// currentHealth leaves Since empty for the time at which the state began.
func (w *Watcher) currentHealth(beat livenessState, statuses []sourceStatus) Health {
	if beat.lost {
		h := Health{State: Stale, Err: beat.err, RetryAt: beat.retryAt.Add(beat.offset)}
		switch {
		case beat.denied:
			h = unauthorized(beat.err, h.RetryAt)
		case !w.complete:
			h.State, h.Misdirected = Connecting, beat.misdirected
		default:
			h.Since = beat.answeredAt.Add(beat.offset)
		}
		return h
	}
	for _, s := range statuses {
		if s.denied {
			return unauthorized(s.Err, s.retryAt)
		}
	}
	if !w.complete {
		return Health{State: Connecting, Err: w.installationErr}
	}
	h := Health{State: Live}
	for _, s := range statuses {
		// What is shown of a source may be wrong. A forbidden kind shows nothing, unless it was allowed before.
		outdated := s.State == SourceStale || s.State == SourceSyncing || s.State == SourceForbidden && s.Objects > 0
		if outdated && (h.State == Live || s.Since.Before(h.Since)) {
			h = Health{State: Stale, Since: s.Since, Err: s.Resource + ": " + s.Err, RetryAt: s.retryAt}
		}
	}
	return h
}

const advice = "; log in again or renew the credentials in the kubeconfig; veltui reads them again"

// noKeyboard is client-go's error for a plugin that must ask and may not (plugin/pkg/client/auth/exec/exec.go).
const noKeyboard = "standard input is unavailable"

func unauthorized(why string, retryAt time.Time) Health {
	h := Health{State: Unauthorized, Err: why, RetryAt: retryAt, AsksLogin: strings.Contains(why, noKeyboard)}
	if !h.AsksLogin {
		h.Err += advice
	}
	return h
}

// SeenWhat is a kind of change around the jobs.
type SeenWhat string

const (
	SeenOutage SeenWhat = "outage" // what a snapshot shows was out of date from At to Until
	// SeenServerStart and SeenServerStop: the server's container started, and ended. At is in the clock of its node.
	SeenServerStart SeenWhat = "server start"
	SeenServerStop  SeenWhat = "server stop"
	SeenLocation    SeenWhat = "location" // a storage location came to another phase
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

const maxSeen = 100 // how many changes are kept: the newest

// sawServer notes starts and ends of the server's container, each once. The caller holds the lock.
func (s *Store) sawServer(now velero.Server) {
	if at := now.LastTerminationAt; !at.IsZero() {
		s.note(Seen{At: at, What: SeenServerStop, Name: now.Name, Why: now.LastTermination})
	}
	if at := now.StartedAt; !at.IsZero() {
		s.note(Seen{At: at, What: SeenServerStart, Name: now.Name})
	}
}

// observeLocation notes that a location came to another phase. The caller holds the lock.
func (s *Store) observeLocation(o client.Object) {
	l := o.(*velerov1.BackupStorageLocation)
	old, known := keptOf[*velerov1.BackupStorageLocation](s, Locations).byUID[uidOf(l)]
	if known && old.Status.Phase != l.Status.Phase {
		s.note(
			Seen{
				At:   s.now(),
				What: SeenLocation,
				Name: l.Name,
				From: string(old.Status.Phase),
				To:   string(l.Status.Phase),
				Why:  l.Status.Message,
			},
		)
	}
}

// note appends to a list of its own, because snapshots hold the old one, unless it is known.
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

// add notes a change. A full journal gives up its oldest one: the end of the story has to be right.
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
