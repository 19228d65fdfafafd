package artifact

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"

	"github.com/veltui/veltui/internal/sanitize"
	"github.com/veltui/veltui/internal/velero/decode"
	"github.com/veltui/veltui/retry"
)

// phaseFailed is what a newer Velero writes, with a message, when it will not sign (after 1.18).
const phaseFailed = "Failed"

// tidyTimeout is how long deleting a request may take, also of a cancelled download.
const tidyTimeout = 5 * time.Second

// rewatch is how long to wait before a watch that ended is begun again.
const rewatch = time.Second

func (f *Fetcher) requests() dynamic.ResourceInterface {
	return f.cluster.Resource(velerov1.SchemeGroupVersion.WithResource("downloadrequests")).
		Namespace(f.options.Namespace)
}

// ask has Velero sign a URL for the target. The URL stays valid without the request, which is deleted.
func (f *Fetcher) ask(ctx context.Context, target Target) (signedURL, error) {
	f.options.Open.Add(1)
	defer f.options.Open.Add(-1)
	answering, cancel := context.WithTimeoutCause(ctx, f.options.Limits.Answer, ErrNoAnswer)
	defer cancel()
	created, err := f.createRequest(answering, target)
	if err != nil {
		return signedURL{}, err
	}
	defer f.deleteRequest(ctx, created.name, created.uid)
	if err := f.await(answering, created); err != nil {
		if ctx.Err() == nil && errors.Is(context.Cause(answering), ErrNoAnswer) {
			return signedURL{}, f.explainSilence(ctx, created, err)
		}
		return signedURL{}, err
	}
	signed, err := parseSigned(created.seen.Status.DownloadURL)
	if err != nil {
		return signedURL{}, err
	}
	// How long it is valid is taken from the cluster's clocks alone, so that ours need not agree.
	if until := created.seen.Status.Expiration; until != nil {
		signed.expires = created.at.Add(until.Sub(created.seen.CreationTimestamp.Time))
	}
	return signed, nil
}

type request struct {
	name   string
	uid    types.UID
	target Target
	at     time.Time // when it was created, in our own clock

	version string                   // the resourceVersion to watch from
	seen    velerov1.DownloadRequest // what the cluster last said
}

func (f *Fetcher) createRequest(ctx context.Context, target Target) (*request, error) {
	name := fmt.Sprintf("veltui-%s-%s", strings.ToLower(string(target.Kind)), uuid.NewUUID())
	r := &request{name: name, target: target, at: f.options.Clock()}
	object := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": velerov1.SchemeGroupVersion.String(),
		"kind":       "DownloadRequest",
		"metadata":   map[string]any{"name": r.name, "namespace": f.options.Namespace},
		"spec":       map[string]any{"target": map[string]any{"kind": string(target.Kind), "name": target.Name}},
	}}
	created, err := f.requests().Create(ctx, object, metav1.CreateOptions{})
	if err != nil {
		if apierrors.ReasonForError(err) == metav1.StatusReasonUnknown {
			// No answer is not a no: it may have been created.
			f.deleteRequest(ctx, r.name, "")
		}
		return nil, f.explainCreate(ctx, target, err)
	}
	r.uid, r.version = created.GetUID(), created.GetResourceVersion()
	return r, nil
}

// deleteRequest deletes a request of ours, also when ctx is done, and never another of its name.
func (f *Fetcher) deleteRequest(ctx context.Context, name string, uid types.UID) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), tidyTimeout)
	defer cancel()
	o := metav1.DeleteOptions{}
	if uid != "" {
		o.Preconditions = &metav1.Preconditions{UID: &uid}
	}
	if err := f.requests().Delete(ctx, name, o); err != nil && !apierrors.IsNotFound(err) {
		// Velero deletes it some minutes after it has expired.
		f.options.Log.Warn("deleting a download request", "name", name, "error", err)
	}
}

// await watches the request until Velero has answered.
func (f *Fetcher) await(ctx context.Context, r *request) error {
	for {
		answered, err := f.watchOnce(ctx, r)
		if answered || err != nil {
			return err
		}
		// The watch broke off. What happened meanwhile is seen by looking.
		if !retry.Sleep(ctx, rewatch) {
			return context.Cause(ctx)
		}
		object, err := f.requests().Get(ctx, r.name, metav1.GetOptions{})
		switch {
		case err == nil:
			if answered, err = r.take(object); answered || err != nil {
				return err
			}
		case apierrors.IsNotFound(err):
			return fmt.Errorf("%w: someone deleted it before Velero answered", ErrTampered)
		case lasting(err):
			return explainAPI("reading the download request", err)
		}
	}
}

// watchOnce follows the request until Velero answers or the watch ends.
func (f *Fetcher) watchOnce(ctx context.Context, r *request) (answered bool, err error) {
	w, err := f.requests().Watch(ctx, metav1.ListOptions{
		FieldSelector:   fields.OneTermEqualSelector("metadata.name", r.name).String(),
		ResourceVersion: r.version,
	})
	if err != nil {
		if lasting(err) {
			return false, explainAPI("watching the download request", err)
		}
		return false, nil
	}
	defer w.Stop()
	for {
		select {
		case <-ctx.Done():
			return false, context.Cause(ctx)
		case event, open := <-w.ResultChan():
			if !open || event.Type == watch.Error {
				return false, nil
			}
			object, ok := event.Object.(*unstructured.Unstructured)
			switch {
			case !ok || object.GetName() != r.name:
			case event.Type == watch.Deleted:
				return false, fmt.Errorf("%w: someone deleted it before Velero answered", ErrTampered)
			default:
				if answered, err := r.take(object); answered || err != nil {
					return answered, err
				}
			}
		}
	}
}

// take looks at the request as it is now. It is trusted while it is the one that was created and asks the same.
func (r *request) take(object *unstructured.Unstructured) (answered bool, err error) {
	if object.GetUID() != r.uid {
		return false, fmt.Errorf("%w: another request has its name", ErrTampered)
	}
	var now velerov1.DownloadRequest
	if _, err := decode.Unstructured(object, &now); err != nil {
		return false, errors.New("cannot read the download request")
	}
	if now.Spec.Target != r.target {
		return false, fmt.Errorf("%w: it now asks for %s of %s", ErrTampered,
			sanitize.String(string(now.Spec.Target.Kind)), sanitize.String(now.Spec.Target.Name))
	}
	r.seen, r.version = now, object.GetResourceVersion()
	if now.Status.Phase == phaseFailed {
		message, _, _ := unstructured.NestedString(object.Object, "status", "message")
		return false, fmt.Errorf("%w: %s", ErrRefused, cmp.Or(signedURL{}.scrub(message), "it gives no reason"))
	}
	return now.Status.DownloadURL != "", nil
}

// lasting reports whether asking the API server again leads to the same error.
func lasting(err error) bool {
	switch apierrors.ReasonForError(err) {
	case metav1.StatusReasonForbidden, metav1.StatusReasonUnauthorized, metav1.StatusReasonNotFound,
		metav1.StatusReasonBadRequest, metav1.StatusReasonInvalid, metav1.StatusReasonMethodNotAllowed:
		return true
	}
	return false
}

// get reads one object into a typed one, as far as its type can hold it.
func (f *Fetcher) get(
	ctx context.Context,
	resource schema.GroupVersionResource,
	namespace, name string,
	into any,
) error {
	object, err := f.cluster.Resource(resource).Namespace(namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	_, err = decode.Unstructured(object, into)
	return err
}
