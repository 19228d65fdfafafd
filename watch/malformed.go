package watch

import (
	"cmp"
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

// putMalformed notes what is malformed of a resource, or that nothing is any more.
func (s *Store) putMalformed(k *kind, o client.Object, fields []decode.Malformed) {
	uid := uidOf(o)
	if len(fields) == 0 {
		s.malformed.drop(uid)
		return
	}
	s.malformed.put(uid, Malformed{k.resource, k.gvk.Kind, o.GetNamespace(), o.GetName(), uid, fields})
}

func compareMalformed(a, b Malformed) int {
	return cmp.Or(cmp.Compare(a.Resource, b.Resource), cmp.Compare(a.Name, b.Name), cmp.Compare(a.UID, b.UID))
}
