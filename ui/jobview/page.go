package jobview

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"

	"github.com/veltui/veltui/internal/cluster"
	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/view"
	"github.com/veltui/veltui/internal/view/describe"
	"github.com/veltui/veltui/ui/draw"
	"github.com/veltui/veltui/ui/fetch"
	"github.com/veltui/veltui/ui/keys"
	"github.com/veltui/veltui/ui/pager"
)

// jobPage is one tab of the screen: the data that it has read and the rows that the user has opened.
type jobPage interface {
	// countText returns the count after the page's name, empty for none.
	countText(*job.Job) string
	// fetchMissing requests what is missing, when the page is opened and whenever the job or an answer changes.
	fetchMissing(*Screen) tea.Cmd
	// renderHead draws the lines above those that scroll.
	renderHead(draw.Canvas, *Screen) []string
	// renderLines draws the lines that scroll. They are redrawn after a change of the job, an answer or the width, and
	// each second if showsAges.
	renderLines(draw.Canvas, *Screen) pager.Source
	showsAges() bool
	// wantsContents reports whether the page shows the contents of the backup.
	wantsContents(*Screen) bool
	// newBindings returns the page's own keys. It is called once.
	newBindings(*Screen) []keys.Binding
	// onLeave is called when another page is opened.
	onLeave()
	// pageAnswers returns the page's requests.
	pageAnswers() []answerHandle
}

// answerHandle is a request that can be repeated after an error, or cancelled while it is pending.
type answerHandle interface {
	ClearError()
	Close()
}

// pageMaxAge is how long the data of a page stays fresh while the job is running.
const pageMaxAge = 30 * time.Second

// noopPage is a page that reads nothing, for embedding.
type noopPage struct{}

func (noopPage) countText(*job.Job) string                { return "" }
func (noopPage) fetchMissing(*Screen) tea.Cmd             { return nil }
func (noopPage) renderHead(draw.Canvas, *Screen) []string { return nil }
func (noopPage) showsAges() bool                          { return true }
func (noopPage) wantsContents(*Screen) bool               { return false }
func (noopPage) newBindings(*Screen) []keys.Binding       { return nil }
func (noopPage) onLeave()                                 {}
func (noopPage) pageAnswers() []answerHandle              { return nil }

// wrapNote wraps a text into at most most lines that begin with a space; it returns nothing for an empty text.
func wrapNote(c draw.Canvas, style lipgloss.Style, text string, most int) []string {
	if text == "" {
		return nil
	}
	return c.RenderIndented(style, text, 1, most)
}

// waitingText says what is being read, and for how long: since is zero if it was not requested.
func waitingText(c draw.Canvas, s *Screen, what string, since time.Time) string {
	if !since.IsZero() {
		what += " for " + human.Duration(s.dependencies.Clock().Sub(since))
	}
	return what + c.Glyphs.Ellipsis
}

// formatCount formats a count to follow a page's name; it is empty for 0.
func formatCount(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprint(n)
}

// maxAboutLines returns the largest number of lines about a page's list, above it.
func maxAboutLines(c draw.Canvas) int {
	if c.Height < 16 {
		return 1
	}
	return 3
}

// NoticeMsg is a sentence for the user that stays until the next key.
type NoticeMsg struct{ Text string }

// MaxCopyBytes is the largest number of bytes to copy at once (terminal.MaxClipboardBytes).
const MaxCopyBytes = 70_000

func sendNotice(text string) tea.Cmd { return func() tea.Msg { return NoticeMsg{text} } }

// CopyText sends text to the terminal's clipboard and says so, or why not; instead is the advice if the text is too
// long. Whether the terminal accepts the text is unknown, because OSC 52 has no answer.
func (s *Dependencies) CopyText(what, text, instead string) tea.Cmd {
	switch n := len(text); {
	case n == 0:
		return sendNotice("There is nothing to copy here.")
	case s.ClipboardUnavailable != "":
		return sendNotice("Not copied: " + s.ClipboardUnavailable)
	case n > MaxCopyBytes:
		return sendNotice(
			fmt.Sprintf(
				"Not copied: %s has %s, and a terminal's clipboard takes %s at a time. %s",
				what,
				human.Bytes(int64(n)),
				human.Bytes(MaxCopyBytes),
				instead,
			),
		)
	default:
		return tea.Batch(
			tea.SetClipboard(text),
			sendNotice(fmt.Sprintf("Sent to the terminal's clipboard: %s, %s.", what, human.Count(n, "byte"))),
		)
	}
}

