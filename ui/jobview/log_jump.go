package jobview

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/veltui/veltui/internal/stored/logs"
	"github.com/veltui/veltui/internal/stored/results"
)

// logTarget is a message whose line the Logs page looks for.
type logTarget struct {
	message      results.Message
	resource     string // the resource's name, empty for the first one that the message names
	searchedUpTo int    // the number of lines searched so far
}

// selectedMessage returns the selected message, nil if there is none.
func (p *resultsPage) selectedMessage(s *Screen) *logTarget {
	var section, message, resource int
	sections := p.shownSections(s)
	depth, _ := fmt.Sscanf(s.SelectedKey(), "%d/%d/%d", &section, &message, &resource)
	if depth < 2 || section >= len(sections) || message >= len(sections[section].Messages) {
		return nil
	}
	t := &logTarget{message: sections[section].Messages[message]}
	if depth == 3 && resource < len(t.message.Resources) {
		t.resource = t.message.Resources[resource].Name
	}
	return t
}

// openLogs opens the Logs page, from the Results page at the line of the selected message.
func (s *Screen) openLogs() tea.Cmd {
	if results, ok := s.currentPage().(*resultsPage); ok {
		if t := results.selectedMessage(s); t != nil {
			page := s.pages[s.tabIndex(Logs)].(*logsPage)
			page.targetLine.Close()
			page.target = t
			page.setMinLevel(logs.NoLevel) // the lines around the message matter
		}
	}
	return s.openTab(s.tabIndex(Logs))
}

// findTargetLine looks for the line of the message: once in a complete log, or else in the lines that have arrived
// since.
func (p *logsPage) findTargetLine(s *Screen) tea.Cmd {
	l, t := p.currentLog, p.target
	if t == nil || l == nil || l.store == nil ||
		l.readAnswer.IsPending() && !(l.wasRunning && l.view.CountCheckedLines() > t.searchedUpTo) {
		return nil
	}
	view, upTo := l.view, l.view.CountCheckedLines()
	p.targetLine.Invalidate()
	return p.targetLine.FetchIfDue(
		s.newRequesterFor(func() { p.handleTargetFound(s, upTo) }),
		0,
		func(ctx context.Context) (int, error) {
			return t.findLine(ctx, view), nil
		},
	)
}

// handleTargetFound goes to the line of the message. If there was none among the first upTo lines, the message may be
// in a later line.
func (p *logsPage) handleTargetFound(s *Screen, upTo int) {
	switch l, line := p.currentLog, p.targetLine.Value; {
	case line >= 0:
		p.target = nil
		p.jumpedLine, l.isPositioned, s.FollowEnd = line, true, false
		s.SetSource(p.newLogSource(s, l))
		row, _ := l.view.RowOf(line)
		s.GoToLine(row)
	case !l.readAnswer.IsPending():
		p.target, p.noticeText, p.noticeIsError = nil, "No line of this log has the message.", true
	default:
		p.target.searchedUpTo = upTo
	}
}

// findLine returns the first line with the message, as complete as possible, that names its resource; -1 for none. In
// a message the error follows the operation; in the line it is often in another field.
func (t *logTarget) findLine(ctx context.Context, view *logs.View) int {
	name := t.resource
	if name == "" && len(t.message.Resources) > 0 {
		name = t.message.Resources[0].Name
	}
	text := t.message.Text
	if len(t.message.Resources) > 0 {
		text = strings.ReplaceAll(text, "*", cmp.Or(name, "*"))
	}
	needles := []string{t.message.Example}
	if t.resource != "" {
		needles = nil // the example may be about another resource
	}
	for rest, found := text, true; found && len(rest) >= minNeedleLength; _, rest, found = strings.Cut(rest, ": ") {
		needles = append(needles, rest)
	}
	if head, _, cut := strings.Cut(text, ": "); cut {
		needles = append(needles, head)
	}
	for part := range strings.SplitSeq(t.message.Text, "*") { // what is the same in all messages
		if len(part) >= minNeedleLength {
			needles = append(needles, part)
		}
	}
	for _, named := range []bool{true, false} {
		for _, needle := range needles {
			row, err := view.FindNext(ctx, strings.TrimSpace(needle), t.searchedUpTo, true, func(line int) bool {
				l := view.Store.LineAt(line)
				return l.Level >= logs.Warning && l.Level != logs.Notice && (!named || l.Mentions(name))
			})
			if err == nil && row >= 0 {
				return view.LineIndex(row)
			}
		}
	}
	return -1
}

// minNeedleLength is the shortest part of a message that identifies it.
const minNeedleLength = 12
