package ui

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"

	"github.com/veltui/veltui/job"
	"github.com/veltui/veltui/ui/jobview"
)

func storedBackup() *job.Job {
	return backupJob("stored", time.Hour, velerov1.BackupStatus{Phase: velerov1.BackupPhaseCompleted}, time.Hour)
}

// waits opens the page of a backup whose download does not end by itself, and
// returns the command that waits for more of it.
func waits(t *testing.T, width, height int, change ...func(*Options)) (*Model, *question, tea.Cmd) {
	t.Helper()
	m := screen(t, snapshotOf(storedBackup()), width, height, append(change, withOracle(&oracle{}))...)
	cmd := press(t, m, "3", "enter", "4")
	q := m.at.questions.byUID["uid-stored"]
	if q == nil {
		t.Fatal("nothing was asked")
	}
	t.Cleanup(q.cancel)
	return m, q, cmd().(tea.BatchMsg)[1]
}

func TestDownloadFrames(t *testing.T) {
	for _, size := range [][2]int{{80, 24}, {120, 40}, {40, 12}} {
		m, q, more := waits(t, size[0], size[1])
		q.report(13_300_000, 31_600_000)
		if _, cmd := m.Update(more()); cmd == nil {
			t.Error("nothing waits for more")
		}
		golden(t, fmt.Sprintf("job-download-%dx%d", size[0], size[1]), plain(checkFrame(t, m)))
	}
	m, q, more := waits(t, 80, 24, func(o *Options) { o.ASCII, o.NoColor = true, true })
	q.report(13_300_000, 0)
	m.Update(more())
	if frame := plain(checkFrame(t, m)); !strings.Contains(frame, "12.7M so far") {
		t.Errorf("without a total:\n%s", frame)
	}
}

// TestDownloadIsDrawnAtItsPace: one message for many reports, none without any,
// and none once the question is answered or withdrawn.
func TestDownloadIsDrawnAtItsPace(t *testing.T) {
	m, q, more := waits(t, 80, 24)
	arrived := make(chan tea.Msg, 1)
	go func() { arrived <- more() }()
	select {
	case msg := <-arrived:
		t.Fatalf("%T though nothing has come", msg)
	default:
	}
	for i := range int64(1000) {
		q.report(i, 1000)
	}
	began := time.Now()
	_, cmd := m.Update(<-arrived)
	for i := range int64(1000) {
		q.report(i, 1000)
	}
	go func() { arrived <- cmd() }()
	_, cmd = m.Update(<-arrived)
	if took := time.Since(began); took < downloadPace {
		t.Errorf("drawn again after %v", took)
	}
	if a := m.at.questions.contents("uid-stored"); !a.Pending || a.Done != 999 || a.Total != 1000 {
		t.Errorf("%+v", a)
	}

	m.Update(contentsRead{of: m.at, uid: "uid-stored", question: q, contents: &jobview.Contents{}})
	if msg := cmd(); msg != nil {
		t.Errorf("%T after the answer", msg)
	}
	if _, cmd := m.Update(downloadMoved{m.at, "uid-stored", q}); cmd != nil {
		t.Error("goes on after the answer")
	}
}

// TestHiddenDownloadDrawsNothing: the dashboard is not drawn again for it.
func TestHiddenDownloadDrawsNothing(t *testing.T) {
	m := screen(t, snapshotOf(running("items", "b", 10, 100, 5)), 80, 24, withOracle(&oracle{}))
	q := m.at.questions.byUID["uid-items"]
	t.Cleanup(q.cancel)
	checkFrame(t, m)
	q.report(1, 2)
	if m.Update(downloadMoved{m.at, "uid-items", q}); m.stale {
		t.Error("the dashboard is drawn again")
	}
	press(t, m, "enter", "4")
	checkFrame(t, m)
	if m.Update(downloadMoved{m.at, "uid-items", q}); !m.stale {
		t.Error("the page is not drawn again")
	}
}

// TestForeignMovesAreDropped of questions that are not, or not any more.
func TestForeignMovesAreDropped(t *testing.T) {
	m, q, _ := waits(t, 80, 24)
	for _, msg := range []downloadMoved{{m.at, "uid-nobody", q}, {m.at, "uid-stored", &question{}}} {
		if _, cmd := m.Update(msg); cmd != nil || m.at.questions.contents("uid-stored").Done != 0 {
			t.Errorf("%+v was taken", msg)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	q.ctx = ctx
	if msg := q.follow(m.at, "uid-stored", time.Hour)(); msg != nil {
		t.Errorf("%T after the end", msg)
	}
}
