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
	"github.com/veltui/veltui/internal/cluster"
	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/view/narrate"
	"github.com/veltui/veltui/ui/fetch"
	"github.com/veltui/veltui/ui/jobview"
	"github.com/veltui/veltui/watch"
)

// Cluster is one cluster that is shown, and what may be asked of it.
type Cluster struct {
	cluster.Inspector
	Context string         // the kubeconfig context, shown on every screen and typed to confirm a change
	Request action.Request // how the kubectl commands shown get to the same cluster
	Stop    func()         // ends what follows the cluster; nil if that ends with the program only
	// Acknowledged remembers which findings a person has seen; nil where nothing is remembered.
	Acknowledged Acknowledged
}

// cluster is one that is shown. Messages name theirs; those of others are dropped.
type clusterState struct {
	Cluster
	id       string // part of row keys: a cluster restored from another's etcd has the same uids
	assessed *assess.Assessment
	news     narrate.News // what is worth calling a person for
	ended    error        // why there will be no more snapshots, nil while there may be

	findings     []assess.Finding              // what needs someone
	newFindings  narrate.Findings              // since a person was last called
	acknowledged map[string]bool               // the keys of those that a person has seen
	kept         fetch.Answer[map[string]bool] // what was acknowledged before
	// acknowledgedProblem is why nothing is known to be acknowledged, as it was shown.
	acknowledgedProblem string

	estimates *assess.Estimates
	sources   jobview.Sources
	questions map[types.UID]*question // at most one at a time was not asked for by the user
	looks     looks
	covered   fetch.Answer[*coverage.Result]
	coverage  coverage.Reading[coverage.Result] // of covered, as the tab shows it
	foreseen  fetch.Answer[*coverage.Prediction]
	nextRun   coverage.Reading[coverage.Prediction] // of foreseen, as the page of a schedule shows it
	rights    fetch.Answer[map[job.Kind]string]     // why jobs of each kind may not be changed
	ctx       context.Context                       // ends what is asked of it, once leave is called
	leave     context.CancelFunc
}

func newCluster(ctx context.Context, o Options, shown Cluster, n int) *clusterState {
	ctx, cancel := context.WithCancel(ctx)
	c := &clusterState{Cluster: shown, id: strconv.Itoa(n), ctx: ctx, leave: cancel, acknowledged: map[string]bool{},
		estimates: &assess.Estimates{BackupAge: o.BackupAge}, questions: map[types.UID]*question{}}
	c.sources = jobview.Sources{
		Inspector:      shown.Inspector,
		WhyNoClipboard: o.Terminal.WhyNoClipboard,
		Clock:          o.Clock,
		Keys:           o.Keys,
		Start:          starter(ctx),
	}
	return c
}

// next waits for the next snapshot and judges it. Never more than one is outstanding.
func (c *clusterState) next() tea.Cmd {
	return guarded(func() tea.Msg {
		snap, err := c.Next(c.ctx)
		if err != nil {
			return watchEnded{c, err}
		}
		return snapshotAssessed{c, c.estimates.Assess(snap, c.sources.Clock())}
	})
}

// judgeAgain judges the last snapshot for the present: rates and ages change by themselves.
func (c *clusterState) judgeAgain() tea.Cmd {
	if c.assessed == nil {
		return nil
	}
	snap := c.assessed.Source
	return guarded(func() tea.Msg { return assessedAgain{c, c.estimates.Assess(snap, c.sources.Clock())} })
}

func (c *clusterState) asker(answered func() tea.Cmd) fetch.Asker {
	return fetch.Asker{Start: c.sources.Start, Clock: c.sources.Clock, Answered: answered}
}

func (c *clusterState) key(uid string) string { return c.id + "/" + uid }

// now is the present in the cluster's clock.
func (c *clusterState) now(clock func() time.Time) time.Time {
	if c.assessed == nil {
		return clock()
	}
	return clock().Add(c.assessed.Snapshot.ClockOffset)
}

// health is whether what is known of the cluster is up to date.
func (c *clusterState) health() watch.Health {
	switch {
	case c.ended != nil:
		return watch.Health{State: watch.Stale, Err: c.ended.Error()}
	case c.assessed == nil:
		return watch.Health{State: watch.Connecting}
	}
	return c.assessed.Snapshot.Health
}

type clustersConnected struct {
	of       *switching
	clusters []Cluster
	err      error
}

// switching leads to other clusters. done is set once they are shown.
type switching struct {
	contexts  []string
	namespace string
	cancel    context.CancelFunc
	done      bool
}

func (s *switching) String() string {
	return human.List(s.contexts, 3) + human.Clause(", namespace ", s.namespace)
}

