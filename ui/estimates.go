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
	"github.com/veltui/veltui/internal/view"
	"github.com/veltui/veltui/ui/fetch"
)

// progressRedrawInterval is the shortest time between two redraws of a download's progress.
const progressRedrawInterval = 250 * time.Millisecond

type downloadProgress struct{ done, total int64 }

type fetchedContents struct {
	view.Contents
	knownRates  forecast.Rates       // of the cluster, when the contents were read
	clientLimit forecast.ClientLimit // of the server
}

type contentsQuery struct {
	isBackground  bool // true if no open screen asked for it
	answer        fetch.Answer[fetchedContents]
	progress      *fetch.Progress[downloadProgress]
	shownContents *view.Contents // the answer so far, as pages show it
}

func (q *contentsQuery) cancelFetch() {
	q.answer.Close()
	q.progress.Close()
}

// knownContents returns what is known of a job's backup, nil if nothing was requested.
func (c *clusterState) knownContents(uid types.UID) *view.Contents {
	if c.UnavailableReason(cluster.CapabilityContents) != "" {
		return view.ForbiddenContents
	}
	if q := c.contentsQueries[uid]; q != nil {
		return q.shownContents
	}
	return nil
}

// fetchContents requests the contents of a job's backup once. unasked is true if no open screen needs them and the
// job only runs.
func (m *Model) fetchContents(c *clusterState, j *job.Job, unasked bool) tea.Cmd {
	busy := false
	for _, other := range c.contentsQueries {
		busy = busy || other.isBackground && other.answer.IsPending()
	}
	q := c.contentsQueries[j.UID]
	switch {
	case j.Kind == job.Restore && j.BackupName == "",
		j.Kind == job.Backup && !j.IsTerminal(),
		unasked && (q != nil || busy):
		return nil
	case q == nil:
		q = &contentsQuery{isBackground: unasked}
	}
	q.isBackground = q.isBackground && unasked
	progress := fetch.NewProgress[downloadProgress]()
	by := c.newRequester(func() tea.Cmd { return c.handleContents(j.UID, q) })
	server := c.assessment.Snapshot.Server
	cmd := q.answer.FetchIfDue(by, 0, func(ctx context.Context) (read fetchedContents, err error) {
		report := func(done, total int64) { progress.ReportProgress(downloadProgress{done, total}) }
		read.clientLimit = forecast.ClientLimitOf(server)
		if j.Kind == job.Backup {
			read.Resources, err = c.CountResources(ctx, j, report)
			return read, err
		}
		read.Estimate, err = c.EstimateRestore(ctx, j, server, report)
		read.knownRates = c.LoadRates()
		return read, err
	})
	if cmd == nil {
		return nil
	}
	c.contentsQueries[j.UID] = q
	q.progress, q.shownContents = progress, &view.Contents{Pending: true}
	return tea.Batch(cmd, m.followDownload(c, j.UID, q))
}

// followDownload redraws the page of a job while its backup is downloaded.
func (m *Model) followDownload(c *clusterState, uid types.UID, q *contentsQuery) tea.Cmd {
	return q.progress.FollowReports(c.newRequester(nil), progressRedrawInterval, func(at downloadProgress) bool {
		q.shownContents = &view.Contents{Pending: true, Done: at.done, Total: at.total}
		s := m.findJobScreen()
		return s != nil && s.UID() == uid
	})
}

func (c *clusterState) handleContents(uid types.UID, q *contentsQuery) tea.Cmd {
	q.progress.Close()
	q.isBackground = false
	if q.answer.Err != nil {
		q.shownContents = &view.Contents{Err: q.answer.Err}
	} else {
		read := &q.answer.Value
		q.shownContents = &read.Contents
		c.estimates.Set(uid, read.Estimate, read.knownRates, read.clientLimit)
	}
	return c.reassess()
}

// filterContentsQueries drops the queries that keep rejects, and ends their downloads.
func (c *clusterState) filterContentsQueries(keep func(types.UID, *contentsQuery) bool) {
	for uid, q := range c.contentsQueries {
		if !keep(uid, q) {
			q.cancelFetch()
			delete(c.contentsQueries, uid)
		}
	}
	c.estimates.RetainRestores(func(uid types.UID) bool { return c.contentsQueries[uid] != nil })
}

func (c *clusterState) saveLearnedRates() tea.Cmd {
	learned := c.estimates.TakeLearnedRates()
	if len(learned) == 0 {
		return nil
	}
	return recoverPanic(func() tea.Msg {
		for _, r := range learned {
			c.LearnRates(r)
		}
		return nil
	})
}

// benefitsFromEstimate reports whether a restore is at a stage where an estimate of its total is useful.
func benefitsFromEstimate(j *job.Job) bool {
	return j.Kind == job.Restore && (j.Stage == job.StageQueued || j.Stage == job.StageItems)
}

