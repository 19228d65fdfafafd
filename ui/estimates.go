package ui

import (
	"context"
	"sync/atomic"
	"time"

	tea "charm.land/bubbletea/v2"
	"k8s.io/apimachinery/pkg/types"

	"github.com/veltui/veltui/assess"
	"github.com/veltui/veltui/collector"
	"github.com/veltui/veltui/inspect"
	"github.com/veltui/veltui/job"
	"github.com/veltui/veltui/job/forecast"
	"github.com/veltui/veltui/ui/jobview"
	"github.com/veltui/veltui/velero"
)

// Estimator knows what is in backups. Its methods take as long as downloading
// one, and end with ctx. Their errors are shown on one line.
type Estimator interface {
	// Estimate works out what a restore of the cluster restores. The version and
	// flags of server, Velero's, decide on that.
	Estimate(ctx context.Context, restore *job.Job, server velero.Server, progress inspect.Progress) (collector.Estimate, error)
	// Contents counts what a backup holds.
	Contents(ctx context.Context, backup *job.Job, progress inspect.Progress) ([]collector.ResourceCount, error)
}

// Rates remembers how fast restores of the cluster went. Its methods may take
// as long as a disk.
type Rates interface {
	// Known is what earlier restores told.
	Known() forecast.Rates
	// Learn adds what one told that has been watched.
	Learn(told forecast.Rates)
}

const (
	// errorAge is how long an answer that is an error stands.
	errorAge = time.Minute
	// downloadPace is how often at most a download is drawn anew.
	downloadPace = 250 * time.Millisecond
)

// contentsRead brings what was read from a job's backup.
type contentsRead struct {
	of       *cluster
	uid      types.UID
	question *question
	contents *jobview.Contents
	known    forecast.Rates // of the cluster, when a restore was asked about
	limit    forecast.Limit // of the server, at the same moment
	at       time.Time
}

// downloadMoved tells that more of a backup has come.
type downloadMoved struct {
	of       *cluster
	uid      types.UID
	question *question
}

// question is one that the Estimator was asked, with its answer so far.
type question struct {
	// unasked is true if no screen is open that wants to know.
	unasked  bool
	ctx      context.Context // ends with the question
	cancel   context.CancelFunc
	contents *jobview.Contents
	at       time.Time // of the answer

	// What has come of the download, and that there is more of it.
	done, total atomic.Int64
	moved       chan struct{}
}

// questions are those of this run that matter still. There is never more than
// one about a job, nor more than one at a time that nobody asked for.
type questions struct {
	of *cluster
	// start makes the command that asks; nil if nobody can be asked.
	start     func(j *job.Job, server velero.Server, q *question) tea.Cmd
	byUID     map[types.UID]*question
	rates     Rates // nil if nothing is remembered
	estimates *assess.Estimates
}

func newQuestions(ctx context.Context, of *cluster, clock func() time.Time, estimates *assess.Estimates) questions {
	qs := questions{of: of, byUID: map[types.UID]*question{}, rates: of.Rates, estimates: estimates}
	if of.Estimator == nil {
		return qs
	}
	qs.start = func(j *job.Job, server velero.Server, q *question) tea.Cmd {
		q.ctx, q.cancel = context.WithCancel(ctx)
		return guarded(func() tea.Msg {
			read := contentsRead{of: of, uid: j.UID, question: q, contents: &jobview.Contents{}, limit: forecast.LimitOf(server)}
			c := read.contents
			if j.Kind == job.Restore {
				c.Estimate, c.Err = of.Estimator.Estimate(q.ctx, j, server, q.report)
				if of.Rates != nil && c.Err == nil {
					read.known = of.Rates.Known()
				}
			} else {
				c.Resources, c.Err = of.Estimator.Contents(q.ctx, j, q.report)
			}
			read.at = clock()
			return read
		})
	}
	return qs
}

// report is an [inspect.Progress].
func (q *question) report(done, total int64) {
	q.done.Store(done)
	q.total.Store(total)
	select {
	case q.moved <- struct{}{}:
	default: // the screen has not seen the last one yet
	}
}

// follow makes the command that waits until more has come, but not less than
// pause. It ends with the question, and says nothing while nothing comes.
func (q *question) follow(of *cluster, uid types.UID, pause time.Duration) tea.Cmd {
	return guarded(func() tea.Msg {
		timer := time.NewTimer(pause)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-q.ctx.Done():
			return nil
		}
		select {
		case <-q.moved:
			return downloadMoved{of, uid, q}
		case <-q.ctx.Done():
			return nil
		}
	})
}

// advance takes over how much has come, and waits for more.
func (qs *questions) advance(m downloadMoved) tea.Cmd {
	q := qs.byUID[m.uid]
	if q == nil || q != m.question || !q.contents.Pending {
		return nil
	}
	q.contents = &jobview.Contents{Pending: true, Done: q.done.Load(), Total: q.total.Load()}
	return q.follow(qs.of, m.uid, downloadPace)
}

