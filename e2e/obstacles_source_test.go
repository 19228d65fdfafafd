//go:build e2e

package e2e

import (
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	crdv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/veltui/veltui/e2e/lab"
	"github.com/veltui/veltui/internal/velero/veleroapi"
)

// The namespaces that are backed up, each in a backup of its name.
const (
	obMain    = "ob-main"
	obCarried = "ob-carried"
	obSecured = "ob-secured"
)

const obPod = `{apiVersion: v1, kind: Pod, metadata: {name: po-%s}, spec: {schedulingGates: [{name: example.com/never}], containers: [{name: a, image: a, resources: {requests: {cpu: %s}, limits: {cpu: %s, memory: 64Mi}}}]%s}}`

func obPodOf(name, more string) string { return oneLine(obPod, name, "100m", "200m", more) }

func obClaim(name, spec string) string {
	return oneLine(
		`{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: claim-%s}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 10Gi}}, %s}}`,
		name,
		spec,
	)
}

// obVolume is a claim and its volume.
func obVolume(name string) string {
	return oneLine(
		`{apiVersion: v1, kind: PersistentVolume, metadata: {name: pv-%[1]s}, spec: {capacity: {storage: 10Gi}, accessModes: [ReadWriteOnce], persistentVolumeReclaimPolicy: Retain, hostPath: {path: /nowhere}, claimRef: {namespace: ob-main, name: claim-%[1]s}}}
`,
		name,
	) + obClaim(
		name,
		`storageClassName: "", volumeName: pv-`+name,
	)
}

// obFree is a volume that no claim has.
const obFree = `{apiVersion: v1, kind: PersistentVolume, metadata: {name: pv-%s}, spec: {capacity: {storage: %s}, storageClassName: %s, accessModes: [ReadWriteOnce], persistentVolumeReclaimPolicy: Retain, hostPath: {path: /nowhere}}}`

