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

// search is what is searched for, and where it was found.
type search struct {
	input  textinput.Model
	typing bool
	text   string // in lower case, empty if nothing is searched for
	// at is the line of the last hit, -1 if there is none.
	at int
	// hits are all matching lines, unless a Finder searches; stale if the lines changed since.
	hits   []int
	stale  bool
	start  fetch.Start
	cancel context.CancelFunc // of a Finder's search that runs, else nil
	asked  int                // how many searches a Finder was asked for
	err    error
	none   bool
}

// found brings where a Finder has found what was searched for.
type found struct {
	pager *Pager
	asked int
	at    int
	err   error
}

// Keys are those that scroll, search and wrap.
func (p *Pager) Keys() []keys.Binding {
	searching := func() bool { return p.search.text != "" }
	return append(keys.Moving(p.Move),
		keys.Binding{Name: "search", Keys: []string{"/"}, Label: "/", What: "search", Group: keys.Look, Short: true, Do: func(string) tea.Cmd { return p.open() }},
		keys.Binding{Name: "next-hit", Keys: []string{"n"}, Label: "n", What: "next hit", Group: keys.Look, On: searching, Do: func(string) tea.Cmd { return p.next(true) }},
		keys.Binding{Name: "previous-hit", Keys: []string{"N"}, Label: "N", What: "previous hit", Group: keys.Look, On: searching, Do: func(string) tea.Cmd { return p.next(false) }},
		keys.Binding{Name: "wrap", Keys: []string{"w"}, Label: "w", What: "wrap long lines, or cut them", Group: keys.Look, Do: keys.Run(func() { p.wrap = !p.wrap })},
	)
}

// Typing reports whether a search is being typed: the pager takes all keys then.
func (p *Pager) Typing() bool { return p.search.typing }

// Prompt is the line in which that is typed.
func (p *Pager) Prompt(width int) string {
	p.search.input.SetWidth(max(width-4, 1))
	return " " + p.search.input.View()
}

// Status says how the search stands, empty if nothing is searched for.
func (p *Pager) Status() string {
	s := &p.search
	switch {
	case s.text == "":
		return ""
	case s.cancel != nil:
		return "searching for " + s.text
	case s.err != nil:
		return "the search failed: " + s.err.Error()
	case s.none || len(s.hits) == 0 && s.at < 0:
		return s.text + " is not here"
	case len(s.hits) == 0:
		return "/" + s.text
	}
	n, _ := slices.BinarySearch(s.hits, s.at)
	return fmt.Sprintf("/%s %d of %d", s.text, min(n+1, len(s.hits)), len(s.hits))
}

// Page draws the window, with the search's status or how much more there is in its last line.
func (p *Pager) Page(c draw.Canvas) []string {
	lines := p.View(c)
	status := p.Status()
	if more := p.More(); status == "" && more > 0 {
		status = human.Count(more, "line") + " more below"
	}
	if status == "" || len(lines) < 3 {
		return lines
	}
	lines = p.View(c.Sized(c.Width, c.Height-1))
	return append(lines, c.FitRight(c.Theme.Dim.Render(status), c.Width-1))
}

// Searching reports whether something is searched for; [Pager.EndSearch] ends it.
func (p *Pager) Searching() bool { return p.search.text != "" }

// Hit is the line of the last hit, -1 if there is none.
func (p *Pager) Hit() int {
	if !p.Searching() {
		return -1
	}
	return p.search.at
}

// EndSearch forgets what was searched for.
func (p *Pager) EndSearch() { p.search.end() }

// Update takes what was typed or found; handled is false if it is for others.
func (p *Pager) Update(msg tea.Msg) (cmd tea.Cmd, handled bool) {
	if m, ok := msg.(found); ok {
		if m.pager != p {
			return nil, false
		}
		p.handleFound(m)
		return nil, true
	}
	if !p.search.typing {
		return nil, false
	}
	s := &p.search
	if k, ok := msg.(tea.KeyPressMsg); ok {
		switch k.String() {
		case "enter":
			s.typing = false
			s.input.Blur()
			return p.startSearch(s.input.Value()), true
		case "esc", "ctrl+c":
			s.end()
			return nil, true
		}
	}
	s.input, cmd = s.input.Update(msg)
	return cmd, true
}

func (p *Pager) open() tea.Cmd {
	p.search.typing = true
	p.search.input.SetValue("")
	return p.search.input.Focus()
}

// startSearch searches for a text from the top of the window on.
func (p *Pager) startSearch(text string) tea.Cmd {
	p.search.end()
	p.search.text, p.search.stale = strings.ToLower(strings.TrimSpace(text)), true
	if p.search.text == "" {
		return nil
	}
	return p.seek(p.top, true)
}

// next goes to the next hit, or the one before.
func (p *Pager) next(forward bool) tea.Cmd {
	from, to := p.Visible()
	at := p.search.at
	if at < from || at >= to { // scrolled away: from here on
		at = from - 1
		if !forward {
			at = to
		}
	}
	if forward {
		return p.seek(at+1, true)
	}
	return p.seek(at-1, false)
}

func (p *Pager) seek(from int, forward bool) tea.Cmd {
	s := &p.search
	if finder, ok := p.source.(Finder); ok && s.start != nil {
		if s.cancel != nil {
			s.cancel()
		}
		s.asked++
		text, asked := s.text, s.asked
		cmd, cancel := s.start(func(ctx context.Context) tea.Msg {
			at, err := finder.Find(ctx, text, from, forward)
			return found{p, asked, at, err}
		})
		s.cancel = cancel
		return cmd
	}
	p.refresh()
	if s.at = -1; len(s.hits) > 0 {
		i, exact := slices.BinarySearch(s.hits, from)
		if !forward && !exact {
			i--
		}
		s.at = s.hits[(i+len(s.hits))%len(s.hits)] // round the end
	}
	p.GoTo(s.at)
	return nil
}

// refresh finds all lines that hold what is searched for.
func (p *Pager) refresh() {
	s := &p.search
	if !s.stale {
		return
	}
	s.hits, s.stale = nil, false
	for i := range p.source.Len() {
		if strings.Contains(strings.ToLower(ansi.Strip(p.line(i).Text)), s.text) {
			s.hits = append(s.hits, i)
		}
	}
}

func (p *Pager) handleFound(m found) {
	s := &p.search
	if m.asked != s.asked || s.cancel == nil {
		return
	}
	s.cancel()
	s.cancel = nil
	if s.err, s.none = m.err, m.err == nil && m.at < 0; m.err == nil {
		s.at = m.at
		p.GoTo(m.at)
	}
}

func (s *search) end() {
	if s.cancel != nil {
		s.cancel()
	}
	s.input.Blur()
	s.typing, s.text, s.at, s.hits, s.cancel, s.err, s.none = false, "", -1, nil, nil, nil, false
}

// mark sets off what was searched for in a row; here is the hit itself.
func (s *search) mark(c draw.Canvas, row string, here bool) string {
	if s.text == "" || s.typing {
		return row
	}
	plain := ansi.Strip(row)
	lower := strings.ToLower(plain)
	if len(lower) != len(plain) || !strings.Contains(lower, s.text) {
		return row
	}
	style := c.Theme.Selected
	if !here {
		style = c.Theme.Accent.Underline(true)
	}
	var b strings.Builder
	for {
		at := strings.Index(lower, s.text)
		if at < 0 {
			return b.String() + plain
		}
		b.WriteString(plain[:at] + style.Render(plain[at:at+len(s.text)]))
		plain, lower = plain[at+len(s.text):], lower[at+len(s.text):]
	}
}
