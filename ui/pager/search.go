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
	// hits are all matching lines of the first among lines; of a Finder only the last, among -1.
	hits  []int
	among int
	by    *fetch.Asker // searches many lines, nil for nobody
	found fetch.Answer[[]int]
}

// Keys are those that scroll, search and wrap.
func (p *Pager) Keys() []keys.Binding {
	searching := func() bool { return p.search.text != "" }
	return append(
		keys.Moving(p.Move),
		keys.Binding{
			Name:  "search",
			Keys:  []string{"/"},
			Label: "/",
			What:  "search",
			Group: keys.Look,
			Short: true,
			Do:    func(string) tea.Cmd { return p.open() },
		},
		keys.Binding{
			Name:  "next-hit",
			Keys:  []string{"n"},
			Label: "n",
			What:  "next hit",
			Group: keys.Look,
			On:    searching,
			Do:    func(string) tea.Cmd { return p.next(true) },
		},
		keys.Binding{
			Name:  "previous-hit",
			Keys:  []string{"N"},
			Label: "N",
			What:  "previous hit",
			Group: keys.Look,
			On:    searching,
			Do:    func(string) tea.Cmd { return p.next(false) },
		},
		p.Wrapping(false),
	)
}

// Wrapping toggles wrapping; a page of long lines has it in the footer.
func (p *Pager) Wrapping(footer bool) keys.Binding {
	return keys.Binding{
		Name:  "wrap",
		Keys:  []string{"w"},
		Label: "w",
		What:  "toggle wrapping",
		Brief: "wrap",
		Group: keys.Look,
		Short: footer,
		Do:    keys.Run(func() { p.wrap = !p.wrap }),
	}
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
	case s.found.Pending():
		return "searching for " + s.text
	case s.found.Err != nil:
		return "the search failed: " + s.found.Err.Error()
	case len(s.hits) == 0:
		return s.text + " is not here"
	case s.among != p.source.Len(): // which of how many is not known
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

// Leave makes a key that goes back; esc ends a search first.
func (p *Pager) Leave(back func() tea.Cmd) func(key string) tea.Cmd {
	return func(key string) tea.Cmd {
		if key == "esc" && p.Searching() {
			p.EndSearch()
			return nil
		}
		return back()
	}
}

// EndSearch forgets what was searched for.
func (p *Pager) EndSearch() { p.search.end() }

// Update takes what is typed; handled is false if it is for others.
func (p *Pager) Update(msg tea.Msg) (cmd tea.Cmd, handled bool) {
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
	if p.search.text = strings.ToLower(strings.TrimSpace(text)); p.search.text == "" {
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
	find, finds := p.source.(Finder)
	finds = finds && s.by != nil
	lines, text := finder{p.source, p.canvas}, s.text
	lines.canvas.Theme = &draw.Theme{} // as they are drawn without styles
	land := func(hits []int, among int) {
		if s.hits, s.among, s.at = hits, among, -1; len(hits) > 0 {
			i, exact := slices.BinarySearch(hits, from)
			if !forward && !exact {
				i--
			}
			s.at = hits[(i+len(hits))%len(hits)] // round the end
		}
		p.GoTo(s.at)
	}
	s.found.Close()
	s.found.Outdate()
	if !finds && (s.by == nil || lines.Len() <= atOnce) {
		hits, _ := lines.find(context.Background(), text)
		land(hits, lines.Len())
		return nil
	}
	among := lines.Len()
	by := fetch.Asker{Start: s.by.Start, Clock: s.by.Clock, Answered: func() tea.Cmd {
		if s.found.Err == nil {
			land(s.found.Value, among)
		}
		return nil
	}}
	if !finds {
		return s.found.Ask(by, 0, func(ctx context.Context) ([]int, error) { return lines.find(ctx, text) })
	}
	among = -1
	return s.found.Ask(by, 0, func(ctx context.Context) ([]int, error) {
		at, err := find.Find(ctx, text, from, forward)
		if at < 0 {
			return nil, err
		}
		return []int{at}, err
	})
}

func (s *search) end() {
	s.found.Close()
	s.input.Blur()
	s.typing, s.text, s.at, s.hits, s.found = false, "", -1, nil, fetch.Answer[[]int]{}
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
