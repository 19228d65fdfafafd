package jobview

import (
	"context"
	"fmt"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/veltui/veltui/internal/cluster"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/stored/results"
	"github.com/veltui/veltui/internal/view"
	"github.com/veltui/veltui/ui/draw"
	"github.com/veltui/veltui/ui/fetch"
	"github.com/veltui/veltui/ui/keys"
	"github.com/veltui/veltui/ui/pager"
)

// resultsPage shows a job's errors and warnings, with repeated messages as one.
type resultsPage struct {
	noopPage
	resultsAnswer fetch.Answer[cluster.Messages]
	// loggedAnswer is what the server has logged so far, for as long as there are no results.
	loggedAnswer fetch.Answer[cluster.LoggedMessages]
	// fetchedPhase is the job's phase when the results were requested.
	fetchedPhase string
	folds        foldState
}

func (p *resultsPage) countText(j *job.Job) string {
	var parts []string
	if j.Errors > 0 {
		parts = append(parts, fmt.Sprintf("%d err", j.Errors))
	}
	if j.Warnings > 0 {
		parts = append(parts, fmt.Sprintf("%d warn", j.Warnings))
	}
	return strings.Join(parts, " ")
}

func (s *Screen) findResultsPage() *resultsPage { return s.pages[s.tabIndex(Results)].(*resultsPage) }

func (p *resultsPage) fetchMissing(s *Screen) tea.Cmd {
	return tea.Batch(p.fetchResults(s), p.fetchLogged(s))
}

func (p *resultsPage) fetchLogged(s *Screen) tea.Cmd {
	j := s.job.Job
	if m, known, _ := p.knownMessages(
		s,
	); !known || !m.NeedsLog(j) ||
		s.dependencies.UnavailableReason(cluster.CapabilityProblems) != "" {
		return nil
	}
	return p.loggedAnswer.FetchIfDue(
		s.newRequester(),
		pageMaxAge,
		func(ctx context.Context) (cluster.LoggedMessages, error) {
			found, err := s.dependencies.FetchProblems(ctx, j)
			return cluster.NewLoggedMessages(found), err
		},
	)
}

// knownMessages returns the messages that are known without the server's log. The error is why the results cannot be
// read.
func (p *resultsPage) knownMessages(s *Screen) (m cluster.Messages, known bool, err error) {
	switch m = cluster.StatusMessages(s.job); {
	case m.Note != "":
		return m, true, nil
	case s.dependencies.UnavailableReason(cluster.CapabilityStored) != "":
		return cluster.Messages{Note: s.dependencies.UnavailableReason(cluster.CapabilityStored)}, true, nil
	case p.resultsAnswer.Err != nil:
		return cluster.Messages{Sections: p.resultsAnswer.Value.Sections}, true, p.resultsAnswer.Err
	}
	return p.resultsAnswer.Value, p.resultsAnswer.HasValue, nil
}

// shownSections returns the messages that the page shows.
func (p *resultsPage) shownSections(s *Screen) []results.MessageSection {
	m, known, _ := p.knownMessages(s)
	if known && m.NeedsLog(s.job.Job) {
		return p.loggedAnswer.Value.Sections
	}
	return m.Sections
}

// shownGroups words the messages that the page shows.
func (p *resultsPage) shownGroups(s *Screen) []view.ResultGroup {
	return view.NewResultGroups(p.shownSections(s))
}

func (p *resultsPage) fetchResults(s *Screen) tea.Cmd {
	judged := s.job
	if cluster.StatusMessages(judged).Note != "" || s.dependencies.UnavailableReason(cluster.CapabilityStored) != "" {
		return nil
	}
	age := time.Duration(0)
	if !judged.IsTerminal() {
		age = pageMaxAge
	}
	if p.fetchedPhase != judged.Phase && !p.resultsAnswer.IsPending() { // a pending answer may be too old
		p.resultsAnswer.Invalidate()
		p.fetchedPhase = judged.Phase
	}
	return p.resultsAnswer.FetchIfDue(s.newRequester(), age, func(ctx context.Context) (cluster.Messages, error) {
		return cluster.ReadMessages(ctx, judged, cluster.MessageSources{
			FetchResults: s.dependencies.FetchResults, FetchOperations: s.dependencies.FetchOperations,
		})
	})
}

