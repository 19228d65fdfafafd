//go:build e2e

package e2e

import (
	"cmp"
	"context"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/veltui/veltui/e2e/lab"
	"github.com/veltui/veltui/internal/velero/veleroapi"
)

// claimPlant is a claim of TestVerifyFindsLostVolumes, and the volume that it is bound to; both are of class.
type claimPlant struct {
	name, size, class string
	mode              corev1.PersistentVolumeAccessMode
	policy            corev1.PersistentVolumeReclaimPolicy
	unsaved           bool // the volume is not in the backup
}

func (p claimPlant) make(t *testing.T, namespace, volume string) {
	t.Helper()
	ctx := patient(t)
	p.size, p.mode, p.policy = cmp.Or(
		p.size,
		"1Gi",
	), cmp.Or(
		p.mode,
		corev1.ReadWriteOnce,
	), cmp.Or(
		p.policy,
		corev1.PersistentVolumeReclaimRetain,
	)
	size, modes := corev1.ResourceList{
		corev1.ResourceStorage: resource.MustParse(p.size),
	}, []corev1.PersistentVolumeAccessMode{
		p.mode,
	}
	pv := &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: volume, Labels: map[string]string{}},
		Spec: corev1.PersistentVolumeSpec{
			Capacity:                      size,
			AccessModes:                   modes,
			StorageClassName:              p.class,
			PersistentVolumeReclaimPolicy: p.policy,
			ClaimRef:                      &corev1.ObjectReference{Namespace: namespace, Name: p.name},
			PersistentVolumeSource: corev1.PersistentVolumeSource{
				HostPath: &corev1.HostPathVolumeSource{Path: "/nowhere"},
			},
		},
	}
	if p.unsaved {
		pv.Labels["velero.io/exclude-from-backup"] = "true"
	}
	must(t, theLab.Client.Create(ctx, pv))
	claim := &corev1.PersistentVolumeClaim{
		ObjectMeta: nameOf(namespace, p.name),
		Spec: corev1.PersistentVolumeClaimSpec{
			StorageClassName: &p.class,
			VolumeName:       volume,
			AccessModes:      modes,
			Resources:        corev1.VolumeResourceRequirements{Requests: size},
		},
	}
	must(t, theLab.Client.Create(ctx, claim))
	must(t, theLab.AwaitClaim(ctx, claim))
}

func claimOf(namespace, name string) *corev1.PersistentVolumeClaim {
	return &corev1.PersistentVolumeClaim{ObjectMeta: nameOf(namespace, name)}
}

func removeClaim(t *testing.T, namespace, name string) {
	t.Helper()
	must(t, theLab.DeleteAndWait(patient(t), claimOf(namespace, name)))
	must(t, theLab.AwaitDeleted(patient(t), claimOf(namespace, name)))
}

// merge patches an object.
func merge(t *testing.T, o client.Object, with string) {
	t.Helper()
	must(t, theLab.Client.Patch(patient(t), o, client.RawPatch("application/merge-patch+json", []byte(with))))
}

func volumeOf(name string) *corev1.PersistentVolume {
	return &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: name}}
}

