package lab

import (
	"context"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
)

// SnapshotClass is the storage class whose volumes the lab takes snapshots of.
const SnapshotClass = "lab-snapshots"

// SnapshotDriver is the driver of those volumes.
const SnapshotDriver = "csi.lab.veltui.io"

const (
	snapshotGroup = "snapshot.storage.k8s.io"
	// snapshotInterval is how often the lab looks for snapshots to take.
	snapshotInterval = 200 * time.Millisecond
)

var oneGibibyte = resource.MustParse("1Gi")

// fakeSnapshotDriver stands for a CSI driver and the snapshot controller: what is asked
// for is there at once. No byte is behind it.
type fakeSnapshotDriver struct {
	client client.Client
	cancel context.CancelFunc
	done   sync.WaitGroup
}

// StartSnapshots makes the cluster one with CSI snapshots: their kinds, a storage
// class, a snapshot class that Velero takes, and who serves them, until the lab
// stops. A Velero server must be started after it, with --features=EnableCSI. A
// cluster that has all that stays as it is.
func (l *Lab) StartSnapshots(ctx context.Context) error {
	if l.snapshots != nil {
		return nil
	}
	crds := []*apiextensionsv1.CustomResourceDefinition{
		newSnapshotCRD("VolumeSnapshot", apiextensionsv1.NamespaceScoped),
		newSnapshotCRD("VolumeSnapshotContent", apiextensionsv1.ClusterScoped),
		newSnapshotCRD("VolumeSnapshotClass", apiextensionsv1.ClusterScoped),
	}
	if _, err := envtest.InstallCRDs(
		l.RESTConfig(),
		envtest.CRDInstallOptions{Scheme: l.Client.Scheme(), CRDs: crds},
	); err != nil {
		return fmt.Errorf("installing the kinds of snapshots: %w", err)
	}
	class := snapshotObject("VolumeSnapshotClass")
	class.SetName(SnapshotClass)
	class.SetLabels(map[string]string{"velero.io/csi-volumesnapshot-class": "true"})
	class.Object["driver"], class.Object["deletionPolicy"] = SnapshotDriver, "Delete"
	storage := &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: SnapshotClass}, Provisioner: SnapshotDriver}
	for _, object := range []client.Object{class, storage} {
		if err := l.Client.Create(ctx, object); err != nil {
			return fmt.Errorf("creating the class %s: %w", object.GetName(), err)
		}
	}
	run, cancel := context.WithCancel(context.Background())
	l.snapshots = &fakeSnapshotDriver{client: l.Client, cancel: cancel}
	l.snapshots.done.Go(func() { l.snapshots.serveUntilDone(run) })
	return nil
}

// CreateClaim creates a claim of one gibibyte whose volume a snapshot can be
// taken of.
func (l *Lab) CreateClaim(ctx context.Context, namespace, name string) error {
	claim := &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec: corev1.PersistentVolumeClaimSpec{
			StorageClassName: new(SnapshotClass),
			AccessModes:      []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources: corev1.VolumeResourceRequirements{
				Requests: corev1.ResourceList{corev1.ResourceStorage: oneGibibyte},
			},
		},
	}
	if err := l.Client.Create(ctx, claim); err != nil {
		return fmt.Errorf("creating claim %s: %w", name, err)
	}
	return l.AwaitClaim(ctx, claim)
}

// AwaitClaim waits until a claim is bound.
func (l *Lab) AwaitClaim(ctx context.Context, claim *corev1.PersistentVolumeClaim) error {
	return pollUntil(ctx, "claim "+claim.Name+" to be bound", func() (bool, error) {
		err := l.Client.Get(ctx, client.ObjectKeyFromObject(claim), claim)
		return claim.Status.Phase == corev1.ClaimBound, err
	})
}

func (s *fakeSnapshotDriver) stopServing() {
	if s != nil {
		s.cancel()
		s.done.Wait()
	}
}

// serveUntilDone looks for claims and snapshots until ctx ends. What fails, as while the
// API server is away, is tried again.
func (s *fakeSnapshotDriver) serveUntilDone(ctx context.Context) {
	for ctx.Err() == nil {
		_ = s.provisionVolumes(ctx)
		_ = s.takeSnapshots(ctx)
		select {
		case <-time.After(snapshotInterval):
		case <-ctx.Done():
		}
	}
}

