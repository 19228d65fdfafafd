//go:build e2e

package e2e

import (
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	crdv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/veltui/veltui/e2e/lab"
	"github.com/veltui/veltui/internal/velero/veleroapi"
)

func nameOf(namespace, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: namespace, Name: name}
}

// TestPreflightRefused: Velero refuses these restores, and veltui says so before.
func TestPreflightRefused(t *testing.T) {
	must(t, theLab.EnsureVelero(patient(t)))
	ctx := patient(t)
	const from = "pr-refused"
	must(t, theLab.Client.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: from}}))
	wantEnd(t, backup(t, from, veleroapi.BackupSpec{IncludedNamespaces: []string{from}}, nil), "Completed")
	const rules = "version: v1\nresourceModifierRules:\n- conditions: {groupResource: configmaps}\n  mergePatches:\n  - patchData: '{}'\n"
	for name, text := range map[string]string{"pr-modifier": rules, "pr-modifier-bad": "version: v3\n", "pr-policy": "version: v1\n", "pr-policy-volumes": "version: v1\nvolumePolicies:\n- action: {type: skip}\n"} {
		config := &corev1.ConfigMap{ObjectMeta: nameOf(lab.Namespace, name), Data: map[string]string{"rules": text}}
		must(t, theLab.Client.Create(ctx, config))
		defer func() { must(t, theLab.DeleteAndWait(ctx, config)) }()
	}
	ref := func(name string) *corev1.TypedLocalObjectReference {
		return &corev1.TypedLocalObjectReference{Kind: "configmap", Name: name}
	}
	hook := func(container string) veleroapi.RestoreSpec {
		return veleroapi.RestoreSpec{
			Hooks: veleroapi.RestoreHooks{Resources: []veleroapi.RestoreResourceHookSpec{
				{
					Name: "h",
					PostHooks: []veleroapi.RestoreResourceHook{
						{
							Init: &veleroapi.InitRestoreHook{
								InitContainers: []runtime.RawExtension{{Raw: []byte(container)}},
							},
						},
					},
				},
			}},
		}
	}
	reads := slices.Contains([]string{"v1.18.3"}, theLab.Version)
	for name, c := range map[string]struct {
		spec    veleroapi.RestoreSpec
		refused bool
	}{
		"modifier":         {veleroapi.RestoreSpec{ResourceModifier: ref("pr-modifier")}, false},
		"modifier-missing": {veleroapi.RestoreSpec{ResourceModifier: ref("pr-nosuch")}, true},
		"modifier-bad":     {veleroapi.RestoreSpec{ResourceModifier: ref("pr-modifier-bad")}, true},
		"policy-missing":   {veleroapi.RestoreSpec{ResourcePolicy: ref("pr-nosuch")}, true},
		"policy-volumes":   {veleroapi.RestoreSpec{ResourcePolicy: ref("pr-policy-volumes")}, true},
		"existing":         {veleroapi.RestoreSpec{ExistingResourcePolicy: "recreate"}, true},
		"hook-no-image":    {hook(`{"name":"a","command":["x"]}`), true},
		"hook":             {hook(`{"name":"a","image":"i","command":["x"]}`), false},
	} {
		if c.spec.ResourcePolicy != nil && !reads {
			continue
		}
		c.spec.BackupName = from
		file := t.TempDir() + "/restore.json"
		body, err := json.Marshal(
			map[string]any{
				"apiVersion": "velero.io/v1",
				"kind":       "Restore",
				"metadata":   map[string]any{"name": name, "namespace": lab.Namespace},
				"spec":       c.spec,
			},
		)
		must(t, err)
		must(t, os.WriteFile(file, body, 0o600))
		code, phase := 0, "Completed"
		if c.refused {
			code, phase = exitRefused, "FailedValidation"
		}
		d, found := preflight(t, code, "-f", file)
		if refused := slices.Contains(found, "obstacle Refused "); refused != c.refused {
			t.Errorf("%s: %q: %+v", name, found, d)
		}
		wantEnd(t, restore(t, "pr-refused-"+name, c.spec, nil), phase)
	}
}

// store replaces what Velero stored beside a backup.
func store(t *testing.T, backup, what string, content any) {
	t.Helper()
	file, err := os.Create(theLab.ObjectPath("backups/" + backup + "/" + backup + "-" + what + ".json.gz"))
	must(t, err)
	zip := gzip.NewWriter(file)
	must(t, json.NewEncoder(zip).Encode(content))
	must(t, zip.Close())
	must(t, file.Close())
}

