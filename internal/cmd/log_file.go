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

type files struct {
	*process
	log *slog.Logger // of the session that the command runs in, or nil
}

func (c *files) stateDir() (string, error) {
	dir, err := c.folder("XDG_STATE_HOME", ".local", "state")
	if err != nil {
		return "", fmt.Errorf("finding the state folder: %w; set HOME or XDG_STATE_HOME", err)
	}
	return dir, nil
}

// stateFile is a file in the state folder, which it creates. Only the user may write to that folder.
func (c *files) stateFile(name string) (string, error) {
	dir, err := c.stateDir()
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, name), safefile.MakeDir(dir)
}

// folder is veltui's in the XDG place of a variable, which is by default in the user's home.
func (p *process) folder(variable string, home ...string) (string, error) {
	if dir := p.env(variable); filepath.IsAbs(dir) {
		return filepath.Join(dir, "veltui"), nil
	}
	dir, err := p.home()
	return filepath.Join(dir, filepath.Join(home...), "veltui"), err
}

// home is the user's home folder, that of the environment if it names one.
func (p *process) home() (string, error) {
	if dir := p.env("HOME"); filepath.IsAbs(dir) {
		return dir, nil
	}
	return os.UserHomeDir()
}

func (c *files) auditDir() (string, error) {
	dir, err := c.stateDir()
	return filepath.Join(dir, "finalize"), err
}

// openLog opens veltui's log file (0600). Without a file that is the user's alone, and in a session, it
// discards what is logged.
func (c *files) openLog() (io.WriteCloser, string) {
	if path, err := c.stateFile("veltui.log"); err == nil && c.log == nil {
		if file, err := openBoundedLog(path, c.clock); err == nil {
			return file, path
		}
	}
	return discard{io.Discard}, ""
}

type discard struct{ io.Writer }

func (discard) Close() error { return nil }

func (c *cli) logTo(w io.Writer) *slog.Logger {
	logger := c.log
	if logger == nil {
		logger = captureLogs(w, c.cancel)
	}
	c.warnings.LogTo(logger)
	return logger
}

// captureLogs redirects all that libraries log, which would garble the screen. A panic in one of
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
	maxLogSize = 5 << 20 // the file is then renamed, once
	maxLogLine = 8 << 10
	logBurst   = 1 << 20  // bytes that may come at once
	logRate    = 32 << 10 // bytes a second afterwards
)

// boundedLog limits the size and the rate of a log file. Several programs may write to it.
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

func (l *boundedLog) rotate(more int) error {
	if l.size+int64(more) <= maxLogSize {
		return nil
	}
	if err := safefile.RenameOpen(l.file, l.path+".old"); err != nil {
		return err
	}
	full := l.file
	if err := l.open(); err != nil {
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
