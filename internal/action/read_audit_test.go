package action

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// ownDir is a new directory for an audit log.
func ownDir(t *testing.T) string {
	t.Helper()
	return filepath.Join(t.TempDir(), "finalize")
}

// openTestAudit opens an audit log for an attempt.
func openTestAudit(t *testing.T, dir, attempt string) *auditLog {
	t.Helper()
	a, err := newAuditLog(Options{AuditDir: dir}, attempt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = a.lock.Close() })
	return a
}

// logged are the entries of an audit log as "event attempt".
func logged(t *testing.T, dir string) (all []string, damage AuditLogDamage) {
	t.Helper()
	damage, err := ReadAuditLog(dir, func(e AuditEntry) { all = append(all, e.Event+" "+e.Attempt) })
	if err != nil {
		t.Fatal(err)
	}
	return all, damage
}

// A log or a directory in which others can write is refused with what mends it, and
// nothing blocks.
func TestUnsafeAuditLog(t *testing.T) {
	for name, c := range map[string]struct {
		make func(t *testing.T, dir string)
		want string
	}{
		"a pipe":               {func(t *testing.T, dir string) { must(t, syscall.Mkfifo(filepath.Join(dir, AuditLogFile), 0o600)) }, "is a named pipe, not a regular file; run: mv DIR/"},
		"a link":               {func(t *testing.T, dir string) { must(t, os.Symlink("../victim", filepath.Join(dir, AuditLogFile))) }, "is a symbolic link"},
		"a full device":        {func(t *testing.T, dir string) { must(t, os.Symlink("/dev/full", filepath.Join(dir, AuditLogFile))) }, "is a symbolic link"},
		"a directory":          {func(t *testing.T, dir string) { must(t, os.Mkdir(filepath.Join(dir, AuditLogFile), 0o700)) }, "is a directory"},
		"a writable directory": {func(t *testing.T, dir string) { must(t, os.Chmod(dir, 0o777)) }, "run: chmod go-w " + "DIR"},
		"a shared directory":   {func(t *testing.T, dir string) { must(t, os.Chmod(dir, 0o777|os.ModeSticky)) }, "run: chmod go-w " + "DIR"},
		"a linked directory":   {func(t *testing.T, dir string) { must(t, os.Rename(dir, dir+"2")); must(t, os.Symlink(dir+"2", dir)) }, "DIR is a symbolic link"},
		"linked copies":        {func(t *testing.T, dir string) { must(t, os.Symlink(t.TempDir(), filepath.Join(dir, copiesDir))) }, "copies is a symbolic link"},
		"writable copies": {func(t *testing.T, dir string) {
			must(t, os.Mkdir(filepath.Join(dir, copiesDir), 0o700))
			must(t, os.Chmod(filepath.Join(dir, copiesDir), 0o777))
		}, "run: chmod go-w DIR/copies"},
		"a writable file": {func(t *testing.T, dir string) {
			p := filepath.Join(dir, AuditLogFile)
			must(t, os.WriteFile(p, nil, 0o600))
			must(t, os.Chmod(p, 0o660))
		}, "run: chmod go-w DIR/" + AuditLogFile},
	} {
		t.Run(name, func(t *testing.T) {
			dir := ownDir(t)
			victim := filepath.Join(filepath.Dir(dir), "victim")
			must(t, os.Mkdir(dir, 0o700))
			must(t, os.WriteFile(victim, []byte("mine"), 0o600))
			c.make(t, dir)
			done := make(chan error, 1)
			go func() {
				_, err := newAuditLog(Options{AuditDir: dir}, "a")
				done <- err
			}()
			select {
			case err := <-done:
				if want := strings.ReplaceAll(
					c.want,
					"DIR",
					dir,
				); !errors.Is(err, errUnsafeAuditLog) ||
					!strings.Contains(err.Error(), want) {
					t.Errorf("%v, want %q", err, want)
				}
			case <-time.After(time.Minute):
				t.Fatal("it blocks")
			}
			if data, err := os.ReadFile(victim); string(data) != "mine" {
				t.Errorf("%q, %v", data, err)
			}
		})
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// What a crash or a full disk leaves hides no other entry.
func TestBrokenLinesHideNothing(t *testing.T) {
	for name, left := range map[string]string{
		"half a line":          `{"event":"begin","attempt":"lo`,
		"zeros":                strings.Repeat("\x00", 4096),
		"no JSON":              "hello\n",
		"a line that is huge":  strings.Repeat("x", maxEntry+1) + "\n",
		"the same, unfinished": strings.Repeat("x", maxEntry+1),
		"an array":             "[]\n",
	} {
		t.Run(name, func(t *testing.T) {
			a := openTestAudit(t, ownDir(t), "a")
			must(t, a.writeEntry(AuditEntry{Event: "begin", Attempt: "before"}))
			file, err := os.OpenFile(a.path, os.O_APPEND|os.O_WRONLY, 0)
			must(t, err)
			_, err = io.WriteString(file, left)
			must(t, errors.Join(err, file.Close()))
			must(t, a.writeEntry(AuditEntry{Event: "begin", Attempt: "after"}))
			must(t, a.writeEntry(AuditEntry{Event: "end", Attempt: "after"}))
			got, damage := logged(t, a.dir)
			want := AuditLogDamage{BadLines: 1}
			if strings.Trim(left, "\x00") == "" {
				want.BadLines = 0 // nothing was on it
			}
			if fmt.Sprint(got) != "[begin before begin after end after]" || damage != want {
				t.Errorf("%v, %+v", got, damage)
			}
		})
	}
}

// Of a log without end only the end is read.
func TestHugeLogIsReadFromItsEnd(t *testing.T) {
	dir := ownDir(t)
	a := openTestAudit(t, dir, "a")
	must(t, a.writeEntry(AuditEntry{Event: "begin", Attempt: "first"}))
	must(t, os.Truncate(a.path, 1<<30)) // zeros that take no room
	must(t, a.writeEntry(AuditEntry{Event: "begin", Attempt: "last"}))
	got, damage := logged(t, dir)
	if fmt.Sprint(got) != "[begin last]" || !damage.IsTruncated {
		t.Errorf("%v, %+v", got, damage)
	}

	lines := bytes.Repeat([]byte(`{"event":"begin","attempt":"x"}`+"\n"), 10)
	for limit := int64(1); limit < int64(len(lines)); limit++ {
		n := 0
		damage, err := readEntries(
			io.NewSectionReader(bytes.NewReader(lines), 0, int64(len(lines))),
			limit,
			func(AuditEntry) { n++ },
		)
		if want := int(limit) / (len(lines) / 10); n != want || damage.BadLines != 0 || err != nil {
			t.Fatalf("the last %d bytes: %d entries, want %d; %+v, %v", limit, n, want, damage, err)
		}
	}
}

// TestHelperProcess is the other process of the tests below.
func TestHelperProcess(t *testing.T) {
	dir, mode := os.Getenv("AUDIT_DIR"), os.Getenv("AUDIT_MODE")
	switch mode {
	case "":
		t.Skip("a helper of others")
	case "write":
		var writers sync.WaitGroup
		for w := range 8 {
			writers.Go(func() {
				for n := range 40 {
					e := AuditEntry{
						Event:   "begin",
						Attempt: fmt.Sprintf("%s-%d-%d", os.Getenv("AUDIT_NAME"), w, n),
						Reason:  strings.Repeat("r", 9000),
					}
					if err := appendEntry(filepath.Join(dir, AuditLogFile), e); err != nil {
						t.Error(err)
					}
				}
			})
		}
		writers.Wait()
	case "hold":
		a, err := newAuditLog(Options{AuditDir: dir}, "held")
		if err == nil {
			err = a.writeEntry(AuditEntry{Time: time.Now(), Event: "begin", Attempt: "held"})
		}
		if err != nil {
			t.Fatal(err)
		}
		fmt.Println("ready")
		_, _ = io.ReadAll(os.Stdin)
		runtime.KeepAlive(a) // the collector closes a file that nobody uses, and with it goes the lock
	}
}

func helper(t *testing.T, dir, mode, name string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^TestHelperProcess$")
	cmd.Env = append(os.Environ(), "AUDIT_DIR="+dir, "AUDIT_MODE="+mode, "AUDIT_NAME="+name)
	cmd.Stderr = os.Stderr
	return cmd
}

func TestProcessesWriteOneLog(t *testing.T) {
	dir := ownDir(t)
	must(t, os.Mkdir(dir, 0o700))
	processes := []*exec.Cmd{helper(t, dir, "write", "a"), helper(t, dir, "write", "b")}
	for _, p := range processes {
		must(t, p.Start())
	}
	for _, p := range processes {
		must(t, p.Wait())
	}
	got, damage := logged(t, dir)
	if len(got) != 2*8*40 || damage != (AuditLogDamage{}) {
		t.Errorf("%d entries, %+v", len(got), damage)
	}
}

// An attempt is unfinished once its process is gone, however that ended, and not
// while it runs.
func TestUnfinishedOnceTheProcessIsGone(t *testing.T) {
	dir := ownDir(t)
	p := helper(t, dir, "hold", "")
	in, err := p.StdinPipe()
	must(t, err)
	defer in.Close()
	out, err := p.StdoutPipe()
	must(t, err)
	must(t, p.Start())
	t.Cleanup(func() { _ = p.Process.Kill(); _ = p.Wait() })
	ready := make([]byte, len("ready"))
	_, err = io.ReadFull(out, ready)
	must(t, err)
	unfinished := func() int {
		all, _, err := UnfinishedAttempts(dir, time.Now())
		must(t, err)
		return len(all)
	}
	if n := unfinished(); n != 0 {
		t.Fatalf("%d are unfinished while one runs", n)
	}
	must(t, p.Process.Signal(syscall.SIGSTOP))
	if n := unfinished(); n != 0 {
		t.Errorf("%d are unfinished while one is stopped", n)
	}
	must(t, p.Process.Kill())
	_ = p.Wait()
	if n := unfinished(); n != 1 {
		t.Errorf("%d are unfinished after one was killed", n)
	}
}

func TestUnfinishedAttempts(t *testing.T) {
	now := time.Date(2026, 11, 23, 14, 30, 0, 0, time.UTC)
	machine, err := os.Hostname()
	must(t, err)
	line := func(event, attempt string, ago time.Duration, more string) string {
		return fmt.Sprintf(
			`{"time":%q,"event":%q,"attempt":%q%s}`,
			now.Add(-ago).Format(time.RFC3339),
			event,
			attempt,
			more,
		)
	}
	here, there := `,"machine":`+strconv.Quote(machine), `,"machine":"elsewhere"`
	for name, c := range map[string]struct {
		lines []string
		want  int
		sent  bool
	}{
		"nothing":                        {nil, 0, false},
		"begun":                          {[]string{line("begin", "a", time.Hour, here)}, 1, false},
		"sent":                           {[]string{line("begin", "a", time.Hour, here), line("send", "a", time.Hour, here)}, 1, true},
		"landed":                         {[]string{line("begin", "a", time.Hour, here), line("send", "a", time.Hour, here), line("landed", "a", time.Hour, here)}, 1, true},
		"ended":                          {[]string{line("begin", "a", time.Hour, here), line("end", "a", time.Hour, here+`,"sent":"not sent"`)}, 0, false},
		"ended in doubt":                 {[]string{line("begin", "a", time.Hour, there), line("send", "a", time.Hour, there), line("end", "a", 0, there+`,"sent":"in doubt"`)}, 1, true},
		"settled":                        {[]string{line("begin", "a", time.Hour, here), line("end", "a", 0, here+`,"sent":"in doubt"`), line("end", "a", 0, here+`,"sent":"landed"`)}, 0, false},
		"superseded":                     {[]string{line("begin", "a", time.Hour, here), line("end", "a", 0, here+`,"sent":"in doubt","state":"superseded"`)}, 0, false},
		"end without begin":              {[]string{line("end", "a", time.Hour, here)}, 0, false},
		"on another machine":             {[]string{line("begin", "a", time.Hour, there)}, 0, false},
		"on another machine, days ago":   {[]string{line("begin", "a", 48*time.Hour, there)}, 1, false},
		"by a program without locks":     {[]string{line("begin", "a", time.Hour, "")}, 0, false},
		"the same, days ago":             {[]string{line("begin", "a", 48*time.Hour, "")}, 1, false},
		"months ago":                     {[]string{line("begin", "a", 60*24*time.Hour, here)}, 0, false},
		"two":                            {[]string{line("begin", "a", time.Hour, here), line("begin", "b", time.Minute, here)}, 2, false},
		"an attempt with a hostile name": {[]string{line("begin", "../../x", time.Hour, here)}, 1, false},
	} {
		t.Run(name, func(t *testing.T) {
			dir := ownDir(t)
			must(t, os.Mkdir(dir, 0o700))
			must(t, os.WriteFile(filepath.Join(dir, AuditLogFile), []byte(strings.Join(append(c.lines, ""), "\n")), 0o600))
			got, _, err := UnfinishedAttempts(dir, now)
			if err != nil || len(got) != c.want || len(got) > 0 && got[0].WasSent() != c.sent {
				t.Errorf("%v, %+v", err, got)
			}
		})
	}
}

// A log of an earlier version stays readable.
func TestEarlierLog(t *testing.T) {
	const old = `{"time":"2026-11-20T10:00:00Z","event":"begin","attempt":"abc","context":"prod-east","cluster":"https://x:6443","action":"finalize","kind":"Restore","namespace":"velero","name":"crm","uid":"u","by":"jane","from":"InProgress","to":"Failed","reason":"gone"}`
	dir := ownDir(t)
	must(t, os.Mkdir(dir, 0o700))
	must(t, os.WriteFile(filepath.Join(dir, AuditLogFile), []byte(old+"\n"), 0o644))
	a := openTestAudit(t, dir, "new")
	must(t, a.writeEntry(AuditEntry{Event: "begin", Attempt: "new"}))
	var first AuditEntry
	must(t, json.Unmarshal([]byte(old), &first))
	var got []AuditEntry
	_, err := ReadAuditLog(dir, func(e AuditEntry) { got = append(got, e) })
	must(t, err)
	if len(got) != 2 || got[0].Name != first.Name || !got[0].Time.Equal(first.Time) || got[0].By != "jane" ||
		got[1].Machine == "" {
		t.Errorf("%+v", got)
	}
}