// TestPreflightCarriers: what brings the data back is missing.
func TestPreflightCarriers(t *testing.T) {
	must(t, theLab.EnsureVelero(patient(t)))
	ctx, none := patient(t), ""
	const from = "pr-carriers"
	must(t, theLab.Client.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: from}}))
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
	// As if the pod's volume had been copied, and the disk been in a native snapshot.
	bound := &veleroapi.Backup{}
	must(t, theLab.Client.Get(ctx, client.ObjectKey{Namespace: lab.Namespace, Name: from}, bound))
	bound.Status.VolumeSnapshotsAttempted, bound.Status.VolumeSnapshotsCompleted, bound.Spec.VolumeSnapshotLocations = 1, 1, []string{
		"pr-location",
	}
	must(t, theLab.Client.Update(ctx, bound))
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
					"location":             "pr-location",
					"persistentVolumeName": from + "-disk",
					"providerVolumeID":     "v",
					"volumeType":           "t",
				},
				"status": map[string]any{"providerSnapshotID": "s", "phase": "Completed"},
			},
		},
	)
	copied := &veleroapi.PodVolumeBackup{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: lab.Namespace,
			Name:      from,
			Labels:    map[string]string{veleroapi.BackupNameLabel: from},
		},
		Spec: veleroapi.PodVolumeBackupSpec{
			Node:                  "n",
			Pod:                   corev1.ObjectReference{Kind: "Pod", Namespace: from, Name: "db"},
			Volume:                "data",
			BackupStorageLocation: bound.Spec.StorageLocation,
			UploaderType:          "kopia",
		},
		Status: veleroapi.PodVolumeBackupStatus{Phase: "Completed", SnapshotID: "s"},
	}
	must(t, theLab.Client.Create(ctx, copied))

	d, found := preflight(t, exitRefused, "backup/"+from, "--namespace-mappings", from+":pr-carried")
	if want := []string{
		"obstacle NodeAgentMissing pods",
		"obstacle SnapshotLocationMissing persistentvolumeclaims",
	}; !slices.Equal(
		slices.DeleteFunc(found, func(f string) bool { return strings.HasPrefix(f, "note") }),
		want,
	) {
		t.Errorf("found %q, want %q: %+v", found, want, d)
	}
	wantEnd(
		t,
		restore(
			t,
			from,
			veleroapi.RestoreSpec{BackupName: from, NamespaceMapping: map[string]string{from: "pr-carried"}},
			nil,
		),
		"PartiallyFailed",
	)
	results := stored(t, from, "results")
	for _, says := range []string{"daemonset not found", `\"pr-location\" not found`} {
		if !strings.Contains(results, says) {
			t.Errorf("nothing says %q: %s", says, results)
		}
	}
}

