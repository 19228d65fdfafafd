package jobview

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/charmbracelet/x/ansi"

	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/stored/logs"
	"github.com/veltui/veltui/ui/draw"
	"github.com/veltui/veltui/ui/fetch"
	"github.com/veltui/veltui/ui/pager"
)

// jobLog is a log on its way.
type jobLog struct {
	store *logs.Store
	view  *logs.View
	// live is true if the job had not ended when it was asked for.
	live    bool
	reading fetch.Answer[struct{}]
	// grown redraws the page while lines come, and origin is where they come from, never nil. The reader sets both.
	grown  *fetch.Progress[struct{}]
	origin atomic.Pointer[logs.Origin]
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
	l.reading.Close()
	l.grown.Close()
}

// handleRead takes that all lines came, or no more do.
func (l *jobLog) handleRead() {
	l.grown.Close()
	if l.view != nil {
		l.view.Update()
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
	return l.store.Text(line, mostCopied)
}

// mostCopied is how many runes of one line are copied: of four bytes at most.
const mostCopied = MaxCopied/4 - 1

// sourceWords say where the lines come from.
func sourceWords(l *jobLog, from *logs.Origin) string {
	pods := human.Count(len(from.Pods), "pod")
	switch {
	case from.Stored && len(from.Pods) > 0:
		return "stored log, and of " + pods
	case from.Stored && from.Size > 0 && l.reading.Pending() && from.Done != nil:
		return "stored log, " + human.BytesOf(min(from.Done(), from.Size), from.Size) + " read"
	case from.Stored:
		return "stored log"
	case len(from.Pods) == 0:
		return "log"
	case len(from.Pods) <= 2:
		pods = strings.Join(from.Pods, ", ")
	}
	if l.live && l.reading.Pending() {
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
	if !l.live || !l.reading.Pending() || l.store.Dropped() > 0 || newest.IsZero() || c.Now.Sub(newest) < quietAfter {
		return ""
	}
	return " " + c.Sized(c.Width-1, 0).
		Heading(fmt.Sprintf("nothing about this job since %s (%s)", stamp(c, newest, l.oldest()), human.Age(newest, c.Now)))
}

// logLines are the lines of a log as a pager shows them.
type logLines struct {
	log  *jobLog
	view *logs.View
	// own is the field that names the job itself, and is left out.
	own string
	// oldest is when the log began; a log that did not begin today shows days.
	oldest time.Time
	// at is the line that the user has jumped to, -1 for none.
	at int
	// silence is the last line, which says since when nothing came; empty for none.
	silence string
}

func (p *logsPage) source(s *Screen, l *jobLog) *logLines {
	return &logLines{log: l, view: l.view, own: s.job.Namespace + "/" + s.job.Name, oldest: l.oldest(), at: p.at}
}

// stamp formats a time, with its day where it or the log's beginning is not today, or where there is room.
func stamp(c draw.Canvas, at, oldest time.Time) string {
	at = at.In(c.Now.Location())
	today := func(t time.Time) bool { return t.Format(time.DateOnly) == c.Now.Format(time.DateOnly) }
	switch {
	case c.Width >= 120, at.Year() != c.Now.Year():
		return at.Format(time.DateTime)
	case !today(at), !oldest.IsZero() && !today(oldest.In(c.Now.Location())):
		return at.Format("01-02 15:04:05")
	}
	return at.Format(time.TimeOnly)
}

func (s *logLines) Len() int {
	if s.silence != "" {
		return s.view.Len() + 1
	}
	return s.view.Len()
}

func (s *logLines) Line(c draw.Canvas, i int) pager.Line {
	line := s.view.Index(i)
	if line < 0 {
		return pager.Line{Text: s.silence}
	}
	l, known := s.log.drawn[line]
	if !known {
		if len(s.log.drawn) > 1000 {
			clear(s.log.drawn)
		}
		l = s.log.store.Line(line)
		s.log.drawn[line] = l
	}
	return pager.Line{Text: s.draw(c, l, line == s.at), Key: strconv.Itoa(line)}
}

// zoneWords names the zone of the page's times, empty for UTC, which Velero writes.
func zoneWords(now time.Time) string {
	zone, offset := now.Zone()
	if offset == 0 {
		return ""
	}
	return "times in " + zone
}

func (s *logLines) draw(c draw.Canvas, l logs.Line, here bool) string {
	sign := " "
	if here {
		sign = c.Theme.Accent.Render(c.Glyphs.Now)
	}
	margin := stamp(c, cmp.Or(l.At, s.oldest, c.Now), s.oldest) + " "
	if l.At.IsZero() { // as wide as that of the lines around it
		margin = strings.Repeat(" ", len(margin))
	}
	level, text := c.Theme.Dim, c.Theme.Text
	switch l.Level {
	case logs.Mark:
		return " " + c.Theme.Accent.Render(c.Glyphs.Stage+c.Glyphs.Stage+" "+l.Text)
	case logs.Error:
		level, text = c.Theme.Bad, c.Theme.Bad
	case logs.Warning:
		level, text = c.Theme.Waiting, c.Theme.Waiting
	case logs.Debug, logs.Trace, logs.NoLevel:
		text = c.Theme.Dim
	}
	out := sign + c.Theme.Dim.Render(margin) + level.Render(fmt.Sprintf("%-8s", l.Level))
	if l.Source != "" {
		out += c.Theme.Accent.Render(l.Source) + " "
	}
	out += text.Render(l.Text)
	if l.Error != "" {
		out += text.Render(": " + l.Error)
	}
	var more []string
	for _, f := range l.Fields {
		if f.Name != "logSource" && f.Value != s.own && f.Value != "" {
			more = append(more, f.Name+"="+f.Value)
		}
	}
	if len(more) > 0 {
		out += "  " + c.Theme.Dim.Render(strings.Join(more, " "))
	}
	return out
}

// Find searches the text that is shown, without hidden fields, from another goroutine.
func (s *logLines) Find(ctx context.Context, text string, from int, forward bool) (int, error) {
	plain := draw.Canvas{Width: 200, Theme: &draw.Theme{}, Glyphs: &draw.ASCII}
	shown := func(line int) bool {
		return strings.Contains(strings.ToLower(ansi.Strip(s.draw(plain, s.log.store.Line(line), false))), text)
	}
	start := []int{from, 0}
	if !forward {
		start = []int{from + 1, s.view.Len()}
	}
	for _, row := range start {
		if at, err := s.view.Next(ctx, text, row, forward, shown); at >= 0 || err != nil {
			return at, err
		}
	}
	return -1, nil
}

var _ pager.Finder = (*logLines)(nil)
