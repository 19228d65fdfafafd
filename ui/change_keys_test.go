package ui

import (
	"errors"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/veltui/veltui/action"
	"github.com/veltui/veltui/ui/dialog"
)

// D asks for the deletion of the selected job, and for nothing that the dialog does not offer.
func TestDeleteKey(t *testing.T) {
	asked := make(chan string, 1)
	b := newBench(t, 80, 24, func(o *Options) {
		fake(o).propose = func(name action.Name, o *unstructured.Unstructured, r action.Request) (action.Plan, error) {
			if r.FromAnotherCluster {
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
	b.reaches(dialog.Unseen)
	b.keys("enter")
	if done := b.fake.done(); done != "" {
		t.Errorf("executed %q", done)
	}

	b = newBench(t, 80, 24, func(o *Options) { o.ReadOnly = true })
	press(t, b.Model, "X")
	b.shows("X: read-only: nothing may be changed")
	if find[*dialogScreen](b.Model) != nil {
		t.Error("the dialog opened")
	}
	b = newBench(t, 80, 24)
	press(t, b.Model, "4")
	press(t, b.Model, "X")
	if find[*dialogScreen](b.Model) != nil {
		t.Error("the dialog opened on what is no job")
	}
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
		cluster := b.at.Inspector.(*fakeCluster)
		asked, propose := make(chan bool, 1), cluster.propose
		cluster.propose = func(name action.Name, o *unstructured.Unstructured, r action.Request) (action.Plan, error) {
			asked <- r.Unnamed
			return propose(name, o, r)
		}
		c.show(b)
		if find[*formScreen](b.Model) != nil {
			b.until("it was checked", func() bool {
				return strings.Contains(b.frame(), "about 40s") && !strings.Contains(b.frame(), "checking")
			})
			b.keys("ctrl+o")
		}
		b.reaches(dialog.Choosing)
		if got := <-asked; got != c.want {
			t.Errorf("%s: unnamed is %v", name, got)
		}
	}
}
