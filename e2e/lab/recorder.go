package lab

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/veltui/veltui/internal/velero/veleroapi"
)

// Event is one event of the raw watch.
type Event struct {
	At     time.Time
	Type   watch.EventType
	Object *unstructured.Unstructured
}

// MarshalJSON writes an event as the recordings have it: the time in seconds
// since 1970.
func (e Event) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		T      float64         `json:"t"`
		Type   watch.EventType `json:"type"`
		Object any             `json:"object"`
	}{float64(e.At.UnixMicro()) / 1e6, e.Type, e.Object.Object})
}

// Recorder writes down every event of Velero's Backups and Restores, with no
// cache between it and the API server. After an outage it lists them again, as
// any client must, and records what has changed as ADDED.
type Recorder struct {
	stop context.CancelFunc
	done sync.WaitGroup

	mu      sync.Mutex
	events  []Event
	out     *json.Encoder
	err     error
	changed chan struct{} // closed and replaced at each event
}

// StartRecorder starts a recorder. Events are also written to out, one JSON document
// a line, unless it is nil.
func StartRecorder(config *rest.Config, out io.Writer) (*Recorder, error) {
	api, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("recording: %w", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	r := &Recorder{stop: cancel, changed: make(chan struct{})}
	if out != nil {
		r.out = json.NewEncoder(out)
		r.out.SetEscapeHTML(false)
	}
	for _, plural := range []string{"backups", "restores"} {
		kind := schema.GroupVersionResource{
			Group:    veleroapi.GroupVersion.Group,
			Version:  "v1",
			Resource: plural,
		}
		resource := api.Resource(kind).Namespace(Namespace)
		version, err := r.listKind(ctx, resource)
		if err != nil {
			cancel()
			return nil, fmt.Errorf("recording %s: %w", plural, err)
		}
		r.done.Go(func() { r.followKind(ctx, resource, version) })
	}
	return r, nil
}

// Stop ends the recording and says what went wrong with it.
func (r *Recorder) Stop() error {
	r.stop()
	r.done.Wait()
	return r.err
}

// followKind watches one kind from a version on until ctx ends.
func (r *Recorder) followKind(ctx context.Context, resource dynamic.ResourceInterface, version string) {
	for ctx.Err() == nil {
		w, err := resource.Watch(ctx, metav1.ListOptions{ResourceVersion: version, AllowWatchBookmarks: true})
		if err == nil {
			version, err = r.drainWatch(ctx, w, version)
		}
		if apierrors.IsResourceExpired(err) || apierrors.IsGone(err) {
			if listed, err := r.listKind(ctx, resource); err == nil {
				version = listed
				continue
			}
		}
		select { // the API server is away or has just ended the watch
		case <-time.After(200 * time.Millisecond):
		case <-ctx.Done():
		}
	}
}

// listKind records every object that has changed since it was last seen, and
// returns the version to watch from.
func (r *Recorder) listKind(ctx context.Context, resource dynamic.ResourceInterface) (string, error) {
	list, err := resource.List(ctx, metav1.ListOptions{})
	if err != nil {
		return "", err
	}
	for i := range list.Items {
		if object := &list.Items[i]; !r.hasSeen(object) {
			r.addEvent(Event{At: time.Now(), Type: watch.Added, Object: object})
		}
	}
	return list.GetResourceVersion(), nil
}

func (r *Recorder) hasSeen(object *unstructured.Unstructured) bool {
	h := r.JobHistory(object.GetKind(), object.GetName())
	return len(h) > 0 && h.LastEvent().Object.GetUID() == object.GetUID() &&
		h.LastEvent().Object.GetResourceVersion() == object.GetResourceVersion()
}

// drainWatch records the events of one watch and returns the last version seen.
func (r *Recorder) drainWatch(ctx context.Context, w watch.Interface, version string) (string, error) {
	defer w.Stop()
	for {
		select {
		case <-ctx.Done():
			return version, ctx.Err()
		case event, ok := <-w.ResultChan():
			if !ok {
				return version, nil
			}
			object, isObject := event.Object.(*unstructured.Unstructured)
			if event.Type == watch.Error || !isObject {
				return version, apierrors.FromObject(event.Object)
			}
			version = object.GetResourceVersion()
			if event.Type != watch.Bookmark {
				r.addEvent(Event{At: time.Now(), Type: event.Type, Object: object})
			}
		}
	}
}

func (r *Recorder) addEvent(e Event) {
	e.Object.SetManagedFields(nil)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events = append(r.events, e)
	if r.out != nil {
		r.err = errors.Join(r.err, r.out.Encode(e))
	}
	close(r.changed)
	r.changed = make(chan struct{})
}

// JobHistory returns what was recorded of one Backup or Restore. Of several that had
// the name one after the other it is the newest.
func (r *Recorder) JobHistory(kind, name string) History {
	h, _, _ := r.findHistory(kind, name)
	return h
}

func (r *Recorder) findHistory(kind, name string) (History, <-chan struct{}, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var h History
	for _, e := range r.events {
		if e.Object.GetKind() != kind || e.Object.GetName() != name {
			continue
		}
		if len(h) > 0 && h[0].Object.GetUID() != e.Object.GetUID() {
			h = nil
		}
		h = append(h, e)
	}
	return h, r.changed, r.err
}

// AwaitJob waits until what was recorded of a job satisfies done, and returns it.
func (r *Recorder) AwaitJob(ctx context.Context, kind, name, what string, done func(History) bool) (History, error) {
	for {
		h, more, err := r.findHistory(kind, name)
		if err != nil {
			return h, err
		}
		if len(h) > 0 && done(h) {
			return h, nil
		}
		select {
		case <-more:
		case <-ctx.Done():
			return h, fmt.Errorf("waiting for %s %s to %s (it is %s): %w", kind, name, what, h.Summary(), ctx.Err())
		}
	}
}
