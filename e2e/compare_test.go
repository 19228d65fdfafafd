//go:build e2e

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/veltui/veltui/internal/velero/veleroapi"
)

// comparedObjects are backed up; what is in the cluster at the restore stands in
// comparedChanges, by kind and name.
const comparedObjects = `
{apiVersion: v1, kind: ConfigMap, metadata: {name: same}, data: {level: info}}
{apiVersion: v1, kind: ConfigMap, metadata: {name: changed}, data: {level: info}}
{apiVersion: v1, kind: ConfigMap, metadata: {name: relabelled, labels: {tier: a}}}
{apiVersion: v1, kind: ConfigMap, metadata: {name: anew}, data: {level: info}}
{apiVersion: v1, kind: ConfigMap, metadata: {name: frozen}, data: {level: info}, immutable: true}
{apiVersion: v1, kind: ConfigMap, metadata: {name: held, finalizers: [example.com/held]}}
{apiVersion: v1, kind: Secret, metadata: {name: same}, stringData: {password: hush-hush-7}}
{apiVersion: v1, kind: Secret, metadata: {name: changed}, stringData: {password: hush-hush-7}}
{apiVersion: v1, kind: Secret, metadata: {name: retyped}, type: Opaque}
{apiVersion: v1, kind: ServiceAccount, metadata: {name: robot}, imagePullSecrets: [{name: pull}]}
{apiVersion: v1, kind: ServiceAccount, metadata: {name: builder, annotations: {a: b}}, imagePullSecrets: [{name: pull}]}
{apiVersion: v1, kind: Secret, metadata: {name: robot-key, annotations: {kubernetes.io/service-account.name: robot}}, type: kubernetes.io/service-account-token}
{apiVersion: v1, kind: Service, metadata: {name: same}, spec: {ports: [{port: 80}]}}
{apiVersion: v1, kind: Service, metadata: {name: changed}, spec: {ports: [{port: 80}]}}
{apiVersion: v1, kind: Service, metadata: {name: headless}, spec: {clusterIP: None, ports: [{port: 80}]}}
{apiVersion: v1, kind: Service, metadata: {name: beheaded}, spec: {clusterIP: None, ports: [{port: 80}]}}
{apiVersion: v1, kind: Service, metadata: {name: node-port}, spec: {type: NodePort, ports: [{port: 80}]}}
{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: same}, spec: {accessModes: [ReadWriteOnce], storageClassName: none, resources: {requests: {storage: 1Gi}}}}
{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: changed}, spec: {accessModes: [ReadWriteOnce], storageClassName: none, resources: {requests: {storage: 1Gi}}}}
{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: bound}, spec: {accessModes: [ReadWriteOnce], storageClassName: kept, volumeName: cmp-kept, resources: {requests: {storage: 1Gi}}}}
{apiVersion: v1, kind: Pod, metadata: {name: waiting}, spec: {schedulingGates: [{name: example.com/never}], containers: [{name: a, image: a}]}}
{apiVersion: v1, kind: Pod, metadata: {name: placed}, spec: {nodeName: nowhere, containers: [{name: a, image: a}]}}
{apiVersion: batch/v1, kind: Job, metadata: {name: same}, spec: {suspend: true, template: {spec: {restartPolicy: Never, containers: [{name: a, image: a}]}}}}
{apiVersion: batch/v1, kind: Job, metadata: {name: manual}, spec: {suspend: true, manualSelector: true, selector: {matchLabels: {job: manual}}, template: {metadata: {labels: {job: manual}}, spec: {restartPolicy: Never, containers: [{name: a, image: a}]}}}}
{apiVersion: batch/v1, kind: CronJob, metadata: {name: same}, spec: {schedule: "0 0 1 1 *", suspend: true, jobTemplate: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: a, image: a}]}}}}}}
{apiVersion: apps/v1, kind: Deployment, metadata: {name: same}, spec: {replicas: 0, paused: true, selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: a, image: a}]}}}}
{apiVersion: apps/v1, kind: Deployment, metadata: {name: scaled}, spec: {replicas: 0, paused: true, selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: a, image: a}]}}}}
{apiVersion: apps/v1, kind: Deployment, metadata: {name: reselected}, spec: {replicas: 0, paused: true, selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: a, image: a}]}}}}
{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: renamed}, spec: {replicas: 0, serviceName: a, selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: a, image: a}]}}}}
{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: same}, rules: [{apiGroups: [""], resources: [pods], verbs: [get]}]}
{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: same}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: same}, subjects: [{kind: ServiceAccount, name: robot, namespace: cmp-source}]}
{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: rebound}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: same}}
{apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, metadata: {name: same}, spec: {podSelector: {}}}
{apiVersion: v1, kind: PersistentVolume, metadata: {name: cmp-kept}, spec: {capacity: {storage: 1Gi}, accessModes: [ReadWriteOnce], storageClassName: kept, persistentVolumeReclaimPolicy: Retain, hostPath: {path: /kept}}}
{apiVersion: v1, kind: PersistentVolume, metadata: {name: cmp-kept-changed}, spec: {capacity: {storage: 1Gi}, accessModes: [ReadWriteOnce], storageClassName: unused, persistentVolumeReclaimPolicy: Retain, hostPath: {path: /kept}}}
{apiVersion: v1, kind: PersistentVolume, metadata: {name: cmp-deleted}, spec: {capacity: {storage: 1Gi}, accessModes: [ReadWriteOnce], storageClassName: unused, persistentVolumeReclaimPolicy: Delete, hostPath: {path: /tmp/x}}}
{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: cmp-class}, provisioner: example.com/a}
{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: cmp-role}, rules: [{apiGroups: [""], resources: [pods], verbs: [get]}]}
{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRoleBinding, metadata: {name: cmp-binding}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cmp-role}}
{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: cmp-priority}, value: 7}
{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: cogs.cmp.example.com}, spec: {group: cmp.example.com, scope: Cluster, names: {plural: cogs, kind: Cog}, versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]}}
{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingWebhookConfiguration, metadata: {name: cmp-hook}, webhooks: [{name: a.cmp.example.com, sideEffects: None, admissionReviewVersions: [v1], failurePolicy: Ignore, clientConfig: {url: "https://127.0.0.1:1/"}, rules: [{operations: [CREATE], apiGroups: [cmp.example.com], apiVersions: [v1], resources: [none]}]}]}
`

