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

// Object is an object as it is served.
type Object = unstructured.Unstructured

// Cluster holds objects and tells of their changes. It is safe for use by
// several goroutines.
type Cluster struct {
	clock func() time.Time

	mu      sync.Mutex
	scheme  *runtime.Scheme
	tracker clienttesting.ObjectTracker
	kinds   map[schema.GroupVersionResource]*kind
	changes changes
	// version is the resource version of the last change.
	version  uint64
	observer func(Change)
	// beside are objects that are served and not kept here.
	beside func(schema.GroupVersionKind) []*Object
	logs   podLogs
}

// New makes an empty cluster that has clock's time.
func New(clock func() time.Time) *Cluster {
	c := &Cluster{clock: clock, scheme: runtime.NewScheme(), kinds: map[schema.GroupVersionResource]*kind{}}
	c.tracker = clienttesting.NewObjectTracker(c.scheme, unstructured.UnstructuredJSONScheme)
	c.changes.news = make(chan struct{})
	for _, g := range always {
		c.serve(g)
	}
	return c
}

// Observe has every change told to f, which must return soon and must not write
// to the cluster from its own goroutine.
func (c *Cluster) Observe(f func(Change)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.observer = f
}

// Beside serves more kinds, and what f says is there of a kind to who lists or gets it:
// nobody can watch or change these objects. f may use the cluster.
func (c *Cluster) Beside(kinds []schema.GroupVersionKind, f func(schema.GroupVersionKind) []*Object) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, g := range kinds {
		c.serve(g)
	}
	c.beside = f
}

// others are the objects beside those that are kept.
func (c *Cluster) others(k *kind) []*Object {
	c.mu.Lock()
	f := c.beside
	c.mu.Unlock()
	if f == nil {
		return nil
	}
	return f(k.gvk)
}

// Change is one change of one object.
type Change struct {
	// Old is nil where the object was created, New where it was deleted.
	Old, New *Object
	// By is who made the change.
	By Author
}

// Author is who writes.
type Author struct {
	// Manager is the name in managedFields.
	Manager string
	// At is when it is said to be written; zero is now.
	At time.Time
	// Client is true for requests over the API.
	Client bool
}

// Put stores an object as it is written: with its uid, its resource version,
// its times and its managedFields. It makes the namespace that the object lies
// in, if it is not there.
func (c *Cluster) Put(o *Object) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	k := c.serve(o.GroupVersionKind())
	o = o.DeepCopy()
	if o.GetUID() == "" {
		o.SetUID(uuid.NewUUID())
	}
	if o.GetGeneration() == 0 {
		o.SetGeneration(3) // as one that was made, begun and ended here
	}
	// Whatever changes from now on has a newer version than what was written.
	if written, err := strconv.ParseUint(o.GetResourceVersion(), 10, 64); err == nil {
		c.version = max(c.version+1, written)
	} else {
		c.stamp(o)
	}
	return c.store(k, nil, o, Author{})
}

// EnsureNamespaces makes the namespaces that hold objects and are not there.
func (c *Cluster) EnsureNamespaces() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	home := c.kinds[gvk("", "v1", "Namespace").GroupVersion().WithResource("namespaces")]
	for _, k := range c.kinds {
		if !k.namespaced {
			continue
		}
		for _, o := range c.list(k, "") {
			name := o.GetNamespace()
			if _, err := c.get(home, "", name); err == nil {
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
			c.stamp(n)
			if err := c.store(home, nil, n, Author{}); err != nil {
				return err
			}
		}
	}
	return nil
}

// stamp gives an object the next resource version. The caller holds the lock.
func (c *Cluster) stamp(o *Object) {
	c.version++
	o.SetResourceVersion(strconv.FormatUint(c.version, 10))
}

// store keeps an object and tells of it. old is nil for a new one. The caller
// holds the lock.
func (c *Cluster) store(k *kind, old, o *Object, by Author) error {
	write := c.tracker.Create
	if old != nil {
		write = func(r schema.GroupVersionResource, o runtime.Object, ns string, _ ...metav1.CreateOptions) error {
			return c.tracker.Update(r, o, ns)
		}
	}
	if err := write(k.gvr, o, o.GetNamespace()); err != nil {
		return fmt.Errorf("storing %s %s: %w", k.gvk.Kind, o.GetName(), err)
	}
	c.tell(k, Change{Old: old, New: o.DeepCopy(), By: by})
	return nil
}

// remove deletes an object and tells of it. The caller holds the lock.
func (c *Cluster) remove(k *kind, old *Object, by Author) error {
	if err := c.tracker.Delete(k.gvr, old.GetNamespace(), old.GetName()); err != nil {
		return fmt.Errorf("deleting %s %s: %w", k.gvk.Kind, old.GetName(), err)
	}
	last := old.DeepCopy()
	c.stamp(last)
	c.tell(k, Change{Old: last, By: by})
	return nil
}

func (c *Cluster) tell(k *kind, change Change) {
	c.changes.add(k, change, c.version)
	if c.observer != nil {
		c.observer(change)
	}
}

// get returns a copy of an object. The caller holds the lock.
func (c *Cluster) get(k *kind, namespace, name string) (*Object, error) {
	found, err := c.tracker.Get(k.gvr, namespace, name)
	if err != nil {
		return nil, err
	}
	return found.(*Object), nil
}

// list returns copies of a kind's objects, those of one namespace or of all,
// sorted. The caller holds the lock.
func (c *Cluster) list(k *kind, namespace string) []*Object {
	found, err := c.tracker.List(k.gvr, k.gvk, namespace)
	if err != nil {
		return nil // a kind that is served can be listed
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

// List returns copies of all objects of a kind in a namespace, or in all of
// them if it is empty.
func (c *Cluster) List(g schema.GroupVersionKind, namespace string) []*Object {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.list(c.serve(g), namespace)
}

func compare(a, b string) int { return cmp.Compare(a, b) }
