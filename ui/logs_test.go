package ui

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/stored/artifact"
	"github.com/veltui/veltui/internal/stored/logs"
	"github.com/veltui/veltui/internal/velero/veleroapi"
	"github.com/veltui/veltui/ui/jobview"
)

// scribe is a log that writes what it is told to.
type scribe struct {
	asked  atomic.Int32
	closed atomic.Int32
	write  func(ctx context.Context, q logs.Query, out logs.Output) error
}

func (s *scribe) Read(ctx context.Context, q logs.Query, out logs.Output) error {
	s.asked.Add(1)
	defer s.closed.Add(1)
	return s.write(ctx, q, out)
}

// logOf is lines of a log, each with the seconds before noon, the level, and the
// rest.
func logOf(lines ...string) []logs.Entry {
	var entries []logs.Entry
	for _, l := range lines {
		var ago int
		var level, rest string
		if _, err := fmt.Sscanf(l, "%d %s", &ago, &level); err != nil {
			entries = append(entries, logs.Entry{Raw: []byte(l), Level: logs.Notice})
			continue
		}
		_, rest, _ = strings.Cut(l, level+" ")
		entries = append(entries, logs.Entry{
			Level: logs.ParseLevel(level),
			Raw: []byte(
				"time=\"" + noon.Add(-time.Duration(ago)*time.Second).
					UTC().
					Format(time.RFC3339) +
					"\" level=" + level + " " + rest,
			),
		})
	}
	return entries
}

var storedLog = logOf(
	`7200 info msg="Setting up backup temp file" backup=velero/stored logSource="pkg/controller/backup_controller.go:734"`,
	`7195 info msg="Backing up item" backup=velero/stored logSource="pkg/backup/item_backupper.go:181" name=db-0 namespace=shop resource=pods`,
	`7190 warning msg="Volume cache in pod shop/web-0 is an emptyDir volume, skipping" backup=velero/stored name=web-0 namespace=shop resource=pods`,
	`7180 error msg="Error backing up item" backup=velero/stored error="pod volume backup failed: data path backup failed: unable to read /host_pods/mail/spool: permission denied" name=mail-0 namespace=shop resource=pods`,
	`7100 info msg="Backed up a total of 932 items" backup=velero/stored progress=`,
)

// overnight is a log that went on over midnight.
var overnight = logOf(
	`43202 info msg="Setting up backup temp file" backup=velero/stored`,
	`43197 info msg="Backing up item" backup=velero/stored name=db-0 namespace=shop resource=pods`,
)

func writes(origin logs.Origin, entries []logs.Entry, err error, stays bool) *scribe {
	return &scribe{write: func(ctx context.Context, _ logs.Query, out logs.Output) error {
		out.OnOrigin(origin)
		for _, e := range entries {
			if err := out.OnLine(e); err != nil {
				return err
			}
		}
		if stays {
			<-ctx.Done()
			return ctx.Err()
		}
		return err
	}}
}

func withLogs(s *scribe) func(*Options) {
	return func(o *Options) { fake(o).log = s }
}

// drive runs a command and what comes of it, until the frame holds what is wanted.
func drive(t *testing.T, m *Model, cmd tea.Cmd, want ...string) string {
	t.Helper()
	messages := make(chan tea.Msg, 100)
	var start func(tea.Cmd)
	start = func(cmd tea.Cmd) {
		if cmd == nil {
			return
		}
		go func() {
			switch msg := cmd().(type) {
			case nil:
			case tea.BatchMsg:
				for _, c := range msg {
					start(c)
				}
			default:
				messages <- msg
			}
		}()
	}
	start(cmd)
	late := time.After(patience)
	for {
		frame := plain(checkFrame(t, m))
		missing := ""
		for _, w := range want {
			if !strings.Contains(frame, w) {
				missing = w
			}
		}
		if missing == "" {
			return frame
		}
		select {
		case msg := <-messages:
			_, cmd := m.Update(msg)
			start(cmd)
		case <-late:
			t.Fatalf("%q never came:\n%s", missing, frame)
		}
	}
}