// removeVolume removes a volume also if a claim is bound to it.
func removeVolume(t *testing.T, name string) {
	t.Helper()
	must(t, client.IgnoreNotFound(theLab.Client.Delete(patient(t), volumeOf(name))))
	must(
		t,
		client.IgnoreNotFound(
			theLab.Client.Patch(
				patient(t),
				volumeOf(name),
				client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"finalizers":null}}`)),
			),
		),
	)
	must(t, theLab.AwaitDeleted(patient(t), volumeOf(name)))
}

// lostVolumes adds the volumes to what was found that have no data, or of which nothing is known.
func lostVolumes(d verification, found map[string]string) map[string]string {
	for _, v := range d.Volumes {
		if v.Lost || v.State == "Unknown" {
			found["volume/"+cmp.Or(v.Claim, v.Pod+":"+v.PodVolume)] = v.State + " " + v.Why
		}
	}
	return found
}

// TestVerifyFindsLostVolumes plants what may become of claims and volumes, before a restore into the namespace that was
// backed up and after it: verify finds each, and nothing of the others.
func TestVerifyFindsLostVolumes(t *testing.T) {
	ctx := patient(t)
	must(t, theLab.StartSnapshots(ctx))
	must(t, theLab.EnsureVelero(ctx, "--features=EnableCSI"))
	const ns, gone = "vols", "vols-gone"
	must(t, theLab.Client.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: ns}}))
	plants := []claimPlant{
		{
			name: "fine",
		},
		{name: "made"},
		{name: "released"},
		{name: "foreign"},
		{name: "missing", unsaved: true},
		{name: "lost"},
		{name: "misbound"},
		{name: "rebound"},
		{name: "shrunk"},
		{name: "modes"},
		{name: "gone"},
		{
			name:   "unsaved",
			policy: corev1.PersistentVolumeReclaimDelete,
			size:   "7Gi",
		},
		{name: "classless", policy: corev1.PersistentVolumeReclaimDelete, class: gone},
	}
	for _, p := range plants {
		p.make(t, ns, ns+"-"+p.name)
	}
	snapped := []string{"snapped", "snap-grown", "snap-again"}
	for _, name := range snapped {
		must(t, theLab.CreateClaim(ctx, ns, name))
	}
	t.Cleanup(func() { // volumes have no namespace, and are shared with other tests
		for _, p := range plants {
			_ = theLab.DeleteAndWait(context.Background(), claimOf(ns, p.name))
			for _, volume := range []string{ns + "-" + p.name, ns + "-" + p.name + "-2"} {
				_ = theLab.Client.Delete(context.Background(), volumeOf(volume))
			}
		}
	})
	wantEnd(t, backup(t, ns, veleroapi.BackupSpec{IncludedNamespaces: []string{ns}}, nil), "Completed")

	for _, name := range snapped {
		removeClaim(t, ns, name)
	}
	for _, p := range plants {
		removeClaim(t, ns, p.name)
		volume := volumeOf(ns + "-" + p.name)
		switch p.name {
		case "released": // its reference to the claim stays, with the uid
		case "foreign":
			merge(
				t,
				volume,
				`{"spec":{"claimRef":{"namespace":"elsewhere","name":"x","uid":null,"resourceVersion":null}}}`,
			)
		case "made", "missing", "unsaved", "classless":
			removeVolume(t, volume.Name)
		default:
			merge(t, volume, `{"spec":{"claimRef":{"uid":null,"resourceVersion":null}}}`) // kept for the claim
		}
	}
	time.Sleep(11 * time.Second) // the volumes are older than the restore, with certainty
	wantEnd(t, restore(t, ns, veleroapi.RestoreSpec{BackupName: ns}, nil), "Completed")
	for _, name := range append([]string{"fine", "made", "lost", "misbound", "rebound", "shrunk", "modes", "gone"}, snapped...) {
		must(t, theLab.AwaitClaim(ctx, claimOf(ns, name)))
	}
	want := map[string]string{
		"unbound/released":  "volume vols-released can never be bound to it: it is kept for an earlier claim",
		"unbound/foreign":   "volume vols-foreign can never be bound to it: it is kept for claim elsewhere/x",
		"unbound/missing":   "volume vols-missing can never be bound to it: it is not there",
		"unbound/classless": "the cluster has no storage class " + gone,
		"volume/released":   "Empty volume vols-released",
		"volume/foreign":    "Empty volume vols-foreign",
		"volume/missing":    "Empty volume vols-missing",
		"volume/classless":  "Empty the backup skipped it",
		"volume/unsaved":    "Empty the backup skipped it",
		"volume/made":       "Unknown Velero made its old volume vols-made again",
	}
	d, found := verified(t, exitRefused, "restore/"+ns, "--compare")
	wantFound(t, lostVolumes(d, found), want)

	time.Sleep(11 * time.Second) // what is made from now on is later than the restore, with certainty
	removeVolume(t, ns+"-lost")
	merge(
		t,
		volumeOf(ns+"-misbound"),
		`{"spec":{"claimRef":{"namespace":"elsewhere","name":"x","uid":null,"resourceVersion":null}}}`,
	)
	for _, again := range []claimPlant{{name: "rebound"}, {name: "shrunk", size: "512Mi"}, {name: "modes", mode: corev1.ReadOnlyMany}} {
		removeClaim(t, ns, again.name)
		again.make(t, ns, ns+"-"+again.name+"-2")
	}
	removeClaim(t, ns, "gone")
	removeClaim(t, ns, "snap-again")
	must(t, theLab.CreateClaim(ctx, ns, "snap-again"))
	// What nobody lost.
	class := &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: lab.SnapshotClass}}
	merge(t, class, `{"allowVolumeExpansion":true}`)
	defer merge(t, class, `{"allowVolumeExpansion":null}`)
	merge(t, claimOf(ns, "snap-grown"), `{"spec":{"resources":{"requests":{"storage":"2Gi"}}}}`)
	merge(t, claimOf(ns, "fine"), `{"metadata":{"annotations":{"volume.kubernetes.io/storage-resizer":"x"}}}`)
	for _, name := range []string{"lost", "misbound"} {
		must(t, wait.PollUntilContextCancel(ctx, 200*time.Millisecond, true, func(ctx context.Context) (bool, error) {
			claim := claimOf(ns, name)
			err := theLab.Client.Get(ctx, client.ObjectKeyFromObject(claim), claim)
			return claim.Status.Phase == corev1.ClaimLost, err
		}))
	}
	for what, how := range map[string]string{
		"unbound/lost": "volume vols-lost can never be bound to it: it is not there", "unbound/misbound": "volume vols-misbound can never be bound to it: it is kept for claim elsewhere/x",
		"volume/lost": "Empty volume vols-lost", "volume/misbound": "Empty volume vols-misbound", "persistentvolumes/vols-lost": "Failed", "persistentvolumeclaims/gone": "Gone",
		"volume/rebound": "Empty", "volume/shrunk": "Empty", "volume/modes": "Empty", "volume/snap-again": "Empty somebody made this claim after the restore",
	} {
		want[what] = how
	}
	d, found = verified(t, exitRefused, "restore/"+ns)
	wantFound(t, lostVolumes(d, found), want)
	want["persistentvolumeclaims/shrunk"] = "Recreated spec.volumeName spec.resources.requests.storage"
	want["persistentvolumeclaims/modes"] = "Recreated spec.accessModes"
	want["persistentvolumeclaims/rebound"] = "Recreated spec.volumeName"
	d, found = verified(t, exitRefused, "restore/"+ns, "--compare")
	wantFound(t, lostVolumes(d, found), want)
}

// TestVerifyFindsVolumesThatPodsDidNotGet has Velero copy data into the volumes of pods, as if a node-agent ended each
// in its way.
func TestVerifyFindsVolumesThatPodsDidNotGet(t *testing.T) {
	ctx := patient(t)
	must(t, theLab.StartSnapshots(ctx)) // for claims that get a volume
	must(t, theLab.StartNodeAgent(ctx, oneAtATime))
	t.Cleanup(func() { must(t, theLab.RemoveNodeAgent(context.Background())) })
	must(t, theLab.CrashNodeAgent(ctx, 1)) // what it would write is written here
	must(t, theLab.EnsureVelero(ctx))
	const from, to = "pod-volumes", "pod-volumes-2"
	must(t, theLab.Client.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: from}}))
	pod := func(namespace, name, cpu string) *corev1.Pod {
		volume := corev1.Volume{
			Name: "data",
			VolumeSource: corev1.VolumeSource{
				PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: name},
			},
		}
		if name == "scratch" {
			volume.VolumeSource = corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}
		}
		asks := corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu)}
		return &corev1.Pod{
			ObjectMeta: nameOf(namespace, name),
			Spec: corev1.PodSpec{Volumes: []corev1.Volume{volume}, Containers: []corev1.Container{
				{
					Name:         "main",
					Image:        "main",
					VolumeMounts: []corev1.VolumeMount{{Name: "data", MountPath: "/data"}},
					Resources:    corev1.ResourceRequirements{Requests: asks, Limits: asks},
				},
			}},
		}
	}
	ends := map[string]veleroapi.PodVolumeRestorePhase{
		"copied":   "Completed",
		"failed":   "Failed",
		"canceled": "Canceled",
		"scratch":  "Failed",
		"again":    "Completed",
	}
	names := []string{"copied", "failed", "canceled", "scratch", "again", "existed", "refused"}
	for _, name := range names {
		if name != "scratch" {
			must(t, theLab.CreateClaim(ctx, from, name))
		}
		cpu := "1"
		if name == "refused" {
			cpu = "4"
		}
		must(t, theLab.CreatePod(ctx, pod(from, name, cpu)))
		must(t, theLab.RunPod(ctx, from, name))
	}
	yes := true
	createBackup(t, from, veleroapi.BackupSpec{IncludedNamespaces: []string{from}, DefaultVolumesToFsBackup: &yes}, nil)
	awaitTrue(t, "the copies to be made", func() bool {
		var all veleroapi.PodVolumeBackupList
		must(
			t,
			theLab.Client.List(
				ctx,
				&all,
				client.InNamespace(lab.Namespace),
				client.MatchingLabels{veleroapi.BackupNameLabel: from},
			),
		)
		for i := range all.Items {
			if all.Items[i].Status.Phase != veleroapi.PodVolumeBackupPhaseCompleted {
				merge(
					t,
					&all.Items[i],
					`{"status":{"phase":"Completed","snapshotID":"s","path":"/p","progress":{"totalBytes":10,"bytesDone":10}}}`,
				)
			}
		}
		return len(all.Items) == len(names)
	})
	wantEnd(t, ended(t, "Backup", from), "Completed")

	must(t, theLab.Client.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: to}}))
	must(
		t,
		theLab.Client.Create(
			ctx,
			&corev1.LimitRange{
				ObjectMeta: nameOf(to, "most"),
				Spec: corev1.LimitRangeSpec{
					Limits: []corev1.LimitRangeItem{
						{Type: corev1.LimitTypeContainer, Max: corev1.ResourceList{"cpu": resource.MustParse("2")}},
					},
				},
			},
		),
	)
	must(t, theLab.CreatePod(ctx, pod(to, "existed", "2")))
	time.Sleep(11 * time.Second) // it is older than the restore, with certainty
	createRestore(t, from, veleroapi.RestoreSpec{BackupName: from, NamespaceMapping: map[string]string{from: to}}, nil)
	t.Cleanup(func() { // so that it does not fill the first screen of later tests
		_ = theLab.Client.Delete(context.Background(), &veleroapi.Restore{ObjectMeta: nameOf(lab.Namespace, from)})
	})
	done := map[string]bool{}
	awaitTrue(t, "the copies to be restored", func() bool {
		var all veleroapi.PodVolumeRestoreList
		must(
			t,
			theLab.Client.List(
				ctx,
				&all,
				client.InNamespace(lab.Namespace),
				client.MatchingLabels{veleroapi.RestoreNameLabel: from},
			),
		)
		for i := range all.Items {
			v := &all.Items[i]
			if phase, known := ends[v.Spec.Pod.Name]; known && !done[v.Spec.Pod.Name] {
				merge(t, v, `{"status":{"phase":"`+string(phase)+`","message":"as planted"}}`)
				done[v.Spec.Pod.Name] = true
			}
		}
		return len(done) == len(ends)
	})
	wantEnd(t, ended(t, "Restore", from), "PartiallyFailed")
	for _, name := range names {
		if name != "scratch" {
			must(t, theLab.AwaitClaim(ctx, claimOf(to, name)))
		}
	}
	want := map[string]string{
		"pods/refused":        "Failed",
		"pods/existed":        "Existed or not",
		"volume/failed":       "Failed",
		"volume/canceled":     "Failed",
		"volume/scratch:data": "Failed",
		"volume/existed":      "Empty Velero copies it only into a pod that it creates, and pod existed existed",
		"volume/refused":      "Empty Velero copies it only through pod refused, which did not come back",
	}
	delete(want, "pods/existed")
	d, found := verified(t, exitRefused, "restore/"+from, "--compare")
	found = lostVolumes(d, found)
	delete(found, "pods/existed") // with another request, as planted
	wantFound(t, found, want)

	time.Sleep(11 * time.Second)
	must(t, theLab.Client.Delete(ctx, &corev1.Pod{ObjectMeta: nameOf(to, "again")}, client.GracePeriodSeconds(0)))
	removeClaim(t, to, "again")
	must(t, theLab.CreateClaim(ctx, to, "again"))
	want["pods/again"], want["volume/again"] = "Gone", "Empty somebody made this claim after the restore had ended"
	d, found = verified(t, exitRefused, "restore/"+from)
	found = lostVolumes(d, found)
	delete(found, "pods/existed")
	wantFound(t, found, want)
	if volumes := slices.Collect(func(yield func(string) bool) {
		for _, v := range d.Volumes {
			if v.State == "Restored" && !yield(v.Claim) {
				return
			}
		}
	}); !slices.Equal(volumes, []string{"copied"}) {
		t.Errorf("restored: %q", volumes)
	}
}
