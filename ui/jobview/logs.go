package jobview

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"

	"github.com/veltui/veltui/internal/cluster"
	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/stored/logs"
	"github.com/veltui/veltui/ui/draw"
	"github.com/veltui/veltui/ui/fetch"
	"github.com/veltui/veltui/ui/keys"
	"github.com/veltui/veltui/ui/pager"
)

// logsPage shows what Velero logged about the job.
type logsPage struct {
	noopPage
	// currentLog is the current log, nil for none; previousLog is the one before, until currentLog has lines.
	currentLog, previousLog *jobLog
	minLevel                logs.Level
	showsVolumeLogs         bool
	// jumpedLine is the line of the Store to which the user has jumped, -1 for none.
	jumpedLine int
	// target is the message whose line is looked for, nil for none. targetLine is that line, -1 for none.
	target     *logTarget
	targetLine fetch.Answer[int]
	// saveAnswer is the result of saving, as a sentence. noticeText is the sentence shown about saving or another key,
	// empty for none.
	saveAnswer    fetch.Answer[string]
	noticeText    string
	noticeIsError bool
}

// redrawInterval is the shortest time between two redraws of a growing log.
const redrawInterval = 100 * time.Millisecond

func (p *logsPage) fetchMissing(s *Screen) tea.Cmd {
	switch l := p.currentLog; {
	case s.dependencies.UnavailableReason(cluster.CapabilityLogs) != "":
	case l == nil, l.wasRunning && s.job.IsTerminal(), l.readAnswer.IsDue(s.dependencies.Clock(), 0):
		return p.startReading(s)
	}
	return p.findTargetLine(s)
}

func (p *logsPage) startReading(s *Screen) tea.Cmd {
	p.targetLine.Close()
	if p.currentLog != nil {
		p.currentLog.stopReading()
		if p.previousLog.closeStore(); p.currentLog.store != nil {
			p.previousLog = p.currentLog
		}
	}
	l := &jobLog{
		wasRunning:     !s.job.IsTerminal(),
		growthProgress: fetch.NewProgress[struct{}](),
		lineCache:      map[int]logs.Line{},
	}
	l.origin.Store(&logs.Origin{})
	p.currentLog, p.jumpedLine = l, -1
	store, err := logs.NewStore("", 0)
	if err == nil {
		l.store, l.view = store, logs.NewView(store, p.minLevel)
	}
	q := logs.Query{Job: s.job.Job, Follow: true, Volumes: p.showsVolumeLogs}
	read := l.readAnswer.FetchIfDue(s.newRequesterFor(l.handleReadingEnd), 0, func(ctx context.Context) (struct{}, error) {
		if err != nil {
			return struct{}{}, err
		}
		return struct{}{}, s.dependencies.ReadLog(
			ctx,
			q,
			logs.Output{OnLine: l.addEntry, OnOrigin: func(from logs.Origin) { l.origin.Store(&from) }},
		)
	})
	return tea.Batch(read, l.growthProgress.FollowReports(s.newRequester(), redrawInterval, func(struct{}) bool {
		l.view.Update()
		s.revision++
		return true
	}))
}

// onLeave ends what only an open page may do.
func (p *logsPage) onLeave() {
	p.targetLine.Close()
	p.previousLog.closeStore()
	if p.previousLog = nil; p.currentLog != nil && p.currentLog.wasRunning {
		p.currentLog.closeStore()
		p.currentLog = nil
	}
	p.noticeText, p.target = "", nil
}

func (p *logsPage) pageAnswers() []answerHandle { return []answerHandle{p} }

// Close cancels the requests and drops the logs.
func (p *logsPage) Close() {
	p.targetLine.Close()
	p.saveAnswer.Close()
	p.previousLog.closeStore()
	p.currentLog.closeStore()
	p.currentLog, p.previousLog = nil, nil
}

func (p *logsPage) ClearError() {
	if p.currentLog != nil && (p.currentLog.readAnswer.Err != nil || p.currentLog.origin.Load().NotStored != nil) {
		p.Close()
	}
}

