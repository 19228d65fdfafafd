package ui

import (
	"context"
	"slices"
	"time"

	tea "charm.land/bubbletea/v2"
	"k8s.io/apimachinery/pkg/types"

	"github.com/veltui/veltui/collector"
	"github.com/veltui/veltui/forecast"
	"github.com/veltui/veltui/job"
	"github.com/veltui/veltui/watch"
)

// Estimator knows what is in backups. Its methods take as long as downloading
// one, and end with ctx. Their errors are shown on one line.
type Estimator interface {
	// Estimate works out what a restore of the cluster restores. server is the
	// version of Velero's server, empty if it is not known.
	Estimate(ctx context.Context, restore *job.Job, server string, progress Progress) (collector.Estimate, error)
	// Contents counts what a backup holds.
	Contents(ctx context.Context, backup *job.Job, progress Progress) ([]collector.ResourceCount, error)
}

// Progress is told how many bytes of a backup have come, of how many; total is
// 0 while that is not known. It may be called from any goroutine, and never
// blocks. While nothing is downloaded it is not called.
type Progress func(done, total int64)

// answerRetry is how long an answer that is an error stands.
const answerRetry = time.Minute

// answer is what the Estimator said about one job. It does not change.
type answer struct {
	// pending is true until there is one; done of total bytes have come then.
	pending     bool
	done, total int64

	estimate collector.Estimate        // of a restore
	contents []collector.ResourceCount // of a backup
	known    forecast.Rates            // of the cluster, when a restore was asked about
	err      error
	at       time.Time
}

// answerArrived brings the answer to a question.
type answerArrived struct {
	uid    types.UID
	number int
	answer *answer
}

// question is one that the Estimator was asked.
type question struct {
	number int
	// unasked is true if no screen is open that wants to know.
	unasked  bool
	ctx      context.Context // ends with the question
	cancel   context.CancelFunc
	answer   *answer
	download *download
	// course is how a restore goes, nil while that cannot be foreseen.
	course *forecast.Restore
}

// estimates are the questions of this run and their answers. There is never
// more than one about a job, nor more than one that nobody asked for.
type estimates struct {
	// ask makes the command that asks; nil if nobody can be asked.
	ask       func(j *job.Job, server string, number int, q *question) tea.Cmd
	questions map[types.UID]*question
	asked     int
	rates     Rates // nil if nothing is remembered
	told      []forecast.Rates
}

func newEstimates(ctx context.Context, o Options) estimates {
	e := estimates{questions: map[types.UID]*question{}, rates: o.Rates}
	if o.Estimator == nil {
		return e
	}
	e.ask = func(j *job.Job, server string, number int, q *question) tea.Cmd {
		ctx, cancel := context.WithCancel(ctx)
		q.ctx, q.cancel, q.download = ctx, cancel, newDownload()
		progress := q.download.report
		return guarded(func() tea.Msg {
			a := &answer{}
			if j.Kind == job.Restore {
				a.estimate, a.err = o.Estimator.Estimate(ctx, j, server, progress)
				if o.Rates != nil && a.err == nil {
					a.known = o.Rates.Known()
				}
			} else {
				a.contents, a.err = o.Estimator.Contents(ctx, j, progress)
			}
			a.at = o.Clock()
			return answerArrived{j.UID, number, a}
		})
	}
	return e
}

// of is what is known about a job, nil if nothing was asked.
func (e *estimates) of(uid types.UID) *answer {
	if q := e.questions[uid]; q != nil {
		return q.answer
	}
	return nil
}

// take accepts an answer unless the question was withdrawn meanwhile.
func (e *estimates) take(m answerArrived) bool {
	q := e.questions[m.uid]
	if q == nil || q.number != m.number {
		return false
	}
	q.cancel()
	q.answer, q.unasked = m.answer, false
	q.course = courseOf(m.answer)
	return true
}

