package main

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"
)

const (
	// misses is how long after its expected time a dead job may go unseen.
	misses = time.Minute
	// slow is how long a job that lives is silent before it counts as slow.
	slow = 20 * time.Second
	// silence is how long a client may hear nothing before what it knows is stale.
	silence = 10 * time.Second
)

// Verdict is what is said of a job at a moment.
type Verdict struct {
	// Job is KIND/NAME in lower case.
	Job     string
	State   string
	Reason  string
	Summary string
}

// troubled is true for a verdict by which people act.
func (v Verdict) troubled() bool { return v.State == "stuck" || v.State == "orphaned" }

// Judge says how jobs are from what a recording has shown so far.
type Judge interface {
	// Show tells the next entry: an object or a line of a log.
	Show(Entry) error
	// Verdicts are those on all jobs that have not ended at a moment; stale is
	// true if nothing was heard since heard.
	Verdicts(now, heard time.Time, stale bool) ([]Verdict, error)
}

// Wrong says in what way a verdict is wrong.
type Wrong string

// The ways.
const (
	FalseAlarm Wrong = "false alarm"
	Miss       Wrong = "miss"
	// Unsettled is an alarm before a fault that makes Velero look at everything
	// anew, after which it went on: whether it would have by itself is not known.
	Unsettled Wrong = "unsettled"
)

// Moment is an unbroken time in which one verdict on one job was wrong in one
// way.
type Moment struct {
	Wrong
	Verdict
	From, To time.Time
	// Truth says what shows that it is wrong.
	Truth string
	// Seconds counts the wrong ones.
	Seconds int
}

// Moments are several of them.
type Moments []Moment

// seconds counts the wrong seconds of all moments.
func (m Moments) seconds() (sum int) {
	for _, moment := range m {
		sum += moment.Seconds
	}
	return sum
}

// Count is how many seconds were judged with one verdict.
type Count struct {
	State, Reason string
	// Seconds are all, False and Missed those of them that were wrong, and
	// Unsettled the alarms of which that is not known.
	Seconds, False, Missed, Unsettled int
}

// Result is what judging a recording came to.
type Result struct {
	Story   Story
	Counts  []Count
	Moments Moments
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
	Woken []string
	Seen  map[string]time.Duration
	// Seconds is the number of all judgements.
	Seconds int
}

// JudgeRecording judges every job at every second, or with longer steps, and holds each
// verdict against the rest of the recording. Each judgement counts as a second.
func JudgeRecording(entries []Entry, judge Judge, step time.Duration) (Result, error) {
	truth := learn(entries)
	if truth.begin.IsZero() {
		return Result{}, errors.New("the recording holds no beginning of a story")
	}
	result := Result{
		Story:    truth.story,
		Dead:     map[Cause]int{},
		Seen:     map[string]time.Duration{},
		Faults:   truth.faults,
		Failures: truth.failures,
	}
	tally := tally{truth: truth, result: &result, counts: map[[2]string]*Count{}, open: map[string]int{}}
	next, heard := 0, time.Time{}
	for now := truth.begin.Truncate(time.Second).Add(time.Second); !now.After(truth.end); now = now.Add(step) {
		for ; next < len(entries) && !entries[next].At.After(now); next++ {
			switch e := entries[next]; e.Kind {
			case BeatEntry:
				heard = e.At
			case ObjectEntry, LogEntry:
				if err := judge.Show(e); err != nil {
					return result, fmt.Errorf("showing entry %d: %w", next+1, err)
				}
			}
		}
		stale := now.Sub(heard) > silence
		verdicts, err := judge.Verdicts(now, heard, stale)
		if err != nil {
			return result, fmt.Errorf("judging at %s: %w", now.Format(time.TimeOnly), err)
		}
		for _, v := range verdicts {
			tally.add(v, now, stale)
		}
	}
	tally.finish()
	return result, nil
}

// tally counts verdicts.
type tally struct {
	truth  truth
	result *Result
	counts map[[2]string]*Count
	// open are the moments that may go on, by job, as indices.
	open map[string]int
}

