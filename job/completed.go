package job

import (
	"cmp"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// Completed sums up completed volumes that are not kept one by one, of a job that has ended. It
// is immutable; nil stands for none.
type Completed struct {
	podVolumes, movers Tally
	// lastPodVolume and lastMover are when the last one completed.
	lastPodVolume, lastMover time.Time
}

// With is the sum with one volume more.
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

// Count is how many volumes are in the sum.
func (c *Completed) Count() int {
	sum := c.value()
	return sum.podVolumes.Count + sum.movers.Count
}

func (c *Completed) value() Completed {
	if c == nil {
		return Completed{}
	}
	return *c
}

// merge adds the volumes of another tally.
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
func (j *Job) LeftOut() int { return j.track.completed.Count() }

// VolumeCount is how many volumes the job has.
func (j *Job) VolumeCount() int { return len(j.Volumes) + j.LeftOut() }

// WithVolumes is the job with the volumes that were read for it, for one of which
// some are left out, sorted by kind and name. Those that it has itself stay: they
// are newer, and may be known by their owner only.
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
	slices.SortStableFunc(k.Volumes, func(a, b Volume) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name))
	})
	return &k
}
