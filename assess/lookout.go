package assess

import (
	"math"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/veltui/veltui/job"
)

// Lookout decides which job to look closer at, and when: one job at a time. It does no
// I/O. The zero value has looked at nothing.
type Lookout struct {
	// current is the job that is being looked at, empty for none.
	current types.UID
	// ended is when the last look ended, and looked when the last one at each job did.
	ended  time.Time
	looked map[types.UID]time.Time
}

// lookPace says how often closer looks are taken: gap lies between two of them, again
// between two at the same job, and jobs bounds the jobs.
type lookPace struct {
	gap, again time.Duration
	jobs       int
}

var (
	// listPace is that of jobs in a list. A look is repeated before what it found is
	// forgotten ([lookAge]).
	listPace = lookPace{gap: 15 * time.Second, again: 4 * time.Minute, jobs: 6}
	// focusPace is that of jobs that a person has opened or waits for.
	focusPace = lookPace{again: 30 * time.Second, jobs: math.MaxInt}
)

// Due returns the job of a list to look at now, nil for none: one of the wanted jobs
// whose verdict a look may change. [Lookout.Done] ends the look.
func (l *Lookout) Due(a *Assessment, wanted func(*job.Job) bool, now time.Time) *job.Job {
	return l.next(a, listPace, now, func(j *job.Job) bool {
		judged := a.Of(j)
		return judged.NeedsLook && !judged.Queue.Waits && wanted(j)
	})
}

// DueInFocus returns the job to look at now of those that a person has opened or waits
// for, nil for none. [Lookout.Done] ends the look.
func (l *Lookout) DueInFocus(a *Assessment, wanted func(*job.Job) bool, now time.Time) *job.Job {
	return l.next(a, focusPace, now, wanted)
}

// next begins a look at the wanted job whose last look is the longest ago.
func (l *Lookout) next(a *Assessment, pace lookPace, now time.Time, wanted func(*job.Job) bool) *job.Job {
	if l.current != "" || a.Stale() || now.Sub(l.ended).Abs() < pace.gap {
		return nil
	}
	jobs := slices.DeleteFunc(slices.Clone(a.Snapshot.Active), func(j *job.Job) bool { return !wanted(j) })
	jobs = slices.DeleteFunc(jobs[:min(len(jobs), pace.jobs)], func(j *job.Job) bool { return now.Sub(l.looked[j.UID]).Abs() < pace.again })
	if len(jobs) == 0 {
		return nil
	}
	j := slices.MinFunc(jobs, func(a, b *job.Job) int { return l.looked[a.UID].Compare(l.looked[b.UID]) })
	l.current = j.UID
	return j
}

// Done notes that the look that was due has ended.
func (l *Lookout) Done(now time.Time) {
	if l.looked == nil {
		l.looked = map[types.UID]time.Time{}
	}
	l.ended, l.looked[l.current] = now, now
	l.current = ""
}

// Cancel forgets the look that is under way.
func (l *Lookout) Cancel() { l.current = "" }

// Again makes looks due at once, as if none had been taken.
func (l *Lookout) Again() { l.ended, l.looked = time.Time{}, nil }
