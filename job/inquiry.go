package job

import (
	"fmt"
	"time"
)

// How long silence lasts before it means something. Velero writes no
// heartbeat: nothing comes while it lists, downloads, uploads, or waits for one
// slow item (velero-facts 2.4).
const (
	// freshItems and freshBytes are how long a movement is fresh.
	freshItems = time.Minute
	freshBytes = 2 * time.Minute
	// justNow is a movement that proves that something works on the job at this
	// moment: Velero writes progress once a second.
	justNow = 10 * time.Second
	// settleGrace is what a server gets after its start, and a job after its
	// creation, before anything is said against them.
	settleGrace = 2 * time.Minute
	// lostPatchQuiet is the silence after the last item that speaks for a lost
	// status patch: Velero gives up retrying after 195 s (velero-facts 5.3).
	lostPatchQuiet = 5 * time.Minute
	// longestWait is the longest that Velero waits for any one item by default:
	// a terminating namespace, a snapshot, a volume (velero-facts 9.3).
	longestWait = 10 * time.Minute
	// waitMargin is added to a limit of Velero's before it counts as passed.
	waitMargin = 5 * time.Minute
	// collectingQuiet is how long a job may be without any number: listing or
	// downloading can take very long on big clusters.
	collectingQuiet = time.Hour
	// volumeStall is the silence of a volume in progress that is worth a word.
	volumeStall = 10 * time.Minute
	// volumeStuck is the silence that no upload shows, however big its files.
	volumeStuck = 45 * time.Minute
)

// Sources of facts.
const (
	sourceWatch   = "watch"
	sourcePod     = "pod"
	sourceSchema  = "schema"
	sourceStorage = "storage"
)

// inquiry gathers the facts for one verdict.
type inquiry struct {
	job   *Job
	s     Surroundings
	facts []Fact
}

// holds notes what speaks for the verdict.
func (q *inquiry) holds(source string, at time.Time, format string, args ...any) {
	q.facts = append(q.facts, Fact{Holds: true, Text: fmt.Sprintf(format, args...), Source: source, At: at})
}

// open notes what speaks against the verdict or could not be looked at.
func (q *inquiry) open(source string, at time.Time, format string, args ...any) {
	q.facts = append(q.facts, Fact{Text: fmt.Sprintf(format, args...), Source: source, At: at})
}

// rule closes the inquiry. The summary begins with the job's name.
func (q *inquiry) rule(state State, advice, format string, args ...any) Verdict {
	return Verdict{
		State:   state,
		Summary: q.job.Name + ": " + fmt.Sprintf(format, args...),
		Facts:   q.facts,
		Advice:  advice,
	}
}

// ago is how long ago something was, in words.
func (q *inquiry) ago(t time.Time) string { return span(q.s.Now.Sub(t)) }

// quiet is how long neither the job nor its volumes moved.
func (q *inquiry) quiet() time.Duration { return max(0, q.s.Now.Sub(q.job.quietSince())) }

// quietWords says since when nothing moved, and whether that is known or only
// how long veltui has looked.
func (q *inquiry) quietWords() string {
	words := span(q.quiet())
	if !q.job.track.movedKnown && q.job.quietSince().Equal(q.job.track.moved) {
		words = "at least " + words
	}
	return words
}

// fresh reports direct evidence that the job moves.
func (q *inquiry) fresh() bool {
	t := &q.job.track
	if t.movedKnown && q.s.Now.Sub(t.moved) <= freshItems {
		return true
	}
	active := t.filesystem.active()
	if q.job.Phase != PhaseInProgress {
		active += t.movers.active()
	}
	moved := q.job.volumesMoved()
	return active > 0 && !moved.IsZero() && q.s.Now.Sub(moved) <= freshBytes
}

// noteServer puts down what the pods say.
func (q *inquiry) noteServer() {
	v := q.s.Server
	switch {
	case !v.Visible:
		q.open(sourcePod, q.s.Now, "whether a Velero server runs was not seen: its pods may not be listed")
	case !v.Running && v.Waiting != "":
		q.holds(sourcePod, v.SeenAt, "no Velero server runs: %s", v.Waiting)
	case !v.Running:
		q.holds(sourcePod, v.SeenAt, "no Velero server runs")
	case v.StartedAt.IsZero():
		q.holds(sourcePod, v.SeenAt, "the Velero server is up")
		q.open(sourcePod, v.SeenAt, "since when the server runs is not known")
	default:
		q.holds(sourcePod, v.SeenAt, "the Velero server is up, running for %s", q.ago(v.StartedAt))
	}
	if v.LastTermination != "" {
		q.holds(sourcePod, v.LastTerminationAt, "it was started %s before and last ended with %s",
			plural(v.Restarts, "time"), v.LastTermination)
	}
}

// noteQuiet puts down since when nothing moved.
func (q *inquiry) noteQuiet() {
	q.holds(sourceWatch, q.job.quietSince(), "nothing changed for %s", q.quietWords())
}

// noteCounts puts down the job's own numbers.
func (q *inquiry) noteCounts() {
	j := q.job
	switch {
	case !j.Items.Known:
		q.holds(sourceWatch, j.track.moved, "Velero has written no item count yet")
	default:
		q.holds(sourceWatch, j.track.itemsMoved, "%d of %s", j.Items.Done, plural(j.Items.Total, "item"))
	}
	if n := j.track.filesystem.count + j.track.movers.count; n > 0 {
		ended := j.track.filesystem.ended + j.track.movers.ended
		q.holds(sourceWatch, latest(j.track.filesystemMoved, j.track.moversMoved), "%d of %s ended", ended, plural(n, "volume"))
	}
	if j.Operations.Attempted > 0 {
		q.holds(sourceWatch, j.track.moved, "%d of %s ended, %d failed",
			j.Operations.ended(), plural(j.Operations.Attempted, "operation"), j.Operations.Failed)
	}
}

// noteUnlooked names what only the API server's schema and the object store
// could tell.
func (q *inquiry) noteUnlooked() {
	q.open(sourceStorage, time.Time{}, "whether its results are stored was not looked at")
	q.open(sourceSchema, time.Time{}, "whether the CRDs take the next phase was not looked at")
}

// down is what the job's storage location says, if it is not available.
func (q *inquiry) down() (words string, certain bool) {
	if l, ok := q.s.Locations[q.job.StorageLocation]; ok && q.job.Kind == Backup {
		if l.Phase != "Unavailable" {
			return "", false
		}
		q.noteLocation(l)
		return "storage location " + l.Name + " is unavailable", true
	}
	if q.job.Kind == Backup {
		return "", false
	}
	// A restore does not name the location of its backup.
	unavailable := 0
	for _, l := range q.s.Locations {
		if l.Phase == "Unavailable" {
			unavailable++
			q.noteLocation(l)
			words = "storage location " + l.Name + " is unavailable"
		}
	}
	return words, unavailable > 0 && unavailable == len(q.s.Locations)
}

func (q *inquiry) noteLocation(l Location) {
	q.holds(sourceWatch, l.LastValidated, "storage location %s is Unavailable%s", l.Name, because(l.Message))
}

func because(message string) string {
	if message == "" {
		return ""
	}
	return ": " + cut(message, 160)
}
