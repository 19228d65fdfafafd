//go:build e2e

package e2e

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	crdv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/veltui/veltui/e2e/lab"
	"github.com/veltui/veltui/internal/velero/veleroapi"
)

// The objects of TestMergedAndMadeLater, by namespace and group.
var mergedObjects = map[string]map[string]string{
	"ml-a": {
		"merge": `{apiVersion: v1, kind: ConfigMap, metadata: {name: both}, data: {from: a}}
{apiVersion: v1, kind: Secret, metadata: {name: both}, stringData: {from: a}}
{apiVersion: v1, kind: ConfigMap, metadata: {name: only-a}}`,
		"rename": `{apiVersion: v1, kind: ConfigMap, metadata: {name: ren-x}, data: {from: first}}
{apiVersion: v1, kind: ConfigMap, metadata: {name: ren-y}, data: {from: second}}`,
		"later": `{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: set}, spec: {serviceName: s, selector: {matchLabels: {a: set}}, template: {metadata: {labels: {a: set}}, spec: {schedulingGates: [{name: example.com/never}], containers: [{name: a, image: a}]}}, volumeClaimTemplates: [{metadata: {name: data}, spec: {storageClassName: ml-nosuch, accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}]}}
{apiVersion: apps/v1, kind: Deployment, metadata: {name: lacks}, spec: {replicas: 0, selector: {matchLabels: {a: lacks}}, template: {metadata: {labels: {a: lacks}}, spec: {imagePullSecrets: [{name: absent}], containers: [{name: a, image: a}]}}}}
{apiVersion: apps/v1, kind: Deployment, metadata: {name: has}, spec: {replicas: 0, selector: {matchLabels: {a: has}}, template: {metadata: {labels: {a: has}}, spec: {containers: [{name: a, image: a, envFrom: [{configMapRef: {name: comes}}]}]}}}}
{apiVersion: v1, kind: ConfigMap, metadata: {name: comes}}
{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: blocky}, spec: {storageClassName: "", volumeName: ml-files, volumeMode: Block, accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}
{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: shared}, spec: {storageClassName: "", volumeName: ml-files, accessModes: [ReadWriteMany], resources: {requests: {storage: 1Gi}}}}`,
	},
	"ml-b": {
		"merge": `{apiVersion: v1, kind: ConfigMap, metadata: {name: both}, data: {from: b}}
{apiVersion: v1, kind: Secret, metadata: {name: both}, stringData: {from: b}}
{apiVersion: v1, kind: ConfigMap, metadata: {name: only-b}}`,
	},
}

// mergedKinds are custom kinds, and whether they have a subresource for the status.
var mergedKinds = map[string]bool{"mlnones": false, "mlkeeps": true}

// statusObject is an object of one of the kinds, with a status.
func statusObject(plural, namespace string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "pf.example.com/v1",
		"kind":       strings.ToUpper(plural),
		"metadata":   map[string]any{"namespace": namespace, "name": "x-" + plural, "labels": map[string]any{"ml": "later"}},
		"status":     map[string]any{"a": "b"},
	}}
}

// plantMerged makes the objects, and backs up their namespaces.
func plantMerged(t *testing.T) {
	t.Helper()
	ctx := patient(t)
	for plural, subresource := range mergedKinds {
		k := customKind(plural, strings.ToUpper(plural), "v1")
		if subresource {
			k.Spec.Versions[0].Subresources = &crdv1.CustomResourceSubresources{Status: &crdv1.CustomResourceSubresourceStatus{}}
		}
		must(t, theLab.Client.Create(ctx, k))
	}
	must(t, theLab.Client.Create(ctx, &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: "ml-files"},
		Spec: corev1.PersistentVolumeSpec{
			Capacity:    corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")},
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			PersistentVolumeSource: corev1.PersistentVolumeSource{
				HostPath: &corev1.HostPathVolumeSource{Path: "/nowhere"},
			},
		},
	}))
	for _, namespace := range slices.Sorted(maps.Keys(mergedObjects)) {
		must(t, theLab.Client.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}))
		for group, text := range mergedObjects[namespace] {
			for _, o := range objectsOf(t, text, namespace) {
				labels := o.GetLabels()
				labels["ml"] = group
				o.SetLabels(labels)
				must(t, theLab.Client.Create(ctx, o))
			}
		}
	}
	for plural, subresource := range mergedKinds {
		o := statusObject(plural, "ml-a")
		eventuallyCreate(t, o)
		if subresource {
			must(t, theLab.Client.Get(ctx, client.ObjectKeyFromObject(o), o))
			o.Object["status"] = map[string]any{"a": "b"}
			must(t, theLab.Client.Status().Update(ctx, o))
		}
	}
	must(t, theLab.KillVelero(ctx)) // it asks for the cluster's kinds at its start
	must(t, theLab.StartVelero(ctx, unthrottled...))
	wantEnd(t, backup(t, "ml", veleroapi.BackupSpec{IncludedNamespaces: []string{"ml-a", "ml-b"}}, nil), "Completed")
}

// foundNames returns what a preflight found, as "severity reason: names".
func foundNames(d preflighted) (all []string) {
	for _, f := range d.Findings {
		if f.Severity != "note" {
			slices.Sort(f.Names)
			all = append(all, fmt.Sprintf("%s %s: %s", f.Severity, f.Reason, strings.Join(f.Names, " ")))
		}
	}
	slices.Sort(all)
	return all
}

