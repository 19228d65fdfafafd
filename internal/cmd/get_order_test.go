package cmd

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/veltui/veltui/internal/assess"
	"github.com/veltui/veltui/internal/diagnosis"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/velero/veleroapi"
	"github.com/veltui/veltui/internal/view/text"
	"github.com/veltui/veltui/watch"
)

var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// aged is a restore that began some minutes before noon and has some errors.
func aged(name string, minutes, errors int) *job.Job {
	began := metav1.NewTime(noon.Add(-time.Duration(minutes) * time.Minute))
	return job.Fold(nil, job.Observation{ObservedAt: noon, Restore: &veleroapi.Restore{
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name), CreationTimestamp: began},
		Spec:       veleroapi.RestoreSpec{BackupName: "b-" + name},
		Status: veleroapi.RestoreStatus{
			Phase:          veleroapi.RestorePhaseCompleted,
			StartTimestamp: &began,
			Errors:         errors,
		},
	}})
}

func assessed(jobs ...*job.Job) *assess.Assessment {
	return new(assess.Estimates).AssessSnapshot(&watch.Snapshot{At: noon, Jobs: jobs}, noon)
}

// Names come as people count, by a column and by a path.
func TestSortByNamesWithNumbers(t *testing.T) {
	jobs := []*job.Job{aged("backup-10", 1, 0), aged("backup-9", 1, 0), aged("backup-2", 1, 0)}
	for _, by := range []string{"name", ".name", ".metadata.name"} {
		order, err := parseSortBy(by, nil)
		if err != nil {
			t.Fatal(err)
		}
		sorted, err := order.sortRows(rowsOf("east", assessed(jobs...), jobs...))
		if err != nil || sorted[0].Name != "backup-2" || sorted[2].Name != "backup-10" {
			t.Errorf("%s: %v, %v", by, sorted, err)
		}
	}
}

// Titles stand before the first line, also where -w begins with none.
func TestFollowedTableHasTitles(t *testing.T) {
	var out strings.Builder
	p := &tablePrinter{Table: text.Table{Writer: &out}}
	a := assessed(aged("a", 1, 0))
	if err := p.printRows(nil, nil, rowPlaces{}); err != nil || out.String() != "" {
		t.Fatalf("%v, %q", err, out.String())
	}
	for range 2 {
		if err := p.printRows(rowsOf("", a, a.Snapshot.Jobs[0]), nil, rowPlaces{}); err != nil {
			t.Fatal(err)
		}
	}
	if !strings.HasPrefix(out.String(), "KIND ") || strings.Count(out.String(), "KIND") != 1 {
		t.Errorf("%s", out.String())
	}
}

func TestSortBy(t *testing.T) {
	east, west := []*job.Job{aged("c", 30, 0), aged("a", 10, 12)}, []*job.Job{aged("b", 200, 3)}
	rows := append(rowsOf("east", assessed(east...), east...), rowsOf("west", assessed(west...), west...)...)
	for _, c := range []struct{ by, want string }{
		{"", "c a b"},
		{"name", "a b c"}, {"NAME", "a b c"}, {".name", "a b c"}, {"{.name}", "a b c"},
		{"age", "a c b"}, {"errors", "c b a"}, {".errors", "c b a"}, {"context", "c a b"}, {"from", "a b c"}, {"eta", "c a b"},
		{".startedAt", "b c a"},
		{".metadata.creationTimestamp", "b c a"}, {"metadata.name", "a b c"}, {"{.spec.backupName}", "a b c"}, {"{status.errors}", "c b a"},
		{"nmae", `no job has such a field, and there is no such column (did you mean name?)`},
		{".status.nope", "no job has such a field"},
		{".spec", "has no order"}, {".operations", "has no order"},
		{".metadata[", "expected a column"}, {"{", "expected a column"},
	} {
		got := ""
		order, err := parseSortBy(c.by, nil)
		if err == nil {
			var sorted []listRow
			sorted, err = order.sortRows(rows)
			got = strings.Join(mapSlice(sorted, func(r listRow) string { return r.Name }), " ")
		}
		if err != nil {
			got = err.Error()
		}
		if !strings.Contains(got, c.want) {
			t.Errorf("--sort-by %q: %s, want %s", c.by, got, c.want)
		}
	}
}

// What else is known of a cluster is in the document once, whatever the order.
func TestSortedDocumentNamesMalformedResourcesOnce(t *testing.T) {
	jobs := []*job.Job{aged("a", 1, 0), aged("b", 2, 0)}
	a := assessed(jobs...)
	a.World.MalformedResources = append(a.World.MalformedResources, diagnosis.MalformedResource{})
	order, err := parseSortBy("name", nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, held := range [][]*job.Job{jobs, nil} {
		sorted, err := order.sortRows(rowsOf("east", a, held...))
		if err != nil {
			t.Fatal(err)
		}
		if l := listOf(
			sorted,
			targetAnswer{context: "east", assessed: a}.malformedDocuments(),
		); len(l.Items) != len(held) ||
			len(l.Malformed) != 1 {
			t.Errorf("%d items, %d malformed", len(l.Items), len(l.Malformed))
		}
	}
}

// A context that does not answer holds up no other one, and rows keep the order of
// the contexts where that costs nothing.
func TestContextsArePrintedAsTheyCome(t *testing.T) {
	for _, c := range []struct {
		name    string
		answers string // of three contexts; L is when it gets late
		whole   bool
		want    string
	}{
		{"all in time", "201L", false, "[[0 1 2]]"},
		{"one is late", "20L1", false, "[[0 2] [1]]"},
		{"all are late", "L201", false, "[[2] [0] [1]]"},
		{"a document", "20L1", true, "[[0 1 2]]"},
	} {
		answers, late := make(chan int), make(chan time.Time)
		var got [][]int
		done := make(chan struct{})
		go func() {
			for some := range batchAnswers(3, answers, late, c.whole) {
				got = append(got, slices.Clone(some))
			}
			close(done)
		}()
		for _, step := range c.answers {
			if step == 'L' {
				select {
				case late <- noon:
				case <-done:
				}
				continue
			}
			answers <- int(step - '0')
		}
		if <-done; fmt.Sprint(got) != c.want {
			t.Errorf("%s: %v; want %s", c.name, got, c.want)
		}
	}
}