// obGroups are the objects that are backed up, by their label ob. No two have the same name.
var obGroups = map[string]string{
	"base": `{apiVersion: v1, kind: ConfigMap, metadata: {name: cm-a}, data: {from: backup}}
{apiVersion: v1, kind: ConfigMap, metadata: {name: cm-b, labels: {owner: b}}, data: {from: backup}}
{apiVersion: v1, kind: ConfigMap, metadata: {name: cm-c}, data: {from: backup}}
{apiVersion: v1, kind: Secret, metadata: {name: sec-a, labels: {owner: b}}, stringData: {from: backup}}
{apiVersion: v1, kind: ServiceAccount, metadata: {name: robot}}
{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: reader}, rules: [{apiGroups: [""], resources: [pods], verbs: [get]}]}
{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: reads}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: reader}, subjects: [{kind: ServiceAccount, name: robot, namespace: ob-main}]}
{apiVersion: v1, kind: Service, metadata: {name: front}, spec: {ports: [{port: 80}]}}
{apiVersion: networking.k8s.io/v1, kind: Ingress, metadata: {name: in-a}, spec: {rules: [{host: a.example.com, http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: front, port: {number: 80}}}}]}}]}}
{apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, metadata: {name: net-a}, spec: {podSelector: {}}}
{apiVersion: apps/v1, kind: Deployment, metadata: {name: dep-a}, spec: {replicas: 0, selector: {matchLabels: {a: dep}}, template: {metadata: {labels: {a: dep}}, spec: {containers: [{name: a, image: a}]}}}}
{apiVersion: batch/v1, kind: Job, metadata: {name: job-a}, spec: {suspend: true, template: {spec: {restartPolicy: Never, containers: [{name: a, image: a}]}}}}
{apiVersion: batch/v1, kind: CronJob, metadata: {name: cron-a}, spec: {schedule: "0 0 1 1 *", suspend: true, jobTemplate: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: a, image: a}]}}}}}}
{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: pdb-a}, spec: {minAvailable: 1, selector: {matchLabels: {a: dep}}}}
{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, metadata: {name: hpa-a}, spec: {scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: dep-a}, minReplicas: 1, maxReplicas: 2}}
` + obPodOf("plain", ""),
	"claim":    obClaim("data", `storageClassName: ob-class`),
	"sets":     `{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: set-b}, spec: {replicas: 0, serviceName: a, selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: a, image: a}]}}}}`,
	"small":    oneLine(obPod, "small", "10m", "20m", ""),
	"ratio":    oneLine(obPod, "ratio", "100m", "1", ""),
	"nomem":    `{apiVersion: v1, kind: Pod, metadata: {name: po-nomem}, spec: {schedulingGates: [{name: example.com/never}], containers: [{name: a, image: a}]}}`,
	"port":     `{apiVersion: v1, kind: Service, metadata: {name: svc-port, annotations: {kubectl.kubernetes.io/last-applied-configuration: '{"spec":{"ports":[{"port":80,"nodePort":30005}]}}'}}, spec: {type: NodePort, ports: [{port: 80, nodePort: 30005}]}}`,
	"health":   `{apiVersion: v1, kind: Service, metadata: {name: svc-health, annotations: {kubectl.kubernetes.io/last-applied-configuration: '{"spec":{"healthCheckNodePort":30006}}'}}, spec: {type: LoadBalancer, externalTrafficPolicy: Local, healthCheckNodePort: 30006, ports: [{port: 80}]}}`,
	"host":     obPodOf("host", `, hostNetwork: true`),
	"prio":     obPodOf("prio", `, priorityClassName: ob-prio`),
	"lost":     obPodOf("lost", `, priorityClassName: ob-lost`),
	"preempt":  obPodOf("preempt", `, priorityClassName: ob-preempt`),
	"runtime":  obPodOf("runtime", `, runtimeClassName: ob-runtime`),
	"overhead": obPodOf("overhead", `, runtimeClassName: ob-overhead`),
	"panic": strings.Replace(
		obPodOf("panics", ""),
		"name: po-panics",
		"name: po-panics, annotations: {init.hook.restore.velero.io/container-image: i}",
		1,
	),
	"released": obVolume(
		"released",
	),
	"foreign": obVolume("foreign"),
	"kept":    obVolume("kept"),
	"denied":  obVolume("denied"),
	"lone":    obVolume("lone"),
	"smaller": obVolume("smaller"),
	"classed": obVolume("classed"),
	"fast":    obClaim("fast", `storageClassName: ob-fast`),
	"default": obClaim("default", "volumeMode: Filesystem"),
	"fixed": `{apiVersion: v1, kind: Secret, metadata: {name: sec-frozen}, stringData: {from: backup}, immutable: true}
{apiVersion: v1, kind: ConfigMap, metadata: {name: cm-frozen}, data: {from: backup}, immutable: true}
{apiVersion: v1, kind: Secret, metadata: {name: sec-type}, type: Opaque}
{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: bind-ref}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: reader}}
{apiVersion: apps/v1, kind: Deployment, metadata: {name: dep-select}, spec: {replicas: 0, selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: a, image: a}]}}}}
{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: set-name}, spec: {replicas: 0, serviceName: a, selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: a, image: a}]}}}}`,
	"token":   `{apiVersion: v1, kind: Secret, metadata: {name: robot-key, annotations: {kubernetes.io/service-account.name: robot}}, type: kubernetes.io/service-account-token}`,
	"other":   `{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: ob-other}, value: 7}`,
	"class":   `{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: ob-frozen}, provisioner: example.com/none, parameters: {a: b}}`,
	"role":    `{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: role-special}, rules: [{apiGroups: [example.com], resources: [things], verbs: [use]}]}`,
	"binding": `{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: bind-missing}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: nosuch}}`,
}

// obBefore is in the cluster before the backup and replaced by obAfter; what is only in one of them goes, or comes.
const obBefore = `{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: ob-class}, provisioner: example.com/none}
{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: ob-prio}, value: 7}
{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: ob-lost}, value: 7}
{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: ob-preempt}, value: 7}
{apiVersion: node.k8s.io/v1, kind: RuntimeClass, metadata: {name: ob-runtime}, handler: runc}
{apiVersion: node.k8s.io/v1, kind: RuntimeClass, metadata: {name: ob-overhead}, handler: runc, overhead: {podFixed: {cpu: 10m}}}`

