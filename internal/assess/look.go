package assess

import (
	"maps"
	"math"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/veltui/veltui/internal/diagnosis"
	"github.com/veltui/veltui/internal/job"
)

// Look is what a closer look found at one job that needed it (see [Judged.NeedsLook]).
type Look struct {
	Evidence diagnosis.Evidence
	// Facts are what else it found: about namespaces, the CRD and your rights.
	Facts []diagnosis.Fact
	// At is when it was taken, in our own clock.
	At time.Time
	// Err is why the last look failed, on one line, empty if it did not.
	Err string
}

// lookAge is how long a look is used: no watch sees what it found change.
const lookAge = 5 * time.Minute

// Looked notes a closer look at a job. A failed one removes nothing that an earlier found.
func (e *Estimates) Looked(uid types.UID, l Look) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.looks == nil {
		e.looks = map[types.UID]Look{}
	}
	if old, known := e.looks[uid]; known {
		if l.Err != "" {
			old.Err = l.Err
			l = old
		} else {
			l.Evidence.Log = old.Evidence.Log.Then(l.Evidence.Log) // a log is rotated
		}
	}
	e.looks[uid] = l
}

func (e *Estimates) recent(now time.Time) map[types.UID]Look {
	e.mu.Lock()
	defer e.mu.Unlock()
	maps.DeleteFunc(e.looks, func(_ types.UID, l Look) bool { return now.Sub(l.At) > lookAge })
	return maps.Clone(e.looks)
}

func needsLook(j *job.Job, v diagnosis.Verdict) bool {
	return v.NeedsCloserLook() || v.State() != "" && len(j.Malformed) > 0
}

// with is the verdict with what a closer look found, and whether the job needs one; before and needed are
// those without.
func (l Look) with(
	j *job.Job,
	env diagnosis.Environment,
	before diagnosis.Verdict,
	needed bool,
) (_ diagnosis.Verdict, needs bool) {
	env.Evidence = maps.Clone(env.Evidence)
	env.Evidence[j.UID] = l.Evidence
	v := diagnosis.Judge(j, env)
	if !needed && !diagnosis.GaveUpAtRest(j, &env) {
		if v.State() == before.State() && v.Reason == before.Reason {
			return v, false // the log is among the facts
		}
		return before, false
	}
	if before.State() != diagnosis.Waiting || v.State() != diagnosis.Waiting { // else nothing is to be done about it
		v.Facts = merge(v.Facts, l.Facts)
	}
	if l.Err != "" {
		v.Facts = append(
			slices.Clone(v.Facts),
			diagnosis.Fact{Text: "veltui could not look closer: " + l.Err, Source: "api", At: env.Now},
		)
	}
	return v, true
}

// merge replaces what was not checked by what a closer look found. Other sources are the same for both.
func merge(verdict, found []diagnosis.Fact) []diagnosis.Fact {
	isDeep := func(f diagnosis.Fact) bool {
		return f.Source == diagnosis.SourceStorage || f.Source == diagnosis.SourceSchema
	}
	merged := slices.Clone(verdict)
	if slices.ContainsFunc(found, isDeep) {
		merged = slices.DeleteFunc(merged, func(f diagnosis.Fact) bool { return !f.Holds && isDeep(f) })
	}
	for _, f := range found {
		if isDeep(f) || f.Source == diagnosis.SourceRBAC || f.Source == diagnosis.SourceNamespaces {
			merged = append(merged, f)
		}
	}
	return merged
}

// Lookout decides which job to look closer at, and when: one at a time. It does no I/O.
type Lookout struct {
	current types.UID
	// ended is when the last look ended, and looked when the last one at each job did.
	ended  time.Time
	looked map[types.UID]time.Time
}

// lookPace: gap lies between two closer looks, again between two at the same job, and jobs bounds the jobs.
type lookPace struct {
	gap, again time.Duration
	jobs       int
}

var (
	// listPace is that of jobs in a list. A look is repeated before what it found is forgotten ([lookAge]).
	listPace = lookPace{gap: 15 * time.Second, again: 4 * time.Minute, jobs: 6}
	// focusPace is that of jobs that a person has opened or waits for.
	focusPace = lookPace{again: 30 * time.Second, jobs: math.MaxInt}
)

// Due is the job of a list to look at now, nil for none: a wanted one that needs it. [Lookout.Done] ends the look.
func (l *Lookout) Due(a *Assessment, wanted func(*job.Job) bool, now time.Time) *job.Job {
	return l.next(a, listPace, now, func(j *job.Job) bool {
		return a.Of(j).NeedsLook && wanted(j)
	})
}

// DueInFocus is Due for a job that a person has opened, and for those that it waits for.
func (l *Lookout) DueInFocus(a *Assessment, open *job.Job, now time.Time) *job.Job {
	ahead := diagnosis.InFront(open, a.Environment)
	return l.next(a, focusPace, now, func(j *job.Job) bool {
		isAhead := func(o *job.Job) bool { return o.UID == j.UID }
		return a.Of(j).NeedsLook && (j.UID == open.UID || slices.ContainsFunc(ahead, isAhead))
	})
}

// DueAwaited is Due for jobs whose end a person waits for, also such that seem to need no look.
func (l *Lookout) DueAwaited(a *Assessment, wanted func(*job.Job) bool, now time.Time) *job.Job {
	return l.next(a, focusPace, now, wanted)
}

// next begins a look at the wanted job whose last look is the longest ago.
func (l *Lookout) next(a *Assessment, pace lookPace, now time.Time, wanted func(*job.Job) bool) *job.Job {
	if l.current != "" || a.Stale() || now.Sub(l.ended).Abs() < pace.gap {
		return nil
	}
	jobs := slices.DeleteFunc(slices.Clone(a.Snapshot.Active), func(j *job.Job) bool { return !wanted(j) })
	jobs = slices.DeleteFunc(
		jobs[:min(len(jobs), pace.jobs)],
		func(j *job.Job) bool { return now.Sub(l.looked[j.UID]).Abs() < pace.again },
	)
	if len(jobs) == 0 {
		return nil
	}
	j := slices.MinFunc(jobs, func(a, b *job.Job) int { return l.looked[a.UID].Compare(l.looked[b.UID]) })
	l.current = j.UID
	return j
}

func (l *Lookout) Done(now time.Time) {
	if l.looked == nil {
		l.looked = map[types.UID]time.Time{}
	}
	l.ended, l.looked[l.current] = now, now
	l.current = ""
}

func (l *Lookout) Cancel() { l.current = "" }

// Again makes looks due at once, as if none had been taken.
func (l *Lookout) Again() { l.ended, l.looked = time.Time{}, nil }
