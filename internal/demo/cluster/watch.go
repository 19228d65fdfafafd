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

// list answers a list or a watch.
func (q request) list() error {
	match, err := q.selection()
	if err != nil {
		return apierrors.NewBadRequest(err.Error())
	}
	if q.r.URL.Query().Get("watch") == "true" || q.r.URL.Query().Get("watch") == "1" {
		return q.watch(match)
	}
	objects, at := q.snapshot(match)
	objects = append(objects, slices.DeleteFunc(q.cluster.others(q.kind), func(o *Object) bool {
		return !match(o) || slices.ContainsFunc(objects, func(kept *Object) bool {
			return kept.GetName() == o.GetName() && kept.GetNamespace() == o.GetNamespace()
		})
	})...)
	kind, apiVersion := q.kind.gvk.Kind+"List", q.kind.gvk.GroupVersion().String()
	items := make([]any, len(objects))
	for n, o := range objects {
		items[n] = o.Object
		if q.metadataOnly() {
			kind, apiVersion, items[n] = "PartialObjectMetadataList", "meta.k8s.io/v1", metadataOf(o).Object
		}
	}
	if q.metadataOnly() {
		kind, apiVersion = "PartialObjectMetadataList", "meta.k8s.io/v1"
	}
	return answer(q.w, http.StatusOK, map[string]any{
		"kind": kind, "apiVersion": apiVersion, "items": items,
		"metadata": map[string]any{"resourceVersion": strconv.FormatUint(at, 10)},
	})
}

// snapshot returns what match selects, and the version that it is of.
func (q request) snapshot(match func(*Object) bool) ([]*Object, uint64) {
	q.cluster.mu.Lock()
	defer q.cluster.mu.Unlock()
	objects := q.cluster.list(q.kind, q.namespace)
	return slices.DeleteFunc(objects, func(o *Object) bool { return !match(o) }), q.cluster.version
}

// selection is what the request's namespace and selectors select.
func (q request) selection() (func(*Object) bool, error) {
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

// watch streams what happens from a version on. Without a version, or where the
// client asks for it, all that is there comes first.
func (q request) watch(match func(*Object) bool) error {
	query := q.r.URL.Query()
	from, _ := strconv.ParseUint(query.Get("resourceVersion"), 10, 64)
	initial := query.Get("sendInitialEvents") == "true"
	s := stream{request: q, json: json.NewEncoder(q.w), control: http.NewResponseController(q.w)}
	if _, _, err := q.cluster.since(from); from > 0 && !initial && err != nil {
		return apierrors.NewResourceExpired(err.Error())
	}
	q.w.Header().Set("Content-Type", "application/json")
	q.w.WriteHeader(http.StatusOK)
	if err := s.control.Flush(); err != nil {
		return nil // who watched has gone
	}
	if from == 0 || initial {
		var objects []*Object
		objects, from = q.snapshot(match)
		for _, o := range objects {
			if s.send(watch.Added, o) != nil {
				return nil
			}
		}
		if initial && s.initialEnd(from) != nil {
			return nil
		}
	}
	err := q.cluster.follow(q.r.Context(), q.kind, from, match, s.send)
	if errors.Is(err, errExpired) {
		_ = s.send(watch.Error, statusObject(apierrors.NewResourceExpired(err.Error())))
	}
	return nil
}

// stream is an open watch.
type stream struct {
	request
	json    *json.Encoder
	control *http.ResponseController
}

func (s stream) send(t watch.EventType, o *Object) error {
	if s.metadataOnly() && t != watch.Error {
		o = metadataOf(o)
	}
	if err := s.json.Encode(map[string]any{"type": t, "object": o.Object}); err != nil {
		return err
	}
	return s.control.Flush()
}

// initialEnd tells the client that it has seen all that was there.
func (s stream) initialEnd(version uint64) error {
	o := &Object{}
	o.SetGroupVersionKind(s.kind.gvk)
	o.SetResourceVersion(strconv.FormatUint(version, 10))
	o.SetAnnotations(map[string]string{metav1.InitialEventsAnnotationKey: "true"})
	return s.send(watch.Bookmark, o)
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