var obAfter = map[string]string{
	"ob-lost":        "",
	"ob-runtime":     "",
	"svc-port":       "",
	"svc-health":     "",
	"claim-released": "",
	"claim-foreign":  "",
	"claim-denied":   "",
	"pv-denied":      "",
	"claim-lone":     "",
	"pv-lone":        "",
	"claim-smaller":  "",
	"claim-classed":  "",
	"ob-preempt":     `{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: ob-preempt}, value: 7, preemptionPolicy: Never}`,
	"ob-overhead":    `{apiVersion: node.k8s.io/v1, kind: RuntimeClass, metadata: {name: ob-overhead}, handler: runc, overhead: {podFixed: {cpu: 20m}}}`,
	"ob-other":       `{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: ob-other}, value: 8}`,
	"ob-frozen":      `{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: ob-frozen}, provisioner: example.com/none, parameters: {a: c}}`,
	"pv-smaller":     oneLine(obFree, "smaller", "5Gi", "''"),
	"pv-classed":     oneLine(obFree, "classed", "10Gi", "other"),
	"pv-foreign":     `{apiVersion: v1, kind: PersistentVolume, metadata: {name: pv-foreign}, spec: {capacity: {storage: 10Gi}, accessModes: [ReadWriteOnce], persistentVolumeReclaimPolicy: Retain, hostPath: {path: /nowhere}, claimRef: {namespace: elsewhere, name: other}}}`,
}

// obKinds are custom kinds in version v1 of which one object each is backed up, and what becomes of their CRDs; nil
// has them go.
var obKinds = map[string]func(*crdv1.CustomResourceDefinition){
	"obplains": func(*crdv1.CustomResourceDefinition) {},
	"obgoings": func(*crdv1.CustomResourceDefinition) {},
	"obgones":  nil,
	"obdowns":  nil,
	"obolds":   func(k *crdv1.CustomResourceDefinition) { k.Spec.Versions[0].Name = "v2" },
	"obstricts": func(k *crdv1.CustomResourceDefinition) {
		k.Spec.Versions[0].Schema.OpenAPIV3Schema = &crdv1.JSONSchemaProps{
			Type:       "object",
			Required:   []string{"spec"},
			Properties: map[string]crdv1.JSONSchemaProps{"spec": {Type: "object"}},
		}
	},
	"obcels": func(k *crdv1.CustomResourceDefinition) {
		k.Spec.Versions[0].Schema.OpenAPIV3Schema = &crdv1.JSONSchemaProps{
			Type:         "object",
			Properties:   map[string]crdv1.JSONSchemaProps{"spec": {Type: "object"}},
			XValidations: crdv1.ValidationRules{{Rule: "has(self.spec)", Message: "needs a spec"}},
		}
	},
	"obconvs": func(k *crdv1.CustomResourceDefinition) {
		v2 := *k.Spec.Versions[0].DeepCopy()
		v2.Name, k.Spec.Versions[0].Storage = "v2", false
		k.Spec.Versions = append(k.Spec.Versions, v2)
		k.Spec.Conversion = &crdv1.CustomResourceConversion{
			Strategy: crdv1.WebhookConverter,
			Webhook: &crdv1.WebhookConversion{
				ConversionReviewVersions: []string{"v1"},
				ClientConfig: &crdv1.WebhookClientConfig{
					Service: &crdv1.ServiceReference{Namespace: "ob-nowhere", Name: "converts"},
				},
			},
		}
	},
	"obscopes": func(k *crdv1.CustomResourceDefinition) { k.Spec.Scope = crdv1.ClusterScoped },
	"obnames":  func(k *crdv1.CustomResourceDefinition) { k.Spec.Names.Kind = "Obtaken" },
}

func obKind(plural, version string) *crdv1.CustomResourceDefinition {
	k := customKind(plural, "O"+strings.TrimSuffix(plural[1:], "s"), version)
	if plural == "obdowns" {
		k.Spec.Group = "down.pf.example.com"
		k.Name = plural + "." + k.Spec.Group
	}
	return k
}

