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

// logTarget is a message of which the Logs page looks for the line.
type logTarget struct {
	message  results.Message
	resource string // its name, empty for the first that the message names
	from     int    // the lines before were searched
}

// target is the selected message, nil if none is.
func (p *resultsPage) target(s *Screen) *logTarget {
	var section, message, resource int
	sections := p.sections(s)
	depth, _ := fmt.Sscanf(s.Selected(), "%d/%d/%d", &section, &message, &resource)
	if depth < 2 || section >= len(sections) || message >= len(sections[section].Messages) {
		return nil
	}
	t := &logTarget{message: sections[section].Messages[message]}
	if depth == 3 && resource < len(t.message.Resources) {
		t.resource = t.message.Resources[resource].Name
	}
	return t
}

// openLogs opens the Logs page, on the Results page at the line of the selected message.
func (s *Screen) openLogs() tea.Cmd {
	if results, ok := s.open().(*resultsPage); ok {
		if t := results.target(s); t != nil {
			page := s.pages[s.indexOf(Logs)].(*logsPage)
			page.found.Close()
			page.target = t
			page.useLevel(logs.NoLevel) // the lines around matter
		}
	}
	return s.turn(s.indexOf(Logs))
}

// seek looks for the line of a message: once in a log that has ended, else in what has come since.
func (p *logsPage) seek(s *Screen) tea.Cmd {
	l, t := p.log, p.target
	if t == nil || l == nil || l.store == nil || l.reading.Pending() && !(l.live && l.view.Seen() > t.from) {
		return nil
	}
	view, upTo := l.view, l.view.Seen()
	p.found.Outdate()
	return p.found.Ask(s.askerFor(func() { p.handleFound(s, upTo) }), 0, func(ctx context.Context) (int, error) {
		return t.find(ctx, view), nil
	})
}

// handleFound goes to the line of the message; if there is none up to a line, it may be one of those to come.
func (p *logsPage) handleFound(s *Screen, upTo int) {
	switch l, line := p.log, p.found.Value; {
	case line >= 0:
		p.target = nil
		p.at, l.placed, s.Follow = line, true, false
		s.Show(p.source(s, l))
		row, _ := l.view.Row(line)
		s.GoTo(row)
	case !l.reading.Pending():
		p.target, p.saved, p.savedBad = nil, "No line of this log has the message.", true
	default:
		p.target.from = upTo
	}
}

// find returns the first line with the message, as whole as possible, that names its resource; -1 for none.
// A message has what went wrong behind what was being done, which is often another field of the line.
func (t *logTarget) find(ctx context.Context, view *logs.View) int {
	name := t.resource
	if name == "" && len(t.message.Resources) > 0 {
		name = t.message.Resources[0].Name
	}
	text := strings.ReplaceAll(t.message.Text, "*", cmp.Or(name, "*"))
	needles := []string{t.message.Example}
	if t.resource != "" {
		needles = nil // the example may be about another one
	}
	for rest, found := text, true; found && len(rest) >= leastNeedle; _, rest, found = strings.Cut(rest, ": ") {
		needles = append(needles, rest)
	}
	if head, _, cut := strings.Cut(text, ": "); cut {
		needles = append(needles, head)
	}
	for _, named := range []bool{true, false} {
		for _, needle := range needles {
			row, err := view.Next(ctx, strings.TrimSpace(needle), t.from, true, func(line int) bool {
				l := view.Store.Line(line)
				return l.Level >= logs.Warning && l.Level != logs.Mark && (!named || l.Names(name))
			})
			if err == nil && row >= 0 {
				return view.Index(row)
			}
		}
	}
	return -1
}

// leastNeedle is how long a part of a message must be to be its own.
const leastNeedle = 12