// provisionVolumes gives each claim of the class a volume, and removes those that
// nobody claims any more.
func (s *fakeSnapshotDriver) provisionVolumes(ctx context.Context) error {
	var claims corev1.PersistentVolumeClaimList
	if err := s.client.List(ctx, &claims); err != nil {
		return err
	}
	for i := range claims.Items {
		c := &claims.Items[i]
		if c.Spec.StorageClassName == nil || *c.Spec.StorageClassName != SnapshotClass || c.Spec.VolumeName != "" ||
			c.Status.Phase != corev1.ClaimPending {
			continue
		}
		name := "pv-" + string(c.UID)
		if err := s.client.Create(ctx, &corev1.PersistentVolume{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec: corev1.PersistentVolumeSpec{
				StorageClassName:              SnapshotClass,
				AccessModes:                   c.Spec.AccessModes,
				Capacity:                      c.Spec.Resources.Requests,
				VolumeMode:                    c.Spec.VolumeMode,
				PersistentVolumeReclaimPolicy: corev1.PersistentVolumeReclaimRetain,
				ClaimRef: &corev1.ObjectReference{
					Namespace: c.Namespace,
					Name:      c.Name,
					UID:       c.UID,
				},
				PersistentVolumeSource: corev1.PersistentVolumeSource{
					CSI: &corev1.CSIPersistentVolumeSource{Driver: SnapshotDriver, VolumeHandle: name},
				},
			},
		}); client.IgnoreAlreadyExists(err) != nil {
			return err
		}
	}
	var volumes corev1.PersistentVolumeList
	if err := s.client.List(ctx, &volumes); err != nil {
		return err
	}
	for i := range volumes.Items {
		if v := &volumes.Items[i]; v.Spec.StorageClassName == SnapshotClass &&
			(v.Status.Phase == corev1.VolumeReleased || v.Status.Phase == corev1.VolumeFailed) {
			if err := client.IgnoreNotFound(s.client.Delete(ctx, v)); err != nil {
				return err
			}
		}
	}
	return nil
}

// takeSnapshots takes the snapshots that are asked for: of a claim it makes the content,
// and to a content that is there already it binds the snapshot.
func (s *fakeSnapshotDriver) takeSnapshots(ctx context.Context) error {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(snapshotObject("VolumeSnapshot").GroupVersionKind())
	if err := s.client.List(ctx, list); err != nil {
		return err
	}
	for i := range list.Items {
		snapshot := &list.Items[i]
		if ready, _, _ := unstructured.NestedBool(snapshot.Object, "status", "readyToUse"); ready {
			continue
		}
		content, _, _ := unstructured.NestedString(snapshot.Object, "spec", "source", "volumeSnapshotContentName")
		if class, _, _ := unstructured.NestedString(
			snapshot.Object,
			"spec",
			"volumeSnapshotClassName",
		); content == "" &&
			class != SnapshotClass {
			continue // another driver's
		}
		if content == "" {
			content = "snapcontent-" + string(snapshot.GetUID())
			if err := client.IgnoreAlreadyExists(s.client.Create(ctx, newSnapshotContent(snapshot, content))); err != nil {
				return err
			}
		}
		before := snapshot.DeepCopy()
		snapshot.Object["status"] = map[string]any{
			"boundVolumeSnapshotContentName": content, "readyToUse": true, "restoreSize": oneGibibyte.String(),
			"creationTime": time.Now().UTC().Format(time.RFC3339),
		}
		if err := s.client.Patch(ctx, snapshot, client.MergeFrom(before)); client.IgnoreNotFound(err) != nil {
			return err
		}
	}
	return nil
}

func newSnapshotContent(snapshot *unstructured.Unstructured, name string) *unstructured.Unstructured {
	content := snapshotObject("VolumeSnapshotContent")
	content.SetName(name)
	content.Object["spec"] = map[string]any{
		"driver":                  SnapshotDriver,
		"deletionPolicy":          "Delete",
		"volumeSnapshotClassName": SnapshotClass,
		"source":                  map[string]any{"volumeHandle": name},
		"volumeSnapshotRef": map[string]any{
			"namespace": snapshot.GetNamespace(),
			"name":      snapshot.GetName(),
			"uid":       string(snapshot.GetUID()),
		},
	}
	content.Object["status"] = map[string]any{
		"snapshotHandle": "handle-" + name,
		"readyToUse":     true,
		"restoreSize":    oneGibibyte.Value(),
	}
	return content
}

func snapshotObject(kind string) *unstructured.Unstructured {
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(schema.GroupVersionKind{Group: snapshotGroup, Version: "v1", Kind: kind})
	return object
}

// newSnapshotCRD is one of the snapshot controller's definitions without its
// schema, which none of its users here needs.
func newSnapshotCRD(kind string, scope apiextensionsv1.ResourceScope) *apiextensionsv1.CustomResourceDefinition {
	names := snapshotNames[kind]
	return &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{
			Name: names.Plural + "." + snapshotGroup,
			Annotations: map[string]string{
				apiextensionsv1.KubeAPIApprovedAnnotation: "https://github.com/kubernetes-csi/external-snapshotter/pull/814",
			},
		},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: snapshotGroup, Scope: scope, Names: names,
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: "v1", Served: true, Storage: true,
				Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{
					Type: "object", XPreserveUnknownFields: new(true),
				}},
			}},
		},
	}
}

var snapshotNames = map[string]apiextensionsv1.CustomResourceDefinitionNames{
	"VolumeSnapshot": {
		Kind:     "VolumeSnapshot",
		ListKind: "VolumeSnapshotList",
		Plural:   "volumesnapshots",
		Singular: "volumesnapshot",
	},
	"VolumeSnapshotContent": {
		Kind:     "VolumeSnapshotContent",
		ListKind: "VolumeSnapshotContentList",
		Plural:   "volumesnapshotcontents",
		Singular: "volumesnapshotcontent",
	},
	"VolumeSnapshotClass": {
		Kind:     "VolumeSnapshotClass",
		ListKind: "VolumeSnapshotClassList",
		Plural:   "volumesnapshotclasses",
		Singular: "volumesnapshotclass",
	},
}
