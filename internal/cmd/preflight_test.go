package cmd

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/veltui/veltui/collector"
	"github.com/veltui/veltui/internal/cluster"
	"github.com/veltui/veltui/internal/restore/live"
	"github.com/veltui/veltui/internal/restore/preflight"
	"github.com/veltui/veltui/internal/velero/veleroapi"
	"github.com/veltui/veltui/internal/view/document"
)

// tarballOf is a backup with these bodies, by "resource/namespace/name".
func tarballOf(t *testing.T, bodies map[string]string) []byte {
	t.Helper()
	var archive bytes.Buffer
	zip := gzip.NewWriter(&archive)
	w := tar.NewWriter(zip)
	put := func(name, body string) {
		if err := w.WriteHeader(
			&tar.Header{Name: name, Typeflag: tar.TypeReg, Size: int64(len(body)), Mode: 0o600},
		); err != nil {
			t.Fatal(err)
		}
		_, _ = w.Write([]byte(body))
	}
	put("metadata/version", "1.1.0\n")
	for _, key := range slices.Sorted(maps.Keys(bodies)) {
		part := strings.Split(key, "/")
		scope := "namespaces/" + part[1] + "/"
		if part[1] == "" {
			scope = "cluster/"
		}
		version := "v1"
		if strings.HasPrefix(part[0], "horizontalpodautoscalers") {
			version = "v2beta2"
		}
		put("resources/"+part[0]+"/"+version+"-preferredversion/"+scope+part[2]+".json", bodies[key])
		put("resources/"+part[0]+"/"+scope+part[2]+".json", bodies[key])
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := zip.Close(); err != nil {
		t.Fatal(err)
	}
	return archive.Bytes()
}

// planted is a backup with something for each obstacle.
func planted(t *testing.T) []byte {
	bodies := map[string]string{}
	add := func(kind, resource, namespace, name, spec string) {
		bodies[resource+"/"+namespace+"/"+name] = fmt.Sprintf(
			`{"apiVersion":"v1","kind":%q,"metadata":{"name":%q,"namespace":%q}%s}`,
			kind,
			name,
			namespace,
			spec,
		)
	}
	for _, space := range []string{"pf-clean", "pf-there", "pf-quota", "pf-going", "pf-ports", "pf-kinds", "pf-class", "pf-bound"} {
		add("Namespace", "namespaces", "", space, "")
		add("ConfigMap", "configmaps", space, "settings", `,"data":{"a":"b"}`)
		add("ConfigMap", "configmaps", space, "kube-root-ca.crt", "")
		add(
			"Service",
			"services",
			space,
			"web",
			`,"spec":{"clusterIP":"10.0.0.7","type":"NodePort","ports":[{"port":80,"protocol":"TCP","nodePort":31987}]}`,
		)
	}
	add("ServiceAccount", "serviceaccounts", "pf-there", "robot", "")
	for i := range 3 {
		add(
			"Pod",
			"pods",
			"pf-quota",
			fmt.Sprintf("p-%d", i),
			`,"spec":{"containers":[{"name":"a","resources":{"requests":{"cpu":"500m"}}}]},"status":{"phase":"Running"}`,
		)
	}
	applied := `,"spec":{"type":"NodePort","ports":[{"port":80,"protocol":"TCP","nodePort":31988}]}`
	bodies["services/pf-ports/front"] = `{"apiVersion":"v1","kind":"Service","metadata":{"name":"front","namespace":"pf-ports","annotations":{"kubectl.kubernetes.io/last-applied-configuration":"{\"spec\":{\"ports\":[{\"nodePort\":31988}]}}"}}` + applied + `}`
	add("Gadget", "gadgets.pf.example.com", "pf-kinds", "g", "")
	add("HorizontalPodAutoscaler", "horizontalpodautoscalers.autoscaling", "pf-kinds", "h", "")
	add(
		"PersistentVolumeClaim",
		"persistentvolumeclaims",
		"pf-class",
		"data",
		`,"spec":{"storageClassName":"pf-fast","resources":{"requests":{"storage":"1Gi"}}}`,
	)
	add("PersistentVolumeClaim", "persistentvolumeclaims", "pf-bound", "data", `,"spec":{"volumeName":"pf-volume"}`)
	return tarballOf(t, bodies)
}

// preflights runs veltui preflight with one cache, and returns the kinds of its
// findings with their severity, and what it did not look at.
func (b *bed) preflights(t *testing.T, cache string, args ...string) (d document.Preflight, code int) {
	t.Helper()
	cmd := b.command(t, append([]string{"preflight", "-n", "velero", "-o", "json"}, args...)...)
	cmd.Env = append(cmd.Env, "XDG_CACHE_HOME="+cache)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	_ = cmd.Run()
	if err := json.Unmarshal(out.Bytes(), &d); err != nil || d.Kind != "Preflight" {
		t.Fatalf("%q: %v in %s%s", args, err, out.String(), errs.String())
	}
	code = cmd.ProcessState.ExitCode()
	// Without a dry run, what admission says is not known, of whatever is restored.
	at := slices.IndexFunc(
		d.NotSeen,
		func(n preflight.Unchecked) bool { return strings.HasPrefix(n.What, "admission: ") },
	)
	if asked := d.Items != nil && *d.Items > 0 && d.DryRun == nil; asked != (at >= 0) {
		t.Errorf("%q: admission is among what was not checked: %t", args, at >= 0)
	}
	if at >= 0 {
		if d.NotSeen = slices.Delete(d.NotSeen, at, at+1); code == ExitError && len(d.NotSeen) == 0 {
			code = ExitOK
		}
	}
	return d, code
}

func kindsFound(d document.Preflight) string {
	var all []string
	for _, f := range d.Findings {
		all = append(all, fmt.Sprintf("%s/%s", f.Severity, f.Reason))
	}
	slices.Sort(all)
	return strings.Join(slices.Compact(all), " ")
}

// preflightBed is a cluster where nothing is in the way of pf-clean.
func preflightBed(t *testing.T) (*bed, *store) {
	t.Helper()
	b := control(t)
	s := openStore(t, b)
	s.tarballs = map[string][]byte{"b-planted": planted(t)}
	b.veleroPod(t, time.Now().Add(-time.Hour))
	b.create(t, &veleroapi.BackupStorageLocation{
		ObjectMeta: metav1.ObjectMeta{Namespace: "velero", Name: "pf"},
		Spec: veleroapi.BackupStorageLocationSpec{Provider: "aws", Config: map[string]string{"s3Url": s.url},
			StorageType: veleroapi.StorageType{ObjectStorage: &veleroapi.ObjectStorageLocation{Bucket: "b"}}},
		Status: veleroapi.BackupStorageLocationStatus{Phase: veleroapi.BackupStorageLocationPhaseAvailable},
	})
	backupIn(t, b, "b-planted", "pf", 24*time.Hour)
	return b, s
}

func backupIn(t *testing.T, b *bed, name, location string, left time.Duration) {
	t.Helper()
	expires := metav1.NewTime(time.Now().Add(left).Truncate(time.Second))
	b.create(t, &veleroapi.Backup{
		ObjectMeta: metav1.ObjectMeta{Namespace: "velero", Name: name},
		Spec:       veleroapi.BackupSpec{StorageLocation: location},
		Status:     veleroapi.BackupStatus{Phase: veleroapi.BackupPhaseCompleted, Expiration: &expires},
	})
}

// unfinished makes a backup that moved data, and whose contents Velero did not store
// again at its end.
func unfinished(t *testing.T, b *bed, s *store, name string) {
	t.Helper()
	backupIn(t, b, name, "pf", 24*time.Hour)
	stored := time.Now().Add(-time.Hour).Truncate(time.Second)
	s.tarballs[name], s.files = planted(t), map[string]string{"BackupResults/" + name: string(tarballOf(t, nil))}
	s.modified = map[string]time.Time{
		"BackupContents/" + name: stored,
		"BackupResults/" + name:  stored.Add(time.Second),
	}
	var backup veleroapi.Backup
	if err := b.client.Get(t.Context(), client.ObjectKey{Namespace: "velero", Name: name}, &backup); err != nil {
		t.Fatal(err)
	}
	backup.Spec.SnapshotMoveData = new(true)
	backup.Status.BackupItemOperationsAttempted, backup.Status.BackupItemOperationsCompleted = 2, 2
	backup.Status.StartTimestamp, backup.Status.CompletionTimestamp = &metav1.Time{
		Time: stored.Add(-time.Minute),
	}, &metav1.Time{
		Time: stored.Add(10 * time.Minute),
	}
	if err := b.client.Update(t.Context(), &backup); err != nil {
		t.Fatal(err)
	}
}

// TestPreflight plants each obstacle in a real API server: each is found, and a
// clean target gives none.
func TestPreflight(t *testing.T) {
	b, s := preflightBed(t)
	targetNamespaces(t, b, "pf-there", "pf-quota", "pf-going", "pf-ports")
	unfinished(t, b, s, "b-unfinished")
	b.create(t, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "pf-there", Name: "settings"}})
	b.create(t, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: "pf-there", Name: "robot"}})
	b.create(t, &corev1.ResourceQuota{
		ObjectMeta: metav1.ObjectMeta{Namespace: "pf-quota", Name: "small"},
		Spec: corev1.ResourceQuotaSpec{
			Hard: corev1.ResourceList{
				"pods":         resource.MustParse("2"),
				"requests.cpu": resource.MustParse("10"),
				"limits.cpu":   resource.MustParse("10"),
			},
		},
	})
	b.create(t, &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: "pf-there", Name: "holder"},
		Spec: corev1.ServiceSpec{
			Type:  corev1.ServiceTypeNodePort,
			Ports: []corev1.ServicePort{{Port: 80, NodePort: 31988}},
		},
	})
	b.create(
		t,
		&corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "pf-volume"}, Spec: corev1.PersistentVolumeSpec{
			Capacity: corev1.ResourceList{
				"storage": resource.MustParse("1Gi"),
			},
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			ClaimRef:    &corev1.ObjectReference{Namespace: "pf-there", Name: "other"},
			PersistentVolumeSource: corev1.PersistentVolumeSource{
				HostPath: &corev1.HostPathVolumeSource{Path: "/nowhere"},
			},
		}},
	)
	going := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "pf-going"}}
	if err := client.IgnoreNotFound(
		b.client.Delete(t.Context(), going),
	); err != nil &&
		!strings.Contains(err.Error(), "Terminating") {
		t.Fatal(err)
	}
	backupIn(t, b, "b-expired", "pf", -time.Hour)
	backupIn(t, b, "b-nowhere", "no-location", 24*time.Hour)

	cache := t.TempDir()
	only := func(namespaces string, more ...string) []string {
		return append([]string{"backup/b-planted", "--include-namespaces", namespaces}, more...)
	}
	for _, c := range []struct {
		args []string
		want string
		code int
		says string
	}{
		{only("pf-clean"), "", ExitOK, ""},
		{only("pf-there", "--namespace-mappings", "pf-there:pf-new"), "", ExitOK, ""},
		{only("pf-there"), "doubt/ObjectsExist note/ServiceAccountsMerged", ExitOK, "leaves what exists as it is"},
		{only("pf-clean", "--namespace-mappings", "pf-clean:pf-there"), "doubt/ObjectsExist", ExitOK, "1 object of configmaps exists already"},
		{only("pf-there", "--existing-resource-policy", "update"), "doubt/ObjectsPatched note/ServiceAccountsMerged", ExitOK, "patches what differs"},
		{only("pf-quota"), "obstacle/QuotaExceeded obstacle/QuotaNeedsResources", ExitRefused, "pods: 0 of 2 used, 3 more wanted"},
		{only("pf-going"), "obstacle/NamespaceTerminating", ExitRefused, "being deleted"},
		{only("pf-ports"), "obstacle/NodePortTaken", ExitRefused, "31988 by pf-there/holder"},
		{only("pf-kinds"), "obstacle/KindNotServed obstacle/VersionNotServed", ExitRefused, "v2beta2"},
		{only("pf-class"), "obstacle/StorageClassMissing", ExitRefused, "pf-fast"},
		{only("pf-bound"), "obstacle/ClaimsNeverBind", ExitRefused, "to pf-there/other"},
		{only("pf-clean", "--resource-modifier-configmap", "pf-nosuch"), "obstacle/Refused", ExitRefused, "no such ConfigMap"},
		{only("pf-clean", "--include-cluster-resources=false", "-l", "no=where"), "doubt/FilterMatchesNothing", ExitError, "no item has the label no"},
		{[]string{"backup/b-expired", "--include-namespaces", "none"}, "doubt/FilterMatchesNothing obstacle/BackupExpired", ExitRefused, "expired"},
		{[]string{"backup/b-nowhere", "--include-namespaces", "none"}, "obstacle/LocationMissing", ExitRefused, "does not exist"},
		{[]string{"backup/b-unfinished", "--include-namespaces", "pf-clean"}, "obstacle/BackupNotFinalized", ExitRefused, "cannot be restored"},
		{[]string{"backup/b-none"}, "obstacle/BackupMissing", ExitRefused, "There is no backup b-none."},
	} {
		d, code := b.preflights(t, cache, c.args...)
		said, err := json.Marshal(d)
		if got := kindsFound(
			d,
		); err != nil || got != c.want || code != c.code ||
			!strings.Contains(string(said), c.says) {
			t.Errorf("%q: %s, exit code %d, want %s, %d and %q\n%s", c.args, got, code, c.want, c.code, c.says, said)
		}
		if len(d.NotSeen) > 0 && !strings.Contains(c.want, "Location") && !strings.Contains(c.want, "BackupMissing") {
			t.Errorf("%q: not looked at: %v", c.args, d.NotSeen)
		}
	}
	// Object by object: what is there is read as a whole.
	for _, c := range []struct {
		args []string
		want string
		code int
	}{
		{only("pf-there", "--compare"), "configmaps settings Left data.a, serviceaccounts robot Equal", ExitOK},
		{only("pf-there", "--compare", "--existing-resource-policy", "update"), "configmaps settings Patched data.a, serviceaccounts robot Skipped", ExitOK},
		{only("pf-clean", "--compare"), "", ExitOK},
		{only("pf-there", "--compare", "--read-only"), "configmaps settings CannotTell, serviceaccounts robot CannotTell", ExitError},
	} {
		d, code := b.preflights(t, cache, c.args...)
		var all []string
		for _, e := range d.Existing {
			all = append(all, strings.Join(append([]string{e.Resource, e.Name, string(e.Outcome)}, e.Fields...), " "))
		}
		if got := strings.Join(
			all,
			", ",
		); got != c.want || code != c.code ||
			(len(d.NotSeen) > 0) != (code == ExitError) {
			t.Errorf("%q: %s, exit code %d, want %s and %d: %+v", c.args, got, code, c.want, c.code, d)
		}
	}
	if stdout, stderr, _ := b.run(
		t,
		"explain",
		"-n",
		"velero",
		"backup/b-unfinished",
		"--artifacts",
	); !strings.Contains(
		stdout,
		"its contents lack what its operations made",
	) {
		t.Errorf("explain says nothing of contents that were not stored:\n%s%s", stdout, stderr)
	}
	// All at once, as people read it.
	stdout, stderr, code := b.run(t, "preflight", "-n", "velero", "backup/b-planted")
	if code != ExitRefused || stderr != "" ||
		!holdsAll(
			stdout,
			"OBSTACLE  NodePortTaken  in pf-ports: front",
			"DOUBT  ObjectsExist",
			"  > ",
			"A restore of backup b-planted: ",
		) {
		t.Errorf("exit code %d:\n%s%s", code, stdout, stderr)
	}
	if t.Failed() || testing.Verbose() {
		t.Log(stdout)
	}
	if _, stderr, code := b.run(
		t,
		"preflight",
		"-n",
		"velero",
	); code != ExitUsage ||
		!strings.Contains(stderr, "nothing to look at") {
		t.Errorf("exit code %d: %s", code, stderr)
	}
}

