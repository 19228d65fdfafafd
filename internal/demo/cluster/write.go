package cluster

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	utilrand "k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/apimachinery/pkg/util/uuid"
	clienttesting "k8s.io/client-go/testing"
)

// Create adds a new object and returns it as it is served.
func (c *Cluster) Create(o *Object, by Author) (*Object, error) {
	c.mu.Lock()
	k := c.serve(o.GroupVersionKind())
	c.mu.Unlock()
	return c.create(k, o, by, false)
}

func (c *Cluster) create(k *kind, o *Object, by Author, dryRun bool) (*Object, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	o = o.DeepCopy()
	if o.GetName() == "" && o.GetGenerateName() != "" {
		o.SetName(o.GetGenerateName() + utilrand.String(5))
	}
	if o.GetName() == "" {
		return nil, apierrors.NewBadRequest("name or generateName is required")
	}
	if _, err := c.get(k, o.GetNamespace(), o.GetName()); err == nil {
		return nil, apierrors.NewAlreadyExists(k.gvr.GroupResource(), o.GetName())
	}
	o.SetUID(uuid.NewUUID())
	o.SetCreationTimestamp(metav1.NewTime(c.at(by)))
	o.SetGeneration(1)
	o.SetManagedFields(nil)
	c.claim(o, nil, by)
	if dryRun {
		return o, nil
	}
	c.stamp(o)
	return o, c.store(k, nil, o, by)
}

var errUnchanged = errors.New("nothing was changed")

// IsUnchanged reports whether an Edit was given up by its function.
func IsUnchanged(err error) bool { return errors.Is(err, errUnchanged) }

// Edit changes an object by f, which gets a copy, and returns it as it is
// served then. f returns false to leave it alone, and must not use the cluster.
func (c *Cluster) Edit(
	g schema.GroupVersionKind,
	namespace, name string,
	by Author,
	f func(*Object) bool,
) (*Object, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	k := c.serve(g)
	old, err := c.get(k, namespace, name)
	if err != nil {
		return nil, err
	}
	o := old.DeepCopy()
	if !f(o) {
		return nil, errUnchanged
	}
	return c.replace(k, old, o, by, false)
}

// replace stores o in place of old, as the API server does: what may not change
// does not, an update that changes nothing is none, and an object that is being
// deleted goes with its last finalizer. The caller holds the lock.
func (c *Cluster) replace(k *kind, old, o *Object, by Author, dryRun bool) (*Object, error) {
	if sent := o.GetResourceVersion(); sent != "" && sent != old.GetResourceVersion() {
		return nil, apierrors.NewConflict(k.gvr.GroupResource(), o.GetName(),
			errors.New("the object has been modified; please apply your changes to the latest version and try again"))
	}
	if sent := o.GetUID(); sent != "" && sent != old.GetUID() {
		return nil, apierrors.NewConflict(k.gvr.GroupResource(), o.GetName(),
			fmt.Errorf("precondition failed: UID in precondition: %s, UID in object meta: %s", sent, old.GetUID()))
	}
	o.SetName(old.GetName())
	o.SetNamespace(old.GetNamespace())
	o.SetUID(old.GetUID())
	o.SetResourceVersion(old.GetResourceVersion())
	o.SetCreationTimestamp(old.GetCreationTimestamp())
	o.SetDeletionTimestamp(old.GetDeletionTimestamp())
	o.SetGeneration(old.GetGeneration())
	o.SetManagedFields(old.GetManagedFields())
	if reflect.DeepEqual(o.Object, old.Object) {
		return o, nil
	}
	if !reflect.DeepEqual(content(o), content(old)) {
		o.SetGeneration(old.GetGeneration() + 1)
	}
	c.claim(o, old, by)
	if dryRun {
		return o, nil
	}
	if o.GetDeletionTimestamp() != nil && len(o.GetFinalizers()) == 0 {
		return o, c.remove(k, old, by)
	}
	c.stamp(o)
	return o, c.store(k, old, o, by)
}

// content is an object without its metadata.
func content(o *Object) map[string]any {
	rest := maps.Clone(o.Object)
	delete(rest, "metadata")
	return rest
}

func (c *Cluster) update(k *kind, o *Object, by Author, dryRun bool) (*Object, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	old, err := c.get(k, o.GetNamespace(), o.GetName())
	if err != nil {
		return nil, err
	}
	return c.replace(k, old, o.DeepCopy(), by, dryRun)
}

