//go:build e2e

package e2e

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/veltui/veltui/internal/velero/veleroapi"
)

// TestVerifyFindsWhatDidNotComeBack restores a namespace with all its kinds into one
// whose quota refuses one Secret and that has one ConfigMap already, and deletes a
// service afterwards: verify finds these three, and nothing else.
func TestVerifyFindsWhatDidNotComeBack(t *testing.T) {
	fullBackup(t)
	const target = "ops-verified"
	ctx := patient(t)
	var secrets corev1.SecretList
	var maps corev1.ConfigMapList
	var services corev1.ServiceList
	for _, list := range []client.ObjectList{&secrets, &maps, &services} {
		must(t, theLab.Client.List(ctx, list, client.InNamespace("ops")))
	}
	maps.Items = slices.DeleteFunc(maps.Items, func(m corev1.ConfigMap) bool { return m.Name == "kube-root-ca.crt" })
	if len(secrets.Items) < 2 || len(maps.Items) == 0 || len(services.Items) == 0 {
		t.Fatal("the seed has too little")
	}
	must(t, theLab.Client.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: target}}))
	must(t, theLab.Client.Create(ctx, &corev1.ResourceQuota{
		ObjectMeta: metav1.ObjectMeta{Namespace: target, Name: "one-less"},
		Spec: corev1.ResourceQuotaSpec{
			Hard: corev1.ResourceList{
				"count/secrets": *resource.NewQuantity(int64(len(secrets.Items)-1), resource.DecimalSI),
			},
		},
	}))
	existed := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: target, Name: maps.Items[0].Name},
		Data:       map[string]string{"mine": "yes"},
	}
	must(t, theLab.Client.Create(ctx, existed))
	no := false // the volumes of ops are still there, and differ
	h := restore(
		t,
		"verified",
		veleroapi.RestoreSpec{BackupName: full, IncludedNamespaces: []string{"ops"}, IncludeClusterResources: &no,
			NamespaceMapping: map[string]string{"ops": target}},
		nil,
	)
	wantEnd(t, h, "PartiallyFailed")
	must(
		t,
		theLab.Client.Delete(
			ctx,
			&corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: target, Name: services.Items[0].Name}},
		),
	)

	code, printed := runVeltui(t, "verify", "restore/verified", "-o", "json")
	var d struct {
		Wanted, LostItems int
		Resources         []struct {
			Resource string
			Items    []struct {
				Name, State, Why string
				Lost             bool
			}
		}
		NotSeen []any
		Notes   []string
	}
	if err := json.Unmarshal(document(printed), &d); err != nil {
		t.Fatalf("%v: %.2000s", err, printed)
	}
	var lost []string
	for _, r := range d.Resources {
		for _, i := range r.Items {
			switch {
			case !i.Lost:
			case i.State == "Failed" && r.Resource == "secrets" && strings.Contains(i.Why, "exceeded quota: one-less"):
				lost = append(lost, "Failed secret")
			default:
				lost = append(lost, fmt.Sprintf("%s %s/%s: %s", i.State, r.Resource, i.Name, i.Why))
			}
		}
	}
	slices.Sort(lost)
	if len(lost) != 3 || !strings.HasPrefix(lost[0], "Differs configmaps/"+existed.Name+": already exists") ||
		lost[1] != "Failed secret" ||
		!strings.HasPrefix(lost[2], "Gone services/"+services.Items[0].Name+":") {
		t.Errorf("verify finds %q", lost)
	}
	if code != 6 || d.LostItems != 3 || d.Wanted < 80 || len(d.NotSeen) > 0 || len(d.Notes) > 0 {
		t.Errorf("exit code %d, %d of %d lost, not seen %v, notes %q", code, d.LostItems, d.Wanted, d.NotSeen, d.Notes)
	}
}

// TestVerifySaysWhatBecameOfVolumes restores claims that a CSI driver makes from
// snapshots, and one whose volume the backup could not save: that one comes back
// empty, Velero calls the restore completed, and only verify says so.
func TestVerifySaysWhatBecameOfVolumes(t *testing.T) {
	ctx := patient(t)
	must(t, theLab.StartSnapshots(ctx))
	must(t, theLab.EnsureVelero(ctx, "--features=EnableCSI"))
	const from, to = "verify-volumes", "verify-volumes-2"
	must(t, theLab.Client.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: from}}))
	must(t, theLab.CreateClaim(ctx, from, "snapped"))
	size := corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}
	must(t, theLab.Client.Create(ctx, &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: from},
		Spec: corev1.PersistentVolumeSpec{
			Capacity:                      size,
			AccessModes:                   []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			PersistentVolumeReclaimPolicy: corev1.PersistentVolumeReclaimDelete,
			ClaimRef: &corev1.ObjectReference{
				Kind:      "PersistentVolumeClaim",
				Namespace: from,
				Name:      "unsaved",
			},
			PersistentVolumeSource: corev1.PersistentVolumeSource{
				HostPath: &corev1.HostPathVolumeSource{Path: "/nowhere"},
			},
		},
	}))
	none := ""
	unsaved := &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: from, Name: "unsaved"},
		Spec: corev1.PersistentVolumeClaimSpec{
			StorageClassName: &none,
			VolumeName:       from,
			AccessModes:      []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources:        corev1.VolumeResourceRequirements{Requests: size},
		},
	}
	must(t, theLab.Client.Create(ctx, unsaved))
	must(t, theLab.AwaitClaim(ctx, unsaved))
	wantEnd(t, backup(t, from, veleroapi.BackupSpec{IncludedNamespaces: []string{from}}, nil), "Completed")
	h := restore(
		t,
		to,
		veleroapi.RestoreSpec{
			BackupName:         from,
			IncludedNamespaces: []string{from},
			NamespaceMapping:   map[string]string{from: to},
		},
		nil,
	)
	wantEnd(t, h, "Completed")

	var d struct {
		LostItems, LostVolumes int
		Volumes                []struct{ Claim, Method, State, Why string }
		Notes                  []string
	}
	code, printed := runVeltui(t, "verify", "restore/"+to, "-o", "json")
	if err := json.Unmarshal(document(printed), &d); err != nil {
		t.Fatalf("%v: %.2000s", err, printed)
	}
	var found []string
	for _, v := range d.Volumes {
		found = append(found, v.Claim+" "+v.Method+" "+v.State)
	}
	if want := []string{
		"unsaved  Empty",
		"snapped CSISnapshot Restored",
	}; !slices.Equal(found, want) || code != 6 || d.LostItems != 0 || d.LostVolumes != 1 ||
		len(d.Notes) > 0 {
		t.Errorf(
			"exit code %d, %d items and %d volumes lost, %q, notes %q; expected %q: %.4000s",
			code,
			d.LostItems,
			d.LostVolumes,
			found,
			d.Notes,
			want,
			printed,
		)
	}
	if len(d.Volumes) > 0 && !strings.Contains(d.Volumes[0].Why, "the backup skipped it: ") {
		t.Errorf("%+v", d.Volumes[0])
	}
}
