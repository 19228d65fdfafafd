package cmd

import (
	"context"
	"fmt"
	"io"
	"log"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/go-logr/logr"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/klog/v2"

	"github.com/veltui/veltui/internal/safefile"
)

// files are those that veltui keeps: its state, its cache and its log.
type files struct {
	*process
	// log is the log of the session that the command runs in, nil if it runs by
	// itself.
	log *slog.Logger
}

// stateDir is the XDG place for logs and the like.
func (c *files) stateDir() (string, error) {
	if dir := c.env("XDG_STATE_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "veltui"), nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", fmt.Errorf("finding the state folder: %w", err)
	}
	return filepath.Join(home, ".local", "state", "veltui"), nil
}

// auditDir is the directory of the audit log.
func (c *files) auditDir() (string, error) {
	dir, err := c.stateDir()
	return filepath.Join(dir, "finalize"), err
}

// openLog opens veltui's log file (0600) for appending. Where there is no
// place for one, the log is thrown away rather than shown on the screen. In a
// session it is the session's.
func (c *files) openLog() (io.WriteCloser, string) {
	if c.log != nil {
		return discard{}, ""
	}
	dir, err := c.stateDir()
	if err != nil {
		return discard{}, ""
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return discard{}, ""
	}
	path := filepath.Join(dir, "veltui.log")
	file, err := openBoundedLog(path, c.clock)
	if err != nil {
		return discard{}, ""
	}
	return file, path
}

type discard struct{}

func (discard) Write(p []byte) (int, error) { return len(p), nil }
func (discard) Close() error                { return nil }

// logTo is quiet, and sends the API server's warnings there too.
func (c *cli) logTo(w io.Writer) *slog.Logger {
	logger := c.log
	if logger == nil {
		logger = captureLogs(w, c.cancel)
	}
	c.warnings.LogTo(logger)
	return logger
}

// captureLogs sends everything that libraries log to w, because whatever reaches the
// terminal garbles the screen or the output of a command. A panic in one of
// their goroutines is logged and ends the program through cancel.
func captureLogs(w io.Writer, cancel context.CancelCauseFunc) *slog.Logger {
	logger := slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{Level: slog.LevelInfo}))
	slog.SetDefault(logger)
	log.SetOutput(w)
	klog.SetLogger(logr.FromSlogHandler(logger.Handler()))
	klog.LogToStderr(false)
	klog.SetOutput(w)
	utilruntime.ReallyCrash = false
	utilruntime.PanicHandlers = append(utilruntime.PanicHandlers, func(_ context.Context, value any) {
		cancel(fmt.Errorf("this is a bug in veltui; please report it with the log: %v", value))
	})
	return logger
}

const (
	// maxLogSize is where the log file is turned over: the old one is kept once.
	maxLogSize = 5 << 20
	// maxLogLine is how much is kept of one line.
	maxLogLine = 8 << 10
	// logBurst is how many bytes may come at once, and logRate how many a second
	// from then on: what a cluster makes libraries say must not fill a disk.
	logBurst = 1 << 20
	logRate  = 32 << 10
)

// boundedLog is a log file that grows neither too large nor too fast. Several
// programs may write to it.
type boundedLog struct {
	path  string
	clock func() time.Time

	mu      sync.Mutex
	file    *os.File
	size    int64
	allowed float64 // bytes that may be written now
	at      time.Time
	dropped int
}

func openBoundedLog(path string, clock func() time.Time) (*boundedLog, error) {
	l := &boundedLog{path: path, clock: clock, allowed: logBurst, at: clock()}
	if err := l.open(); err != nil {
		return nil, err
	}
	return l, l.rotate(0)
}

func (l *boundedLog) open() error {
	file, err := safefile.Open(l.path, os.O_CREATE|os.O_APPEND|os.O_WRONLY)
	if err != nil {
		return err
	}
	info, err := file.Stat()
	if err != nil {
		_ = file.Close()
		return err
	}
	l.file, l.size = file, info.Size()
	return nil
}

// Write writes a line, or counts it where too much comes. It does not fail: a
// program must not end because its log is full.
func (l *boundedLog) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.clock()
	l.allowed = min(logBurst, l.allowed+max(0, now.Sub(l.at).Seconds())*logRate)
	l.at = now
	kept := line
	if len(line) > maxLogLine {
		kept = fmt.Appendf(line[:maxLogLine:maxLogLine], "... and %d bytes more\n", len(line)-maxLogLine)
	}
	if float64(len(kept)) > l.allowed {
		l.dropped++
		return len(line), nil
	}
	l.logDropped()
	l.put(kept)
	return len(line), nil
}

// logDropped writes how many lines are missing at this place.
func (l *boundedLog) logDropped() {
	if l.dropped == 0 {
		return
	}
	l.put(fmt.Appendf(nil, "time=%s level=%s msg=\"log lines were dropped, because too many came at once\" count=%d\n",
		l.at.Format(time.RFC3339), slog.LevelWarn, l.dropped))
	l.dropped = 0
}

func (l *boundedLog) put(line []byte) {
	if l.file == nil || l.rotate(len(line)) != nil {
		return
	}
	n, _ := l.file.Write(line)
	l.size += int64(n)
	l.allowed -= float64(n)
}

// rotate begins a new file where this one has no room for more bytes.
func (l *boundedLog) rotate(more int) error {
	if l.size+int64(more) <= maxLogSize {
		return nil
	}
	ours, err := l.file.Stat()
	if err != nil {
		return err
	}
	// Another program may have begun a new one already.
	if there, err := os.Stat(l.path); err == nil && os.SameFile(ours, there) {
		if err := os.Rename(l.path, l.path+".old"); err != nil {
			return err
		}
	}
	full := l.file
	if err := l.open(); err != nil {
		return err
	}
	return full.Close()
}

// Close says what was dropped last.
func (l *boundedLog) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file == nil {
		return nil
	}
	l.logDropped()
	err := l.file.Close()
	l.file = nil
	return err
}
