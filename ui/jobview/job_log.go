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

// jobLog is a log that is being read, or was read.
type jobLog struct {
	store *logs.Store
	view  *logs.View
	// wasRunning is true if the job had not ended when the log was requested.
	wasRunning bool
	readAnswer fetch.Answer[struct{}]
	// growthProgress redraws the page while lines arrive, and origin is the source of the lines, never nil. The reader
	// sets both.
	growthProgress *fetch.Progress[struct{}]
	origin         atomic.Pointer[logs.Origin]
	// isPositioned is true once the window was put at the place where reading begins.
	isPositioned bool
	lineCache    map[int]logs.Line
	// firstLineAt is when the first line was written, zero while unknown.
	firstLineAt time.Time
}

func (l *jobLog) addEntry(e logs.Entry) error {
	defer l.growthProgress.ReportProgress(struct{}{})
	return l.store.AddEntry(e)
}

// stopReading ends the reading; the lines read so far stay.
func (l *jobLog) stopReading() {
	l.readAnswer.Close()
	l.growthProgress.Close()
}

// handleReadingEnd handles the end of the reading: all lines have arrived, or no more will.
func (l *jobLog) handleReadingEnd() {
	l.growthProgress.Close()
	if l.view != nil {
		l.view.Update()
	}
}

// closeStore ends the reading and drops the lines.
func (l *jobLog) closeStore() {
	if l != nil && l.store != nil {
		l.stopReading()
		_ = l.store.Close()
	}
}

// copyableLine returns the text of a line to copy, empty for a row that is not a line of the log.
func (l *jobLog) copyableLine(row int) string {
	line := l.view.LineIndex(row)
	if line < 0 {
		return ""
	}
	return l.store.TextAt(line, maxCopiedRunes)
}

// maxCopiedRunes is the largest number of runes to copy of one line; a rune has at most four bytes.
const maxCopiedRunes = MaxCopyBytes/4 - 1

// logSourceText returns where the lines come from.
func logSourceText(l *jobLog, from *logs.Origin) string {
	pods := human.Count(len(from.Pods), "pod")
	switch {
	case from.Stored && len(from.Pods) > 0:
		return "stored log, and of " + pods
	case from.Stored && from.Size > 0 && l.readAnswer.IsPending() && from.BytesRead != nil:
		return "stored log, " + human.BytesProgress(min(from.BytesRead(), from.Size), from.Size) + " read"
	case from.Stored:
		return "stored log"
	case len(from.Pods) == 0:
		return "log"
	case len(from.Pods) <= 2:
		pods = strings.Join(from.Pods, ", ")
	}
	if l.wasRunning && l.readAnswer.IsPending() {
		pods += ", live"
	}
	return "log of " + pods
}

// findFirstLineAt returns when the log began, zero while unknown.
func (l *jobLog) findFirstLineAt() time.Time {
	if l.firstLineAt.IsZero() {
		l.firstLineAt = l.store.OldestTime()
	}
	return l.firstLineAt
}

// silenceAfter is how long nothing must have been logged before the page says so.
const silenceAfter = time.Minute

// renderSilence says since when a running job has logged nothing, empty if it has logged something recently.
func (l *jobLog) renderSilence(c draw.Canvas) string {
	newest := l.store.NewestTime()
	if !l.wasRunning || !l.readAnswer.IsPending() || l.store.CountDropped() > 0 || newest.IsZero() ||
		c.Now.Sub(newest) < silenceAfter {
		return ""
	}
	since := formatTimestamp(c, newest, l.findFirstLineAt())
	return " " + c.WithSize(c.Width-1, 0).
		RenderHeading(fmt.Sprintf("nothing about this job since %s (%s)", since, human.Age(newest, c.Now)))
}

// logSource provides the lines of a log to a pager.
type logSource struct {
	log  *jobLog
	view *logs.View
	// jobFieldValue is the value of the field that names the job itself; the field is not shown.
	jobFieldValue string
	// firstLineAt is when the log began; a log that did not begin today shows dates.
	firstLineAt time.Time
	// jumpedLine is the line to which the user has jumped, -1 for none.
	jumpedLine int
	// silenceLine is an additional last line that says since when nothing was logged; empty for none.
	silenceLine string
}

func (p *logsPage) newLogSource(s *Screen, l *jobLog) *logSource {
	return &logSource{
		log:           l,
		view:          l.view,
		jobFieldValue: s.job.Namespace + "/" + s.job.Name,
		firstLineAt:   l.findFirstLineAt(),
		jumpedLine:    p.jumpedLine,
	}
}

// formatTimestamp formats a time, with its date if the time or the log's beginning is not today, or if there is room.
func formatTimestamp(c draw.Canvas, at, oldest time.Time) string {
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

func (s *logSource) Len() int {
	if s.silenceLine != "" {
		return s.view.Len() + 1
	}
	return s.view.Len()
}

func (s *logSource) LineAt(c draw.Canvas, i int) pager.Line {
	line := s.view.LineIndex(i)
	if line < 0 {
		return pager.Line{Text: s.silenceLine}
	}
	l, known := s.log.lineCache[line]
	if !known {
		if len(s.log.lineCache) > 1000 {
			clear(s.log.lineCache)
		}
		l = s.log.store.LineAt(line)
		s.log.lineCache[line] = l
	}
	return pager.Line{Text: s.renderLine(c, l, line == s.jumpedLine), Key: strconv.Itoa(line)}
}

// zoneText returns the time zone of the page's times, empty for UTC, which Velero writes.
func zoneText(now time.Time) string {
	zone, offset := now.Zone()
	if offset == 0 {
		return ""
	}
	return "times in " + zone
}

func (s *logSource) renderLine(c draw.Canvas, l logs.Line, here bool) string {
	sign := " "
	if here {
		sign = c.Theme.Accent.Render(c.Glyphs.Current)
	}
	margin := formatTimestamp(c, cmp.Or(l.At, s.firstLineAt, c.Now), s.firstLineAt) + " "
	if l.At.IsZero() { // as wide as the stamps of the lines around it
		margin = strings.Repeat(" ", len(margin))
	}
	level, text := c.Theme.Dim, c.Theme.Text
	switch l.Level {
	case logs.Notice:
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
		if f.Name != "logSource" && f.Value != s.jobFieldValue && f.Value != "" {
			more = append(more, f.Name+"="+f.Value)
		}
	}
	if len(more) > 0 {
		out += "  " + c.Theme.Dim.Render(strings.Join(more, " "))
	}
	return out
}

// FindLine searches the shown text, without hidden fields, from another goroutine.
func (s *logSource) FindLine(ctx context.Context, text string, from int, forward bool) (int, error) {
	plain := draw.Canvas{Width: 200, Theme: &draw.Theme{}, Glyphs: &draw.ASCIIGlyphs}
	shown := func(line int) bool {
		return strings.Contains(strings.ToLower(ansi.Strip(s.renderLine(plain, s.log.store.LineAt(line), false))), text)
	}
	start := []int{from, 0}
	if !forward {
		start = []int{from + 1, s.view.Len()}
	}
	for _, row := range start {
		if at, err := s.view.FindNext(ctx, text, row, forward, shown); at >= 0 || err != nil {
			return at, err
		}
	}
	return -1, nil
}

var _ pager.SearchableSource = (*logSource)(nil)