// plantObstacles makes what is backed up, backs it up, and then changes the cluster.
func plantObstacles(t *testing.T) {
	t.Helper()
	ctx := patient(t)
	make := func(o client.Object) { must(t, theLab.Client.Create(ctx, o)) }
	for _, name := range []string{obMain, obCarried, obSecured} {
		make(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})
	}
	custom := func(plural, namespace, name string) *unstructured.Unstructured {
		k := obKind(plural, "v1")
		return &unstructured.Unstructured{
			Object: map[string]any{
				"apiVersion": k.Spec.Group + "/v1",
				"kind":       k.Spec.Names.Kind,
				"metadata": map[string]any{
					"namespace": namespace,
					"name":      name,
					"labels":    map[string]any{"ob": plural},
				},
			},
		}
	}
	for plural := range obKinds {
		make(obKind(plural, "v1"))
	}
	all := map[string]client.Object{}
	for _, o := range objectsOf(t, obBefore, obMain) {
		make(o)
		all[o.GetName()] = o
	}
	for group, text := range obGroups {
		for _, o := range objectsOf(t, text, obMain) {
			labels := o.GetLabels()
			labels["ob"] = group
			o.SetLabels(labels)
			make(o)
			all[o.GetName()] = o
		}
	}
	for plural := range obKinds {
		eventuallyCreate(t, custom(plural, obMain, "x-"+plural))
	}
	plantLarge(t, custom("obplains", obMain, "big"))
	for _, name := range strings.Fields("released foreign kept denied lone smaller classed") {
		must(t, theLab.AwaitClaim(ctx, &corev1.PersistentVolumeClaim{ObjectMeta: nameOf(obMain, "claim-"+name)}))
	}
	for _, o := range objectsOf(t, obPodOf("secured", ""), obSecured) {
		make(o)
	}
	secured := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: obSecured}}
	must(
		t,
		theLab.Client.Patch(
			ctx,
			secured,
			client.RawPatch(
				"application/merge-patch+json",
				[]byte(`{"metadata":{"labels":{"pod-security.kubernetes.io/enforce":"restricted"}}}`),
			),
		),
	)
	must(t, theLab.KillVelero(ctx)) // it asks for the cluster's kinds at its start
	must(t, theLab.StartVelero(ctx, unthrottled...))
	removeBrought := plantBrought(t)
	yes := true
	wantEnd(
		t,
		backup(
			t,
			obMain,
			veleroapi.BackupSpec{IncludedNamespaces: []string{obMain}, IncludeClusterResources: &yes},
			nil,
		),
		"Completed",
	)
	removeBrought()
	wantEnd(t, backup(t, obSecured, veleroapi.BackupSpec{IncludedNamespaces: []string{obSecured}}, nil), "Completed")
	plantCarried(t, obCarried)

	make(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "ob-else"}})
	held := custom("obgoings", "ob-else", "held")
	held.SetFinalizers([]string{"pf.example.com/held"})
	make(held)
	must(t, theLab.Client.Delete(ctx, obKind("obgoings", "v1")))
	other := obKind("obtakens", "v1")
	make(other)
	for plural, change := range obKinds {
		if plural == "obplains" || plural == "obgoings" {
			continue
		}
		must(t, theLab.DeleteAndWait(ctx, obKind(plural, "v1")))
		if change != nil {
			k := obKind(plural, "v1")
			change(k)
			make(k)
		}
	}
	names := slices.SortedFunc(
		maps.Keys(obAfter),
		func(a, b string) int { return strings.Compare(a[:2], b[:2]) },
	) // claims before volumes
	for _, name := range names {
		must(t, theLab.DeleteAndWait(ctx, all[name]))
		for _, o := range objectsOf(t, obAfter[name], obMain) {
			make(o)
		}
	}
	awaitTrue(t, "the volume to be released", func() bool {
		volume := &corev1.PersistentVolume{}
		must(t, theLab.Client.Get(ctx, client.ObjectKey{Name: "pv-released"}, volume))
		return volume.Status.Phase == corev1.VolumeReleased
	})
	for _, o := range objectsOf(t, obRights, "") {
		make(o)
	}
	must(t, theLab.KillVelero(ctx))
	startAsAccount(t)
}

// obRights are those of Velero's account: everything but to pass on rights that it does not have.
const obRights = `{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: ob-velero}, rules: [{apiGroups: ["*"], resources: ["*"], verbs: [get, list, watch, create, update, patch, delete, deletecollection]}]}
{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRoleBinding, metadata: {name: ob-velero}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: ob-velero}, subjects: [{kind: ServiceAccount, name: default, namespace: velero}]}`

// startAsAccount starts Velero as the account of its pod.
func startAsAccount(t *testing.T) {
	t.Helper()
	startAs(t, "system:serviceaccount:"+lab.Namespace+":default")
}