// closes waits until so many readings have ended.
func closes(t *testing.T, s *scribe, want int32) {
	t.Helper()
	for late := time.Now().Add(patience); s.closed.Load() != want; time.Sleep(time.Millisecond) {
		if time.Now().After(late) {
			t.Fatalf("%d of %d readings ended", s.closed.Load(), want)
		}
	}
}

func runningRestore() *job.Job {
	return restoreJob(
		"running",
		"nightly",
		time.Hour,
		veleroapi.RestoreStatus{Phase: veleroapi.RestorePhaseInProgress, StartTimestamp: ptr(ago(time.Hour))},
		time.Minute,
	)
}

func TestLogFrames(t *testing.T) {
	live := append(
		logOf("Lines from before 2026-11-20 11:00:10 UTC are missing: the log of pod velero-1 was rotated"),
		logOf(
			`900 info msg="Restoring item" name=token-0141 namespace=shop resource=secrets restore=velero/running`,
			`880 error msg="Failed to get PVC media/worker-data-0006" error="connection refused" restore=velero/running`,
			`240 info msg="Error updating restore's status from InProgress to FinalizingPartiallyFailed" Restore=velero/running`,
		)...)
	for _, size := range [][2]int{{80, 24}, {120, 40}, {200, 60}, {40, 12}} {
		m := screen(
			t,
			snapshotOf(storedBackup()),
			size[0],
			size[1],
			withLogs(writes(logs.Origin{Stored: true, Size: -1}, storedLog, nil, false)),
		)
		drive(t, m, press(t, m, "3", "l"), "5 lines", "Backed up a total")
		drive(t, m, press(t, m, "E"), "▶")
		golden(t, fmt.Sprintf("job-logs-%dx%d", size[0], size[1]), plain(checkFrame(t, m)))
		press(t, m, "w")
		golden(t, fmt.Sprintf("job-logs-wrapped-%dx%d", size[0], size[1]), plain(checkFrame(t, m)))

		// A log that began on another day says which on each line.
		m = screen(
			t,
			snapshotOf(storedBackup()),
			size[0],
			size[1],
			withLogs(writes(logs.Origin{Stored: true, Size: -1}, overnight, nil, false)),
		)
		frame := drive(t, m, press(t, m, "3", "l"), "2 lines")
		for _, stamp := range []string{"11-19 23:59:58 info", "11-20 00:00:03 info"} {
			if !strings.Contains(frame, stamp) {
				t.Errorf("%q is not there:\n%s", stamp, frame)
			}
		}
		golden(t, fmt.Sprintf("job-logs-overnight-%dx%d", size[0], size[1]), plain(checkFrame(t, m)))

		m = screen(
			t,
			snapshotOf(runningRestore()),
			size[0],
			size[1],
			withLogs(writes(logs.Origin{Pods: []string{"velero-1"}}, live, nil, true)),
		)
		drive(t, m, press(t, m, "l"), "nothing about this job since", "3 lines", "Error updating")
		golden(t, fmt.Sprintf("job-logs-live-%dx%d", size[0], size[1]), plain(checkFrame(t, m)))
		press(t, m, "esc")
	}
}

// A line that is so long that it comes in parts is one line.
func TestLongLineCountsOnce(t *testing.T) {
	long := logOf(`10 info msg="begins"`)
	long = append(long, logs.Entry{Raw: []byte("goes on"), IsContinuation: true}, logs.Entry{Raw: []byte("and ends"), IsContinuation: true})
	m := screen(t, snapshotOf(storedBackup()), 80, 24, withLogs(writes(logs.Origin{Stored: true}, long, nil, false)))
	frame := drive(t, m, press(t, m, "3", "l"), "and ends")
	if !strings.Contains(frame, "stored log  1 line\n") && !strings.Contains(frame, "stored log  1 line ") {
		t.Errorf("it counts more:\n%s", frame)
	}
}

