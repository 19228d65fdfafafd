package ui

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/velero/veleroapi"
)

// ackStore keeps what was acknowledged.
type ackStore struct{ keys map[string]bool }

func (m *ackStore) LoadKeys(context.Context) (map[string]bool, error) {
	keys := map[string]bool{}
	for key := range m.keys {
		keys[key] = true
	}
	return keys, nil
}

func (m *ackStore) Set(_ context.Context, _ string, keys map[string]bool) error {
	for key, on := range keys {
		if m.keys[key] = on; !on {
			delete(m.keys, key)
		}
	}
	return nil
}

func TestAttentionFrames(t *testing.T) {
	for _, size := range [][2]int{{80, 24}, {120, 40}, {200, 60}} {
		name := fmt.Sprintf("attention-%dx%d", size[0], size[1])
		t.Run(name, func(t *testing.T) {
			golden(t, name, plain(checkFrame(t, screen(t, installation(), size[0], size[1]))))
		})
	}
	t.Run("ascii", func(t *testing.T) {
		m := screen(t, installation(), 80, 24, func(o *Options) { o.ASCII, o.NoColor = true, true })
		press(t, m, "down", "a")
		golden(t, "attention-ascii-80x24", plain(checkFrame(t, m)))
	})
	for _, size := range [][2]int{{40, 12}, {30, 8}, {16, 3}, {300, 100}} {
		m := screen(t, installation(), size[0], size[1])
		for range 12 {
			checkFrame(t, m)
			press(t, m, "down")
		}
	}
}

// Enter on each row opens the page about the thing.
func TestAttentionOpensThePage(t *testing.T) {
	m := screen(t, installation(), 200, 60)
	rows := 0
	for i, r := range m.dashboard.activeTab.rows {
		f, ok := r.item.(*clusterFinding)
		if !ok {
			continue
		}
		rows++
		m.dashboard.activeTab.cursor = i
		press(t, m, "enter")
		want := f.Name
		if f.Kind == "deletion" {
			want = strings.TrimSuffix(f.Name, f.Name[strings.LastIndex(f.Name, "-"):])
		}
		if title := strings.Split(ansi.Strip(checkFrame(t, m)), "\n")[1]; !strings.Contains(title, want) {
			t.Errorf("%s: %q", f.Ref(), title)
		}
		press(t, m, "esc")
	}
	if rows < 5 {
		t.Errorf("only %d rows", rows)
	}
}

// What is acknowledged stands at the end, is not counted, is kept, and comes back once it changes.
func TestAcknowledge(t *testing.T) {
	store := &ackStore{keys: map[string]bool{}}
	m := screen(t, nil, 120, 40, func(o *Options) { o.Clusters[0].Acknowledgements = store })
	failed := func(ago time.Duration) *job.Job {
		return ended("hand", veleroapi.BackupPhaseFailed, 1, time.Minute, ago, 1, 0)
	}
	show(
		m,
		snapshotOf(
			failed(2*time.Hour),
			ended("web", veleroapi.BackupPhasePartiallyFailed, 1, time.Minute, 3*time.Hour, 1, 0),
		),
	)
	press(t, m, "down")
	cmd := press(t, m, "a")
	runAll(cmd)
	frame := plain(checkFrame(t, m))
	if !strings.Contains(frame, "1 needs attention") || !strings.Contains(frame, "needs attention, 1 acknowledged") ||
		len(store.keys) != 1 {
		t.Fatalf("kept are %v:\n%s", store.keys, frame)
	}
	if at := strings.Index(frame, "B hand"); at < strings.Index(frame, "B web") || !hasLine(frame, "· B hand") {
		t.Errorf("it does not stand at the end:\n%s", frame)
	}
	again := screen(t, nil, 120, 40, func(o *Options) { o.Clusters[0].Acknowledgements = store })
	again.Update(again.loadAcknowledgements(again.currentCluster)())
	show(again, snapshotOf(failed(2*time.Hour)))
	if frame := plain(
		checkFrame(t, again),
	); !strings.Contains(frame, "1 acknowledged") ||
		strings.Contains(frame, "1 needs") {
		t.Errorf("another dashboard does not know it:\n%s", frame)
	}
	show(m, snapshotOf(failed(time.Hour)))
	if frame := plain(
		checkFrame(t, m),
	); !strings.Contains(frame, "1 needs attention") ||
		strings.Contains(frame, "acknowledged") {
		t.Errorf("it failed again, but:\n%s", frame)
	}
	if press(t, m, "a"); m.currentCluster.acknowledgedKeys == nil || len(m.currentCluster.acknowledgedKeys) != 1 {
		t.Errorf("acknowledged are %v", m.currentCluster.acknowledgedKeys)
	}
	if press(t, m, "a"); len(m.currentCluster.acknowledgedKeys) != 0 {
		t.Errorf("taken back, but acknowledged are %v", m.currentCluster.acknowledgedKeys)
	}
}

// runAll runs a command with all that it is made of.
func runAll(cmd tea.Cmd) {
	if cmd == nil {
		return
	}
	if all, ok := cmd().(tea.BatchMsg); ok {
		for _, one := range all {
			runAll(one)
		}
	}
}

func TestNothingNeedsAttention(t *testing.T) {
	m := screen(t, snapshotOf(ended("web", veleroapi.BackupPhaseCompleted, 1, time.Minute, time.Hour, 0, 0)), 120, 40)
	if frame := plain(checkFrame(t, m)); strings.Contains(frame, "attention") || strings.Contains(frame, "!") {
		t.Errorf("a healthy cluster:\n%s", frame)
	}
	if press(t, m, "a"); !strings.Contains(m.notice, "nothing about the selected row needs attention") {
		t.Errorf("a says %q", m.notice)
	}
}

// As many rows of a tab carry the sign as its label counts: each thing that needs someone has it on its own tab, too.
func TestRowsCarryTheSignOfTheirFinding(t *testing.T) {
	m := screen(t, installation(), 200, 60)
	d, counted := m.dashboard, 0
	for _, tab := range d.chosenTabs {
		if tab.resourceTab == nil {
			continue
		}
		signed := 0
		d.showTab(tab)
		for _, r := range tab.rows {
			if r.finding != nil {
				signed++
			}
		}
		n, _ := d.countOpenFindings(tab.configName(), m.clusters...)
		if counted += n; signed != n {
			t.Errorf("%s: %d rows with the sign, the label counts %d", tab.name, signed, n)
		}
	}
	if counted == 0 {
		t.Error("no tab has a finding")
	}
}