// startAs starts Velero as a user, whom the lab's administrator impersonates.
func startAs(t *testing.T, user string) {
	t.Helper()
	text, err := os.ReadFile(theLab.Kubeconfig())
	must(t, err)
	var config map[string]any
	must(t, yaml.Unmarshal(text, &config))
	for _, entry := range config["users"].([]any) {
		entry.(map[string]any)["user"].(map[string]any)["as"] = user
	}
	text, err = yaml.Marshal(config)
	must(t, err)
	path := theLab.Dir() + "/as-account"
	must(t, os.WriteFile(path, text, 0o600))
	must(
		t,
		theLab.StartVelero(
			patient(t),
			append(unthrottled, "--terminating-resource-timeout=1s", "--kubeconfig="+path)...),
	)
}

// plantLarge makes the largest object that etcd takes: with Velero's labels it is too large.
func plantLarge(t *testing.T, o *unstructured.Unstructured) {
	t.Helper()
	o.SetLabels(map[string]string{"ob": "big"})
	fill := strings.Repeat("x", 3<<19)
	for size := 3 << 19; ; size -= 16 {
		try := o.DeepCopy()
		try.Object["data"] = fill[:size]
		switch err := theLab.Client.Create(patient(t), try); {
		case err == nil:
			return
		case !strings.Contains(err.Error(), "too large"):
			t.Fatal(err)
		}
	}
}

// plantCarried makes a backup as if the volume of a pod had been copied, and that of a claim were in a native snapshot.
func plantCarried(t *testing.T, from string) {
	t.Helper()
	ctx, none := patient(t), ""
	must(t, theLab.CreatePod(ctx, &corev1.Pod{ObjectMeta: nameOf(from, "db"), Spec: corev1.PodSpec{
		Volumes: []corev1.Volume{
			{Name: "data", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}},
		},
		Containers: []corev1.Container{
			{Name: "main", Image: "db", VolumeMounts: []corev1.VolumeMount{{Name: "data", MountPath: "/data"}}},
		},
	}}))
	staticClaim(
		t,
		from,
		"disk",
		corev1.PersistentVolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/nowhere"}},
		corev1.PersistentVolumeReclaimRetain,
		&none,
	)
	wantEnd(t, backup(t, from, veleroapi.BackupSpec{IncludedNamespaces: []string{from}}, nil), "Completed")
	location := from + "-location"
	b := &veleroapi.Backup{}
	must(t, theLab.Client.Get(ctx, client.ObjectKey{Namespace: lab.Namespace, Name: from}, b))
	b.Status.VolumeSnapshotsAttempted, b.Status.VolumeSnapshotsCompleted, b.Spec.VolumeSnapshotLocations = 1, 1, []string{
		location,
	}
	must(t, theLab.Client.Update(ctx, b))
	store(t, from, "volumeinfo", []map[string]any{
		{
			"backupMethod": "PodVolumeBackup",
			"result":       "succeeded",
			"pvbInfo": map[string]any{
				"podName":        "db",
				"podNamespace":   from,
				"volumeName":     "data",
				"snapshotHandle": "s",
			},
		},
		{
			"backupMethod": "NativeSnapshot",
			"result":       "succeeded",
			"pvName":       from + "-disk",
			"pvcName":      "disk",
			"pvcNamespace": from,
		},
	})
	store(
		t,
		from,
		"volumesnapshots",
		[]map[string]any{
			{
				"spec": map[string]any{
					"backupName":           from,
					"location":             location,
					"persistentVolumeName": from + "-disk",
					"providerVolumeID":     "v",
					"volumeType":           "t",
				},
				"status": map[string]any{"providerSnapshotID": "s", "phase": "Completed"},
			},
		},
	)
	must(
		t,
		theLab.Client.Create(ctx, &veleroapi.PodVolumeBackup{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: lab.Namespace,
				Name:      from,
				Labels:    map[string]string{veleroapi.BackupNameLabel: from},
			},
			Spec: veleroapi.PodVolumeBackupSpec{
				Node:                  "n",
				Pod:                   corev1.ObjectReference{Kind: "Pod", Namespace: from, Name: "db"},
				Volume:                "data",
				BackupStorageLocation: b.Spec.StorageLocation,
				UploaderType:          "kopia",
			},
			Status: veleroapi.PodVolumeBackupStatus{Phase: "Completed", SnapshotID: "s"},
		}),
	)
}
