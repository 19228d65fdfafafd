package demo

import (
	"context"
	"fmt"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
)

var serializer = scheme.Codecs.WithoutConversion()

// These tests hold the served API against the clients that veltui uses: whether
// an API server behaves so is asked of a real one, in other packages.

func lostPatch(t *testing.T) *running {
	t.Helper()
	return start(t, Options{Scene: ownScene(t, "restore-patch-lost.yaml")})
}

// guarded is a patch as finalizing sends it.
func guarded(uid, version, phase string) []byte {
	return fmt.Appendf(
		nil,
		`[{"op":"test","path":"/metadata/uid","value":%q},{"op":"test","path":"/metadata/resourceVersion","value":%q},{"op":"add","path":"/status/phase","value":%q}]`,
		uid,
		version,
		phase,
	)
}

func TestPatches(t *testing.T) {
	r := lostPatch(t)
	restores := r.velero("restores")
	o, err := restores.Get(t.Context(), "crm-rollback", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	uid, version := string(o.GetUID()), o.GetResourceVersion()
	_, err = restores.Patch(
		t.Context(),
		o.GetName(),
		types.JSONPatchType,
		guarded(uid, "1", "Finalizing"),
		metav1.PatchOptions{},
	)
	if !apierrors.IsInvalid(err) {
		t.Errorf("a test that fails: %v", err)
	}
	dry, err := restores.Patch(
		t.Context(),
		o.GetName(),
		types.JSONPatchType,
		guarded(uid, version, "Finalizing"),
		metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}},
	)
	if err != nil {
		t.Fatal(err)
	}
	if phase, _, _ := unstructured.NestedString(dry.Object, "status", "phase"); phase != "Finalizing" {
		t.Errorf("the dry run says %s", phase)
	}
	if got := r.phase(t, "restores", "crm-rollback"); got != "InProgress" {
		t.Errorf("the dry run wrote %s", got)
	}
	after, err := restores.Patch(
		t.Context(),
		o.GetName(),
		types.MergePatchType,
		[]byte(`{"metadata":{"labels":{"a":"b"}}}`),
		metav1.PatchOptions{FieldManager: "tester"},
	)
	if err != nil {
		t.Fatal(err)
	}
	if after.GetGeneration() != o.GetGeneration() || after.GetResourceVersion() == version ||
		after.GetLabels()["a"] != "b" {
		t.Errorf(
			"generation %d, version %s, labels %v",
			after.GetGeneration(),
			after.GetResourceVersion(),
			after.GetLabels(),
		)
	}
	managers := map[string]time.Time{}
	for _, f := range after.GetManagedFields() {
		managers[f.Manager] = f.Time.Time
	}
	if time.Since(managers["tester"]) > time.Minute || time.Since(managers["velero-server"]) < 40*time.Minute {
		t.Errorf("managed fields: %v", managers)
	}
	_, err = restores.Patch(
		t.Context(),
		o.GetName(),
		types.MergePatchType,
		fmt.Appendf(nil, `{"metadata":{"resourceVersion":%q,"labels":{"a":"c"}}}`, version),
		metav1.PatchOptions{},
	)
	if !apierrors.IsConflict(err) {
		t.Errorf("an old version: %v", err)
	}
	same, err := restores.Patch(
		t.Context(),
		o.GetName(),
		types.MergePatchType,
		[]byte(`{"metadata":{"labels":{"a":"b"}}}`),
		metav1.PatchOptions{},
	)
	if err != nil || same.GetResourceVersion() != after.GetResourceVersion() {
		t.Errorf("a patch that changes nothing: %s, %v", same.GetResourceVersion(), err)
	}
	_, err = restores.Patch(
		t.Context(),
		o.GetName(),
		types.JSONPatchType,
		guarded(uid, after.GetResourceVersion(), "Finalizing"),
		metav1.PatchOptions{},
		"status",
	)
	if !apierrors.IsNotFound(err) {
		t.Errorf("the status subresource that Velero's kinds do not have: %v", err)
	}
}

