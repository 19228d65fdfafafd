package assess

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/veltui/veltui/job"
)

const (
	// lookoutPace is the least time between two closer looks, and lookoutAge is when one
	// is repeated, before what it found is forgotten.
	lookoutPace, lookoutAge = 15 * time.Second, 4 * time.Minute
	// lookoutJobs is how many jobs are looked at closer.
	lookoutJobs = 6
)

// Lookout says which job to look at closer next: one after the other, those that do
// not move. It does no I/O. Its zero value has looked at nothing.
type Lookout struct {
	last   time.Time
	looked map[types.UID]time.Time
}

// Due returns the job to look at now, nil for none, and notes that it is looked at.
func (l *Lookout) Due(a *Assessment, wanted func(*job.Job) bool, now time.Time) *job.Job {
	if now.Sub(l.last).Abs() < lookoutPace || a.Stale() {
		return nil
	}
	seen := 0
	for _, j := range a.Snapshot.Active {
		if judged := a.Of(j); !judged.NeedsLook || judged.Queue.Waits || !wanted(j) {
			continue
		}
		if seen++; seen > lookoutJobs {
			return nil
		}
		if now.Sub(l.looked[j.UID]).Abs() >= lookoutAge {
			if l.looked == nil {
				l.looked = map[types.UID]time.Time{}
			}
			l.last, l.looked[j.UID] = now, now
			return j
		}
	}
	return nil
}
