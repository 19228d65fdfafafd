package assess

import (
	"maps"
	"math"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/veltui/veltui/internal/diagnosis"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/velero"
)

// CloserLook is what a closer look found at one job that needed it (see [JudgedJob.NeedsCloserLook]).
type CloserLook struct {
	Evidence diagnosis.JobEvidence
	// Facts are what else the look found: about namespaces, the CRD and your rights.
	Facts []diagnosis.Fact
	// At is when the look was taken, by our own clock.
	At time.Time
	// Err is why the last look failed, on one line, empty if it succeeded.
	Err string
	// logsOnly is true if only the servers' logs were read.
	logsOnly bool
}

// LogReading is what the servers' logs say about jobs.
type LogReading struct {
	Logs map[types.UID]velero.JobLog
	// At is when the logs were read, by our own clock.
	At time.Time
	// Err is why they could not be read, on one line, empty if they were.
	Err string
}

// maxLookAge is how long a look is used: no watch sees changes of what it found.
const maxLookAge = 5 * time.Minute

// RecordCloserLook records a closer look at a job. A failed look removes nothing that an earlier one found.
func (e *Estimates) RecordCloserLook(uid types.UID, l CloserLook) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.looks == nil {
		e.looks = map[types.UID]CloserLook{}
	}
	if old, known := e.looks[uid]; known {
		if l.Err != "" {
			old.Err = l.Err
			l = old
		} else {
			l.Evidence.ServerLog = old.Evidence.ServerLog.MergeLater(l.Evidence.ServerLog) // a log is rotated
		}
	}
	e.looks[uid] = l
}

// RecordLogs adds what the servers' logs say about jobs to what earlier looks found.
func (e *Estimates) RecordLogs(r LogReading) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.looks == nil {
		e.looks = map[types.UID]CloserLook{}
	}
	for uid, log := range r.Logs {
		l, known := e.looks[uid]
		if !known {
			l.logsOnly = true
		}
		if l.logsOnly {
			l.At = r.At
		}
		l.Evidence.ServerLog = l.Evidence.ServerLog.MergeLater(log)
		l.Evidence.LogChecked, l.Evidence.LogUnchecked = true, ""
		e.looks[uid] = l
	}
}

func (e *Estimates) recentLooks(now time.Time) map[types.UID]CloserLook {
	e.mu.Lock()
	defer e.mu.Unlock()
	maps.DeleteFunc(e.looks, func(_ types.UID, l CloserLook) bool { return now.Sub(l.At) > maxLookAge })
	return maps.Clone(e.looks)
}

func needsCloserLook(j *job.Job, v diagnosis.Verdict) bool {
	return v.NeedsCloserLook() || v.State() != "" && len(j.MalformedFields) > 0
}

// applyToVerdict returns the verdict with what a closer look found, and whether the job needs a look; before and
// needed are the verdict and the need without it.
func (l CloserLook) applyToVerdict(
	j *job.Job,
	env diagnosis.World,
	before diagnosis.Verdict,
	needed bool,
) (_ diagnosis.Verdict, needs bool) {
	env.Evidence = maps.Clone(env.Evidence)
	env.Evidence[j.UID] = l.Evidence
	v := diagnosis.Judge(j, env)
	if !needed && !diagnosis.HasServerGivenUpAtRest(j, &env) {
		if v.State() == before.State() && v.Reason == before.Reason || v.Reason == diagnosis.LocationUnavailable {
			return v, false // the log is among the facts, or says that the store is away since the job last moved
		}
		return before, false
	}
	if before.State() != diagnosis.Waiting || v.State() != diagnosis.Waiting { // else nothing is to be done
		v.Facts = mergeFacts(v.Facts, l.Facts)
	}
	if l.Err != "" {
		v.Facts = append(
			slices.Clone(v.Facts),
			diagnosis.Fact{Text: "veltui could not look closer: " + l.Err, Source: "api", At: env.Now},
		)
	}
	return v, true
}

// mergeFacts replaces what was not checked by what a closer look found. All other sources are the same for both.
func mergeFacts(verdict, found []diagnosis.Fact) []diagnosis.Fact {
	isDeep := func(f diagnosis.Fact) bool {
		return f.Source == diagnosis.SourceStorage || f.Source == diagnosis.SourceSchema
	}
	merged := slices.Clone(verdict)
	if slices.ContainsFunc(found, isDeep) {
		merged = slices.DeleteFunc(merged, func(f diagnosis.Fact) bool { return !f.Supports && isDeep(f) })
	}
	for _, f := range found {
		if isDeep(f) || f.Source == diagnosis.SourceRBAC || f.Source == diagnosis.SourceNamespaces {
			merged = append(merged, f)
		}
	}
	return merged
}

// unusualSilence returns the silence about a job that is unusual for it: twice its longest pause of late.
func unusualSilence(j *job.Job) time.Duration {
	return min(max(2*j.LongestPause(), velero.MinUnusualSilence), velero.MaxUnusualSilence)
}

// HasUnusualSilence reports whether nothing was heard of a job that a server works on for longer than is usual for the
// job: the server's log may say more.
func (a *Assessment) HasUnusualSilence(j *job.Job) bool {
	switch j.Phase {
	case velero.PhaseInProgress, velero.PhaseFinalizing, velero.PhaseFinalizingPartiallyFailed:
		return !a.IsStale() && a.silenceOf(j) >= unusualSilence(j)
	}
	return false
}

func (a *Assessment) silenceOf(j *job.Job) time.Duration { return a.World.Now.Sub(j.QuietSince()) }

// ListSilentJobs returns the wanted jobs about which the servers' logs may say more.
func (a *Assessment) ListSilentJobs(wanted func(*job.Job) bool) (silent []*job.Job) {
	for _, j := range a.Snapshot.Active {
		if wanted(j) && len(a.World.Server.Pods) > 0 && a.HasUnusualSilence(j) {
			silent = append(silent, j)
		}
	}
	return silent
}