// TestPreflightHangs: Velero waits for a kind that the API server cannot list, until it can.
func TestPreflightHangs(t *testing.T) {
	ctx := patient(t)
	const from = "pr-hangs"
	must(t, theLab.Client.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: from}}))
	change := func(kind *crdv1.CustomResourceDefinition, change func(*crdv1.CustomResourceDefinitionSpec)) {
		must(t, theLab.Client.Get(ctx, client.ObjectKeyFromObject(kind), kind))
		change(&kind.Spec)
		must(t, theLab.Client.Update(ctx, kind))
		time.Sleep(3 * time.Second) // until it is served so
	}
	second := func(s *crdv1.CustomResourceDefinitionSpec) {
		v2 := *s.Versions[0].DeepCopy()
		v2.Name, v2.Storage = "v2", false
		s.Versions = append(s.Versions, v2)
	}
	// Of widgets v2 is preferred and v1 stored; sprockets have v1 alone.
	widgets, sprockets := customKind("widgets", "Widget", "v1"), customKind("sprockets", "Sprocket", "v1")
	second(&widgets.Spec)
	for _, served := range []*crdv1.CustomResourceDefinition{widgets, sprockets} {
		must(t, theLab.Client.Create(ctx, served))
		object := &unstructured.Unstructured{
			Object: map[string]any{
				"apiVersion": "pf.example.com/v1",
				"kind":       served.Spec.Names.Kind,
				"metadata":   map[string]any{"namespace": from, "name": "a"},
			},
		}
		must(t, wait.PollUntilContextCancel(ctx, 50*time.Millisecond, true, func(ctx context.Context) (bool, error) {
			return theLab.Client.Create(ctx, object.DeepCopy()) == nil, nil
		}))
	}
	must(t, theLab.KillVelero(ctx)) // it asks for the cluster's kinds at its start
	must(t, theLab.StartVelero(ctx))
	wantEnd(t, backup(t, from, veleroapi.BackupSpec{IncludedNamespaces: []string{from}}, nil), "Completed")
	for _, c := range []struct {
		kind       *crdv1.CustomResourceDefinition
		says       string
		harm, mend func(*crdv1.CustomResourceDefinitionSpec)
	}{
		{widgets, "conversion webhook", func(s *crdv1.CustomResourceDefinitionSpec) {
			s.Conversion = &crdv1.CustomResourceConversion{Strategy: crdv1.WebhookConverter, Webhook: &crdv1.WebhookConversion{ConversionReviewVersions: []string{"v1"},
				ClientConfig: &crdv1.WebhookClientConfig{Service: &crdv1.ServiceReference{Namespace: "pr-nowhere", Name: "converts"}}}}
		}, func(s *crdv1.CustomResourceDefinitionSpec) {
			s.Conversion = &crdv1.CustomResourceConversion{Strategy: crdv1.NoneConverter}
		}},
		{sprockets, "its CRD changed", func(s *crdv1.CustomResourceDefinitionSpec) {
			second(s)
			s.Versions[0].Served, s.Versions[0].Storage, s.Versions[1].Storage = false, false, true
		}, func(s *crdv1.CustomResourceDefinitionSpec) { s.Versions[0].Served = true }},
	} {
		change(c.kind, c.harm)
		resource, name := c.kind.Name, "pr-hangs-"+c.kind.Spec.Names.Plural
		spec := veleroapi.RestoreSpec{
			BackupName:        from,
			NamespaceMapping:  map[string]string{from: name},
			IncludedResources: []string{resource, "configmaps"},
		}
		code, printed := runVeltui(
			t,
			"preflight",
			"-o",
			"json",
			"backup/"+from,
			"--namespace-mappings",
			from+":"+name,
			"--include-resources",
			resource+",configmaps",
		)
		if text := string(
			printed,
		); code != exitRefused || !strings.Contains(text, `"KindNotListable"`) || !strings.Contains(text, c.says) ||
			!strings.Contains(text, "waits without a limit") {
			t.Errorf("%s: exit code %d: %s", resource, code, text)
		}
		_, at, err := theLab.VeleroLog(0)
		must(t, err)
		createRestore(t, name, spec, nil)
		must(t, theLab.AwaitLog(ctx, at, "waiting informer cache sync"))
		time.Sleep(8 * time.Second)
		live := &veleroapi.Restore{}
		must(t, theLab.Client.Get(ctx, client.ObjectKey{Namespace: lab.Namespace, Name: name}, live))
		if live.Status.Phase != veleroapi.RestorePhaseInProgress ||
			live.Status.Progress != nil && live.Status.Progress.ItemsRestored > 0 {
			t.Errorf("%s: Velero does not hang: %+v: %s", name, live.Status, stored(t, name, "results"))
		}
		change(c.kind, c.mend)
		wantEnd(t, ended(t, "Restore", name), "Completed")
	}
}

