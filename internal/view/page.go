package view

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/veltui/veltui/internal/assess"
	"github.com/veltui/veltui/watch"
)

// Tab is one of the dashboard's lists of resources other than jobs.
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
	Columns []ScreenColumn
	Rows    []Row
	Note    string // in place of missing rows, such as why they cannot be seen
}

// Row is one resource in a list.
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

// Short returns the first two cells of the row, for a line of few cells.
func (r Row) Short(now time.Time) (name string, state Text) {
	cells := append(r.Cells(now), Text{}, Text{})
	return cells[0].Text, cells[1]
}

// Page is what there is to know of one resource.
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
	Bars    []Bar          // numbers over time, the newest at the right
	BarsSay string         // the caption of the bars
	Columns []ScreenColumn // with Rows, a table
	Rows    []Cells
	Lines   []Text // free text, wrapped
}

// Field is a label with what it says. Without a text it is left out.
type Field struct {
	Label string
	Text
}

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
