//go:build e2e

package e2e

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/veltui/veltui/internal/restore/modifier"
	made "github.com/veltui/veltui/internal/restore/prepare"
	"github.com/veltui/veltui/internal/velero/veleroapi"
)

// preparedObjects are restored besides comparedObjects.
const preparedObjects = `
{apiVersion: v1, kind: ConfigMap, metadata: {name: unpatchable}, data: {level: info}}
{apiVersion: v1, kind: Service, metadata: {name: applied, annotations: {kubectl.kubernetes.io/last-applied-configuration: '{"spec":{"ports":[{"port":80,"nodePort":31808}]}}'}}, spec: {type: NodePort, ports: [{port: 80, nodePort: 31808}]}}
{apiVersion: v1, kind: Pod, metadata: {name: hooked, annotations: {init.hook.restore.velero.io/container-image: i, init.hook.restore.velero.io/container-name: hook, init.hook.restore.velero.io/command: '["a","b"]'}}, spec: {schedulingGates: [{name: example.com/never}], containers: [{name: a, image: a}]}}
{apiVersion: v1, kind: Pod, metadata: {name: panics, annotations: {init.hook.restore.velero.io/container-image: i}}, spec: {schedulingGates: [{name: example.com/never}], containers: [{name: a, image: a}]}}
`

// preparedModifier changes some of them, and fails for one.
const preparedModifier = `
version: v1
resourceModifierRules:
- conditions: {groupResource: configmaps, resourceNameRegex: "^changed$", namespaces: [prep-source]}
  patches: [{operation: replace, path: /data/level, value: debug}]
- conditions: {groupResource: configmaps, resourceNameRegex: "^unpatchable$"}
  patches: [{operation: remove, path: /data/none}]
- conditions: {groupResource: deployments.apps, matches: [{path: /spec/paused, value: "true"}]}
  strategicPatches: [{patchData: "spec: {template: {spec: {containers: [{name: a, image: b}, {name: c, image: c}]}}}"}]
- conditions: {groupResource: "*.batch", labelSelector: {matchLabels: {cmp: "yes"}}}
  mergePatches: [{patchData: "metadata: {annotations: {merged: 'yes'}}"}]
`

