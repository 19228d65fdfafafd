package cmd

import (
	"context"
	"fmt"
	"io"
	"log"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/go-logr/logr"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/klog/v2"
	crlog "sigs.k8s.io/controller-runtime/pkg/log"
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
func (c *cli) logTo(w io.Writer, cancel context.CancelCauseFunc) *slog.Logger {
	logger := c.log
	if logger == nil {
		logger = captureLogs(w, cancel)
	}
	c.warnings.log.Store(logger)
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
	crlog.SetLogger(logr.FromSlogHandler(logger.Handler()))
	utilruntime.ReallyCrash = false
	utilruntime.PanicHandlers = append(utilruntime.PanicHandlers, func(_ context.Context, value any) {
		cancel(fmt.Errorf("this is a bug in veltui; please report it with the log: %v", value))
	})
	return logger
}
