package jobview

import (
	"slices"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"

	"github.com/veltui/veltui/inspect"
	"github.com/veltui/veltui/job"
	"github.com/veltui/veltui/restore/restorespec"
	"github.com/veltui/veltui/stored/outcome"
	"github.com/veltui/veltui/ui/keys"
)

// read is a cluster of which everything can be read, and nothing is asked.
type read struct{ inspect.Inspector }

func (read) Unavailable(inspect.Part) string { return "" }

// One row is marked, or all that a restore lost, as the backup names them.
func TestMarks(t *testing.T) {
	s, c := shown(t, job.Input{Restore: &velerov1.Restore{ObjectMeta: meta(), Status: velerov1.RestoreStatus{Phase: velerov1.RestorePhasePartiallyFailed}}})
	s.sources.Inspector = read{}
	s.at = s.indexOf(Resources)
	p := s.open().(*resourcesPage)
	p.items.Known = true
	p.items.Value = outcome.Items{Kinds: []outcome.Kind{
		{Name: "deployments.apps", Count: map[outcome.Did]int{outcome.Failed: 2, outcome.Created: 1}, Items: []outcome.Item{
			{Namespace: "shop-2", From: "shop", Name: "web", Did: outcome.Failed, Why: "the webhook says no"},
			{Namespace: "shop-2", From: "shop", Name: "old", Did: outcome.Failed, Why: "it already exists and differs"},
			{Namespace: "shop-2", From: "shop", Name: "db", Did: outcome.Created}}},
		{Name: "example.com/v1/Widget", Count: map[outcome.Did]int{outcome.Missing: 1}, Items: []outcome.Item{{Name: "w", Did: outcome.Missing}}},
	}}
	press := func(key string) {
		b := keys.Find(s.Keys(), key)
		if b == nil {
			t.Fatalf("there is no key %s", key)
		}
		b.Do(key)
		s.View(c)
	}
	s.View(c)
	press("m")
	if len(s.Marked()) != 0 {
		t.Errorf("a kind is marked: %v", s.Marked())
	}
	p.folds.turned = map[string]bool{"0": true}
	s.answers++
	s.View(c)
	for range 3 {
		press("down")
	}
	press("m")
	db := restorespec.Item{Resource: "deployments.apps", Namespace: "shop", Name: "db"}
	if got := s.Marked(); !slices.Equal(got, []restorespec.Item{db}) {
		t.Errorf("marked %v", got)
	}
	if view := ansi.Strip(s.View(c)); !strings.Contains(view, " *") {
		t.Errorf("no mark is shown:\n%s", view)
	}
	press("m")
	press("*")
	if got := s.Marked(); !slices.Equal(got, []restorespec.Item{{Resource: "deployments.apps", Namespace: "shop", Name: "web"}}) {
		t.Errorf("marked %v", got)
	}
}