// drawnLog returns the log to draw: the previous one until the current one has lines or has ended.
func (p *logsPage) drawnLog() *jobLog {
	if p.currentLog != nil && p.previousLog != nil &&
		(p.currentLog.store == nil || p.currentLog.view.CountCheckedLines() == 0) &&
		(p.currentLog.readAnswer.IsPending() || p.currentLog.readAnswer.Err != nil) {
		return p.previousLog
	}
	return p.currentLog
}

func (p *logsPage) newBindings(s *Screen) []keys.Binding {
	there := func() bool { l := p.drawnLog(); return l != nil && l.store != nil && l.view.CountCheckedLines() > 0 }
	copied := newCopyBindings(
		s,
		there,
		func() (string, string) { return p.selectedLine(s) },
		func() (string, string) { return p.copyableText(s) },
	)
	whole := func() bool { return there() && s.SelectedKey() != "" }
	copied[0].InFooter = true
	return append(copied, []keys.Binding{
		{
			Name:        "open",
			Keys:        []string{"enter", "right"},
			Label:       "enter",
			Description: "whole line",
			Group:       keys.GroupLook,
			InFooter:    true,
			Active:      whole,
			Do:          keys.DoFunc(s.ToggleLineWrap),
		},
		s.WrapBinding(true),
		{
			Name:        "level",
			Keys:        []string{"L"},
			Label:       "L",
			Description: "level",
			Group:       keys.GroupLook,
			InFooter:    true,
			Active:      there,
			Do:          keys.DoFunc(func() { p.showNextLevel(s) }),
		},
		{
			Name:        "follow",
			Keys:        []string{"F"},
			Label:       "F",
			Description: "follow the end of a log that grows",
			Group:       keys.GroupLook,
			Active:      func() bool { return s.CanFollow },
			Do: keys.DoFunc(func() {
				if s.FollowEnd = !s.FollowEnd; s.FollowEnd {
					s.ApplyMotion(keys.Bottom)
				}
			}),
		},
		{
			Name:        "next-error",
			Keys:        []string{"E"},
			Label:       "E",
			Description: "next error",
			Group:       keys.GroupLook,
			InFooter:    true,
			Active:      there,
			Do:          keys.DoFunc(func() { p.goToNextError(s) }),
		},
		{
			Name:        "volume-logs",
			Keys:        []string{"o"},
			Label:       "o",
			Description: "logs of volumes too, or not",
			Group:       keys.GroupLook,
			Active: func() bool {
				return s.dependencies.UnavailableReason(cluster.CapabilityLogs) == "" && s.job.Job != nil && len(s.job.Volumes) > 0
			},
			Do: func(string) tea.Cmd { p.showsVolumeLogs = !p.showsVolumeLogs; return p.startReading(s) },
		},
		{
			Name:        "save",
			Keys:        []string{"s"},
			Label:       "s",
			Description: "save",
			Group:       keys.GroupLook,
			InFooter:    true,
			Active:      there,
			Do:          func(string) tea.Cmd { return p.saveLog(s) },
		},
	}...)
}

// selectedLine returns the selected line.
func (p *logsPage) selectedLine(s *Screen) (what, text string) {
	var at int
	if _, err := fmt.Sscan(s.SelectedKey(), &at); err != nil {
		return "", ""
	}
	return "one line", p.drawnLog().store.TextAt(at, maxCopiedRunes)
}

// copyableText returns as many lines as can be copied, from the first visible line on, and the lines before it if
// there is room.
func (p *logsPage) copyableText(s *Screen) (what, text string) {
	l := p.drawnLog()
	l.view.Update() // so that the heading counts the newest lines too
	n := l.view.Len()
	from, _ := s.VisibleRange()
	from = max(min(from, n-1), 0)
	to, room := from, MaxCopyBytes
	var before, after []string
	fits := func(row int, into *[]string) bool {
		text := l.copyableLine(row)
		if room -= len(text) + 1; room < 0 {
			return false
		}
		*into = append(*into, text)
		return true
	}
	for to < n && fits(to, &after) {
		to++
	}
	for to == n && from > 0 && fits(from-1, &before) {
		from--
	}
	slices.Reverse(before)
	what = "all of the log"
	if to-from < n {
		what = fmt.Sprintf("only lines %d to %d of %d (s saves all)", from+1, to, n)
	}
	return what, strings.Join(append(before, after...), "\n")
}

