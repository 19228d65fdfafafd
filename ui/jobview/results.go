package jobview

import (
	"context"
	"fmt"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"

	"github.com/veltui/veltui/internal/cluster"
	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/stored/results"
	"github.com/veltui/veltui/ui/draw"
	"github.com/veltui/veltui/ui/fetch"
	"github.com/veltui/veltui/ui/keys"
	"github.com/veltui/veltui/ui/pager"
)

// resultsPage shows a job's errors and warnings, those that repeat as one.
type resultsPage struct {
	still
	results fetch.Answer[cluster.Messages]
	// logged is what the server has logged so far, while there are no results.
	logged fetch.Answer[cluster.Logged]
	// phase is what the job was in when they were asked for.
	phase string
	folds folds
}

func (p *resultsPage) count(j *job.Job) string {
	var parts []string
	if j.Errors > 0 {
		parts = append(parts, fmt.Sprintf("%d err", j.Errors))
	}
	if j.Warnings > 0 {
		parts = append(parts, fmt.Sprintf("%d warn", j.Warnings))
	}
	return strings.Join(parts, " ")
}

func (s *Screen) results() *resultsPage { return s.pages[s.indexOf(Results)].(*resultsPage) }

func (p *resultsPage) load(s *Screen) tea.Cmd { return tea.Batch(p.loadResults(s), p.loadLogged(s)) }

func (p *resultsPage) loadLogged(s *Screen) tea.Cmd {
	j := s.job.Job
	if m, known, _ := p.messages(s); !known || !m.NeedsLog(j) || s.sources.Unavailable(cluster.Problems) != "" {
		return nil
	}
	return p.logged.Ask(s.asker(), readAge, func(ctx context.Context) (cluster.Logged, error) {
		found, err := s.sources.Problems(ctx, j)
		return cluster.NewLogged(found), err
	})
}

// messages are known without the server's log. An error is why the results cannot be read.
func (p *resultsPage) messages(s *Screen) (m cluster.Messages, known bool, err error) {
	switch m = cluster.StatusMessages(s.job); {
	case m.Note != "":
		return m, true, nil
	case s.sources.Unavailable(cluster.Stored) != "":
		return cluster.Messages{Note: s.sources.Unavailable(cluster.Stored)}, true, nil
	case p.results.Err != nil:
		return cluster.Messages{Sections: p.results.Value.Sections}, true, p.results.Err
	}
	return p.results.Value, p.results.Known, nil
}

// sections are the messages that the page shows.
func (p *resultsPage) sections(s *Screen) []results.Section {
	m, known, _ := p.messages(s)
	if known && m.NeedsLog(s.job.Job) {
		return p.logged.Value.Sections
	}
	return m.Sections
}

func (p *resultsPage) loadResults(s *Screen) tea.Cmd {
	judged := s.job
	if cluster.StatusMessages(judged).Note != "" || s.sources.Unavailable(cluster.Stored) != "" {
		return nil
	}
	age := time.Duration(0)
	if !judged.Terminal() {
		age = readAge
	}
	if p.phase != judged.Phase && !p.results.Pending() { // an answer on its way may be too old
		p.results.Outdate()
		p.phase = judged.Phase
	}
	return p.results.Ask(s.asker(), age, func(ctx context.Context) (cluster.Messages, error) {
		return cluster.ReadMessages(ctx, judged, s.sources.Results)
	})
}

func (p *resultsPage) ages() bool { return p.results.Pending() || p.logged.Pending() }

func (p *resultsPage) answers() []answer { return []answer{&p.results, &p.logged} }
func (p *resultsPage) leave()            { p.logged.Close() }

func (p *resultsPage) keys(s *Screen) []keys.Binding {
	return append(
		append(p.markKeys(s), p.folds.binding(s, "open or close", nil, upTo(2))),
		copyKeys(s, func() bool { return s.job.Job != nil && len(p.sections(s)) > 0 },
			func() (string, string) { return "one line", copyOf(p.sections(s), s.Selected()) },
			func() (string, string) { return "all messages", copyOf(p.sections(s), "") })...)
}

// copyOf is the text of a row's section, message or resource; of an empty key all of them.
func copyOf(sections []results.Section, key string) string {
	var section, message, resource int
	depth, _ := fmt.Sscanf(key, "%d/%d/%d", &section, &message, &resource)
	var lines []string
	for i, s := range sections {
		if depth > 0 && i != section {
			continue
		}
		if depth <= 1 {
			lines = append(lines, fmt.Sprintf("%ss, %s (%d)", s.Severity, s.Title(), s.Count))
		}
		for k, m := range s.Messages {
			switch {
			case depth == 1 || depth > 1 && k != message:
				continue
			case depth == 3 && resource < len(m.Resources):
				return m.Resources[resource].String()
			}
			text := m.Text
			if m.Count > 1 {
				text = fmt.Sprintf("%dx %s", m.Count, text)
			}
			lines = append(lines, text)
			if names, _ := m.Names(-1); names != "" {
				lines = append(lines, "    "+names)
			}
		}
	}
	return strings.Join(lines, "\n")
}

func (p *resultsPage) head(c draw.Canvas, s *Screen) []string {
	errs, warnings := s.job.Errors, s.job.Warnings
	if p.results.Value.Stored {
		errs, warnings = results.Counts(p.results.Value.Sections)
	}
	if errs+warnings == 0 {
		return nil
	}
	style := c.Theme.Waiting
	if errs > 0 {
		style = c.Theme.Bad
	}
	return []string{" " + style.Render(human.Count(errs, "error")+", "+human.Count(warnings, "warning"))}
}

