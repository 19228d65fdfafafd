package oldscene

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/veltui/veltui/demo/sim"
)

// disks creates the apps' claims and volumes, bound to each other, and notes
// which pod mounts which.
func (b *builder) disks(ctx context.Context) error {
	var claims []thing
	for _, a := range apps {
		for _, d := range a.volumes {
			claims = append(claims, thing{"persistentvolumeclaims", d.volumeClaim(a), func(o client.Object) {
				o.(*corev1.PersistentVolumeClaim).Status.Phase = corev1.ClaimBound
			}})
		}
	}
	if err := b.createAll(ctx, claims); err != nil {
		return err
	}
	var volumes []thing
	for _, a := range apps {
		for n, d := range a.volumes {
			claim := b.items["persistentvolumeclaims/"+a.namespace+"/"+d.claim]
			volumes = append(volumes, thing{"persistentvolumes", d.persistentVolume(a, claim.UID), func(o client.Object) {
				o.(*corev1.PersistentVolume).Status.Phase = corev1.VolumeBound
			}})
			volume := sim.Volume{
				Namespace: a.namespace, Claim: d.claim, ClaimUID: claim.UID, PersistentVolume: d.volumeName(a),
				Node: nodes[n%len(nodes)], Bytes: d.bytes(), BytesPerSecond: d.megabytes * 1e6,
			}
			for _, key := range b.order {
				if pod := b.items[key]; pod.GroupResource() == "pods" && pod.Namespace == a.namespace && len(pod.Claims) > 0 && pod.Claims[0] == d.claim {
					volume.Pod, volume.PodUID, volume.PodVolume = pod.Name, pod.UID, "data"
				}
			}
			b.volumes = append(b.volumes, volume)
		}
	}
	return b.createAll(ctx, volumes)
}

func (d disk) bytes() int64 { return int64(d.gigabytes * 1e9) }

func (d disk) volumeName(a app) string { return "pvc-" + a.namespace + "-" + d.claim }

func (d disk) size() corev1.ResourceList {
	return corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(fmt.Sprintf("%dGi", int(d.gigabytes)+5))}
}

func (d disk) volumeClaim(a app) *corev1.PersistentVolumeClaim {
	class := "fast-ssd"
	return &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: a.namespace, Name: d.claim, Labels: map[string]string{"app": a.namespace, "team": a.team, "tier": "data"}},
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}, StorageClassName: &class,
			VolumeName: d.volumeName(a), Resources: corev1.VolumeResourceRequirements{Requests: d.size()},
		},
	}
}

func (d disk) persistentVolume(a app, claimUID string) *corev1.PersistentVolume {
	return &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: d.volumeName(a), Labels: map[string]string{"app": a.namespace}},
		Spec: corev1.PersistentVolumeSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}, StorageClassName: "fast-ssd", Capacity: d.size(),
			PersistentVolumeReclaimPolicy: corev1.PersistentVolumeReclaimDelete,
			PersistentVolumeSource:        corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{Driver: "disk.csi.example.com", VolumeHandle: "vol-" + token(d.claim, 0)}},
			ClaimRef:                      &corev1.ObjectReference{Kind: "PersistentVolumeClaim", Namespace: a.namespace, Name: d.claim, UID: types.UID(claimUID)},
		},
	}
}