// NextLogs returns the wanted jobs about which the servers' logs are read now, none if no reading is due. One reading
// serves all jobs. [LookScheduler.FinishLogs] ends the reading.
func (l *LookScheduler) NextLogs(a *Assessment, wanted func(*job.Job) bool, now time.Time) []*job.Job {
	silent, gap := a.ListSilentJobs(wanted), velero.MinLogInterval
	if l.logsUnread {
		gap = velero.MaxLogInterval // whoever may not read them now seldom may a moment later
	}
	isDue := func(j *job.Job) bool {
		interval := min(max(a.silenceOf(j)/velero.LogReadsPerSilence, velero.MinLogInterval), velero.MaxLogInterval)
		return now.Sub(l.lastLogs[j.UID]).Abs() >= interval
	}
	if l.readingLogs || now.Sub(l.logsRead).Abs() < gap || !slices.ContainsFunc(silent, isDue) {
		return nil
	}
	l.readingLogs, l.logsRead, l.lastLogs = true, now, map[types.UID]time.Time{}
	for _, j := range silent {
		l.lastLogs[j.UID] = now
	}
	return silent
}

// FinishLogs records that the reading of the servers' logs has ended, and whether they could be read.
func (l *LookScheduler) FinishLogs(read bool) { l.readingLogs, l.logsUnread = false, !read }

// CancelLogs records that the reading was withdrawn.
func (l *LookScheduler) CancelLogs() { l.readingLogs = false }

// LookScheduler decides which job gets a closer look, and when: one job at a time. It does no I/O.
type LookScheduler struct {
	// readingLogs is true while the servers' logs are read, and logsUnread if they could not be read last.
	readingLogs, logsUnread bool
	// logsRead is when the servers' logs were last read, and lastLogs when about each silent job.
	logsRead time.Time
	lastLogs map[types.UID]time.Time

	currentJob types.UID
	// lastEnded is when the last look ended, and lastLooks when the last look at each job did.
	lastEnded time.Time
	lastLooks map[types.UID]time.Time
}

// lookPace limits closer looks: gap is the time between two looks, repeatAfter between two at the same job, and
// maxJobs is the number of jobs.
type lookPace struct {
	gap, repeatAfter time.Duration
	maxJobs          int
}

var (
	// listPace is the pace for jobs in a list. A look is repeated before its result is forgotten ([maxLookAge]).
	listPace = lookPace{gap: 15 * time.Second, repeatAfter: 4 * time.Minute, maxJobs: 6}
	// focusPace is the pace for jobs that a person has opened or waits for.
	focusPace = lookPace{repeatAfter: 30 * time.Second, maxJobs: math.MaxInt}
)

// NextInList returns the job of a list that gets a closer look now, nil for none: a wanted job that needs one.
// [LookScheduler.FinishLook] ends the look.
func (l *LookScheduler) NextInList(a *Assessment, wanted func(*job.Job) bool, now time.Time) *job.Job {
	return l.startNext(a, listPace, now, func(j *job.Job) bool {
		return a.AssessJob(j).NeedsCloserLook && wanted(j)
	})
}

// NextInFocus is NextInList for a job that a person has opened, and for the jobs that it waits for.
func (l *LookScheduler) NextInFocus(a *Assessment, open *job.Job, now time.Time) *job.Job {
	ahead := diagnosis.JobsInFront(open, a.World)
	return l.startNext(a, focusPace, now, func(j *job.Job) bool {
		isAhead := func(o *job.Job) bool { return o.UID == j.UID }
		return a.AssessJob(j).NeedsCloserLook && (j.UID == open.UID || slices.ContainsFunc(ahead, isAhead))
	})
}

// NextAwaited is NextInList for jobs whose end a person waits for, including jobs that seem to need no look.
func (l *LookScheduler) NextAwaited(a *Assessment, wanted func(*job.Job) bool, now time.Time) *job.Job {
	return l.startNext(a, focusPace, now, wanted)
}

// startNext begins a look at the wanted job whose last look was the longest ago.
func (l *LookScheduler) startNext(a *Assessment, pace lookPace, now time.Time, wanted func(*job.Job) bool) *job.Job {
	if l.currentJob != "" || a.IsStale() || now.Sub(l.lastEnded).Abs() < pace.gap {
		return nil
	}
	jobs := slices.DeleteFunc(slices.Clone(a.Snapshot.Active), func(j *job.Job) bool { return !wanted(j) })
	jobs = slices.DeleteFunc(
		jobs[:min(len(jobs), pace.maxJobs)],
		func(j *job.Job) bool { return now.Sub(l.lastLooks[j.UID]).Abs() < pace.repeatAfter },
	)
	if len(jobs) == 0 {
		return nil
	}
	j := slices.MinFunc(jobs, func(a, b *job.Job) int { return l.lastLooks[a.UID].Compare(l.lastLooks[b.UID]) })
	l.currentJob = j.UID
	return j
}

// FinishLook records that the current look has ended.
func (l *LookScheduler) FinishLook(now time.Time) {
	if l.lastLooks == nil {
		l.lastLooks = map[types.UID]time.Time{}
	}
	l.lastEnded, l.lastLooks[l.currentJob] = now, now
	l.currentJob = ""
}

func (l *LookScheduler) CancelLook() { l.currentJob = "" }

// ForgetLooks makes looks due at once, as if none had been taken.
func (l *LookScheduler) ForgetLooks() {
	l.lastEnded, l.lastLooks = time.Time{}, nil
	l.logsRead, l.lastLogs, l.logsUnread = time.Time{}, nil, false
}
