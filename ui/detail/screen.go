package detail

import (
	"strings"

	tea "charm.land/bubbletea/v2"
	"k8s.io/apimachinery/pkg/types"

	"github.com/veltui/veltui/internal/assess"
	"github.com/veltui/veltui/internal/view"
	"github.com/veltui/veltui/ui/draw"
	"github.com/veltui/veltui/ui/keys"
	"github.com/veltui/veltui/ui/pager"
)

// Screen is the screen of one resource of a [view.Tab].
type Screen struct {
	tab view.Tab
	key string
	// page is the last known state; it stays on the screen, marked, when the thing is gone.
	page     view.Page
	known    bool
	deleted  bool
	assessed *assess.Assessment

	*pager.Pager
	keys    []keys.Binding
	linesAt int // where the lines that scroll were drawn last
}

// New is the screen of a tab's row with the key. back leaves it, and open opens a job.
func New(tab view.Tab, key string, a *assess.Assessment, back func() tea.Cmd, open func(types.UID) tea.Cmd) *Screen {
	s := &Screen{tab: tab, key: key, Pager: pager.New(nil)}
	leave := func(string) tea.Cmd {
		if s.Searching() {
			s.EndSearch()
			return nil
		}
		return back()
	}
	selected := func() types.UID { return types.UID(s.Selected()) }
	leads := func() bool { return selected() != "" && s.assessed != nil && s.assessed.Find(selected()) != nil }
	s.keys = append([]keys.Binding{
		{
			Name:  "back",
			Keys:  []string{"esc", "left", "h", "backspace"},
			Label: "esc",
			What:  "back",
			Group: keys.Look,
			Short: true,
			Do:    leave,
		},
		{Name: "open", Keys: []string{"enter", "right"}, Label: "enter", What: "open", Group: keys.Look, Short: true,
			On: leads, Do: func(string) tea.Cmd { return open(selected()) }},
	}, s.Pager.Keys()...)
	s.Load(a)
	return s
}

// Load takes the newest state of the thing.
func (s *Screen) Load(a *assess.Assessment) {
	if a == nil {
		return
	}
	s.assessed = a
	for _, group := range s.tab.Groups(a) {
		for _, row := range group.Rows {
			if row.Key == s.key && row.Page != nil {
				s.page, s.known, s.deleted = row.Page(), true, false
				return
			}
		}
	}
	s.deleted = true
}

// Keys are the screen's own keys.
func (s *Screen) Keys() []keys.Binding { return s.keys }

// Update takes a message; handled is false if it is for others.
func (s *Screen) Update(msg tea.Msg) (cmd tea.Cmd, handled bool) { return s.Pager.Update(msg) }

// Click selects the line that is there; again is true if it was selected.
func (s *Screen) Click(y int) (again bool) { return s.Pager.Click(y - s.linesAt) }

// View draws the screen between the header and the footer.
func (s *Screen) View(c draw.Canvas) string {
	if !s.known {
		return c.Page([]string{"", "  It no longer exists."})
	}
	lines := []string{s.title(c)}
	if c.Height >= 8 {
		lines = append(lines, c.Rule())
	}
	s.linesAt = len(lines)
	body := c.Sized(c.Width, max(c.Height-len(lines), 0))
	s.Show(pager.Lines(pageLines(body, s.page)))
	return c.Page(append(lines, s.Page(body)...))
}

func (s *Screen) title(c draw.Canvas) string {
	right := c.Theme.Tone(s.page.State.Tone).Render(s.page.State.Text)
	if s.deleted {
		right = c.Theme.Bad.Render("deleted from the cluster")
	}
	name := strings.TrimSpace(c.Theme.Dim.Render(s.page.Kind) + " " + c.Theme.Strong.Render(s.page.Name))
	return c.Split(" "+name, right+" ")
}
