package replay

import (
	"context"
	"errors"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// writer writes recorded objects, and knows which of its own they became.
type writer struct {
	api client.Client
	// written are the answers to the last writes, by kind and name.
	written map[string]*unstructured.Unstructured
	// recorded are the recorded uids of what was written, by kind and name,
	// and uids the new ones by the recorded ones.
	recorded map[string]types.UID
	uids     map[types.UID]types.UID
}

func newWriter(api client.Client) *writer {
	return &writer{
		api: api, written: map[string]*unstructured.Unstructured{},
		recorded: map[string]types.UID{}, uids: map[types.UID]types.UID{},
	}
}

// write makes one recorded event happen. A watch that was interrupted tells
// every object as ADDED once more, so what an event does follows from what is
// there: another uid under a name we know is another object.
func (w *writer) write(ctx context.Context, event watch.EventType, u *unstructured.Unstructured) error {
	key, uid := keyOf(u), u.GetUID()
	known, exists := w.written[key]
	if event == watch.Deleted {
		return w.delete(ctx, key)
	}
	if exists && uid != w.recorded[key] {
		if err := w.delete(ctx, key); err != nil {
			return err
		}
		exists = false
	}
	dying := u.GetDeletionTimestamp() != nil
	w.clean(u)
	if !exists {
		if err := w.create(ctx, u); err != nil {
			return err
		}
		w.recorded[key], w.uids[uid] = uid, u.GetUID()
		w.written[key] = u
		return nil
	}
	if dying && known.GetDeletionTimestamp() == nil {
		return w.markDeleted(ctx, key, known)
	}
	return w.update(ctx, key, u, known)
}

func (w *writer) create(ctx context.Context, u *unstructured.Unstructured) error {
	lost := false
	return w.retry(ctx, func() error {
		err := w.api.Create(ctx, u)
		if lost && apierrors.IsAlreadyExists(err) {
			// It was ours: only the answer did not arrive.
			return w.api.Get(ctx, client.ObjectKeyFromObject(u), u)
		}
		lost = err != nil
		return err
	})
}

// clean takes away what only the API server may say, and translates uids.
func (w *writer) clean(u *unstructured.Unstructured) {
	for _, field := range []string{"resourceVersion", "uid", "generation", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "managedFields", "selfLink"} {
		unstructured.RemoveNestedField(u.Object, "metadata", field)
	}
	labels := u.GetLabels()
	for name, value := range labels {
		if uid, ok := w.uids[types.UID(value)]; ok {
			labels[name] = string(uid)
		}
	}
	if labels != nil {
		u.SetLabels(labels)
	}
	owners := u.GetOwnerReferences()
	for n := range owners {
		if uid, ok := w.uids[owners[n].UID]; ok {
			owners[n].UID = uid
		}
	}
	if owners != nil {
		u.SetOwnerReferences(owners)
	}
}

func (w *writer) update(ctx context.Context, key string, u, known *unstructured.Unstructured) error {
	u.SetResourceVersion(known.GetResourceVersion())
	err := w.retry(ctx, func() error {
		err := w.api.Update(ctx, u)
		if apierrors.IsConflict(err) {
			// Somebody else wrote it; the recording wins.
			now := u.DeepCopy()
			if err := w.api.Get(ctx, client.ObjectKeyFromObject(u), now); err != nil {
				return err
			}
			u.SetResourceVersion(now.GetResourceVersion())
			err = w.api.Update(ctx, u)
		}
		return err
	})
	if err != nil {
		return err
	}
	w.written[key] = u
	if u.GetDeletionTimestamp() != nil && len(u.GetFinalizers()) == 0 {
		delete(w.written, key)
	}
	return nil
}

// markDeleted asks for a deletion that finalizers hold back: the recording
// shows the object with a deletion time stamp.
func (w *writer) markDeleted(ctx context.Context, key string, known *unstructured.Unstructured) error {
	err := w.retry(ctx, func() error { return client.IgnoreNotFound(w.api.Delete(ctx, known)) })
	if err != nil {
		return err
	}
	now := known.DeepCopy()
	err = w.retry(ctx, func() error { return w.api.Get(ctx, client.ObjectKeyFromObject(known), now) })
	if apierrors.IsNotFound(err) {
		delete(w.written, key)
		return nil
	}
	w.written[key] = now
	return err
}

func (w *writer) delete(ctx context.Context, key string) error {
	known, ok := w.written[key]
	if !ok {
		return nil
	}
	delete(w.written, key)
	return w.retry(ctx, func() error {
		if len(known.GetFinalizers()) > 0 {
			free := known.DeepCopy()
			free.SetFinalizers(nil)
			if err := w.api.Patch(ctx, free, client.MergeFrom(known)); client.IgnoreNotFound(err) != nil {
				return err
			}
		}
		return client.IgnoreNotFound(w.api.Delete(ctx, known))
	})
}

// pause is how long to wait before an API server that does not answer is asked
// again.
const pause = 250 * time.Millisecond

// retry repeats a write until the API server answers it one way or the other.
func (w *writer) retry(ctx context.Context, do func() error) error {
	for {
		err := do()
		var status apierrors.APIStatus
		switch {
		case err == nil:
			return nil
		case errors.As(err, &status) && !apierrors.IsServerTimeout(err) && !apierrors.IsTooManyRequests(err) && !apierrors.IsServiceUnavailable(err):
			return err
		}
		if wait := waitUntil(ctx, time.Now().Add(pause)); wait != nil {
			return errors.Join(wait, err)
		}
	}
}
