package ui

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"k8s.io/apimachinery/pkg/types"

	"github.com/veltui/veltui/internal/action"
	"github.com/veltui/veltui/internal/assess"
	"github.com/veltui/veltui/internal/assess/coverage"
	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/view"
	"github.com/veltui/veltui/internal/view/narrate"
	"github.com/veltui/veltui/ui/fetch"
	"github.com/veltui/veltui/ui/jobview"
	"github.com/veltui/veltui/watch"
)

// Cluster is a cluster to show, with the requests that it answers.
type Cluster struct {
	Backend
	Context string         // the kubeconfig context, shown on every screen and typed to confirm a change
	Request action.Request // how the kubectl commands shown get to the same cluster
	Stop    func()         // ends everything that follows the cluster; nil if only the end of the program ends it
	// Acknowledgements remembers which findings a person has seen; nil where nothing is remembered.
	Acknowledgements Acknowledgements
}

// clusterState is the state of a shown cluster. Messages name their cluster; messages of other clusters are dropped.
type clusterState struct {
	Cluster
	id         string // part of row keys: a cluster restored from another's etcd has the same uids
	assessment *assess.Assessment
	jobNews    narrate.NewsTracker // the news to notify a person about
	watchErr   error               // why there will be no more snapshots, nil while there may be

	findings         []assess.Finding              // what needs attention
	newFindings      narrate.FindingTracker        // since the last notification
	acknowledgedKeys map[string]bool               // the keys of the acknowledged findings
	ackAnswer        fetch.Answer[map[string]bool] // the findings acknowledged before
	// acknowledgedProblem is why the acknowledgements are unknown, as last shown to the user.
	acknowledgedProblem string

	estimates        *assess.Estimates
	jobDependencies  jobview.Dependencies
	contentsQueries  map[types.UID]*contentsQuery // at most one background query at a time
	closerLooks      closerLookState
	coverageAnswer   fetch.Answer[*coverage.Result]
	coverageReading  coverage.Reading[coverage.Result] // of coverageAnswer, as its tab shows it
	predictionAnswer fetch.Answer[*coverage.Prediction]
	nextRunReading   coverage.Reading[coverage.Prediction] // of predictionAnswer, as the page of a schedule shows it
	accessAnswer     fetch.Answer[map[job.Kind]string]     // why jobs of each kind may not be changed
	ctx              context.Context                       // ends the requests to the cluster, once cancelAll is called
	cancelAll        context.CancelFunc
}

func newClusterState(ctx context.Context, o Options, shown Cluster, n int) *clusterState {
	ctx, cancel := context.WithCancel(ctx)
	c := &clusterState{
		Cluster:          shown,
		id:               strconv.Itoa(n),
		ctx:              ctx,
		cancelAll:        cancel,
		acknowledgedKeys: map[string]bool{},
		estimates:        &assess.Estimates{BackupAge: o.MaxBackupAge, Access: shown.Request.ClusterAccess()},
		contentsQueries:  map[types.UID]*contentsQuery{},
	}
	c.jobDependencies = jobview.Dependencies{
		Backend:              shown.Backend,
		ClipboardUnavailable: o.Terminal.ClipboardUnavailable,
		Clock:                o.Clock,
		Keys:                 o.Keys,
		MayChange:            !o.ReadOnly,
		Start:                newStartFunc(ctx),
	}
	return c
}

// awaitSnapshot waits for the next snapshot and judges it. At most one such command is outstanding.
func (c *clusterState) awaitSnapshot() tea.Cmd {
	return recoverPanic(func() tea.Msg {
		snap, err := c.Next(c.ctx)
		if err != nil {
			return watchEndedMsg{c, err}
		}
		return snapshotAssessedMsg{c, c.estimates.AssessSnapshot(snap, c.jobDependencies.Clock())}
	})
}

