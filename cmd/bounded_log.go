package cmd

import (
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/veltui/veltui/internal/safefile"
)

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