const comparedChanges = `
{apiVersion: v1, kind: ConfigMap, metadata: {name: changed}, data: {level: debug}}
{apiVersion: v1, kind: ConfigMap, metadata: {name: relabelled, labels: {tier: b}}}
{apiVersion: v1, kind: ConfigMap, metadata: {name: anew}, data: {level: info}}
{apiVersion: v1, kind: ConfigMap, metadata: {name: frozen}, data: {level: debug}, immutable: true}
{apiVersion: v1, kind: Secret, metadata: {name: changed}, stringData: {password: hush-hush-8}}
{apiVersion: v1, kind: Secret, metadata: {name: retyped}, type: example.com/other}
{apiVersion: v1, kind: ServiceAccount, metadata: {name: builder}}
{apiVersion: v1, kind: Service, metadata: {name: changed}, spec: {ports: [{port: 81}]}}
{apiVersion: v1, kind: Service, metadata: {name: beheaded}, spec: {ports: [{port: 80}]}}
{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: changed}, spec: {accessModes: [ReadWriteMany], storageClassName: none, resources: {requests: {storage: 1Gi}}}}
{apiVersion: apps/v1, kind: Deployment, metadata: {name: scaled}, spec: {replicas: 0, paused: true, revisionHistoryLimit: 3, selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: a, image: a}]}}}}
{apiVersion: apps/v1, kind: Deployment, metadata: {name: reselected}, spec: {replicas: 0, paused: true, selector: {matchLabels: {a: b, c: d}}, template: {metadata: {labels: {a: b, c: d}}, spec: {containers: [{name: a, image: a}]}}}}
{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: renamed}, spec: {replicas: 0, serviceName: z, selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: a, image: a}]}}}}
{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: rebound}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: other}}
{apiVersion: v1, kind: PersistentVolume, metadata: {name: cmp-kept-changed}, spec: {capacity: {storage: 2Gi}, accessModes: [ReadWriteOnce], storageClassName: unused, persistentVolumeReclaimPolicy: Retain, hostPath: {path: /kept}}}
{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: cmp-class}, provisioner: example.com/b}
{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: cmp-priority}, value: 8}
`

// objectsOf are the objects of a list, with the label by which a restore finds them.
func objectsOf(t *testing.T, list, namespace string) (all []*unstructured.Unstructured) {
	t.Helper()
	for line := range strings.Lines(strings.TrimSpace(list)) {
		o := &unstructured.Unstructured{}
		must(t, yaml.Unmarshal([]byte(line), &o.Object))
		mapping, err := theLab.Client.RESTMapper().RESTMapping(o.GroupVersionKind().GroupKind())
		must(t, err)
		if mapping.Scope.Name() == meta.RESTScopeNameNamespace {
			o.SetNamespace(namespace)
		}
		labels := o.GetLabels()
		if labels == nil {
			labels = map[string]string{}
		}
		labels["cmp"] = "yes"
		o.SetLabels(labels)
		all = append(all, o)
	}
	return all
}

