package dryrun

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/veltui/veltui/collector"
	"github.com/veltui/veltui/internal/restore/live"
	"github.com/veltui/veltui/internal/restore/modifier"
	"github.com/veltui/veltui/internal/restore/preflight"
	"github.com/veltui/veltui/internal/restore/prepare"
	"github.com/veltui/veltui/internal/testbed"
	"github.com/veltui/veltui/internal/velero/veleroapi"
)

var shared testbed.SharedControlPlane

func TestMain(m *testing.M) { os.Exit(shared.RunTests(m)) }

// bed is a cluster, and a backup to restore into it.
type bed struct {
	*testbed.ControlPlane
	client.Client
	bodies   map[string]string // "resource/namespace/name"
	spec     veleroapi.RestoreSpec
	config   *rest.Config // the user's
	velero   ServiceAccount
	modifier *modifier.Rules
	query    Query // what is set of it
}

// newBed is one with a namespace that has the service account default.
func newBed(t *testing.T, namespace string) *bed {
	t.Helper()
	return bedOn(t, shared.ControlPlane(t), namespace)
}

func bedOn(t *testing.T, plane *testbed.ControlPlane, namespace string) *bed {
	t.Helper()
	c, err := client.New(plane.RESTConfig(), client.Options{Scheme: testbed.Scheme()})
	if err != nil {
		t.Fatal(err)
	}
	b := &bed{
		ControlPlane: plane,
		Client:       c,
		bodies:       map[string]string{},
		config:       plane.RESTConfig(),
		spec:         veleroapi.RestoreSpec{BackupName: "b"},
	}
	b.make(t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}})
	b.make(t, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "default"}})
	return b
}

func (b *bed) make(t *testing.T, o client.Object) {
	t.Helper()
	if err := b.Create(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.Delete(context.Background(), o) })
}

// quota makes one with the status that its controller would give it.
func (b *bed) quota(t *testing.T, namespace, name string, hard corev1.ResourceList) {
	t.Helper()
	q := &corev1.ResourceQuota{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec:       corev1.ResourceQuotaSpec{Hard: hard},
	}
	b.make(t, q)
	q.Status = corev1.ResourceQuotaStatus{Hard: hard, Used: corev1.ResourceList{}}
	for name := range hard {
		q.Status.Used[name] = resource.MustParse("0")
	}
	if err := b.Status().Update(t.Context(), q); err != nil {
		t.Fatal(err)
	}
}

// holds puts an object into the backup.
func (b *bed) holds(t *testing.T, resource, body string) {
	t.Helper()
	var o unstructured.Unstructured
	if err := json.Unmarshal([]byte(body), &o.Object); err != nil {
		t.Fatalf("%s: %v", body, err)
	}
	b.bodies[resource+"/"+o.GetNamespace()+"/"+o.GetName()] = body
}

func (b *bed) configMap(t *testing.T, namespace, name, metadata string) {
	t.Helper()
	b.holds(
		t,
		"configmaps",
		fmt.Sprintf(
			`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"namespace":%q,"name":%q%s},"data":{"a":"b"}}`,
			namespace,
			name,
			metadata,
		),
	)
}

func (b *bed) pod(t *testing.T, namespace, name, spec string) {
	t.Helper()
	b.holds(
		t,
		"pods",
		fmt.Sprintf(
			`{"apiVersion":"v1","kind":"Pod","metadata":{"namespace":%q,"name":%q},"spec":{"containers":[{"name":"a","image":"a"}]%s},"status":{"phase":"Running"}}`,
			namespace,
			name,
			spec,
		),
	)
}

