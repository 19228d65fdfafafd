//go:build e2e

package e2e

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	storagev1 "k8s.io/api/storage/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/veltui/veltui/e2e/lab"
	"github.com/veltui/veltui/internal/velero/veleroapi"
)

// check holds what veltui says of some namespaces, or of all, to what is planted in them.
func (p *planter) check(namespaces ...string) {
	p.t.Helper()
	p.checkAt(theLab.Kubeconfig(), p.wants, namespaces)
}

func (p *planter) checkAt(kubeconfig string, wants map[string]plantedReason, namespaces []string, flags ...string) {
	p.t.Helper()
	if len(namespaces) == 0 {
		for key := range wants {
			namespaces = append(namespaces, strings.Split(key, "/")[0])
		}
		slices.Sort(namespaces)
		namespaces = slices.Compact(namespaces)
	}
	_, printed := runVeltuiAt(p.t, kubeconfig, slices.Concat([]string{"coverage", "-o", "json"}, flags, namespaces)...)
	var covered struct {
		Items []struct {
			coverageItem
			Kind              string
			Claims, Workloads []struct {
				coverageItem
				Kind string
			}
		}
	}
	must(p.t, json.Unmarshal(document(printed), &covered))
	found := map[string]coverageItem{}
	for _, n := range covered.Items {
		found[n.Name+"/Namespace/"+n.Name] = n.coverageItem
		for _, i := range slices.Concat(n.Claims, n.Workloads) {
			found[n.Name+"/"+i.Kind+"/"+i.Name] = i.coverageItem
		}
	}
	for _, key := range slices.Sorted(maps.Keys(wants)) {
		want, got := wants[key], found[key]
		if !slices.Contains(namespaces, strings.Split(key, "/")[0]) {
			continue
		}
		if got.Name == "" || got.Reason != want.reason || !strings.Contains(got.Sentence, want.words) ||
			(got.State == "covered") != (want.reason == "") {
			p.t.Errorf(
				"%s: %s %q %s: %s; want %q and %q",
				key,
				got.State,
				got.Reason,
				got.Backup,
				got.Sentence,
				want.reason,
				want.words,
			)
		}
	}
}

// readings are of one cluster, read differently.
func (p *planter) readings() {
	p.t.Helper()
	const claim = "/PersistentVolumeClaim/"
	p.checkAt(
		theLab.Kubeconfig(),
		map[string]plantedReason{"why-good" + claim + "data": {"TooOld", "more than 1s"}},
		nil,
		"--max-age",
		"1s",
	)
	p.checkAt(
		p.user("why-no-volumes", "persistentvolumes"),
		map[string]plantedReason{"why-never-run" + claim + "data": {"NotSeen", "its volume cannot be read"}},
		nil,
	)
	p.checkAt(
		p.user("why-no-pods", "pods"),
		map[string]plantedReason{"why-never-run" + claim + "data": {"NotSeen", "pods cannot be read"}},
		nil,
	)
	p.checkAt(
		p.user("why-no-schedules", "schedules"),
		map[string]plantedReason{"why-never-run" + claim + "data": {"NotSeen", "schedules cannot be read"}},
		nil,
	)
	place := &veleroapi.VolumeSnapshotLocation{
		ObjectMeta: metav1.ObjectMeta{Namespace: lab.Namespace, Name: "why-place"},
		Spec:       veleroapi.VolumeSnapshotLocationSpec{Provider: "aws"},
	}
	p.create(place)
	p.checkAt(
		theLab.Kubeconfig(),
		map[string]plantedReason{
			"why-never-run" + claim + "share": {"PluginDecides", "the plugin of a volume snapshot location"},
		},
		nil,
	)
	must(p.t, theLab.Client.Delete(p.ctx, place))
	must(p.t, theLab.EnsureVelero(p.ctx, unthrottled...))
	p.checkAt(
		theLab.Kubeconfig(),
		map[string]plantedReason{"why-never-run" + claim + "data": {"CSIOff", "without the feature EnableCSI"}},
		nil,
	)
}

// user may read everything but one resource.
func (p *planter) user(name, without string) (kubeconfig string) {
	p.t.Helper()
	config, err := theLab.CreateUserKubeconfig(name)
	must(p.t, err)
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name}}
	for group, resources := range map[string][]string{
		"":     {"namespaces", "persistentvolumeclaims", "persistentvolumes", "pods", "configmaps"},
		"apps": {"*"}, "batch": {"*"}, "storage.k8s.io": {"*"}, "snapshot.storage.k8s.io": {"*"},
		"velero.io": {"backups", "restores", "schedules", "backupstoragelocations", "volumesnapshotlocations"},
	} {
		resources = slices.DeleteFunc(resources, func(r string) bool { return r == without })
		role.Rules = append(
			role.Rules,
			rbacv1.PolicyRule{
				APIGroups: []string{group},
				Resources: resources,
				Verbs:     []string{"get", "list", "watch"},
			},
		)
	}
	p.create(role)
	p.create(
		&rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			RoleRef:    rbacv1.RoleRef{Kind: "ClusterRole", Name: name, APIGroup: "rbac.authorization.k8s.io"},
			Subjects:   []rbacv1.Subject{{Kind: "User", Name: name, APIGroup: "rbac.authorization.k8s.io"}},
		},
	)
	return config
}

// clear takes away what would change what other tests find, and waits until it is gone.
func (p *planter) clear() {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	in := client.InNamespace(lab.Namespace)
	must(p.t, theLab.Client.DeleteAllOf(ctx, &veleroapi.Schedule{}, in))
	for _, o := range p.held {
		_ = theLab.Client.Patch(
			ctx,
			o,
			client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"finalizers":null}}`)),
		)
	}
	snapshotClasses := &unstructured.UnstructuredList{}
	snapshotClasses.SetGroupVersionKind(
		schema.GroupVersionKind{Group: "snapshot.storage.k8s.io", Version: "v1", Kind: "VolumeSnapshotClassList"},
	)
	for _, list := range []client.ObjectList{
		&veleroapi.BackupList{}, &veleroapi.BackupStorageLocationList{}, &corev1.PodList{}, &corev1.NamespaceList{}, &corev1.PersistentVolumeList{}, &storagev1.StorageClassList{},
		snapshotClasses, &corev1.NodeList{}, &rbacv1.ClusterRoleList{}, &rbacv1.ClusterRoleBindingList{},
	} {
		must(p.t, theLab.Client.List(ctx, list))
		var gone []client.Object
		must(p.t, apimeta.EachListItem(list, func(item runtime.Object) error {
			o := item.(client.Object)
			if !strings.HasPrefix(o.GetName(), "why-") && !strings.HasPrefix(o.GetNamespace(), "why-") {
				return nil
			}
			gone = append(gone, o)
			return client.IgnoreNotFound(theLab.Client.Delete(ctx, o, client.GracePeriodSeconds(0)))
		}))
		for _, o := range gone {
			must(p.t, theLab.AwaitDeleted(ctx, o))
		}
	}
}
