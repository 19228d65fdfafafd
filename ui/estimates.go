package ui

import (
	"context"
	"time"

	tea "charm.land/bubbletea/v2"
	"k8s.io/apimachinery/pkg/types"

	"github.com/veltui/veltui/internal/assess"
	"github.com/veltui/veltui/internal/cluster"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/job/forecast"
	"github.com/veltui/veltui/ui/fetch"
	"github.com/veltui/veltui/ui/jobview"
)

// downloadPace is how often at most a download is drawn anew.
const downloadPace = 250 * time.Millisecond

type download struct{ done, total int64 }

type contents struct {
	jobview.Contents
	known forecast.Rates // the cluster's then
	limit forecast.Limit // the server's
}

type question struct {
	unasked  bool // true if no screen is open that wants to know
	answer   fetch.Answer[contents]
	progress *fetch.Progress[download]
	shown    *jobview.Contents // the answer so far, as pages show it
}

func (q *question) close() {
	q.answer.Close()
	q.progress.Close()
}

// contents are what is known of a job's backup, nil if nothing was asked.
func (c *clusterState) contents(uid types.UID) *jobview.Contents {
	if c.Unavailable(cluster.Contents) != "" {
		return jobview.NoArtifacts
	}
	if q := c.questions[uid]; q != nil {
		return q.shown
	}
	return nil
}

// askContents asks about a job once. unasked is true if only because the job runs.
func (m *Model) askContents(c *clusterState, j *job.Job, unasked bool) tea.Cmd {
	busy := false
	for _, other := range c.questions {
		busy = busy || other.unasked && other.answer.Pending()
	}
	q := c.questions[j.UID]
	switch {
	case j.Kind == job.Restore && j.BackupName == "",
		j.Kind == job.Backup && !j.Terminal(),
		unasked && (q != nil || busy):
		return nil
	case q == nil:
		q = &question{unasked: unasked}
	}
	q.unasked = q.unasked && unasked
	progress := fetch.NewProgress[download]()
	by := c.asker(func() tea.Cmd { return c.handleContents(j.UID, q) })
	server := c.assessed.Snapshot.Server
	cmd := q.answer.Ask(by, 0, func(ctx context.Context) (read contents, err error) {
		report := func(done, total int64) { progress.Report(download{done, total}) }
		read.limit = forecast.LimitOf(server)
		if j.Kind == job.Backup {
			read.Resources, err = c.Contents(ctx, j, report)
			return read, err
		}
		read.Estimate, err = c.Estimate(ctx, j, server, report)
		read.known = c.KnownRates()
		return read, err
	})
	if cmd == nil {
		return nil
	}
	c.questions[j.UID] = q
	q.progress, q.shown = progress, &jobview.Contents{Pending: true}
	return tea.Batch(cmd, m.followDownload(c, j.UID, q))
}

// followDownload draws the page of a job anew as more of its backup comes.
func (m *Model) followDownload(c *clusterState, uid types.UID, q *question) tea.Cmd {
	return q.progress.Follow(c.asker(nil), downloadPace, func(at download) bool {
		q.shown = &jobview.Contents{Pending: true, Done: at.done, Total: at.total}
		s := m.job()
		return s != nil && s.UID() == uid
	})
}

func (c *clusterState) handleContents(uid types.UID, q *question) tea.Cmd {
	q.progress.Close()
	q.unasked = false
	if q.answer.Err != nil {
		q.shown = &jobview.Contents{Err: q.answer.Err}
	} else {
		read := &q.answer.Value
		q.shown = &read.Contents
		c.estimates.Set(uid, read.Estimate, read.known, read.limit)
	}
	return c.judgeAgain()
}

// forgetContents drops the questions that keep does not want, and their downloads.
func (c *clusterState) forgetContents(keep func(types.UID, *question) bool) {
	for uid, q := range c.questions {
		if !keep(uid, q) {
			q.close()
			delete(c.questions, uid)
		}
	}
	c.estimates.Keep(func(uid types.UID) bool { return c.questions[uid] != nil })
}

func (c *clusterState) remember() tea.Cmd {
	learned := c.estimates.Learned()
	if len(learned) == 0 {
		return nil
	}
	return guarded(func() tea.Msg {
		for _, r := range learned {
			c.LearnRates(r)
		}
		return nil
	})
}

// begins reports whether a restore is at a point where its total is of use.
func begins(j *job.Job) bool {
	return j.Kind == job.Restore && (j.Stage == job.StageQueued || j.Stage == job.StageItems)
}

// ask asks for what the open screens want to know, and about restores that begin.
func (m *Model) ask() tea.Cmd {
	var cmds []tea.Cmd
	for _, s := range m.screens {
		cmds = append(cmds, s.Ask())
	}
	open := m.job()
	for _, c := range known(m.clusters) {
		if c.Unavailable(cluster.Contents) != "" {
			continue
		}
		if open != nil && open.of == c && open.WantsContents() {
			cmds = append(cmds, m.askContents(c, open.Job(), false))
		}
		for _, j := range c.assessed.Snapshot.Active {
			if begins(j) {
				cmds = append(cmds, m.askContents(c, j, true))
			}
		}
		cmds = append(cmds, c.remember())
	}
	return tea.Batch(cmds...)
}

// dropQuestions keeps those about the open job and restores that begin, and ends other downloads.
func (m *Model) dropQuestions(c *clusterState) {
	if len(c.questions) == 0 || c.assessed == nil {
		return
	}
	keep := map[types.UID]bool{}
	if s := m.job(); s != nil && s.of == c {
		keep[s.UID()] = true
	}
	for _, j := range c.assessed.Snapshot.Active {
		keep[j.UID] = keep[j.UID] || begins(j)
	}
	c.forgetContents(func(uid types.UID, _ *question) bool { return keep[uid] })
}

// looks are the closer looks at the jobs of a cluster, one at a time.
type looks struct {
	last    fetch.Answer[assess.Look] // the last one. Its key is the job's uid
	lookout assess.Lookout
}

// look looks closer at the open or next job if that may change its verdict.
func (m *Model) look() tea.Cmd {
	c := m.at
	ls, now := &c.looks, m.options.Clock()
	if c.Unavailable(cluster.Looks) != "" || c.assessed == nil {
		return nil
	}
	var due *job.Job
	if page := m.job(); page == nil {
		ls.settle()
		due = ls.lookout.Due(c.assessed, func(*job.Job) bool { return true }, now)
	} else {
		open := page.Job()
		if open == nil || ls.last.Key() != open.UID {
			ls.last.About(nil)
		}
		if open == nil || page.Deleted() {
			return nil
		}
		ls.settle()
		due = ls.lookout.DueInFocus(c.assessed, open, now)
	}
	if due == nil {
		return nil
	}
	return c.lookAt(due)
}

// settle has the lookout forget a look that was withdrawn.
func (ls *looks) settle() {
	if !ls.last.Pending() {
		ls.lookout.Cancel()
	}
}

func (c *clusterState) lookAt(j *job.Job) tea.Cmd {
	clock, last := c.sources.Clock, &c.looks.last
	last.About(j.UID)
	last.Outdate()
	by := c.asker(func() tea.Cmd {
		c.looks.lookout.Done(clock())
		c.estimates.Looked(j.UID, last.Value)
		return c.judgeAgain()
	})
	assessed := c.assessed
	return last.Ask(by, 0, func(ctx context.Context) (assess.Look, error) {
		found, _ := c.LookCloser(ctx, assessed, j) // the look says why it failed
		return found.Look, nil
	})
}
