//go:build e2e

package e2e

import (
	"context"
	"slices"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/veltui/veltui/e2e/lab"
	"github.com/veltui/veltui/internal/velero/veleroapi"
)

// otherNode is a node on which no node-agent runs.
const otherNode = "why-node"

// planter makes what is not covered, and notes the reason that veltui must name.
type planter struct {
	t      *testing.T
	ctx    context.Context
	wants  map[string]plantedReason // by NAMESPACE/KIND/NAME
	claims []*corev1.PersistentVolumeClaim
	held   []client.Object // by a finalizer
}

// plantedReason is a reason and words of its sentence; an empty reason stands for covered.
type plantedReason struct{ reason, words string }

func (p *planter) create(o client.Object) { p.t.Helper(); must(p.t, theLab.Client.Create(p.ctx, o)) }

func (p *planter) namespace(name string, labels map[string]string) {
	p.t.Helper()
	p.create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}})
}

func (p *planter) want(namespace, kind, name, reason, words string) {
	p.wants[namespace+"/"+kind+"/"+name] = plantedReason{reason, words}
}

func (p *planter) policy(name, text string) {
	p.t.Helper()
	p.create(
		&corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Namespace: lab.Namespace, Name: name},
			Data:       map[string]string{"policy": text},
		},
	)
}

// hold keeps an object that is deleted until the test has ended.
func (p *planter) hold(o client.Object) {
	o.SetFinalizers([]string{"veltui.io/held"})
	p.held = append(p.held, o)
}

func (p *planter) deployment(namespace, name string, labels map[string]string) {
	p.t.Helper()
	run := map[string]string{"run": name}
	p.create(
		&appsv1.Deployment{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: labels},
			Spec: appsv1.DeploymentSpec{
				Replicas: new(int32),
				Selector: &metav1.LabelSelector{MatchLabels: run},
				Template: corev1.PodTemplateSpec{
					ObjectMeta: metav1.ObjectMeta{Labels: run},
					Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "web"}}},
				},
			},
		},
	)
}

// plantedClaim is a claim of one gibibyte. Without a source it is one of which the lab takes snapshots.
type plantedClaim struct {
	class  *string
	source *corev1.PersistentVolumeSource
	change func(*corev1.PersistentVolumeClaim, *corev1.PersistentVolume)
}

// claim makes a claim and its volume, and waits for nothing: see bound.
func (p *planter) claim(namespace, name string, c plantedClaim) *corev1.PersistentVolumeClaim {
	p.t.Helper()
	class := c.class
	if c.source == nil && class == nil {
		class = new(lab.SnapshotClass)
	}
	claim := &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: map[string]string{"app": "web"}},
		Spec: corev1.PersistentVolumeClaimSpec{
			StorageClassName: class,
			AccessModes:      []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources: corev1.VolumeResourceRequirements{
				Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")},
			},
		},
	}
	volume := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: namespace + "-" + name}}
	if c.change != nil {
		c.change(claim, volume)
	}
	if c.source != nil {
		volume.Spec.PersistentVolumeSource, volume.Spec.Capacity, volume.Spec.AccessModes = *c.source, claim.Spec.Resources.Requests, claim.Spec.AccessModes
		volume.Spec.VolumeMode, volume.Spec.ClaimRef = claim.Spec.VolumeMode, &corev1.ObjectReference{
			Namespace: namespace,
			Name:      name,
		}
		if class != nil {
			volume.Spec.StorageClassName = *class
		}
		volume.Spec.PersistentVolumeReclaimPolicy = corev1.PersistentVolumeReclaimRetain
		p.create(volume)
		claim.Spec.VolumeName = volume.Name
	}
	p.create(claim)
	p.claims = append(p.claims, claim)
	return claim
}

// bound waits until all claims but those without a volume are bound.
func (p *planter) bound(except ...string) {
	p.t.Helper()
	for _, c := range p.claims {
		if !slices.Contains(except, c.Name) {
			must(p.t, theLab.AwaitClaim(p.ctx, c))
		}
	}
	p.claims = nil
}

// pod mounts claim as volume vol; change may be nil. Without a node it stays pending.
func (p *planter) pod(namespace, claim, node string, change func(*corev1.Pod)) {
	p.t.Helper()
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace:   namespace,
			Name:        "mounts-" + claim,
			Labels:      map[string]string{},
			Annotations: map[string]string{},
		},
		Spec: corev1.PodSpec{
			Volumes: []corev1.Volume{
				{
					Name: "vol",
					VolumeSource: corev1.VolumeSource{
						PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim},
					},
				},
			},
			Containers: []corev1.Container{
				{Name: "main", Image: "web", VolumeMounts: []corev1.VolumeMount{{Name: "vol", MountPath: "/x"}}},
			},
		},
	}
	if change != nil {
		change(pod)
	}
	must(p.t, theLab.CreatePod(p.ctx, pod))
	if node != "" {
		must(p.t, theLab.RunPodOn(p.ctx, namespace, pod.Name, node))
	}
}

// optsIn is a pod whose annotation says so.
func optsIn(annotation, value string) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Annotations[annotation] = value }
}

// storage makes a storage class, and VolumeSnapshotClasses of its driver.
func (p *planter) storage(name, driver string, snapshotClasses ...string) {
	p.t.Helper()
	p.create(&storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Provisioner: driver})
	for _, c := range snapshotClasses {
		class := &unstructured.Unstructured{Object: map[string]any{"driver": driver, "deletionPolicy": "Delete"}}
		class.SetGroupVersionKind(
			schema.GroupVersionKind{Group: "snapshot.storage.k8s.io", Version: "v1", Kind: "VolumeSnapshotClass"},
		)
		class.SetName(c)
		p.create(class)
	}
}

// location makes a storage location like the lab's own.
func (p *planter) location(name string, change func(*veleroapi.BackupStorageLocationSpec)) {
	p.t.Helper()
	own := &veleroapi.BackupStorageLocation{}
	must(p.t, theLab.Client.Get(p.ctx, client.ObjectKey{Namespace: lab.Namespace, Name: lab.LocationName}, own))
	l := &veleroapi.BackupStorageLocation{
		ObjectMeta: metav1.ObjectMeta{Namespace: lab.Namespace, Name: name},
		Spec:       *own.Spec.DeepCopy(),
	}
	l.Spec.Default, l.Spec.ObjectStorage.Prefix = false, name
	change(&l.Spec)
	p.create(l)
}

// await waits until an object is as it should be.
func (p *planter) await(o client.Object, ready func() bool) {
	p.t.Helper()
	must(p.t, wait.PollUntilContextCancel(p.ctx, 100*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		err := theLab.Client.Get(ctx, client.ObjectKeyFromObject(o), o)
		return err == nil && ready(), client.IgnoreNotFound(err)
	}))
}
