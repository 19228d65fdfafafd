package cluster

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestClaimMaker: a StatefulSet's claims carry its name, and a pod owns its own.
func TestClaimMaker(t *testing.T) {
	controls := true
	for name, want := range map[string]string{
		"data-web-0":     "StatefulSet web",
		"data-big-web-1": "StatefulSet web", // of web, with the template data-big, or of big-web
		"data-web-12":    "StatefulSet web",
		"data-web-":      "",
		"data-web":       "",
		"data-other-0":   "",
		"web-0":          "",
		"claim":          "",
	} {
		o := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: name}}
		if got := claimMaker(o, []string{"web"}); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	o := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: "x", OwnerReferences: []metav1.OwnerReference{
		{Kind: "Pod", Name: "p", Controller: &controls},
	}}}
	if got := claimMaker(o, nil); got != "pod p" {
		t.Errorf("%q", got)
	}
}
