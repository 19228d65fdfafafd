package cluster

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/watch"
)

// serveList answers a list or a watch.
func (q objectRequest) serveList() error {
	match, err := q.parseSelectors()
	if err != nil {
		return apierrors.NewBadRequest(err.Error())
	}
	if q.r.URL.Query().Get("watch") == "true" || q.r.URL.Query().Get("watch") == "1" {
		return q.serveWatch(match)
	}
	objects, at := q.listSelected(match)
	objects = append(objects, slices.DeleteFunc(q.cluster.listExtra(q.kind), func(o *Object) bool {
		return !match(o) || slices.ContainsFunc(objects, func(kept *Object) bool {
			return kept.GetName() == o.GetName() && kept.GetNamespace() == o.GetNamespace()
		})
	})...)
	kind, apiVersion := q.kind.gvk.Kind+"List", q.kind.gvk.GroupVersion().String()
	items := make([]any, len(objects))
	for n, o := range objects {
		items[n] = o.Object
		if q.metadataOnly() {
			kind, apiVersion, items[n] = "PartialObjectMetadataList", "meta.k8s.io/v1", stripToMetadata(o).Object
		}
	}
	if q.metadataOnly() {
		kind, apiVersion = "PartialObjectMetadataList", "meta.k8s.io/v1"
	}
	return respondJSON(q.w, http.StatusOK, map[string]any{
		"kind": kind, "apiVersion": apiVersion, "items": items,
		"metadata": map[string]any{"resourceVersion": strconv.FormatUint(at, 10)},
	})
}

// listSelected returns the objects that match selects, and the version of the list.
func (q objectRequest) listSelected(match func(*Object) bool) ([]*Object, uint64) {
	q.cluster.mu.Lock()
	defer q.cluster.mu.Unlock()
	objects := q.cluster.listLocked(q.kind, q.namespace)
	return slices.DeleteFunc(objects, func(o *Object) bool { return !match(o) }), q.cluster.version
}

// parseSelectors returns a function that reports whether the request's namespace and selectors select an object.
func (q objectRequest) parseSelectors() (func(*Object) bool, error) {
	label, err := labels.Parse(q.r.URL.Query().Get("labelSelector"))
	if err != nil {
		return nil, fmt.Errorf("labelSelector: %w", err)
	}
	field, err := fields.ParseSelector(q.r.URL.Query().Get("fieldSelector"))
	if err != nil {
		return nil, fmt.Errorf("fieldSelector: %w", err)
	}
	return func(o *Object) bool {
		if q.namespace != "" && o.GetNamespace() != q.namespace || !label.Matches(labels.Set(o.GetLabels())) {
			return false
		}
		values := fields.Set{}
		for _, r := range field.Requirements() {
			value, _, _ := unstructured.NestedFieldNoCopy(o.Object, strings.Split(r.Field, ".")...)
			if value != nil {
				values[r.Field] = fmt.Sprint(value)
			}
		}
		return field.Matches(values)
	}, nil
}

// serveWatch streams the changes after a version. Without a version, or if the client asks for it, all existing
// objects come first.
func (q objectRequest) serveWatch(match func(*Object) bool) error {
	query := q.r.URL.Query()
	from, _ := strconv.ParseUint(query.Get("resourceVersion"), 10, 64)
	initial := query.Get("sendInitialEvents") == "true"
	s := watchStream{objectRequest: q, json: json.NewEncoder(q.w), control: http.NewResponseController(q.w)}
	if _, _, err := q.cluster.changesSince(from); from > 0 && !initial && err != nil {
		return apierrors.NewResourceExpired(err.Error())
	}
	q.w.Header().Set("Content-Type", "application/json")
	q.w.WriteHeader(http.StatusOK)
	if err := s.control.Flush(); err != nil {
		return nil // the client has disconnected
	}
	if from == 0 || initial {
		var objects []*Object
		objects, from = q.listSelected(match)
		for _, o := range objects {
			if s.sendEvent(watch.Added, o) != nil {
				return nil
			}
		}
		if initial && s.sendInitialEnd(from) != nil {
			return nil
		}
	}
	err := q.cluster.followChanges(q.r.Context(), q.kind, from, match, s.sendEvent)
	if errors.Is(err, errExpired) {
		_ = s.sendEvent(watch.Error, statusObject(apierrors.NewResourceExpired(err.Error())))
	}
	return nil
}

// watchStream is an open watch.
type watchStream struct {
	objectRequest
	json    *json.Encoder
	control *http.ResponseController
}

func (s watchStream) sendEvent(t watch.EventType, o *Object) error {
	if s.metadataOnly() && t != watch.Error {
		o = stripToMetadata(o)
	}
	if err := s.json.Encode(map[string]any{"type": t, "object": o.Object}); err != nil {
		return err
	}
	return s.control.Flush()
}

// sendInitialEnd tells the client that it has got all initial objects.
func (s watchStream) sendInitialEnd(version uint64) error {
	o := &Object{}
	o.SetGroupVersionKind(s.kind.gvk)
	o.SetResourceVersion(strconv.FormatUint(version, 10))
	o.SetAnnotations(map[string]string{metav1.InitialEventsAnnotationKey: "true"})
	return s.sendEvent(watch.Bookmark, o)
}

func statusObject(err *apierrors.StatusError) *Object {
	s := err.Status()
	return &Object{Object: map[string]any{
		"kind":       "Status",
		"apiVersion": "v1",
		"status":     s.Status,
		"code":       int64(s.Code),
		"reason":     string(s.Reason),
		"message":    s.Message,
	}}
}
