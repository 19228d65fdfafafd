package tabs

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/veltui/veltui/internal/assess"
	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/view/describe"
	"github.com/veltui/veltui/internal/view/document"
	"github.com/veltui/veltui/ui/detail"
	"github.com/veltui/veltui/ui/draw"
	"github.com/veltui/veltui/watch"
)

// Kind is a kind of Velero's that is no job. Tabs, `get` and `describe` show what it says of its things.
type Kind struct {
	Kind     job.Kind // of the resource, such as Schedule
	Words    []string // the plural first, then the singular, and what else people call it
	Resource string
	Lists    []string                  // other resources that are listed with it
	Needs    []string                  // the other kinds that the judgement rests on
	Then     func([]*job.Job) []string // more of them, by the jobs
	Columns  []Column
	// List judges all things of the kind.
	List func(*assess.Assessment) []Thing
}

// Kinds are all that `get` knows beside jobs.
var Kinds = []*Kind{&scheduleKind, &locationKind, &snapshotLocationKind, &repositoryKind, &deletionKind}

// Column is a column of a tab, of the table of `get`, or of both.
type Column struct {
	draw.Column        // in the tab, where it has a width
	Get         string // the title in the table of `get`, where it has one
	Rank        int    // orders the columns that a narrow terminal drops from that table, highest first
	Wide        bool   // only in -o wide
}

// Cell is what a column says of a thing.
type Cell struct {
	detail.Text        // in the tab
	Get         string // in the table of `get`, empty for what is not known
	Order       any    // a number for --sort-by, nil for what is not known; a text is sorted by itself
}

func stateCell(state detail.Text) Cell { return Cell{Text: state, Get: state.Text} }

func text(style detail.Style, s string) Cell { return Cell{Text: detail.Styled(style, s), Get: s} }

// number is n, as shown in the tab.
func number(style detail.Style, n int, shown string) Cell {
	return Cell{detail.Styled(style, shown), fmt.Sprint(n), float64(n)}
}

// ago is the age of a moment.
func ago(style detail.Style, t, now time.Time, never string) Cell {
	if t.IsZero() {
		return Cell{Text: detail.Styled(style, never)}
	}
	age := human.Age(t, now)
	return Cell{detail.Styled(style, age), age, now.Sub(t).Seconds()}
}

// due is the time until a moment.
func due(style detail.Style, t, now time.Time, unknown string) Cell {
	if t.IsZero() {
		return Cell{Text: detail.Styled(style, unknown)}
	}
	left := until(t, now, "")
	return Cell{detail.Styled(style, left), left, t.Sub(now).Seconds()}
}

// Thing is one resource, judged.
type Thing struct {
	Kind   job.Kind // if it is another than that of the list
	Object job.Object
	Notes  []assess.Note
	// Change differs if something changed of it, apart from what Kubernetes and the notes say of that.
	Change   string
	Cells    func(now time.Time) []Cell // one for each column
	Document func() document.Placed
	Describe func() []describe.Section

	words []string // for a filter
	about string   // a sentence about it, if there is no note
	page  detail.Page
	// sections are those of its page.
	sections  func() []detail.Section
	malformed *watch.Malformed
}

// things are judged resources as things of their kind.
func things[T metav1.Object](a *assess.Assessment, judged []T, thing func(v T, malformed bool) Thing) []Thing {
	byUID := map[types.UID]*watch.Malformed{}
	for i := range a.Snapshot.Malformed {
		byUID[a.Snapshot.Malformed[i].UID] = &a.Snapshot.Malformed[i]
	}
	found := make([]Thing, len(judged))
	for i, v := range judged {
		malformed := byUID[v.GetUID()]
		found[i] = thing(v, malformed != nil)
		found[i].malformed = malformed
	}
	return found
}

// group lists all things of the kind in a tab.
func (k *Kind) group(a *assess.Assessment) detail.Group {
	var g detail.Group
	inTab := func(i int) bool { return k.Columns[i].Width > 0 }
	for i, c := range k.Columns {
		if inTab(i) {
			g.Columns = append(g.Columns, c.Column)
		}
	}
	for _, t := range k.List(a) {
		row := detail.Row{
			Key:       string(t.Object.GetUID()),
			Words:     t.words,
			About:     t.about,
			Alarm:     assess.Alarmed(t.Notes),
			Malformed: t.malformed,
		}
		if len(t.Notes) > 0 {
			row.About = t.Notes[0].Text
		}
		row.Cells = func(now time.Time) (texts []detail.Text) {
			for i, c := range t.Cells(now) {
				if inTab(i) {
					texts = append(texts, c.Text)
				}
			}
			return texts
		}
		row.Page = func() detail.Page {
			page := t.page
			page.Notes, page.Sections = notes(t.Notes, t.malformed), t.sections()
			return page
		}
		g.Rows = append(g.Rows, row)
	}
	return g
}