// contents are what is known of a job's backup, nil if nothing was asked.
func (qs *questions) contents(uid types.UID) *jobview.Contents {
	if qs.start == nil {
		return jobview.NoArtifacts
	}
	if q := qs.byUID[uid]; q != nil {
		return q.contents
	}
	return nil
}

// take accepts an answer unless the question was withdrawn meanwhile.
func (qs *questions) take(m contentsRead) bool {
	q := qs.byUID[m.uid]
	if q == nil || q != m.question {
		return false
	}
	q.cancel()
	q.contents, q.at, q.unasked = m.contents, m.at, false
	if m.contents.Err == nil {
		qs.estimates.Set(m.uid, m.contents.Estimate, m.known, m.limit)
	}
	return true
}

// want asks about a job if that was not done yet. unasked is true if it is only
// because the job runs.
func (qs *questions) want(j *job.Job, server velero.Server, now time.Time, unasked bool) tea.Cmd {
	if j.Kind == job.Restore && j.BackupName == "" || j.Kind == job.Backup && !j.Terminal() {
		return nil
	}
	if q := qs.byUID[j.UID]; q != nil {
		q.unasked = q.unasked && unasked
		if q.contents.Err == nil || unasked || now.Sub(q.at) < errorAge {
			return nil
		}
	}
	if unasked && qs.busy() {
		return nil
	}
	q := &question{unasked: unasked, contents: &jobview.Contents{Pending: true}, moved: make(chan struct{}, 1)}
	qs.byUID[j.UID] = q
	return tea.Batch(qs.start(j, server, q), q.follow(qs.of, j.UID, 0))
}

func (qs *questions) busy() bool {
	for _, q := range qs.byUID {
		if q.unasked && q.contents.Pending {
			return true
		}
	}
	return false
}

// forget withdraws the questions about jobs that keep does not want, ends their
// downloads and drops their answers.
func (qs *questions) forget(keep func(types.UID, *question) bool) {
	for uid, q := range qs.byUID {
		if !keep(uid, q) {
			q.cancel()
			delete(qs.byUID, uid)
		}
	}
	qs.estimates.Keep(func(uid types.UID) bool { return qs.byUID[uid] != nil })
}

// forgetErrors makes what could not be answered be asked anew.
func (qs *questions) forgetErrors() {
	qs.forget(func(_ types.UID, q *question) bool { return q.contents.Err == nil })
}

// remember makes the command that writes down what restores have told.
func (qs *questions) remember() tea.Cmd {
	learned, rates := qs.estimates.Learned(), qs.rates
	if len(learned) == 0 || rates == nil {
		return nil
	}
	return guarded(func() tea.Msg {
		for _, r := range learned {
			rates.Learn(r)
		}
		return nil
	})
}

// begins reports whether a restore is at a point where its total is of use.
func begins(j *job.Job) bool {
	return j.Kind == job.Restore && (j.Stage == job.StageQueued || j.Stage == job.StageItems)
}

// ask asks about the open job if its page wants to know, about the form, and about
// restores that begin.
func (m *Model) ask() tea.Cmd {
	var cmds []tea.Cmd
	if m.job != nil {
		cmds = append(cmds, m.job.Ask())
	}
	if m.form != nil {
		cmds = append(cmds, m.form.Ask())
	}
	for _, c := range m.clusters {
		if c.assessed == nil || c.questions.start == nil {
			continue
		}
		server, now := c.assessed.Snapshot.Server, m.options.Clock()
		if m.job != nil && m.at == c && m.job.WantsContents() {
			cmds = append(cmds, c.questions.want(m.job.Job(), server, now, false))
		}
		for _, j := range c.assessed.Snapshot.Active {
			if begins(j) {
				cmds = append(cmds, c.questions.want(j, server, now, true))
			}
		}
		cmds = append(cmds, c.questions.remember())
	}
	return tea.Batch(cmds...)
}

// takeContents takes what was read, and judges anew with it.
func (m *Model) takeContents(read contentsRead) tea.Cmd {
	if !read.of.questions.take(read) {
		return m.ask()
	}
	return tea.Batch(read.of.judgeAgain(), m.ask())
}

// dropQuestions keeps what is known of the open job and of restores that begin.
// Downloads that were begun for a screen that is closed now are ended.
func (m *Model) dropQuestions(c *cluster) {
	if len(c.questions.byUID) == 0 || c.assessed == nil {
		return
	}
	keep := map[types.UID]bool{}
	if m.job != nil && m.at == c {
		keep[m.job.UID()] = true
	}
	for _, j := range c.assessed.Snapshot.Active {
		keep[j.UID] = keep[j.UID] || begins(j)
	}
	c.questions.forget(func(uid types.UID, _ *question) bool { return keep[uid] })
}
