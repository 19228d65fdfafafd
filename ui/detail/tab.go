package detail

import (
	"fmt"
	"slices"
	"time"

	"charm.land/lipgloss/v2"
	"k8s.io/apimachinery/pkg/types"

	"github.com/veltui/veltui/assess"
	"github.com/veltui/veltui/ui/draw"
	"github.com/veltui/veltui/watch"
)

// Tab is one of the dashboard's lists of things that are no jobs.
type Tab struct {
	Name string
	// Short stands for Name where there is little room; empty for Name itself.
	Short string
	// Kinds are the resources that it shows, as [watch.Source] names them. Where
	// one may not be listed or is not there, the tab says so.
	Kinds []string
	// There reports whether the tab is there at all; nil is always. A tab that
	// comes and goes stands behind those that stay, so that their numbers stay.
	There func(*assess.Assessment) bool
	// Groups are the rows, one group below the other.
	Groups func(*assess.Assessment) []Group
	// Reads names what is to be read more when the page of a row opens, empty for
	// nothing; what it brings comes with a later assessment. It may be nil.
	Reads func(a *assess.Assessment, key string) string
	// Empty says why there are no rows although all kinds are known.
	Empty func(*watch.Snapshot) string
}

// Unseen says in a sentence why one of some kinds is not known, empty if all are.
func Unseen(snap *watch.Snapshot, kinds ...string) string {
	for _, s := range snap.Sources {
		if !slices.Contains(kinds, s.Resource) {
			continue
		}
		switch s.State {
		case watch.SourceForbidden:
			return fmt.Sprintf("You may not list %s in namespace %s. The role that veltui needs is in docs/rbac.md.", s.Resource, snap.Namespace)
		case watch.SourceMissing:
			return fmt.Sprintf("This cluster has no %s: Velero's CRDs are not installed. veltui keeps looking.", s.Resource)
		case watch.SourceSyncing:
			return "Reading " + s.Resource + " for the first time..."
		}
	}
	return ""
}

// Group is some rows with the same columns. The titles of the first group stand
// above the list, those of the others above their rows.
type Group struct {
	// Heading names the group in a line of its own; empty for none.
	Heading string
	// Columns are those of the cells. The first is the name, and the second is
	// what short lines show beside it. Priority 0 is never dropped.
	Columns []draw.Column
	Rows    []Row
	// Note stands below the heading where there are no rows, such as why they
	// cannot be seen; empty for none.
	Note string
}

// Row is one thing.
type Row struct {
	// Key is the thing's identity, its uid. The row stays selected by it, and its
	// page is found again by it.
	Key string
	// Cells are what the columns show, drawn for the visible rows only. now is
	// the present in the cluster's clock.
	Cells func(now time.Time) []Text
	// Words are what a filter looks at.
	Words []string
	// About is a sentence about the selected row.
	About string
	// Alarm is true for what wants a person's attention.
	Alarm bool
	// Malformed is what Velero's types cannot hold of the thing. The row then
	// shows that in place of all cells but the first.
	Malformed *watch.Malformed
	// Page is what is behind enter. It is made again for each assessment.
	Page func() Page
}

// Text is a text in a style.
type Text struct {
	Text  string
	Style Style
	// Phases stand in place of the text, in a cell of a table: the sign of each,
	// the newest at the right. The oldest are left out where the cell is narrow.
	Phases []string
}

// Styled returns a text in a style.
func Styled(style Style, text string) Text { return Text{Text: text, Style: style} }

// Style is a meaning that the theme gives a style. It is never the only sign: the
// text says the same.
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
	// Kind and Name are the title.
	Kind, Name string
	// State stands at the right of the title.
	State Text
	// Notes are sentences, what matters most first.
	Notes    []Text
	Sections []Section
}

// Section is one part of a page, with a title. What is empty is left out.
type Section struct {
	Title  string
	Fields []Field
	// Bars are a small picture of numbers over time, the newest at the right, and
	// BarsSay is what it shows.
	Bars    []Bar
	BarsSay string
	// Columns and Rows are a table.
	Columns []draw.Column
	Rows    []Cells
	// Lines are free text, wrapped.
	Lines []Text
}

// Field is a label with what it says. Without a text it is left out.
type Field struct {
	Label string
	Text
}

// Bar is one number of a picture with the phase in which it ended, as a sign
// below it. A number that is not known is 0.
type Bar struct {
	Value float64
	Phase string
}

// Cells are one row of a table. With a job's uid, enter opens that job.
type Cells struct {
	Job   types.UID
	Cells []Text
}
