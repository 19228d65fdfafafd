package job

import (
	"time"

	"github.com/veltui/veltui/velero"
)

// sampleVolumes notes the bytes of each volume in progress. Samples of a volume
// that is no longer in progress are dropped.
func sampleVolumes(before map[velero.VolumeRef]samples, volumes []Volume, at time.Time) map[velero.VolumeRef]samples {
	var now map[velero.VolumeRef]samples
	for i := range volumes {
		v := &volumes[i]
		if v.Phase != velero.VolumeInProgress {
			continue
		}
		if now == nil {
			now = map[velero.VolumeRef]samples{}
		}
		s := before[v.Ref()]
		switch last := s.last(); {
		case last == nil:
		case at.Before(last.at) || v.Done < last.done:
			s = samples{unit: UnitBytes}
		case v.Done == last.done && v.Total == last.total:
			now[v.Ref()] = s
			continue
		}
		now[v.Ref()] = s.add(at, v.Done, v.Total)
	}
	return now
}

// fastest is a speed in bytes a second that no volume has: numbers that say so
// are wrong.
const fastest = 1 << 40

// VolumeRate is the speed of one of the job's volumes in bytes a second: over a
// sliding window, or, where this process has not seen it long enough, on average
// from its start to its last change. ok is false without enough evidence.
func (j *Job) VolumeRate(v *Volume, now time.Time) (perSecond float64, ok bool) {
	if v.Phase != velero.VolumeInProgress || v.CancelAsked {
		return 0, false
	}
	if rate, ok := j.track.volumes[v.Ref()].rate(&bytePace, now); ok {
		return rate, rate < fastest
	}
	span := v.Changed.Sub(v.Started)
	if v.Started.IsZero() || span < bytePace.span || v.Done < bytePace.amount || v.Quiet(now) > bytePace.silent {
		return 0, false
	}
	perSecond = float64(v.Done) / span.Seconds()
	return perSecond, perSecond < fastest
}

// VolumeETA is how long one of the job's volumes still takes, at least a second.
// The total may still grow while the uploader counts, and then so does the time.
func (j *Job) VolumeETA(v *Volume, now time.Time) (left time.Duration, ok bool) {
	rate, ok := j.VolumeRate(v, now)
	if !ok || rate <= 0 || v.Done >= v.Total {
		return 0, false
	}
	seconds := float64(v.Total-v.Done)/rate - max(0, v.Quiet(now).Seconds())
	if seconds > longestETA.Seconds() {
		return 0, false
	}
	return max(time.Second, time.Duration(seconds*float64(time.Second))), true
}
