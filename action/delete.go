package action

import (
	"context"
	"encoding/json"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// deletion deletes one object, only if it is as it was seen. An object that is gone
// shows no mark, so after a lost answer it cannot be told who deleted it.
type deletion struct {
	seen *unstructured.Unstructured
}

func (d *deletion) object() *unstructured.Unstructured { return d.seen }

func (d *deletion) body() []byte {
	data, _ := json.Marshal(d.preconditions()) // two strings
	return data
}

func (d *deletion) preconditions() *metav1.Preconditions {
	uid, version := d.seen.GetUID(), d.seen.GetResourceVersion()
	return &metav1.Preconditions{UID: &uid, ResourceVersion: &version}
}

// send returns no object: the API server may answer with a Status. What became of
// it is read afterwards.
func (d *deletion) send(ctx context.Context, c client.Client, dryRun bool) (*unstructured.Unstructured, error) {
	options := &client.DeleteOptions{Preconditions: d.preconditions()}
	if dryRun {
		options.DryRun = []string{metav1.DryRunAll}
	}
	return nil, c.Delete(ctx, bare(d.seen.GroupVersionKind(), d.seen.GetNamespace(), d.seen.GetName()), options)
}

// verify accepts an object with finalizers, which stays for a while.
func (d *deletion) verify(now *unstructured.Unstructured, dryRun bool) string {
	if dryRun || now == nil || now.GetUID() != d.seen.GetUID() || now.GetDeletionTimestamp() != nil {
		return ""
	}
	return "not delete it"
}

func (d *deletion) find(now *unstructured.Unstructured) finding {
	switch {
	case now == nil, now.GetUID() != d.seen.GetUID(), now.GetDeletionTimestamp() != nil:
		return obscured // gone: by whom is not to be seen
	case now.GetResourceVersion() != d.seen.GetResourceVersion():
		return lost
	}
	return pending
}
