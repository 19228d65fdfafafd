package velero

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

func TestNeverBinds(t *testing.T) {
	ref := func(namespace, name, uid string) *corev1.ObjectReference {
		return &corev1.ObjectReference{Namespace: namespace, Name: name, UID: types.UID(uid)}
	}
	for name, c := range map[string]struct {
		ref  *corev1.ObjectReference
		uid  types.UID
		want string
	}{
		"available":                         {},
		"reserved for the claim":            {ref: ref("shop", "data", ""), uid: "new"},
		"bound to the claim":                {ref: ref("shop", "data", "new"), uid: "new"},
		"reserved for a claim to come":      {ref: ref("shop", "data", "")},
		"of a claim that is gone":           {ref: ref("shop", "data", "old"), uid: "new", want: "it is kept for an earlier claim of this name"},
		"of a claim, before the new one":    {ref: ref("shop", "data", "old"), want: "it is kept for an earlier claim of this name"},
		"of the original after a mapping":   {ref: ref("prod", "data", "old"), uid: "new", want: "it is kept for claim prod/data"},
		"reserved for another of the space": {ref: ref("shop", "other", ""), uid: "new", want: "it is kept for claim shop/other"},
	} {
		if got := BindingObstacle(c.ref, "shop", "data", c.uid); got != c.want {
			t.Errorf("%s: %q, expected %q", name, got, c.want)
		}
	}
}
