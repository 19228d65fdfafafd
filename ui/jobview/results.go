package jobview

import (
	"context"
	"fmt"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/job"
	"github.com/veltui/veltui/stored/outcome"
	"github.com/veltui/veltui/ui/draw"
	"github.com/veltui/veltui/ui/keys"
	"github.com/veltui/veltui/ui/pager"
)

// resultsPage shows a job's errors and warnings, those that repeat as one.
type resultsPage struct {
	still
	results answer[stored]
	// logged is what the server has logged so far, while there are no results.
	logged answer[logged]
	// phase is what the job was in when they were asked for.
	phase string
	folds folds
}

// stored is what was read: messages, or why there are none.
type stored struct {
	sections []outcome.Section
	note     string
}

// logged are the errors and warnings of the server's log.
type logged struct {
	sections []outcome.Section
	summary  string
	gaps     []string
}

// resultsAge is how long results, and what was logged, stand while the job goes on:
// more may come.
const resultsAge = 30 * time.Second

func (p *resultsPage) count(j *job.Job) string {
	switch {
	case j.Errors+j.Warnings == 0:
		return ""
	case j.Warnings == 0:
		return fmt.Sprint(j.Errors)
	}
	return fmt.Sprintf("%d!%d", j.Errors, j.Warnings)
}

func (p *resultsPage) load(s *Screen) tea.Cmd {
	return tea.Batch(p.loadResults(s), p.loadLogged(s))
}

// loadLogged reads the server's log.
func (p *resultsPage) loadLogged(s *Screen) tea.Cmd {
	if !p.wantsLogged(s) || s.sources.Problems == nil {
		return nil
	}
	j := s.job.Job
	return p.logged.ask(s.sources, resultsAge, func(ctx context.Context) (logged, error) {
		found, err := s.sources.Problems.Problems(ctx, j)
		if err != nil {
			return logged{}, err
		}
		return logged{outcome.Group(found.Results()), found.Summary(), found.Gaps}, nil
	})
}

// wantsLogged is true for a job that goes on and has no results that can be read.
func (p *resultsPage) wantsLogged(s *Screen) bool {
	j := s.job.Job
	if j.Terminal() || j.Stage == job.StageQueued {
		return false
	}
	without, _ := outcome.WithoutResults(j, s.job.MayBeStored())
	return without != "" || s.sources.Artifacts == nil || p.results.err != nil || p.results.known && p.results.value.note != ""
}

// sections are the messages that the page shows.
func (p *resultsPage) sections(s *Screen) []outcome.Section {
	switch {
	case p.wantsLogged(s):
		return p.logged.value.sections
	case p.results.known:
		return p.results.value.sections
	}
	return nil
}

// loadResults reads what is stored.
func (p *resultsPage) loadResults(s *Screen) tea.Cmd {
	j := s.job.Job
	if note, _ := outcome.WithoutResults(j, s.job.MayBeStored()); note != "" || s.sources.Artifacts == nil {
		return nil
	}
	age := time.Duration(0)
	if !j.Terminal() {
		age = resultsAge
	}
	if p.phase != j.Phase && !p.results.pending() { // an answer on its way may be too old
		p.results.at, p.results.err, p.phase = time.Time{}, nil, j.Phase
	}
	return p.results.ask(s.sources, age, func(ctx context.Context) (stored, error) {
		results, err := s.sources.Artifacts.Results(ctx, j)
		note, err := outcome.NotStored(j, err)
		return stored{outcome.Group(results), note}, err
	})
}

func (p *resultsPage) ages() bool { return p.results.pending() || p.logged.pending() }

func (p *resultsPage) forget() {
	p.results.forget()
	p.logged.forget()
}

func (p *resultsPage) close() {
	p.results.close()
	p.logged.close()
}

func (p *resultsPage) leave() { p.logged.close() }

func (p *resultsPage) keys(s *Screen) []keys.Binding {
	return append([]keys.Binding{p.folds.binding(s, 2)}, copyKeys(s, func() bool { return s.job.Job != nil && len(p.sections(s)) > 0 },
		func() (string, string) { return "one line", copyOf(p.sections(s), s.view.Selected()) },
		func() (string, string) { return "all messages", copyOf(p.sections(s), "") })...)
}

