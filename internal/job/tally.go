package job

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/veltui/veltui/internal/velero"
)

// Tally sums up volumes of one sort. Two tallies differ if a volume moved.
type Tally struct {
	// Ended, Failed and Started are how many of the Count volumes ended, ended without all of their data, and began.
	Count, Ended, Failed, Started int
	// Unsized counts volumes that have not ended and whose total is unknown.
	Unsized int
	// Done and Total are bytes, Done at most Total. A completed volume counts as full (Velero issue 8497), a
	// failed one as moved.
	Done, Total int64
	// shares is the sum of the finished shares of the volumes, each from 0 to 1.
	shares float64
	// Newest is when one of them last changed.
	Newest time.Time
}

func (t *track) tallyOf(kind velero.VolumeKind) *Tally {
	if kind.IsPodVolume() {
		return &t.filesystem
	}
	return &t.movers
}

func (t *Tally) add(v *Volume) {
	t.Count++
	t.Newest = Latest(t.Newest, v.Changed)
	total := max(0, v.Total)
	done := min(max(0, v.Done), total)
	switch {
	case v.Phase == velero.VolumeCompleted:
		done = total
	case v.Failed():
		t.Failed++
		total = done
	case total == 0:
		t.Unsized++
	}
	if v.Ended() {
		t.Ended++
		t.shares++
	} else if total > 0 {
		t.shares += float64(done) / float64(total)
	}
	if !v.Waiting() {
		t.Started++
	}
	t.Done = addUp(t.Done, done)
	t.Total = addUp(t.Total, total)
}

// addUp adds two numbers that are not negative, without overflow: the numbers come from outside.
func addUp(a, b int64) int64 {
	const most = 1<<63 - 1
	if a > most-b {
		return most
	}
	return a + b
}

func (t Tally) Active() int { return t.Count - t.Ended }

// Sized reports whether bytes can be summed up: every volume that moves has a total.
func (t Tally) Sized() bool { return t.Total > 0 && t.Unsized == 0 }

// fraction is how much is done: by bytes, or by volumes while some totals are unknown.
func (t Tally) fraction() (fraction float64, known bool) {
	switch {
	case t.Count == 0:
		return 0, false
	case t.Sized():
		return float64(t.Done) / float64(t.Total), true
	}
	return t.shares / float64(t.Count), true
}

func (t *track) newestVolume() time.Time { return Latest(t.filesystem.Newest, t.movers.Newest) }

// Moved is when the job's own resource last changed its phase or a counter; known is false at the first sight.
func (j *Job) Moved() (at time.Time, known bool) { return j.track.moved, j.track.movedKnown }

// ItemsMoved is the same of the item counters alone.
func (j *Job) ItemsMoved() time.Time { return j.track.itemsMoved }

// VolumesMoved is when a volume of the phase last moved. Data movers of the items' stage do not show that Velero lives.
func (j *Job) VolumesMoved() time.Time {
	if j.Phase == velero.PhaseInProgress {
		return j.track.filesystemMoved
	}
	return Latest(j.track.filesystemMoved, j.track.moversMoved)
}

// QuietSince is when the job last moved: its phase, its numbers, or a volume that counts in its phase.
func (j *Job) QuietSince() time.Time { return Latest(j.track.moved, j.VolumesMoved()) }

// PodVolumes sums up the volumes that are moved while the job is InProgress.
func (j *Job) PodVolumes() Tally { return j.track.filesystem }

// DataMovements sums up the volumes that are moved by asynchronous operations.
func (j *Job) DataMovements() Tally { return j.track.movers }

func (j *Job) ActiveVolumes() int { return j.track.filesystem.Active() + j.track.movers.Active() }

// Revived reports whether the job had ended and went on (Velero issue 7230).
func (j *Job) Revived() bool { return j.track.revived }

// AnyVolumeMoved is when any volume of the job last moved.
func (j *Job) AnyVolumeMoved() time.Time { return Latest(j.track.filesystemMoved, j.track.moversMoved) }

// Completed sums up volumes of an ended job that are not kept one by one. It is immutable; nil stands for none.
type Completed struct {
	podVolumes, movers Tally
	// lastPodVolume and lastMover are when the last one completed.
	lastPodVolume, lastMover time.Time
}

func (c *Completed) With(v *Volume) *Completed {
	sum := c.value()
	tally, last := &sum.movers, &sum.lastMover
	if v.Kind.IsPodVolume() {
		tally, last = &sum.podVolumes, &sum.lastPodVolume
	}
	tally.add(v)
	*last = Latest(*last, v.Completed)
	return &sum
}

// Without is the sum without one of its volumes. When the last one changed is history and stays.
func (c *Completed) Without(podVolume bool, bytes int64) *Completed {
	sum := c.value()
	tally := &sum.movers
	if podVolume {
		tally = &sum.podVolumes
	}
	tally.Count--
	tally.Ended--
	tally.Started--
	tally.shares--
	tally.Done, tally.Total = max(0, tally.Done-bytes), max(0, tally.Total-bytes)
	return &sum
}

func (c *Completed) value() Completed {
	if c == nil {
		return Completed{}
	}
	return *c
}

func (t *Tally) merge(o Tally) {
	t.Count += o.Count
	t.Ended += o.Ended
	t.Failed += o.Failed
	t.Started += o.Started
	t.Unsized += o.Unsized
	t.shares += o.shares
	t.Done, t.Total = addUp(t.Done, o.Done), addUp(t.Total, o.Total)
	t.Newest = Latest(t.Newest, o.Newest)
}

// LeftOut is how many completed volumes are only summed up, and not in Volumes.
func (j *Job) LeftOut() int {
	sum := j.track.completed.value()
	return sum.podVolumes.Count + sum.movers.Count
}

func (j *Job) VolumeCount() int { return len(j.Volumes) + j.LeftOut() }

// WithVolumes adds the volumes that were read, sorted by kind and name. The job's own stay: they are newer.
func (j *Job) WithVolumes(read []Volume) *Job {
	if j.LeftOut() == 0 {
		return j
	}
	k := *j
	k.Volumes, k.track.completed = slices.Clone(j.Volumes), nil
	held := make(map[types.UID]bool, len(j.Volumes))
	for _, v := range j.Volumes {
		held[v.UID] = true
	}
	for _, v := range read {
		if !held[v.UID] {
			k.Volumes = append(k.Volumes, v)
		}
	}
	slices.SortStableFunc(k.Volumes, func(a, b Volume) int { return compareVolumes(&a, &b) })
	return &k
}
