//go:build e2e

package e2e

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/veltui/veltui/e2e/lab"
	"github.com/veltui/veltui/internal/velero/veleroapi"
)

// contentObjects are what TestVerifyComparesContents backs up; %s are names.
var contentObjects = map[string]string{
	"configmap": `{apiVersion: v1, kind: ConfigMap, data: {level: info, size: "3"}}`,
	"secret":    `{apiVersion: v1, kind: Secret, stringData: {token: old, user: me}}`,
	"deployment": `{apiVersion: apps/v1, kind: Deployment, spec: {replicas: 2, selector: {matchLabels: {app: %[1]s}}, template: {metadata: {labels: {app: %[1]s}},
		spec: {containers: [{name: web, image: "web:1", args: [serve], env: [{name: A, value: "1"}, {name: B, value: "2"}]}]}}}}`,
	"statefulset":   `{apiVersion: apps/v1, kind: StatefulSet, spec: {serviceName: x, selector: {matchLabels: {app: %[1]s}}, template: {metadata: {labels: {app: %[1]s}}, spec: {containers: [{name: db, image: "db:1"}]}}}}`,
	"service":       `{apiVersion: v1, kind: Service, spec: {type: NodePort, selector: {app: %[1]s}, ports: [{name: http, port: 80, targetPort: 8080}]}}`,
	"ingress":       `{apiVersion: networking.k8s.io/v1, kind: Ingress, spec: {rules: [{host: a.example.com, http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: s, port: {number: 80}}}}]}}]}}`,
	"role":          `{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, rules: [{apiGroups: [""], resources: [pods], verbs: [get, list]}, {apiGroups: [""], resources: [secrets], verbs: [get]}]}`,
	"rolebinding":   `{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: r}, subjects: [{kind: ServiceAccount, name: robot, namespace: %[2]s}]}`,
	"cronjob":       `{apiVersion: batch/v1, kind: CronJob, spec: {schedule: "0 3 * * *", suspend: true, jobTemplate: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: c}]}}}}}}`,
	"job":           `{apiVersion: batch/v1, kind: Job, spec: {suspend: true, template: {spec: {restartPolicy: Never, containers: [{name: c, image: c}]}}}}`,
	"limitrange":    `{apiVersion: v1, kind: LimitRange, spec: {limits: [{type: Container, max: {cpu: "4"}}]}}`,
	"networkpolicy": `{apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, spec: {podSelector: {matchLabels: {app: x}}, policyTypes: [Ingress]}}`,
	"ttljob":        `{apiVersion: batch/v1, kind: Job, spec: {suspend: true, ttlSecondsAfterFinished: 60, template: {spec: {restartPolicy: Never, containers: [{name: c, image: c}]}}}}`,
	"peers":         `{apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, spec: {podSelector: {}, policyTypes: [Ingress, Egress], ingress: [{from: [{podSelector: {matchLabels: {app: x}}}]}], egress: [{to: [{namespaceSelector: {}, podSelector: {matchLabels: {app: x}}}]}]}}`,
	"templates": `{apiVersion: apps/v1, kind: StatefulSet, spec: {serviceName: x, selector: {matchLabels: {app: %[1]s}}, template: {metadata: {labels: {app: %[1]s}}, spec: {containers: [{name: db, image: "db:1"}]}},
		volumeClaimTemplates: [{metadata: {name: data, labels: {velero.io/exclude-from-backup: "true"}}, spec: {storageClassName: no-such-class, accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}]}}`,
	"serviceaccount": `{apiVersion: v1, kind: ServiceAccount, imagePullSecrets: [{name: pull}]}`,
	"claim":          `{apiVersion: v1, kind: PersistentVolumeClaim, spec: {storageClassName: "", volumeName: %[2]s-%[1]s, accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}`,
	"hpa":            `{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, spec: {scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: %[1]s}, minReplicas: 1, maxReplicas: 9, metrics: [{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 80}}}]}}`,
	"pod":            `{apiVersion: v1, kind: Pod, metadata: {annotations: {init.hook.restore.velero.io/container-image: x, init.hook.restore.velero.io/command: run}}, spec: {containers: [{name: main, image: main}]}}`,
	"token":          `{apiVersion: v1, kind: Secret, type: kubernetes.io/service-account-token, metadata: {annotations: {kubernetes.io/service-account.name: default}}}`,
}

