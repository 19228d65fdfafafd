package cmd

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/veltui/veltui/internal/testbed"
	"github.com/veltui/veltui/internal/velero"
	"github.com/veltui/veltui/internal/velero/veleroapi"
)

// twins are two clusters, the second of which was made from a copy of the first one's
// etcd: all objects of the one are in the other too, with the same uids and resource
// versions, and so is the namespace that a cluster is known by.
type twins struct {
	a, b *bed
	// uid is that of namespace kube-system.
	uid types.UID
	// names are those of restores that no test has had.
	names chan string
}

// twinRestores is how many restores there are.
const twinRestores = 60

var (
	twinsOnce  twins
	twinsStart sync.Once
)

// startTwins returns the twins. Each test takes restores of its own from them.
func startTwins(t *testing.T) *twins {
	t.Helper()
	skipUnderRace(t)
	twinsStart.Do(func() { twinsOnce.start(t) })
	if twinsOnce.b == nil {
		t.Fatal("the clusters did not start")
	}
	return &twinsOnce
}

func (w *twins) start(t *testing.T) {
	t.Helper()
	var err error
	if w.a, err = newBed(); err != nil {
		t.Fatal(err)
	}
	w.names = make(chan string, twinRestores)
	for i := range twinRestores {
		r := inProgress(fmt.Sprintf("twin-%02d", i), time.Hour)
		if err := w.a.client.Create(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		w.a.age(t, r)
		w.names <- r.Name
	}
	for _, o := range changeable(twinName) {
		if err := w.a.client.Create(t.Context(), o); err != nil {
			t.Fatal(err)
		}
		w.a.settle(t, o)
	}
	w.admit(t)
	var kubeSystem corev1.Namespace
	if err := w.a.client.Get(t.Context(), client.ObjectKey{Name: metav1.NamespaceSystem}, &kubeSystem); err != nil {
		t.Fatal(err)
	}
	w.uid = kubeSystem.UID
	plane, err := testbed.Start(t.Context(), testbed.Options{CopyOf: w.a.ControlPlane})
	if err != nil {
		t.Fatal(err)
	}
	b := &bed{ControlPlane: plane, binary: w.a.binary}
	if b.client, err = client.New(plane.RESTConfig(), client.Options{Scheme: testbed.Scheme()}); err != nil {
		t.Fatal(err)
	}
	b.client = client.WithFieldOwner(b.client, velero.ServerManager) // only what Velero writes is work
	w.b = b
}

// admit gives [twinViewer] rights.
func (w *twins) admit(t *testing.T) {
	t.Helper()
	look := []string{"get", "list", "watch"}
	here := []rbacv1.PolicyRule{
		{APIGroups: []string{"velero.io"}, Resources: []string{"*"}, Verbs: append([]string{"patch"}, look...)},
		{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: look},
		{APIGroups: []string{""}, Resources: []string{"events"}, Verbs: []string{"create"}},
	}
	if _, err := w.a.AddUserWithRules(t.Context(), twinViewer, "velero", here...); err != nil {
		t.Fatal(err)
	}
	everywhere := metav1.ObjectMeta{Name: twinViewer}
	for _, o := range []client.Object{
		&rbacv1.ClusterRole{ObjectMeta: everywhere, Rules: []rbacv1.PolicyRule{
			{APIGroups: []string{"apiextensions.k8s.io"}, Resources: []string{"customresourcedefinitions"}, Verbs: look},
			{APIGroups: []string{""}, Resources: []string{"namespaces"}, Verbs: []string{"list"}}}},
		&rbacv1.ClusterRoleBinding{ObjectMeta: everywhere, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: twinViewer},
			Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: twinViewer}}},
	} {
		if err := w.a.client.Create(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
}

// restore returns one that no other test has, the same in both clusters.
func (w *twins) restore(t *testing.T) *veleroapi.Restore {
	t.Helper()
	select {
	case name := <-w.names:
		one, other := w.a.restoreNamed(t, name), w.b.restoreNamed(t, name)
		if one.UID != other.UID || one.ResourceVersion != other.ResourceVersion {
			t.Fatalf(
				"%s is no twin: uids %s and %s, versions %s and %s",
				name,
				one.UID,
				other.UID,
				one.ResourceVersion,
				other.ResourceVersion,
			)
		}
		return one
	default:
		t.Fatal("there are too few restores")
		return nil
	}
}

func (b *bed) restoreNamed(t *testing.T, name string) *veleroapi.Restore {
	t.Helper()
	var r veleroapi.Restore
	if err := b.client.Get(t.Context(), client.ObjectKey{Namespace: "velero", Name: name}, &r); err != nil {
		t.Fatal(err)
	}
	return &r
}

// otherUID makes the second cluster one that was not copied as a whole: its namespace
// kube-system has a uid of its own until the test ends.
func (w *twins) otherUID(t *testing.T) types.UID {
	t.Helper()
	other := types.UID(strings.Repeat("b", len(w.uid)))
	if err := w.b.ChangeIdentity(t.Context(), w.uid, other); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.b.ChangeIdentity(context.Background(), other, w.uid); err != nil {
			t.Error(err)
		}
	})
	return other
}

// untouched fails the test if anything was written to a cluster since the copy.
func (b *bed) untouched(t *testing.T, r *veleroapi.Restore) {
	t.Helper()
	if now := b.restoreNamed(t, r.Name); now.ResourceVersion != r.ResourceVersion {
		t.Errorf("restore %s was changed: phase %s, annotations %v", r.Name, now.Status.Phase, now.Annotations)
	}
	var events corev1.EventList
	if err := b.client.List(t.Context(), &events, client.InNamespace("velero")); err != nil {
		t.Fatal(err)
	}
	for _, e := range events.Items {
		if e.InvolvedObject.Name == r.Name {
			t.Errorf("an Event was written: %s", e.Message)
		}
	}
}