// reassess judges the last snapshot as of now: rates and ages change without a new snapshot.
func (c *clusterState) reassess() tea.Cmd {
	if c.assessment == nil {
		return nil
	}
	snap := c.assessment.Source
	return recoverPanic(
		func() tea.Msg { return reassessedMsg{c, c.estimates.AssessSnapshot(snap, c.jobDependencies.Clock())} },
	)
}

func (c *clusterState) newRequester(answered func() tea.Cmd) fetch.Requester {
	return fetch.Requester{Start: c.jobDependencies.Start, Clock: c.jobDependencies.Clock, OnAnswer: answered}
}

func (c *clusterState) rowKey(uid string) string { return c.id + "/" + uid }

// clusterTime returns the current time by the cluster's clock.
func (c *clusterState) clusterTime(clock func() time.Time) time.Time {
	if c.assessment == nil {
		return clock()
	}
	return clock().Add(c.assessment.Snapshot.ClockOffset)
}

// currentHealth returns whether the known state of the cluster is up to date.
func (c *clusterState) currentHealth() watch.Health {
	switch {
	case c.watchErr != nil:
		return watch.Health{State: watch.Stale, Err: c.watchErr.Error()}
	case c.assessment == nil:
		return watch.Health{State: watch.Connecting}
	}
	return c.assessment.Snapshot.Health
}

type clustersConnectedMsg struct {
	clusterSwitch *clusterSwitch
	clusters      []Cluster
	err           error
}

// clusterSwitch is a switch to other clusters. isApplied is set once they are shown.
type clusterSwitch struct {
	contexts  []string
	namespace string
	cancel    context.CancelFunc
	isApplied bool
}

func (s *clusterSwitch) String() string {
	return human.JoinNames(s.contexts, 3) + human.Prefixed(", namespace ", s.namespace)
}

// switchClusters connects to other contexts, or to the present ones if none is named, and shows them.
func (m *Model) switchClusters(contexts []string, namespace string) tea.Cmd {
	switch {
	case m.options.SwitchClusters == nil:
		m.notice = "veltui cannot switch clusters here"
		return nil
	case findScreen[*dialogScreen](m) != nil:
		m.notice = "finish or close this first: it belongs to the cluster that is shown"
		return nil
	}
	var present []string
	for _, c := range m.clusters {
		present = append(present, c.Context)
	}
	if len(contexts) == 0 {
		contexts = present
	}
	if m.lastSwitch != nil && !m.lastSwitch.isApplied {
		m.lastSwitch.cancel() // the later switch replaces it
	} else {
		m.previousSwitch = &clusterSwitch{contexts: present, namespace: m.requestedNamespace}
	}
	s := &clusterSwitch{contexts: contexts, namespace: namespace}
	m.lastSwitch, m.notice = s, ""
	// Work that the switch starts ends with the program: only an abandoned switch is cancelled.
	connect := m.options.SwitchClusters
	var cmd tea.Cmd
	cmd, s.cancel = m.startWork(func(ctx context.Context) tea.Msg {
		clusters, err := connect(ctx, contexts, namespace)
		return clustersConnectedMsg{s, clusters, err}
	})
	return cmd
}

// connectionProblem returns what is wrong with the connection to a cluster, empty if nothing is.
func (c *clusterState) connectionProblem() string {
	switch h := c.currentHealth(); {
	case c.watchErr == nil && h.State == watch.Stale && h.Err != "":
		return view.ConnectionLost(h) + "."
	case c.WriteFailure() != "":
		return "The cluster does not store what is written: " + c.WriteFailure() + "."
	}
	return ""
}

// isSwitchUnanswered reports whether none of the clusters just switched to has answered yet.
func (m *Model) isSwitchUnanswered() bool {
	return m.lastSwitch != nil && m.lastSwitch.isApplied && len(m.screens) == 1 &&
		!slices.ContainsFunc(
			m.clusters,
			func(c *clusterState) bool { return c.watchErr == nil && c.currentHealth().State != watch.Connecting },
		)
}

