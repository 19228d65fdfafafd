package cmd

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/veltui/veltui/internal/velero/veleroapi"
)

// logSizes are the sizes of the log and of the one before it.
func logSizes(t *testing.T, path string) (now, before int64) {
	t.Helper()
	size := func(path string) int64 {
		info, err := os.Stat(path)
		if err != nil {
			return 0
		}
		return info.Size()
	}
	return size(path), size(path + ".old")
}

func TestBoundedLog(t *testing.T) {
	path := filepath.Join(t.TempDir(), "veltui.log")
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	l, err := openBoundedLog(path, func() time.Time { return now })
	if err != nil {
		t.Fatal(err)
	}
	write := func(times int, line string) {
		for range times {
			if n, err := l.Write([]byte(line)); n != len(line) || err != nil {
				t.Fatalf("%d, %v", n, err)
			}
		}
	}
	line := strings.Repeat("x", 999) + "\n"
	write(80_000, line)
	if size, _ := logSizes(t, path); size > logBurst || size < logBurst/2 {
		t.Errorf("80 MB at once leave %d bytes", size)
	}
	now = now.Add(time.Hour)
	write(1, "after the flood\n")
	text, err := os.ReadFile(path)
	want := fmt.Sprintf("count=%d\nafter the flood\n", 80_000-logBurst/1000)
	if err != nil || !strings.HasSuffix(string(text), want) {
		t.Errorf("%v, it ends with %q, want %q", err, text[max(0, len(text)-200):], want)
	}
	write(1, strings.Repeat("y", 1<<20))
	if size, _ := logSizes(t, path); size > int64(len(text)+maxLogLine+100) {
		t.Errorf("a line of a megabyte leaves %d bytes more", int(size)-len(text))
	}
	for range 200 { // a flood that does not end
		now = now.Add(10 * time.Second)
		write(1000, line)
		if size, before := logSizes(t, path); size > maxLogSize || before > maxLogSize {
			t.Fatalf("%d and %d bytes", size, before)
		}
	}
	if _, before := logSizes(t, path); before < maxLogSize/2 {
		t.Errorf("the log before has %d bytes", before)
	}
	write(1, line)
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	if text, err := os.ReadFile(
		path,
	); err != nil ||
		!strings.Contains(string(text[max(0, len(text)-200):]), "dropped, because too many came") {
		t.Errorf("%v, the end does not say what was dropped: %q", err, text[max(0, len(text)-200):])
	}
	write(1, line) // to a closed log: nothing happens
}

// TestFloodOfWarnings: an API server that warns without end fills no disk, and
// each warning is logged once.
func TestFloodOfWarnings(t *testing.T) {
	b := control(t)
	b.create(t, restore("flooded", veleroapi.RestoreStatus{Phase: veleroapi.RestorePhaseCompleted}))
	var sent atomic.Int64
	kubeconfig := b.proxied(t, 0, func(w http.ResponseWriter, _ *http.Request) bool {
		padding := strings.Repeat("flood ", 150)
		for range 400 {
			w.Header().Add("Warning", fmt.Sprintf("299 - \"number %d %s\"", sent.Add(1), padding))
			w.Header().Add("Warning", "299 - \"always the same\"")
		}
		return false
	})
	state := t.TempDir()
	command := through(kubeconfig, b.command(t, "get", "restores"))
	command.Env = append(command.Env, "XDG_STATE_HOME="+state)
	out, err := command.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "flooded") || strings.Contains(string(out), "number") {
		t.Fatalf("%v: %.2000s", err, out)
	}
	const maxWarnings, maxWarning = 100, 500 // of package session
	if sent.Load() < 2*maxWarnings {
		t.Fatalf("only %d warnings were sent", sent.Load())
	}
	text, err := os.ReadFile(filepath.Join(state, "veltui", "veltui.log"))
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d warnings, %d bytes of log", sent.Load(), len(text))
	if len(text) > 4*maxWarnings*maxWarning || strings.Count(string(text), "always the same") != 1 ||
		!strings.Contains(string(text), "left out") {
		t.Errorf(
			"%d bytes, %d times the same: %.3000s",
			len(text),
			strings.Count(string(text), "always the same"),
			text,
		)
	}
}