func (t *tally) add(v Verdict, now time.Time, stale bool) {
	t.result.Seconds++
	key := [2]string{v.State, v.Reason}
	c := t.counts[key]
	if c == nil {
		c = &Count{State: v.State, Reason: v.Reason}
		t.counts[key] = c
	}
	c.Seconds++
	job := t.truth.jobs[v.Job]
	if job == nil {
		return
	}
	fate := job.fateAt(now)
	if fate != nil && v.troubled() {
		if _, seen := t.result.Seen[v.Job]; !seen {
			t.result.Seen[v.Job] = now.Sub(fate.expected)
		}
	}
	var wrong Wrong
	var why string
	switch {
	case fate == nil && v.troubled():
		next, shock, ok := job.continues(now)
		switch after := next.at.Sub(now).Round(time.Second); {
		case ok && shock:
			wrong, why = Unsettled, fmt.Sprintf("Velero went on %s later, after another fault: %s", after, next.what)
			c.Unsettled++
		case ok:
			wrong, why = FalseAlarm, fmt.Sprintf("Velero went on by itself %s later: %s", after, next.what)
			c.False++
		}
	case fate != nil && stale:
		// What nobody can hear takes none of the minute.
		fate.stale += time.Second
	case fate != nil && !v.troubled() &&
		now.After(fate.expected.Add(misses+fate.stale)) && !between(job.repairs, fate.at, now):
		wrong, why = Miss, fmt.Sprintf(
			"dead since %s (%s), to be seen by %s: %s",
			fate.at.Format(time.TimeOnly),
			fate.Cause,
			fate.expected.Add(misses+fate.stale).Format(time.TimeOnly),
			fate.Source,
		)
		c.Missed++
	}
	t.note(v, now, wrong, why)
}

// note makes moments of wrong seconds.
func (t *tally) note(v Verdict, now time.Time, wrong Wrong, why string) {
	i, open := t.open[v.Job]
	if open {
		m := &t.result.Moments[i]
		if m.Wrong == wrong && m.State == v.State && m.Reason == v.Reason {
			m.To, m.Seconds = now, m.Seconds+1
			return
		}
		delete(t.open, v.Job)
	}
	if wrong != "" {
		t.open[v.Job] = len(t.result.Moments)
		t.result.Moments = append(
			t.result.Moments,
			Moment{Wrong: wrong, Verdict: v, From: now, To: now, Truth: why, Seconds: 1},
		)
	}
}

func (t *tally) finish() {
	for _, c := range t.counts {
		t.result.Counts = append(t.result.Counts, *c)
	}
	slices.SortFunc(t.result.Counts, func(a, b Count) int {
		return cmp.Or(cmp.Compare(a.State, b.State), cmp.Compare(a.Reason, b.Reason))
	})
	for _, name := range t.truth.names {
		job := t.truth.jobs[name]
		t.result.Jobs++
		if job.refuted != "" {
			t.result.Refuted = append(t.result.Refuted, name+": "+job.refuted)
		}
		switch {
		case job.fate != nil && !job.fate.woken.IsZero() &&
			job.fate.woken.Before(job.fate.expected.Add(misses+job.fate.stale)):
			t.result.Woken = append(t.result.Woken, name)
		case job.fate != nil && !job.fate.expected.Add(misses+job.fate.stale).Before(t.truth.end):
			t.result.Unproven = append(t.result.Unproven, name)
		case job.fate != nil:
			t.result.Dead[job.fate.Cause]++
		case !job.over:
			t.result.Undecided = append(t.result.Undecided, name)
		case job.silent >= slow:
			t.result.Slow = append(t.result.Slow, name)
		}
	}
}

// wrong are the moments that are known to be.
func (r Result) wrong() []Moment {
	return slices.DeleteFunc(slices.Clone(r.Moments), func(m Moment) bool { return m.Wrong == Unsettled })
}

// falseAlarms are the moments that are known to be false alarms.
func (r Result) falseAlarms() Moments {
	return slices.DeleteFunc(slices.Clone(r.Moments), func(m Moment) bool { return m.Wrong != FalseAlarm })
}

// Err is what a run fails for, nil if every verdict was right and the story was
// told as it should be.
func (r Result) Err() error {
	var errs []error
	if wrong := r.wrong(); len(wrong) > 0 {
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
