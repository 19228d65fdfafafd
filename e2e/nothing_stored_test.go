//go:build e2e

package e2e

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/veltui/veltui/e2e/lab"
)

const veleroKeys = "/registry/velero.io/"

// writtenKeys returns the keys that differ, without those that Kubernetes writes all by itself, apart from Velero's.
func writtenKeys(before, after map[string]string) (others, ofVelero []string) {
	keys := maps.Clone(before)
	maps.Copy(keys, after)
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		switch {
		case before[key] == after[key]:
		case strings.HasPrefix(key, veleroKeys):
			ofVelero = append(ofVelero, key)
		case !slices.ContainsFunc([]string{"/registry/events/", "/registry/leases/", "/registry/masterleases/", "/registry/peerserverleases/"}, func(p string) bool { return strings.HasPrefix(key, p) }):
			others = append(others, key)
		}
	}
	return others, ofVelero
}

// writerOf names who last wrote one of Velero's objects, as managedFields tell.
func writerOf(t *testing.T, key string) string {
	t.Helper()
	parts := strings.Split(strings.TrimPrefix(key, veleroKeys), "/") // plural, namespace, name
	kind, err := theLab.Client.RESTMapper().KindFor(schema.GroupVersionResource{Group: velerov1.SchemeGroupVersion.Group, Resource: parts[0]})
	must(t, err)
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(kind)
	if err := theLab.Client.Get(patient(t), client.ObjectKey{Namespace: parts[1], Name: parts[2]}, o); err != nil {
		must(t, client.IgnoreNotFound(err))
		return "deleted"
	}
	last, at := "", time.Time{}
	for _, m := range o.GetManagedFields() {
		if m.Time != nil && !m.Time.Time.Before(at) {
			last, at = m.Manager, m.Time.Time
		}
	}
	return last
}

// TestDryRunStoresNothing reads every key of etcd before and after dry runs beside a running Velero.
func TestDryRunStoresNothing(t *testing.T) {
	fullBackup(t)
	must(t, theLab.VeleroWith(patient(t)))
	rights := &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "stored-velero"}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
		Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: lab.Namespace, Name: "default"}}} // the lab's server pod has no other
	must(t, theLab.Client.Create(patient(t), rights))
	defer func() { must(t, theLab.Remove(patient(t), rights)) }()
	keys := func() map[string]string {
		all, err := theLab.EtcdKeys(patient(t))
		must(t, err)
		return all
	}
	settled := func() map[string]string { // controllers may work on what earlier tests left
		last := keys()
		for {
			time.Sleep(3 * time.Second)
			now := keys()
			if others, _ := writtenKeys(last, now); len(others) == 0 {
				return now
			}
			last = now
		}
	}
	for _, c := range []struct {
		args []string
		sent int // at least
	}{
		{[]string{"--include-namespaces", "media", "--existing-resource-policy", "update"}, 100},
		{[]string{"--include-namespaces", "shop", "--namespace-mappings", "shop:stored-nowhere", "--dry-run-namespace", "default"}, 100},
	} {
		before := settled()
		code, printed := runVeltui(t, append([]string{"preflight", "backup/" + full, "--dry-run", "--dry-run-secrets", "--dry-run-qps", "500"}, c.args...)...)
		after := keys()
		sent, accepted := 0, 0
		if _, line, found := strings.Cut(printed, "Dry run as "); found {
			_, line, _ = strings.Cut(line, ": ")
			_, err := fmt.Sscanf(strings.ReplaceAll(line, ",", ""), "%d of %d objects sent %d accepted", &sent, new(int), &accepted)
			must(t, err)
		}
		if sent < c.sent || accepted == 0 {
			t.Errorf("%q: exit code %d, %d sent, %d accepted: %s", c.args, code, sent, accepted, printed)
		}
		others, ofVelero := writtenKeys(before, after)
		if len(others) > 0 {
			t.Errorf("%q: written, and none of Velero's: %q", c.args, others)
		}
		t.Logf("%q: %d sent, %d accepted, %d keys before and %d after; of Velero's changed:", c.args, sent, accepted, len(before), len(after))
		for _, key := range ofVelero {
			t.Logf("  %s, by %s", key, writerOf(t, key))
		}
	}
}
