//go:build e2e

package e2e

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	crdv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/veltui/veltui/e2e/lab"
	"github.com/veltui/veltui/internal/velero/veleroapi"
)

type preflighted struct {
	Items    int
	Findings []struct {
		Severity, Reason, Resource, Sentence string
		Names                                []string
		Count                                int
	}
	NotSeen []struct{ What, Why string }
}

// preflight runs veltui preflight, and returns its findings as "severity reason resource".
func preflight(t *testing.T, code int, args ...string) (d preflighted, found []string) {
	t.Helper()
	got, printed := runVeltui(t, append([]string{"preflight", "-o", "json"}, args...)...)
	must(t, json.Unmarshal(document(printed), &d))
	for _, f := range d.Findings {
		found = append(found, f.Severity+" "+f.Reason+" "+f.Resource)
	}
	// Without a dry run, what admission says is not known, of whatever is restored.
	if len(d.NotSeen) == 1 && strings.HasPrefix(d.NotSeen[0].What, "admission: ") && d.Items > 0 {
		d.NotSeen = nil
		if got == exitError {
			got = 0
		}
	}
	if got != code || len(d.NotSeen) > 0 {
		t.Errorf("exit code %d, want %d: %s", got, code, printed)
	}
	return d, found
}

// customKind serves a kind of pf.example.com in one version.
func customKind(plural, kind, version string) *crdv1.CustomResourceDefinition {
	keep := true
	return &crdv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: plural + ".pf.example.com"},
		Spec: crdv1.CustomResourceDefinitionSpec{
			Group: "pf.example.com",
			Scope: crdv1.NamespaceScoped,
			Names: crdv1.CustomResourceDefinitionNames{Plural: plural, Kind: kind},
			Versions: []crdv1.CustomResourceDefinitionVersion{
				{
					Name:    version,
					Served:  true,
					Storage: true,
					Schema: &crdv1.CustomResourceValidation{
						OpenAPIV3Schema: &crdv1.JSONSchemaProps{Type: "object", XPreserveUnknownFields: &keep},
					},
				},
			},
		},
	}
}

// plantSource makes the namespace that is backed up.
func plantSource(t *testing.T, namespace string) (kinds []*crdv1.CustomResourceDefinition) {
	t.Helper()
	ctx := patient(t)
	make := func(o client.Object) { must(t, theLab.Client.Create(ctx, o)) }
	meta := func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: namespace, Name: name} }
	make(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}})
	for _, name := range []string{"a", "b", "c"} {
		make(&corev1.ConfigMap{ObjectMeta: meta(name), Data: map[string]string{"from": "backup"}})
		make(&corev1.Secret{ObjectMeta: meta(name)})
	}
	make(&corev1.ServiceAccount{ObjectMeta: meta("robot")})
	// The node port is the author's own: it is in what kubectl apply noted.
	front := &corev1.Service{
		ObjectMeta: meta("front"),
		Spec: corev1.ServiceSpec{
			Type:  corev1.ServiceTypeNodePort,
			Ports: []corev1.ServicePort{{Port: 80, NodePort: 30777}},
		},
	}
	front.Annotations = map[string]string{
		corev1.LastAppliedConfigAnnotation: `{"spec":{"ports":[{"port":80,"nodePort":30777}]}}`,
	}
	make(front)
	class := "pf-fast"
	make(&corev1.PersistentVolumeClaim{ObjectMeta: meta("data"), Spec: corev1.PersistentVolumeClaimSpec{
		AccessModes:      []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
		StorageClassName: &class,
		Resources: corev1.VolumeResourceRequirements{
			Requests: corev1.ResourceList{"storage": resource.MustParse("1Gi")},
		},
	}})
	// Neither its init container nor its container says how much memory it needs.
	asks := corev1.ResourceRequirements{Requests: corev1.ResourceList{"cpu": resource.MustParse("100m")}}
	must(t, theLab.CreatePod(ctx, &corev1.Pod{ObjectMeta: meta("web"), Spec: corev1.PodSpec{
		InitContainers: []corev1.Container{
			{
				Name:      "init",
				Image:     "web",
				Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{"cpu": resource.MustParse("2")}},
			},
		},
		Containers: []corev1.Container{{Name: "main", Image: "web", Resources: asks}},
	}}))
	for plural, kind := range map[string]string{"gadgets": "Gadget", "gizmos": "Gizmo"} {
		served := customKind(plural, kind, "v1")
		make(served)
		kinds = append(kinds, served)
		object := &unstructured.Unstructured{
			Object: map[string]any{
				"apiVersion": "pf.example.com/v1",
				"kind":       kind,
				"metadata":   map[string]any{"namespace": namespace, "name": "g"},
			},
		}
		must(t, wait.PollUntilContextCancel(ctx, 50*time.Millisecond, true, func(ctx context.Context) (bool, error) {
			return theLab.Client.Create(ctx, object.DeepCopy()) == nil, nil // the CRD is served in a moment
		}))
	}
	return kinds
}

