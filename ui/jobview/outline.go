package jobview

import (
	"strings"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/veltui/veltui/ui/draw"
	"github.com/veltui/veltui/ui/keys"
	"github.com/veltui/veltui/ui/pager"
)

// outline lists the rows of a page. Some rows open to show others below them.
type outline struct {
	canvas draw.Canvas
	folds  foldState
	rows   []outlineRow
}

// outlineRow is one row. It is drawn when visible, and by another goroutine that searches: render must not read
// mutable state.
type outlineRow struct {
	key    string // empty if the row cannot be selected
	render func(draw.Canvas) string
}

func (o *outline) Len() int { return len(o.rows) }

func (o *outline) LineAt(c draw.Canvas, i int) pager.Line {
	return pager.Line{Text: o.rows[i].render(c), Key: o.rows[i].key}
}

func (o *outline) addRow(key string, drawn func(draw.Canvas) string) {
	o.rows = append(o.rows, outlineRow{key, drawn})
}

// addLines adds drawn lines, which cannot be selected.
func (o *outline) addLines(lines ...string) {
	for _, line := range lines {
		o.addRow("", func(draw.Canvas) string { return line })
	}
}

// addGroup adds a row that opens and closes, and returns whether it is open.
func (o *outline) addGroup(key string, byDefault bool, drawn func(c draw.Canvas, sign string) string) bool {
	open := o.folds.isOpen(key, byDefault)
	o.addRow(key, func(c draw.Canvas) string {
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
		lines[i] = source.LineAt(c, i).Text
	}
	return plainText(lines)
}

// foldState records which groups of a page are open. The key of a nested group is its parent's key, a slash and its
// own key.
type foldState struct {
	// toggled are the groups that the user has opened or closed, against their default.
	toggled map[string]bool
	// openAroundHit are the groups that stay open around a search hit.
	openAroundHit map[string]bool
	// allOpen is true during a search, which covers all groups.
	allOpen bool
}

func (f foldState) isOpen(key string, byDefault bool) bool {
	return f.allOpen || f.openAroundHit[key] || f.toggled[key] != byDefault
}

// newBinding returns the key that opens and closes the group of the selected row. group returns the group of a row's
// key.
func (f *foldState) newBinding(s *Screen, what string, on func() bool, group func(key string) string) keys.Binding {
	return keys.Binding{
		Name:        "open",
		Keys:        []string{"enter"},
		Label:       "enter",
		Description: what,
		Group:       keys.GroupLook,
		InFooter:    true,
		Active:      on,
		Do: func(string) tea.Cmd {
			switch key := group(s.SelectedKey()); {
			case key == "":
				return nil
			case f.openAroundHit[key]:
				delete(f.openAroundHit, key)
			case f.toggled == nil:
				f.toggled = map[string]bool{key: true}
			default:
				f.toggled[key] = !f.toggled[key]
			}
			return s.FetchMissing()
		},
	}
}

// groupAtDepth returns a function from the key of a row to the key of its group at a depth of nesting.
func groupAtDepth(depth int) func(key string) string {
	return func(key string) string {
		parts := strings.Split(key, "/")
		return strings.Join(parts[:min(len(parts), depth)], "/")
	}
}

// followSearch opens all groups during a search, and afterwards leaves the groups of the selected row open.
func (f *foldState) followSearch(s *Screen) {
	searching := s.IsSearching() || s.IsTyping()
	if f.allOpen && !searching {
		f.openAroundHit = map[string]bool{}
		key := s.SelectedKey()
		for at, r := range key {
			if r == '/' {
				f.openAroundHit[key[:at]] = true
			}
		}
	}
	f.allOpen = searching
}
