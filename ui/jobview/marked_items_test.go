package jobview

import (
	"context"
	"slices"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/veltui/veltui/internal/cluster"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/restore/restorespec"
	"github.com/veltui/veltui/internal/restore/verify"
	"github.com/veltui/veltui/internal/stored/artifact"
	"github.com/veltui/veltui/internal/stored/results"
	"github.com/veltui/veltui/internal/velero"
	"github.com/veltui/veltui/internal/velero/veleroapi"
	"github.com/veltui/veltui/ui/fetch"
	"github.com/veltui/veltui/ui/keys"
)

// read is a cluster of which everything can be read, and nothing is asked.
type read struct{ Backend }

func (read) UnavailableReason(cluster.Capability) string { return "" }

// One row is marked, or all that a restore lost, as the backup names them.
func TestMarks(t *testing.T) {
	s, c := shown(
		t,
		job.Observation{
			Restore: &veleroapi.Restore{
				ObjectMeta: meta(),
				Status:     veleroapi.RestoreStatus{Phase: veleroapi.RestorePhasePartiallyFailed},
			},
		},
	)
	s.dependencies.Backend = read{}
	s.openTabIndex = s.tabIndex(Resources)
	p := s.currentPage().(*resourcesPage)
	p.itemsAnswer.HasValue = true
	p.itemsAnswer.Value = results.Items{Kinds: []results.Kind{
		{
			Name:          "deployments.apps",
			CountByStatus: map[results.ItemStatus]int{results.Failed: 2, results.Created: 1},
			Items: []results.Item{
				{Namespace: "shop-2", BackupNamespace: "shop", Name: "web", Status: results.Failed, Why: "the webhook says no"},
				{
					Namespace:       "shop-2",
					BackupNamespace: "shop",
					Name:            "old",
					Status:          results.Failed,
					Why:             "it already exists and differs",
				},
				{Namespace: "shop-2", BackupNamespace: "shop", Name: "db", Status: results.Created},
			},
		},
		{
			Name:          "example.com/v1/Widget",
			CountByStatus: map[results.ItemStatus]int{results.Missing: 1},
			Items:         []results.Item{{Name: "w", Status: results.Missing}},
		},
	}}
	press := func(key string) {
		b := keys.FindByKey(s.Bindings(), key)
		if b == nil {
			t.Fatalf("there is no key %s", key)
		}
		b.Do(key)
		s.View(c)
	}
	s.View(c)
	press("m")
	if len(s.MarkedItems()) != 0 {
		t.Errorf("a kind is marked: %v", s.MarkedItems())
	}
	p.folds.toggled = map[string]bool{"0": true}
	s.revision++
	s.View(c)
	for range 3 {
		press("down")
	}
	press("m")
	db := restorespec.Item{Resource: "deployments.apps", Namespace: "shop", Name: "db"}
	if got := s.MarkedItems(); !slices.Equal(got, []restorespec.Item{db}) {
		t.Errorf("marked %v", got)
	}
	if view := ansi.Strip(s.View(c)); !strings.Contains(view, " *") {
		t.Errorf("no mark is shown:\n%s", view)
	}
	press("m")
	press("*")
	if got := s.MarkedItems(); !slices.Equal(
		got,
		[]restorespec.Item{{Resource: "deployments.apps", Namespace: "shop", Name: "web"}},
	) {
		t.Errorf("marked %v", got)
	}
}

// lossy is a restore that lost two objects, of which the results tell and the list of its items.
type lossy struct {
	read
	asked int
}

func (*lossy) FetchResults(context.Context, *job.Job) (artifact.Results, error) {
	return artifact.Results{Errors: artifact.Messages{Namespaces: map[string][]string{"shop-2": {
		"error restoring deployments.apps/shop-2/web: the webhook says no",
		"error restoring services/shop-2/web: the webhook says no",
		"Deployment cannot be waited for",
	}}}}, nil
}

func (l *lossy) FetchItems(context.Context, *job.Job, velero.Server) (results.Items, error) {
	l.asked++
	lost := func(name string) results.Item {
		return results.Item{
			Namespace:       "shop-2",
			BackupNamespace: "shop",
			Name:            name,
			Status:          results.Failed,
			Why:             "the webhook says no",
		}
	}
	return results.Items{
		Kinds: []results.Kind{
			{
				Name:          "deployments.apps",
				CountByStatus: map[results.ItemStatus]int{results.Failed: 2},
				Items:         []results.Item{lost("web"), lost("silent")},
			},
			{Name: "services", CountByStatus: map[results.ItemStatus]int{results.Failed: 1}, Items: []results.Item{lost("web")}},
		},
	}, nil
}

