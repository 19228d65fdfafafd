package velero

import (
	"path"
	"slices"
	"strings"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Namespaces is a namespace filter, as a Backup or Restore has it
// (pkg/util/collections/includes_excludes.go). No Includes stand for all.
type Namespaces struct {
	Includes []string
	Excludes []string
}

// NamespacesOf is the namespace filter of a Backup or Restore.
func NamespacesOf(o metav1.Object) Namespaces {
	switch o := o.(type) {
	case *velerov1.Backup:
		return Namespaces{o.Spec.IncludedNamespaces, o.Spec.ExcludedNamespaces}
	case *velerov1.Restore:
		return Namespaces{o.Spec.IncludedNamespaces, o.Spec.ExcludedNamespaces}
	}
	return Namespaces{}
}

// all reports whether every namespace that is not excluded is taken.
func (n Namespaces) all() bool {
	return len(n.Includes) == 0 || slices.Contains(n.Includes, "*")
}

// valid is false for patterns that Velero refuses: such a backup takes no
// namespace, and fails its validation when its turn comes.
func (n Namespaces) valid() bool {
	if n.all() {
		return true // patterns are not expanded then, and so not checked here
	}
	if !slices.ContainsFunc(n.Includes, isPattern) && !slices.ContainsFunc(n.Excludes, isPattern) {
		return true
	}
	bad := func(p string) bool {
		_, err := path.Match(p, "")
		return err != nil || strings.Contains(p, "**") || strings.ContainsAny(p, "|()!{},")
	}
	return !slices.ContainsFunc(n.Includes, bad) && !slices.ContainsFunc(n.Excludes, bad)
}

// Takes reports whether the filter takes a namespace of that name.
func (n Namespaces) Takes(name string) bool {
	return !matchesAny(n.Excludes, name) && (n.all() || matchesAny(n.Includes, name))
}

func isPattern(s string) bool { return strings.ContainsAny(s, "*?[") }

func matchesAny(patterns []string, name string) bool {
	for _, p := range patterns {
		// Velero's globs know no negated class by "^", path.Match does.
		if ok, err := path.Match(strings.ReplaceAll(p, "[^", `[\^`), name); ok && err == nil {
			return true
		}
	}
	return false
}

// Overlap is which namespaces two filters both take.
type Overlap struct {
	// Any is false if they have no namespace in common; the rest is not set then.
	Any bool
	// Certain is false where only patterns meet, so that it depends on
	// namespaces that are not known here.
	Certain bool
	// Names are the namespaces or patterns; empty means all namespaces.
	Names []string
}

// Overlap compares two filters as Velero's queue does, which holds a backup back
// while another takes one of its namespaces (pkg/controller/
// backup_queue_controller.go, detectNSConflictsInternal, since 1.18.0). known are the
// cluster's namespaces, nil if they are not known; without them the filters are
// compared with each other, and what may overlap counts as overlapping.
func (n Namespaces) Overlap(b Namespaces, known []string) Overlap {
	a := n
	if !a.valid() || !b.valid() {
		return Overlap{}
	}
	if known != nil {
		var both []string
		for _, name := range known {
			if a.Takes(name) && b.Takes(name) {
				both = append(both, name)
			}
		}
		if len(both) == 0 {
			return Overlap{}
		}
		if a.all() && b.all() {
			both = nil
		}
		return Overlap{Any: true, Certain: true, Names: both}
	}
	switch {
	case a.all() && b.all():
		// Nobody excludes every namespace of a cluster by name.
		excluded := slices.Contains(a.Excludes, "*") || slices.Contains(b.Excludes, "*")
		return Overlap{Any: !excluded, Certain: true}
	case a.all():
		return overlapWithAll(a, b)
	case b.all():
		return overlapWithAll(b, a)
	}
	return overlapOfLists(a, b)
}

// overlapWithAll compares a filter that takes everything with one that lists.
func overlapWithAll(all, listed Namespaces) Overlap {
	var names, perhaps []string
	for _, p := range listed.Includes {
		switch {
		case slices.Contains(all.Excludes, p) || slices.Contains(listed.Excludes, p):
		case isPattern(p):
			perhaps = append(perhaps, p)
		case all.Takes(p) && listed.Takes(p):
			names = append(names, p)
		}
	}
	return overlapOf(names, perhaps)
}

func overlapOfLists(a, b Namespaces) Overlap {
	var names, perhaps []string
	for _, p := range a.Includes {
		for _, q := range b.Includes {
			switch {
			case !isPattern(p) && b.Takes(p) && a.Takes(p):
				names = appendNew(names, p)
			case !isPattern(q) && a.Takes(q) && b.Takes(q):
				names = appendNew(names, q)
			case isPattern(p) && isPattern(q) && mayMeet(p, q) &&
				!slices.Contains(a.Excludes, q) && !slices.Contains(b.Excludes, p):
				perhaps = appendNew(perhaps, p)
			}
		}
	}
	return overlapOf(names, perhaps)
}

func overlapOf(names, perhaps []string) Overlap {
	if len(names) > 0 {
		return Overlap{Any: true, Certain: true, Names: names}
	}
	return Overlap{Any: len(perhaps) > 0, Names: perhaps}
}

func appendNew(list []string, s string) []string {
	if slices.Contains(list, s) {
		return list
	}
	return append(list, s)
}

// mayMeet reports whether one name could match both patterns, as far as their
// fixed beginnings and ends tell. It errs on the side of yes.
func mayMeet(p, q string) bool {
	pHead, pTail := fixedEnds(p)
	qHead, qTail := fixedEnds(q)
	return (strings.HasPrefix(pHead, qHead) || strings.HasPrefix(qHead, pHead)) &&
		(strings.HasSuffix(pTail, qTail) || strings.HasSuffix(qTail, pTail))
}

func fixedEnds(p string) (head, tail string) {
	head = p[:strings.IndexAny(p, "*?[")]
	tail = p[strings.LastIndexAny(p, "*?]")+1:]
	return head, tail
}
