package ui

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/veltui/veltui/internal/action"
	"github.com/veltui/veltui/ui/dialog"
)

// D asks for the deletion of the selected job, and for nothing that the dialog does not offer.
func TestDeleteKey(t *testing.T) {
	asked := make(chan string, 1)
	b := newBench(t, 80, 24, func(o *Options) {
		fake(o).propose = func(name action.Kind, o *unstructured.Unstructured, r action.Request) (action.Plan, error) {
			if r.AllowOtherCluster {
				t.Error("the dialog lets another cluster's backup be deleted")
			}
			asked <- string(name) + " " + o.GetKind() + "/" + o.GetName()
			return action.Plan{}, errors.New("no answer")
		}
	})
	b.keys("X")
	if got, want := <-asked, "delete-restore Restore/crm-old"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	b.reaches(dialog.StageEvidenceFailed)
	b.keys("enter")
	if done := b.fake.done(); done != "" {
		t.Errorf("executed %q", done)
	}

	b = newBench(t, 80, 24, func(o *Options) { o.ReadOnly = true })
	press(t, b.Model, "X")
	b.shows("X: read-only: nothing may be changed")
	if findScreen[*dialogScreen](b.Model) != nil {
		t.Error("the dialog opened")
	}
	b = newBench(t, 80, 24)
	press(t, b.Model, "4")
	press(t, b.Model, "X")
	if findScreen[*dialogScreen](b.Model) != nil {
		t.Error("the dialog opened on what is no job")
	}
}

// Several marked jobs, ended ones too, are asked about one after the other. What the finalize key means is only those
// that have not ended.
func TestDeleteMarked(t *testing.T) {
	var asked []string
	var along [][]string
	b := newBench(t, 120, 40, func(o *Options) {
		fake(o).propose = func(name action.Kind, o *unstructured.Unstructured, r action.Request) (action.Plan, error) {
			asked, along = append(asked, string(name)+" "+o.GetName()), append(along, r.MarkedBackups)
			return action.Plan{}, errors.New("no answer")
		}
	})
	b.keys("2", "m", "down", "m")
	var want []string
	_, marked := b.dashboard.markedJobs()
	for _, j := range marked {
		want = append(want, "delete-restore "+j.Name)
	}
	if len(want) != 2 {
		t.Fatalf("marked are %q:\n%s", want, b.frame())
	}
	b.keys("X")
	b.reaches(dialog.StageEvidenceFailed)
	b.keys("n")
	b.reaches(dialog.StageEvidenceFailed)
	if !slices.Equal(asked, want) {
		t.Errorf("asked for %q, want %q", asked, want)
	}
	// The first is told of the second; the first was skipped, and stays.
	if len(along) != 2 || !slices.Equal(along[0], []string{marked[1].Name}) || len(along[1]) != 0 {
		t.Errorf("marked with them are %q, want %s with the first", along, marked[1].Name)
	}
}

// A job that was marked and has been made anew is not deleted for the one that was meant.
func TestDeleteMarkedOfAnotherUID(t *testing.T) {
	b := newBench(t, 120, 40, func(o *Options) {
		fake(o).propose = func(action.Kind, *unstructured.Unstructured, action.Request) (action.Plan, error) {
			return action.Plan{UID: "another", Title: "delete it"}, nil
		}
	})
	b.keys("X")
	b.reaches(dialog.StageEvidenceFailed)
	b.shows("it was deleted, and there is a new")
}

// What has a default name is guarded against a second one after a lost answer; a name that was typed is not.
func TestDefaultNamesAreGuarded(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		show func(b *bench)
		want bool
	}{
		"b": {func(b *bench) { b.keys("4", "b") }, true},
		"the form": {func(b *bench) {
			b.write(":preview hourly-web-0900")
			b.keys("enter")
		}, true},
		"a typed name": {func(b *bench) {
			b.write(":preview hourly-web-0900")
			b.keys("enter", "up", "up", "up", "up", "2")
		}, false},
	} {
		b := changing(t)
		cluster := b.currentCluster.Backend.(*fakeCluster)
		asked, propose := make(chan bool, 1), cluster.propose
		cluster.propose = func(name action.Kind, o *unstructured.Unstructured, r action.Request) (action.Plan, error) {
			asked <- r.NameGenerated
			return propose(name, o, r)
		}
		c.show(b)
		if findScreen[*restoreFormScreen](b.Model) != nil {
			b.until("it was checked", func() bool {
				return strings.Contains(b.frame(), "about 40s") && !strings.Contains(b.frame(), "checking")
			})
			b.keys("ctrl+o", "ctrl+o") // the first says that the API server was not asked
		}
		b.reaches(dialog.StageChoosing)
		if got := <-asked; got != c.want {
			t.Errorf("%s: unnamed is %v", name, got)
		}
	}
}