func TestLogKeys(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	m := screen(
		t,
		snapshotOf(storedBackup()),
		120,
		40,
		withLogs(writes(logs.Origin{Stored: true}, storedLog, nil, false)),
	)
	drive(t, m, press(t, m, "3", "l"), "5 lines, 1 error, 1 warning")
	for _, c := range []struct {
		key           string
		shows, leaves []string
	}{
		{"L", []string{"level info and above", "Setting up"}, nil},
		{"L", []string{"level warning and above", "emptyDir", "Error backing up"}, []string{"Setting up"}},
		{"L", []string{"level error and above", "Error backing up"}, []string{"emptyDir"}},
		{"L", []string{"Setting up", "Error backing up"}, []string{"and above"}},
		{"E", []string{"▶12"}, nil},
	} {
		press(t, m, c.key)
		frame := strings.ReplaceAll(plain(checkFrame(t, m)), "▶2026-11-21 ", "▶")
		for _, w := range c.shows {
			if c.key != "E" && !strings.Contains(frame, w) {
				t.Errorf("after %s %q is not shown:\n%s", c.key, w, frame)
			}
		}
		for _, w := range c.leaves {
			if strings.Contains(frame, w) {
				t.Errorf("after %s %q is shown:\n%s", c.key, w, frame)
			}
		}
	}
	// The search is for what is shown, over the whole log, and goes round.
	press(t, m, "/")
	for _, r := range "BACKED UP a" {
		press(t, m, string(r))
	}
	drive(t, m, press(t, m, "enter"), "/backed up a")
	press(t, m, "esc", "/")
	for _, r := range "item_backupper" { // stands only in a field that is left out
		press(t, m, string(r))
	}
	drive(t, m, press(t, m, "enter"), "item_backupper is not here")
	press(t, m, "esc")

	m.options.SaveFolder = dir
	nothing := func(after string) {
		t.Helper()
		if files, _ := filepath.Glob(filepath.Join(dir, "*")); len(files) > 0 {
			t.Fatalf("after %s there is %v", after, files)
		}
	}
	drive(t, m, press(t, m, "s"), "Save as: ", "enter writes the file")
	nothing("s")
	drive(t, m, press(t, m, "esc"), "esc back")
	nothing("esc")
	drive(t, m, press(t, m, "s"), "Save as: ")
	drive(t, m, press(t, m, "enter"), "Saved to "+dir)
	files, err := filepath.Glob(filepath.Join(dir, "veltui-backup-stored-*.log"))
	if err != nil || len(files) != 1 {
		t.Fatalf("%v, %v", files, err)
	}
	if info, err := os.Stat(files[0]); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	if text, err := os.ReadFile(
		files[0],
	); err != nil || strings.Count(string(text), "\n") != 5 ||
		!strings.Contains(string(text), "item_backupper") {
		t.Errorf("saved %q, %v", text, err)
	}
	drive(t, m, press(t, m, "s"), "Save as: ")
	drive(t, m, press(t, m, "enter"), "Not saved: ", "exists")
}

// The page asks only while it is open, and again for the stored log once the job
// has ended.
func TestLogsAreReadWhileThePageIsOpen(t *testing.T) {
	s := writes(logs.Origin{Pods: []string{"velero-1"}}, logOf(`10 info msg="at work"`), nil, true)
	m := screen(t, snapshotOf(runningRestore()), 80, 24, withLogs(s))
	press(t, m, "enter")
	if s.asked.Load() != 0 {
		t.Error("a page that is not open asks")
	}
	drive(t, m, press(t, m, "3"), "at work", "following")
	press(t, m, "1")
	closes(t, s, 1)
	drive(t, m, press(t, m, "l"), "at work")
	s.write = writes(logs.Origin{Stored: true}, logOf(`9 info msg="from the store"`), nil, false).write
	ended := restoreJob(
		"running",
		"nightly",
		time.Hour,
		veleroapi.RestoreStatus{Phase: veleroapi.RestorePhaseCompleted, StartTimestamp: ptr(ago(time.Hour))},
		time.Minute,
	)
	_, cmd := m.Update(snapshotAssessedMsg{m.currentCluster, m.currentCluster.estimates.AssessSnapshot(snapshotOf(ended), noon)})
	drive(t, m, cmd, "stored log", "from the store")
	closes(t, s, 3)
	press(t, m, "esc")
}

