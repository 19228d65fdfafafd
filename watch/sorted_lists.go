package watch

import (
	"cmp"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/veltui/veltui/internal/client"
	"github.com/veltui/veltui/internal/job"
)

// compareJobs puts the newest job first. What it looks at never changes in the life of a job.
func compareJobs(a, b *job.Job) int {
	return cmp.Or(
		b.Created.Compare(a.Created),
		cmp.Compare(a.Name, b.Name),
		cmp.Compare(a.Kind, b.Kind),
		cmp.Compare(a.UID, b.UID),
	)
}

// step is how a job changed between two snapshots; nil means it was, or is, not there.
type step struct{ from, to *job.Job }

// reorder returns a sorted list with the steps applied, for one copy of the list and a search for each step.
func reorder(old []*job.Job, steps []step) []*job.Job {
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

func (s *sortedSet[T]) put(uid types.UID, value T) {
	if s.byUID == nil {
		s.byUID = map[types.UID]T{}
	}
	s.byUID[uid], s.stale = value, true
}

func (s *sortedSet[T]) drop(uid types.UID) {
	if _, known := s.byUID[uid]; known {
		delete(s.byUID, uid)
		s.stale = true
	}
}

// sorted returns what is kept. A list that it returned stays as it was.
func (s *sortedSet[T]) sorted(compare func(a, b T) int) []T {
	if s.stale {
		s.list, s.stale = slices.SortedFunc(maps.Values(s.byUID), compare), false
	}
	return s.list
}

type keptList interface {
	put(uid types.UID, o client.Object)
	drop(uid types.UID)
}

type objectList[T client.Object] struct{ sortedSet[T] }

func (l *objectList[T]) put(uid types.UID, o client.Object) { l.sortedSet.put(uid, o.(T)) }

func (l *objectList[T]) byName() []T {
	return l.sorted(func(a, b T) int {
		return cmp.Or(cmp.Compare(a.GetName(), b.GetName()), cmp.Compare(a.GetUID(), b.GetUID()))
	})
}

// keptOf returns the list of a kind's objects. The caller holds the store's lock.
func keptOf[T client.Object](s *Store, resource string) *objectList[T] {
	return s.byKind[resource].list.(*objectList[T])
}

// uidOf is an object's uid, or its name for one that was never in a cluster.
func uidOf(o client.Object) types.UID {
	if uid := o.GetUID(); uid != "" {
		return uid
	}
	return types.UID(o.GetNamespace() + "/" + o.GetName())
}