// showNextLevel changes the lowest level shown to the next one, and keeps the place in the log.
func (p *logsPage) showNextLevel(s *Screen) {
	next := map[logs.Level]logs.Level{
		logs.NoLevel: logs.Info,
		logs.Info:    logs.Warning,
		logs.Warning: logs.Error,
		logs.Error:   logs.NoLevel,
	}
	l := p.drawnLog()
	from, _ := s.VisibleRange()
	line := max(0, l.view.LineIndex(from))
	follows := s.FollowEnd
	p.setMinLevel(next[p.minLevel])
	s.ClearSelection()
	s.SetSource(p.newLogSource(s, l))
	row, _ := l.view.RowOf(line)
	s.ApplyMotion(keys.Top)
	s.GoToLine(min(row, l.view.Len()-1))
	s.FollowEnd = follows
}

// setMinLevel hides the lines below a level.
func (p *logsPage) setMinLevel(least logs.Level) {
	p.minLevel, p.noticeText = least, ""
	for _, l := range []*jobLog{p.currentLog, p.previousLog} {
		if l != nil && l.store != nil {
			l.view = logs.NewView(l.store, p.minLevel)
			l.view.Update()
		}
	}
}

// goToNextError goes to the first error after the last one or after the top of the window, wrapping around.
func (p *logsPage) goToNextError(s *Screen) {
	l := p.drawnLog()
	from, to := s.VisibleRange()
	if row, exact := l.view.RowOf(p.jumpedLine); p.jumpedLine >= 0 && exact && row >= from && row < to {
		from = row + 1
	}
	row := l.view.FirstError(from)
	if row < 0 {
		row = l.view.FirstError(0)
	}
	if row < 0 {
		p.noticeText, p.noticeIsError = "There is no error in this log.", false
		return
	}
	p.jumpedLine, p.noticeText = l.view.LineIndex(row), ""
	s.GoToLine(row)
}

// saveLog writes the whole log to a new file, once its path is confirmed.
func (p *logsPage) saveLog(s *Screen) tea.Cmd {
	l := p.drawnLog()
	return promptSavePath(s.newFileName("veltui", ".log"), func(path string) tea.Cmd {
		return p.saveAnswer.Refetch(s.newRequesterFor(p.handleSaved), path, func(context.Context) (string, error) {
			path, err := filepath.Abs(path)
			if err == nil {
				err = l.store.SaveTo(path)
			}
			return "Saved to " + path + " (" + human.Bytes(l.store.Size()) + ").", err
		})
	})
}

func (p *logsPage) handleSaved() {
	p.noticeText, p.noticeIsError = p.saveAnswer.Value, p.saveAnswer.Err != nil
	if p.noticeIsError {
		p.noticeText = "Not saved: " + p.saveAnswer.Err.Error()
	}
}

// promptSavePath asks for the path of a file before do writes the file.
func promptSavePath(name string, do func(path string) tea.Cmd) tea.Cmd {
	return func() tea.Msg { return keys.SaveAsMsg{ProposedPath: name, WriteFile: do} }
}

// newFileName returns the name of a file about the job, without characters that file systems reject.
func (s *Screen) newFileName(prefix, ext string) string {
	name := strings.Map(func(r rune) rune {
		if r == '-' || r == '.' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			return r
		}
		return '_'
	}, s.job.Name)
	return strings.Join(
		[]string{prefix, s.job.Kind.Noun(), name, s.dependencies.Clock().Format("20060102-150405")},
		"-",
	) + ext
}