func (p *resultsPage) showsAges() bool {
	return p.resultsAnswer.IsPending() || p.loggedAnswer.IsPending()
}

func (p *resultsPage) pageAnswers() []answerHandle {
	return []answerHandle{&p.resultsAnswer, &p.loggedAnswer}
}
func (p *resultsPage) onLeave() { p.loggedAnswer.Close() }

func (p *resultsPage) newBindings(s *Screen) []keys.Binding {
	return append(
		append(p.newMarkBindings(s), p.folds.newBinding(s, "open or close", nil, groupAtDepth(2))),
		newCopyBindings(s, func() bool { return s.job.Job != nil && len(p.shownSections(s)) > 0 },
			func() (string, string) { return "one line", messagesText(p.shownGroups(s), s.SelectedKey()) },
			func() (string, string) { return "all messages", messagesText(p.shownGroups(s), "") })...)
}

// messagesText returns the text of a row's group, message or resource; for an empty key, of all messages.
func messagesText(groups []view.ResultGroup, key string) string {
	var group, message, resource int
	depth, _ := fmt.Sscanf(key, "%d/%d/%d", &group, &message, &resource)
	var lines []string
	for i, g := range groups {
		if depth > 0 && i != group {
			continue
		}
		if depth <= 1 {
			lines = append(lines, g.Heading())
		}
		for k := range g.Messages {
			m := &g.Messages[k]
			switch {
			case depth == 1 || depth > 1 && k != message:
				continue
			case depth == 3 && resource < len(m.Instances()):
				return m.Instances()[resource]
			}
			lines = append(lines, view.MessageRepeats(m)+m.DisplayText())
			if names := view.MessageInstances(m, -1); names != "" {
				lines = append(lines, "    "+names)
			}
		}
	}
	return strings.Join(lines, "\n")
}

// buildResults words the messages that are known without the server's log.
func (p *resultsPage) buildResults(s *Screen) view.Results {
	m, _, err := p.knownMessages(s)
	return view.NewResults(view.ResultsInput{
		Job:         s.job.Job,
		Sections:    m.Sections,
		FromResults: m.IsFromResults,
		Note:        m.Note,
		Err:         err,
	})
}

func (p *resultsPage) renderHead(c draw.Canvas, s *Screen) []string {
	counts := p.buildResults(s).Counts
	if counts.Text == "" {
		return nil
	}
	return []string{" " + c.Theme.ToneStyle(counts.Tone).Render(counts.Text)}
}

// renderNotes returns the lines above the messages, or in place of them.
func (p *resultsPage) renderNotes(c draw.Canvas, s *Screen) []string {
	var lines []string
	add := func(text view.Text, most int) {
		lines = append(lines, wrapNote(c, c.Theme.ToneStyle(text.Tone), text.Text, most)...)
	}
	say := func(text string) { add(view.Toned(view.Dim, text), 6) }
	shown := p.buildResults(s)
	m, known, err := p.knownMessages(s)
	switch {
	case err != nil:
		add(shown.Notes[0], 8)
		again := "Press " + s.dependencies.Keys.FirstKey("reconnect") + " to try again."
		for _, note := range shown.Notes[1:] {
			again = note.Text + " " + again
		}
		say(again)
	case !known:
		say(waitingText(c, s, "Reading the results", p.resultsAnswer.RequestedAt()))
	default:
		for _, note := range shown.Notes {
			add(note, 6)
		}
	}
	if known && m.NeedsLog(s.job.Job) {
		switch {
		case s.dependencies.UnavailableReason(cluster.CapabilityProblems) != "":
		case p.loggedAnswer.Err != nil:
			add(view.ServerLogUnread(p.loggedAnswer.Err), 8)
		case !p.loggedAnswer.HasValue:
			say("Reading the server's log" + c.Glyphs.Ellipsis)
		default:
			say(p.loggedAnswer.Value.Summary())
			for _, gap := range p.loggedAnswer.Value.Gaps[:min(len(p.loggedAnswer.Value.Gaps), 3)] {
				add(view.Toned(view.Waiting, gap), 2)
			}
		}
		say("Press " + s.dependencies.Keys.FirstKey("logs") + " for what Velero's server logs about it now.")
	}
	for _, failure := range shown.Failures {
		add(view.Toned(failure.Tone, failure.Label+": "+failure.Text.Text), 8)
	}
	return lines
}

