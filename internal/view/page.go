package view

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/veltui/veltui/internal/assess"
	"github.com/veltui/veltui/internal/diagnosis"
	"github.com/veltui/veltui/internal/stored/results"
	"github.com/veltui/veltui/watch"
)

// Tab is one of the dashboard's lists of resources other than jobs.
type Tab struct {
	Name      string
	ShortName string // replaces Name on narrow screens
	// Kinds are the resources that the tab shows, as [watch.Source] names them; the tab says if one cannot be listed.
	Kinds []string
	// Exists reports whether the tab exists; nil is always. A tab that comes and goes must be last, so that the numbers
	// of the others do not change.
	Exists func(*assess.Assessment) bool
	Groups func(*assess.Assessment) []Group
	// DetailKey returns the key of the data to read when a row's page opens; the page shows the data once they are read.
	// May be nil.
	DetailKey func(a *assess.Assessment, key string) string
	EmptyText func(*watch.Snapshot) string // why there are no rows although all kinds are known
}

// Group is a list of rows with the same columns. The titles of the first group are above the list, those of other
// groups above their rows.
type Group struct {
	Heading string // on a line of its own
	// Columns are the columns of the cells: the name, the state, which short lines show too, and others.
	Columns []ScreenColumn
	Rows    []Row
	Note    string // replaces missing rows, for example with why they cannot be read
}

// Row is one resource in a list.
type Row struct {
	// Key is the UID, by which the row stays selected and its page is found again.
	Key string
	// Cells returns the cells; it is called for visible rows only. now is by the cluster's clock.
	Cells          func(now time.Time) []Text
	FilterWords    []string // the words that a filter searches
	Summary        string   // a sentence about the selected row
	NeedsAttention bool     // the row is marked as needing attention
	// Malformed is the part of the resource that Velero's types cannot hold. It replaces all cells but the first.
	Malformed *watch.MalformedObject
	Page      func() Page // opened by enter, and made for each assessment
}

// NameAndState returns the first two cells of the row, for a line of few cells.
func (r Row) NameAndState(now time.Time) (name string, state Text) {
	cells := append(r.Cells(now), Text{}, Text{})
	return cells[0].Text, cells[1]
}

// Page shows what is known of one resource.
type Page struct {
	Kind, Name string // the title
	State      Text   // at the right of the title
	Notes      []Text // the most important first
	Sections   []PageSection
}

// PageSection is one part of a page, with a title. Empty sections are left out.
type PageSection struct {
	Title       string
	Steps       []Step           // what to do, the most useful step first
	Facts       []diagnosis.Fact // what was observed, with its origin and age
	Items       []Text           // a list
	Fields      []PageField
	Bars        []Bar          // numbers over time, the newest at the right
	BarsCaption string         // the caption of the bars
	Columns     []ScreenColumn // with Rows: a table
	Rows        []TableRow
	Lines       []Text // free text, wrapped
	Lists       []List // further lists, with titles of their own
	Messages    []results.Message
	MaxNames    int    // the largest number of names that vary in a message; all if negative
	Footer      []Text // below the messages
}

// List is a list with a title. An empty list is left out.
type List struct {
	Title string
	Items []Text
}

// IsEmpty reports whether a section has nothing below its title.
func (s PageSection) IsEmpty() bool {
	hasText := slices.ContainsFunc(s.Fields, func(f PageField) bool { return f.Text.Text != "" })
	return !hasText && len(s.Steps)+len(s.Facts)+len(s.Items)+len(s.Bars)+len(s.Rows)+len(s.Lines)+len(s.Lists)+
		len(s.Messages)+len(s.Footer) == 0
}

// Step is something to do.
type Step struct {
	Title        string // the kind of step, such as [NextTitle]; may be empty
	Text         string
	Reason       string   // why the step helps
	Consequences []string // what it does, leaves alone and leads to
	Objection    string   // why veltui does not do it, and what to do instead
	Command      string   // the veltui command that does it
	Alternatives []string // other commands that do it
}

// Commands returns all commands that do the step.
func (s Step) Commands() []string {
	if s.Command == "" {
		return s.Alternatives
	}
	return append([]string{s.Command}, s.Alternatives...)
}

// PageField is a label with a text. A field without a text is left out.
type PageField struct {
	Label string
	Text
}

// Bar is a number, 0 if unknown, with a phase whose sign is below it.
type Bar struct {
	Value float64
	Phase string
}

// TableRow is one row of a table. If it has a job's UID, enter opens that job.
type TableRow struct {
	JobUID types.UID
	Cells  []Text
}