// switchTo connects to other contexts, or the present ones if none is named, and shows them.
func (m *Model) switchTo(contexts []string, namespace string) tea.Cmd {
	switch {
	case m.options.Switch == nil:
		m.notice = "veltui cannot switch clusters here"
		return nil
	case find[*dialogScreen](m) != nil:
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
	if m.switching != nil && !m.switching.done {
		m.switching.cancel() // the later one is meant
	} else {
		m.left = &switching{contexts: present, namespace: m.namespace}
	}
	s := &switching{contexts: contexts, namespace: namespace}
	m.switching, m.notice = s, ""
	// What it starts ends with the program: only an abandoned switch is cancelled.
	connect := m.options.Switch
	var cmd tea.Cmd
	cmd, s.cancel = m.starts(func(ctx context.Context) tea.Msg {
		clusters, err := connect(ctx, contexts, namespace)
		return clustersConnected{s, clusters, err}
	})
	return cmd
}

// trouble says what is wrong with the connection to a cluster, empty if nothing is.
func (c *clusterState) trouble() string {
	switch h := c.health(); {
	case c.ended == nil && h.State == watch.Stale && h.Err != "":
		return "No news from the cluster: " + strings.TrimSuffix(h.Err, ".") + "."
	case c.WriteFailure() != "":
		return "The cluster does not store what is written: " + c.WriteFailure() + "."
	}
	return ""
}

// unanswered reports whether nothing is known yet of clusters that were switched to.
func (m *Model) unanswered() bool {
	return m.switching != nil && m.switching.done && len(m.screens) == 1 &&
		!slices.ContainsFunc(
			m.clusters,
			func(c *clusterState) bool { return c.ended == nil && c.health().State != watch.Connecting },
		)
}

// switchingText describes an unfinished switch and what esc does; empty for none.
func (m *Model) switchingText() string {
	switch {
	case m.switching == nil:
		return ""
	case !m.switching.done:
		return fmt.Sprintf("Connecting to %s. esc cancels.", m.switching)
	case !m.unanswered():
		return ""
	}
	var why string
	for _, c := range m.clusters {
		switch err := strings.TrimSuffix(c.health().Err, "."); {
		case err == "" || why != "":
		case len(m.clusters) == 1:
			why = ": " + err
		default:
			why = ": " + c.Context + ": " + err
		}
	}
	return fmt.Sprintf("Connecting to %s%s. esc goes back to %s.", m.switching, why, m.left)
}

// stopSwitching takes back an unfinished switch; handled is false if there is none.
func (m *Model) stopSwitching() (cmd tea.Cmd, handled bool) {
	switch {
	case m.switching != nil && !m.switching.done:
		m.switching.cancel()
		m.notice = "veltui no longer connects to " + m.switching.String() + "."
		m.switching = nil
		return nil, true
	case m.unanswered():
		return m.switchTo(m.left.contexts, m.left.namespace), true
	}
	return nil, false
}

// handleClusters shows other clusters. After a failure the present ones stay.
func (m *Model) handleClusters(connected clustersConnected) tea.Cmd {
	switch {
	case connected.of != m.switching: // cancelled, or another one was asked for since
		return stopAll(connected.clusters)
	case connected.err != nil:
		m.notice = "veltui cannot switch to " + m.switching.String() + ": " + connected.err.Error()
		m.switching = nil
		return nil
	case find[*dialogScreen](m) != nil:
		m.switching = nil
		m.notice = "veltui did not switch, because of the open dialog; ask for it again"
		return stopAll(connected.clusters)
	}
	m.switching.done, m.namespace = true, m.switching.namespace
	m.showDashboard()
	var left []Cluster
	for _, c := range m.clusters {
		c.leave()
		left = append(left, c.Cluster)
	}
	m.setClusters(connected.clusters)
	m.dashboard.marked = marks{}
	for _, t := range m.dashboard.tabs {
		t.list, t.count, t.groups = list{cursor: -1, height: t.height}, 0, nil
	}
	cmds := []tea.Cmd{stopAll(left)}
	for _, c := range m.clusters {
		cmds = append(cmds, c.next(), m.loadAcknowledged(c))
	}
	return tea.Batch(cmds...)
}

func (m *Model) setClusters(shown []Cluster) {
	m.clusters = nil
	for _, one := range shown {
		m.made++
		m.clusters = append(m.clusters, newCluster(m.ctx, m.options, one, m.made))
	}
	m.at = m.clusters[0]
}

// stopAll makes the command that ends what follows clusters, which may take a while.
func stopAll(clusters []Cluster) tea.Cmd {
	return guarded(func() tea.Msg {
		for _, c := range clusters {
			if c.Stop != nil {
				c.Stop()
			}
		}
		return nil
	})
}

func (m *Model) shows(c *clusterState) bool { return slices.Contains(m.clusters, c) }

// focus is the cluster of the open screen, or of the selected row.
func (m *Model) focus() *clusterState {
	if c := m.shown().cluster(); c != nil {
		return c
	}
	if r, ok := m.dashboard.tab.selected(); ok {
		return r.cluster
	}
	return m.at
}
