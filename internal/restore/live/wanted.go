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

// Volume is a PersistentVolume of the target.
type Volume struct {
	Claim string // Claim is the claim that it is bound to or kept for, as "namespace/name"; empty for none
	Used  bool   // Used is true if the claim had a uid when it was bound: another of the same name does not get the volume
	Phase string
	Class string // Class is its storage class, empty for none
	Size  int64  // Size is its capacity in bytes
}

// PersistentVolume holds what counts of one.
type PersistentVolume struct {
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		ClaimRef         *corev1.ObjectReference `json:"claimRef"`
		StorageClassName string                  `json:"storageClassName"`
		Capacity         corev1.ResourceList     `json:"capacity"`
	} `json:"spec"`
	Status corev1.PersistentVolumeStatus `json:"status"`
}

func takeVolume(s *Surroundings, v *PersistentVolume) {
	found := Volume{
		Phase: string(v.Status.Phase),
		Class: v.Spec.StorageClassName,
		Size:  v.Spec.Capacity.Storage().Value(),
	}
	if class, ok := v.Annotations[corev1.BetaStorageClassAnnotation]; ok {
		found.Class = class
	}
	if claim := v.Spec.ClaimRef; claim != nil {
		found.Claim, found.Used = types.NamespacedName{
			Namespace: claim.Namespace,
			Name:      claim.Name,
		}.String(), claim.UID != ""
	}
	s.Volumes[v.Name] = found
}

// config reads a ConfigMap as it is: its data is not to be printed. What cannot be read is noted with its namespace.
func (a *around) config(ctx context.Context, namespace, name string) {
	onePage(
		ctx,
		a.Lists,
		ConfigMaps,
		namespace,
		"v1",
		metav1.ListOptions{FieldSelector: "metadata.name=" + name},
		func(found []corev1.ConfigMap) {
			a.found.Configs[name] = nil
			for i := range found {
				a.found.Configs[name] = map[string]string{}
				maps.Copy(a.found.Configs[name], found[i].Data)
			}
		},
	)
}

// onePage starts to read one page of what a cluster serves of a resource.
func onePage[O any](
	ctx context.Context,
	l *Lists,
	resource, namespace, version string,
	o metav1.ListOptions,
	take func([]O),
) {
	l.Start(ctx, resource, namespace, func() (func(), error) {
		k, err := l.Served.kind(resource)
		if k.Resource == "" {
			return func() { take(nil) }, err
		}
		var found client.ListOf[O]
		if err := l.client.ListAny(ctx, k.GroupResource().WithVersion(version), namespace, o, &found); err != nil {
			return nil, safe(err)
		}
		return func() { take(found.Items) }, nil
	})
}

// Failing asks for a page of each resource, in the version that is given with it, and returns those that
// the API server fails to list, with why; what is slow does not count. unseen are those that you may not list.
func (r *Reader) Failing(
	ctx context.Context,
	served *Served,
	versions map[string]string,
) (failing map[string]string, unseen []string, err error) {
	failing = map[string]string{}
	l := r.Lists(served, func(resource, _ string, err error) {
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
		onePage(ctx, l, resource, "", version, metav1.ListOptions{Limit: 100}, func([]metav1.PartialObjectMetadata) {})
	}
	err = l.Wait(ctx)
	slices.Sort(unseen)
	return failing, unseen, err
}

// Changed says when somebody last changed the spec of CRDs, by their names.
func (r *Reader) Changed(ctx context.Context, served *Served, names []string) (map[string]time.Time, error) {
	changed := map[string]time.Time{}
	l := r.Lists(served, func(string, string, error) {})
	for _, name := range names {
		onePage(
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
