package artifact

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

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
	"github.com/veltui/veltui/internal/velero/veleroapi"
	"github.com/veltui/veltui/retry"
)

// phaseFailed is the phase that a newer Velero sets, with a message, when it will not sign (after 1.18).
const phaseFailed = "Failed"

// deleteTimeout is how long deleting a request may take, even for a cancelled download.
const deleteTimeout = 5 * time.Second

// rewatchDelay is how long to wait before an ended watch is restarted.
const rewatchDelay = time.Second

func (f *Fetcher) requestClient() dynamic.ResourceInterface {
	return f.dynamicClient.Resource(veleroapi.GroupVersion.WithResource("downloadrequests")).
		Namespace(f.options.Namespace)
}

// requestURL has Velero sign a URL for the target. The URL stays valid after the request has been deleted.
func (f *Fetcher) requestURL(ctx context.Context, target Target) (signedURL, error) {
	f.options.OpenRequests.Add(1)
	defer f.options.OpenRequests.Add(-1)
	waiting, cancel := context.WithTimeoutCause(ctx, f.options.Limits.SigningTimeout, ErrNoAnswer)
	defer cancel()
	answering, giveUp := context.WithCancelCause(waiting)
	defer giveUp(nil)
	created, err := f.createRequest(answering, target)
	if err != nil {
		return signedURL{}, err
	}
	defer f.deleteRequest(ctx, created.name, created.uid)
	go f.watchServer(answering, giveUp)
	if err := f.awaitAnswer(answering, created); err != nil {
		if _, isDown := errors.AsType[serverDownError](err); isDown {
			return signedURL{}, err
		}
		if ctx.Err() == nil && errors.Is(context.Cause(answering), ErrNoAnswer) {
			return signedURL{}, f.explainSilence(ctx, created, err)
		}
		return signedURL{}, err
	}
	signed, err := parseSignedURL(created.lastState.Status.DownloadURL)
	if err != nil {
		return signedURL{}, err
	}
	// The lifetime is computed from the cluster's clocks alone, so ours need not agree.
	if until := created.lastState.Status.Expiration; until != nil {
		signed.expires = created.createdAt.Add(until.Sub(created.lastState.CreationTimestamp.Time))
	}
	return signed, nil
}

// serverDownError ends the wait for an answer that nobody will give.
type serverDownError struct{ reason string }

func (e serverDownError) Error() string {
	return fmt.Sprintf("%s: %s, so nobody answers requests", ErrNoAnswer, e.reason)
}

func (serverDownError) Unwrap() error { return ErrNoAnswer }

// watchServer gives up once two checks in a row show that no server of Velero's runs nor is about to. Most requests are
// answered before the first check.
func (f *Fetcher) watchServer(answering context.Context, giveUp context.CancelCauseFunc) {
	for seenDown := false; retry.SleepContext(answering, f.options.Limits.ServerCheckInterval); {
		down, isStarting, err := f.serverDownReason(answering)
		if err != nil {
			return // it stays unknown, and the wait has its limit
		}
		if isDown := down != "" && !isStarting; isDown && seenDown {
			giveUp(serverDownError{down})
			return
		} else {
			seenDown = isDown
		}
	}
}

type downloadRequest struct {
	name      string
	uid       types.UID
	target    Target
	createdAt time.Time // when it was created, in our own clock

	resourceVersion string                    // the resourceVersion to watch from
	lastState       veleroapi.DownloadRequest // what the cluster last said
}

func (f *Fetcher) createRequest(ctx context.Context, target Target) (*downloadRequest, error) {
	name := fmt.Sprintf("veltui-%s-%s", strings.ToLower(string(target.Kind)), uuid.NewUUID())
	r := &downloadRequest{name: name, target: target, createdAt: f.options.Clock()}
	object := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": veleroapi.GroupVersion.String(),
		"kind":       "DownloadRequest",
		"metadata":   map[string]any{"name": r.name, "namespace": f.options.Namespace},
		"spec":       map[string]any{"target": map[string]any{"kind": string(target.Kind), "name": target.Name}},
	}}
	created, err := f.requestClient().Create(ctx, object, metav1.CreateOptions{})
	if err != nil {
		if apierrors.ReasonForError(err) == metav1.StatusReasonUnknown {
			// No answer is not a refusal: the request may have been created.
			f.deleteRequest(ctx, r.name, "")
		}
		return nil, f.explainCreate(ctx, target, err)
	}
	r.uid, r.resourceVersion = created.GetUID(), created.GetResourceVersion()
	return r, nil
}