// copyOf is the section, the message or the resource of a row's key as text without
// styles; of an empty key all of them.
func copyOf(sections []outcome.Section, key string) string {
	var section, complaint, resource int
	depth, _ := fmt.Sscanf(key, "%d/%d/%d", &section, &complaint, &resource)
	var lines []string
	for i, s := range sections {
		if depth > 0 && i != section {
			continue
		}
		if depth <= 1 {
			lines = append(lines, fmt.Sprintf("%ss, %s (%d)", s.Severity, s.Title(), s.Count))
		}
		for k, m := range s.Complaints {
			switch {
			case depth == 1 || depth > 1 && k != complaint:
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
	if p.results.known && p.results.value.note == "" {
		errs, warnings = outcome.Counts(p.results.value.sections)
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

// notes are what stands above the messages, or in their place.
func (p *resultsPage) notes(c draw.Canvas, s *Screen) []string {
	j := s.job.Job
	inner := c.Sized(c.Width-2, 0)
	var lines []string
	say := func(text string) {
		if text != "" {
			lines = append(lines, inner.Para(c.Theme.Dim, text, 6)...)
		}
	}
	without, _ := outcome.WithoutResults(j, s.job.MayBeStored())
	switch {
	case without != "":
		say(without)
	case s.sources.Artifacts == nil:
		say(s.sources.WhyNoArtifacts)
	case p.results.err != nil:
		lines = append(lines, inner.Para(c.Theme.Bad, "The results cannot be read: "+p.results.err.Error(), 8)...)
		again := "Press " + s.sources.Keys.Key("reconnect") + " to try again."
		if j.Errors+j.Warnings > 0 {
			again = "The counts above are those of the job's status. " + again
		}
		say(again)
	case !p.results.known:
		text := "Reading the results"
		if p.results.pending() {
			text += " for " + human.Duration(max(s.sources.Clock().Sub(p.results.since), 0))
		}
		say(text + c.Glyphs.Ellipsis)
	case p.results.value.note != "":
		say(p.results.value.note)
	default:
		say(outcome.Caveat(j, p.results.value.sections))
	}
	if p.wantsLogged(s) {
		switch {
		case s.sources.Problems == nil:
		case p.logged.err != nil:
			lines = append(lines, inner.Para(c.Theme.Bad, "The server's log cannot be read: "+p.logged.err.Error(), 8)...)
		case !p.logged.known:
			say("Reading the server's log" + c.Glyphs.Ellipsis)
		default:
			say(p.logged.value.summary)
			for _, gap := range p.logged.value.gaps[:min(len(p.logged.value.gaps), 3)] {
				lines = append(lines, inner.Para(c.Theme.Waiting, gap, 2)...)
			}
		}
		say("Press " + s.sources.Keys.Key("logs") + " for what Velero's server logs about it now.")
	}
	if j.FailureReason != "" {
		lines = append(lines, inner.Para(c.Theme.Bad, "Failure reason: "+j.FailureReason, 8)...)
	}
	for _, text := range j.ValidationErrors {
		lines = append(lines, inner.Para(c.Theme.Bad, "Validation error: "+text, 8)...)
	}
	for i := range lines {
		lines[i] = " " + lines[i]
	}
	return lines
}

func (p *resultsPage) lines(c draw.Canvas, s *Screen) pager.Source {
	l := &resultLines{notes: p.notes(c, s)}
	l.sections = p.sections(s)
	for i := range l.notes {
		l.rows = append(l.rows, resultRow{what: noteRow, section: i})
	}
	p.folds.settle(s)
	l.fold(c, p.folds)
	if len(l.rows) > pager.AtOnce {
		return manyResults{l}
	}
	return l
}

// manyResults are searched in a command.
type manyResults struct{ *resultLines }

// Find looks through the rows' plain texts.
func (l manyResults) Find(ctx context.Context, text string, from int, forward bool) (int, error) {
	return pager.FindIn(ctx, len(l.rows), l.plain, text, from, forward)
}

// resultLines are the rows of the page: only those that are drawn are made.
type resultLines struct {
	notes    []string
	sections []outcome.Section
	rows     []resultRow
	folds    folds
	// times is how wide the column is that says how often a message repeats.
	times int
	wrap  int // lines that a message may have
}

// resultRow is one row: which section, complaint, and line of text or resource.
type resultRow struct {
	what                  resultRowKind
	section, complaint, n int
}

type resultRowKind int

const (
	noteRow resultRowKind = iota
	sectionRow
	messageRow
	namesRow
	resourceRow
)

// wrapped is up to how many messages are wrapped, to manyLines: nobody reads
// more of them one by one, and each costs time.
const (
	wrapped   = 500
	manyLines = 3
)

// fold makes the rows of what is open.
func (l *resultLines) fold(c draw.Canvas, f folds) {
	l.folds, l.wrap = f, manyLines
	messages, most := 0, 0
	for _, s := range l.sections {
		messages += len(s.Complaints)
		for _, m := range s.Complaints {
			most = max(most, m.Count)
		}
	}
	if messages > wrapped {
		l.wrap = 1
	}
	if l.times = 0; most > 1 {
		l.times = len(fmt.Sprint(most)) + 2
	}
	errs, _ := outcome.Counts(l.sections)
	for i, s := range l.sections {
		if i == 0 && len(l.notes) > 0 {
			l.rows = append(l.rows, resultRow{what: noteRow, section: -1}) // a gap
		}
		l.rows = append(l.rows, resultRow{what: sectionRow, section: i})
		if !f.isOpen(sectionKey(i), s.Severity == outcome.Error || errs == 0) {
			continue
		}
		for k, m := range s.Complaints {
			rows := 1
			if l.wrap > 1 {
				rows = len(l.text(c, m))
			}
			for n := range rows {
				l.rows = append(l.rows, resultRow{messageRow, i, k, n})
			}
			switch {
			case len(m.Resources) > 1 && f.isOpen(messageKey(i, k), false):
				for n := range m.Resources {
					l.rows = append(l.rows, resultRow{resourceRow, i, k, n})
				}
			case len(m.Resources) > 0:
				l.rows = append(l.rows, resultRow{namesRow, i, k, 0})
			}
		}
	}
}

func sectionKey(section int) string { return fmt.Sprint(section) }

func messageKey(section, complaint int) string { return fmt.Sprint(section, "/", complaint) }

// indent is where messages begin.
func (l *resultLines) indent() int { return 5 + l.times }

func (l *resultLines) text(c draw.Canvas, m outcome.Complaint) []string {
	if l.wrap == 1 {
		return []string{m.Words()}
	}
	return c.Sized(max(c.Width-l.indent()-1, 10), 0).Wrap(m.Words(), l.wrap)
}

// Len is how many rows there are.
func (l *resultLines) Len() int { return len(l.rows) }

// Line draws one row.
func (l *resultLines) Line(c draw.Canvas, i int) pager.Line {
	row := l.rows[i]
	if row.what == noteRow {
		if row.section < 0 {
			return pager.Line{}
		}
		return pager.Line{Text: l.notes[row.section]}
	}
	s := l.sections[row.section]
	style, sign := c.Theme.Bad, c.Glyphs.Failed
	if s.Severity == outcome.Warning {
		style, sign = c.Theme.Waiting, c.Glyphs.Attention
	}
	if row.what == sectionRow {
		errs, _ := outcome.Counts(l.sections)
		fold := l.folds.sign(c, sectionKey(row.section), s.Severity == outcome.Error || errs == 0)
		text := c.Theme.Strong.Render(fmt.Sprintf("%ss, %s", s.Severity, s.Title())) + c.Theme.Dim.Render(fmt.Sprintf(" (%d)", s.Count))
		return pager.Line{Text: " " + fold + " " + text, Key: sectionKey(row.section)}
	}
	m := s.Complaints[row.complaint]
	margin := strings.Repeat(" ", l.indent())
	key := messageKey(row.section, row.complaint)
	switch row.what {
	case messageRow:
		text := c.Theme.Text.Render(l.text(c, m)[row.n])
		if row.n > 0 {
			return pager.Line{Text: margin + text}
		}
		times := strings.Repeat(" ", l.times)
		if m.Count > 1 {
			times = c.FitRight(fmt.Sprintf("%dx ", m.Count), l.times)
		}
		return pager.Line{Text: "   " + style.Render(sign) + " " + c.Theme.Strong.Render(times) + text, Key: key}
	case namesRow:
		return pager.Line{Text: margin + c.Theme.Dim.Render(l.names(c, m))}
	}
	return pager.Line{Text: margin + c.Theme.Dim.Render(m.Resources[row.n].String()), Key: fmt.Sprint(key, "/", row.n)}
}

// plain is what a row says, a message in its first row. It reads nothing that the
// user can change meanwhile: a search calls it from another goroutine.
func (l *resultLines) plain(i int) string {
	row := l.rows[i]
	if row.what == noteRow {
		if row.section < 0 {
			return ""
		}
		return ansi.Strip(l.notes[row.section])
	}
	s := l.sections[row.section]
	if row.what == sectionRow {
		return fmt.Sprintf("%ss, %s (%d)", s.Severity, s.Title(), s.Count)
	}
	m := s.Complaints[row.complaint]
	switch {
	case row.what == messageRow && row.n > 0:
		return ""
	case row.what == messageRow:
		return m.Words()
	case row.what == namesRow:
		names, _ := m.Names(1)
		return names
	}
	return m.Resources[row.n].String()
}

// names are the resources of a message as far as there is room for whole names.
func (l *resultLines) names(c draw.Canvas, m outcome.Complaint) string {
	room := max(c.Width-l.indent()-1, 10)
	best, left := m.Names(1)
	for most := 2; left > 0 && most <= room; most++ {
		names, more := m.Names(most)
		if len(names)+len(andMore(more)) > room {
			break
		}
		best, left = names, more
	}
	return best + andMore(left)
}

func andMore(left int) string {
	if left == 0 {
		return ""
	}
	return fmt.Sprintf(" and %d more", left)
}

// folds are which groups of a page are open. A group's key is its parent's with
// its own behind a slash.
type folds struct {
	// turned are those that the user has opened or closed, against the default.
	turned map[string]bool
	// around are those that stay open around what was found.
	around map[string]bool
	// all is true while something is searched for: it is looked for everywhere.
	all bool
}

func (f folds) isOpen(key string, byDefault bool) bool {
	return f.all || f.around[key] || f.turned[key] != byDefault
}

// sign says whether a group is open.
func (f folds) sign(c draw.Canvas, key string, byDefault bool) string {
	if f.isOpen(key, byDefault) {
		return c.Theme.Dim.Render(c.Glyphs.Descending)
	}
	return c.Theme.Dim.Render(c.Glyphs.Cursor)
}

// binding opens and closes the selected group, or the one that the selected line
// is in. depth is how many groups there are within each other.
func (f *folds) binding(s *Screen, depth int) keys.Binding {
	turn := func() {
		parts := strings.Split(s.view.Selected(), "/")
		key := strings.Join(parts[:min(len(parts), depth)], "/")
		switch {
		case key == "":
		case f.around[key]:
			delete(f.around, key)
		case f.turned == nil:
			f.turned = map[string]bool{key: true}
		default:
			f.turned[key] = !f.turned[key]
		}
	}
	return keys.Binding{Name: "open", Keys: []string{"enter"}, Label: "enter", What: "open or close", Group: keys.Look, Short: true, Do: keys.Run(turn)}
}

// settle opens all groups while something is searched for, and leaves those open
// that the selected line is in.
func (f *folds) settle(s *Screen) {
	searching := s.view.Searching() || s.view.Typing()
	if f.all && !searching {
		f.around = map[string]bool{}
		for key := s.view.Selected(); ; {
			at := strings.LastIndexByte(key, '/')
			if at < 0 {
				break
			}
			key = key[:at]
			f.around[key] = true
		}
	}
	f.all = searching
}
