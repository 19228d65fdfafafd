package ui

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/velero/veleroapi"
)

func storedBackup() *job.Job {
	return backupJob("stored", time.Hour, veleroapi.BackupStatus{Phase: veleroapi.BackupPhaseCompleted}, time.Hour)
}

// waits opens the page of a backup whose download does not end by itself, and
// returns the command that waits for more of it.
func waits(t *testing.T, width, height int, change ...func(*Options)) (*Model, *contentsQuery, tea.Cmd) {
	t.Helper()
	m := screen(t, snapshotOf(storedBackup()), width, height, append(change, withOracle(&oracle{}))...)
	cmd := press(t, m, "3", "enter", "4")
	q := m.currentCluster.contentsQueries["uid-stored"]
	if q == nil {
		t.Fatal("nothing was asked")
	}
	t.Cleanup(q.cancelFetch)
	return m, q, cmd().(tea.BatchMsg)[1]
}

func TestDownloadFrames(t *testing.T) {
	for _, size := range [][2]int{{80, 24}, {120, 40}, {40, 12}} {
		m, q, more := waits(t, size[0], size[1])
		q.progress.ReportProgress(downloadProgress{13_300_000, 31_600_000})
		if _, cmd := m.Update(more()); cmd == nil {
			t.Error("nothing waits for more")
		}
		golden(t, fmt.Sprintf("job-download-%dx%d", size[0], size[1]), plain(checkFrame(t, m)))
	}
	m, q, more := waits(t, 80, 24, func(o *Options) { o.ASCII, o.NoColor = true, true })
	q.progress.ReportProgress(downloadProgress{done: 13_300_000})
	m.Update(more())
	if frame := plain(checkFrame(t, m)); !strings.Contains(frame, "12.7M so far") {
		t.Errorf("without a total:\n%s", frame)
	}
}

// TestDownloadIsDrawnAtItsPace: one message for many reports, none without any,
// and none once the question is answered or withdrawn.
func TestDownloadIsDrawnAtItsPace(t *testing.T) { synctest.Test(t, testDownloadPace) }

func testDownloadPace(t *testing.T) {
	m, q, more := waits(t, 80, 24)
	arrived := make(chan tea.Msg, 1)
	go func() { arrived <- more() }()
	time.Sleep(time.Hour)
	select {
	case msg := <-arrived:
		t.Fatalf("%T though nothing has come", msg)
	default:
	}
	for i := range int64(1000) {
		q.progress.ReportProgress(downloadProgress{i, 1000})
	}
	began := time.Now()
	_, cmd := m.Update(<-arrived)
	for i := range int64(1000) {
		q.progress.ReportProgress(downloadProgress{i, 1000})
	}
	_, cmd = m.Update(cmd())
	if took := time.Since(began); took != progressRedrawInterval {
		t.Errorf("drawn again after %v", took)
	}
	if a := m.currentCluster.knownContents("uid-stored"); !a.Pending || a.Done != 999 || a.Total != 1000 {
		t.Errorf("%+v", a)
	}

	m.currentCluster.handleContents("uid-stored", q)
	if msg := cmd(); msg != nil {
		t.Errorf("%T after the answer", msg)
	}
}

// TestHiddenDownloadDrawsNothing: the dashboard is not drawn again for it.
func TestHiddenDownloadDrawsNothing(t *testing.T) {
	m := screen(t, snapshotOf(running("items", "b", 10, 100, 5)), 80, 24, withOracle(&oracle{}))
	q := m.currentCluster.contentsQueries["uid-items"]
	t.Cleanup(q.cancelFetch)
	checkFrame(t, m)
	q.progress.ReportProgress(downloadProgress{1, 2})
	more := m.followDownload(m.currentCluster, "uid-items", q)
	_, cmd := m.Update(more())
	if m.isFrameStale {
		t.Error("the dashboard is drawn again")
	}
	press(t, m, "enter", "4")
	checkFrame(t, m)
	q.progress.ReportProgress(downloadProgress{2, 2})
	if m.Update(cmd()); !m.isFrameStale {
		t.Error("the page is not drawn again")
	}
}