func TestLogsThatCannotBeRead(t *testing.T) {
	m := screen(
		t,
		snapshotOf(storedBackup()),
		80,
		24,
		withLogs(writes(logs.Origin{}, nil, errors.New("pods \"velero-1\" is forbidden"), false)),
	)
	drive(t, m, press(t, m, "3", "l"), "The log cannot be read: pods \"velero-1\" is forbidden", "press r")

	m = screen(
		t,
		snapshotOf(storedBackup()),
		80,
		24,
		withLogs(
			writes(
				logs.Origin{NotStored: errors.New("read-only: no DownloadRequest"), Pods: []string{"velero-1"}},
				storedLog,
				nil,
				false,
			),
		),
	)
	drive(
		t,
		m,
		press(t, m, "3", "l"),
		"what the server's pods still have",
		"read-only: no DownloadRequest",
		"Setting up",
	)

	m = screen(
		t,
		snapshotOf(storedBackup()),
		80,
		24,
		withLogs(writes(logs.Origin{Stored: true}, storedLog[:2], errors.New("the gzip data is damaged"), false)),
	)
	drive(t, m, press(t, m, "3", "l"), "The log ends here: the gzip data is damaged", "Setting up")

	m = screen(t, snapshotOf(storedBackup()), 80, 24, withLogs(writes(logs.Origin{Stored: true}, nil, nil, false)))
	drive(t, m, press(t, m, "3", "l"), "Nothing was logged about this backup.")

	m = screen(t, snapshotOf(storedBackup()), 80, 24)
	drive(t, m, press(t, m, "3", "l"), "Logs are not read here.")
}

// TestCopyingALog holds that y copies what was found or jumped to, and Y what fits,
// from the window on, and that both say which.
func TestCopyingALog(t *testing.T) {
	m := screen(
		t,
		snapshotOf(storedBackup()),
		80,
		24,
		withLogs(writes(logs.Origin{Stored: true}, storedLog, nil, false)),
	)
	drive(t, m, press(t, m, "3", "l"), "Backed up a total")
	if got := copied(
		press(t, m, "y"),
		m,
	); len(got) != 1 || !strings.Contains(got[0], "level=info") || !strings.Contains(got[0], "Setting up") ||
		!strings.Contains(m.notice, "one line") {
		t.Errorf("y copied %q and said %q", got, m.notice)
	}
	press(t, m, "E")
	if got := copied(
		press(t, m, "y"),
		m,
	); len(got) != 1 || !strings.Contains(got[0], "permission denied") ||
		!strings.Contains(m.notice, "one line") {
		t.Errorf("y copied %q and said %q", got, m.notice)
	}
	if got := copied(
		press(t, m, "Y"),
		m,
	); len(got) != 1 || strings.Count(got[0], "\n") != len(storedLog)-1 ||
		!strings.Contains(m.notice, "all of the log") {
		t.Errorf("Y copied %q and said %q", got, m.notice)
	}
	long := storedLog
	for i := range 2000 {
		long = append(
			long,
			logOf(fmt.Sprintf(`10 info msg="Backing up item %d" backup=velero/stored odd="%s"`, i, "\x1b[2J"))...)
	}
	m = screen(t, snapshotOf(storedBackup()), 80, 24, withLogs(writes(logs.Origin{Stored: true}, long, nil, false)))
	drive(t, m, press(t, m, "3", "l"), "Setting up", "2,005 lines")
	got := copied(press(t, m, "Y"), m)
	if len(got) != 1 || len(got[0]) > jobview.MaxCopyBytes || len(got[0]) < jobview.MaxCopyBytes*9/10 ||
		strings.Contains(got[0], "\x1b") ||
		!strings.Contains(m.notice, "only lines 1 to ") ||
		!strings.Contains(m.notice, " of 2005 (s saves all)") {
		t.Errorf("Y copied %d texts and said %q", len(got), m.notice)
	}
	press(t, m, "G")
	m.View()
	got = copied(press(t, m, "Y"), m)
	if len(got) != 1 || !strings.Contains(got[0], "item 1999") || len(got[0]) < jobview.MaxCopyBytes*9/10 ||
		!strings.Contains(m.notice, " to 2005 of 2005") {
		t.Errorf("Y copied %d texts and said %q", len(got), m.notice)
	}
}

