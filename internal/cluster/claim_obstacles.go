package cluster

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/restore/live"
	"github.com/veltui/veltui/internal/restore/verify"
	"github.com/veltui/veltui/internal/sanitize"
	"github.com/veltui/veltui/internal/velero"
)

// claimReader reads the claims of a restore, and those that its StatefulSets and pods made, and what keeps them from
// being bound.
type claimReader struct {
	*live.Reader
	served *live.ServedKinds
	result *verify.Result
	claims []verify.Claim
	open   []*corev1.PersistentVolumeClaim // by the index of claims; nil for a bound one
}

// addClaimObstacles reads the restored claims, and what keeps them from being bound.
func addClaimObstacles(ctx context.Context, reader *live.Reader, served *live.ServedKinds, result *verify.Result) {
	r := &claimReader{Reader: reader, served: served, result: result}
	r.readItems(ctx)
	r.readTemplateClaims(ctx)
	classes := r.readClasses(ctx)
	r.readVolumes(ctx)
	result.AddClaims(r.claims, classes)
}

func (r *claimReader) noteUnknown(what string, err error) {
	if err != nil {
		r.result.Incomplete = true
		r.result.Notes = append(r.result.Notes, what+" is not known: "+err.Error())
	}
}

func (r *claimReader) addClaim(o *corev1.PersistentVolumeClaim, maker string) {
	c := verify.Claim{
		Namespace: o.Namespace,
		Name:      o.Name,
		UID:       o.UID,
		Phase:     string(o.Status.Phase),
		Volume:    o.Spec.VolumeName,
		Maker:     maker,
	}
	if class := o.Spec.StorageClassName; class != nil {
		c.Class = *class
	}
	if source := o.Spec.DataSource; source != nil && source.Kind == "VolumeSnapshot" {
		c.Snapshot = source.Name
	}
	if o.Status.Phase == corev1.ClaimBound {
		o = nil
	}
	r.claims, r.open = append(r.claims, c), append(r.open, o)
}

// readItems reads the claims that are items of the restore.
func (r *claimReader) readItems(ctx context.Context) {
	unseen, err := r.FetchObjects(
		ctx,
		r.served,
		r.result.BuildClaimQuery(),
		func(string) string { return "" },
		func(_ string, from *unstructured.Unstructured) {
			sanitize.Object(&from.Object)
			var o corev1.PersistentVolumeClaim
			if err := runtime.DefaultUnstructuredConverter.FromUnstructured(from.Object, &o); err != nil {
				return // AddClaims leaves the claim out, and AddVolumes says so
			}
			r.addClaim(&o, "")
		},
		nil,
	)
	r.noteUnknown("Which claims are bound", err)
	for _, n := range unseen {
		r.noteUnknown("Which claims are bound"+human.Prefixed(" in namespace ", n.Namespace), errors.New(n.Why))
	}
}

// readTemplateClaims reads the claims that are not bound and that the restore's StatefulSets made of their templates,
// and, beside them, those of pods: no item of the restore tells of them.
func (r *claimReader) readTemplateClaims(ctx context.Context) {
	found := r.result.FindStatefulSets()
	for _, namespace := range slices.Sorted(maps.Keys(found)) {
		sets := found[namespace]
		err := live.VisitObjects(
			ctx, r.Reader, r.served, "persistentvolumeclaims", namespace, "",
			func(o *corev1.PersistentVolumeClaim) {
				if maker := claimMaker(o, sets); maker != "" && o.Status.Phase != corev1.ClaimBound {
					r.addClaim(o, maker)
				}
			},
		)
		r.noteUnknown("Which claims the StatefulSets of namespace "+namespace+" made and wait for", err)
	}
}

// claimMaker returns the StatefulSet or the pod that made a claim, empty for none: a StatefulSet names its claims
// TEMPLATE-SET-ORDINAL, and a pod owns its ephemeral claims (pkg/controller/statefulset/stateful_set_utils.go,
// getPersistentVolumeClaimName, and pkg/controller/volume/ephemeral, Kubernetes 1.36.3).
func claimMaker(o *corev1.PersistentVolumeClaim, sets []string) string {
	if owner := metav1.GetControllerOf(o); owner != nil && owner.Kind == "Pod" {
		return "pod " + owner.Name
	}
	cut := strings.LastIndexByte(o.Name, '-')
	if cut < 0 || cut == len(o.Name)-1 || strings.Trim(o.Name[cut+1:], "0123456789") != "" {
		return ""
	}
	for _, set := range sets {
		if strings.HasSuffix(o.Name[:cut], "-"+set) {
			return "StatefulSet " + set
		}
	}
	return ""
}

// readClasses returns the binding modes of the storage classes if a claim waits, nil if they are not needed or known.
func (r *claimReader) readClasses(ctx context.Context) verify.BindingModes {
	if !slices.ContainsFunc(r.open, func(o *corev1.PersistentVolumeClaim) bool { return o != nil }) {
		return nil
	}
	modes := verify.BindingModes{}
	err := live.VisitObjects(ctx, r.Reader, r.served, live.StorageClasses, "", "", func(c *storagev1.StorageClass) {
		if modes[c.Name] = ""; c.VolumeBindingMode != nil {
			modes[c.Name] = string(*c.VolumeBindingMode)
		}
	})
	r.noteUnknown("Whether the cluster has the storage classes of claims that are not bound", err)
	if err != nil {
		return nil
	}
	return modes
}

// readVolumes finds out why claims cannot be bound to the volumes that they name.
func (r *claimReader) readVolumes(ctx context.Context) {
	names := func(o *corev1.PersistentVolumeClaim) bool { return o != nil && o.Spec.VolumeName != "" }
	if !slices.ContainsFunc(r.open, names) {
		return
	}
	volumes := map[string]*corev1.PersistentVolume{}
	err := live.VisitObjects(
		ctx, r.Reader, r.served, live.PersistentVolumes, "", "",
		func(v *corev1.PersistentVolume) { volumes[v.Name] = v },
	)
	r.noteUnknown("Whether the volumes of claims that are not bound can be bound to them", err)
	for i, o := range r.open {
		if err != nil || !names(o) {
			continue
		}
		c := &r.claims[i]
		switch v := volumes[c.Volume]; {
		case v == nil && !r.result.InProgress: // nothing creates a volume for a claim that names one
			c.UnbindableReason = "it is not there"
		case v != nil && v.Spec.ClaimRef == nil:
			c.UnbindableReason = velero.BindingMismatch(v, o)
		case v != nil:
			c.UnbindableReason = velero.BindingObstacle(v.Spec.ClaimRef, c.Namespace, c.Name, c.UID)
		}
	}
}
