package main

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"
)

const (
	// detectionGrace is how long after its expected time a dead job may go unseen.
	detectionGrace = time.Minute
	// slowThreshold is how long a job that lives is silent before it counts as slow.
	slowThreshold = 20 * time.Second
	// staleAfter is how long a client may hear nothing before what it knows is stale.
	staleAfter = 10 * time.Second
)

// Verdict is what is said of a job at a moment.
type Verdict struct {
	// Job is KIND/NAME in lower case.
	Job     string
	State   string
	Reason  string
	Summary string
}

// isAlarm is true for a verdict by which people act.
func (v Verdict) isAlarm() bool { return v.State == "stuck" || v.State == "orphaned" }

// Judge says how jobs are from what a recording has shown so far.
type Judge interface {
	// ShowEntry tells the next entry: an object or a line of a log.
	ShowEntry(Entry) error
	// JudgeJobs are those on all jobs that have not ended at a moment; stale is
	// true if nothing was heard since heard.
	JudgeJobs(now, heard time.Time, stale bool) ([]Verdict, error)
}

// Mistake says in what way a verdict is wrong.
type Mistake string

// The ways.
const (
	FalseAlarm Mistake = "false alarm"
	Miss       Mistake = "miss"
	// Unsettled is an alarm before a fault that makes Velero look at everything
	// anew, after which it went on: whether it would have by itself is not known.
	Unsettled Mistake = "unsettled"
)

// WrongPeriod is an unbroken time in which one verdict on one job was wrong in one
// way.
type WrongPeriod struct {
	Mistake
	Verdict
	From, To time.Time
	// Proof says what shows that it is wrong.
	Proof string
	// Seconds counts the wrong ones.
	Seconds int
}

// WrongPeriods are several of them.
type WrongPeriods []WrongPeriod

// totalSeconds counts the wrong seconds of all moments.
func (m WrongPeriods) totalSeconds() (sum int) {
	for _, moment := range m {
		sum += moment.Seconds
	}
	return sum
}

// VerdictCount is how many seconds were judged with one verdict.
type VerdictCount struct {
	State, Reason string
	// Seconds are all, False and Missed those of them that were wrong, and
	// Unsettled the alarms of which that is not known.
	Seconds, FalseAlarms, Misses, Unsettled int
}

// Result is what judging a recording came to.
type Result struct {
	Story        Story
	Counts       []VerdictCount
	WrongPeriods WrongPeriods
	// Jobs are all, Dead those with a fate, by cause, Slow the slow living ones,
	// and Undecided those that neither ended nor had a fate.
	Jobs      int
	Dead      map[Cause]int
	Slow      []string
	Undecided []string
	// Faults and Failures are what happened to the cluster, and what could not be
	// carried out.
	Faults, Failures []string
	// Unproven are jobs with a fate whose expected time lies too late in the recording: they
	// do not count as dead. Seen how long after that time each other was seen; negative before it.
	Unproven []string
	// Refuted are the fates that did not hold: Velero went on with the job, which
	// counts as one that lives.
	Refuted []string
	// Woken are the jobs with which Velero went on, after a shock, before they had to
	// be seen as dead.
	Woken         []string
	DetectedAfter map[string]time.Duration
	// Seconds is the number of all judgements.
	Seconds int
}

// JudgeRecording judges every job at every second, or with longer steps, and holds each
// verdict against the rest of the recording. Each judgement counts as a second.
func JudgeRecording(entries []Entry, judge Judge, step time.Duration) (Result, error) {
	truth := readTruth(entries)
	if truth.begin.IsZero() {
		return Result{}, errors.New("the recording holds no beginning of a story")
	}
	result := Result{
		Story:         truth.story,
		Dead:          map[Cause]int{},
		DetectedAfter: map[string]time.Duration{},
		Faults:        truth.faults,
		Failures:      truth.failures,
	}
	tally := verdictTally{truth: truth, result: &result, counts: map[[2]string]*VerdictCount{}, open: map[string]int{}}
	next, heard := 0, time.Time{}
	for now := truth.begin.Truncate(time.Second).Add(time.Second); !now.After(truth.end); now = now.Add(step) {
		for ; next < len(entries) && !entries[next].At.After(now); next++ {
			switch e := entries[next]; e.Kind {
			case HeartbeatEntry:
				heard = e.At
			case ObjectEntry, LogEntry:
				if err := judge.ShowEntry(e); err != nil {
					return result, fmt.Errorf("showing entry %d: %w", next+1, err)
				}
			}
		}
		stale := now.Sub(heard) > staleAfter
		verdicts, err := judge.JudgeJobs(now, heard, stale)
		if err != nil {
			return result, fmt.Errorf("judging at %s: %w", now.Format(time.TimeOnly), err)
		}
		for _, v := range verdicts {
			tally.addVerdict(v, now, stale)
		}
	}
	tally.finishResult()
	return result, nil
}

// verdictTally counts verdicts.
type verdictTally struct {
	truth  recordedTruth
	result *Result
	counts map[[2]string]*VerdictCount
	// open are the moments that may go on, by job, as indices.
	open map[string]int
}