// From a message on the Results page, l leads to its line in the log, with the lines around it.
func TestFromAMessageToItsLogLine(t *testing.T) {
	const denied = "pod volume backup failed: data path backup failed: unable to read /host_pods/mail/spool: permission denied"
	failed := backupJob(
		"stored",
		time.Hour,
		veleroapi.BackupStatus{Phase: veleroapi.BackupPhasePartiallyFailed, Errors: 2, Warnings: 1},
		time.Hour,
	)
	results := artifact.Results{
		Errors: artifact.Messages{
			Namespaces: map[string][]string{
				"shop": {
					"name: /mail-0 message: /Error backing up item error: /" + denied,
					"error restoring pods/shop/web-1: what no line says",
				},
			},
		},
	}
	var entries []logs.Entry
	for i := range 300 {
		entries = append(
			entries,
			logOf(
				fmt.Sprintf(`7300 info msg="Backing up item %d"`, i),
				`7299 error msg="Error backing up item" error="another error" name=mail-0`,
			)...)
	}
	entries = append(append(entries, storedLog...), entries...)
	for _, pressed := range [][]string{{"l"}, {"enter", "l"}} { // also from the open message
		m := screen(
			t,
			snapshotOf(failed),
			120,
			40,
			withLogs(writes(logs.Origin{Stored: true}, entries, nil, false)),
			func(o *Options) { fake(o).stored = &complaints{results: results} },
		)
		drive(t, m, press(t, m, "3", "e"), "permission denied")
		press(t, m, "down")
		press(t, m, pressed[:len(pressed)-1]...)
		frame := drive(t, m, press(t, m, "l"), "▶2026-11-20 10:00:20 error", "emptyDir", "Backed up a total")
		if got := copied(press(t, m, "y"), m); len(got) != 1 || !strings.Contains(got[0], denied) {
			t.Errorf("the line is not selected: %q\n%s", got, frame)
		}
		if press(t, m, "enter"); !strings.Contains(plain(checkFrame(t, m)), "namespace=shop resource=pods\n") {
			t.Errorf("enter does not show the whole line:\n%s", plain(checkFrame(t, m)))
		}
		press(t, m, "esc")
	}
	m := screen(
		t,
		snapshotOf(failed),
		120,
		40,
		withLogs(writes(logs.Origin{Stored: true}, storedLog, nil, false)),
		func(o *Options) { fake(o).stored = &complaints{results: results} },
	)
	drive(t, m, press(t, m, "3", "e"), "what no line says")
	press(t, m, "end")
	drive(t, m, press(t, m, "l"), "No line of this log has the message.")
	press(t, m, "esc")
}

// A frame of a log of 200,000 lines costs what one of 200 does.
func BenchmarkLogFrame(b *testing.B) {
	for _, n := range []int{200, 200_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			s := &scribe{write: func(_ context.Context, _ logs.Query, out logs.Output) error {
				for i := range n {
					if err := out.OnLine(
						logOf(fmt.Sprintf(`10 info msg="Restored %d items" name=token-%d restore=velero/running`, i, i))[0],
					); err != nil {
						return err
					}
				}
				return nil
			}}
			m := screen(b, snapshotOf(storedBackup()), 120, 40, withLogs(s))
			cmd := press(b, m, "3", "l")
			for _, c := range cmd().(tea.BatchMsg) {
				if batch, ok := c().(tea.BatchMsg); ok {
					m.Update(batch[0]())
				}
			}
			b.ResetTimer()
			for b.Loop() {
				m.isFrameStale = true
				m.View()
				press(b, m, "down")
			}
		})
	}
}