func (p *logsPage) renderHead(c draw.Canvas, s *Screen) []string {
	l := p.drawnLog()
	if l == nil || l.store == nil {
		return nil
	}
	p.updateFollow(s, l)
	from := l.origin.Load()
	parts := []string{c.Theme.Strong.Render(logSourceText(l, from))}
	if l.view.CountCheckedLines() > 0 {
		words := human.Count(l.store.CountLines(), "line")
		if n := l.store.CountLevel(logs.Error); n > 0 {
			words += ", " + c.Theme.Bad.Render(human.Count(n, "error"))
		}
		if n := l.store.CountLevel(logs.Warning); n > 0 {
			words += ", " + c.Theme.Waiting.Render(human.Count(n, "warning"))
		}
		parts = append(parts, words)
	}
	if p.minLevel != logs.NoLevel {
		parts = append(parts, c.Theme.Accent.Render("level "+p.minLevel.String()+" and above"))
	}
	if zone := zoneText(c.Now); zone != "" {
		parts = append(parts, c.Theme.Dim.Render(zone))
	}
	switch {
	case s.CanFollow && s.FollowEnd:
		parts = append(parts, c.Theme.Running.Render("following"))
	case s.CanFollow:
		parts = append(parts, c.Theme.Dim.Render("F follows"))
	}
	lines := []string{" " + c.Truncate(strings.Join(parts, c.Theme.Dim.Render("  ")), c.Width-1)}
	say := func(style lipgloss.Style, text string) { lines = append(lines, wrapNote(c, style, text, 2)...) }
	if from.NotStored != nil && l.view.CountCheckedLines() > 0 {
		say(
			c.Theme.Waiting,
			"These lines are what the server's pods still have: the stored log cannot be read: "+from.NotStored.Error(),
		)
	}
	if p.currentLog != nil && p.currentLog.readAnswer.Err != nil && l.view.CountCheckedLines() > 0 {
		say(c.Theme.Bad, "The log ends here: "+p.currentLog.readAnswer.Err.Error())
	}
	say(c.Theme.Waiting, l.store.DroppedText())
	if style := c.Theme.Good; p.noticeText != "" {
		if p.noticeIsError {
			style = c.Theme.Bad
		}
		say(style, p.noticeText)
	}
	return lines
}

func (p *logsPage) renderLines(c draw.Canvas, s *Screen) pager.Source {
	l := p.drawnLog()
	if why := p.emptyReason(s, l); why != "" {
		s.CanFollow, s.FollowEnd = false, false
		return pager.PlainLines(append([]string{""}, c.RenderIndented(c.Theme.Dim, why, 2, 8)...))
	}
	p.updateFollow(s, l)
	source := p.newLogSource(s, l)
	if l == p.currentLog {
		source.silenceLine = l.renderSilence(c)
	}
	return source
}

// updateFollow lets the window follow a growing log, from its first lines on.
func (p *logsPage) updateFollow(s *Screen, l *jobLog) {
	s.CanFollow = l == p.currentLog && l.wasRunning && l.readAnswer.IsPending() && l.view.CountCheckedLines() > 0
	if !l.isPositioned && l.view.CountCheckedLines() > 0 {
		l.isPositioned = true
		s.FollowEnd = s.CanFollow
	}
	s.FollowEnd = s.FollowEnd && s.CanFollow
}

// emptyReason returns why there is nothing to show, with what would help; empty if there is something.
func (p *logsPage) emptyReason(s *Screen, l *jobLog) string {
	word := s.job.Kind.Noun()
	switch {
	case s.dependencies.UnavailableReason(cluster.CapabilityLogs) != "":
		return "Logs are not read here."
	case l == nil:
	case l.store != nil && l.view.CountCheckedLines() > 0 && l.view.Len() == 0:
		return fmt.Sprintf(
			"None of %s is of level %s or above. Press %s to see others.",
			human.Count(l.store.CountLines(), "line"),
			p.minLevel,
			s.dependencies.Keys.FirstKey("level"),
		)
	case l.store != nil && l.view.CountCheckedLines() > 0:
		return ""
	case l.readAnswer.Err != nil:
		return "The log cannot be read: " + l.readAnswer.Err.Error() + ". veltui tries again in a minute; press " +
			s.dependencies.Keys.FirstKey("reconnect") + " to try now."
	case !l.readAnswer.IsPending():
		return "Nothing was logged about this " + word + "."
	case l.wasRunning && len(l.origin.Load().Pods) > 0:
		return "The server has logged nothing about this " + word + " so far. New lines appear here."
	}
	return "Reading the log..."
}