// TestPreflightWebhook has a webhook that nobody answers.
func TestPreflightWebhook(t *testing.T) {
	b, _ := preflightBed(t)
	fail, none := admissionv1.Fail, admissionv1.SideEffectClassNone
	b.create(
		t,
		&admissionv1.ValidatingWebhookConfiguration{
			ObjectMeta: metav1.ObjectMeta{Name: "pf-hook"},
			Webhooks: []admissionv1.ValidatingWebhook{
				{
					Name:                    "check.pf.example.com",
					FailurePolicy:           &fail,
					SideEffects:             &none,
					AdmissionReviewVersions: []string{"v1"},
					ClientConfig: admissionv1.WebhookClientConfig{
						Service: &admissionv1.ServiceReference{Namespace: "pf-gone", Name: "hook"},
					},
					NamespaceSelector: &metav1.LabelSelector{
						MatchLabels: map[string]string{"kubernetes.io/metadata.name": "pf-hooked"},
					},
					Rules: []admissionv1.RuleWithOperations{
						{
							Operations: []admissionv1.OperationType{admissionv1.Create},
							Rule: admissionv1.Rule{
								APIGroups:   []string{""},
								APIVersions: []string{"v1"},
								Resources:   []string{"configmaps"},
							},
						},
					},
				},
			},
		},
	)
	targetNamespaces(t, b, "pf-hooked", "pf-unhooked")
	cache := t.TempDir()
	for to, want := range map[string]string{"pf-hooked": "obstacle/WebhookServiceMissing", "pf-unhooked": "", "pf-not-there": ""} {
		d, _ := b.preflights(
			t,
			cache,
			"backup/b-planted",
			"--include-namespaces",
			"pf-clean",
			"--namespace-mappings",
			"pf-clean:"+to,
		)
		if got := kindsFound(d); got != want {
			t.Errorf("into %s: %s, want %s: %+v", to, got, want, d.Findings)
		}
	}
}