// TestPreflightCrash: a claim without a class crashes Velero's server at the end of the restore.
func TestPreflightCrash(t *testing.T) {
	ctx := patient(t)
	must(t, theLab.EnsureVelero(ctx))
	const from = "pr-crash"
	must(t, theLab.Client.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: from}}))
	staticClaim(
		t,
		from,
		"data",
		corev1.PersistentVolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/nowhere"}},
		corev1.PersistentVolumeReclaimDelete,
		nil,
	)
	wantEnd(t, backup(t, from, veleroapi.BackupSpec{IncludedNamespaces: []string{from}}, nil), "Completed")
	// As if a pod's volume had been copied.
	store(
		t,
		from,
		"volumeinfo",
		[]map[string]any{
			{
				"backupMethod": "PodVolumeBackup",
				"result":       "succeeded",
				"pvName":       from + "-data",
				"pvcName":      "data",
				"pvcNamespace": from,
				"pvInfo": map[string]any{
					"reclaimPolicy": "Delete",
				},
				"pvbInfo": map[string]any{
					"podName":        "gone",
					"podNamespace":   from,
					"volumeName":     "data",
					"snapshotHandle": "s",
				},
			},
		},
	)
	d, found := preflight(t, exitRefused, "backup/"+from, "--namespace-mappings", from+":pr-crashed")
	if !slices.Contains(found, "obstacle DefaultClassMissing persistentvolumeclaims") ||
		!strings.Contains(fmt.Sprint(d), "server crashes") {
		t.Errorf("found %q: %+v", found, d)
	}
	_, at, err := theLab.VeleroLog(0)
	must(t, err)
	createRestore(
		t,
		from,
		veleroapi.RestoreSpec{BackupName: from, NamespaceMapping: map[string]string{from: "pr-crashed"}},
		nil,
	)
	must(t, theLab.AwaitLog(ctx, at, "nil pointer dereference"))
	must(t, theLab.KillVelero(ctx))
	crashing := &veleroapi.Restore{ObjectMeta: nameOf(lab.Namespace, from)}
	must(
		t,
		theLab.Client.Patch(
			ctx,
			crashing,
			client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"finalizers":null}}`)),
		),
	)
	must(t, client.IgnoreNotFound(theLab.Client.Delete(ctx, crashing)))
	must(t, theLab.StartVelero(ctx))
}

// TestPreflightCounts has what a count by kinds misses: scopes of a quota, Velero's own container, the class
// of old, and a volume that was kept and comes back as a new one.
func TestPreflightCounts(t *testing.T) {
	must(t, theLab.EnsureVelero(patient(t)))
	ctx := patient(t)
	const from, to, gone = "pr-counts", "pr-counted", "pr-gone"
	make := func(o client.Object) { must(t, theLab.Client.Create(ctx, o)) }
	make(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: from}})
	make(&schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: "pr-high"}, Value: 1000})
	asks := corev1.ResourceList{"cpu": resource.MustParse("300m"), "memory": resource.MustParse("256Mi")}
	for name, class := range map[string]string{"high": "pr-high", "copied": "", "plain": ""} {
		must(
			t,
			theLab.CreatePod(ctx, &corev1.Pod{ObjectMeta: nameOf(from, name), Spec: corev1.PodSpec{
				PriorityClassName: class,
				Volumes: []corev1.Volume{
					{Name: "data", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}},
				},
				Containers: []corev1.Container{
					{Name: "main", Image: "main", Resources: corev1.ResourceRequirements{Requests: asks, Limits: asks}},
				},
			}}),
		)
	}
	size, modes := corev1.ResourceList{
		corev1.ResourceStorage: resource.MustParse("1Gi"),
	}, []corev1.PersistentVolumeAccessMode{
		corev1.ReadWriteOnce,
	}
	old := &corev1.PersistentVolumeClaim{
		ObjectMeta: nameOf(from, "old"),
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: modes,
			Resources:   corev1.VolumeResourceRequirements{Requests: size},
		},
	}
	old.Annotations = map[string]string{"volume.beta.kubernetes.io/storage-class": gone}
	make(old)
	class := "pr-lost"
	make(
		&corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: from + "-kept"}, Spec: corev1.PersistentVolumeSpec{
			Capacity:                      size,
			AccessModes:                   modes,
			StorageClassName:              class,
			PersistentVolumeReclaimPolicy: corev1.PersistentVolumeReclaimRetain,
			PersistentVolumeSource: corev1.PersistentVolumeSource{
				HostPath: &corev1.HostPathVolumeSource{Path: "/nowhere"},
			},
			ClaimRef: &corev1.ObjectReference{Namespace: from, Name: "kept"},
		}},
	)
	kept := &corev1.PersistentVolumeClaim{
		ObjectMeta: nameOf(from, "kept"),
		Spec: corev1.PersistentVolumeClaimSpec{
			VolumeName:       from + "-kept",
			StorageClassName: &class,
			AccessModes:      modes,
			Resources:        corev1.VolumeResourceRequirements{Requests: size},
		},
	}
	make(kept)
	must(t, theLab.AwaitClaim(ctx, kept))
	wantEnd(t, backup(t, from, veleroapi.BackupSpec{IncludedNamespaces: []string{from}}, nil), "Completed")
	store(t, from, "volumeinfo", []map[string]any{
		{
			"backupMethod": "PodVolumeBackup",
			"result":       "succeeded",
			"pvbInfo": map[string]any{
				"podName":        "copied",
				"podNamespace":   from,
				"volumeName":     "data",
				"snapshotHandle": "s",
			},
		},
		{
			"backupMethod": "PodVolumeBackup",
			"result":       "succeeded",
			"pvName":       from + "-kept",
			"pvcName":      "kept",
			"pvcNamespace": from,
		},
	})
	make(
		&veleroapi.PodVolumeBackup{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: lab.Namespace,
				Name:      from,
				Labels:    map[string]string{veleroapi.BackupNameLabel: from},
			},
			Spec: veleroapi.PodVolumeBackupSpec{
				Node:         "n",
				Pod:          corev1.ObjectReference{Kind: "Pod", Namespace: from, Name: "copied"},
				Volume:       "data",
				UploaderType: "kopia",
			},
			Status: veleroapi.PodVolumeBackupStatus{Phase: "Completed", SnapshotID: "s"},
		},
	)
	make(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: to}})
	make(
		&corev1.ResourceQuota{ObjectMeta: nameOf(to, "high"), Spec: corev1.ResourceQuotaSpec{
			Hard: corev1.ResourceList{"pods": resource.MustParse("0")},
			ScopeSelector: &corev1.ScopeSelector{
				MatchExpressions: []corev1.ScopedResourceSelectorRequirement{
					{
						ScopeName: corev1.ResourceQuotaScopePriorityClass,
						Operator:  corev1.ScopeSelectorOpIn,
						Values:    []string{"pr-high"},
					},
				},
			},
		}},
	)
	make(
		&corev1.LimitRange{
			ObjectMeta: nameOf(to, "least"),
			Spec: corev1.LimitRangeSpec{
				Limits: []corev1.LimitRangeItem{
					{Type: corev1.LimitTypeContainer, Min: corev1.ResourceList{"cpu": resource.MustParse("200m")}},
				},
			},
		},
	)
	there := &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: "pr-there"}, Provisioner: "example.com/none"}
	changes := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: lab.Namespace,
			Name:      "pr-classes",
			Labels: map[string]string{
				"velero.io/plugin-config":        "",
				"velero.io/change-storage-class": "RestoreItemAction",
			},
		},
		Data: map[string]string{gone: "pr-there"},
	}
	make(there)
	make(changes)
	defer func() { must(t, theLab.DeleteAndWait(ctx, there)); must(t, theLab.DeleteAndWait(ctx, changes)) }()

	d, found := preflight(t, exitRefused, "backup/"+from, "--namespace-mappings", from+":"+to)
	want := []string{
		"obstacle LimitRangeViolated pods",
		"obstacle NodeAgentMissing pods",
		"obstacle QuotaExceeded resourcequotas",
		"obstacle StorageClassMissing persistentvolumeclaims",
		"obstacle StorageClassMissing persistentvolumeclaims",
	}
	if found = slices.DeleteFunc(
		found,
		func(f string) bool { return !strings.HasPrefix(f, "obstacle") },
	); !slices.Equal(
		found,
		want,
	) {
		t.Errorf("found %q, want %q: %+v", found, want, d)
	}
	if text := fmt.Sprint(
		d,
	); !strings.Contains(text, "pods: 0 of 0 used, 1 more wanted") || !strings.Contains(text, gone+" does not exist") ||
		!strings.Contains(text, class+" does not exist") {
		t.Error(text)
	}
	wantEnd(
		t,
		restore(t, from, veleroapi.RestoreSpec{BackupName: from, NamespaceMapping: map[string]string{from: to}}, nil),
		"PartiallyFailed",
	)
	// No node-agent is asked for a pod that Kubernetes refuses.
	wantMessages(
		t,
		from,
		to,
		map[string][]string{
			"errors": {"minimum cpu usage per Container is 200m, but request is 100m", "exceeded quota: high"},
		},
	)
	for _, name := range []string{"old", "kept"} {
		if phase := claimPhase(t, to, name); phase != "Pending" {
			t.Errorf("claim %s is %s", name, phase)
		}
	}
}
