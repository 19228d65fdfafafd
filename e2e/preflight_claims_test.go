//go:build e2e

package e2e

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/veltui/veltui/internal/velero/veleroapi"
)

// staticClaim makes a claim and the volume that it is bound to.
func staticClaim(
	t *testing.T,
	namespace, name string,
	source corev1.PersistentVolumeSource,
	policy corev1.PersistentVolumeReclaimPolicy,
	class *string,
) {
	t.Helper()
	ctx := patient(t)
	size, modes := corev1.ResourceList{
		corev1.ResourceStorage: resource.MustParse("1Gi"),
	}, []corev1.PersistentVolumeAccessMode{
		corev1.ReadWriteOnce,
	}
	volume := namespace + "-" + name
	must(
		t,
		theLab.Client.Create(
			ctx,
			&corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: volume}, Spec: corev1.PersistentVolumeSpec{
				Capacity:                      size,
				AccessModes:                   modes,
				PersistentVolumeReclaimPolicy: policy,
				PersistentVolumeSource:        source,
				ClaimRef:                      &corev1.ObjectReference{Namespace: namespace, Name: name},
			}},
		),
	)
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: nameOf(namespace, name), Spec: corev1.PersistentVolumeClaimSpec{
		StorageClassName: class,
		VolumeName:       volume,
		AccessModes:      modes,
		Resources:        corev1.VolumeResourceRequirements{Requests: size},
	}}
	must(t, theLab.Client.Create(ctx, claim))
	must(t, theLab.AwaitClaim(ctx, claim))
}

// claimPhase waits until a claim is Bound or Lost, or Kubernetes says that it cannot bind it.
func claimPhase(t *testing.T, namespace, name string) (phase string) {
	t.Helper()
	ctx := patient(t)
	must(t, wait.PollUntilContextCancel(ctx, 200*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		claim := &corev1.PersistentVolumeClaim{}
		if err := theLab.Client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, claim); err != nil {
			return false, err
		}
		if phase = string(claim.Status.Phase); phase != "Pending" {
			return true, nil
		}
		var events corev1.EventList
		if err := theLab.Client.List(ctx, &events, client.InNamespace(namespace)); err != nil {
			return false, err
		}
		return slices.ContainsFunc(events.Items, func(e corev1.Event) bool {
			return e.InvolvedObject.Name == name && (e.Reason == "FailedBinding" || e.Reason == "ProvisioningFailed")
		}), nil
	}))
	return phase
}

// TestPreflightClaims holds what veltui says of claims that name a volume to what becomes of them.
func TestPreflightClaims(t *testing.T) {
	must(t, theLab.EnsureVelero(patient(t)))
	ctx, none := patient(t), ""
	const from = "pr-claims"
	must(t, theLab.Client.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: from}}))
	hostPath := corev1.PersistentVolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/nowhere"}}
	staticClaim(t, from, "kept", hostPath, corev1.PersistentVolumeReclaimRetain, &none)
	staticClaim(t, from, "made", hostPath, corev1.PersistentVolumeReclaimDelete, &none)
	wantEnd(t, backup(t, from, veleroapi.BackupSpec{IncludedNamespaces: []string{from}}, nil), "Completed")
	no := false
	removeKept := func(namespaces ...string) {
		for _, namespace := range namespaces {
			must(t, theLab.DeleteAndWait(ctx, &corev1.PersistentVolumeClaim{ObjectMeta: nameOf(namespace, "kept")}))
			must(t, theLab.AwaitDeleted(ctx, &corev1.PersistentVolumeClaim{ObjectMeta: nameOf(namespace, "kept")}))
		}
	}
	updating := veleroapi.RestoreSpec{ExistingResourcePolicy: veleroapi.PolicyTypeUpdate}
	for _, c := range []struct {
		name   string
		before func()
		to     string
		spec   veleroapi.RestoreSpec
		args   []string
		code   int
		found  string // of the claims
		kept   string // the phase of claim kept afterwards
		made   string
	}{
		{name: "mapped", to: "pr-mapped", code: exitRefused, found: "obstacle ClaimsNeverBind kept", kept: "Pending"},
		{name: "alone", to: "pr-alone", spec: veleroapi.RestoreSpec{IncludeClusterResources: &no}, args: []string{"--include-cluster-resources=false"}, code: exitRefused, found: "obstacle ClaimsNeverBind kept made", kept: "Pending", made: "Pending"},
		{name: "taken", to: "pr-taken", spec: updating, args: []string{"--existing-resource-policy=update"}, found: "doubt ClaimsNeverBind kept", kept: "Bound"},
		{name: "released", before: func() { removeKept("pr-taken", from) }, to: "pr-released", code: exitRefused, found: "obstacle ClaimsNeverBind kept", kept: "Pending"},
		{name: "free", before: func() {
			removeKept("pr-mapped", "pr-alone", "pr-released") // they wait for the volume
			volume := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: from + "-kept"}}
			must(t, theLab.Client.Patch(ctx, volume, client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"claimRef":null}}`))))
		}, to: "pr-free", kept: "Bound"},
	} {
		if c.before != nil {
			c.before()
		}
		args := append([]string{"backup/" + from, "--namespace-mappings", from + ":" + c.to}, c.args...)
		d, _ := preflight(t, c.code, args...)
		found := ""
		for _, f := range d.Findings {
			if f.Reason == "ClaimsNeverBind" {
				slices.Sort(f.Names)
				found += strings.Join(append([]string{f.Severity, f.Reason}, f.Names...), " ")
			} else if f.Severity == "obstacle" {
				t.Errorf("%s: %+v", c.name, f)
			}
		}
		c.spec.BackupName, c.spec.NamespaceMapping = from, map[string]string{from: c.to}
		wantEnd(t, restore(t, "pr-claims-"+c.name, c.spec, nil), "Completed")
		if got := claimPhase(t, c.to, "kept"); got != c.kept || found != c.found {
			t.Errorf("%s: found %q, want %q; the claim is %s, want %s: %+v", c.name, found, c.found, got, c.kept, d)
		}
		if c.made != "" {
			if got := claimPhase(t, c.to, "made"); got != c.made {
				t.Errorf("%s: claim made is %s, want %s", c.name, got, c.made)
			}
		}
		if c.name == "taken" {
			had := &corev1.PersistentVolumeClaim{ObjectMeta: nameOf(from, "kept")}
			must(
				t,
				wait.PollUntilContextCancel(ctx, 200*time.Millisecond, true, func(ctx context.Context) (bool, error) {
					err := theLab.Client.Get(ctx, client.ObjectKeyFromObject(had), had)
					return had.Status.Phase == corev1.ClaimLost, err
				}),
			)
		}
	}
}