// TestPreflightDryRun asks a real API server, which says what the rules do not, and takes the place of those that ask
// the same.
func TestPreflightDryRun(t *testing.T) {
	b, _ := preflightBed(t)
	targetNamespaces(t, b, "pf-ports", "pf-clean", "pf-dry")
	b.create(t, &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: "pf-dry", Name: "holder"},
		Spec: corev1.ServiceSpec{
			Type:  corev1.ServiceTypeNodePort,
			Ports: []corev1.ServicePort{{Port: 80, NodePort: 31988}},
		},
	})
	b.create(
		t,
		&rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: "pf-velero"},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
			Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: "velero", Name: "default"}},
		},
	)
	cache := t.TempDir()
	d, code := b.preflights(t, cache, "backup/b-planted", "--include-namespaces", "pf-ports", "--dry-run")
	if got := kindsFound(
		d,
	); got != "obstacle/Rejected" || code != ExitRefused || d.DryRun == nil || len(d.DryRun.Rejected) != 1 || d.DryRun.Rejected[0].Name != "front" ||
		!strings.Contains(d.Findings[0].Sentence, "provided port is already allocated") ||
		!d.DryRun.AsVelero {
		t.Errorf("exit code %d, %s: %+v", code, got, d)
	}
	d, code = b.preflights(
		t,
		cache,
		"backup/b-planted",
		"--include-namespaces",
		"pf-ports",
		"--namespace-mappings",
		"pf-ports:Ops_2",
		"--dry-run",
	)
	if got := kindsFound(d); got != "obstacle/Rejected" || code != ExitRefused || len(d.DryRun.Rejected) != *d.Items {
		t.Errorf("exit code %d, %s: %d rejected of %d: %+v", code, got, len(d.DryRun.Rejected), *d.Items, d.Findings)
	}
	d, code = b.preflights(
		t,
		cache,
		"backup/b-planted",
		"--include-namespaces",
		"pf-clean",
		"--namespace-mappings",
		"pf-clean:pf-brand-new",
		"--dry-run",
	)
	if code != ExitError || len(d.Findings) > 0 || !strings.Contains(fmt.Sprint(d.NotSeen), "does not exist yet") {
		t.Errorf("into a new namespace: exit code %d: %+v", code, d)
	}
	d, code = b.preflights(
		t,
		cache,
		"backup/b-planted",
		"--include-namespaces",
		"pf-clean",
		"--namespace-mappings",
		"pf-clean:pf-brand-new",
		"--dry-run",
		"--dry-run-namespace",
		"pf-clean",
	)
	if len(d.Findings) > 0 || strings.Contains(fmt.Sprint(d.NotSeen), "does not exist yet") ||
		d.DryRun.StandInNamespace != "pf-clean" ||
		d.DryRun.AcceptedCount != 3 {
		t.Errorf("with a stand-in: exit code %d: %+v", code, d)
	}
	stdout, stderr, code := b.run(
		t,
		"preflight",
		"-n",
		"velero",
		"backup/b-planted",
		"--include-namespaces",
		"pf-ports",
		"--dry-run",
	)
	if code != ExitRefused || stderr != "" ||
		!holdsAll(
			stdout,
			"Dry run as ",
			"1 rejected, nothing stored",
			"OBSTACLE  Rejected  in pf-ports: front",
			"No dry run can tell",
		) {
		t.Errorf("exit code %d:\n%s%s", code, stdout, stderr)
	}
	for _, args := range [][]string{{"--dry-run", "--read-only"}, {"--dry-run", "--dry-run-qps", "0"}, {"--dry-run-secrets"}} {
		if stdout, stderr, code := b.run(
			t,
			append(
				[]string{"preflight", "-n", "velero", "backup/b-planted"},
				args...)...); code != ExitUsage || stdout != "" ||
			stderr == "" {
			t.Errorf("%q: exit code %d: %s%s", args, code, stdout, stderr)
		}
	}
	if _, stderr, code := b.run(
		t,
		"preflight",
		"-n",
		"velero",
		"backup/b-planted",
		"--dry-run",
		"--dry-run-namespace",
		"pf-none",
	); code != ExitError ||
		!strings.Contains(stderr, "does not exist") {
		t.Errorf("a stand-in that does not exist: exit code %d: %s", code, stderr)
	}
}

