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

// page is one tab of the screen: what it has read and what the user has opened in it.
type page interface {
	// count is what stands behind the page's name, empty for nothing.
	count(*job.Job) string
	// load reads what is missing, when the page is opened and whenever the job or an answer changes.
	load(*Screen) tea.Cmd
	// head are lines above those that scroll.
	head(draw.Canvas, *Screen) []string
	// lines are what scrolls: made again after a change of the job, an answer, the width, or each second if ages.
	lines(draw.Canvas, *Screen) pager.Source
	ages() bool
	// wantsContents reports whether the page shows what is in the backup.
	wantsContents(*Screen) bool
	// keys are the page's own. They are made once.
	keys(*Screen) []keys.Binding
	// leave is called when another page is opened.
	leave()
	// answers are what the page has asked for.
	answers() []answer
}

// answer is what can be asked for anew if it could not be read, or withdrawn while it is to come.
type answer interface {
	Forget()
	Close()
}

// readAge is how long what pages read stays fresh while the job goes on.
const readAge = 30 * time.Second

// still is a page that reads nothing, for pages to embed.
type still struct{}

func (still) count(*job.Job) string              { return "" }
func (still) load(*Screen) tea.Cmd               { return nil }
func (still) head(draw.Canvas, *Screen) []string { return nil }
func (still) ages() bool                         { return true }
func (still) wantsContents(*Screen) bool         { return false }
func (still) keys(*Screen) []keys.Binding        { return nil }
func (still) leave()                             {}
func (still) answers() []answer                  { return nil }

// note wraps a text into at most most lines that begin with a space; nothing without a text.
func note(c draw.Canvas, style lipgloss.Style, text string, most int) []string {
	if text == "" {
		return nil
	}
	return c.Note(style, text, 1, most)
}

// waiting says what is read, and for how long: since is zero if it was not asked for.
func waiting(c draw.Canvas, s *Screen, what string, since time.Time) string {
	if !since.IsZero() {
		what += " for " + human.Duration(s.sources.Clock().Sub(since))
	}
	return what + c.Glyphs.Ellipsis
}

// counted returns a count to stand behind a page's name; nothing is not said.
func counted(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprint(n)
}

// aboutLines is how many lines a page may say about its list, above it.
func aboutLines(c draw.Canvas) int {
	if c.Height < 16 {
		return 1
	}
	return 3
}

// moment is a time stamp with its age; empty if it is not known.
func moment(c draw.Canvas, t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return describe.Moment(t, c.Now) + "  " + human.Ago(t, c.Now)
}

// Noticed is a sentence for the user that stays until the next key.
type Noticed struct{ Text string }

// MaxCopied is how many bytes are copied at once (terminal.MaxClipboard).
const MaxCopied = 70_000

func noticed(text string) tea.Cmd { return func() tea.Msg { return Noticed{text} } }

// CopyText sends text to the terminal's clipboard, and says so, or why not; instead helps where it is too long.
// Whether the terminal takes it is unknown: OSC 52 has no answer.
func (s *Sources) CopyText(what, text, instead string) tea.Cmd {
	switch n := len(text); {
	case n == 0:
		return noticed("There is nothing to copy here.")
	case s.WhyNoClipboard != "":
		return noticed("Not copied: " + s.WhyNoClipboard)
	case n > MaxCopied:
		return noticed(
			fmt.Sprintf(
				"Not copied: %s has %s, and a terminal's clipboard takes %s at a time. %s",
				what,
				human.Bytes(int64(n)),
				human.Bytes(MaxCopied),
				instead,
			),
		)
	default:
		return tea.Batch(
			tea.SetClipboard(text),
			noticed(fmt.Sprintf("Sent to the terminal's clipboard: %s, %s.", what, human.Count(n, "byte"))),
		)
	}
}

// copyKeys are y for what is selected, and Y for a whole page. Each function gives a name and a text without
// styles; on says whether there is anything, nil for always.
func copyKeys(s *Screen, on func() bool, selected, all func() (what, text string)) []keys.Binding {
	copied := func(of func() (what, text string), instead func() string) func(string) tea.Cmd {
		return func(string) tea.Cmd {
			what, text := of()
			return s.sources.CopyText(what, strings.TrimRight(text, "\n"), instead())
		}
	}
	inParts := func() string { return "Copy it in parts with your terminal." }
	byLine := func() string { return "Copy lines with " + s.sources.Keys.Key("copy") + "." }
	return []keys.Binding{
		{
			Name:  "copy",
			Keys:  []string{"y"},
			Label: "y",
			What:  "copy line",
			Brief: "copy",
			Group: keys.Look,
			On:    on,
			Do:    copied(selected, inParts),
		},
		{
			Name:  "copy-all",
			Keys:  []string{"Y"},
			Label: "Y",
			What:  "copy all",
			Group: keys.Look,
			On:    on,
			Do:    copied(all, byLine),
		},
	}
}

// listKeys are those of a page that lists things with details below their rows: one names the
// selected thing with its details.
func listKeys(s *Screen, p page, f *folds, on func() bool, what string, one func() (what, text string)) []keys.Binding {
	all := func() (string, string) { return what, sourceText(s.wide(), p.lines(s.wide(), s)) }
	itself := func(key string) string { return key }
	return append([]keys.Binding{f.binding(s, "details", on, itself)}, copyKeys(s, on, one, all)...)
}

// fields are labelled values; those without a value are not drawn.
type fields [][2]string

// detailWidth is a canvas for details below a row.
func detailWidth(c draw.Canvas) draw.Canvas { return c.Sized(min(c.Width-belowIndent-1, widest), 0) }

