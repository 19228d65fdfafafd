package live

import (
	"maps"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/veltui/veltui/internal/sanitize"
)

// Query says which items to look for. Its zero value asks for none.
type Query struct {
	wantedItems map[string]map[string]map[string]*Object // resource, namespace, name
	itemCount   int
	answered    map[[2]string]bool // the resources and namespaces that need no list
}

// AddItem adds an item of a resource such as "deployments.apps"; namespace may be empty.
func (q *Query) AddItem(resource, namespace, name string) {
	if q.wantedItems == nil {
		q.wantedItems = map[string]map[string]map[string]*Object{}
	}
	spaces := q.wantedItems[resource]
	if spaces == nil {
		spaces = map[string]map[string]*Object{}
		q.wantedItems[resource] = spaces
	}
	names := spaces[namespace]
	if names == nil {
		names = map[string]*Object{}
		spaces[namespace] = names
	}
	if name = sanitize.String(name); names[name] == nil {
		names[name] = nil
		q.itemCount++
	}
}

// CountItems returns the number of items in the query.
func (q *Query) CountItems() int { return q.itemCount }

// Resources returns the resources of the query, sorted.
func (q *Query) Resources() []string { return slices.Sorted(maps.Keys(q.wantedItems)) }

// ReuseState takes over the results in known; [Reader.FetchState] lists only the other places, and those that could not
// be checked.
func (q *Query) ReuseState(known *State) {
	q.answered = map[[2]string]bool{}
	for resource, spaces := range q.wantedItems {
		for namespace, names := range spaces {
			at := [2]string{resource, namespace}
			before := known.query.wantedItems[resource][namespace]
			isNew := func(name string) bool {
				_, asked := before[name]
				return !asked
			}
			if _, unseen := known.uncheckedReasons[at]; unseen || known.notServed[resource] ||
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

// Object is what is kept of an object in the cluster. Its strings are safe to print.
type Object struct {
	Created       time.Time
	DeletingSince time.Time // since when it is being deleted, zero if it is not
	// RestoreName and Backup are the labels that Velero sets on what it creates (velero.io/restore-name and
	// velero.io/backup-name); with existingResourcePolicy update, Velero also sets them on existing objects.
	RestoreName, BackupName string
	OwnerKind               string // its controller's kind, such as ReplicaSet; empty if it has none
	LastWrittenByVelero     bool   // the last write to it, status aside, is Velero's
	WrittenByVelero         bool   // one of its managed fields' entries is Velero's
	// FirstWritten is the oldest time in its managed fields, zero if they have none.
	FirstWritten       time.Time
	HasTokenAnnotation bool // it has the annotation of a service account's token
}

// Presence says whether an item is there.
type Presence uint8

// An item that was not checked, or could not be, is never Absent.
const (
	Unknown Presence = iota
	Absent
	Present
	NotServed // the cluster does not serve this kind, so no item of it can be there
)

// Unchecked is something that could not be looked at.
type Unchecked struct {
	Resource  string `json:"resource"`
	Namespace string `json:"namespace,omitempty"` // Namespace is empty for the whole cluster.
	Why       string `json:"why"`
}

// State is the result of a [Query].
type State struct {
	query            *Query
	notServed        map[string]bool
	uncheckedReasons map[[2]string]string // resource and namespace
	Unchecked        []Unchecked          // sorted by resource and namespace
	CheckedAt        time.Time            // when the check began, by our clock
}

// FindItem returns whether an item is there, and what is known about an item that is.
func (s *State) FindItem(resource, namespace, name string) (Object, Presence) {
	if s.notServed[resource] {
		return Object{}, NotServed
	}
	names := s.query.wantedItems[resource][namespace]
	object, asked := names[sanitize.String(name)]
	switch _, unseen := s.uncheckedReasons[[2]string{resource, namespace}]; {
	case object != nil:
		return *object, Present
	case !asked, unseen:
		return Object{}, Unknown
	}
	return Object{}, Absent
}

// UncheckedReason returns why a resource was not checked in a namespace, empty if it was.
func (s *State) UncheckedReason(resource, namespace string) string {
	return s.uncheckedReasons[[2]string{resource, namespace}]
}

// listTarget is one list to request.
type listTarget struct {
	resource   string
	namespace  string   // empty for the whole cluster
	name       string   // requests only the object with this name
	namespaces []string // the namespaces that a list of the whole cluster covers
}

func (p listTarget) listOptions(page int64) metav1.ListOptions {
	o := metav1.ListOptions{Limit: page}
	if p.name != "" {
		o.FieldSelector = "metadata.name=" + p.name
	}
	return o
}

const (
	// maxNamespaceLists is how many namespaces are listed one by one; for more, one list of the whole cluster costs less.
	maxNamespaceLists = 8
	maxNameRequests   = 2   // how many objects of a namespace are requested by name
	maxNamespaces     = 100 // in how many namespaces a kind is listed where the user may not list the whole cluster
)

func (q *Query) listTargets() []listTarget {
	var all []listTarget
	for _, resource := range q.Resources() {
		spaces := slices.DeleteFunc(
			slices.Sorted(maps.Keys(q.wantedItems[resource])),
			func(namespace string) bool { return q.answered[[2]string{resource, namespace}] },
		)
		if len(spaces) > maxNamespaceLists {
			all = append(all, listTarget{resource: resource, namespaces: spaces})
			continue
		}
		all = append(all, q.namespacedTargets(resource, spaces)...)
	}
	return all
}

func (q *Query) namespacedTargets(resource string, namespaces []string) []listTarget {
	var all []listTarget
	for _, namespace := range namespaces {
		names := q.wantedItems[resource][namespace]
		if len(names) > maxNameRequests {
			all = append(all, listTarget{resource: resource, namespace: namespace})
			continue
		}
		for _, name := range slices.Sorted(maps.Keys(names)) {
			all = append(all, listTarget{resource: resource, namespace: namespace, name: name})
		}
	}
	return all
}

// NewState returns the State of a query with known answers: find is called for each item, and nil stands for an
// absent one. An entry of unseen without Why is a resource that is not served.
func NewState(q *Query, find func(resource, namespace, name string) *Object, unseen ...Unchecked) *State {
	s := &State{query: q, notServed: map[string]bool{}, uncheckedReasons: map[[2]string]string{}}
	for _, not := range unseen {
		if not.Why == "" {
			s.notServed[not.Resource] = true
			continue
		}
		s.uncheckedReasons[[2]string{not.Resource, not.Namespace}] = not.Why
		s.Unchecked = append(s.Unchecked, not)
	}
	for resource, spaces := range q.wantedItems {
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
