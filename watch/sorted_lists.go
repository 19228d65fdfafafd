package watch

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/veltui/veltui/job"
)

// compareJobs puts the newest job first. What it looks at never changes in the
// life of a job.
func compareJobs(a, b *job.Job) int {
	return cmp.Or(
		b.Created.Compare(a.Created),
		cmp.Compare(a.Name, b.Name),
		cmp.Compare(a.Kind, b.Kind),
		cmp.Compare(a.UID, b.UID),
	)
}

// step is how a job changed between two snapshots; nil means it was, or is,
// not there.
type step struct{ from, to *job.Job }

// reorder returns a sorted list with the steps applied, and leaves the old one
// as it is. Its cost is one copy of the list and a search for each step.
func reorder(old []*job.Job, steps []step) []*job.Job {
	if len(steps) == 0 {
		return old
	}
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
	return merge(list, added)
}

// merge makes one sorted list of two.
func merge(a, b []*job.Job) []*job.Job {
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

// objectList keeps the objects of a kind that is shown as it is.
type objectList[T client.Object] struct {
	objects map[types.UID]T
	list    []T
	stale   bool
}

func (s *objectList[T]) put(o T) {
	if s.objects == nil {
		s.objects = map[types.UID]T{}
	}
	s.objects[uidOf(o)], s.stale = o, true
}

func (s *objectList[T]) drop(uid types.UID) {
	delete(s.objects, uid)
	s.stale = true
}

// sorted returns the objects by name. A list that it returned stays as it was.
func (s *objectList[T]) sorted() []T {
	if !s.stale {
		return s.list
	}
	list := make([]T, 0, len(s.objects))
	for _, o := range s.objects {
		list = append(list, o)
	}
	slices.SortFunc(list, func(a, b T) int {
		return cmp.Or(cmp.Compare(a.GetName(), b.GetName()), cmp.Compare(a.GetUID(), b.GetUID()))
	})
	s.list, s.stale = list, false
	return list
}

// uidOf is an object's uid, or its name for one that was never in a cluster.
func uidOf(o client.Object) types.UID {
	if uid := o.GetUID(); uid != "" {
		return uid
	}
	return types.UID(o.GetNamespace() + "/" + o.GetName())
}