// TestPreflight holds what veltui says before a restore to what Velero then says
// itself.
func TestPreflight(t *testing.T) {
	ctx := patient(t)
	kinds := plantSource(t, "pf-source")
	restart := func(flags ...string) { // it asks for the cluster's kinds at its start, and then every five minutes
		must(t, theLab.TerminateVelero(ctx))
		must(t, theLab.StartVelero(ctx, slices.Concat(unthrottled, flags)...))
	}
	restart()
	wantEnd(t, backup(t, "preflight", veleroapi.BackupSpec{IncludedNamespaces: []string{"pf-source"}}, nil), "Completed")
	for _, kind := range kinds {
		must(t, theLab.DeleteAndWait(ctx, kind))
	}
	must(t, theLab.Client.Create(ctx, customKind("gizmos", "Gizmo", "v2")))
	restart("--terminating-resource-timeout=2s")
	must(t, theLab.DeleteAndWait(ctx, &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "pf-source", Name: "front"}}))

	const there = "pf-there"
	make := func(o client.Object) { must(t, theLab.Client.Create(ctx, o)) }
	make(
		&corev1.Namespace{
			ObjectMeta: metav1.ObjectMeta{
				Name:   there,
				Labels: map[string]string{"pod-security.kubernetes.io/enforce": "restricted"},
			},
		},
	)
	make(
		&corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Namespace: there, Name: "a"},
			Data:       map[string]string{"from": "cluster"},
		},
	)
	make(&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: there, Name: "robot"}})
	make(
		&corev1.ResourceQuota{
			ObjectMeta: metav1.ObjectMeta{Namespace: there, Name: "few"},
			Spec:       corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{"count/secrets": resource.MustParse("1")}},
		},
	)
	make(&corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: there, Name: "holder"},
		Spec: corev1.ServiceSpec{
			Type:  corev1.ServiceTypeNodePort,
			Ports: []corev1.ServicePort{{Port: 80, NodePort: 30777}},
		},
	})

	d, found := preflight(
		t,
		exitRefused,
		"backup/preflight",
		"--namespace-mappings",
		"pf-source:"+there,
		"--include-cluster-resources=false",
	)
	want := []string{
		"obstacle KindNotServed gadgets.pf.example.com",
		"obstacle NodePortTaken services",
		"obstacle PodSecurityViolated pods",
		"obstacle QuotaExceeded resourcequotas",
		"obstacle StorageClassMissing persistentvolumeclaims",
		"obstacle VersionNotServed gizmos.pf.example.com",
		"doubt ObjectsExist configmaps",
		"note ServiceAccountsMerged serviceaccounts",
	}
	if !slices.Equal(found, want) {
		t.Errorf("found %q, want %q: %+v", found, want, d)
	}
	no := false
	h := restore(
		t,
		"preflight-planted",
		veleroapi.RestoreSpec{
			BackupName:              "preflight",
			NamespaceMapping:        map[string]string{"pf-source": there},
			IncludeClusterResources: &no,
		},
		nil,
	)
	wantEnd(t, h, "PartiallyFailed")
	wantMessages(t, "preflight-planted", there, map[string][]string{
		// A claim without its class is no error for Velero: it stays Pending.
		"errors": {
			"gadgets.pf.example.com",
			"gizmos",
			`violates PodSecurity "restricted:latest"`,
			"provided port is already allocated",
			"exceeded quota: few",
			"exceeded quota: few",
		},
		// Kubernetes makes the second itself in every namespace.
		"warnings": {existsLine(t, "ConfigMap", "a"), existsLine(t, "ConfigMap", "kube-root-ca.crt")},
	})
	if total := h.LastState().Progress; total == nil || total.Total != d.Items {
		t.Errorf("Velero ended with %v items, preflight said %d", total, d.Items)
	}

	plantMore(t)

	// A target where nothing is in the way.
	clean := []string{
		"backup/preflight",
		"--namespace-mappings",
		"pf-source:pf-clean",
		"--exclude-resources",
		"gadgets.pf.example.com,gizmos.pf.example.com,pods,services,persistentvolumeclaims,customresourcedefinitions",
	}
	if _, found := preflight(t, 0, clean...); len(found) > 0 {
		t.Errorf("found %q in a clean target", found)
	}
	h = restore(
		t,
		"preflight-clean",
		veleroapi.RestoreSpec{
			BackupName:       "preflight",
			NamespaceMapping: map[string]string{"pf-source": "pf-clean"},
			ExcludedResources: []string{
				"gadgets.pf.example.com",
				"gizmos.pf.example.com",
				"pods",
				"services",
				"persistentvolumeclaims",
				"customresourcedefinitions",
			},
		},
		nil,
	)
	wantEnd(t, h, "Completed")
	wantMessages(
		t,
		"preflight-clean",
		"pf-clean",
		map[string][]string{"errors": nil, "warnings": {existsLine(t, "ConfigMap", "kube-root-ca.crt")}},
	)
	// Once more into the same target, with the other policy: all are there.
	_, found = preflight(t, 0, append(clean, "--existing-resource-policy", "update")...)
	if want := []string{
		"doubt ObjectsPatched ",
		"note ServiceAccountsMerged serviceaccounts",
	}; !slices.Equal(
		found,
		want,
	) {
		t.Errorf("found %q, want %q", found, want)
	}
}