// TestPreflightOfNothing: filters that match nothing are no success, with and without a dry run, also read-only.
func TestPreflightOfNothing(t *testing.T) {
	b, _ := preflightBed(t)
	for _, args := range [][]string{nil, {"--dry-run"}, {"--compare"}} {
		stdout, stderr, code := b.run(
			t,
			append(
				[]string{"preflight", "-n", "velero", "backup/b-planted", "--include-namespaces", "typo"},
				args...)...)
		if code != ExitError || !strings.Contains(stdout, "no item matches, so nothing would be restored") ||
			strings.Contains(stdout, "Dry run") || strings.Contains(stdout+stderr, "dry run") {
			t.Errorf("%q: exit code %d:\n%s\n%s", args, code, stdout, stderr)
		}
	}
	// Read-only cannot download the backup, and says so; no dry run is asked for.
	if stdout, stderr, code := b.run(
		t,
		"preflight",
		"-n",
		"velero",
		"backup/b-planted",
		"--include-namespaces",
		"typo",
		"--read-only",
	); code != ExitError ||
		strings.Contains(stdout+stderr, "dry run") {
		t.Errorf("read-only: exit code %d:\n%s\n%s", code, stdout, stderr)
	}
	d, code := b.preflights(t, t.TempDir(), "backup/b-planted", "--include-namespaces", "typo", "--dry-run")
	if code != ExitError || d.Items == nil || *d.Items != 0 || d.DryRun != nil {
		t.Errorf("exit code %d: %+v", code, d)
	}
}