// contentObject returns one of contentObjects, as "kind/name", in a namespace.
func contentObject(t *testing.T, which, namespace string) *unstructured.Unstructured {
	t.Helper()
	kind, name, _ := strings.Cut(which, "/")
	text := contentObjects[kind]
	if strings.Contains(text, "%[") {
		text = strings.ReplaceAll(strings.ReplaceAll(text, "%[1]s", name), "%[2]s", namespace)
	}
	o := &unstructured.Unstructured{}
	must(t, yaml.Unmarshal([]byte(text), &o.Object))
	o.SetName(name)
	o.SetNamespace(namespace)
	return o
}

// verification is what verify prints, as this test reads it.
type verification struct {
	Wanted, LostItems, LostContents, LostClaims, LostVolumes, Changed int
	Resources                                                         []struct {
		Resource string
		Items    []struct {
			Namespace, Name, State, Content, Why string
			Fields                               []string
		}
	}
	Volumes []struct {
		Claim, Pod, PodVolume, State, Why string
		Lost                              bool
	}
	Claims struct {
		NotBound []struct {
			Name, Why string
			Lost      bool
		}
	}
	NotSeen []any
	Notes   []string
}

func verified(t *testing.T, want int, args ...string) (d verification, found map[string]string) {
	t.Helper()
	code, printed := runVeltui(t, append([]string{"verify", "-o", "json"}, args...)...)
	if err := json.Unmarshal(document(printed), &d); err != nil {
		t.Fatalf("%v: %.2000s", err, printed)
	}
	found = map[string]string{}
	lost := []string{"Failed", "Missing", "Gone", "Deleting", "Differs", "NotLookedAt"}
	for _, r := range d.Resources {
		resource, _, _ := strings.Cut(r.Resource, ".")
		for _, i := range r.Items {
			switch {
			case slices.Contains(lost, i.State):
				found[resource+"/"+i.Name] = strings.Join(append([]string{i.State}, i.Fields...), " ")
			case i.Content != "" && i.Content != "Same":
				found[resource+"/"+i.Name] = strings.Join(append([]string{i.Content}, i.Fields...), " ")
				if i.Content == "NotCompared" {
					found[resource+"/"+i.Name] += " " + i.Why
				}
			}
		}
	}
	for _, c := range d.Claims.NotBound {
		if c.Lost {
			found["unbound/"+c.Name] = c.Why
		}
	}
	if code != want || len(d.NotSeen) > 0 || len(d.Notes) > 0 {
		t.Errorf("exit code %d, want %d, not seen %v, notes %q", code, want, d.NotSeen, d.Notes)
	}
	return d, found
}

func wantFound(t *testing.T, found, want map[string]string) {
	t.Helper()
	for what, how := range want {
		if got, ok := found[what]; !ok || !strings.HasPrefix(got, how) {
			t.Errorf("MISSED %s: %q, expected %q", what, got, how)
		}
	}
	for what, how := range found {
		if _, ok := want[what]; !ok {
			t.Errorf("FALSE %s: %q", what, how)
		}
	}
}

