package seed

import (
	"reflect"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

func TestNewIsTheSameForTheSameSeed(t *testing.T) {
	if !reflect.DeepEqual(New(1), New(1)) || !reflect.DeepEqual(NewRuleSet(), NewRuleSet()) {
		t.Error("two sets of one seed differ")
	}
	if reflect.DeepEqual(New(1), New(2)) {
		t.Error("the sets of two seeds are the same")
	}
}

func TestNewRepeatsNoName(t *testing.T) {
	type key struct {
		kind reflect.Type
		gvk  string
		name client.ObjectKey
	}
	set := JoinSets(New(1), NewRuleSet())
	seen := map[key]bool{}
	count := 0
	for _, list := range [][]client.Object{set.Definitions, set.Prerequisites, set.Objects, set.Ended} {
		for _, object := range list {
			k := key{
				reflect.TypeOf(object),
				object.GetObjectKind().GroupVersionKind().String(),
				client.ObjectKeyFromObject(object),
			}
			if seen[k] {
				t.Errorf("%v is there twice", k)
			}
			seen[k] = true
			count++
		}
	}
	// kube-controller-manager adds some 300 more from deployments and services.
	if count < 1600 || count > 2400 {
		t.Errorf("%d objects, want about 2,000", count)
	}
	t.Logf("%d objects", count)
}