// switchingText describes an unfinished switch and what esc does; it is empty if there is none.
func (m *Model) switchingText() string {
	switch {
	case m.lastSwitch == nil:
		return ""
	case !m.lastSwitch.isApplied:
		return fmt.Sprintf("Connecting to %s. esc cancels.", m.lastSwitch)
	case !m.isSwitchUnanswered():
		return ""
	}
	var why string
	for _, c := range m.clusters {
		switch err := strings.TrimSuffix(c.currentHealth().Err, "."); {
		case err == "" || why != "":
		case len(m.clusters) == 1:
			why = ": " + err
		default:
			why = ": " + c.Context + ": " + err
		}
	}
	return fmt.Sprintf("Connecting to %s%s. esc goes back to %s.", m.lastSwitch, why, m.previousSwitch)
}

// cancelSwitch undoes an unfinished switch; handled is false if there is none.
func (m *Model) cancelSwitch() (cmd tea.Cmd, handled bool) {
	switch {
	case m.lastSwitch != nil && !m.lastSwitch.isApplied:
		m.lastSwitch.cancel()
		m.notice = "veltui no longer connects to " + m.lastSwitch.String() + "."
		m.lastSwitch = nil
		return nil, true
	case m.isSwitchUnanswered():
		return m.switchClusters(m.previousSwitch.contexts, m.previousSwitch.namespace), true
	}
	return nil, false
}

// handleConnected shows the newly connected clusters. After a failure the present ones stay.
func (m *Model) handleConnected(connected clustersConnectedMsg) tea.Cmd {
	switch {
	case connected.clusterSwitch != m.lastSwitch: // cancelled, or replaced by a later switch
		return stopClusters(connected.clusters)
	case connected.err != nil:
		m.notice = "veltui cannot switch to " + m.lastSwitch.String() + ": " + connected.err.Error()
		m.lastSwitch = nil
		return nil
	case findScreen[*dialogScreen](m) != nil:
		m.lastSwitch = nil
		m.notice = "veltui did not switch, because of the open dialog; ask for it again"
		return stopClusters(connected.clusters)
	}
	m.lastSwitch.isApplied, m.requestedNamespace = true, m.lastSwitch.namespace
	m.showDashboard()
	var left []Cluster
	for _, c := range m.clusters {
		c.cancelAll()
		left = append(left, c.Cluster)
	}
	m.setClusters(connected.clusters)
	m.dashboard.marked = markedRows{}
	for _, t := range m.dashboard.chosenTabs {
		t.rowList, t.rowCount, t.groups = rowList{cursor: -1, height: t.height}, 0, nil
	}
	cmds := []tea.Cmd{stopClusters(left)}
	for _, c := range m.clusters {
		cmds = append(cmds, c.awaitSnapshot(), m.loadAcknowledgements(c))
	}
	return tea.Batch(cmds...)
}

func (m *Model) setClusters(shown []Cluster) {
	m.clusters = nil
	for _, one := range shown {
		m.lastClusterID++
		m.clusters = append(m.clusters, newClusterState(m.ctx, m.options, one, m.lastClusterID))
	}
	m.currentCluster = m.clusters[0]
}

// stopClusters returns a command that calls Stop on the clusters, which may take a while.
func stopClusters(clusters []Cluster) tea.Cmd {
	return recoverPanic(func() tea.Msg {
		for _, c := range clusters {
			if c.Stop != nil {
				c.Stop()
			}
		}
		return nil
	})
}

func (m *Model) isShown(c *clusterState) bool { return slices.Contains(m.clusters, c) }

// focusedCluster returns the cluster of the open screen, or else of the selected row.
func (m *Model) focusedCluster() *clusterState {
	if c := m.screenBelowHelp().shownCluster(); c != nil {
		return c
	}
	if r, ok := m.dashboard.openTab.selectedRow(); ok {
		return r.cluster
	}
	return m.currentCluster
}
