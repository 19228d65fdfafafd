package watch

import (
	"cmp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/veltui/veltui/velero/decode"
)

// Malformed is a resource with fields that Velero's types cannot hold. It is in
// the snapshot like any other, with these fields left empty.
type Malformed struct {
	// Resource is the plural with its group, such as [Schedules].
	Resource string
	// Kind is the resource's kind, such as Schedule.
	Kind      string
	Namespace string
	Name      string
	UID       types.UID
	// Fields are never empty.
	Fields []decode.Malformed
}

// Ref names the resource as KIND/NAME, in lower case.
func (m Malformed) Ref() string { return strings.ToLower(m.Kind) + "/" + m.Name }

// malformedList keeps the malformed resources of all kinds.
type malformedList struct {
	objects map[types.UID]Malformed
	list    []Malformed
	stale   bool
}

// put notes what is malformed of a resource, or that nothing is any more.
func (l *malformedList) put(resource string, o client.Object, fields []decode.Malformed) {
	uid := uidOf(o)
	if len(fields) == 0 {
		l.drop(uid)
		return
	}
	if l.objects == nil {
		l.objects = map[types.UID]Malformed{}
	}
	l.objects[uid], l.stale = Malformed{resource, o.GetObjectKind().GroupVersionKind().Kind, o.GetNamespace(), o.GetName(), uid, fields}, true
}

func (l *malformedList) drop(uid types.UID) {
	if _, known := l.objects[uid]; known {
		delete(l.objects, uid)
		l.stale = true
	}
}

// sorted returns them by resource and name. A list that it returned stays as it
// was.
func (l *malformedList) sorted() []Malformed {
	if !l.stale {
		return l.list
	}
	list := make([]Malformed, 0, len(l.objects))
	for _, m := range l.objects {
		list = append(list, m)
	}
	slices.SortFunc(list, func(a, b Malformed) int {
		return cmp.Or(cmp.Compare(a.Resource, b.Resource), cmp.Compare(a.Name, b.Name), cmp.Compare(a.UID, b.UID))
	})
	l.list, l.stale = list, false
	return list
}