// newCopyBindings returns the key y for the selected thing, and Y for a whole page. selected and all return a name
// and a text without styles; on reports whether there is anything to copy, nil for always.
func newCopyBindings(s *Screen, on func() bool, selected, all func() (what, text string)) []keys.Binding {
	copied := func(of func() (what, text string), instead func() string) func(string) tea.Cmd {
		return func(string) tea.Cmd {
			what, text := of()
			return s.dependencies.CopyText(what, strings.TrimRight(text, "\n"), instead())
		}
	}
	inParts := func() string { return "Copy it in parts with your terminal." }
	byLine := func() string { return "Copy lines with " + s.dependencies.Keys.FirstKey("copy") + "." }
	return []keys.Binding{
		{
			Name:        "copy",
			Keys:        []string{"y"},
			Label:       "y",
			Description: "copy line",
			FooterText:  "copy",
			Group:       keys.GroupLook,
			Active:      on,
			Do:          copied(selected, inParts),
		},
		{
			Name:        "copy-all",
			Keys:        []string{"Y"},
			Label:       "Y",
			Description: "copy all",
			Group:       keys.GroupLook,
			Active:      on,
			Do:          copied(all, byLine),
		},
	}
}

// newListBindings returns the keys of a page that lists things with details below their rows: selected returns the
// name of the selected thing and its details.
func newListBindings(
	s *Screen,
	p jobPage,
	f *foldState,
	on func() bool,
	what string,
	selected func() (what, text string),
) []keys.Binding {
	all := func() (string, string) { return what, sourceText(s.copyCanvas(), p.renderLines(s.copyCanvas(), s)) }
	itself := func(key string) string { return key }
	return append([]keys.Binding{f.newBinding(s, "details", on, itself)}, newCopyBindings(s, on, selected, all)...)
}

// detailCanvas returns a canvas for details below a row.
func detailCanvas(c draw.Canvas) draw.Canvas {
	return c.WithSize(min(c.Width-detailIndent-1, maxTextWidth), 0)
}

// renderBelow draws a text below a row, in at most two lines; it returns nothing for an empty text.
func renderBelow(c draw.Canvas, style lipgloss.Style, text string) []string {
	if text == "" {
		return nil
	}
	return draw.IndentLines(c.WithSize(c.Width-detailIndent-1, 0).RenderParagraph(style, text, 2), detailIndent)
}

// detailIndent is the indentation of details below a row.
const detailIndent = 4

// renderDetails draws fields, and more lines, below a row.
func renderDetails(c draw.Canvas, fields []view.PageField, more ...string) []string {
	var lines []string
	for _, f := range fields {
		style := c.Theme.ToneStyle(f.Tone)
		lines = append(lines, detailCanvas(c).RenderLabelled(f.Label, labelWidth, style, f.Text.Text, 20)...)
	}
	return append(draw.IndentLines(append(lines, more...), detailIndent), "")
}

// renderNotes draws texts below a row, each in at most two lines.
func renderNotes(c draw.Canvas, notes []view.Text) []string {
	var lines []string
	for _, note := range notes {
		lines = append(lines, renderBelow(c, c.Theme.ToneStyle(note.Tone), note.Text)...)
	}
	return lines
}

// markedColumns returns the columns on the screen, behind a column for the mark of the row's state.
func markedColumns(columns []view.Column) []view.ScreenColumn {
	return append([]view.ScreenColumn{{Width: 1}}, view.ScreenColumns(columns)...)
}

// markedCells returns the cells of a row for [markedColumns].
func markedCells(
	c draw.Canvas,
	columns []view.Column,
	widths []int,
	state view.MarkedState,
	cells []view.Cell,
) []tableCell {
	drawn := []tableCell{{c.Theme.ToneStyle(state.Tone), c.MarkGlyph(state.Mark)}}
	for i, column := range columns {
		shown := cells[i].Text
		if column.CutMiddle {
			shown.Text = c.TruncateMiddle(shown.Text, widths[i+1])
		}
		drawn = append(drawn, tableCell{c.Theme.ToneStyle(shown.Tone), shown.Text})
	}
	return drawn
}

// tableCell is a text in a table's column.
type tableCell struct {
	style lipgloss.Style
	text  string
}

// renderTableRow draws a cell in each column.
func renderTableRow(c draw.Canvas, columns []view.ScreenColumn, widths []int, cells ...tableCell) string {
	drawn := make([]string, len(cells))
	for i, cell := range cells {
		drawn[i] = c.RenderCell(cell.style, cell.text, widths[i], columns[i].Right)
	}
	return draw.JoinCells(drawn, widths)
}

