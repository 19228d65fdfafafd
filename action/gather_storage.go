package action

import (
	"context"
	"slices"
	"time"

	"github.com/veltui/veltui/internal/sanitize"
	"github.com/veltui/veltui/job"
	"github.com/veltui/veltui/velero"
)

// Prober asks the object store whether a file of a job is there. Target is the
// kind of a DownloadRequest, such as RestoreResults. An error means the same as
// an unknown presence.
type Prober interface {
	Probe(ctx context.Context, kind job.Kind, name, target string) (job.Presence, error)
}

// Counter reads the numbers of a job from its stored results and item
// operations.
type Counter interface {
	Counts(ctx context.Context, kind job.Kind, name string) (job.StoredCounts, error)
	// Errors reads the number of errors alone, and leaves the operations unread.
	Errors(ctx context.Context, kind job.Kind, name string) (int, error)
}

// artifactTimeout bounds all questions to the object store together. Velero
// answers a DownloadRequest in a moment, but after an outage of the API server
// it may take more than a minute until it sees one.
const artifactTimeout = 2 * time.Minute

// storedAgain is after how long the object store is asked again: what is stored
// may be removed while nothing changes the job.
const storedAgain = 5 * time.Minute

// artifacts asks the object store, by way of the server, which takes a while.
// What a look at the very same state of the job has found a moment ago is not
// asked again.
func (f *Engine) artifacts(ctx context.Context, e, shown *Evidence) {
	if shown != nil && shown.Object.GetUID() == e.Object.GetUID() && shown.Object.GetResourceVersion() == e.Object.GetResourceVersion() &&
		e.At.Sub(shown.storedAt) < storedAgain {
		e.Artifacts, e.Counts, e.CountsWhy, e.storedAt = shown.Artifacts, shown.Counts, shown.CountsWhy, shown.storedAt
		return
	}
	e.storedAt = e.At
	if f.o.Prober == nil || !worthProbing(e, f.o.ReadOnly) {
		return
	}
	targets := Targets(e.Job.Kind)
	if e.operationsUnread = f.o.LeaveOperations; e.operationsUnread {
		targets = slices.DeleteFunc(targets, isOperations)
	}
	if e.Server.Visible && len(e.Server.Running) == 0 {
		for _, target := range targets {
			e.Artifacts = append(e.Artifacts, Artifact{target, job.Presence{Why: "no Velero server is running to ask"}})
		}
		return
	}
	ctx, cancel := context.WithTimeout(ctx, artifactTimeout)
	defer cancel()
	defer f.o.Waiting("")
	for _, target := range targets {
		f.o.Waiting("whether " + target + " is stored")
		p, err := f.o.Prober.Probe(ctx, e.Job.Kind, e.Job.Name, target)
		if err != nil {
			p = job.Presence{Why: sanitize.String(err.Error())}
		}
		e.Artifacts = append(e.Artifacts, Artifact{target, p})
		if p.State == job.PresenceUnknown || p.State == job.Absent && len(e.Artifacts) == 1 {
			return // nobody answers, or nothing is stored yet
		}
	}
	if f.o.Counter == nil || f.o.LeaveOperations && e.allStored().IsZero() || !f.o.LeaveOperations && proof(e).refusal != "" {
		return
	}
	f.o.Waiting("the stored results")
	if f.o.LeaveOperations {
		if n, err := f.o.Counter.Errors(ctx, e.Job.Kind, e.Job.Name); err == nil {
			e.storedErrors = n
		}
		return
	}
	counts, err := f.o.Counter.Counts(ctx, e.Job.Kind, e.Job.Name)
	if err != nil {
		e.CountsWhy = sanitize.String(err.Error())
		return
	}
	e.Counts = &counts
}

// allStored is when the last of the job's files was stored, if all that were asked for
// are there and newer than the job's start, else zero.
func (e *Evidence) allStored() (newest time.Time) {
	v, known := e.version()
	for _, target := range Targets(e.Job.Kind) {
		if e.operationsUnread && isOperations(target) || target == "RestoreVolumeInfo" && known && v.Before(velero.Version{1, 14, 0}) {
			continue // not asked for, or not yet made by that version
		}
		i := slices.IndexFunc(e.Artifacts, func(a Artifact) bool { return a.Target == target })
		if i < 0 {
			return time.Time{}
		}
		a := e.Artifacts[i]
		if a.State != job.Present || !a.LastModified.After(e.began()) {
			return time.Time{}
		}
		newest = job.Latest(newest, a.LastModified)
	}
	return newest
}

// worthProbing: only phases in which files may be stored, only a server that runs
// answers, and only who may act on it, or only looks, needs to know.
func worthProbing(e *Evidence, readOnly bool) bool {
	switch e.Job.Phase {
	case velero.PhaseInProgress, velero.PhaseWaiting, velero.PhaseWaitingPartly, velero.PhaseFinalizing, velero.PhaseFinalizingPartly:
		return !e.Job.Deleting && (e.MayPatch == Yes || readOnly)
	}
	return false
}
