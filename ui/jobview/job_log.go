package jobview

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/stored/logs"
	"github.com/veltui/veltui/ui/draw"
	"github.com/veltui/veltui/ui/fetch"
)

// jobLog is a log on its way.
type jobLog struct {
	store *logs.Store
	view  *logs.View
	// live is true if the job had not ended when it was asked for.
	live   bool
	cancel context.CancelFunc // of the reading; nil once it has ended
	// grown redraws the page while lines come, and origin is where they come from, never nil. The reader sets both.
	grown  *fetch.Progress[struct{}]
	origin atomic.Pointer[logs.Origin]
	// ended is when all was there, or failed with err; zero while it goes on.
	ended time.Time
	err   error
	// placed is true once the window was put where reading begins.
	placed bool
	drawn  map[int]logs.Line
	// began is when the first line was written, zero while that is not known.
	began time.Time
}

func (l *jobLog) add(e logs.Entry) error {
	defer l.grown.Report(struct{}{})
	return l.store.Add(e)
}

// stop ends the reading; what came stays.
func (l *jobLog) stop() {
	if l.cancel != nil {
		l.cancel()
		l.grown.Close()
		l.cancel = nil
	}
}

// close gives up what came too.
func (l *jobLog) close() {
	if l != nil && l.store != nil {
		l.stop()
		_ = l.store.Close()
	}
}

// text is a line to copy, empty for what is not the log's.
func (l *jobLog) text(row int) string {
	line := l.view.Index(row)
	if line < 0 {
		return ""
	}
	return l.store.Text(line, MaxCopied/4-1) // runes, of four bytes at most
}

// sourceWords say where the lines come from.
func sourceWords(l *jobLog, from *logs.Origin) string {
	pods := human.Count(len(from.Pods), "pod")
	switch {
	case from.Stored && len(from.Pods) > 0:
		return "stored log, and of " + pods
	case from.Stored && from.Size > 0 && l.ended.IsZero() && from.Done != nil:
		return "stored log, " + human.BytesOf(min(from.Done(), from.Size), from.Size) + " read"
	case from.Stored:
		return "stored log"
	case len(from.Pods) == 0:
		return "log"
	case len(from.Pods) <= 2:
		pods = strings.Join(from.Pods, ", ")
	}
	if l.live && l.ended.IsZero() {
		pods += ", live"
	}
	return "log of " + pods
}

// oldest is when the log began, zero while that is not known.
func (l *jobLog) oldest() time.Time {
	if l.began.IsZero() {
		l.began = l.store.Oldest()
	}
	return l.began
}

// quietAfter is how long nothing must have come for that to be said.
const quietAfter = time.Minute

// silence says since when a job that goes on has logged nothing, empty if it just did.
func (l *jobLog) silence(c draw.Canvas) string {
	newest := l.store.Newest()
	if !l.live || !l.ended.IsZero() || l.store.Dropped() > 0 || newest.IsZero() || c.Now.Sub(newest) < quietAfter {
		return ""
	}
	return " " + c.Sized(c.Width-1, 0).Heading(fmt.Sprintf("nothing about this job since %s (%s)", stamp(c, newest, l.oldest()), human.Age(newest, c.Now)))
}