// renderCountRow draws a group's row: its name and counts, with zeros dimmed.
func renderCountRow(
	c draw.Canvas,
	columns []view.ScreenColumn,
	sign string,
	style lipgloss.Style,
	name string,
	counts []int,
	styles []lipgloss.Style,
) string {
	widths := view.FitColumns(columns, c.Width)
	cells := []tableCell{{}, {text: sign}, {style, c.TruncateMiddle(name, widths[2])}}
	for i, n := range counts {
		text, style := fmt.Sprint(n), styles[i]
		if n == 0 {
			text, style = c.Glyphs.Ahead, c.Theme.Dim
		}
		cells = append(cells, tableCell{style, text})
	}
	return renderTableRow(c, columns, widths, append(cells, tableCell{})...)
}

// PageName is the name of a page.
type PageName = describe.PageName

// The pages that other pages or packages open or name.
const (
	Overview   PageName = "Overview"
	Results             = describe.Results
	Logs       PageName = "Logs"
	Resources           = describe.Resources
	Volumes             = describe.Volumes
	Operations          = describe.Operations
	YAML       PageName = "YAML"
	Verify     PageName = "Verify" // replaces Resources
)

// PageTab is a page in the list of tabs.
type PageTab struct {
	Page      PageName
	shortName string // the page's name on narrow screens
	// Key opens the page from this screen and from the dashboard, and Description names it. InFooter shows the key in
	// the footer.
	Key, Description string
	InFooter         bool
	newPage          func() jobPage
}

// pageKey returns the key that opens a page: its own, or else its number; empty for an unknown page.
func pageKey(p PageName, named keys.Overrides) string {
	for i, t := range pageTabs() {
		switch {
		case t.Page != p:
		case t.Key != "":
			return named.FirstKey(t.Description)
		default:
			return strconv.Itoa(i + 1)
		}
	}
	return ""
}

// pageTitle returns a page's name for a sentence, such as "the Volumes page". Sentences have no keys of pages: the tabs
// show them.
func pageTitle(p PageName) string { return "the " + string(p) + " page" }

// pageTabs returns the pages in their order.
func pageTabs() []PageTab {
	return []PageTab{
		{Page: Overview, shortName: "Overview", newPage: func() jobPage { return overviewPage{} }},
		{
			Page:        Results,
			shortName:   "Results",
			Key:         "e",
			Description: "errors",
			InFooter:    true,
			newPage:     func() jobPage { return &resultsPage{} },
		},
		{
			Page:        Logs,
			shortName:   "Logs",
			Key:         "l",
			Description: "logs",
			InFooter:    true,
			newPage:     func() jobPage { return &logsPage{} },
		},
		{Page: Resources, shortName: "Items", newPage: func() jobPage { return &resourcesPage{} }},
		{
			Page:        Volumes,
			shortName:   "Vols",
			Key:         "v",
			Description: "volumes",
			newPage:     func() jobPage { return &volumesPage{objects: map[string]*fetch.Answer[cluster.ObjectDocument]{}} },
		},
		{Page: Operations, shortName: "Ops", newPage: func() jobPage { return &operationsPage{} }},
		{Page: "Timeline", shortName: "Time", newPage: func() jobPage { return &timelinePage{} }},
		{Page: YAML, shortName: "YAML", newPage: func() jobPage { return &yamlPage{} }},
	}
}

// TabsWithKeys returns the tabs that have a key.
func TabsWithKeys() []PageTab {
	return slices.DeleteFunc(pageTabs(), func(t PageTab) bool { return t.Key == "" })
}

// tabIndex returns the index of a page's tab, 0 for an unknown page.
func (s *Screen) tabIndex(p PageName) int {
	return max(slices.IndexFunc(s.tabs, func(t PageTab) bool { return t.Page == p }), 0)
}

// renderTabsLine draws the names of the pages. On narrow screens it shortens the names, then drops the counts, then
// draws only the open page.
func (s *Screen) renderTabsLine(c draw.Canvas) string {
	line := ""
	for _, level := range []struct{ short, only, counted bool }{
		{false, false, true}, {true, false, true}, {true, false, false}, {true, true, true}, {true, true, false},
	} {
		labels := make([]string, len(s.tabs))
		for i, t := range s.tabs {
			words := []string{fmt.Sprint(i + 1), string(t.Page), ""}
			if level.short {
				words[1] = t.shortName
			}
			if level.only && i != s.openTabIndex {
				words[1] = ""
			}
			if level.counted {
				words[2] = s.pages[i].countText(s.job.Job)
			}
			text := strings.Join(slices.DeleteFunc(words, func(word string) bool { return word == "" }), " ")
			labels[i] = c.Theme.Dim.Render(" " + text + " ")
			if i == s.openTabIndex {
				labels[i] = c.Theme.Accent.Render("[" + text + "]")
			}
		}
		if line, s.tabSpans = draw.JoinLabels(labels); lipgloss.Width(line) <= c.Width {
			break
		}
	}
	return c.Truncate(line, c.Width)
}
