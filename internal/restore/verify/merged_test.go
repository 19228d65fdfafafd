package verify

import (
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/veltui/veltui/internal/restore/live"
	"github.com/veltui/veltui/internal/restore/prepare"
	"github.com/veltui/veltui/internal/stored/results"
)

// TestMergedItems: of two items that become one object, one came back, and the other is named as lost; the numbers add
// up to those of the items.
func TestMergedItems(t *testing.T) {
	mapped := results.Item{Namespace: "shop", Name: "x", BackupNamespace: "b", Status: results.LeftOut,
		Why: results.DuplicateReason}
	for name, c := range map[string]struct {
		resource string
		items    []results.Item
		lost     int
		says     []string
	}{
		"two namespaces mapped into one": {"configmaps", []results.Item{
			{Namespace: "shop", Name: "x", BackupNamespace: "a", Status: results.Created}, mapped,
		}, 1, []string{
			"or b/x came in its place", "the restore gives it the name of a/x, and only one object comes of both",
		}},
		"a namespace mapped into one of the restore": {"configmaps", []results.Item{
			{Namespace: "shop", Name: "x", Status: results.Created}, mapped,
		}, 1, []string{"or b/x came", "the name of shop/x"}},
		"three": {"configmaps", []results.Item{
			{Namespace: "shop", Name: "x", BackupNamespace: "a", Status: results.Created}, mapped,
			{Namespace: "shop", Name: "x", BackupNamespace: "c", Status: results.LeftOut, Why: results.DuplicateReason},
		}, 2, []string{"or b/x and c/x came"}},
		"renamed by a modifier": {"configmaps", []results.Item{
			{Namespace: "shop", Name: "x", BackupName: "y", Status: results.Failed, Why: differs},
			{Namespace: "shop", Name: "x", BackupName: "z", Status: results.Created},
		}, 1, []string{"shop/y has the same name in the target, and did not come", "the name of shop/z"}},
		"what the cluster writes itself": {"configmaps", []results.Item{
			{Namespace: "shop", Name: "kube-root-ca.crt", BackupNamespace: "a", Status: results.Created},
			{Namespace: "shop", Name: "kube-root-ca.crt", BackupNamespace: "b", Status: results.LeftOut, Why: results.DuplicateReason},
		}, 0, nil},
		"what the filters leave out": {"configmaps", []results.Item{
			{Namespace: "shop", Name: "x", BackupNamespace: "a", Status: results.Created},
			{Namespace: "shop", Name: "x", Status: results.LeftOut, Why: "excluded"},
		}, 0, nil},
		"a name that is not known": {"configmaps", []results.Item{
			{Namespace: "shop", Name: "x", Status: results.Created, NameUnknown: true},
			{Namespace: "shop", Name: "y", Status: results.Created},
		}, 0, []string{"only its contents tell"}},
	} {
		t.Run(name, func(t *testing.T) {
			items := results.Items{Kinds: []results.Kind{{Name: c.resource, Items: c.items}}}
			target := live.NewState(BuildQuery(items), func(string, string, string) *live.Object {
				return &live.Object{Created: began.Add(time.Minute), RestoreName: "r1"}
			})
			r := Judge(Input{
				RestoreName: "r1", Started: began, Ended: ended, MapsNamespaces: true, Items: items, Target: target,
			})
			total, whys := 0, []string{}
			for _, n := range r.CountByState {
				total += n
			}
			for _, i := range r.Kinds[0].Items {
				whys = append(whys, i.Why)
			}
			if r.CountLostItems() != c.lost || total != len(c.items) {
				t.Errorf("%d of %d lost: %v %q", r.CountLostItems(), total, r.CountByState, whys)
			}
			for _, words := range c.says {
				if !strings.Contains(strings.Join(whys, "|"), words) {
					t.Errorf("%q lacks %q", whys, words)
				}
			}
		})
	}
}

// TestUnreadModifierMayHaveRenamed: what is not there under its old name is not known to be lost.
func TestUnreadModifierMayHaveRenamed(t *testing.T) {
	items := results.Items{UnreadModifier: "mods", Kinds: []results.Kind{{Name: "configmaps", Items: []results.Item{
		{Namespace: "shop", Name: "x", Status: results.Created},
	}}}}
	r := Judge(Input{RestoreName: "r1", Started: began, Ended: ended, Items: items,
		Target: live.NewState(BuildQuery(items), nil)})
	if r.CountByState[Unchecked] != 1 || !strings.Contains(r.Kinds[0].Items[0].Why, "mods, which cannot be read") {
		t.Errorf("%+v", r.Kinds)
	}
}

// TestRenamedOverAnother: of two items of a namespace of which a modifier renames the first to the second, Velero says
// that it created the first, whose content is compared.
func TestRenamedOverAnother(t *testing.T) {
	items := results.Items{Kinds: []results.Kind{{Name: "configmaps", Items: []results.Item{
		{Namespace: "shop", Name: "b", BackupName: "a", Status: results.Created},
		{Namespace: "shop", Name: "b", Status: results.LeftOut, Why: results.DuplicateReason},
	}}}}
	in := Input{RestoreName: "r1", Started: began, Ended: ended, Items: items}
	in.Target = live.NewState(BuildQuery(items), func(string, string, string) *live.Object {
		return &live.Object{Created: began.Add(time.Minute), RestoreName: "r1"}
	})
	r := Judge(in)
	c := NewComparison(in, &r, prepare.Rules{}, func(string) []string { return nil })
	c.AddBackupItem("configmaps", "shop", "a", []byte(`{"apiVersion": "v1", "kind": "ConfigMap", "data": {"k": "v"}}`))
	c.CompareLive("configmaps", &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"namespace": "shop", "name": "b"},
		"data": map[string]any{"k": "v"},
	}})
	c.FinishResult(nil, nil)
	if r.CountByContent[Same] != 1 || r.CountByContent[NotCompared] != 0 || r.CountByState[Missing] != 1 {
		t.Errorf("%+v", r.Kinds[0].Items)
	}
}