// existingObject is what veltui says of one object.
type existingObject struct {
	Resource, Namespace, Name, Outcome, Why string
	Fields                                  []string
}

func (e existingObject) String() string {
	return fmt.Sprintf("%s %s/%s: %s %q%s", e.Resource, e.Namespace, e.Name, e.Outcome, e.Fields, e.Why)
}

// did is what Velero lists of an object with an outcome.
var did = map[string]string{
	"Equal":        "skipped",
	"Left":         "failed",
	"Patched":      "updated",
	"PatchRefused": "failed",
	"Merged":       "updated",
	"Skipped":      "skipped",
}

// velerosList is what Velero lists of a restore, by resource, namespace and name.
func velerosList(t *testing.T, restore string) map[string]string {
	t.Helper()
	var list map[string][]string
	must(t, json.Unmarshal([]byte(stored(t, restore, "resource-list.json")), &list))
	all := map[string]string{}
	for kind, items := range list {
		gv, name := "v1", kind
		if i := strings.LastIndex(kind, "/"); i >= 0 {
			gv, name = kind[:i], kind[i+1:]
		}
		parsed, err := schema.ParseGroupVersion(gv)
		must(t, err)
		mapping, err := theLab.Client.RESTMapper().RESTMapping(parsed.WithKind(name).GroupKind())
		must(t, err)
		for _, item := range items {
			at := strings.LastIndexByte(item, '(')
			full := item[:at]
			if mapping.Scope.Name() != meta.RESTScopeNameNamespace {
				full = "/" + full
			}
			all[mapping.Resource.GroupResource().String()+" "+full] = strings.Trim(item[at:], "()")
		}
	}
	return all
}

// settle waits until the controllers have seen what is in a namespace, so that they
// write nothing between veltui's look and Velero's.
func settle(t *testing.T, namespace string) {
	t.Helper()
	ctx := patient(t)
	must(t, wait.PollUntilContextCancel(ctx, 100*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		for _, gvk := range []schema.GroupVersionKind{{Group: "apps", Version: "v1", Kind: "Deployment"}, {Group: "apps", Version: "v1", Kind: "StatefulSet"}} {
			list := &unstructured.UnstructuredList{}
			list.SetGroupVersionKind(gvk)
			if err := theLab.Client.List(ctx, list, client.InNamespace(namespace)); err != nil {
				return false, err
			}
			for _, o := range list.Items {
				if seen, _, _ := unstructured.NestedInt64(
					o.Object,
					"status",
					"observedGeneration",
				); seen != o.GetGeneration() {
					return false, nil
				}
			}
		}
		var claim corev1.PersistentVolumeClaim
		err := theLab.Client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: "bound"}, &claim)
		return namespace != "cmp-source" || claim.Status.Phase == corev1.ClaimBound, err
	}))
}