func (t *verdictTally) addVerdict(v Verdict, now time.Time, stale bool) {
	t.result.Seconds++
	key := [2]string{v.State, v.Reason}
	c := t.counts[key]
	if c == nil {
		c = &VerdictCount{State: v.State, Reason: v.Reason}
		t.counts[key] = c
	}
	c.Seconds++
	job := t.truth.jobs[v.Job]
	if job == nil {
		return
	}
	fate := job.deathAt(now)
	if fate != nil && v.isAlarm() {
		if _, seen := t.result.DetectedAfter[v.Job]; !seen {
			t.result.DetectedAfter[v.Job] = now.Sub(fate.expected)
		}
	}
	var wrong Mistake
	var why string
	switch {
	case fate == nil && v.isAlarm():
		next, shock, ok := job.nextProgress(now)
		switch after := next.at.Sub(now).Round(time.Second); {
		case ok && shock:
			wrong, why = Unsettled, fmt.Sprintf("Velero went on %s later, after another fault: %s", after, next.what)
			c.Unsettled++
		case ok:
			wrong, why = FalseAlarm, fmt.Sprintf("Velero went on by itself %s later: %s", after, next.what)
			c.FalseAlarms++
		}
	case fate != nil && stale:
		// What nobody can hear takes none of the minute.
		fate.staleTime += time.Second
	case fate != nil && !v.isAlarm() &&
		now.After(fate.expected.Add(detectionGrace+fate.staleTime)) && !anyBetween(job.repairs, fate.at, now):
		wrong, why = Miss, fmt.Sprintf(
			"dead since %s (%s), to be seen by %s: %s",
			fate.at.Format(time.TimeOnly),
			fate.Cause,
			fate.expected.Add(detectionGrace+fate.staleTime).Format(time.TimeOnly),
			fate.Source,
		)
		c.Misses++
	}
	t.extendPeriod(v, now, wrong, why)
}

// extendPeriod makes moments of wrong seconds.
func (t *verdictTally) extendPeriod(v Verdict, now time.Time, wrong Mistake, why string) {
	i, open := t.open[v.Job]
	if open {
		m := &t.result.WrongPeriods[i]
		if m.Mistake == wrong && m.State == v.State && m.Reason == v.Reason {
			m.To, m.Seconds = now, m.Seconds+1
			return
		}
		delete(t.open, v.Job)
	}
	if wrong != "" {
		t.open[v.Job] = len(t.result.WrongPeriods)
		t.result.WrongPeriods = append(
			t.result.WrongPeriods,
			WrongPeriod{Mistake: wrong, Verdict: v, From: now, To: now, Proof: why, Seconds: 1},
		)
	}
}

func (t *verdictTally) finishResult() {
	for _, c := range t.counts {
		t.result.Counts = append(t.result.Counts, *c)
	}
	slices.SortFunc(t.result.Counts, func(a, b VerdictCount) int {
		return cmp.Or(cmp.Compare(a.State, b.State), cmp.Compare(a.Reason, b.Reason))
	})
	for _, name := range t.truth.names {
		job := t.truth.jobs[name]
		t.result.Jobs++
		if job.refutation != "" {
			t.result.Refuted = append(t.result.Refuted, name+": "+job.refutation)
		}
		switch {
		case job.death != nil && !job.death.woken.IsZero() &&
			job.death.woken.Before(job.death.expected.Add(detectionGrace+job.death.staleTime)):
			t.result.Woken = append(t.result.Woken, name)
		case job.death != nil && !job.death.expected.Add(detectionGrace+job.death.staleTime).Before(t.truth.end):
			t.result.Unproven = append(t.result.Unproven, name)
		case job.death != nil:
			t.result.Dead[job.death.Cause]++
		case !job.hasEnded:
			t.result.Undecided = append(t.result.Undecided, name)
		case job.longestSilence >= slowThreshold:
			t.result.Slow = append(t.result.Slow, name)
		}
	}
}

// knownWrongPeriods are the moments that are known to be.
func (r Result) knownWrongPeriods() []WrongPeriod {
	return slices.DeleteFunc(slices.Clone(r.WrongPeriods), func(m WrongPeriod) bool { return m.Mistake == Unsettled })
}

// falseAlarms are the moments that are known to be false alarms.
func (r Result) falseAlarms() WrongPeriods {
	return slices.DeleteFunc(slices.Clone(r.WrongPeriods), func(m WrongPeriod) bool { return m.Mistake != FalseAlarm })
}

// Err is what a run fails for, nil if every verdict was right and the story was
// told as it should be.
func (r Result) Err() error {
	var errs []error
	if wrong := r.knownWrongPeriods(); len(wrong) > 0 {
		errs = append(errs, fmt.Errorf("%d wrong moments", len(wrong)))
	}
	dead := 0
	for _, n := range r.Dead {
		dead += n
	}
	if dead < 5 || len(r.Dead) < 4 {
		errs = append(errs, fmt.Errorf("only %d dead jobs of %d kinds", dead, len(r.Dead)))
	}
	if len(r.Slow) < 10 {
		errs = append(errs, fmt.Errorf("only %d slow living jobs", len(r.Slow)))
	}
	if 20*len(r.Undecided) > r.Jobs {
		errs = append(errs, fmt.Errorf("%d of %d jobs are undecided", len(r.Undecided), r.Jobs))
	}
	if len(r.Refuted) > 0 {
		errs = append(errs, fmt.Errorf("the story is wrong: %d jobs went on that it takes for dead", len(r.Refuted)))
	}
	return errors.Join(errs...)
}
