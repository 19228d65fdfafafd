package watch

import (
	"runtime/debug"
	"slices"
	"strings"
	"time"
)

// the number of objects from which memory is returned to the system after the first list
const memoryReleaseThreshold = 2000

const memoryReleaseDelay = 5 * time.Second // how long after that memory is returned again

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
