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

type localFiles struct {
	process *processEnv
	log     *slog.Logger // of the session in which the command runs, or nil
}

func (c *localFiles) stateDir() (string, error) {
	dir, err := c.process.xdgDir("XDG_STATE_HOME", ".local", "state")
	if err != nil {
		return "", fmt.Errorf("finding the state folder: %w; set HOME or XDG_STATE_HOME", err)
	}
	return dir, nil
}

// stateFile returns the path of a file in the state folder, which it creates. Only the user may write to that folder.
func (c *localFiles) stateFile(name string) (string, error) {
	dir, err := c.stateDir()
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, name), safefile.MakeDir(dir)
}

// xdgDir returns veltui's folder in the XDG base folder of a variable, which is in the user's home by default.
func (p *processEnv) xdgDir(variable string, home ...string) (string, error) {
	if dir := p.getenv(variable); filepath.IsAbs(dir) {
		return filepath.Join(dir, "veltui"), nil
	}
	dir, err := p.homeDir()
	return filepath.Join(dir, filepath.Join(home...), "veltui"), err
}

// homeDir returns the user's home folder, preferring HOME.
func (p *processEnv) homeDir() (string, error) {
	if dir := p.getenv("HOME"); filepath.IsAbs(dir) {
		return dir, nil
	}
	return os.UserHomeDir()
}

func (c *localFiles) auditDir() (string, error) {
	dir, err := c.stateDir()
	return filepath.Join(dir, "finalize"), err
}

// openLog opens veltui's log file (0600). If there is no file that only the user can write, or in a session, it
// discards the log.
func (c *localFiles) openLog() (io.WriteCloser, string) {
	if path, err := c.stateFile("veltui.log"); err == nil && c.log == nil {
		if file, err := openBoundedLog(path, c.process.clock); err == nil {
			return file, path
		}
	}
	return discardCloser{io.Discard}, ""
}

type discardCloser struct{ io.Writer }

func (discardCloser) Close() error { return nil }

func (c *cli) newLogger(w io.Writer) *slog.Logger {
	logger := c.files.log
	if logger == nil {
		logger = redirectLibraryLogs(w, c.cancel)
	}
	c.connector.warnings.SetLogger(logger)
	return logger
}

// redirectLibraryLogs redirects all logs of libraries, which would garble the screen. A panic in one of their
// goroutines is logged and ends the program through cancel.
func redirectLibraryLogs(w io.Writer, cancel context.CancelCauseFunc) *slog.Logger {
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
	maxLogSize = 5 << 20 // the file is then renamed, once
	maxLogLine = 8 << 10
	logBurst   = 1 << 20  // bytes in a burst
	logRate    = 32 << 10 // bytes per second afterwards
)

// boundedLog limits the size and the rate of a log file. Several programs may write to the file.
type boundedLog struct {
	path  string
	clock func() time.Time

	mu             sync.Mutex
	file           *os.File
	size           int64
	availableBytes float64 // bytes that may be written now
	lastRefill     time.Time
	dropped        int
}

func openBoundedLog(path string, clock func() time.Time) (*boundedLog, error) {
	l := &boundedLog{path: path, clock: clock, availableBytes: logBurst, lastRefill: clock()}
	if err := l.openFile(); err != nil {
		return nil, err
	}
	return l, l.rotateIfFull(0)
}

func (l *boundedLog) openFile() error {
	file, err := safefile.OpenPrivate(l.path, os.O_CREATE|os.O_APPEND|os.O_WRONLY)
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

func (l *boundedLog) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.clock()
	l.availableBytes = min(logBurst, l.availableBytes+max(0, now.Sub(l.lastRefill).Seconds())*logRate)
	l.lastRefill = now
	kept := line
	if len(line) > maxLogLine {
		kept = fmt.Appendf(line[:maxLogLine:maxLogLine], "... and %d bytes more\n", len(line)-maxLogLine)
	}
	if float64(len(kept)) > l.availableBytes {
		l.dropped++
		return len(line), nil
	}
	l.logDropped()
	l.writeLine(kept)
	return len(line), nil
}

func (l *boundedLog) logDropped() {
	if l.dropped == 0 {
		return
	}
	l.writeLine(
		fmt.Appendf(nil, "time=%s level=%s msg=\"log lines were dropped, because too many came at once\" count=%d\n",
			l.lastRefill.Format(time.RFC3339), slog.LevelWarn, l.dropped),
	)
	l.dropped = 0
}

func (l *boundedLog) writeLine(line []byte) {
	if l.file == nil || l.rotateIfFull(len(line)) != nil {
		return
	}
	n, _ := l.file.Write(line)
	l.size += int64(n)
	l.availableBytes -= float64(n)
}

func (l *boundedLog) rotateIfFull(more int) error {
	if l.size+int64(more) <= maxLogSize {
		return nil
	}
	if err := safefile.RenameOpen(l.file, l.path+".old"); err != nil {
		return err
	}
	full := l.file
	if err := l.openFile(); err != nil {
		return err
	}
	return full.Close()
}

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