// TestPreflightWithFewRights: what may not be looked at is said, and the rest works.
func TestPreflightWithFewRights(t *testing.T) {
	b, s := preflightBed(t)
	cache := t.TempDir()
	see := []string{"get", "list", "watch"}
	velero := []rbacv1.PolicyRule{
		{
			APIGroups: []string{"velero.io"},
			Resources: []string{"backups", "restores", "backupstoragelocations", "deletebackuprequests"},
			Verbs:     see,
		},
		{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: see},
	}
	kubeconfig := func(user string, rules ...rbacv1.PolicyRule) string {
		config, err := b.AddUserWithRules(t.Context(), user, "velero", slices.Concat(velero, rules)...)
		if err != nil {
			t.Fatal(err)
		}
		path, err := b.KubeconfigFor(config, user+".kubeconfig")
		if err != nil {
			t.Fatal(err)
		}
		return path
	}
	unlooked := func(d document.Preflight) string {
		var all []string
		for _, n := range d.NotSeen {
			all = append(all, n.What+": "+n.Why)
		}
		return strings.Join(all, "\n")
	}
	// Without the right to download: what Velero and the backup say.
	viewer := kubeconfig("pf-viewer")
	d, code := b.preflights(t, cache, "backup/b-planted", "--kubeconfig", viewer)
	if code != ExitError || d.Items != nil || kindsFound(d) != "" ||
		!strings.Contains(unlooked(d), "what is in the backup") ||
		s.downloads.Load() > 0 {
		t.Errorf("exit code %d: %s, %s", code, kindsFound(d), unlooked(d))
	}
	// With it, and nothing of the whole cluster: what was not looked at is named.
	downloader := kubeconfig(
		"pf-downloader",
		rbacv1.PolicyRule{
			APIGroups: []string{"velero.io"},
			Resources: []string{"downloadrequests"},
			Verbs:     []string{"get", "list", "watch", "create", "delete"},
		},
	)
	d, code = b.preflights(t, cache, "backup/b-planted", "--kubeconfig", downloader)
	said := unlooked(d)
	if code != ExitRefused || kindsFound(d) != "obstacle/KindNotServed obstacle/VersionNotServed" ||
		!holdsAll(
			said,
			"whether configmaps exist already in namespace pf-clean: you may not list it",
			"storage classes: you may not list it",
			"quotas in namespace pf-quota",
			"whether namespaces are being deleted",
		) {
		t.Errorf("exit code %d: %s\n%s", code, kindsFound(d), said)
	}
	// One kind alone may not be listed.
	if err := b.client.Create(
		t.Context(),
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "pf-one"}},
	); client.IgnoreAlreadyExists(
		err,
	) != nil {
		t.Fatal(err)
	}
	if _, err := b.AddUserWithRules(
		t.Context(),
		"pf-downloader",
		"pf-one",
		rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"services"}, Verbs: see},
	); err != nil {
		t.Fatal(err)
	}
	d, _ = b.preflights(
		t,
		cache,
		"backup/b-planted",
		"--kubeconfig",
		downloader,
		"--include-namespaces",
		"pf-clean",
		"--namespace-mappings",
		"pf-clean:pf-one",
	)
	if said := unlooked(
		d,
	); !strings.Contains(said, "whether configmaps exist") ||
		strings.Contains(said, "whether services exist") {
		t.Error(said)
	}
	if d.Kind != "Preflight" || len(d.Findings) > 0 || d.Obstacles != 0 {
		t.Errorf("%+v", d.Findings)
	}
}