// below draws a text below a row, in at most two lines; nothing without a text.
func below(c draw.Canvas, style lipgloss.Style, text string) []string {
	if text == "" {
		return nil
	}
	return draw.Indented(c.Sized(c.Width-belowIndent-1, 0).Para(style, text, 2), belowIndent)
}

// belowIndent is how far what is below a row is indented.
const belowIndent = 4

// details draws fields, and more lines, below a row.
func (f fields) details(c draw.Canvas, more ...string) []string {
	var lines []string
	for _, field := range f {
		lines = append(lines, detailWidth(c).Labelled(field[0], labelWidth, c.Theme.Text, field[1], 20)...)
	}
	return append(draw.Indented(append(lines, more...), belowIndent), "")
}

// cell is a text in a table's column.
type cell struct {
	style lipgloss.Style
	text  string
}

// tableRow draws a cell in each column.
func tableRow(c draw.Canvas, columns []view.ScreenColumn, widths []int, cells ...cell) string {
	drawn := make([]string, len(cells))
	for i, cell := range cells {
		drawn[i] = c.Cell(cell.style, cell.text, widths[i], columns[i].Right)
	}
	return draw.JoinCells(drawn, widths)
}

// countRow draws a group's row: its name and counts, of which zeros are dim.
func countRow(
	c draw.Canvas,
	columns []view.ScreenColumn,
	sign string,
	style lipgloss.Style,
	name string,
	counts []int,
	styles []lipgloss.Style,
) string {
	widths := view.FitColumns(columns, c.Width)
	cells := []cell{{}, {text: sign}, {style, c.CutMiddle(name, widths[2])}}
	for i, n := range counts {
		text, style := fmt.Sprint(n), styles[i]
		if n == 0 {
			text, style = c.Glyphs.Ahead, c.Theme.Dim
		}
		cells = append(cells, cell{style, text})
	}
	return tableRow(c, columns, widths, append(cells, cell{})...)
}

// Page is the name of a page.
type Page string

// The pages that others open or name.
const (
	Overview   Page = "Overview"
	Results    Page = "Results"
	Logs       Page = "Logs"
	Resources  Page = "Resources"
	Volumes    Page = "Volumes"
	Operations Page = "Operations"
	YAML       Page = "YAML"
	Verify     Page = "Verify" // in the place of Resources
)

// Tab is a page as the screen offers it.
type Tab struct {
	Page  Page
	short string // its name on narrow screens
	// Key opens the page here and from the dashboard, and What names it; Footer puts it in the footer.
	Key, What string
	Footer    bool
	make      func() page
}

// keyOf returns the key that opens a page: its own, or else its number; empty for no page.
func keyOf(p Page, named keys.Map) string {
	for i, t := range tabs() {
		switch {
		case t.Page != p:
		case t.Key != "":
			return named.Key(t.What)
		default:
			return strconv.Itoa(i + 1)
		}
	}
	return ""
}

// nameWithKey names a page in a sentence with the key that opens it, such as "the Volumes page (v)".
func nameWithKey(p Page, named keys.Map) string {
	return fmt.Sprintf("the %s page%s", p, human.Parens(keyOf(p, named)))
}

// tabs are the pages in their order.
func tabs() []Tab {
	return []Tab{
		{Page: Overview, short: "Overview", make: func() page { return overview{} }},
		{
			Page:   Results,
			short:  "Results",
			Key:    "e",
			What:   "errors",
			Footer: true,
			make:   func() page { return &resultsPage{} },
		},
		{Page: Logs, short: "Logs", Key: "l", What: "logs", Footer: true, make: func() page { return &logsPage{} }},
		{Page: Resources, short: "Items", make: func() page { return &resourcesPage{} }},
		{
			Page:  Volumes,
			short: "Vols",
			Key:   "v",
			What:  "volumes",
			make:  func() page { return &volumesPage{objects: map[string]*fetch.Answer[cluster.Document]{}} },
		},
		{Page: Operations, short: "Ops", make: func() page { return &operationsPage{} }},
		{Page: "Timeline", short: "Time", make: func() page { return &timelinePage{} }},
		{Page: YAML, short: "YAML", make: func() page { return &yamlPage{} }},
	}
}

// Openers are the tabs with a key.
func Openers() []Tab {
	return slices.DeleteFunc(tabs(), func(t Tab) bool { return t.Key == "" })
}

// indexOf returns the index of a tab, the first one's for a name that there is not.
func (s *Screen) indexOf(p Page) int {
	return max(slices.IndexFunc(s.tabs, func(t Tab) bool { return t.Page == p }), 0)
}

// tabsLine names the pages; on narrow screens with shorter names, without counts, or only the open one.
func (s *Screen) tabsLine(c draw.Canvas) string {
	line := ""
	for _, level := range []struct{ short, only, counted bool }{
		{false, false, true}, {true, false, true}, {true, false, false}, {true, true, true}, {true, true, false},
	} {
		labels := make([]string, len(s.tabs))
		for i, t := range s.tabs {
			words := []string{fmt.Sprint(i + 1), string(t.Page), ""}
			if level.short {
				words[1] = t.short
			}
			if level.only && i != s.at {
				words[1] = ""
			}
			if level.counted {
				words[2] = s.pages[i].count(s.job.Job)
			}
			text := strings.Join(slices.DeleteFunc(words, func(word string) bool { return word == "" }), " ")
			labels[i] = c.Theme.Dim.Render(" " + text + " ")
			if i == s.at {
				labels[i] = c.Theme.Accent.Render("[" + text + "]")
			}
		}
		if line, s.labels = draw.Labels(labels); lipgloss.Width(line) <= c.Width {
			break
		}
	}
	return c.Cut(line, c.Width)
}
