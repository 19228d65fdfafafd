package pager

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"charm.land/bubbles/v2/textinput"
	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/ui/draw"
	"github.com/veltui/veltui/ui/fetch"
	"github.com/veltui/veltui/ui/keys"
)

// searchState is the text searched for, with the hits.
type searchState struct {
	input    textinput.Model
	isTyping bool
	query    string // in lower case, empty for no search
	// currentHit is the line of the last hit, -1 if there is none.
	currentHit int
	// hits are all matching lines among the first searchedLines lines. For a SearchableSource it is only the last hit,
	// and searchedLines is -1.
	hits          []int
	searchedLines int
	requester     *fetch.Requester // starts searches of many lines; nil if all searches are synchronous
	answer        fetch.Answer[[]int]
}

// Bindings returns the keys that scroll, search and wrap.
func (p *Pager) Bindings() []keys.Binding {
	searching := func() bool { return p.search.query != "" }
	return append(
		keys.MotionBindings(p.ApplyMotion),
		keys.Binding{
			Name:        "search",
			Keys:        []string{"/"},
			Label:       "/",
			Description: "search",
			Group:       keys.GroupLook,
			InFooter:    true,
			Do:          func(string) tea.Cmd { return p.openSearch() },
		},
		keys.Binding{
			Name:        "next-hit",
			Keys:        []string{"n"},
			Label:       "n",
			Description: "next hit",
			Group:       keys.GroupLook,
			Active:      searching,
			Do:          func(string) tea.Cmd { return p.nextHit(true) },
		},
		keys.Binding{
			Name:        "previous-hit",
			Keys:        []string{"N"},
			Label:       "N",
			Description: "previous hit",
			Group:       keys.GroupLook,
			Active:      searching,
			Do:          func(string) tea.Cmd { return p.nextHit(false) },
		},
		p.WrapBinding(false),
	)
}

// WrapBinding returns the key that toggles wrapping; a page of long lines has it in the footer.
func (p *Pager) WrapBinding(footer bool) keys.Binding {
	return keys.Binding{
		Name:        "wrap",
		Keys:        []string{"w"},
		Label:       "w",
		Description: "toggle wrapping",
		FooterText:  "wrap",
		Group:       keys.GroupLook,
		InFooter:    footer,
		Do:          keys.DoFunc(func() { p.wrapAll = !p.wrapAll }),
	}
}

// IsTyping reports whether a search is being typed; the pager then takes all keys.
func (p *Pager) IsTyping() bool { return p.search.isTyping }

// RenderPrompt draws the line in which the search is typed.
func (p *Pager) RenderPrompt(width int) string {
	p.search.input.SetWidth(max(width-4, 1))
	return " " + p.search.input.View()
}

// SearchStatus returns the state of the search, empty if there is none.
func (p *Pager) SearchStatus() string {
	s := &p.search
	switch {
	case s.query == "":
		return ""
	case s.answer.IsPending():
		return "searching for " + s.query
	case s.answer.Err != nil:
		return "the search failed: " + s.answer.Err.Error()
	case len(s.hits) == 0:
		return s.query + " is not here"
	case s.searchedLines != p.source.Len(): // the hit's number and the number of hits are unknown
		return "/" + s.query
	}
	n, _ := slices.BinarySearch(s.hits, s.currentHit)
	return fmt.Sprintf("/%s %d of %d", s.query, min(n+1, len(s.hits)), len(s.hits))
}

// RenderPage draws the window, with the search's status or the number of lines below in its last line.
func (p *Pager) RenderPage(c draw.Canvas) []string {
	lines := p.View(c)
	status := p.SearchStatus()
	if more := p.LinesBelow(); status == "" && more > 0 {
		status = human.Count(more, "line") + " more below"
	}
	if status == "" || len(lines) < 3 {
		return lines
	}
	lines = p.View(c.WithSize(c.Width, c.Height-1))
	return append(lines, c.FitRight(c.Theme.Dim.Render(status), c.Width-1))
}

// IsSearching reports whether there is a search; [Pager.EndSearch] ends it.
func (p *Pager) IsSearching() bool { return p.search.query != "" }

// BackAction returns the action of a key that goes back; esc ends a search first.
func (p *Pager) BackAction(back func() tea.Cmd) func(key string) tea.Cmd {
	return func(key string) tea.Cmd {
		if key == "esc" && p.IsSearching() {
			p.EndSearch()
			return nil
		}
		return back()
	}
}