// deleteRequest deletes a request of ours, even when ctx is done, and never another request of its name.
func (f *Fetcher) deleteRequest(ctx context.Context, name string, uid types.UID) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), deleteTimeout)
	defer cancel()
	o := metav1.DeleteOptions{}
	if uid != "" {
		o.Preconditions = &metav1.Preconditions{UID: &uid}
	}
	if err := f.requestClient().Delete(ctx, name, o); err != nil && !apierrors.IsNotFound(err) {
		// Velero deletes it some minutes after it has expired.
		f.options.Log.Warn("deleting a download request", "name", name, "error", err)
	}
}

// awaitAnswer watches the request until Velero has answered.
func (f *Fetcher) awaitAnswer(ctx context.Context, r *downloadRequest) error {
	for {
		answered, err := f.watchOnce(ctx, r)
		if answered || err != nil {
			return err
		}
		// The watch broke off. Reading the request again shows what happened meanwhile.
		if !retry.SleepContext(ctx, rewatchDelay) {
			return context.Cause(ctx)
		}
		object, err := f.requestClient().Get(ctx, r.name, metav1.GetOptions{})
		switch {
		case err == nil:
			if answered, err = r.acceptUpdate(object); answered || err != nil {
				return err
			}
		case apierrors.IsNotFound(err):
			return fmt.Errorf("%w: someone deleted it before Velero answered", ErrTampered)
		case isPermanent(err):
			return explainAPI("reading the download request", err)
		}
	}
}

// watchOnce follows the request until Velero answers or the watch ends.
func (f *Fetcher) watchOnce(ctx context.Context, r *downloadRequest) (answered bool, err error) {
	w, err := f.requestClient().Watch(ctx, metav1.ListOptions{
		FieldSelector:   fields.OneTermEqualSelector("metadata.name", r.name).String(),
		ResourceVersion: r.resourceVersion,
	})
	if err != nil {
		if isPermanent(err) {
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
				if answered, err := r.acceptUpdate(object); answered || err != nil {
					return answered, err
				}
			}
		}
	}
}

// acceptUpdate reads the request's current state. It trusts the request while its uid and target are those that were
// created.
func (r *downloadRequest) acceptUpdate(object *unstructured.Unstructured) (answered bool, err error) {
	if object.GetUID() != r.uid {
		return false, fmt.Errorf("%w: another request has its name", ErrTampered)
	}
	var now veleroapi.DownloadRequest
	if _, err := decode.Unstructured(object, &now); err != nil {
		return false, errors.New("cannot read the download request")
	}
	if now.Spec.Target != r.target {
		return false, fmt.Errorf("%w: it now asks for %s of %s", ErrTampered,
			sanitize.String(string(now.Spec.Target.Kind)), sanitize.String(now.Spec.Target.Name))
	}
	r.lastState, r.resourceVersion = now, object.GetResourceVersion()
	if now.Status.Phase == phaseFailed {
		message, _, _ := unstructured.NestedString(object.Object, "status", "message")
		return false, fmt.Errorf("%w: %s", ErrRefused, cmp.Or(signedURL{}.redactText(message), "it gives no reason"))
	}
	return now.Status.DownloadURL != "", nil
}

// isPermanent reports whether asking the API server again leads to the same error.
func isPermanent(err error) bool {
	switch apierrors.ReasonForError(err) {
	case metav1.StatusReasonForbidden, metav1.StatusReasonUnauthorized, metav1.StatusReasonNotFound,
		metav1.StatusReasonBadRequest, metav1.StatusReasonInvalid, metav1.StatusReasonMethodNotAllowed:
		return true
	}
	return false
}

// fetchObject reads an object into a Go type, as far as the type can hold it.
func (f *Fetcher) fetchObject(
	ctx context.Context,
	resource schema.GroupVersionResource,
	namespace, name string,
	into any,
) error {
	object, err := f.dynamicClient.Resource(resource).Namespace(namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	_, err = decode.Unstructured(object, into)
	return err
}