// TestVerifyComparesContents plants more than thirty changes after a restore, beside what Kubernetes and controllers
// change by themselves, and holds that verify finds the first and no others.
func TestVerifyComparesContents(t *testing.T) {
	ctx := patient(t)
	const from, to = "content", "content-2"
	all := []string{
		"configmap/same",
		"configmap/gone",
		"configmap/held",
		"configmap/changed",
		"configmap/added",
		"configmap/less",
		"configmap/emptied",
		"configmap/again",
		"configmap/again-same",
		"configmap/labelled",
		"configmap/unlabelled",
		"configmap/applied",
		"secret/same",
		"secret/gone",
		"secret/changed",
		"secret/emptied",
		"secret/again",
		"token/robot-token",
		"deployment/same",
		"deployment/gone",
		"deployment/scaled",
		"deployment/image",
		"deployment/env",
		"deployment/auto",
		"deployment/rolled",
		"hpa/auto",
		"statefulset/same",
		"statefulset/scaled",
		"service/same",
		"service/gone",
		"service/ports",
		"service/selector",
		"ingress/same",
		"ingress/host",
		"role/same",
		"role/gone",
		"role/fewer",
		"rolebinding/same",
		"rolebinding/emptied",
		"cronjob/same",
		"cronjob/gone",
		"cronjob/schedule",
		"job/kept",
		"job/done",
		"limitrange/gone",
		"networkpolicy/same",
		"networkpolicy/other",
		"serviceaccount/robot",
		"serviceaccount/pulls",
		"claim/bound",
		"claim/gone",
		"cronjob/running",
		"limitrange/other",
		"secret/more",
		"pod/zz-hooked",
		"claim/mode",
		"claim/access",
		"configmap/quick",
		"configmap/frozen",
		"configmap/noted",
		"configmap/excluded",
		"deployment/paused",
		"deployment/hostnet",
		"deployment/privileged",
		"deployment/tolerant",
		"deployment/auto2",
		"hpa/auto2",
		"hpa/behaving",
		"ingress/more",
		"networkpolicy/opened",
		"peers/wider",
		"peers/narrower",
		"role/more",
		"role/verb",
		"rolebinding/more",
		"service/nodeport",
		"service/port",
		"service/headless",
		"serviceaccount/more",
		"statefulset/patient",
		"templates/claims",
		"ttljob/old",
	}
	must(t, theLab.Client.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: from}}))
	must(
		t,
		theLab.Client.Create(
			ctx,
			&corev1.PersistentVolume{
				ObjectMeta: metav1.ObjectMeta{Name: from + "-bound"},
				Spec: corev1.PersistentVolumeSpec{
					Capacity: corev1.ResourceList{
						"storage": resource.MustParse("1Gi"),
					},
					AccessModes:                   []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
					PersistentVolumeReclaimPolicy: corev1.PersistentVolumeReclaimRetain,
					PersistentVolumeSource: corev1.PersistentVolumeSource{
						HostPath: &corev1.HostPathVolumeSource{Path: "/nowhere"},
					},
				},
			},
		),
	)
	mismatched := func(name string, mode corev1.PersistentVolumeMode, access corev1.PersistentVolumeAccessMode) {
		must(t, theLab.Client.Create(ctx, &corev1.PersistentVolume{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec: corev1.PersistentVolumeSpec{
				Capacity:    corev1.ResourceList{"storage": resource.MustParse("1Gi")},
				AccessModes: []corev1.PersistentVolumeAccessMode{access},
				VolumeMode:  &mode,
				PersistentVolumeSource: corev1.PersistentVolumeSource{
					Local: &corev1.LocalVolumeSource{Path: "/nowhere"},
				},
				NodeAffinity: &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{
					NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchExpressions: []corev1.NodeSelectorRequirement{
						{Key: "a", Operator: corev1.NodeSelectorOpExists},
					}}},
				}},
			},
		}))
	}
	mismatched(from+"-mode", corev1.PersistentVolumeBlock, corev1.ReadWriteOnce)
	mismatched(from+"-access", corev1.PersistentVolumeFilesystem, corev1.ReadOnlyMany)
	for _, which := range all {
		eventuallyCreate(t, contentObject(t, which, from))
	}
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: from, Name: "bound"}}
	must(t, theLab.AwaitClaim(ctx, claim))
	must(t, wait.PollUntilContextCancel(ctx, 100*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		var sets appsv1.ReplicaSetList
		err := theLab.Client.List(ctx, &sets, client.InNamespace(from))
		return len(sets.Items) == 12, err
	}))
	wantEnd(t, backup(t, from, veleroapi.BackupSpec{IncludedNamespaces: []string{from}}, nil), "Completed")
	time.Sleep(11 * time.Second) // the volume is older than the restore, with certainty
	waited := startWaiting(t, "restore/"+to, 0, "verified: nothing of ")
	h := restore(t, to, veleroapi.RestoreSpec{BackupName: from, NamespaceMapping: map[string]string{from: to}}, nil)
	wantEnd(t, h, "Completed")
	quick := contentObject(t, "configmap/quick", to) // within the seconds for which clocks may differ
	must(t, theLab.DeleteAndWait(ctx, quick))
	quick = contentObject(t, "configmap/quick", to)
	must(t, unstructured.SetNestedField(quick.Object, "other", "data", "level"))
	must(t, theLab.Client.Create(ctx, quick))
	waited()
	time.Sleep(2 * time.Second) // controllers work on what came back

	// The volume stays bound to the original: the claim of the mapped namespace can never have it.
	unbound := map[string]string{
		"unbound/bound": "volume content-bound can never be bound to it: it is kept for claim content/bound",
		"unbound/gone":  "volume content-gone can never be bound to it: it is not there",
		"unbound/mode":  "volume content-mode can never be bound to it: its volumeMode is Block, and the claim's Filesystem",
		"unbound/access": "volume content-access can never be bound to it: it does not have the access mode " +
			"ReadWriteOnce",
		"unbound/data-claims-0": "StatefulSet claims made it; the cluster has no storage class no-such-class",
	}
	early := maps.Clone(unbound)
	early["configmaps/quick"] = "Recreated data.level"
	_, found := verified(t, exitRefused, "restore/"+to, "--compare")
	wantFound(t, found, early)

	time.Sleep(11 * time.Second) // what is made from now on is later than the restore, with certainty
	o := func(which string) *unstructured.Unstructured { return contentObject(t, which, to) }
	patch := func(which, with string) {
		t.Helper()
		text, err := yaml.YAMLToJSON([]byte(with))
		must(t, err)
		must(t, theLab.Client.Patch(ctx, o(which), client.RawPatch(types.MergePatchType, text)))
	}
	remove := func(which string) {
		t.Helper()
		must(t, theLab.Client.Delete(ctx, o(which), client.PropagationPolicy(metav1.DeletePropagationOrphan)))
	}
	again := func(which, with string) {
		t.Helper()
		must(t, theLab.DeleteAndWait(ctx, o(which)))
		made := o(which)
		if with != "" {
			must(t, yaml.Unmarshal([]byte(with), &made.Object))
			made.SetName(strings.SplitN(which, "/", 2)[1])
			made.SetNamespace(to)
		}
		must(t, theLab.Client.Create(ctx, made))
	}
	// Presence.
	for _, which := range []string{"configmap/gone", "secret/gone", "deployment/gone", "service/gone", "role/gone", "cronjob/gone", "limitrange/gone", "claim/gone"} {
		remove(which)
	}
	patch("configmap/held", `{metadata: {finalizers: [example.com/held]}}`)
	must(t, theLab.Client.Delete(ctx, o("configmap/held")))
	// Content.
	patch("configmap/changed", `{data: {level: debug}}`)
	patch("configmap/added", `{data: {more: "1"}}`)
	patch("configmap/less", `{data: {size: null}}`)
	patch("configmap/emptied", `{data: null}`)
	again("configmap/again", `{apiVersion: v1, kind: ConfigMap, data: {level: other}}`)
	patch("secret/changed", `{stringData: {token: new}}`)
	patch("secret/emptied", `{data: null}`)
	again("secret/again", `{apiVersion: v1, kind: Secret, stringData: {token: other}}`)
	patch("deployment/scaled", `{spec: {replicas: 0}}`)
	patch("statefulset/scaled", `{spec: {replicas: 3}}`)
	patch(
		"deployment/image",
		`{spec: {template: {spec: {containers: [{name: web, image: "web:2", args: [serve], env: [{name: A, value: "1"}, {name: B, value: "2"}]}]}}}}`,
	)
	patch(
		"deployment/env",
		`{spec: {template: {spec: {containers: [{name: web, image: "web:1", args: [serve], env: [{name: A, value: "1"}, {name: C, value: "3"}, {name: B, value: "2"}]}]}}}}`,
	)
	patch("service/ports", `{spec: {ports: [{name: http, port: 81, targetPort: 8080}]}}`)
	patch("service/selector", `{spec: {selector: {app: other}}}`)
	patch(
		"ingress/host",
		`{spec: {rules: [{host: b.example.com, http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: s, port: {number: 80}}}}]}}]}}`,
	)
	patch("role/fewer", `{rules: [{apiGroups: [""], resources: [pods], verbs: [get, list]}]}`)
	patch("rolebinding/emptied", `{subjects: null}`)
	patch("cronjob/schedule", `{spec: {schedule: "0 4 * * *"}}`)
	patch("cronjob/running", `{spec: {suspend: false}}`)
	patch(
		"limitrange/other",
		`{spec: {limits: [{type: Container, max: {cpu: "8"}, default: {cpu: "4"}, defaultRequest: {cpu: "4"}}]}}`,
	)
	patch("secret/more", `{stringData: {third: x}}`)
	patch("networkpolicy/other", `{spec: {podSelector: {matchLabels: {app: other}}}}`)
	patch("serviceaccount/pulls", `{imagePullSecrets: null}`)
	patch("configmap/labelled", `{metadata: {labels: {velero.io/backup-name: content, tier: x}}}`)
	// What absence had closed, forbidden or left out.
	patch("networkpolicy/opened", `{spec: {ingress: [{}]}}`)
	patch("peers/wider", `{spec: {ingress: [{from: [{podSelector: {matchLabels: {app: x}}, namespaceSelector: {}}]}]}}`)
	patch("peers/narrower", `{spec: {egress: [{to: [{podSelector: {matchLabels: {app: x}}}]}]}}`)
	patch("role/more", `{rules: [{apiGroups: [""], resources: [pods], verbs: [get, list]}, {apiGroups: [""], resources: [secrets], verbs: [get]}, {apiGroups: ["*"], resources: ["*"], verbs: ["*"]}]}`)
	patch("role/verb", `{rules: [{apiGroups: [""], resources: [pods], verbs: [get, list, delete]}, {apiGroups: [""], resources: [secrets], verbs: [get]}]}`)
	patch("rolebinding/more", `{subjects: [{kind: ServiceAccount, name: robot, namespace: content-2}, {kind: ServiceAccount, name: more, namespace: content-2}]}`)
	patch("ingress/more", `{spec: {rules: [{host: a.example.com, http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: s, port: {number: 80}}}}]}},
		{host: b.example.com, http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: s, port: {number: 80}}}}]}}]}}`)
	patch("service/port", `{spec: {ports: [{name: http, port: 80, targetPort: 8080}, {name: more, port: 81, targetPort: 81}]}}`)
	patch("service/nodeport", `{spec: {ports: [{name: http, port: 80, targetPort: 8080, nodePort: 32123}]}}`)
	again("service/headless", `{apiVersion: v1, kind: Service, spec: {clusterIP: None, selector: {app: headless}, ports: [{name: http, port: 80, targetPort: 8080}]}}`)
	patch("hpa/behaving", `{spec: {behavior: {scaleDown: {selectPolicy: Disabled}}}}`)
	patch("deployment/paused", `{spec: {paused: true}}`)
	patch("deployment/hostnet", `{spec: {template: {spec: {hostNetwork: true}}}}`)
	patch("deployment/privileged", `{spec: {template: {spec: {containers: [{name: web, image: "web:1", args: [serve], env: [{name: A, value: "1"}, {name: B, value: "2"}], securityContext: {privileged: true}}]}}}}`)
	patch("deployment/tolerant", `{spec: {template: {spec: {tolerations: [{operator: Exists}]}}}}`)
	patch("statefulset/patient", `{spec: {minReadySeconds: 5}}`)
	patch("configmap/frozen", `{immutable: true}`)
	patch("configmap/noted", `{metadata: {annotations: {note: x}}}`)
	patch("configmap/excluded", `{metadata: {labels: {velero.io/exclude-from-backup: "true"}}}`)
	patch("serviceaccount/more", `{imagePullSecrets: [{name: pull}, {name: more}]}`)
	patch("token/robot-token", `{data: {more: eA==}}`)
	must(t, theLab.Client.SubResource("ephemeralcontainers").Patch(ctx, o("pod/zz-hooked"), client.RawPatch(
		types.StrategicMergePatchType, []byte(`{"spec": {"ephemeralContainers": [{"name": "shell", "image": "sh"}]}}`),
	)))
	space := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: to}}
	must(t, theLab.Client.Patch(ctx, space, client.RawPatch(
		types.MergePatchType, []byte(`{"metadata": {"labels": {"pod-security.kubernetes.io/enforce": "privileged"}}}`),
	)))
	patch("deployment/auto", `{spec: {replicas: 7}}`) // within the bounds of its autoscaler, and not by it
	patch("hpa/auto2", `{spec: {minReplicas: 5}}`)    // upon which the autoscaler itself scales
	remove("job/done")
	// What nobody lost: Kubernetes, controllers and Velero do that by themselves.
	again("configmap/again-same", "")
	patch("configmap/unlabelled", `{metadata: {labels: {velero.io/backup-name: null, velero.io/restore-name: null}}}`)
	patch(
		"configmap/applied",
		`{metadata: {annotations: {kubectl.kubernetes.io/last-applied-configuration: "{}"}, finalizers: []}}`,
	)
	patch(
		"deployment/rolled",
		`{spec: {template: {metadata: {annotations: {kubectl.kubernetes.io/restartedAt: now}}}}}`,
	)
	must(t, theLab.Client.Delete(ctx, o("ttljob/old"), client.PropagationPolicy(metav1.DeletePropagationBackground)))
	must(t, wait.PollUntilContextCancel(ctx, 100*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		scaled := o("deployment/auto2")
		err := theLab.Client.Get(ctx, client.ObjectKeyFromObject(scaled), scaled)
		n, _, _ := unstructured.NestedInt64(scaled.Object, "spec", "replicas")
		return n == 5, err
	}))
	var pods corev1.PodList
	must(t, theLab.Client.List(ctx, &pods, client.InNamespace(to)))
	for i := range pods.Items[:min(5, len(pods.Items))] {
		must(t, client.IgnoreNotFound(theLab.Client.Delete(ctx, &pods.Items[i])))
	}
	time.Sleep(2 * time.Second)

	presence := map[string]string{
		"configmaps/gone":             "Gone",
		"secrets/gone":                "Gone",
		"deployments/gone":            "Gone",
		"services/gone":               "Gone",
		"roles/gone":                  "Gone",
		"cronjobs/gone":               "Gone",
		"limitranges/gone":            "Gone",
		"persistentvolumeclaims/gone": "Gone",
		"configmaps/held":             "Deleting",
		"jobs/done":                   "Gone",
	}
	for what, how := range unbound {
		if what != "unbound/gone" {
			presence[what] = how
		}
	}
	d, found := verified(t, exitRefused, "restore/"+to)
	wantFound(t, found, presence)
	if d.LostItems != 10 || d.LostClaims != 4 || d.Changed+d.LostContents != 0 {
		t.Errorf(
			"%d items, %d claims, %d contents lost, %d changed",
			d.LostItems,
			d.LostClaims,
			d.LostContents,
			d.Changed,
		)
	}
	want := map[string]string{
		"configmaps/changed":    "Changed data.level",
		"configmaps/added":      "Changed data.more",
		"configmaps/less":       "Changed data.size",
		"configmaps/emptied":    "Emptied data.level data.size",
		"configmaps/again":      "Recreated data.level data.size",
		"secrets/changed":       "Changed data.token",
		"secrets/emptied":       "Emptied data.token data.user",
		"secrets/again":         "Recreated data.token data.user",
		"deployments/scaled":    "Scaled spec.replicas",
		"statefulsets/scaled":   "Scaled spec.replicas",
		"deployments/image":     "Changed spec.template.spec.containers[web].image",
		"deployments/env":       "Changed spec.template.spec.containers[web].env",
		"services/ports":        "Changed spec.ports[http].port",
		"services/selector":     "Changed spec.selector.app",
		"ingresses/host":        "Changed spec.rules[0].host",
		"roles/fewer":           "Changed rules[1]",
		"rolebindings/emptied":  "Emptied subjects",
		"cronjobs/schedule":     "Changed spec.schedule",
		"cronjobs/running":      "Changed spec.suspend",
		"limitranges/other":     "Changed spec.limits[0].",
		"secrets/more":          "Changed data.third",
		"networkpolicies/other": "Changed spec.podSelector.matchLabels.app",
		"serviceaccounts/pulls": "Emptied imagePullSecrets",

		"configmaps/excluded":               "Changed metadata.labels.velero.io/exclude-from-backup",
		"configmaps/frozen":                 "Changed immutable",
		"configmaps/labelled":               "Changed metadata.labels.tier",
		"configmaps/noted":                  "Changed metadata.annotations.note",
		"configmaps/quick":                  "Recreated data.level",
		"deployments/auto":                  "Scaled spec.replicas",
		"deployments/hostnet":               "Changed spec.template.spec.hostNetwork",
		"deployments/paused":                "Changed spec.paused",
		"deployments/privileged":            "Changed spec.template.spec.containers[web].securityContext",
		"deployments/tolerant":              "Changed spec.template.spec.tolerations",
		"horizontalpodautoscalers/auto2":    "Changed spec.minReplicas",
		"horizontalpodautoscalers/behaving": "Changed spec.behavior",
		"ingresses/more":                    "Changed spec.rules",
		"namespaces/content-2":              "Changed metadata.labels.pod-security.kubernetes.io/enforce",
		"networkpolicies/narrower":          "Changed spec.egress[0].to[0].namespaceSelector",
		"networkpolicies/opened":            "Changed spec.ingress",
		"networkpolicies/wider":             "Changed spec.ingress[0].from[0].namespaceSelector",
		"pods/zz-hooked":                    "Changed spec.ephemeralContainers",
		"rolebindings/more":                 "Changed subjects",
		"roles/more":                        "Changed rules",
		"roles/verb":                        "Changed rules[0].verbs",
		"secrets/robot-token":               "Changed data.more",
		"serviceaccounts/more":              "Changed imagePullSecrets",
		"services/headless":                 "Recreated spec.clusterIP",
		"services/nodeport":                 "Changed spec.ports[http].nodePort",
		"services/port":                     "Changed spec.ports",
		"statefulsets/patient":              "Changed spec.minReadySeconds",
	}
	lostContents, changed := 0, 0
	for _, how := range want {
		if strings.HasPrefix(how, "Emptied") || strings.HasPrefix(how, "Recreated") {
			lostContents++
		} else {
			changed++
		}
	}
	for what, how := range presence {
		want[what] = how
	}
	d, found = verified(t, exitRefused, "restore/"+to, "--compare")
	wantFound(t, found, want)
	if d.LostItems != 10 || d.LostContents != lostContents || d.Changed != changed {
		t.Errorf("%d items, %d contents lost, %d changed", d.LostItems, d.LostContents, d.Changed)
	}
	_, printed := runVeltui(t, "verify", "restore/"+to, "--compare", "--all")
	for _, secret := range []string{"b2xk", "bmV3", "debug", "0 4 *"} {
		if strings.Contains(printed, secret) {
			t.Errorf("it prints the value %q: %s", secret, printed)
		}
	}
	if !strings.Contains(printed, "\nother content\n") ||
		!strings.Contains(printed, "configmaps content-2/changed from content: differs in data.level") {
		t.Error(printed)
	}
	t.Log(printed)
}

