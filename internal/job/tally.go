package job

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/veltui/veltui/internal/velero"
)

// VolumeTally sums up volumes of one kind. Two tallies differ if a volume moved.
type VolumeTally struct {
	// Ended, Failed and Started are how many of the Count volumes ended, ended without all of their data, and began.
	Count, Ended, Failed, Started int
	// Unsized counts volumes that have not ended and whose total is unknown.
	Unsized int
	// Done and Total are bytes, Done at most Total. A completed volume counts as full (Velero issue 8497), a
	// failed one as moved.
	Done, Total int64
	// shares is the sum of the finished shares of the volumes, each from 0 to 1.
	shares float64
	// LastChanged is when one of the volumes last changed.
	LastChanged time.Time
}

func (t *track) tallyOf(kind velero.VolumeKind) *VolumeTally {
	if kind.IsPodVolume() {
		return &t.podVolumes
	}
	return &t.dataMovements
}

func (t *VolumeTally) addVolume(v *Volume) {
	t.Count++
	t.LastChanged = LatestTime(t.LastChanged, v.LastChanged)
	total := max(0, v.Total)
	done := min(max(0, v.Done), total)
	switch {
	case v.Phase == velero.VolumeCompleted:
		done = total
	case v.HasFailed():
		t.Failed++
		total = done
	case total == 0:
		t.Unsized++
	}
	if v.HasEnded() {
		t.Ended++
		t.shares++
	} else if total > 0 {
		t.shares += float64(done) / float64(total)
	}
	if !v.IsWaiting() {
		t.Started++
	}
	t.Done = addSaturating(t.Done, done)
	t.Total = addSaturating(t.Total, total)
}

// addSaturating adds two non-negative numbers without overflow: the numbers come from outside.
func addSaturating(a, b int64) int64 {
	const most = 1<<63 - 1
	if a > most-b {
		return most
	}
	return a + b
}

func (t VolumeTally) ActiveCount() int { return t.Count - t.Ended }

// IsSized reports whether bytes can be summed up: every volume being moved has a total.
func (t VolumeTally) IsSized() bool { return t.Total > 0 && t.Unsized == 0 }

// computeFraction returns how much is done: by bytes, or by volumes while some totals are unknown.
func (t VolumeTally) computeFraction() (fraction float64, known bool) {
	switch {
	case t.Count == 0:
		return 0, false
	case t.IsSized():
		return float64(t.Done) / float64(t.Total), true
	}
	return t.shares / float64(t.Count), true
}

func (t *track) newestVolumeChange() time.Time {
	return LatestTime(t.podVolumes.LastChanged, t.dataMovements.LastChanged)
}

// MovedAt returns when the job's own resource last changed its phase or a counter; known is false while that is only
// the time at which the job was first seen.
func (j *Job) MovedAt() (at time.Time, known bool) { return j.track.movedAt, j.track.movedKnown }

// ItemsMovedAt returns when the item counters last changed.
func (j *Job) ItemsMovedAt() time.Time { return j.track.itemsMovedAt }

// VolumesMovedAt returns when a volume of the phase last moved. Data movers during the items' stage do not show that
// Velero is alive.
func (j *Job) VolumesMovedAt() time.Time {
	if j.Phase == velero.PhaseInProgress {
		return j.track.podVolumesMovedAt
	}
	return LatestTime(j.track.podVolumesMovedAt, j.track.dataMovementsMovedAt)
}

// QuietSince returns when the job last moved: its phase, its numbers, or a volume that counts in its phase.
func (j *Job) QuietSince() time.Time { return LatestTime(j.track.movedAt, j.VolumesMovedAt()) }

// PodVolumes sums up the volumes that are moved while the job is InProgress.
func (j *Job) PodVolumes() VolumeTally { return j.track.podVolumes }

// DataMovements sums up the volumes that are moved by asynchronous operations.
func (j *Job) DataMovements() VolumeTally { return j.track.dataMovements }

func (j *Job) ActiveVolumeCount() int {
	return j.track.podVolumes.ActiveCount() + j.track.dataMovements.ActiveCount()
}

// WasRevived reports whether the job had ended and went on (Velero issue 7230).
func (j *Job) WasRevived() bool { return j.track.revived }

// AnyVolumeMovedAt returns when any volume of the job last moved.
func (j *Job) AnyVolumeMovedAt() time.Time {
	return LatestTime(j.track.podVolumesMovedAt, j.track.dataMovementsMovedAt)
}

// CompletedVolumes sums up volumes of an ended job that are not kept one by one. It is immutable; nil stands for none.
type CompletedVolumes struct {
	podVolumes, dataMovements VolumeTally
	// lastPodVolume and lastDataMovement are when the last volume of each kind completed.
	lastPodVolume, lastDataMovement time.Time
}

func (c *CompletedVolumes) AddVolume(v *Volume) *CompletedVolumes {
	sum := c.valueOrZero()
	tally, last := &sum.dataMovements, &sum.lastDataMovement
	if v.Kind.IsPodVolume() {
		tally, last = &sum.podVolumes, &sum.lastPodVolume
	}
	tally.addVolume(v)
	*last = LatestTime(*last, v.Completed)
	return &sum
}

// RemoveVolume returns the sum without one of its volumes. The time of the last change stays.
func (c *CompletedVolumes) RemoveVolume(podVolume bool, bytes int64) *CompletedVolumes {
	sum := c.valueOrZero()
	tally := &sum.dataMovements
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

func (c *CompletedVolumes) valueOrZero() CompletedVolumes {
	if c == nil {
		return CompletedVolumes{}
	}
	return *c
}

func (t *VolumeTally) addTally(o VolumeTally) {
	t.Count += o.Count
	t.Ended += o.Ended
	t.Failed += o.Failed
	t.Started += o.Started
	t.Unsized += o.Unsized
	t.shares += o.shares
	t.Done, t.Total = addSaturating(t.Done, o.Done), addSaturating(t.Total, o.Total)
	t.LastChanged = LatestTime(t.LastChanged, o.LastChanged)
}

// SummedVolumeCount returns how many completed volumes are only summed up, and not in Volumes.
func (j *Job) SummedVolumeCount() int {
	sum := j.track.completed.valueOrZero()
	return sum.podVolumes.Count + sum.dataMovements.Count
}

func (j *Job) VolumeCount() int { return len(j.Volumes) + j.SummedVolumeCount() }

// WithVolumes adds the volumes that were read, sorted by kind and name. The job's own volumes stay: they are newer.
func (j *Job) WithVolumes(read []Volume) *Job {
	if j.SummedVolumeCount() == 0 {
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