func (b *bed) tarball(t *testing.T) []byte {
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
	for _, key := range slices.Sorted(maps.Keys(b.bodies)) {
		part := strings.Split(key, "/")
		scope := "namespaces/" + part[1] + "/"
		if part[1] == "" {
			scope = "cluster/"
		}
		var o unstructured.Unstructured
		_ = json.Unmarshal([]byte(b.bodies[key]), &o.Object)
		version := o.GroupVersionKind().Version
		put("resources/"+part[0]+"/"+version+"-preferredversion/"+scope+part[2]+".json", b.bodies[key])
		put("resources/"+part[0]+"/"+scope+part[2]+".json", b.bodies[key])
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := zip.Close(); err != nil {
		t.Fatal(err)
	}
	return archive.Bytes()
}

// run does what package cluster does for a dry run.
func (b *bed) run(t *testing.T) *preflight.DryRun {
	t.Helper()
	d, err := b.try(t, t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func (b *bed) try(t *testing.T, ctx context.Context) (*preflight.DryRun, error) {
	t.Helper()
	must := func(err error) {
		if err != nil {
			t.Helper()
			t.Fatal(err)
		}
	}
	data := b.tarball(t)
	index, err := collector.Read(t.Context(), bytes.NewReader(data), collector.Limits{})
	must(err)
	reader, err := live.New(live.Options{Config: b.RESTConfig()})
	must(err)
	served, err := reader.FetchServedKinds(t.Context())
	must(err)
	around, err := reader.FetchEnvironment(t.Context(), served, live.EnvironmentQuery{})
	must(err)
	spec := collector.RestoreInput{
		Restore:            b.spec,
		ExistingNamespaces: collector.TargetNamespaces{IsComplete: true, Names: slices.Collect(maps.Keys(around.Namespaces))},
	}
	fates, err := index.DetermineFates(t.Context(), spec, collector.LiveDiscovery(served.ResourceLists))
	must(err)
	question, _, err := preflight.BuildQuery(fates, b.spec, "velero")
	must(err)
	state, err := reader.FetchState(t.Context(), served, question, nil)
	must(err)
	s, err := NewSender(t.Context(), Options{Config: b.config, Velero: b.velero, QPS: 1000})
	must(err)
	q := b.query
	csi := false
	q.Fates, q.State, q.Namespaces, q.IsAmbiguous = fates, state, around.Namespaces, func(string) bool { return false }
	q.Rules = &prepare.Rules{Restore: b.spec, RestoreName: "r", CSIEnabled: &csi, Modifier: b.modifier}
	q.ReadBodies = func(ctx context.Context, wanted func(resource, namespace, name string) bool, visit func(resource, namespace, name string, body []byte)) error {
		return collector.VisitBodies(ctx, bytes.NewReader(data), collector.Limits{}, wanted, visit)
	}
	return Run(ctx, s, q)
}

// rejectedOf returns the message of each object that was rejected, by "resource/namespace/name".
func rejectedOf(d *preflight.DryRun) map[string]string {
	found := map[string]string{}
	for _, r := range d.Rejected {
		found[r.Resource+"/"+r.Namespace+"/"+r.Name] = r.Message
		if r.Warned {
			found[r.Resource+"/"+r.Namespace+"/"+r.Name] = "warned: " + r.Message
		}
	}
	return found
}

// untoldOf returns why nothing is told of each, by "resource/namespace/name".
func untoldOf(all []preflight.ItemGroup) map[string]string {
	found := map[string]string{}
	for _, u := range all {
		for _, name := range u.Names {
			found[name] = u.Why
		}
	}
	return found
}

// wants checks that these are there, each with a part of its text, and no others.
func wants(t *testing.T, what string, got map[string]string, want map[string]string) {
	t.Helper()
	for key, part := range want {
		if text, there := got[key]; !there || !strings.Contains(text, part) {
			t.Errorf("%s: %s is %q, want %q", what, key, text, part)
		}
	}
	for key, text := range got {
		if _, wanted := want[key]; !wanted {
			t.Errorf("%s: unexpected %s: %s", what, key, text)
		}
	}
}

func clientKey(namespace, name string) client.ObjectKey {
	return client.ObjectKey{Namespace: namespace, Name: name}
}

var dryRunAll = client.DryRunAll

func quantity(text string) resource.Quantity { return resource.MustParse(text) }

// asVelero gives Velero a service account that may do everything, as `velero install` does.
func (b *bed) asVelero(t *testing.T, namespace string) {
	t.Helper()
	b.velero = ServiceAccount{namespace, "velero"}
	b.make(
		t,
		&rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: namespace + "-velero"},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
			Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: namespace, Name: "velero"}},
		},
	)
	b.granted(t, b.velero.UserName(), namespace)
}

// granted waits until a user may create ConfigMaps in a namespace.
func (b *bed) granted(t *testing.T, user, namespace string) {
	t.Helper()
	review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User: user,
		ResourceAttributes: &authorizationv1.ResourceAttributes{
			Namespace: namespace,
			Verb:      "create",
			Resource:  "configmaps",
		},
	}}
	err := wait.PollUntilContextTimeout(
		t.Context(),
		20*time.Millisecond,
		time.Minute,
		true,
		func(ctx context.Context) (bool, error) {
			asked := review.DeepCopy()
			err := b.Create(ctx, asked)
			return err == nil && asked.Status.Allowed, err
		},
	)
	if err != nil {
		t.Fatal(err)
	}
}
