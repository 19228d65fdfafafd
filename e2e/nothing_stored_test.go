//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/veltui/veltui/e2e/lab"
	"github.com/veltui/veltui/internal/velero/veleroapi"
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

// writersOf names who wrote one of Velero's objects, as managedFields tell.
func writersOf(ctx context.Context, key string) string {
	parts := strings.Split(strings.TrimPrefix(key, veleroKeys), "/") // plural, namespace, name
	o := &unstructured.Unstructured{}
	kind, err := theLab.Client.RESTMapper().
		KindFor(schema.GroupVersionResource{Group: veleroapi.GroupVersion.Group, Resource: parts[0]})
	if err == nil {
		o.SetGroupVersionKind(kind)
		err = theLab.Client.Get(ctx, client.ObjectKey{Namespace: parts[1], Name: parts[2]}, o)
	}
	if err != nil {
		return err.Error()
	}
	var managers []string
	for _, m := range o.GetManagedFields() {
		managers = append(managers, m.Manager+" "+string(m.Operation))
	}
	return strings.Join(slices.Compact(managers), ", ")
}

// watchKeys reads all keys again and again until stop, and returns those that differ, also for a moment, with who wrote
// those of Velero.
func watchKeys(ctx context.Context, before map[string]string) (stop func() (others, ofVelero map[string]string)) {
	others, ofVelero := map[string]string{}, map[string]string{}
	ctx, cancel := context.WithCancel(ctx)
	var reading sync.WaitGroup
	read := func(ctx context.Context) {
		now, err := theLab.EtcdKeyRevisions(ctx)
		if err != nil {
			return
		}
		strangers, own := writtenKeys(before, now)
		for _, key := range strangers {
			others[key] = now[key]
		}
		for _, key := range own {
			if by, known := ofVelero[key]; !known || strings.HasSuffix(by, "not found") {
				ofVelero[key] = writersOf(ctx, key)
			}
		}
	}
	reading.Go(func() {
		for ctx.Err() == nil {
			read(ctx)
			time.Sleep(20 * time.Millisecond)
		}
	})
	return func() (map[string]string, map[string]string) {
		cancel()
		reading.Wait()
		read(context.WithoutCancel(ctx))
		return others, ofVelero
	}
}

// TestDryRunStoresNothing reads every key of etcd before and after dry runs beside a running Velero.
func TestDryRunStoresNothing(t *testing.T) {
	fullBackup(t)
	must(t, theLab.EnsureVelero(patient(t)))
	rights := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "stored-velero"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
		Subjects: []rbacv1.Subject{
			{Kind: rbacv1.ServiceAccountKind, Namespace: lab.Namespace, Name: "default"},
		},
	} // the lab's server pod has no other
	must(t, theLab.Client.Create(patient(t), rights))
	defer func() { must(t, theLab.DeleteAndWait(patient(t), rights)) }()
	keys := func() map[string]string {
		all, err := theLab.EtcdKeyRevisions(patient(t))
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
		stop := watchKeys(patient(t), before)
		code, printed := runVeltui(
			t,
			append(
				[]string{"preflight", "backup/" + full, "--dry-run", "--dry-run-secrets", "--dry-run-qps", "500"},
				c.args...)...)
		others, ofVelero := stop()
		sent, accepted := 0, 0
		if _, line, found := strings.Cut(printed, "Dry run as "); found {
			_, line, _ = strings.Cut(line, ": ")
			_, err := fmt.Sscanf(
				strings.ReplaceAll(line, ",", ""),
				"%d of %d objects sent %d accepted",
				&sent,
				new(int),
				&accepted,
			)
			must(t, err)
		}
		if sent < c.sent || accepted == 0 {
			t.Errorf("%q: exit code %d, %d sent, %d accepted: %s", c.args, code, sent, accepted, printed)
		}
		if len(others) > 0 {
			t.Errorf("%q: written, and none of Velero's: %q", c.args, others)
		}
		t.Logf(
			"%q: %d sent, %d accepted, %d keys before; of Velero's %d were written:",
			c.args,
			sent,
			accepted,
			len(before),
			len(ofVelero),
		)
		for _, key := range slices.Sorted(maps.Keys(ofVelero)) {
			t.Logf("  %s, by %s", key, ofVelero[key])
		}
	}
}
