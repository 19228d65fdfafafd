package resource

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/veltui/veltui/internal/assess"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/view"
	"github.com/veltui/veltui/internal/view/describe"
	"github.com/veltui/veltui/internal/view/document"
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
	Columns  []view.Column
	// List judges all things of the kind.
	List func(*assess.Assessment) []Thing
}

// Kinds are all that `get` knows beside jobs.
var Kinds = []*Kind{&scheduleKind, &locationKind, &snapshotLocationKind, &repositoryKind, &deletionKind}

// Tabs are all tabs of resources other than jobs. Those that come and go stand last.
func Tabs() []view.Tab { return []view.Tab{Schedules(), Storage(), Coverage(), Etcd(), Deletions()} }

// Thing is one resource, judged.
type Thing struct {
	Kind   job.Kind // if it is another than that of the list
	Object job.Object
	Notes  []assess.Note
	// Change differs if something changed of it, apart from what Kubernetes and the notes say of that.
	Change   string
	Cells    func(now time.Time) []view.Cell // one for each column
	Document func() document.Placed
	Describe func() []describe.Section

	words []string // for a filter
	about string   // a sentence about it, if there is no note
	page  view.Page
	// sections are those of its page.
	sections  func() []view.Section
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
func (k *Kind) group(a *assess.Assessment) view.Group {
	var g view.Group
	inTab := func(i int) bool { return k.Columns[i].Screen.Width > 0 }
	for i, c := range k.Columns {
		if inTab(i) {
			g.Columns = append(g.Columns, c.Screen)
		}
	}
	for _, t := range k.List(a) {
		row := view.Row{
			Key:       string(t.Object.GetUID()),
			Words:     t.words,
			About:     t.about,
			Alarm:     assess.Alarmed(t.Notes),
			Malformed: t.malformed,
		}
		if len(t.Notes) > 0 {
			row.About = t.Notes[0].Text
		}
		row.Cells = func(now time.Time) (texts []view.Text) {
			for i, c := range t.Cells(now) {
				if inTab(i) {
					texts = append(texts, c.Text)
				}
			}
			return texts
		}
		row.Page = func() view.Page {
			page := t.page
			page.Notes, page.Sections = notes(t.Notes, t.malformed), t.sections()
			return page
		}
		g.Rows = append(g.Rows, row)
	}
	return g
}