// TestPrepared holds what comes of items against what Velero creates: both in the same cluster, where the prepared
// object is created in a dry run.
func TestPrepared(t *testing.T) {
	must(t, theLab.EnsureVelero(patient(t), unthrottled...))
	ctx := patient(t)
	for _, name := range []string{"prep-source", "prep-target"} {
		must(t, theLab.Client.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}))
	}
	rules, err := modifier.Parse(map[string]string{"m": preparedModifier})
	must(t, err)
	config := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: "prepared", Namespace: "velero"},
		Data:       map[string]string{"m": preparedModifier},
	}
	must(t, theLab.Client.Create(ctx, config))
	t.Cleanup(func() { _ = theLab.DeleteAndWait(patient(t), config) })
	off := false
	r := &made.Rules{RestoreName: "prepared", CSIEnabled: &off, Modifier: rules, Restore: veleroapi.RestoreSpec{
		BackupName:              "prepared",
		IncludedNamespaces:      []string{"*"},
		NamespaceMapping:        map[string]string{"prep-source": "prep-target"},
		IncludeClusterResources: &off,
		ResourceModifier:        &corev1.TypedLocalObjectReference{Kind: "ConfigMap", Name: "prepared"},
	}}
	var objects []*unstructured.Unstructured
	for _, o := range objectsOf(t, strings.ReplaceAll(comparedObjects, "nodeName: nowhere", "schedulingGates: [{name: example.com/b}]")+strings.TrimSpace(preparedObjects), "prep-source") {
		if o.GetNamespace() != "" {
			must(t, theLab.Client.Create(ctx, o))
			objects = append(objects, o)
		}
	}
	wantEnd(
		t,
		backup(
			t,
			"prepared",
			veleroapi.BackupSpec{IncludedNamespaces: []string{"prep-source"}, IncludeClusterResources: &off},
			nil,
		),
		"Completed",
	)
	// The port of the source would be taken.
	for _, o := range objects {
		must(t, theLab.Client.Get(ctx, client.ObjectKeyFromObject(o), o))
		if o.GetKind() == "Service" {
			must(t, theLab.DeleteAndWait(ctx, o.DeepCopy()))
		}
	}
	fails, reported := map[string]string{}, map[string][]string{}
	want := map[*unstructured.Unstructured]map[string]any{}
	for _, o := range objects {
		mapping, err := theLab.Client.RESTMapper().RESTMapping(o.GroupVersionKind().GroupKind())
		must(t, err)
		sent := o.DeepCopy()
		c := r.PrepareItem(mapping.Resource.GroupResource().String(), sent)
		if c.SkipReason != "" || c.UnsureReason != "" || c.MaybeSkippedReason != "" {
			t.Errorf("%s %s: %+v", o.GetKind(), o.GetName(), c)
		}
		if c.Failure != "" {
			fails[o.GetName()] = c.Failure
			continue
		}
		if c.Errors != nil {
			reported[o.GetName()] = c.Errors
		}
		must(t, theLab.Client.Create(ctx, sent, client.DryRunAll))
		want[o] = stripped(sent)
	}
	restore(t, "prepared", r.Restore, nil)
	for o, want := range want {
		got := &unstructured.Unstructured{}
		got.SetGroupVersionKind(o.GroupVersionKind())
		if err := theLab.Client.Get(
			ctx,
			client.ObjectKey{Namespace: "prep-target", Name: o.GetName()},
			got,
		); err != nil {
			t.Errorf("Velero made none: %v", err)
		} else if got := stripped(
			got,
		); !reflect.DeepEqual(
			got,
			want,
		) {
			a, _ := json.Marshal(got)
			b, _ := json.Marshal(want)
			t.Errorf("Velero made\n%s\nprepared was\n%s", a, b)
		}
	}
	var results struct {
		Errors struct{ Namespaces map[string][]string }
	}
	must(t, json.Unmarshal([]byte(stored(t, "prepared", "results")), &results))
	errs := results.Errors.Namespaces["prep-target"]
	if len(errs) != 2 || len(fails) != 1 || len(reported) != 1 {
		t.Fatalf("Velero: %q; prepared: %v, %v", errs, fails, reported)
	}
	if all := strings.Join(
		errs,
		"\n",
	); !strings.Contains(all, "error preparing pods/prep-target/panics") && !strings.Contains(all, "error preparing pods/panics") ||
		!strings.Contains(all, "nonexistent key: none") {
		t.Errorf("Velero: %q; prepared: %v, %v", errs, fails, reported)
	}
}

// stripped is an object without what each gets of its own.
func stripped(o *unstructured.Unstructured) map[string]any {
	o = o.DeepCopy()
	made.ResetMetadata(o)
	for _, path := range []string{"metadata.managedFields", "spec.clusterIP", "spec.clusterIPs", "spec.selector.matchLabels.batch!kubernetes!io/controller-uid",
		"spec.template.metadata.labels.batch!kubernetes!io/controller-uid", "spec.template.metadata.labels.controller-uid",
		"data.token", "data.ca!crt", "data.namespace", "metadata.annotations.kubernetes!io/service-account!uid", "metadata.annotations.deployment!kubernetes!io/revision"} {
		fields := strings.Split(path, ".")
		for i := range fields {
			fields[i] = strings.ReplaceAll(fields[i], "!", ".")
		}
		if path == "spec.clusterIP" || path == "spec.clusterIPs" {
			if ip, _, _ := unstructured.NestedString(o.Object, "spec", "clusterIP"); ip == "None" {
				continue
			}
		}
		unstructured.RemoveNestedField(o.Object, fields...)
	}
	ports, _, _ := unstructured.NestedSlice(o.Object, "spec", "ports")
	for _, p := range ports {
		if p, ok := p.(map[string]any); ok && o.GetName() != "applied" {
			delete(p, "nodePort")
		}
	}
	if ports != nil {
		_ = unstructured.SetNestedSlice(o.Object, ports, "spec", "ports")
	}
	for _, path := range [][]string{{"metadata", "annotations"}, {"data"}} {
		if m, _, _ := unstructured.NestedMap(o.Object, path...); len(m) == 0 {
			unstructured.RemoveNestedField(o.Object, path...)
		}
	}
	return o.Object
}
