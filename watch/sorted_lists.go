package watch

import (
	"cmp"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/veltui/veltui/internal/client"
	"github.com/veltui/veltui/internal/job"
)

// compareJobs sorts the newest job first. The fields that it compares never change in the life of a job.
func compareJobs(a, b *job.Job) int {
	return cmp.Or(
		b.Created.Compare(a.Created),
		cmp.Compare(a.Name, b.Name),
		cmp.Compare(a.Kind, b.Kind),
		cmp.Compare(a.UID, b.UID),
	)
}

// jobUpdate is the change of a job between two snapshots; from is nil for a new job, to for a deleted one.
type jobUpdate struct{ from, to *job.Job }

// applyUpdates returns a copy of a sorted list with the steps applied. It costs one copy and one search per step.
func applyUpdates(old []*job.Job, steps []jobUpdate) []*job.Job {
	list := slices.Clone(old)
	var added []*job.Job
	gone := false
	for _, s := range steps {
		if s.from == nil {
			if s.to != nil {
				added = append(added, s.to)
			}
			continue
		}
		// The search is in the old list: the new one may have gaps already.
		if i, found := slices.BinarySearchFunc(old, s.from, compareJobs); found {
			list[i] = s.to
			gone = gone || s.to == nil
		}
	}
	if gone {
		list = slices.DeleteFunc(list, func(j *job.Job) bool { return j == nil })
	}
	if len(added) == 0 {
		return list
	}
	slices.SortFunc(added, compareJobs)
	return mergeJobs(list, added)
}

func mergeJobs(a, b []*job.Job) []*job.Job {
	out := make([]*job.Job, 0, len(a)+len(b))
	for len(a) > 0 && len(b) > 0 {
		if compareJobs(a[0], b[0]) <= 0 {
			out, a = append(out, a[0]), a[1:]
		} else {
			out, b = append(out, b[0]), b[1:]
		}
	}
	return append(append(out, a...), b...)
}

type sortedSet[T any] struct {
	byUID map[types.UID]T
	list  []T
	stale bool
}

func (s *sortedSet[T]) putValue(uid types.UID, value T) {
	if s.byUID == nil {
		s.byUID = map[types.UID]T{}
	}
	s.byUID[uid], s.stale = value, true
}

func (s *sortedSet[T]) removeValue(uid types.UID) {
	if _, known := s.byUID[uid]; known {
		delete(s.byUID, uid)
		s.stale = true
	}
}

// sortedValues returns the values, sorted. Lists returned before stay unchanged.
func (s *sortedSet[T]) sortedValues(compare func(a, b T) int) []T {
	if s.stale {
		s.list, s.stale = slices.SortedFunc(maps.Values(s.byUID), compare), false
	}
	return s.list
}

type keptObjects interface {
	putValue(uid types.UID, o client.Object)
	removeValue(uid types.UID)
}

type objectList[T client.Object] struct{ sortedSet[T] }

func (l *objectList[T]) putValue(uid types.UID, o client.Object) { l.sortedSet.putValue(uid, o.(T)) }

func (l *objectList[T]) sortedByName() []T {
	return l.sortedValues(func(a, b T) int {
		return cmp.Or(cmp.Compare(a.GetName(), b.GetName()), cmp.Compare(a.GetUID(), b.GetUID()))
	})
}

// keptObjectsOf returns the list of a kind's objects. The caller holds the store's lock.
func keptObjectsOf[T client.Object](s *Store, resource string) *objectList[T] {
	return s.byKind[resource].objects.(*objectList[T])
}

// uidOf returns an object's uid, or its namespace and name if it was never in a cluster.
func uidOf(o client.Object) types.UID {
	if uid := o.GetUID(); uid != "" {
		return uid
	}
	return types.UID(o.GetNamespace() + "/" + o.GetName())
}