// plantMore has what a namespace of its own shows: pods that a quota refuses, two
// ConfigMaps for one action, and a namespace that does not go. Then the backup expires.
func plantMore(t *testing.T) {
	t.Helper()
	ctx := patient(t)
	make := func(o client.Object) { must(t, theLab.Client.Create(ctx, o)) }
	const full, going = "pf-full", "pf-going"
	make(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: full}})
	make(
		&corev1.ResourceQuota{
			ObjectMeta: metav1.ObjectMeta{Namespace: full, Name: "memory"},
			Spec: corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{
				"requests.memory": resource.MustParse("1Gi"), "requests.cpu": resource.MustParse("1")}},
		},
	)
	for _, name := range []string{"pf-classes-a", "pf-classes-b"} {
		config := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
			Namespace: lab.Namespace,
			Name:      name,
			Labels: map[string]string{
				"velero.io/plugin-config":        "",
				"velero.io/change-storage-class": "RestoreItemAction",
			},
		}}
		make(config)
		defer func() { must(t, theLab.DeleteAndWait(ctx, config)) }()
	}
	space := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: going, Finalizers: []string{"pf.example.com/stays"}}}
	make(space)
	must(t, theLab.Client.Delete(ctx, space))
	kinds := []string{"pods", "persistentvolumeclaims"}
	for _, c := range []struct {
		name, space string
		kinds       []string
		want        []string
		errors      []string
	}{
		{"preflight-full", full, kinds, []string{"obstacle PluginConfigAmbiguous configmaps", "obstacle QuotaExceeded resourcequotas", "obstacle QuotaNeedsResources resourcequotas", "obstacle StorageClassMissing persistentvolumeclaims"},
			[]string{"must specify requests.memory for: init,main", "found more than one ConfigMap"}},
		{"preflight-going", going, []string{"configmaps"}, []string{"obstacle NamespaceTerminating namespaces"}, nil},
	} {
		args := []string{
			"backup/preflight",
			"--namespace-mappings",
			"pf-source:" + c.space,
			"--include-resources",
			strings.Join(c.kinds, ","),
		}
		if d, found := preflight(t, exitRefused, args...); !slices.Equal(found, c.want) {
			t.Errorf("found %q, want %q: %+v", found, c.want, d)
		}
		wantEnd(
			t,
			restore(
				t,
				c.name,
				veleroapi.RestoreSpec{
					BackupName:        "preflight",
					NamespaceMapping:  map[string]string{"pf-source": c.space},
					IncludedResources: c.kinds,
				},
				nil,
			),
			"PartiallyFailed",
		)
		wantMessages(t, c.name, c.space, map[string][]string{"errors": c.errors})
	}
	// Velero waits with each of the four ConfigMaps, and names the namespace when it
	// gives up (1.14 does not say that it is terminating).
	if n := strings.Count(stored(t, "preflight-going", "results"), "namespace "+going); n != 4 {
		t.Errorf("Velero waited %d times", n)
	}
	backup := &veleroapi.Backup{}
	must(t, theLab.Client.Get(ctx, client.ObjectKey{Namespace: lab.Namespace, Name: "preflight"}, backup))
	lasts := backup.Status.Expiration
	expire := func(at *metav1.Time) {
		before := backup.DeepCopy()
		backup.Status.Expiration = at
		must(t, theLab.Client.Patch(ctx, backup, client.MergeFrom(before)))
	}
	expire(&metav1.Time{Time: time.Now().Add(-time.Minute)})
	if _, found := preflight(
		t,
		exitRefused,
		"backup/preflight",
		"--include-resources",
		"secrets",
		"--namespace-mappings",
		"pf-source:pf-new",
	); !slices.Equal(
		found,
		[]string{"obstacle BackupExpired "},
	) {
		t.Errorf("found %q of a backup that expired", found)
	}
	expire(lasts)
}

// wantMessages checks that Velero's own errors and warnings in a namespace are
// these, in any order.
func wantMessages(t *testing.T, name, namespace string, want map[string][]string) {
	t.Helper()
	var real map[string]struct{ Namespaces map[string][]string }
	must(t, json.Unmarshal([]byte(stored(t, name, "results")), &real))
	for severity, parts := range want {
		got := slices.Clone(real[severity].Namespaces[namespace])
		if len(got) != len(parts) {
			t.Errorf("%s: %q, want %q", severity, got, parts)
		}
		for _, part := range parts {
			i := slices.IndexFunc(got, func(message string) bool { return strings.Contains(message, part) })
			if i < 0 {
				t.Errorf("%s: nothing says %q: %q", severity, part, real[severity].Namespaces[namespace])
				continue
			}
			got = slices.Delete(got, i, i+1)
		}
	}
}