// EndSearch ends the search and forgets its hits.
func (p *Pager) EndSearch() { p.search.endSearch() }

// Update handles typed input; handled is false if the message is for another component.
func (p *Pager) Update(msg tea.Msg) (cmd tea.Cmd, handled bool) {
	if !p.search.isTyping {
		return nil, false
	}
	s := &p.search
	if k, ok := msg.(tea.KeyPressMsg); ok {
		switch k.String() {
		case "enter":
			s.isTyping = false
			s.input.Blur()
			return p.startSearch(s.input.Value()), true
		case "esc", "ctrl+c":
			s.endSearch()
			return nil, true
		}
	}
	s.input, cmd = s.input.Update(msg)
	return cmd, true
}

func (p *Pager) openSearch() tea.Cmd {
	p.search.isTyping = true
	p.search.input.SetValue("")
	return p.search.input.Focus()
}

// startSearch searches for a text, from the top of the window on.
func (p *Pager) startSearch(text string) tea.Cmd {
	p.search.endSearch()
	if p.search.query = strings.ToLower(strings.TrimSpace(text)); p.search.query == "" {
		return nil
	}
	return p.findHit(p.top, true)
}

// nextHit goes to the next hit, or to the previous one.
func (p *Pager) nextHit(forward bool) tea.Cmd {
	from, to := p.VisibleRange()
	at := p.search.currentHit
	if at < from || at >= to { // scrolled away: continue from the window
		at = from - 1
		if !forward {
			at = to
		}
	}
	if forward {
		return p.findHit(at+1, true)
	}
	return p.findHit(at-1, false)
}

func (p *Pager) findHit(from int, forward bool) tea.Cmd {
	s := &p.search
	find, finds := p.source.(SearchableSource)
	finds = finds && s.requester != nil
	lines, text := lineFinder{p.source, p.canvas}, s.query
	lines.canvas.Theme = &draw.Theme{} // the search reads the lines without styles
	land := func(hits []int, among int) {
		if s.hits, s.searchedLines, s.currentHit = hits, among, -1; len(hits) > 0 {
			i, exact := slices.BinarySearch(hits, from)
			if !forward && !exact {
				i--
			}
			s.currentHit = hits[(i+len(hits))%len(hits)] // wrap around
		}
		p.GoToLine(s.currentHit)
	}
	s.answer.Close()
	if !finds && (s.requester == nil || lines.Len() <= maxSyncLines) {
		hits, _ := lines.findLines(context.Background(), text)
		land(hits, lines.Len())
		return nil
	}
	among := lines.Len()
	by := fetch.Requester{Start: s.requester.Start, Clock: s.requester.Clock, OnAnswer: func() tea.Cmd {
		if s.answer.Err == nil {
			land(s.answer.Value, among)
		}
		return nil
	}}
	if !finds {
		return s.answer.Refetch(by, text, func(ctx context.Context) ([]int, error) { return lines.findLines(ctx, text) })
	}
	among = -1
	return s.answer.Refetch(by, text, func(ctx context.Context) ([]int, error) {
		at, err := find.FindLine(ctx, text, from, forward)
		if at < 0 {
			return nil, err
		}
		return []int{at}, err
	})
}

func (s *searchState) endSearch() {
	s.answer.Close()
	s.input.Blur()
	s.isTyping, s.query, s.currentHit, s.hits, s.answer = false, "", -1, nil, fetch.Answer[[]int]{}
}

// highlightHits highlights the hits in a row; here is true for the row of the current hit.
func (s *searchState) highlightHits(c draw.Canvas, row string, here bool) string {
	if s.query == "" || s.isTyping {
		return row
	}
	plain := ansi.Strip(row)
	lower := strings.ToLower(plain)
	if len(lower) != len(plain) || !strings.Contains(lower, s.query) {
		return row
	}
	style := c.Theme.Selected
	if !here {
		style = c.Theme.Accent.Underline(true)
	}
	var b strings.Builder
	for {
		at := strings.Index(lower, s.query)
		if at < 0 {
			return b.String() + plain
		}
		b.WriteString(plain[:at] + style.Render(plain[at:at+len(s.query)]))
		plain, lower = plain[at+len(s.query):], lower[at+len(s.query):]
	}
}
