package sim

import (
	"cmp"
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// objects are the newest known states of one kind, by name.
type objects[T client.Object] struct{ byName map[string]T }

func newObjects[T client.Object]() *objects[T] { return &objects[T]{byName: map[string]T{}} }

// put takes a state in unless a newer one is known: an informer's event may
// arrive after the answer to a later write of ours.
func (o *objects[T]) put(object T) {
	known, ok := o.byName[object.GetName()]
	if ok && known.GetUID() == object.GetUID() && version(known) > version(object) {
		return
	}
	o.byName[object.GetName()] = object
}

func (o *objects[T]) remove(name string, uid types.UID) {
	if known, ok := o.byName[name]; ok && known.GetUID() == uid {
		delete(o.byName, name)
	}
}

func (o *objects[T]) get(name string) (T, bool) {
	object, ok := o.byName[name]
	return object, ok
}

// sorted are all, oldest first.
func (o *objects[T]) sorted() []T {
	all := make([]T, 0, len(o.byName))
	for _, object := range o.byName {
		all = append(all, object)
	}
	slices.SortFunc(all, func(a, b T) int {
		return cmp.Or(a.GetCreationTimestamp().Compare(b.GetCreationTimestamp().Time), cmp.Compare(a.GetName(), b.GetName()))
	})
	return all
}

// version orders the states of one object. Since Kubernetes 1.35 resource
// versions are promised to be comparable as numbers.
func version(object client.Object) uint64 {
	v, _ := strconv.ParseUint(object.GetResourceVersion(), 10, 64)
	return v
}