// TestPreflightWithoutOneRight takes one right after another from a user who has all:
// what it was for is named, and the rest is found.
func TestPreflightWithoutOneRight(t *testing.T) {
	b, _ := preflightBed(t)
	cache, see := t.TempDir(), []string{"get", "list", "watch"}
	targetNamespaces(t, b, "pf-class", "pf-kinds")
	velero := rbacv1.PolicyRule{APIGroups: []string{"velero.io"}, Resources: []string{"*"}, Verbs: []string{"*"}}
	rights := map[string][]string{
		"": {
			"namespaces",
			"configmaps",
			"services",
			"persistentvolumeclaims",
			"pods",
			"resourcequotas",
			"limitranges",
		},
		"storage.k8s.io": {"storageclasses", "csidrivers"},
		"admissionregistration.k8s.io": {
			"validatingwebhookconfigurations",
			"mutatingwebhookconfigurations",
		},
		"autoscaling": {"horizontalpodautoscalers"},
	}
	all := "obstacle/KindNotServed obstacle/StorageClassMissing obstacle/VersionNotServed"
	for _, c := range []struct {
		without, want string
		says          []string
		args          []string
	}{
		{"nothing", all, nil, nil},
		{"namespaces", all, []string{"whether namespaces are being deleted, or refuse pods"}, nil},
		{"configmaps", "doubt/StorageClassMissing obstacle/KindNotServed obstacle/VersionNotServed",
			[]string{"the ConfigMaps of Velero's restore actions", "whether configmaps exist already in namespace pf-class", "whether configmaps exist already in namespace pf-kinds"}, nil},
		{"storageclasses", "obstacle/KindNotServed obstacle/VersionNotServed", []string{"storage classes"}, nil},
		{"validatingwebhookconfigurations", all, []string{"validating webhooks"}, nil},
		{"resourcequotas", all, []string{"quotas in namespace pf-kinds"}, nil},
		{"pods", all, []string{"whether the Velero server runs, its version and its flags"}, nil},
		{"an API that answers", "obstacle/StorageClassMissing obstacle/VersionNotServed",
			[]string{"whether the cluster serves gadgets.pf.example.com, and what is there of them"}, nil},
		{"an API that explains a word", "obstacle/StorageClassMissing", []string{"what gadgets stands for in --include-resources or --exclude-resources"},
			[]string{"--include-resources", "gadgets,persistentvolumeclaims"}},
	} {
		if c.without == "an API that answers" {
			b.apiDown(t, "pf.example.com")
		}
		user := "pf-without-" + strings.ReplaceAll(c.without, " ", "-")
		role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: user}}
		for group, resources := range rights {
			resources = slices.DeleteFunc(slices.Clone(resources), func(r string) bool { return r == c.without })
			if len(resources) > 0 {
				role.Rules = append(
					role.Rules,
					rbacv1.PolicyRule{APIGroups: []string{group}, Resources: resources, Verbs: see},
				)
			}
		}
		b.create(t, role)
		b.create(
			t,
			&rbacv1.ClusterRoleBinding{
				ObjectMeta: metav1.ObjectMeta{Name: user},
				RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: user},
				Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}},
			},
		)
		if _, err := b.AddUserWithRules(
			t.Context(),
			user,
			"pf-class",
			rbacv1.PolicyRule{
				APIGroups: []string{""},
				Resources: []string{"limitranges", "resourcequotas"},
				Verbs:     see,
			},
		); err != nil {
			t.Fatal(err)
		}
		config, err := b.AddUserWithRules(t.Context(), user, "velero", velero)
		if err != nil {
			t.Fatal(err)
		}
		kubeconfig, err := b.KubeconfigFor(config, user+".kubeconfig")
		if err != nil {
			t.Fatal(err)
		}
		d, code := b.preflights(
			t,
			cache,
			append(
				[]string{"backup/b-planted", "--include-namespaces", "pf-class,pf-kinds", "--kubeconfig", kubeconfig},
				c.args...)...)
		var said []string
		for _, n := range d.NotSeen {
			said = append(said, n.What)
		}
		slices.Sort(said)
		if got := kindsFound(d); got != c.want || code != ExitRefused || !slices.Equal(said, c.says) {
			t.Errorf("without %s: exit code %d, %s; not looked at: %q", c.without, code, got, said)
		}
	}
}

