package jobview

import (
	"strings"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/veltui/veltui/ui/draw"
	"github.com/veltui/veltui/ui/keys"
	"github.com/veltui/veltui/ui/pager"
)

// outline lists what a page has: rows, some of which open to show others below them.
type outline struct {
	canvas draw.Canvas
	folds  folds
	rows   []row
}

// row is one line, drawn when visible, and from another goroutine that searches: draw must read no mutable state.
type row struct {
	key  string // empty if the row cannot be selected
	draw func(draw.Canvas) string
}

func (o *outline) Len() int { return len(o.rows) }

func (o *outline) Line(c draw.Canvas, i int) pager.Line {
	return pager.Line{Text: o.rows[i].draw(c), Key: o.rows[i].key}
}

func (o *outline) add(key string, drawn func(draw.Canvas) string) {
	o.rows = append(o.rows, row{key, drawn})
}

// say adds finished lines, which cannot be selected.
func (o *outline) say(lines ...string) {
	for _, line := range lines {
		o.add("", func(draw.Canvas) string { return line })
	}
}

// group adds a row that opens and closes, and reports whether it is open.
func (o *outline) group(key string, byDefault bool, drawn func(c draw.Canvas, sign string) string) bool {
	open := o.folds.isOpen(key, byDefault)
	o.add(key, func(c draw.Canvas) string {
		sign := c.Glyphs.Cursor
		if open {
			sign = c.Glyphs.Descending
		}
		return drawn(c, c.Theme.Dim.Render(sign))
	})
	return open
}

// plainText returns drawn lines without their styles.
func plainText(lines []string) string {
	for i, line := range lines {
		lines[i] = strings.TrimRight(ansi.Strip(line), " ")
	}
	return strings.Join(lines, "\n")
}

// sourceText returns all lines of a source, drawn without styles.
func sourceText(c draw.Canvas, source pager.Source) string {
	lines := make([]string, source.Len())
	for i := range lines {
		lines[i] = source.Line(c, i).Text
	}
	return plainText(lines)
}

// folds are the open groups of a page. A key is its parent's with its own behind a slash.
type folds struct {
	// turned are those that the user has opened or closed, against the default.
	turned map[string]bool
	// around are those that stay open around what was found.
	around map[string]bool
	// all is true during a search, which covers everything.
	all bool
}

func (f folds) isOpen(key string, byDefault bool) bool {
	return f.all || f.around[key] || f.turned[key] != byDefault
}

// binding opens and closes the group that the selected row belongs to by its key.
func (f *folds) binding(s *Screen, what string, on func() bool, group func(key string) string) keys.Binding {
	return keys.Binding{
		Name:  "open",
		Keys:  []string{"enter"},
		Label: "enter",
		What:  what,
		Group: keys.Look,
		Short: true,
		On:    on,
		Do: func(string) tea.Cmd {
			switch key := group(s.Selected()); {
			case key == "":
				return nil
			case f.around[key]:
				delete(f.around, key)
			case f.turned == nil:
				f.turned = map[string]bool{key: true}
			default:
				f.turned[key] = !f.turned[key]
			}
			return s.Ask()
		},
	}
}

// upTo returns the group that rows belong to, where groups are in each other to a depth.
func upTo(depth int) func(key string) string {
	return func(key string) string {
		parts := strings.Split(key, "/")
		return strings.Join(parts[:min(len(parts), depth)], "/")
	}
}

// settle opens all groups during a search, and afterwards leaves the selected row's open.
func (f *folds) settle(s *Screen) {
	searching := s.Searching() || s.Typing()
	if f.all && !searching {
		f.around = map[string]bool{}
		key := s.Selected()
		for at, r := range key {
			if r == '/' {
				f.around[key[:at]] = true
			}
		}
	}
	f.all = searching
}