// TestVerifyNamesMergedItems: of two items that a mapping gives one name, one came back, and verify names the other.
// Its numbers add up to those of preflight.
func TestVerifyNamesMergedItems(t *testing.T) {
	ctx := patient(t)
	for _, n := range []string{"merge-a", "merge-b"} {
		must(t, theLab.Client.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: n}}))
		for _, which := range []string{"configmap/both", "configmap/of-" + n, "role/both"} {
			eventuallyCreate(t, contentObject(t, which, n))
		}
	}
	spec := veleroapi.BackupSpec{IncludedNamespaces: []string{"merge-a", "merge-b"}}
	wantEnd(t, backup(t, "merge", spec, nil), "Completed")
	h := restore(t, "merged", veleroapi.RestoreSpec{BackupName: "merge", NamespaceMapping: map[string]string{
		"merge-a": "merged", "merge-b": "merged",
	}}, nil)
	wantEnd(t, h, "Completed")
	d, found := verified(t, exitRefused, "restore/merged")
	wantFound(t, found, map[string]string{"configmaps/both": "Missing", "roles/both": "Missing"})
	present := 0
	for _, r := range d.Resources {
		for _, i := range r.Items {
			if i.Name == "both" && i.State == "Missing" && !strings.Contains(i.Why, "/both, and only one object comes of both") {
				t.Errorf("%+v", i)
			}
			if i.State != "Missing" {
				present++
			}
		}
	}
	if d.LostItems != 2 || d.Wanted != present+2 {
		t.Errorf("%d wanted, %d present, %d lost", d.Wanted, present, d.LostItems)
	}
}

