package live

import (
	"maps"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/veltui/veltui/internal/sanitize"
)

// Question is which items are looked for. Its zero value asks for none.
type Question struct {
	kinds    map[string]map[string]map[string]*Object // resource, namespace, name
	items    int
	answered map[[2]string]bool // the places, resource and namespace, that need no list
}

// Add asks for an item of a resource such as "deployments.apps"; namespace may be empty.
func (q *Question) Add(resource, namespace, name string) {
	if q.kinds == nil {
		q.kinds = map[string]map[string]map[string]*Object{}
	}
	spaces := q.kinds[resource]
	if spaces == nil {
		spaces = map[string]map[string]*Object{}
		q.kinds[resource] = spaces
	}
	names := spaces[namespace]
	if names == nil {
		names = map[string]*Object{}
		spaces[namespace] = names
	}
	if name = sanitize.String(name); names[name] == nil {
		names[name] = nil
		q.items++
	}
}

// Items is how many were asked for.
func (q *Question) Items() int { return q.items }

// Resources are those that are asked for, sorted.
func (q *Question) Resources() []string { return slices.Sorted(maps.Keys(q.kinds)) }

// Reuse takes over what a State tells; [Reader.Look] lists the other places, and those unseen.
func (q *Question) Reuse(known *State) {
	q.answered = map[[2]string]bool{}
	for resource, spaces := range q.kinds {
		for namespace, names := range spaces {
			at := [2]string{resource, namespace}
			before := known.question.kinds[resource][namespace]
			isNew := func(name string) bool {
				_, asked := before[name]
				return !asked
			}
			if _, unseen := known.unseen[at]; unseen || known.notServed[resource] ||
				slices.ContainsFunc(slices.Collect(maps.Keys(names)), isNew) {
				continue
			}
			for name := range names {
				names[name] = before[name]
			}
			q.answered[at] = true
		}
	}
}

// Object is what is kept of an object of the cluster. Its strings are safe to print.
type Object struct {
	Created  time.Time
	Deleting time.Time // since when it is being deleted, zero if it is not
	// Restore and Backup are the labels that Velero sets on what it creates (velero.io/restore-name and
	// velero.io/backup-name); with existingResourcePolicy update it sets them on what was there, too.
	Restore, Backup string
	Owner           string // its controller's kind, such as ReplicaSet; empty if it has none
	ByVelero        bool   // the last write to it, status aside, is Velero's
	Token           bool   // it has the annotation of a service account's token
}

// Seen is whether an item is there.
type Seen uint8

// An item that was not looked for, or could not be, is never Absent.
const (
	NotLooked Seen = iota
	Absent
	There
	NotServed // the cluster does not serve this kind, so that nothing of it can be there
)

// NotSeen is something that could not be looked at.
type NotSeen struct {
	Resource  string `json:"resource"`
	Namespace string `json:"namespace,omitempty"` // Namespace is empty for the whole cluster.
	Why       string `json:"why"`
}

// State is what was found of a [Question].
type State struct {
	question  *Question
	notServed map[string]bool
	unseen    map[[2]string]string // resource and namespace
	NotSeen   []NotSeen            // sorted by resource and namespace
	At        time.Time            // when the look began, by our clock
}

// Find is whether an item is there, and what is known of it then.
func (s *State) Find(resource, namespace, name string) (Object, Seen) {
	if s.notServed[resource] {
		return Object{}, NotServed
	}
	names := s.question.kinds[resource][namespace]
	object, asked := names[sanitize.String(name)]
	switch _, unseen := s.unseen[[2]string{resource, namespace}]; {
	case object != nil:
		return *object, There
	case !asked, unseen:
		return Object{}, NotLooked
	}
	return Object{}, Absent
}

// Why is why a place was not looked at, empty if it was.
func (s *State) Why(resource, namespace string) string {
	return s.unseen[[2]string{resource, namespace}]
}

// place is one list to ask for.
type place struct {
	resource  string
	namespace string   // empty for the whole cluster
	name      string   // name asks for one object alone
	within    []string // the namespaces that a list of the whole cluster is for
}

func (p place) options(page int64) metav1.ListOptions {
	o := metav1.ListOptions{Limit: page}
	if p.name != "" {
		o.FieldSelector = "metadata.name=" + p.name
	}
	return o
}

const (
	// fewNamespaces are listed one by one; for more, one list of the whole cluster costs less.
	fewNamespaces = 8
	fewNames      = 2   // how many objects of a place are asked for by name
	mostOneByOne  = 100 // in how many namespaces a kind is listed where the whole cluster may not be
)

func (q *Question) places() []place {
	var all []place
	for _, resource := range q.Resources() {
		spaces := slices.DeleteFunc(
			slices.Sorted(maps.Keys(q.kinds[resource])),
			func(namespace string) bool { return q.answered[[2]string{resource, namespace}] },
		)
		if len(spaces) > fewNamespaces {
			all = append(all, place{resource: resource, within: spaces})
			continue
		}
		all = append(all, q.oneByOne(resource, spaces)...)
	}
	return all
}

func (q *Question) oneByOne(resource string, namespaces []string) []place {
	var all []place
	for _, namespace := range namespaces {
		names := q.kinds[resource][namespace]
		if len(names) > fewNames {
			all = append(all, place{resource: resource, namespace: namespace})
			continue
		}
		for _, name := range slices.Sorted(maps.Keys(names)) {
			all = append(all, place{resource: resource, namespace: namespace, name: name})
		}
	}
	return all
}

// NewState is the State of a question whose answers are known: find is asked for each item, and nil
// stands for none. A NotSeen without Why is a resource that is not served.
func NewState(q *Question, find func(resource, namespace, name string) *Object, unseen ...NotSeen) *State {
	s := &State{question: q, notServed: map[string]bool{}, unseen: map[[2]string]string{}}
	for _, not := range unseen {
		if not.Why == "" {
			s.notServed[not.Resource] = true
			continue
		}
		s.unseen[[2]string{not.Resource, not.Namespace}] = not.Why
		s.NotSeen = append(s.NotSeen, not)
	}
	for resource, spaces := range q.kinds {
		for namespace, names := range spaces {
			for name := range names {
				if find != nil {
					names[name] = find(resource, namespace, name)
				}
			}
		}
	}
	return s
}
