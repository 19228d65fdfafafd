package velero

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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

func TestBindingMismatch(t *testing.T) {
	block, fast := corev1.PersistentVolumeBlock, "fast"
	for want, change := range map[string]func(*corev1.PersistentVolume, *corev1.PersistentVolumeClaim){
		"": func(*corev1.PersistentVolume, *corev1.PersistentVolumeClaim) {},
		"it has 1Gi, and the claim asks for 2Gi": func(_ *corev1.PersistentVolume, c *corev1.PersistentVolumeClaim) {
			c.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("2Gi")}
		},
		`its storage class is "", and the claim's "fast"`: func(_ *corev1.PersistentVolume, c *corev1.PersistentVolumeClaim) {
			c.Spec.StorageClassName = &fast
		},
		`its storage class is "old", and the claim's ""`: func(v *corev1.PersistentVolume, _ *corev1.PersistentVolumeClaim) {
			v.Annotations = map[string]string{corev1.BetaStorageClassAnnotation: "old"}
		},
		"its volumeMode is Block, and the claim's Filesystem": func(v *corev1.PersistentVolume, _ *corev1.PersistentVolumeClaim) {
			v.Spec.VolumeMode = &block
		},
		"its volumeMode is Filesystem, and the claim's Block": func(_ *corev1.PersistentVolume, c *corev1.PersistentVolumeClaim) {
			c.Spec.VolumeMode = &block
		},
		"it does not have the access mode ReadWriteMany, which the claim asks for": func(
			_ *corev1.PersistentVolume, c *corev1.PersistentVolumeClaim,
		) {
			c.Spec.AccessModes = append(c.Spec.AccessModes, corev1.ReadWriteMany)
		},
		"it is being deleted": func(v *corev1.PersistentVolume, _ *corev1.PersistentVolumeClaim) {
			v.DeletionTimestamp = &metav1.Time{}
		},
	} {
		modes := []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}
		size := corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}
		v := &corev1.PersistentVolume{Spec: corev1.PersistentVolumeSpec{Capacity: size, AccessModes: modes}}
		c := &corev1.PersistentVolumeClaim{Spec: corev1.PersistentVolumeClaimSpec{AccessModes: modes}}
		c.Spec.Resources.Requests = size
		change(v, c)
		if got := BindingMismatch(v, c); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