// TestVerifyReadsNewNames: what a modifier gave another name is looked for under that; of two items to which it gave
// one, one is missing.
func TestVerifyReadsNewNames(t *testing.T) {
	ctx := patient(t)
	must(t, theLab.Client.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "names"}}))
	for _, which := range []string{"configmap/a-1", "configmap/a-2", "configmap/b", "configmap/c"} {
		eventuallyCreate(t, contentObject(t, which, "names"))
	}
	mods := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: lab.Namespace, Name: "verify-names"},
		Data: map[string]string{"rules": `version: v1
resourceModifierRules:
- conditions: {groupResource: configmaps, resourceNameRegex: "^a-", namespaces: [names]}
  mergePatches:
  - patchData: '{"metadata": {"name": "a"}}'
- conditions: {groupResource: configmaps, resourceNameRegex: "^b$", namespaces: [names]}
  mergePatches:
  - patchData: '{"metadata": {"name": "renamed"}}'
`},
	}
	must(t, theLab.Client.Create(ctx, mods))
	wantEnd(t, backup(t, "names", veleroapi.BackupSpec{IncludedNamespaces: []string{"names"}}, nil), "Completed")
	restore(t, "names-2", veleroapi.RestoreSpec{
		BackupName: "names", NamespaceMapping: map[string]string{"names": "names-2"},
		ResourceModifier: &corev1.TypedLocalObjectReference{Kind: "ConfigMap", Name: mods.Name},
	}, nil)
	for _, args := range [][]string{{"restore/names-2"}, {"restore/names-2", "--compare"}} {
		_, printed := runVeltui(t, append([]string{"verify", "--all"}, args...)...)
		d, found := verified(t, exitRefused, args...)
		renamed := 0
		for _, r := range d.Resources {
			for _, i := range r.Items {
				if i.Name == "renamed" && i.State == "Restored" {
					renamed++
				}
			}
		}
		if d.LostItems != 1 || renamed != 1 || len(found) != 1 || !strings.HasPrefix(found["configmaps/a"], "Missing") ||
			!strings.Contains(printed, "names-2/a from names/a-2: the restore gives it the name of names/a-1") {
			t.Errorf("%v %s", found, printed)
		}
	}
	must(t, theLab.DeleteAndWait(ctx, mods))
}