// Messages are wrapped to maxMessageLines, unless there are more than maxWrappedMessages: wrapping takes time.
const (
	maxWrappedMessages = 500
	maxMessageLines    = 3
)

func (p *resultsPage) renderLines(c draw.Canvas, s *Screen) pager.Source {
	p.folds.followSearch(s)
	l := messageOutline{outline: &outline{canvas: c, folds: p.folds}, maxLinesPerMessage: maxMessageLines}
	l.isMarked = func(key string) bool { return len(s.markedItems) > 0 && s.areMarked(p.lostItems(s, key)) }
	l.addLines(p.renderNotes(c, s)...)
	groups := p.shownGroups(s)
	if len(groups) > 0 && l.Len() > 0 {
		l.addLines("")
	}
	messages, most := 0, 0
	for _, g := range groups {
		messages += len(g.Messages)
		for i := range g.Messages {
			most = max(most, g.Messages[i].Count)
		}
	}
	if messages > maxWrappedMessages {
		l.maxLinesPerMessage = 1
	}
	if most > 1 {
		l.countWidth = len(fmt.Sprint(most)) + 2
	}
	for i, g := range groups {
		key := fmt.Sprint(i)
		if !l.addGroup(key, g.Open, func(c draw.Canvas, sign string) string {
			return " " + sign + " " + c.Theme.Strong.Render(g.Title) + c.Theme.Dim.Render(fmt.Sprintf(" (%d)", g.Count))
		}) {
			continue
		}
		for k := range g.Messages {
			l.addMessage(fmt.Sprint(key, "/", k), g.Tone, &g.Messages[k])
		}
	}
	return l.outline
}

// messageOutline is an outline of messages.
type messageOutline struct {
	*outline
	// countWidth is the width of the column with the number of times that a message occurs.
	countWidth         int
	maxLinesPerMessage int // for one message
	// isMarked reports whether the items that a row names are marked to be restored alone.
	isMarked func(key string) bool
}

// addMessage adds a message and its resources: all of them if the message is open, else as many as fit into one line.
func (l *messageOutline) addMessage(key string, tone view.Tone, m *results.Message) {
	times, indent := l.countWidth, 5+l.countWidth
	margin := strings.Repeat(" ", indent)
	room := max(l.canvas.Width-indent-1, 10)
	words, most := []string{m.DisplayText()}, l.maxLinesPerMessage
	if l.folds.isOpen(key, false) {
		most = unlimitedLines
	}
	if most > 1 {
		words = l.canvas.WithSize(room, 0).WrapText(m.DisplayText(), most)
	}
	marked := l.isMarked(key)
	l.addRow(key, func(c draw.Canvas) string {
		sign := c.Glyphs.Failed
		if tone == view.Waiting {
			sign = c.Glyphs.Attention
		}
		repeated := c.FitRight(view.MessageRepeats(m), times)
		return overlayMark(
			c,
			marked,
			"   "+c.Theme.ToneStyle(tone).Render(sign)+" "+c.Theme.Strong.Render(repeated)+c.Theme.Text.Render(words[0]),
		)
	})
	for _, more := range words[1:] {
		l.addRow("", func(c draw.Canvas) string { return margin + c.Theme.Text.Render(more) })
	}
	l.addInstances(key, m, margin, room)
}

// addInstances adds the resources that a message names, or what varies in it.
func (l *messageOutline) addInstances(key string, m *results.Message, margin string, room int) {
	if instances := m.Instances(); len(instances) > 1 && l.folds.isOpen(key, false) {
		for n, name := range instances {
			own := fmt.Sprint(key, "/", n)
			marked := l.isMarked(own)
			l.addRow(own, func(c draw.Canvas) string { return overlayMark(c, marked, margin+c.Theme.Dim.Render(name)) })
		}
		return
	}
	if names := view.FitMessageInstances(m, room); names != "" {
		l.addRow("", func(c draw.Canvas) string { return margin + c.Theme.Dim.Render(names) })
	}
}