// fetchMissing requests what the open screens lack, and the contents of restores that begin.
func (m *Model) fetchMissing() tea.Cmd {
	var cmds []tea.Cmd
	for _, s := range m.screens {
		cmds = append(cmds, s.FetchMissing())
	}
	open := m.findJobScreen()
	for _, c := range knownClusters(m.clusters) {
		if c.UnavailableReason(cluster.CapabilityContents) != "" {
			continue
		}
		if open != nil && open.clusterState == c && open.WantsContents() {
			cmds = append(cmds, m.fetchContents(c, open.Job(), false))
		}
		for _, j := range c.assessment.Snapshot.Active {
			if benefitsFromEstimate(j) {
				cmds = append(cmds, m.fetchContents(c, j, true))
			}
		}
		cmds = append(cmds, c.saveLearnedRates())
	}
	return tea.Batch(cmds...)
}

// dropUnneededContents keeps the queries about the open job and about restores that begin, and ends all other
// downloads.
func (m *Model) dropUnneededContents(c *clusterState) {
	if len(c.contentsQueries) == 0 || c.assessment == nil {
		return
	}
	keep := map[types.UID]bool{}
	if s := m.findJobScreen(); s != nil && s.clusterState == c {
		keep[s.UID()] = true
	}
	for _, j := range c.assessment.Snapshot.Active {
		keep[j.UID] = keep[j.UID] || benefitsFromEstimate(j)
	}
	c.filterContentsQueries(func(uid types.UID, _ *contentsQuery) bool { return keep[uid] })
}

// closerLookState is the state of the closer looks at the jobs of a cluster, one at a time.
type closerLookState struct {
	lastLook  fetch.Answer[assess.CloserLook] // its key is the job's UID
	lastLogs  fetch.Answer[assess.LogReading]
	scheduler assess.LookScheduler
}

// lookCloser reads the servers' logs about silent jobs, and takes the closer look that is due.
func (m *Model) lookCloser() tea.Cmd { return tea.Batch(m.readServerLogs(), m.takeCloserLook()) }

// readServerLogs reads the servers' logs about the jobs that are silent for longer than is usual for them.
func (m *Model) readServerLogs() tea.Cmd {
	c := m.currentCluster
	if c.UnavailableReason(cluster.CapabilityCloserLooks) != "" || c.assessment == nil {
		return nil
	}
	ls, clock, assessed := &c.closerLooks, c.jobDependencies.Clock, c.assessment
	if !ls.lastLogs.IsPending() {
		ls.scheduler.CancelLogs()
	}
	silent := ls.scheduler.NextLogs(assessed, func(*job.Job) bool { return true }, clock())
	if len(silent) == 0 {
		return nil
	}
	ls.lastLogs.Invalidate()
	by := c.newRequester(func() tea.Cmd {
		ls.scheduler.FinishLogs(ls.lastLogs.Value.Err == "")
		c.estimates.RecordLogs(ls.lastLogs.Value)
		return c.reassess()
	})
	return ls.lastLogs.FetchIfDue(by, 0, func(ctx context.Context) (assess.LogReading, error) {
		return c.ReadServerLogs(ctx, assessed, silent), nil
	})
}

// takeCloserLook takes a closer look at the open job, or else the next job in the list, if that may change its
// verdict.
func (m *Model) takeCloserLook() tea.Cmd {
	c := m.currentCluster
	ls, now := &c.closerLooks, m.options.Clock()
	if c.UnavailableReason(cluster.CapabilityCloserLooks) != "" || c.assessment == nil {
		return nil
	}
	var due *job.Job
	if page := m.findJobScreen(); page == nil {
		ls.forgetWithdrawnLook()
		due = ls.scheduler.NextInList(c.assessment, func(*job.Job) bool { return true }, now)
	} else {
		open := page.Job()
		if open == nil || ls.lastLook.Key() != open.UID {
			ls.lastLook.ResetForKey(nil)
		}
		if open == nil || page.IsDeleted() {
			return nil
		}
		ls.forgetWithdrawnLook()
		due = ls.scheduler.NextInFocus(c.assessment, open, now)
	}
	if due == nil {
		return nil
	}
	return c.fetchCloserLook(due)
}

// forgetWithdrawnLook tells the scheduler to forget a look that was withdrawn.
func (ls *closerLookState) forgetWithdrawnLook() {
	if !ls.lastLook.IsPending() {
		ls.scheduler.CancelLook()
	}
}

func (c *clusterState) fetchCloserLook(j *job.Job) tea.Cmd {
	clock, last := c.jobDependencies.Clock, &c.closerLooks.lastLook
	last.ResetForKey(j.UID)
	last.Invalidate()
	by := c.newRequester(func() tea.Cmd {
		c.closerLooks.scheduler.FinishLook(clock())
		c.estimates.RecordCloserLook(j.UID, last.Value)
		return c.reassess()
	})
	assessed := c.assessment
	return last.FetchIfDue(by, 0, func(ctx context.Context) (assess.CloserLook, error) {
		found, _ := c.TakeCloserLook(ctx, assessed, j) // the CloserLook says why it failed
		return found.CloserLook, nil
	})
}