// patch applies a JSON patch or a merge patch. client-go's reaction does it, on
// a tracker that holds nothing but the object.
func (c *Cluster) patch(
	k *kind,
	namespace, name string,
	t types.PatchType,
	data []byte,
	by Author,
	dryRun bool,
) (*Object, error) {
	if t != types.JSONPatchType && t != types.MergePatchType {
		return nil, apierrors.NewGenericServerResponse(415, "patch", k.gvr.GroupResource(), name,
			fmt.Sprintf("the demo's cluster takes no patch of type %s", t), 0, true)
	}
	if !json.Valid(data) {
		return nil, apierrors.NewBadRequest("the patch is not JSON")
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	old, err := c.get(k, namespace, name)
	if err != nil {
		return nil, err
	}
	scratch := clienttesting.NewObjectTracker(c.scheme, unstructured.UnstructuredJSONScheme)
	if err := scratch.Create(k.gvr, old, namespace); err != nil {
		return nil, fmt.Errorf("patching %s %s: %w", k.gvk.Kind, name, err)
	}
	_, patched, err := clienttesting.ObjectReaction(
		scratch,
	)(
		clienttesting.NewPatchAction(k.gvr, namespace, name, t, data),
	)
	if err != nil {
		// A failed test of a JSON patch is what the API server calls invalid.
		return nil, apierrors.NewGenericServerResponse(422, "patch", k.gvr.GroupResource(), name, err.Error(), 0, true)
	}
	return c.replace(k, old, patched.(*Object), by, dryRun)
}

// Delete deletes an object. One with finalizers is marked and stays until they
// are gone.
func (c *Cluster) Delete(g schema.GroupVersionKind, namespace, name string, by Author) error {
	c.mu.Lock()
	k := c.serve(g)
	c.mu.Unlock()
	_, err := c.delete(k, namespace, name, metav1.DeleteOptions{}, by)
	return err
}

func (c *Cluster) delete(k *kind, namespace, name string, o metav1.DeleteOptions, by Author) (*Object, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	old, err := c.get(k, namespace, name)
	if err != nil {
		return nil, err
	}
	if p := o.Preconditions; p != nil {
		wrongUID := p.UID != nil && *p.UID != old.GetUID()
		if wrongUID || p.ResourceVersion != nil && *p.ResourceVersion != old.GetResourceVersion() {
			return nil, apierrors.NewConflict(
				k.gvr.GroupResource(),
				name,
				errors.New("the precondition of the deletion does not hold"),
			)
		}
	}
	marked := old.DeepCopy()
	at := metav1.NewTime(c.at(by))
	marked.SetDeletionTimestamp(&at)
	switch {
	case len(o.DryRun) > 0:
		return marked, nil
	case len(old.GetFinalizers()) == 0:
		c.stamp(marked)
		return marked, c.remove(k, old, by)
	case old.GetDeletionTimestamp() != nil:
		return old, nil
	}
	c.stamp(marked)
	return marked, c.store(k, old, marked, by)
}

// at is when an author writes.
func (c *Cluster) at(by Author) time.Time {
	at := by.At
	if at.IsZero() {
		at = c.clock()
	}
	return at.UTC().Truncate(time.Second)
}

// claim notes in managedFields who wrote what, and when. An entry of the
// author's own moves to now; those of others stay as they are.
func (c *Cluster) claim(o, old *Object, by Author) {
	fields := map[string]any{}
	var before map[string]any
	if old != nil {
		before = content(old)
	}
	written(fields, content(o), before)
	delete(fields, "f:apiVersion")
	delete(fields, "f:kind")
	raw, err := utiljson.Marshal(fields)
	if err != nil {
		raw = []byte("{}") // what came as JSON can be written as JSON
	}
	at := metav1.NewTime(c.at(by))
	entry := metav1.ManagedFieldsEntry{
		Manager: by.Manager, Operation: metav1.ManagedFieldsOperationUpdate, APIVersion: o.GetAPIVersion(),
		Time: &at, FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(string(raw)),
	}
	var entries []metav1.ManagedFieldsEntry
	for _, e := range o.GetManagedFields() {
		if e.Manager != entry.Manager || e.Operation != entry.Operation || e.Subresource != "" {
			entries = append(entries, e)
		}
	}
	o.SetManagedFields(append(entries, entry))
}

// written collects the fields of now that are not the same in before.
func written(into, now, before map[string]any) {
	for key, value := range now {
		was, there := before[key]
		if there && reflect.DeepEqual(value, was) {
			continue
		}
		inner := map[string]any{}
		if m, ok := value.(map[string]any); ok {
			mWas, _ := was.(map[string]any)
			written(inner, m, mWas)
		}
		into["f:"+key] = inner
	}
}
