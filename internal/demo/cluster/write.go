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

// CreateObject adds a new object and returns it as served.
func (c *Cluster) CreateObject(o *Object, by Author) (*Object, error) {
	c.mu.Lock()
	k := c.registerKind(o.GroupVersionKind())
	c.mu.Unlock()
	return c.createObject(k, o, by, false)
}

func (c *Cluster) createObject(k *servedKind, o *Object, by Author, dryRun bool) (*Object, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	o = o.DeepCopy()
	if o.GetName() == "" && o.GetGenerateName() != "" {
		o.SetName(o.GetGenerateName() + utilrand.String(5))
	}
	if o.GetName() == "" {
		return nil, apierrors.NewBadRequest("name or generateName is required")
	}
	if _, err := c.getLocked(k, o.GetNamespace(), o.GetName()); err == nil {
		return nil, apierrors.NewAlreadyExists(k.gvr.GroupResource(), o.GetName())
	}
	o.SetUID(uuid.NewUUID())
	o.SetCreationTimestamp(metav1.NewTime(c.writeTime(by)))
	o.SetGeneration(1)
	o.SetManagedFields(nil)
	c.updateManagedFields(o, nil, by)
	if dryRun {
		return o, nil
	}
	c.stampVersion(o)
	return o, c.storeObject(k, nil, o, by)
}

var errUnchanged = errors.New("nothing was changed")

// IsUnchanged reports whether an error means that the function of EditObject left the object alone.
func IsUnchanged(err error) bool { return errors.Is(err, errUnchanged) }

// EditObject changes an object with f, which gets a copy, and returns the object as served. f returns false to leave
// the object alone, and must not use the cluster.
func (c *Cluster) EditObject(
	g schema.GroupVersionKind,
	namespace, name string,
	by Author,
	f func(*Object) bool,
) (*Object, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	k := c.registerKind(g)
	old, err := c.getLocked(k, namespace, name)
	if err != nil {
		return nil, err
	}
	o := old.DeepCopy()
	if !f(o) {
		return nil, errUnchanged
	}
	return c.replaceObject(k, old, o, by, false)
}

// replaceObject stores o in place of old, like the API server: immutable fields stay, an update without changes
// is ignored, and an object being deleted is removed with its last finalizer. The caller holds the lock.
func (c *Cluster) replaceObject(k *servedKind, old, o *Object, by Author, dryRun bool) (*Object, error) {
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
	if !reflect.DeepEqual(withoutMetadata(o), withoutMetadata(old)) {
		o.SetGeneration(old.GetGeneration() + 1)
	}
	c.updateManagedFields(o, old, by)
	if dryRun {
		return o, nil
	}
	if o.GetDeletionTimestamp() != nil && len(o.GetFinalizers()) == 0 {
		return o, c.removeObject(k, old, by)
	}
	c.stampVersion(o)
	return o, c.storeObject(k, old, o, by)
}

// withoutMetadata returns an object's content without its metadata.
func withoutMetadata(o *Object) map[string]any {
	rest := maps.Clone(o.Object)
	delete(rest, "metadata")
	return rest
}

func (c *Cluster) updateObject(k *servedKind, o *Object, by Author, dryRun bool) (*Object, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	old, err := c.getLocked(k, o.GetNamespace(), o.GetName())
	if err != nil {
		return nil, err
	}
	return c.replaceObject(k, old, o.DeepCopy(), by, dryRun)
}

// patchObject applies a JSON patch or a merge patch. It uses client-go's reaction on a tracker that holds only the
// object.
func (c *Cluster) patchObject(
	k *servedKind,
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
	old, err := c.getLocked(k, namespace, name)
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
		// The API server answers a failed test of a JSON patch with Invalid.
		return nil, apierrors.NewGenericServerResponse(422, "patch", k.gvr.GroupResource(), name, err.Error(), 0, true)
	}
	return c.replaceObject(k, old, patched.(*Object), by, dryRun)
}

// DeleteObject deletes an object. An object with finalizers is marked and stays until they are removed.
func (c *Cluster) DeleteObject(g schema.GroupVersionKind, namespace, name string, by Author) error {
	c.mu.Lock()
	k := c.registerKind(g)
	c.mu.Unlock()
	_, err := c.deleteObject(k, namespace, name, metav1.DeleteOptions{}, by)
	return err
}

func (c *Cluster) deleteObject(
	k *servedKind,
	namespace, name string,
	o metav1.DeleteOptions,
	by Author,
) (*Object, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	old, err := c.getLocked(k, namespace, name)
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
	at := metav1.NewTime(c.writeTime(by))
	marked.SetDeletionTimestamp(&at)
	switch {
	case len(o.DryRun) > 0:
		return marked, nil
	case len(old.GetFinalizers()) == 0:
		c.stampVersion(marked)
		return marked, c.removeObject(k, old, by)
	case old.GetDeletionTimestamp() != nil:
		return old, nil
	}
	c.stampVersion(marked)
	return marked, c.storeObject(k, old, marked, by)
}

// writeTime returns the time of an author's write.
func (c *Cluster) writeTime(by Author) time.Time {
	at := by.WrittenAt
	if at.IsZero() {
		at = c.clock()
	}
	return at.UTC().Truncate(time.Second)
}

// updateManagedFields records in managedFields who wrote what, and when. The author's own entry moves to the time of
// the write; other entries stay as they are.
func (c *Cluster) updateManagedFields(o, old *Object, by Author) {
	fields := map[string]any{}
	var before map[string]any
	if old != nil {
		before = withoutMetadata(old)
	}
	collectChangedFields(fields, withoutMetadata(o), before)
	delete(fields, "f:apiVersion")
	delete(fields, "f:kind")
	raw, err := utiljson.Marshal(fields)
	if err != nil {
		raw = []byte("{}") // fields decoded from JSON can be encoded as JSON
	}
	at := metav1.NewTime(c.writeTime(by))
	entry := metav1.ManagedFieldsEntry{
		Manager: by.FieldManager, Operation: metav1.ManagedFieldsOperationUpdate, APIVersion: o.GetAPIVersion(),
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

// collectChangedFields adds to into the fields of now that differ from before.
func collectChangedFields(into, now, before map[string]any) {
	for key, value := range now {
		was, there := before[key]
		if there && reflect.DeepEqual(value, was) {
			continue
		}
		inner := map[string]any{}
		if m, ok := value.(map[string]any); ok {
			mWas, _ := was.(map[string]any)
			collectChangedFields(inner, m, mWas)
		}
		into["f:"+key] = inner
	}
}