// want asks about a job if that was not done yet. unasked is true if it is only
// because the job runs.
func (e *estimates) want(j *job.Job, server string, now time.Time, unasked bool) tea.Cmd {
	if e.ask == nil || j.Kind == job.Restore && j.BackupName == "" || j.Kind == job.Backup && !j.Terminal() {
		return nil
	}
	if q := e.questions[j.UID]; q != nil {
		q.unasked = q.unasked && unasked
		if q.answer.err == nil || unasked || now.Sub(q.answer.at) < answerRetry {
			return nil
		}
	}
	if unasked && e.busy() {
		return nil
	}
	e.asked++
	q := &question{number: e.asked, unasked: unasked, answer: &answer{pending: true}}
	e.questions[j.UID] = q
	return tea.Batch(e.ask(j, server, e.asked, q), q.follow(j.UID, 0))
}

func (e *estimates) busy() bool {
	for _, q := range e.questions {
		if q.unasked && q.answer.pending {
			return true
		}
	}
	return false
}

// forget withdraws the questions about jobs that keep does not want, ends their
// downloads and drops their answers.
func (e *estimates) forget(keep func(types.UID, *question) bool) {
	for uid, q := range e.questions {
		if !keep(uid, q) {
			q.cancel()
			delete(e.questions, uid)
		}
	}
}

// begins reports whether a restore is at a point where its total is of use.
func begins(j *job.Job) bool {
	return j.Kind == job.Restore && (j.Stage == job.StageQueued || j.Stage == job.StageItems)
}

// askAbout asks about the open job if its page wants to know, and about a
// restore that runs.
func (m *Model) askAbout() tea.Cmd {
	if m.digest == nil || m.estimates.ask == nil {
		return nil
	}
	server, now := m.digest.snap.Server.Version, m.options.Clock()
	var cmds []tea.Cmd
	if m.job != nil && m.job.page == pageResources && m.job.last != nil && !m.job.deleted {
		cmds = append(cmds, m.estimates.want(m.job.last, server, now, false))
	}
	for _, j := range m.digest.snap.Active {
		if begins(j) {
			cmds = append(cmds, m.estimates.want(j, server, now, true))
		}
	}
	return tea.Batch(append(cmds, m.estimates.remember())...)
}

// dropAnswers keeps what is known of the open job and of restores that begin.
// Downloads that were begun for a screen that is closed now are ended.
func (m *Model) dropAnswers() {
	if len(m.estimates.questions) == 0 || m.digest == nil {
		return
	}
	keep := map[types.UID]bool{}
	if m.job != nil {
		keep[m.job.uid] = true
	}
	for _, j := range m.digest.snap.Active {
		keep[j.UID] = keep[j.UID] || begins(j)
	}
	m.estimates.forget(func(uid types.UID, _ *question) bool { return keep[uid] })
}

// askAgain asks anew what could not be answered.
func (m *Model) askAgain() tea.Cmd {
	m.estimates.forget(func(_ types.UID, q *question) bool { return q.answer.err == nil })
	return m.askAbout()
}

// withTotals is a digest in which restores that have no total of Velero's yet
// have the estimated one, and those that restore items know how long that takes.
func (e *estimates) withTotals(dg *digest) *digest {
	e.learn(dg)
	better := map[types.UID]*job.Job{}
	for _, j := range dg.snap.Active {
		if q := e.questions[j.UID]; q != nil && !q.answer.pending && q.answer.err == nil {
			k := j.WithTotal(q.answer.estimate.Total)
			if k = q.course.See(k, dg.snap.Health.State == watch.Live); k != j {
				better[j.UID] = k
			}
		}
	}
	if len(better) == 0 {
		return dg
	}
	copied := *dg
	snap := *dg.snap
	copied.snap = &snap
	snap.Jobs, snap.Active = replaced(snap.Jobs, better), replaced(snap.Active, better)
	return &copied
}

func replaced(jobs []*job.Job, better map[types.UID]*job.Job) []*job.Job {
	jobs = slices.Clone(jobs)
	for i, j := range jobs {
		if k := better[j.UID]; k != nil {
			jobs[i] = k
		}
	}
	return jobs
}
