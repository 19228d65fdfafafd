package preflight

import (
	"strings"
	"testing"

	"github.com/veltui/veltui/internal/restore/live"
	"github.com/veltui/veltui/internal/velero/veleroapi"
)

// TestWhatExistsIsOneFinding has objects of several kinds, of which Velero treats most alike.
func TestWhatExistsIsOneFinding(t *testing.T) {
	items := []item{
		{live.ConfigMaps, "shop", "a", ""}, {live.ConfigMaps, "shop", "b", ""}, {secrets, "shop", "a", ""},
		{live.Services, "shop", "a", ""}, {clusterRoleBindings, "", "a", ""}, {claims, "shop", "a", `,"spec":{}`},
	}
	for _, c := range []struct {
		policy veleroapi.PolicyType
		items  []item
		want   []string // of each finding: a part of it
	}{
		{"", items, []string{
			"doubt ClaimsExist 1: 1 object of persistentvolumeclaims exists already",
			"doubt ObjectsExist 5: 5 objects of 4 kinds exist already. Velero leaves what exists as it is",
		}},
		{veleroapi.PolicyTypeUpdate, items, []string{"doubt ClaimsExist 1", "doubt ObjectsPatched 5: 5 objects of 4 kinds"}},
		{"", items[4:5], []string{"doubt ObjectsExist 1: 1 object of clusterrolebindings.rbac.authorization.k8s.io exists"}},
	} {
		r := checked(t, given{items: c.items, spec: veleroapi.RestoreSpec{ExistingResourcePolicy: c.policy}, there: always,
			served: []string{clusterRoleBindings}, around: withShop(live.Environment{})})
		got := strings.Split(findingsAbout(r, ObjectsExist, ObjectsPatched, ClaimsExist), "\n")
		if len(got) != len(c.want) {
			t.Fatalf("%q, want %q", got, c.want)
		}
		for n, want := range c.want {
			if !strings.HasPrefix(got[n], want) {
				t.Errorf("%q, want %q", got[n], want)
			}
		}
		for _, f := range r.Findings {
			mentions := strings.Contains(f.Remedy, "map the namespace")
			if f.OverwritesData != (f.Reason == ClaimsExist) || len(c.items) == 1 && mentions {
				t.Errorf("%+v", f)
			}
			if len(f.Kinds) > 0 && (f.Kinds[0] != KindCount{live.ConfigMaps, 2} || len(f.Kinds) != 4) {
				t.Errorf("%+v", f.Kinds)
			}
		}
	}
}
