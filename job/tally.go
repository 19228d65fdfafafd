package job

import "time"

// tally sums up volumes of one sort. It is comparable: two tallies that differ
// mean that a volume moved.
type tally struct {
	count, ended, failed, started int
	// unsized counts volumes that have not ended and whose total is unknown.
	unsized int
	// done and total are bytes, done never more than total. A volume that
	// completed counts as full (Velero issue 8497); of one that failed, only
	// what was moved counts, because the rest never will be.
	done, total int64
	// shares is the sum of the finished shares of the volumes, each from 0 to 1.
	shares float64
	newest time.Time
}

func tallies(volumes []Volume) (filesystem, movers tally) {
	for i := range volumes {
		if volumes[i].filesystem() {
			filesystem.add(&volumes[i])
		} else {
			movers.add(&volumes[i])
		}
	}
	return filesystem, movers
}

func (t *tally) add(v *Volume) {
	t.count++
	t.newest = latest(t.newest, v.Changed)
	total := max(0, v.Total)
	done := min(max(0, v.Done), total)
	switch {
	case v.Phase == volumeCompleted:
		done = total
	case v.Failed():
		t.failed++
		total = done
	case total == 0:
		t.unsized++
	}
	if v.Ended() {
		t.ended++
		t.shares++
	} else if total > 0 {
		t.shares += float64(done) / float64(total)
	}
	if !v.waiting() {
		t.started++
	}
	t.done = addUp(t.done, done)
	t.total = addUp(t.total, total)
}

// addUp adds two numbers that are not negative, without overflow: the numbers come from outside.
func addUp(a, b int64) int64 {
	const most = 1<<63 - 1
	if a > most-b {
		return most
	}
	return a + b
}

func (t tally) active() int { return t.count - t.ended }

// sized reports whether bytes can be summed up: every volume that still moves
// has a total.
func (t tally) sized() bool { return t.total > 0 && t.unsized == 0 }

// fraction is how much of the volumes is done: by bytes, or, while some totals
// are unknown, by volumes, each counting the same.
func (t tally) fraction() (fraction float64, known bool) {
	switch {
	case t.count == 0:
		return 0, false
	case t.sized():
		return float64(t.done) / float64(t.total), true
	}
	return t.shares / float64(t.count), true
}

func (t *track) newestVolume() time.Time { return latest(t.filesystem.newest, t.movers.newest) }

// VolumesActive reports whether any of the job's volumes has not ended.
func (j *Job) VolumesActive() bool { return j.track.filesystem.active()+j.track.movers.active() > 0 }