// TestVerifyAfterTheSameRestoreTwice: a restore into the cluster of the backup finds all there, and the same once more
// after the policy update wrote Velero's labels: nothing is lost, CRDs neither, but only a comparison tells. Without
// volumes: Velero would take those of other namespaces from their claims.
func TestVerifyAfterTheSameRestoreTwice(t *testing.T) {
	fullBackup(t)
	yes := true
	spec := veleroapi.RestoreSpec{BackupName: full, IncludedNamespaces: []string{"media"}, IncludeClusterResources: &yes,
		ExcludedResources: []string{"persistentvolumes"}, ExistingResourcePolicy: veleroapi.PolicyTypeUpdate}
	restore(t, "twice-update", spec, nil)
	spec.ExistingResourcePolicy = veleroapi.PolicyTypeNone
	restore(t, "twice-none", spec, nil)
	d, found := verified(t, exitError, "restore/twice-none")
	for what, how := range found {
		if !strings.HasPrefix(how, "NotCompared Velero left it as it was, and ") {
			t.Errorf("FALSE %s: %q", what, how)
		}
	}
	if len(found) == 0 || d.LostItems+d.LostContents+d.Changed != 0 {
		t.Errorf(
			"%d are not compared, %d items and %d contents lost, %d changed",
			len(found),
			d.LostItems,
			d.LostContents,
			d.Changed,
		)
	}
	for _, args := range [][]string{{"restore/twice-none", "--compare"}, {"restore/twice-update", "--compare"}} {
		if d, found := verified(t, 0, args...); len(found) > 0 || d.Wanted < 200 {
			t.Errorf("%q of %d: %v", args, d.Wanted, found)
		}
	}
}

