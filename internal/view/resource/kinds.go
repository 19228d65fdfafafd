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

// Kind is a kind of Velero resource other than a job. It defines what tabs, `get` and `describe` show of its things.
type Kind struct {
	Kind        job.Kind // of the resource, such as Schedule
	Aliases     []string // the plural first, then the singular, and other names in use
	Resource    string
	ExtraKinds  []string                  // other resources listed with it
	NeededKinds []string                  // the other kinds that its judgement needs
	KindsByJob  func([]*job.Job) []string // further needed kinds, depending on the jobs
	Columns     []view.Column
	// JudgeEntries judges all things of the kind.
	JudgeEntries func(*assess.Assessment) []Entry
}

// Kinds are all kinds that `get` knows besides jobs.
var Kinds = []*Kind{&scheduleKind, &locationKind, &snapshotLocationKind, &repositoryKind, &deletionKind}

// Tabs returns all tabs of resources other than jobs. Tabs that come and go are last.
func Tabs() []view.Tab {
	return []view.Tab{SchedulesTab(), StorageTab(), CoverageTab(), EtcdTab(), DeletionsTab()}
}

// Entry is one judged resource.
type Entry struct {
	Kind   job.Kind // if it differs from the kind of the list
	Object job.Object
	Notes  []assess.Note
	// ChangeKey changes with the thing, as far as neither its resource version nor its notes do.
	ChangeKey string
	Cells     func(now time.Time) []view.Cell // one for each column
	Document  func() document.Placed
	Describe  func() []describe.Section

	filterWords []string // the words that a filter searches
	summary     string   // a sentence about the thing, if it has no note
	pageHead    view.Page
	// buildSections returns the sections of its page.
	buildSections func() []view.PageSection
	malformed     *watch.MalformedObject
}

// newEntries makes things of judged resources.
func newEntries[T metav1.Object](a *assess.Assessment, judged []T, thing func(v T, malformed bool) Entry) []Entry {
	byUID := map[types.UID]*watch.MalformedObject{}
	for i := range a.Snapshot.Malformed {
		byUID[a.Snapshot.Malformed[i].UID] = &a.Snapshot.Malformed[i]
	}
	found := make([]Entry, len(judged))
	for i, v := range judged {
		malformed := byUID[v.GetUID()]
		found[i] = thing(v, malformed != nil)
		found[i].malformed = malformed
	}
	return found
}

// buildGroup lists all things of the kind in a tab.
func (k *Kind) buildGroup(a *assess.Assessment) view.Group {
	g := view.Group{Columns: view.ScreenColumns(k.Columns)}
	for _, t := range k.JudgeEntries(a) {
		row := view.Row{
			Key:            string(t.Object.GetUID()),
			FilterWords:    t.filterWords,
			Summary:        t.summary,
			NeedsAttention: assess.IsAlarming(t.Notes),
			Malformed:      t.malformed,
		}
		if len(t.Notes) > 0 {
			row.Summary = t.Notes[0].Text
		}
		row.Cells = func(now time.Time) []view.Text { return view.ScreenTexts(k.Columns, t.Cells(now)) }
		row.Page = func() view.Page {
			page := t.pageHead
			page.Notes, page.Sections = noteTexts(t.Notes, t.malformed), t.buildSections()
			return page
		}
		g.Rows = append(g.Rows, row)
	}
	return g
}
