package detail

import (
	"strings"
	"time"

	"charm.land/lipgloss/v2"
	"k8s.io/apimachinery/pkg/types"

	"github.com/veltui/veltui/internal/assess"
	"github.com/veltui/veltui/internal/view/describe"
	"github.com/veltui/veltui/ui/draw"
	"github.com/veltui/veltui/watch"
)

// Tab is one of the dashboard's lists of things that are no jobs.
type Tab struct {
	Name  string
	Short string // stands for Name where there is little room
	// Kinds are the resources that it shows, as [watch.Source] names them; the tab says if one cannot be listed.
	Kinds []string
	// There reports whether the tab exists; nil is always. A tab that comes and goes stands last, so that numbers stay.
	There  func(*assess.Assessment) bool
	Groups func(*assess.Assessment) []Group
	// Reads names what more is to be read when a row's page opens: the page shows it once it is there. May be nil.
	Reads func(a *assess.Assessment, key string) string
	Empty func(*watch.Snapshot) string // why there are no rows although all kinds are known
}

// Group is rows with the same columns. The first group's titles stand above the list, others' above their rows.
type Group struct {
	Heading string // in a line of its own
	// Columns are those of the cells: the name, the state that short lines show too, and others.
	Columns []draw.Column
	Rows    []Row
	Note    string // in place of missing rows, such as why they cannot be seen
}

// Row is one thing.
type Row struct {
	// Key is the uid: the row stays selected by it, and its page is found again by it.
	Key string
	// Cells are made for the visible rows only. now is the present in the cluster's clock.
	Cells func(now time.Time) []Text
	Words []string // for a filter
	About string   // a sentence about the selected row
	Alarm bool     // wants attention
	// Malformed is what Velero's types cannot hold of it. It replaces all cells but the first.
	Malformed *watch.Malformed
	Page      func() Page // behind enter, made for each assessment
}

// Text is a text in a style.
type Text struct {
	Text  string
	Style Style
	// Phases stand in place of the text: a sign each, the newest at the right, the oldest cut first.
	Phases []string
}

// Styled returns a text in a style.
func Styled(style Style, text string) Text { return Text{Text: text, Style: style} }

// Style is a meaning that the theme gives a style. It is never the only sign.
type Style int

// The styles.
const (
	Plain Style = iota
	Strong
	Dim
	Good
	Running
	Waiting
	Bad
)

// Resolve returns the theme's style for the meaning.
func (s Style) Resolve(t *draw.Theme) lipgloss.Style {
	return *[...]*lipgloss.Style{&t.Text, &t.Strong, &t.Dim, &t.Good, &t.Running, &t.Waiting, &t.Bad}[s]
}

// Page is what there is to know of one thing.
type Page struct {
	Kind, Name string // the title
	State      Text   // at the right of the title
	Notes      []Text // what matters most first
	Sections   []Section
}

// Section is one part of a page, with a title. What is empty is left out.
type Section struct {
	Title   string
	Fields  []Field
	Bars    []Bar         // numbers over time, the newest at the right
	BarsSay string        // the caption of the bars
	Columns []draw.Column // with Rows, a table
	Rows    []Cells
	Lines   []Text // free text, wrapped
}

// Field is a label with what it says. Without a text it is left out.
type Field struct {
	Label string
	Text
}

// Described is a field that [describe] made.
func Described(f describe.Field) Field {
	text := Text{Text: strings.Join(f.Values, "\n")}
	switch {
	case f.Tone == describe.Bad:
		text.Style = Bad
	case f.Tone == describe.Warning:
		text.Style = Waiting
	case f.Unset:
		text.Style = Dim
	}
	if f.Note != "" {
		text.Text += "  (" + f.Note + ")"
	}
	return Field{Label: f.Title, Text: text}
}

// Lines draws a field with its label in width cells, or before the text where there is little room.
func (f Field) Lines(c draw.Canvas, width, most int) []string {
	style := f.Style.Resolve(c.Theme)
	if c.Width < narrow && f.Text.Text != "" {
		return c.Para(style, f.Label+": "+f.Text.Text, most)
	}
	return c.Labelled(f.Label, width, style, f.Text.Text, most)
}

// narrow is below what a label has no column of its own.
const narrow = 50

// Bar is a number, 0 if unknown, with the sign of a phase below it.
type Bar struct {
	Value float64
	Phase string
}

// Cells are one row of a table. With a job's uid, enter opens that job.
type Cells struct {
	Job   types.UID
	Cells []Text
}