// TestVerifyReadsTheResourceModifier: what a modifier changed is as it was to be; once the modifier is gone, nobody knows.
func TestVerifyReadsTheResourceModifier(t *testing.T) {
	fullBackup(t)
	ctx := patient(t)
	mods := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: lab.Namespace, Name: "verify-mods"},
		Data: map[string]string{"rules": `version: v1
resourceModifierRules:
- conditions: {groupResource: configmaps, namespaces: [media]}
  mergePatches:
  - patchData: '{"data": {"added": "by the modifier"}}'
- conditions: {groupResource: deployments.apps, namespaces: [media]}
  patches:
  - {operation: add, path: /spec/template/spec/containers/0/resources, value: '{"limits": {"cpu": "1000m", "memory": "1024Mi"}, "requests": {"cpu": "0.5"}}'}
`},
	}
	must(t, theLab.Client.Create(ctx, mods))
	wantEnd(
		t,
		restore(t, "verify-modified", veleroapi.RestoreSpec{
			BackupName:         full,
			IncludedNamespaces: []string{"media"},
			IncludedResources:  []string{"configmaps", "deployments"},
			NamespaceMapping: map[string]string{
				"media": "verify-modified",
			},
			ResourceModifier: &corev1.TypedLocalObjectReference{Kind: "ConfigMap", Name: mods.Name},
		}, nil),
		"Completed",
	)
	var changed corev1.ConfigMapList
	must(t, theLab.Client.List(ctx, &changed, client.InNamespace("verify-modified")))
	modified := 0
	for _, m := range changed.Items {
		if m.Data["added"] != "" {
			modified++
		}
	}
	var deployments appsv1.DeploymentList
	must(t, theLab.Client.List(ctx, &deployments, client.InNamespace("verify-modified")))
	for _, d := range deployments.Items {
		if d.Spec.Template.Spec.Containers[0].Resources.Limits.Cpu().String() != "1" {
			t.Errorf("%s was not modified", d.Name)
		}
	}
	if _, found := verified(t, 0, "restore/verify-modified", "--compare"); len(found) > 0 || modified == 0 {
		t.Errorf("%d modified: %v", modified, found)
	}
	must(t, theLab.DeleteAndWait(ctx, mods))
	_, found := verified(t, 1, "restore/verify-modified", "--compare")
	for what, how := range found {
		if !strings.HasPrefix(how, "NotCompared data.added the resource modifier verify-mods may change it") {
			t.Errorf("%s: %s", what, how)
		}
	}
	if len(found) != modified {
		t.Errorf("%d of %d", len(found), modified)
	}
}