// On the Results page the objects are marked that the messages name, once it was read which those are.
func TestMarksOfResults(t *testing.T) {
	s, c := shown(
		t,
		job.Observation{
			Restore: &veleroapi.Restore{
				ObjectMeta: meta(),
				Status:     veleroapi.RestoreStatus{Phase: veleroapi.RestorePhasePartiallyFailed, Errors: 3},
			},
		},
	)
	l := &lossy{}
	s.dependencies.Backend = l
	var answers []tea.Msg
	s.dependencies.Start = func(read func(context.Context) tea.Msg) (tea.Cmd, context.CancelFunc) {
		answers = append(answers, read(t.Context()))
		return func() tea.Msg { return nil }, func() {}
	}
	deliver := func() {
		for len(answers) > 0 {
			m := answers[0].(fetch.Message)
			answers = answers[1:]
			m.Deliver()
		}
		s.View(c)
	}
	press := func(key string) tea.Cmd {
		b := keys.FindByKey(s.Bindings(), key)
		if b == nil || b.Unavailable != nil && b.Unavailable() != "" {
			t.Fatalf("%s cannot act", key)
		}
		cmd := b.Do(key)
		deliver()
		return cmd
	}
	s.openTab(s.tabIndex(Results))
	deliver()
	if l.asked > 0 {
		t.Error("the items were read before they were needed")
	}
	marked := func(want ...string) {
		t.Helper()
		var got []string
		for _, i := range s.MarkedItems() {
			got = append(got, i.String())
		}
		if slices.Sort(got); !slices.Equal(got, want) {
			t.Errorf("marked %v, want %v", got, want)
		}
	}
	press("down")
	press("m")
	marked("deployments.apps/shop/web", "services/shop/web")
	press("m")
	marked()
	press("enter")
	press("down")
	press("m")
	marked("deployments.apps/shop/web")
	if view := ansi.Strip(s.View(c)); strings.Count(view, "\n *") != 1 {
		t.Errorf("the mark is not shown:\n%s", view)
	}
	press("m")
	press("down")
	press("down")
	if n, ok := press("m")().(NoticeMsg); !ok ||
		!strings.Contains(n.Text, "Nothing is selected here that the restore lost") {
		t.Errorf("%+v", n)
	}
	press("*")
	marked("deployments.apps/shop/silent", "deployments.apps/shop/web", "services/shop/web")
	if l.asked != 1 {
		t.Errorf("the items were read %d times", l.asked)
	}

	s, _ = shown(
		t,
		job.Observation{
			Restore: &veleroapi.Restore{
				ObjectMeta: meta(),
				Status:     veleroapi.RestoreStatus{Phase: veleroapi.RestorePhaseInProgress},
			},
		},
	)
	s.dependencies.Backend = read{}
	s.openTabIndex = s.tabIndex(Results)
	s.currentPage().(*resultsPage).loggedAnswer.Value.Sections = []results.MessageSection{{}}
	if b := keys.FindByKey(s.Bindings(), "m"); b == nil || !strings.Contains(b.Unavailable(), "has not ended") {
		t.Error("a restore that goes on can be marked")
	}
}

// In the comparison of Verify, what differs can be marked too; all that was lost does not take it in.
func TestMarksOfTheComparison(t *testing.T) {
	s, c := shown(
		t,
		job.Observation{
			Restore: &veleroapi.Restore{
				ObjectMeta: meta(),
				Status:     veleroapi.RestoreStatus{Phase: veleroapi.RestorePhaseCompleted},
			},
		},
	)
	s.dependencies.Backend = read{}
	s.openTabIndex, s.showsVerify = s.tabIndex(Resources), true
	p := &s.verifyPage
	p.resultAnswer.HasValue, p.comparisonAnswer.HasValue = true, true
	p.comparisonAnswer.Value = newVerification(verify.Result{Kinds: []verify.Kind{
		{
			Name: "configmaps",
			Items: []verify.Item{
				{Namespace: "shop", Name: "lost", State: verify.Missing},
				{Namespace: "shop", Name: "other", State: verify.Restored, Content: verify.Changed},
				{Namespace: "shop", Name: "unread", State: verify.Restored, Content: verify.NotCompared},
				{Namespace: "shop", Name: "same", State: verify.Restored, Content: verify.Same}},
			CountByState: map[verify.State]int{
				verify.Missing:  1,
				verify.Restored: 3,
			},
			CountByContent: map[verify.ContentState]int{verify.Changed: 1},
		},
	}})
	s.View(c)
	s.pressed(t, "mark-failed")
	if got := s.MarkedItems(); len(got) != 1 || got[0].Name != "lost" {
		t.Errorf("marked %v", got)
	}
	var names []string
	for range 5 {
		s.pressed(t, "down")
		s.View(c)
		s.pressed(t, "mark")
	}
	for _, i := range s.MarkedItems() {
		names = append(names, i.Name)
	}
	if !slices.Equal(names, []string{"other"}) { // and lost is unmarked
		t.Errorf("marked %v", names)
	}
}