// apiDown registers an aggregated API that nobody answers for, and waits until the
// cluster says so.
func (b *bed) apiDown(t *testing.T, group string) {
	t.Helper()
	reader, err := live.New(live.Options{Config: b.RESTConfig()})
	if err != nil {
		t.Fatal(err)
	}
	silent := func() bool {
		served, err := reader.FetchServedKinds(context.Background())
		return err == nil && served.SilentReasons[group] != ""
	}
	t.Cleanup(func() { eventually(t, group+" is gone", func() bool { return !silent() }) })
	b.create(t, &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiregistration.k8s.io/v1",
		"kind":       "APIService",
		"metadata":   map[string]any{"name": "v1." + group},
		"spec": map[string]any{
			"group":                 group,
			"version":               "v1",
			"groupPriorityMinimum":  int64(1000),
			"versionPriority":       int64(10),
			"insecureSkipTLSVerify": true,
			"service":               map[string]any{"namespace": "velero", "name": "nobody"},
		},
	}})
	eventually(t, group+" does not answer", silent)
}

// TestSurveyorAsksForWhatIsNew counts what the form's changes cost: the lists of a
// namespace answer for it until they are old.
func TestSurveyorAsksForWhatIsNew(t *testing.T) {
	b, _ := preflightBed(t)
	targetNamespaces(t, b, "pf-there")
	b.create(t, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "pf-there", Name: "settings"}})
	index, err := collector.Read(t.Context(), bytes.NewReader(planted(t)), collector.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	open := func() *cluster.Surveyor {
		s, err := (&cluster.Cluster{Connect: func() (cluster.Connection, error) { return cluster.Connection{Config: b.RESTConfig()}, nil },
			Clock: func() time.Time { return now }, Log: slog.New(slog.DiscardHandler)}).NewSurveyor()
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	s := open()
	asks := func(by *cluster.Surveyor, spec veleroapi.RestoreSpec) (found string, requests int) {
		before := by.RequestCost().Requests
		result, err := by.CheckRestore(
			t.Context(),
			cluster.SurveyQuery{Index: index, ReuseSurvey: true, Spec: collector.RestoreInput{Restore: spec}},
			func(live.Progress) {},
		)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range result.Findings {
			found += fmt.Sprintln(f.Severity, f.Reason, f.Namespace, f.Names, f.Count)
		}
		return found + fmt.Sprintln(result.Unchecked), by.RequestCost().Requests - before
	}
	all := veleroapi.RestoreSpec{BackupName: "b-planted"}
	changed := func(change func(*veleroapi.RestoreSpec)) veleroapi.RestoreSpec {
		spec := *all.DeepCopy()
		change(&spec)
		return spec
	}
	_, first := asks(s, all)
	for _, c := range []struct {
		name string
		spec veleroapi.RestoreSpec
		most int
	}{
		{"a policy", changed(func(s *veleroapi.RestoreSpec) { s.ExistingResourcePolicy = veleroapi.PolicyTypeUpdate }), 0},
		{"namespaces", changed(func(s *veleroapi.RestoreSpec) { s.IncludedNamespaces = []string{"pf-there"} }), 0},
		{"a mapping", changed(func(s *veleroapi.RestoreSpec) { s.NamespaceMapping = map[string]string{"pf-clean": "pf-new"} }), first / 4},
		{"another mapping", changed(func(s *veleroapi.RestoreSpec) { s.NamespaceMapping = map[string]string{"pf-clean": "pf-new-2"} }), first / 4},
		{"a mapping into one that is there", changed(func(s *veleroapi.RestoreSpec) { s.NamespaceMapping = map[string]string{"pf-clean": "pf-there"} }), first / 4},
		{"none again", all, first / 4},
	} {
		found, requests := asks(s, c.spec)
		alone, whole := asks(open(), c.spec)
		t.Logf("%s: %d requests, alone %d", c.name, requests, whole)
		if requests > c.most {
			t.Errorf("%s costs %d requests of %d, want at most %d", c.name, requests, first, c.most)
		}
		if found != alone {
			t.Errorf("%s:\n%s\nalone:\n%s", c.name, found, alone)
		}
	}
	// What is compared is of the restore that is asked about, though all of the backup
	// was looked at.
	compares := func(by *cluster.Surveyor) (existing string, requests int) {
		before := by.RequestCost().Requests
		spec := changed(func(s *veleroapi.RestoreSpec) { s.IncludedNamespaces = []string{"pf-there"} })
		result, err := by.CheckRestore(
			t.Context(),
			cluster.SurveyQuery{
				Index:       index,
				ReuseSurvey: by == s,
				Spec:        collector.RestoreInput{Restore: spec},
				Bodies: func(ctx context.Context, wanted func(resource, namespace, name string) bool, visit func(resource, namespace, name string, body []byte)) error {
					return collector.VisitBodies(ctx, bytes.NewReader(planted(t)), collector.Limits{}, wanted, visit)
				},
			},
			func(live.Progress) {},
		)
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprintf("%+v", result.Existing), by.RequestCost().Requests - before
	}
	existing, requests := compares(s)
	if alone, whole := compares(
		open(),
	); existing != alone || !strings.Contains(existing, "settings") ||
		requests >= whole {
		t.Errorf("%d requests for\n%s\nalone, %d for\n%s", requests, existing, whole, alone)
	}
	now = now.Add(2 * cluster.MaxSurveyAge)
	if _, requests := asks(s, all); requests < first {
		t.Errorf("%d requests for what is old, the first time %d", requests, first)
	}
}

// TestCarriedOutEndsInAnError: a dry run that stored something ends with exit code 1, whatever else was found, and names
// the object and what removes it.
func TestCarriedOutEndsInAnError(t *testing.T) {
	r := &preflight.Result{DryRun: &preflight.DryRun{}, Findings: []preflight.Finding{{Severity: preflight.Obstacle}}}
	if err := dryRunStoredError(r); err != nil {
		t.Error(err)
	}
	r.DryRun.StoredObjects = []preflight.StoredObject{
		{
			Resource:  "things.example.com",
			Namespace: "a",
			Name:      "b",
			Why:       "it has a resourceVersion",
			Command:   "kubectl -n a delete things.example.com b",
		},
	}
	err := dryRunStoredError(r)
	var exit exitError
	if !errors.As(err, &exit) || exit.code != ExitError ||
		!holdsAll(err.Error(), "stored things.example.com a/b", "Delete it: kubectl -n a delete things.example.com b") {
		t.Errorf("%v", err)
	}
}
