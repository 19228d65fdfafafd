package watch

import (
	"runtime/debug"
	"slices"
	"strings"
	"time"
)

// many is the number of objects from which memory is given back after the first list.
const many = 2000

// freeAgain is the time after which it is given back again.
const freeAgain = 5 * time.Second

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
	if !w.complete && w.installation.namespace != "" && settled(statuses) {
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
		if !outdated(s) || h.State == Stale && !s.Since.Before(h.Since) {
			continue
		}
		h = Health{State: Stale, Since: s.Since, Err: s.Resource + ": " + s.Err, RetryAt: s.retryAt}
	}
	return h
}

const advice = "; log in again or renew the credentials in the kubeconfig; veltui reads them again"

// noKeyboard is client-go's error for a credential plugin that must ask and may not
// (plugin/pkg/client/auth/exec/exec.go, isInteractive); its advice follows it.
const noKeyboard = "standard input is unavailable"

func unauthorized(why string, retryAt time.Time) Health {
	h := Health{State: Unauthorized, Err: why, RetryAt: retryAt, AsksLogin: strings.Contains(why, noKeyboard)}
	if !h.AsksLogin {
		h.Err += advice
	}
	return h
}

// settled reports whether each source has been heard of.
func settled(statuses []sourceStatus) bool {
	return !slices.ContainsFunc(statuses, func(s sourceStatus) bool { return s.State == SourceSyncing })
}

// outdated reports whether what is shown of a source may be wrong. A forbidden kind shows
// nothing, unless it was allowed before.
func outdated(s sourceStatus) bool {
	return s.State == SourceStale || s.State == SourceSyncing || s.State == SourceForbidden && s.Objects > 0
}