// notes returns what stands above the messages, or in their place.
func (p *resultsPage) notes(c draw.Canvas, s *Screen) []string {
	j := s.job.Job
	var lines []string
	add := func(style lipgloss.Style, text string, most int) {
		lines = append(lines, note(c, style, text, most)...)
	}
	say := func(text string) { add(c.Theme.Dim, text, 6) }
	m, known, err := p.messages(s)
	switch {
	case err != nil:
		add(c.Theme.Bad, "The results cannot be read: "+err.Error(), 8)
		again := "Press " + s.sources.Keys.Key("reconnect") + " to try again."
		if j.Errors+j.Warnings > 0 {
			again = "The counts above are those of the job's status. " + again
		}
		say(again)
	case !known:
		say(waiting(c, s, "Reading the results", p.results.Since()))
	default:
		say(m.Note)
	}
	if known && m.NeedsLog(j) {
		switch {
		case s.sources.Unavailable(cluster.Problems) != "":
		case p.logged.Err != nil:
			add(c.Theme.Bad, "The server's log cannot be read: "+p.logged.Err.Error(), 8)
		case !p.logged.Known:
			say("Reading the server's log" + c.Glyphs.Ellipsis)
		default:
			say(p.logged.Value.Summary())
			for _, gap := range p.logged.Value.Gaps[:min(len(p.logged.Value.Gaps), 3)] {
				add(c.Theme.Waiting, gap, 2)
			}
		}
		say("Press " + s.sources.Keys.Key("logs") + " for what Velero's server logs about it now.")
	}
	if j.FailureReason != "" {
		add(c.Theme.Bad, "Failure reason: "+j.FailureReason, 8)
	}
	for _, text := range j.ValidationErrors {
		add(c.Theme.Bad, "Validation error: "+text, 8)
	}
	return lines
}

// Messages are wrapped to manyLines, but more than wrapped of them are not: wrapping takes time.
const (
	wrapped   = 500
	manyLines = 3
)

func (p *resultsPage) lines(c draw.Canvas, s *Screen) pager.Source {
	p.folds.settle(s)
	l := messageList{outline: &outline{canvas: c, folds: p.folds}, lines: manyLines}
	l.marked = func(key string) bool { return len(s.marked) > 0 && s.areMarked(p.lost(s, key)) }
	l.say(p.notes(c, s)...)
	sections := p.sections(s)
	if len(sections) > 0 && l.Len() > 0 {
		l.say("")
	}
	messages, most := 0, 0
	for _, s := range sections {
		messages += len(s.Messages)
		for _, m := range s.Messages {
			most = max(most, m.Count)
		}
	}
	if messages > wrapped {
		l.lines = 1
	}
	if most > 1 {
		l.times = len(fmt.Sprint(most)) + 2
	}
	errs, _ := results.Counts(sections)
	for i, section := range sections {
		key := fmt.Sprint(i)
		if !l.group(key, section.Severity == results.Error || errs == 0, func(c draw.Canvas, sign string) string {
			title := c.Theme.Strong.Render(fmt.Sprintf("%ss, %s", section.Severity, section.Title()))
			return " " + sign + " " + title + c.Theme.Dim.Render(fmt.Sprintf(" (%d)", section.Count))
		}) {
			continue
		}
		for k := range section.Messages {
			l.message(fmt.Sprint(key, "/", k), section.Severity, &section.Messages[k])
		}
	}
	return l.outline
}

// messageList is an outline of messages.
type messageList struct {
	*outline
	// times is the width of the column that says how often a message repeats.
	times int
	lines int // that a message may have
	// marked reports whether what a row names is to be restored alone.
	marked func(key string) bool
}

// message adds a message and its resources: all if it is open, else one line of them.
func (l *messageList) message(key string, severity results.Severity, m *results.Message) {
	times, indent := l.times, 5+l.times
	margin := strings.Repeat(" ", indent)
	room := max(l.canvas.Width-indent-1, 10)
	words, most := []string{m.Words()}, l.lines
	if l.folds.isOpen(key, false) {
		most = unlimited
	}
	if most > 1 {
		words = l.canvas.Sized(room, 0).Wrap(m.Words(), most)
	}
	marked := l.marked(key)
	l.add(key, func(c draw.Canvas) string {
		style, sign := c.Theme.Bad, c.Glyphs.Failed
		if severity == results.Warning {
			style, sign = c.Theme.Waiting, c.Glyphs.Attention
		}
		repeated := strings.Repeat(" ", times)
		if m.Count > 1 {
			repeated = c.FitRight(fmt.Sprintf("%dx ", m.Count), times)
		}
		return markRow(
			c,
			marked,
			"   "+style.Render(sign)+" "+c.Theme.Strong.Render(repeated)+c.Theme.Text.Render(words[0]),
		)
	})
	for _, more := range words[1:] {
		l.add("", func(c draw.Canvas) string { return margin + c.Theme.Text.Render(more) })
	}
	switch {
	case len(m.Resources) > 1 && l.folds.isOpen(key, false):
		for n, r := range m.Resources {
			own := fmt.Sprint(key, "/", n)
			marked := l.marked(own)
			l.add(own, func(c draw.Canvas) string { return markRow(c, marked, margin+c.Theme.Dim.Render(r.String())) })
		}
	case len(m.Resources) > 0:
		l.add("", func(c draw.Canvas) string { return margin + c.Theme.Dim.Render(resourceNames(m, room)) })
	}
}

// resourceNames returns as many whole names of a message's resources as a width holds.
func resourceNames(m *results.Message, width int) string {
	best := ""
	for most := 1; most == 1 || most <= width; most++ {
		names, left := m.Names(most)
		if left > 0 {
			names += fmt.Sprintf(" and %d more", left)
		}
		if best != "" && len(names) > width {
			break
		}
		if best = names; left == 0 {
			break
		}
	}
	return best
}