// warningsOf returns the warnings of a restore that Velero stored.
func warningsOf(t *testing.T, name string) (all []string) {
	t.Helper()
	var stored map[string]struct {
		Velero, Cluster []string
		Namespaces      map[string][]string
	}
	must(t, json.Unmarshal([]byte(unzipped(t, "restores/"+name+"/restore-"+name+"-results.gz")), &stored))
	all = slices.Concat(stored["warnings"].Velero, stored["warnings"].Cluster)
	for _, more := range stored["warnings"].Namespaces {
		all = append(all, more...)
	}
	return all
}

// TestMergedAndMadeLater holds what preflight says of items that become one object, and of what Kubernetes makes later,
// to what becomes of them.
func TestMergedAndMadeLater(t *testing.T) {
	must(t, theLab.EnsureVelero(patient(t)))
	plantMerged(t)
	same := map[string]string{"rules": "version: v1\nresourceModifierRules:\n- conditions: {groupResource: configmaps}\n" +
		"  mergePatches: [{patchData: 'metadata: {name: same}'}]\n"}
	must(t, theLab.Client.Create(patient(t), &corev1.ConfigMap{ObjectMeta: nameOf(lab.Namespace, "ml-same"), Data: same}))
	modifier := &corev1.TypedLocalObjectReference{Kind: "ConfigMap", Name: "ml-same"}
	dataOf := func(namespace, name string) string {
		found := &corev1.ConfigMap{}
		if err := theLab.Client.Get(patient(t), client.ObjectKey{Namespace: namespace, Name: name}, found); err != nil {
			return client.IgnoreNotFound(err).Error()
		}
		return found.Data["from"]
	}
	for _, c := range []struct {
		group, to string
		spec      veleroapi.RestoreSpec
		args      []string
		found     []string
		warnings  int
		after     func()
	}{
		{group: "merge", to: "ml-one", found: []string{"obstacle ItemsMerged: ml-a/both ml-b/both",
			"obstacle ItemsMerged: ml-a/both ml-b/both"}, after: func() {
			list := &corev1.ConfigMapList{}
			must(t, theLab.Client.List(patient(t), list, client.InNamespace("ml-one"), client.HasLabels{"ml"}))
			if from := dataOf("ml-one", "both"); len(list.Items) != 3 || from != "a" && from != "b" {
				t.Errorf("%d ConfigMaps, both is from %q", len(list.Items), from)
			}
		}},
		{group: "rename", to: "ml-first", spec: veleroapi.RestoreSpec{ResourceModifier: modifier},
			args: []string{"--resource-modifier-configmap", "ml-same"}, found: []string{"obstacle ItemsMerged: ren-x ren-y"},
			warnings: 1, after: func() {
				if from := dataOf("ml-first", "same"); from != "first" {
					t.Errorf("the first under a name is %q", from)
				}
			}},
		{group: "rename", to: "ml-last", spec: veleroapi.RestoreSpec{ResourceModifier: modifier,
			ExistingResourcePolicy: veleroapi.PolicyTypeUpdate}, args: []string{"--resource-modifier-configmap", "ml-same",
			"--existing-resource-policy", "update"}, found: []string{"obstacle ItemsMerged: ren-x ren-y"}, after: func() {
			if from := dataOf("ml-last", "same"); from != "second" {
				t.Errorf("the last under a name is %q", from)
			}
		}},
		{group: "later", to: "ml-later", spec: veleroapi.RestoreSpec{RestoreStatus: &veleroapi.RestoreStatusSpec{
			IncludedResources: []string{"*"}}}, args: []string{"--status-include-resources=*"}, found: []string{
			"doubt ReferencesMissing: lacks", "doubt StatusLost: x-mlnones", "doubt StorageClassMissing: set",
			"obstacle ClaimsNeverBind: blocky shared"}, warnings: 1, after: func() { wantMadeLater(t, "ml-later") }},
	} {
		args := append([]string{"backup/ml", "--namespace-mappings", "ml-a:" + c.to + ",ml-b:" + c.to,
			"--selector", "ml=" + c.group}, c.args...)
		d, _ := preflight(t, exitRefused, args...)
		if got := foundNames(d); !slices.Equal(got, c.found) {
			t.Errorf("%s into %s: found %q, want %q", c.group, c.to, got, c.found)
		}
		c.spec.BackupName, c.spec.NamespaceMapping = "ml", map[string]string{"ml-a": c.to, "ml-b": c.to}
		c.spec.LabelSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"ml": c.group}}
		wantEnd(t, restore(t, c.to, c.spec, nil), "Completed")
		if got := warningsOf(t, c.to); len(got) != c.warnings {
			t.Errorf("%s into %s: %d warnings, want %d: %q", c.group, c.to, len(got), c.warnings, got)
		}
		c.after()
	}
}

// wantMadeLater checks what became of what the last restore foretold.
func wantMadeLater(t *testing.T, namespace string) {
	t.Helper()
	for _, claim := range []string{"data-set-0", "blocky", "shared"} {
		awaitTrue(t, "Kubernetes to say that it cannot bind "+claim, func() bool {
			var events corev1.EventList
			must(t, theLab.Client.List(patient(t), &events, client.InNamespace(namespace)))
			return slices.ContainsFunc(events.Items, func(e corev1.Event) bool {
				return e.InvolvedObject.Name == claim && e.Type == corev1.EventTypeWarning
			})
		})
	}
	for plural, kept := range mergedKinds {
		o := statusObject(plural, namespace)
		must(t, theLab.Client.Get(patient(t), client.ObjectKeyFromObject(o), o))
		if _, has := o.Object["status"]; has != kept {
			t.Errorf("the status of %s is there: %v", plural, has)
		}
	}
}
