package ui

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/veltui/veltui/internal/action"
	"github.com/veltui/veltui/watch"
)

// clustersNamed are clusters that nothing was heard of yet.
func clustersNamed(names ...string) func(*Options) {
	return func(o *Options) {
		o.Clusters = nil
		for _, name := range names {
			o.Clusters = append(o.Clusters, Cluster{Context: name, Request: action.Request{Context: name},
				Backend: newFake()})
		}
	}
}

func showOf(m *Model, c *clusterState, snap *watch.Snapshot) {
	m.Update(snapshotAssessedMsg{c, c.estimates.AssessSnapshot(snap, noon)})
}

// fourClusters are: one live, one stale, one that is not reached, and one that
// cannot be used.
func fourClusters(t testing.TB, width, height int, change ...func(*Options)) *Model {
	t.Helper()
	m := screen(
		t,
		nil,
		width,
		height,
		append([]func(*Options){clustersNamed("prod-east", "prod-west", "lab", "old")}, change...)...)
	showOf(m, m.clusters[0], stageful())
	west := snapshotOf(running("shop-restore-2", "nightly-shop-20261120", 871, 1402, 34))
	west.Health = watch.Health{
		State:   watch.Stale,
		Since:   noon.Add(-12 * time.Second),
		Err:     "no answer for 12s",
		RetryAt: noon.Add(5 * time.Second),
	}
	showOf(m, m.clusters[1], west)
	showOf(
		m,
		m.clusters[2],
		&watch.Snapshot{
			Seq:    1,
			At:     noon,
			Health: watch.Health{State: watch.Connecting, Err: "dial tcp 127.0.0.1:6443: connection refused"},
		},
	)
	m.Update(watchEndedMsg{m.clusters[3], errors.New("reading the kubeconfig: no such file: ca.crt")})
	return m
}

func TestGoldenClusters(t *testing.T) {
	for _, size := range [][2]int{{80, 24}, {120, 40}, {200, 60}, {40, 12}, {20, 5}} {
		t.Run(fmt.Sprintf("%dx%d", size[0], size[1]), func(t *testing.T) {
			m := fourClusters(t, size[0], size[1])
			golden(t, fmt.Sprintf("clusters-%dx%d", size[0], size[1]), plain(checkFrame(t, m)))
		})
	}
	t.Run("schedules", func(t *testing.T) {
		m := fourClusters(t, 120, 40)
		press(t, m, "4")
		golden(t, "clusters-schedules-120x40", plain(checkFrame(t, m)))
	})
}

// A cluster that was restored from another one's etcd has the same uids: a row
// is opened in its own cluster, and keeps its own mark.
func TestSameUIDInTwoClusters(t *testing.T) {
	m := screen(t, nil, 120, 40, clustersNamed("east", "west"), func(o *Options) {
		for i := range o.Clusters {
			o.Clusters[i].Backend.(*fakeCluster).finalizer = &fakeFinalizer{}
		}
	})
	for _, c := range m.clusters {
		showOf(m, c, snapshotOf(running("twin", "b", 871, 1402, 34)))
	}
	if n := m.dashboard.countShownRows(); n != 2 {
		t.Fatalf("%d rows for two jobs", n)
	}
	for _, key := range []string{"m", "down", "enter"} {
		press(t, m, key)
	}
	header := strings.SplitN(ansi.Strip(checkFrame(t, m)), "\n", 2)[0]
	if m.findJobScreen() == nil || !strings.Contains(header, m.currentCluster.Context+"/velero") {
		t.Fatalf("the header does not name the cluster of the open job: %s", header)
	}
	opened := m.currentCluster
	press(t, m, "esc")
	if press(t, m, "m"); !strings.Contains(m.notice, "the marked jobs are in") || len(m.dashboard.marked) != 1 {
		t.Errorf("jobs of two clusters are marked: %q, %v", m.notice, m.dashboard.marked)
	}
	if of, jobs := m.dashboard.markedJobs(); of == opened || len(jobs) != 1 {
		t.Errorf("%d jobs are marked, in %s", len(jobs), of.Context)
	}
	press(t, m, "f")
	if findScreen[*dialogScreen](m) == nil || findScreen[*dialogScreen](m).clusterState == opened {
		t.Fatal("the dialog is not about the marked job")
	}
	if header := strings.SplitN(ansi.Strip(checkFrame(t, m)), "\n", 2)[0]; !strings.Contains(
		header,
		findScreen[*dialogScreen](m).clusterState.Context+"/velero",
	) {
		t.Errorf("the header does not name the cluster of the dialog: %s", header)
	}
}