// TestCompare holds what veltui says of each object that exists against what Velero
// then does with it, under both policies, and into a namespace of another name.
func TestCompare(t *testing.T) {
	must(t, theLab.EnsureVelero(patient(t), unthrottled...))
	ctx := patient(t)
	create := func(o client.Object) { t.Helper(); must(t, theLab.Client.Create(ctx, o)) }
	namespace := func(name string) *unstructured.Unstructured {
		return &unstructured.Unstructured{
			Object: map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": name}},
		}
	}
	create(namespace("cmp-source"))
	create(namespace("cmp-there"))
	var nodes corev1.NodeList
	must(t, theLab.Client.List(ctx, &nodes))
	comparedObjects := strings.ReplaceAll(comparedObjects, "nodeName: nowhere", "nodeName: "+nodes.Items[0].Name)
	for _, o := range objectsOf(t, comparedObjects, "cmp-source") {
		create(o)
		t.Cleanup(func() {
			if o.GetNamespace() == "" {
				_ = theLab.DeleteAndWait(patient(t), o)
			}
		})
	}
	settle(t, "cmp-source")
	yes, no := true, false
	wantEnd(
		t,
		backup(
			t,
			"cmp",
			veleroapi.BackupSpec{IncludedNamespaces: []string{"cmp-source"}, IncludeClusterResources: &yes},
			nil,
		),
		"Completed",
	)
	for _, o := range objectsOf(t, comparedChanges, "cmp-source") {
		must(t, theLab.DeleteAndWait(ctx, o.DeepCopy()))
		create(o)
	}
	for _, o := range objectsOf(t, comparedObjects, "cmp-there") {
		if o.GetNamespace() != "" && !(o.GetKind() == "Service" && o.GetName() == "node-port") {
			create(o)
		}
	}
	for _, space := range []string{"cmp-source", "cmp-there"} {
		settle(t, space)
	}
	labelled := &metav1.LabelSelector{MatchLabels: map[string]string{"cmp": "yes"}}
	for _, c := range []struct {
		name string
		spec veleroapi.RestoreSpec
		args []string
		// least is how many objects have which outcome.
		least map[string]int
		// unsure is of what veltui cannot tell.
		unsure []string
	}{
		{"cmp-none", veleroapi.RestoreSpec{IncludeClusterResources: &yes},
			[]string{"--include-cluster-resources=true"},
			map[string]int{"Equal": 50, "Left": 20, "Merged": 1, "Skipped": 10}, []string{"persistentvolumes cmp-kept", "persistentvolumes cmp-kept-changed"}},
		{"cmp-mapped", veleroapi.RestoreSpec{IncludeClusterResources: &no, NamespaceMapping: map[string]string{"cmp-source": "cmp-there"}},
			[]string{"--include-cluster-resources=false", "--namespace-mappings=cmp-source:cmp-there"},
			map[string]int{"Left": 20, "Equal": 1}, nil},
		{"cmp-update", veleroapi.RestoreSpec{IncludeClusterResources: &yes, LabelSelector: labelled, ExistingResourcePolicy: veleroapi.PolicyTypeUpdate},
			[]string{"--include-cluster-resources=true", "--selector=cmp=yes", "--existing-resource-policy=update"},
			map[string]int{"Equal": 8, "Patched": 8, "PatchRefused": 8, "Skipped": 1}, []string{"persistentvolumeclaims bound", "persistentvolumes cmp-kept", "persistentvolumes cmp-kept-changed"}},
	} {
		args := append([]string{"preflight", "backup/cmp", "--compare", "-o", "json"}, c.args...)
		_, printed := runVeltui(t, args...)
		var d struct {
			Existing []existingObject
			NotSeen  []struct{ What, Why string }
		}
		must(t, json.Unmarshal(document(printed), &d))
		// Without a dry run, nobody asks admission.
		if len(d.NotSeen) != 1 || !strings.HasPrefix(d.NotSeen[0].What, "admission: ") ||
			strings.Contains(printed, "hush-hush") ||
			strings.Contains(printed, "aHVzaC1odXNo") {
			t.Errorf("%s: not seen %v, or a Secret is told: %.3000s", c.name, d.NotSeen, printed)
		}
		c.spec.BackupName, c.spec.IncludedNamespaces = "cmp", []string{"*"}
		restore(t, c.name, c.spec, nil)
		real := velerosList(t, c.name)
		told, unsure := map[string]int{}, []string(nil)
		for _, e := range d.Existing {
			told[e.Outcome]++
			key := e.Resource + " " + e.Namespace + "/" + e.Name
			if e.Outcome == "CannotTell" {
				if e.Resource != "persistentvolumes" || strings.HasPrefix(e.Name, "cmp-") { // the seed has many
					unsure = append(unsure, e.Resource+" "+e.Name)
				}
			} else if want := did[e.Outcome]; real[key] != want {
				t.Errorf("%s: %v, and Velero: %q", c.name, e, real[key])
			}
			delete(real, key)
		}
		if !serverVersion(t).ConvertsClaims() { // veltui cannot tell of any claim
			claim := func(s string) bool { return strings.HasPrefix(s, "persistentvolumeclaims ") }
			unsure, c.unsure = slices.DeleteFunc(unsure, claim), slices.DeleteFunc(c.unsure, claim)
		}
		if slices.Sort(unsure); !slices.Equal(unsure, c.unsure) {
			t.Errorf("%s: cannot tell of %q, want %q", c.name, unsure, c.unsure)
		}
		for key, what := range real {
			if what != "created" && !strings.HasPrefix(key, "namespaces ") &&
				!strings.HasSuffix(key, "/kube-root-ca.crt") {
				t.Errorf("%s: veltui says nothing of %s (%s)", c.name, key, what)
			}
		}
		for outcome, least := range c.least {
			if told[outcome] < least {
				t.Errorf("%s: %d %s, want at least %d", c.name, told[outcome], outcome, least)
			}
		}
		t.Logf("%s: %v", c.name, told)
	}
}
