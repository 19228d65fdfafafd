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

// Screen shows one resource of a [view.Tab].
type Screen struct {
	tab    view.Tab
	rowKey string
	// page is the last known state; once the resource is deleted, it stays on the screen, marked as such.
	page       view.Page
	hasPage    bool
	isDeleted  bool
	assessment *assess.Assessment

	*pager.Pager
	keyBindings  []keys.Binding
	firstLineRow int // the line in which the scrolling lines were last drawn
}

// New returns the screen of the tab's row with the key. back leaves the screen, and open opens a job.
func New(tab view.Tab, key string, a *assess.Assessment, back func() tea.Cmd, open func(types.UID) tea.Cmd) *Screen {
	s := &Screen{tab: tab, rowKey: key, Pager: pager.New(nil)}
	leave := func(string) tea.Cmd {
		if s.IsSearching() {
			s.EndSearch()
			return nil
		}
		return back()
	}
	selected := func() types.UID { return types.UID(s.SelectedKey()) }
	leads := func() bool { return selected() != "" && s.assessment != nil && s.assessment.FindJob(selected()) != nil }
	s.keyBindings = append([]keys.Binding{
		{
			Name:        "back",
			Keys:        []string{"esc", "left", "h", "backspace"},
			Label:       "esc",
			Description: "back",
			Group:       keys.GroupLook,
			InFooter:    true,
			Do:          leave,
		},
		{
			Name:        "open",
			Keys:        []string{"enter", "right"},
			Label:       "enter",
			Description: "open",
			Group:       keys.GroupLook,
			InFooter:    true,
			Active:      leads,
			Do:          func(string) tea.Cmd { return open(selected()) },
		},
	}, s.Pager.Bindings()...)
	s.SetAssessment(a)
	return s
}

// TabName returns the name of the tab that the resource is in.
func (s *Screen) TabName() string { return s.tab.Name }

// RowKey returns the key of the resource's row in its tab.
func (s *Screen) RowKey() string { return s.rowKey }

// SetAssessment sets the newest state of the resource.
func (s *Screen) SetAssessment(a *assess.Assessment) {
	if a == nil {
		return
	}
	s.assessment = a
	for _, group := range s.tab.Groups(a) {
		for _, row := range group.Rows {
			if row.Key == s.rowKey && row.Page != nil {
				s.page, s.hasPage, s.isDeleted = row.Page(), true, false
				return
			}
		}
	}
	s.isDeleted = true
}

// Bindings returns the screen's own keys.
func (s *Screen) Bindings() []keys.Binding { return s.keyBindings }

// Update handles a message; handled is false if the message is for another screen.
func (s *Screen) Update(msg tea.Msg) (cmd tea.Cmd, handled bool) { return s.Pager.Update(msg) }

// HandleClick selects the clicked line; again is true if it was already selected.
func (s *Screen) HandleClick(y int) (again bool) { return s.Pager.SelectRow(y - s.firstLineRow) }

// View draws the screen between the header and the footer.
func (s *Screen) View(c draw.Canvas) string {
	if !s.hasPage {
		return c.RenderPage([]string{"", "  It no longer exists."})
	}
	lines := []string{s.renderTitle(c)}
	if c.Height >= 8 {
		lines = append(lines, c.RenderRule())
	}
	s.firstLineRow = len(lines)
	body := c.WithSize(c.Width, max(c.Height-len(lines), 0))
	s.SetSource(pager.Lines(renderPage(body, s.page)))
	return c.RenderPage(append(lines, s.RenderPage(body)...))
}

func (s *Screen) renderTitle(c draw.Canvas) string {
	right := c.Theme.ToneStyle(s.page.State.Tone).Render(s.page.State.Text)
	if s.isDeleted {
		right = c.Theme.Bad.Render("deleted from the cluster")
	}
	name := strings.TrimSpace(c.Theme.Dim.Render(s.page.Kind) + " " + c.Theme.Strong.Render(s.page.Name))
	return c.AlignEnds(" "+name, right+" ")
}