// Switching shows the new clusters only, stops the old ones, and drops what still
// comes of them.
func TestSwitchingClusters(t *testing.T) {
	stopped, fail := make(chan string, 4), error(nil)
	asked, unused := [][]string{}, 0
	m := screen(t, nil, 80, 24, clustersNamed("east", "west"), func(o *Options) {
		for i := range o.Clusters {
			o.Clusters[i].Stop = func() { stopped <- o.Clusters[i].Context }
		}
		o.SwitchClusters = func(_ context.Context, contexts []string, namespace string) ([]Cluster, error) {
			asked = append(asked, append(contexts, namespace))
			var other Options
			clustersNamed(contexts...)(&other)
			for i := range other.Clusters {
				other.Clusters[i].Stop = func() { unused++ }
			}
			return other.Clusters, fail
		}
	})
	old := m.clusters
	for _, c := range old {
		showOf(m, c, stageful())
	}
	press(t, m, "enter")

	fail = errors.New("no context \"nowhere\"")
	m.Update(m.switchClusters([]string{"nowhere"}, "")())
	if len(m.clusters) != 2 || m.findJobScreen() == nil || !strings.Contains(m.notice, "nowhere") {
		t.Fatalf("a switch that failed changed something: %q", m.notice)
	}
	fail = nil
	first, second := m.switchClusters([]string{"lab"}, ""), m.switchClusters(nil, "adp")
	_, stop := m.Update(first()) // another one was asked for meanwhile
	if len(m.clusters) != 2 {
		t.Fatal("an overtaken switch was taken")
	}
	if unused != 0 {
		t.Fatal("the dashboard stands while a cluster is stopped")
	}
	if stop(); unused != 1 {
		t.Fatal("the cluster of an overtaken switch is followed for ever")
	}
	_, cmd := m.Update(second())
	if len(m.clusters) != 2 || m.clusters[0] == old[0] || m.findJobScreen() != nil || m.dashboard.countShownRows() != 0 {
		t.Fatalf("old rows stay after the switch: %d", m.dashboard.countShownRows())
	}
	if got := asked[len(asked)-1]; strings.Join(got, " ") != "east west adp" {
		t.Errorf("a switch of the namespace asked for %q", got)
	}
	for _, cmd := range cmd().(tea.BatchMsg) {
		go cmd()
	}
	for range old {
		<-stopped
	}
	showOf(m, old[0], stageful())
	m.Update(watchEndedMsg{old[1], context.Canceled})
	if m.dashboard.countShownRows() != 0 || m.exitErr != nil {
		t.Error("what came of a cluster that is not shown any more was taken")
	}
}

// One cluster that is lost takes nothing from the others, and the program ends
// when the only one is.
func TestOneClusterIsLost(t *testing.T) {
	m := fourClusters(t, 120, 40)
	if m.exitErr != nil {
		t.Fatal(m.exitErr)
	}
	frame := ansi.Strip(checkFrame(t, m))
	for _, want := range []string{"prod-east live", "prod-west stale 12s", "lab no connection", "old cannot be used", "shop-restore-2"} {
		if !strings.Contains(frame, want) {
			t.Errorf("no %q in\n%s", want, frame)
		}
	}
}

// A switch says at once where it leads to, esc takes it back, and what comes of it
// then is stopped; an error names what was asked for.
func TestSwitchIsShownAndCancelled(t *testing.T) {
	stopped := 0
	var asked context.Context
	m := screen(t, nil, 80, 24, clustersNamed("east"), func(o *Options) {
		o.SwitchClusters = func(ctx context.Context, contexts []string, _ string) ([]Cluster, error) {
			asked = ctx
			if contexts[0] == "broken" {
				return nil, errors.New("no such file")
			}
			var other Options
			clustersNamed(contexts...)(&other)
			other.Clusters[0].Stop = func() { stopped++ }
			return other.Clusters, nil
		}
	})
	old := m.clusters[0]
	showOf(m, old, stageful())
	says := func(want string) {
		t.Helper()
		if frame := ansi.Strip(checkFrame(t, m)); !strings.Contains(frame, want) {
			t.Fatalf("no %q on the screen:\n%s", want, frame)
		}
	}
	connect := m.switchClusters([]string{"lab"}, "adp")
	says("Connecting to lab, namespace adp. esc cancels.")
	press(t, m, "2")
	says("Connecting to lab, namespace adp. esc cancels.") // other keys go on
	press(t, m, "esc")
	says("no longer connects to lab")
	late := connect()
	if asked.Err() == nil {
		t.Error("the connection was not cancelled")
	}
	if _, stop := m.Update(late); stop == nil || m.clusters[0] != old {
		t.Error("a cancelled switch was taken")
	} else if stop(); stopped != 1 {
		t.Error("the cluster of a cancelled switch is followed for ever")
	}
	m.Update(m.switchClusters([]string{"broken"}, "")())
	says("veltui cannot switch to broken: no such file")
	if m.clusters[0] != old {
		t.Error("a switch that failed changed something")
	}

	m.Update(m.switchClusters([]string{"lab"}, "")())
	says("Connecting to lab. esc goes back to east.")
	silent := &watch.Snapshot{Health: watch.Health{State: watch.Connecting, Err: "dial tcp: i/o timeout"}}
	showOf(m, m.clusters[0], silent)
	says("Connecting to lab: dial tcp: i/o timeout. esc goes back to east.")
	m.Update(press(t, m, "esc")())
	if m.clusters[0].Context != "east" {
		t.Errorf("esc went to %s", m.clusters[0].Context)
	}
	showOf(m, m.clusters[0], stageful())
	if frame := ansi.Strip(checkFrame(t, m)); strings.Contains(frame, "onnecting") {
		t.Errorf("it still says that it connects:\n%s", frame)
	}
}