func TestFinalizingLeadsToTheEnd(t *testing.T) {
	r := lostPatch(t)
	o, err := r.velero("restores").Get(t.Context(), "crm-rollback", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err = r.velero("restores").
		Patch(t.Context(), o.GetName(), types.JSONPatchType, guarded(string(o.GetUID()), o.GetResourceVersion(), "Finalizing"), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "it is Completed", func() bool { return r.phase(t, "restores", "crm-rollback") == "Completed" })
}

// TestInformersFollow: an informer lists and watches, sees every kind of change,
// and a watch goes on from a version.
func TestInformersFollow(t *testing.T) {
	r := lostPatch(t)
	ctx, stop := context.WithCancel(t.Context())
	resource := schema.GroupVersionResource{Group: "velero.io", Version: "v1", Resource: "backups"}
	factory := dynamicinformer.NewFilteredDynamicSharedInformerFactory(r.client, 0, "velero", nil)
	informer := factory.ForResource(resource)
	factory.Start(ctx.Done())
	defer factory.Shutdown()
	defer stop()
	factory.WaitForCacheSync(ctx.Done())
	seen := func(name string) string {
		o, err := informer.Lister().ByNamespace("velero").Get(name)
		if err != nil {
			return "gone"
		}
		phase, _, _ := unstructured.NestedString(o.(*unstructured.Unstructured).Object, "status", "phase")
		return phase
	}
	if got := seen("crm-nightly-5"); got != "Completed" {
		t.Errorf("at first it is %s", got)
	}
	list, err := r.velero("backups").List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	o := &unstructured.Unstructured{
		Object: map[string]any{
			"apiVersion": "velero.io/v1",
			"kind":       "Backup",
			"status":     map[string]any{"phase": "FailedValidation"},
		},
	}
	o.SetGenerateName("made-")
	made, err := r.velero("backups").Create(t.Context(), o, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "the new one is seen", func() bool { return seen(made.GetName()) == "FailedValidation" })
	wrong := types.UID("another")
	err = r.velero("backups").
		Delete(t.Context(), made.GetName(), metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &wrong}})
	if !apierrors.IsConflict(err) {
		t.Errorf("deleting with another's uid: %v", err)
	}
	if err := r.velero("backups").Delete(t.Context(), made.GetName(), metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "it is gone", func() bool { return seen(made.GetName()) == "gone" })

	w, err := r.velero("backups").
		Watch(t.Context(), metav1.ListOptions{ResourceVersion: list.GetResourceVersion(), FieldSelector: "metadata.name=" + made.GetName()})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	for _, want := range []watch.EventType{watch.Added, watch.Deleted} {
		if event := <-w.ResultChan(); event.Type != want {
			t.Errorf("the watch from before says %s, want %s", event.Type, want)
		}
	}
}

// TestTypedClients send protobuf for Kubernetes' own kinds.
func TestTypedClients(t *testing.T) {
	r := lostPatch(t)
	config := rest.CopyConfig(r.config)
	config.ContentType = "application/vnd.kubernetes.protobuf"
	api, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	review, err := api.AuthorizationV1().
		SelfSubjectAccessReviews().
		Create(t.Context(), &authorizationv1.SelfSubjectAccessReview{}, metav1.CreateOptions{})
	if err != nil || !review.Status.Allowed {
		t.Errorf("%+v, %v", review, err)
	}
	who, err := api.AuthenticationV1().
		SelfSubjectReviews().
		Create(t.Context(), &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	if err != nil || who.Status.UserInfo.Username != "demo" {
		t.Errorf("%+v, %v", who, err)
	}
	event := &corev1.Event{
		ObjectMeta:     metav1.ObjectMeta{Name: "e"},
		InvolvedObject: corev1.ObjectReference{Name: "crm-rollback"},
		Reason:         "Tested",
	}
	if _, err := api.CoreV1().Events("velero").Create(t.Context(), event, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	events, err := api.CoreV1().
		Events("velero").
		List(t.Context(), metav1.ListOptions{FieldSelector: "involvedObject.name=crm-rollback"})
	if err != nil || len(events.Items) != 1 || events.Items[0].Reason != "Tested" {
		t.Errorf("%v, %v", events, err)
	}
	pods, err := api.CoreV1().Pods("velero").List(t.Context(), metav1.ListOptions{LabelSelector: "deploy=velero"})
	if err != nil || len(pods.Items) != 1 {
		t.Errorf("%v, %v", pods, err)
	}
	if nodes, err := api.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{}); err != nil || len(nodes.Items) != 0 {
		t.Errorf("%v, %v", nodes, err)
	}
	served, err := api.Discovery().ServerResourcesForGroupVersion("velero.io/v1")
	if err != nil || len(served.APIResources) < 10 {
		t.Errorf("%v, %v", served, err)
	}
	if _, lists, err := api.Discovery().ServerGroupsAndResources(); err != nil || len(lists) < 5 {
		t.Errorf("%d groups, %v", len(lists), err)
	}
	meta, err := metadata.NewForConfig(r.config)
	if err != nil {
		t.Fatal(err)
	}
	namespaces, err := meta.Resource(corev1.SchemeGroupVersion.WithResource("namespaces")).
		List(t.Context(), metav1.ListOptions{})
	if err != nil || len(namespaces.Items) != 2 || namespaces.Items[1].Name != "velero" {
		t.Errorf("%v, %v", namespaces, err)
	}
}

func TestNobodyComesInWithoutTheToken(t *testing.T) {
	r := lostPatch(t)
	config := rest.CopyConfig(r.config)
	config.BearerToken = "guessed"
	api, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := api.CoreV1().Pods("velero").List(t.Context(), metav1.ListOptions{}); !apierrors.IsUnauthorized(err) {
		t.Errorf("%v", err)
	}
}
