package ui

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/veltui/veltui/diagnosis"
	"github.com/veltui/veltui/job"
	"github.com/veltui/veltui/watch"
)

// digest is a snapshot together with what has to be reckoned over all of its
// jobs. It is made in a command, so that a key never waits for it.
type digest struct {
	snap *watch.Snapshot
	// at is the moment it was made for, in our own clock.
	at time.Time
	// surroundings are those of at; verdicts are of the active jobs.
	surroundings diagnosis.Environment
	verdicts     map[types.UID]diagnosis.Verdict

	running, queued, troubled int
}

func digestOf(snap *watch.Snapshot, now time.Time) *digest {
	d := &digest{
		snap:         snap,
		at:           now,
		surroundings: snap.Environment(now),
		verdicts:     make(map[types.UID]diagnosis.Verdict, len(snap.Active)),
	}
	// Stale data makes every verdict unknown; the counts stay what they were.
	asOf := d.surroundings
	if !asOf.StaleSince.IsZero() {
		asOf.Now, asOf.StaleSince = asOf.StaleSince, time.Time{}
	}
	for _, j := range snap.Active {
		v := diagnosis.Judge(j, d.surroundings)
		d.verdicts[j.UID] = v
		if !d.surroundings.StaleSince.IsZero() {
			v = diagnosis.Judge(j, asOf)
		}
		switch {
		case troubled(v.State):
			d.troubled++
		case j.Stage == job.StageQueued:
			d.queued++
		default:
			d.running++
		}
	}
	return d
}

// verdict of any job of the snapshot.
func (d *digest) verdict(j *job.Job) diagnosis.Verdict {
	if v, ok := d.verdicts[j.UID]; ok {
		return v
	}
	return diagnosis.Judge(j, d.surroundings)
}

// troubled is true for the verdicts that want a person's attention.
func troubled(s diagnosis.State) bool { return s == diagnosis.Stuck || s == diagnosis.Orphaned }

// find is the job with the uid, or nil.
func (d *digest) find(uid types.UID) *job.Job {
	for _, j := range d.snap.Active {
		if j.UID == uid {
			return j
		}
	}
	for _, j := range d.snap.Jobs {
		if j.UID == uid {
			return j
		}
	}
	return nil
}
