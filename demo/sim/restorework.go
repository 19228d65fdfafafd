package sim

import (
	"fmt"
	"hash/fnv"
)

// restoreWork counts as Velero's restore does (pkg/restore/restore.go): R keys
// restored, N items selected, P of them handled. The total that it reports is
// R + (N - P), and moves for the reasons of velero-facts 2.1.
type restoreWork struct {
	filter  restoreFilter
	mapping map[string]string
	items   []*Item          // selected, in restore order; N of them
	byKey   map[string]*Item // all that the tarball holds
	quotas  map[string]int
	exists  map[string]bool // namespaces of the target cluster

	next     int // index into items
	handled  int // P
	keys     map[string]bool
	taken    map[string]int // ConfigMaps and Secrets by namespace
	outcomes []Outcome
}

func (s *Sim) planRestore(source *BackupRecord, filter restoreFilter, mapping map[string]string) *restoreWork {
	w := &restoreWork{
		filter: filter, mapping: mapping, quotas: s.Cluster.Quotas,
		byKey: map[string]*Item{}, exists: map[string]bool{}, keys: map[string]bool{}, taken: map[string]int{},
	}
	for namespace := range s.namespaces.byName {
		w.exists[namespace] = true
	}
	for _, item := range source.Items {
		w.byKey[item.key()] = item
		if filter.lists(item) {
			w.items = append(w.items, item)
		}
	}
	inRestoreOrder(w.items)
	return w
}

// definitionsPass restores the CRDs before anything is counted or reported.
func (w *restoreWork) definitionsPass() {
	for _, item := range w.items {
		if item.GroupResource() == definitionsResource {
			w.enter(item, "skipped")
		}
	}
}

func (w *restoreWork) restored() int { return len(w.keys) }
func (w *restoreWork) total() int    { return len(w.keys) + len(w.items) - w.handled }
func (w *restoreWork) done() bool    { return w.next == len(w.items) }
func (w *restoreWork) peek() *Item   { return w.items[w.next] }

// handle restores the next item with what it brings along.
func (w *restoreWork) handle(warnings, errors *Results) {
	item := w.items[w.next]
	w.next++
	if item.GroupResource() == "namespaces" {
		// Counted in N, made at once, and never in P.
		w.ensureNamespace(item.Name)
		return
	}
	w.handled++
	w.restore(item, warnings, errors)
}

func (w *restoreWork) restore(item *Item, warnings, errors *Results) {
	if item.Namespace != "" {
		w.ensureNamespace(item.Namespace)
	}
	if item.Ended || w.keys[w.targetKey(item)] {
		return
	}
	w.enter(item, w.outcome(item, warnings, errors))
	for _, claim := range item.Claims {
		w.bring("persistentvolumeclaims/"+item.Namespace+"/"+claim, warnings, errors)
	}
	if item.PersistentVolume != "" {
		w.bring("persistentvolumes/"+item.PersistentVolume, warnings, errors)
	}
}

// bring restores an additional item if the tarball holds it and the filters
// admit it.
func (w *restoreWork) bring(key string, warnings, errors *Results) {
	if item, ok := w.byKey[key]; ok && w.filter.admits(item) {
		w.restore(item, warnings, errors)
	}
}

// ensureNamespace makes a target namespace that is missing, which counts as
// one restored item.
func (w *restoreWork) ensureNamespace(source string) {
	target := w.target(source)
	if w.exists[target] {
		return
	}
	w.exists[target] = true
	namespace := &Item{Version: "v1", Resource: "namespaces", Kind: "Namespace", Name: target}
	w.keys["namespaces/"+target] = true
	w.outcomes = append(w.outcomes, Outcome{Item: namespace, Action: "created"})
}

func (w *restoreWork) enter(item *Item, action string) {
	key := w.targetKey(item)
	if w.keys[key] {
		return
	}
	w.keys[key] = true
	w.outcomes = append(w.outcomes, Outcome{Item: item, Namespace: w.target(item.Namespace), Action: action})
}

func (w *restoreWork) target(namespace string) string {
	if mapped, ok := w.mapping[namespace]; ok {
		return mapped
	}
	return namespace
}

func (w *restoreWork) targetKey(item *Item) string {
	moved := *item
	moved.Namespace = w.target(item.Namespace)
	return moved.key()
}

// outcome is what becomes of an item: a quota refuses it, it is there already
// (with a warning if it differs), or it is created.
func (w *restoreWork) outcome(item *Item, warnings, errors *Results) string {
	target := w.target(item.Namespace)
	resource := item.GroupResource()
	if quota, limited := w.quotas[target]; limited && (resource == "configmaps" || resource == "secrets") {
		count := target + "/" + resource
		if w.taken[count]++; w.taken[count] > quota {
			errors.add(target, fmt.Sprintf("error restoring %s/%s/%s: %s %q is forbidden: exceeded quota: small, requested: count/%s=1, used: count/%s=%d, limited: count/%s=%d",
				resource, target, item.Name, resource, item.Name, resource, resource, quota, resource, quota))
			return "failed"
		}
	}
	switch {
	case resource == uploadsResource:
		return "skipped"
	case item.Namespace != "" && target != item.Namespace:
		return "created"
	case item.Namespace == "" || differs(item):
		where := item.Kind + ":" + item.Name
		warnings.add(target, "could not restore, "+where+" already exists. Warning: the in-cluster version is different than the backed-up version")
		return "failed"
	}
	return "skipped"
}

// differs picks the few objects that changed in the cluster since the backup.
func differs(item *Item) bool {
	h := fnv.New32a()
	h.Write([]byte(item.key()))
	return h.Sum32()%23 == 0
}
