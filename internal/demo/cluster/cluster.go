package cluster

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/uuid"
	clienttesting "k8s.io/client-go/testing"
)

// Object is an object as served.
type Object = unstructured.Unstructured

// Cluster holds objects and reports their changes. Several goroutines may use it.
type Cluster struct {
	clock func() time.Time

	mu      sync.Mutex
	scheme  *runtime.Scheme
	tracker clienttesting.ObjectTracker
	kinds   map[schema.GroupVersionResource]*servedKind
	changes changeLog
	// version is the resource version of the last change.
	version  uint64
	observer func(Change)
	// extraObjects returns objects that are served but not stored here.
	extraObjects func(schema.GroupVersionKind) []*Object
	logs         podLogs
}

// New returns an empty cluster that uses the given clock.
func New(clock func() time.Time) *Cluster {
	c := &Cluster{clock: clock, scheme: runtime.NewScheme(), kinds: map[schema.GroupVersionResource]*servedKind{}}
	c.tracker = clienttesting.NewObjectTracker(c.scheme, unstructured.UnstructuredJSONScheme)
	c.changes.changed = make(chan struct{})
	for _, g := range builtinKinds {
		c.registerKind(g)
	}
	return c
}

// SetObserver sets f to be called for every change. f must return soon, and must not write to the cluster from the
// calling goroutine.
func (c *Cluster) SetObserver(f func(Change)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.observer = f
}

// ServeExtra serves additional kinds, with the objects that f returns for a kind. These objects can be listed and
// read, but not watched or changed. f may use the cluster.
func (c *Cluster) ServeExtra(kinds []schema.GroupVersionKind, f func(schema.GroupVersionKind) []*Object) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, g := range kinds {
		c.registerKind(g)
	}
	c.extraObjects = f
}

// listExtra returns the extra objects of a kind.
func (c *Cluster) listExtra(k *servedKind) []*Object {
	c.mu.Lock()
	f := c.extraObjects
	c.mu.Unlock()
	if f == nil {
		return nil
	}
	return f(k.gvk)
}

// Change is one change of one object.
type Change struct {
	// Old is nil if the object was created, New if it was deleted.
	Old, New *Object
	// Author is who made the change.
	Author Author
}

// Author is the author of a write.
type Author struct {
	// FieldManager is the name in managedFields.
	FieldManager string
	// WrittenAt is the recorded time of the write; zero means now.
	WrittenAt time.Time
	// FromClient is true for requests over the API.
	FromClient bool
}

// PutObject stores an object as given: with its uid, its resource version, its times and its managedFields. It
// creates the object's namespace if it does not exist.
func (c *Cluster) PutObject(o *Object) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	k := c.registerKind(o.GroupVersionKind())
	o = o.DeepCopy()
	if o.GetUID() == "" {
		o.SetUID(uuid.NewUUID())
	}
	if o.GetGeneration() == 0 {
		o.SetGeneration(3) // as if it was created, started and ended here
	}
	// Later changes must have a newer version than the stored object.
	if written, err := strconv.ParseUint(o.GetResourceVersion(), 10, 64); err == nil {
		c.version = max(c.version+1, written)
	} else {
		c.stampVersion(o)
	}
	return c.storeObject(k, nil, o, Author{})
}

// EnsureNamespaces creates the missing namespaces of the stored objects.
func (c *Cluster) EnsureNamespaces() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	home := c.kinds[newGVK("", "v1", "Namespace").GroupVersion().WithResource("namespaces")]
	for _, k := range c.kinds {
		if !k.namespaced {
			continue
		}
		for _, o := range c.listLocked(k, "") {
			name := o.GetNamespace()
			if _, err := c.getLocked(home, "", name); err == nil {
				continue
			}
			n := &Object{
				Object: map[string]any{
					"apiVersion": "v1",
					"kind":       "Namespace",
					"status":     map[string]any{"phase": "Active"},
				},
			}
			n.SetName(name)
			n.SetUID(uuid.NewUUID())
			n.SetCreationTimestamp(metav1.NewTime(c.clock().Add(-90 * 24 * time.Hour)))
			n.SetLabels(map[string]string{"kubernetes.io/metadata.name": name})
			c.stampVersion(n)
			if err := c.storeObject(home, nil, n, Author{}); err != nil {
				return err
			}
		}
	}
	return nil
}

// stampVersion sets an object's resource version to the next one. The caller holds the lock.
func (c *Cluster) stampVersion(o *Object) {
	c.version++
	o.SetResourceVersion(strconv.FormatUint(c.version, 10))
}

// storeObject stores an object and reports the change. old is nil for a new object. The caller holds the lock.
func (c *Cluster) storeObject(k *servedKind, old, o *Object, by Author) error {
	write := c.tracker.Create
	if old != nil {
		write = func(r schema.GroupVersionResource, o runtime.Object, ns string, _ ...metav1.CreateOptions) error {
			return c.tracker.Update(r, o, ns)
		}
	}
	if err := write(k.gvr, o, o.GetNamespace()); err != nil {
		return fmt.Errorf("storing %s %s: %w", k.gvk.Kind, o.GetName(), err)
	}
	c.notifyChange(k, Change{Old: old, New: o.DeepCopy(), Author: by})
	return nil
}

// removeObject deletes an object and reports the change. The caller holds the lock.
func (c *Cluster) removeObject(k *servedKind, old *Object, by Author) error {
	if err := c.tracker.Delete(k.gvr, old.GetNamespace(), old.GetName()); err != nil {
		return fmt.Errorf("deleting %s %s: %w", k.gvk.Kind, old.GetName(), err)
	}
	last := old.DeepCopy()
	c.stampVersion(last)
	c.notifyChange(k, Change{Old: last, Author: by})
	return nil
}

func (c *Cluster) notifyChange(k *servedKind, change Change) {
	c.changes.appendChange(k, change, c.version)
	if c.observer != nil {
		c.observer(change)
	}
}

// getLocked returns a copy of an object. The caller holds the lock.
func (c *Cluster) getLocked(k *servedKind, namespace, name string) (*Object, error) {
	found, err := c.tracker.Get(k.gvr, namespace, name)
	if err != nil {
		return nil, err
	}
	return found.(*Object), nil
}

// listLocked returns copies of a kind's objects in one namespace or in all, sorted. The caller holds the lock.
func (c *Cluster) listLocked(k *servedKind, namespace string) []*Object {
	found, err := c.tracker.List(k.gvr, k.gvk, namespace)
	if err != nil {
		return nil // served kinds can always be listed
	}
	items := found.(*unstructured.UnstructuredList).Items
	objects := make([]*Object, len(items))
	for n := range items {
		objects[n] = &items[n]
	}
	slices.SortFunc(objects, func(a, b *Object) int {
		return cmp.Or(cmp.Compare(a.GetNamespace(), b.GetNamespace()), cmp.Compare(a.GetName(), b.GetName()))
	})
	return objects
}

// ListObjects returns copies of all objects of a kind in a namespace, or in all namespaces if it is empty.
func (c *Cluster) ListObjects(g schema.GroupVersionKind, namespace string) []*Object {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.listLocked(c.registerKind(g), namespace)
}

func compareStrings(a, b string) int { return cmp.Compare(a, b) }
