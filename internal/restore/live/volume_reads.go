package live

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/veltui/veltui/internal/client"
)

// VolumeSummary is a PersistentVolume of the target.
type VolumeSummary struct {
	Claim string // Claim is the claim that the volume is bound to or kept for, as "namespace/name"; empty for none
	// ClaimHadUID is true if the claim had a uid when it was bound: another claim of that name does not get the volume
	ClaimHadUID bool
	Phase       string
	Class       string // Class is its storage class, empty for none
	Size        int64  // Size is its capacity in bytes
	Block       bool   // Block is true for the volume mode Block
	AccessModes []corev1.PersistentVolumeAccessMode
}

// PersistentVolume holds the fields that matter of a PersistentVolume.
type PersistentVolume struct {
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		ClaimRef         *corev1.ObjectReference `json:"claimRef"`
		StorageClassName string                  `json:"storageClassName"`
		Capacity         corev1.ResourceList     `json:"capacity"`

		VolumeMode  corev1.PersistentVolumeMode         `json:"volumeMode"`
		AccessModes []corev1.PersistentVolumeAccessMode `json:"accessModes"`
	} `json:"spec"`
	Status corev1.PersistentVolumeStatus `json:"status"`
}

func addVolume(s *Environment, v *PersistentVolume) {
	found := VolumeSummary{
		Phase: string(v.Status.Phase),
		Class: v.Spec.StorageClassName,
		Size:  v.Spec.Capacity.Storage().Value(),

		Block:       v.Spec.VolumeMode == corev1.PersistentVolumeBlock,
		AccessModes: v.Spec.AccessModes,
	}
	if class, ok := v.Annotations[corev1.BetaStorageClassAnnotation]; ok {
		found.Class = class
	}
	if claim := v.Spec.ClaimRef; claim != nil {
		found.Claim, found.ClaimHadUID = types.NamespacedName{
			Namespace: claim.Namespace,
			Name:      claim.Name,
		}.String(), claim.UID != ""
	}
	s.Volumes[v.Name] = found
}

// startConfig reads a ConfigMap as it is: its data must not be printed. If it cannot be read, it is noted with its
// namespace.
func (a *environmentReader) startConfig(ctx context.Context, namespace, name string) {
	startPage(
		ctx,
		a.ListPool,
		ConfigMaps,
		namespace,
		"v1",
		metav1.ListOptions{FieldSelector: "metadata.name=" + name},
		func(found []corev1.ConfigMap) {
			a.environment.ConfigMapData[name] = nil
			for i := range found {
				a.environment.ConfigMapData[name] = map[string]string{}
				maps.Copy(a.environment.ConfigMapData[name], found[i].Data)
			}
		},
	)
}

// startPage starts to read one page of a resource, if the cluster serves it.
func startPage[O any](
	ctx context.Context,
	l *ListPool,
	resource, namespace, version string,
	o metav1.ListOptions,
	take func([]O),
) {
	l.StartList(ctx, resource, namespace, func() (func(), error) {
		k, err := l.Served.findKind(resource)
		if k.Resource == "" {
			return func() { take(nil) }, err
		}
		var found client.ListOf[O]
		if err := l.client.ListInto(ctx, k.GroupResource().WithVersion(version), namespace, o, &found); err != nil {
			return nil, sanitizedError(err)
		}
		return func() { take(found.Items) }, nil
	})
}

// FindUnlistable requests a page of each resource, in the version given with it. failing are the resources that the
// API server fails to list, with the reason; slow ones do not count. unseen are those that the user may not list.
func (r *Reader) FindUnlistable(
	ctx context.Context,
	served *ServedKinds,
	versions map[string]string,
) (failing map[string]string, unseen []string, err error) {
	failing = map[string]string{}
	l := r.NewListPool(served, func(resource, _ string, err error) {
		var status apierrors.APIStatus
		switch {
		case apierrors.IsForbidden(err):
			unseen = append(unseen, resource)
		case errors.As(err, &status) &&
			status.Status().Code >= http.StatusInternalServerError &&
			status.Status().Code != http.StatusGatewayTimeout:
			failing[resource] = err.Error()
		}
	})
	for resource, version := range versions {
		startPage(ctx, l, resource, "", version, metav1.ListOptions{Limit: 100}, func([]metav1.PartialObjectMetadata) {})
	}
	err = l.Wait(ctx)
	slices.Sort(unseen)
	return failing, unseen, err
}

// FetchCRDChanges returns when somebody last changed the spec of each CRD, by name.
func (r *Reader) FetchCRDChanges(
	ctx context.Context,
	served *ServedKinds,
	names []string,
) (map[string]time.Time, error) {
	changed := map[string]time.Time{}
	l := r.NewListPool(served, func(string, string, error) {})
	for _, name := range names {
		startPage(
			ctx,
			l,
			"customresourcedefinitions.apiextensions.k8s.io",
			"",
			"v1",
			metav1.ListOptions{FieldSelector: "metadata.name=" + name},
			func(found []metav1.PartialObjectMetadata) {
				for i := range found {
					for _, m := range found[i].ManagedFields {
						if m.Subresource == "" && m.Time != nil && m.Time.After(changed[name]) {
							changed[name] = m.Time.Time
						}
					}
				}
			},
		)
	}
	return changed, l.Wait(ctx)
}
