package job

import (
	"path"
	"slices"
	"strings"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
)

// namespaces is the namespace filter of a backup. Velero's queue holds a
// backup back while another one takes a namespace of its own
// (pkg/controller/backup_queue_controller.go of Velero 1.18).
type namespaces struct {
	includes []string
	excludes []string
}

func (j *Job) namespaces() namespaces {
	b, ok := j.Object.(*velerov1.Backup)
	if !ok {
		return namespaces{}
	}
	return namespaces{includes: b.Spec.IncludedNamespaces, excludes: b.Spec.ExcludedNamespaces}
}

// all reports whether every namespace that is not excluded is taken.
func (n namespaces) all() bool {
	return len(n.includes) == 0 || slices.Contains(n.includes, "*")
}

// valid is false for patterns that Velero refuses: such a backup takes no
// namespace, and fails its validation when its turn comes.
func (n namespaces) valid() bool {
	if n.all() {
		return true // patterns are not expanded then, and so not checked here
	}
	if !slices.ContainsFunc(n.includes, isPattern) && !slices.ContainsFunc(n.excludes, isPattern) {
		return true
	}
	bad := func(p string) bool {
		_, err := path.Match(p, "")
		return err != nil || strings.Contains(p, "**") || strings.ContainsAny(p, "|()!{},")
	}
	return !slices.ContainsFunc(n.includes, bad) && !slices.ContainsFunc(n.excludes, bad)
}

func (n namespaces) takes(name string) bool {
	return !matchesAny(n.excludes, name) && (n.all() || matchesAny(n.includes, name))
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

// overlap is what two backups have in common.
type overlap struct {
	any bool
	// certain is false where only patterns meet, so that it depends on
	// namespaces that are not known here.
	certain bool
	// names are the namespaces or patterns; empty means all namespaces.
	names []string
}

// overlapping compares two filters. known are the cluster's namespaces, if
// they are known; without them the filters are compared with each other, and
// what may overlap counts as overlapping.
func overlapping(a, b namespaces, known []string) overlap {
	if !a.valid() || !b.valid() {
		return overlap{}
	}
	if known != nil {
		var both []string
		for _, name := range known {
			if a.takes(name) && b.takes(name) {
				both = append(both, name)
			}
		}
		if len(both) == 0 {
			return overlap{}
		}
		if a.all() && b.all() {
			both = nil
		}
		return overlap{any: true, certain: true, names: both}
	}
	switch {
	case a.all() && b.all():
		// Nobody excludes every namespace of a cluster by name.
		excluded := slices.Contains(a.excludes, "*") || slices.Contains(b.excludes, "*")
		return overlap{any: !excluded, certain: true}
	case a.all():
		return overlapWithAll(a, b)
	case b.all():
		return overlapWithAll(b, a)
	}
	return overlapOfLists(a, b)
}

// overlapWithAll compares a filter that takes everything with one that lists.
func overlapWithAll(all, listed namespaces) overlap {
	var names, perhaps []string
	for _, p := range listed.includes {
		switch {
		case slices.Contains(all.excludes, p) || slices.Contains(listed.excludes, p):
		case isPattern(p):
			perhaps = append(perhaps, p)
		case all.takes(p) && listed.takes(p):
			names = append(names, p)
		}
	}
	return overlapOf(names, perhaps)
}

func overlapOfLists(a, b namespaces) overlap {
	var names, perhaps []string
	for _, p := range a.includes {
		for _, q := range b.includes {
			switch {
			case !isPattern(p) && b.takes(p) && a.takes(p):
				names = appendNew(names, p)
			case !isPattern(q) && a.takes(q) && b.takes(q):
				names = appendNew(names, q)
			case isPattern(p) && isPattern(q) && mayMeet(p, q) &&
				!slices.Contains(a.excludes, q) && !slices.Contains(b.excludes, p):
				perhaps = appendNew(perhaps, p)
			}
		}
	}
	return overlapOf(names, perhaps)
}

func overlapOf(names, perhaps []string) overlap {
	if len(names) > 0 {
		return overlap{any: true, certain: true, names: names}
	}
	return overlap{any: len(perhaps) > 0, names: perhaps}
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

// String says in words what is shared.
func (o overlap) String() string {
	may := ""
	if !o.certain {
		may = "may "
	}
	switch {
	case len(o.names) == 0:
		return "both " + may + "take all namespaces"
	case len(o.names) == 1 && !o.certain:
		return "both may take namespaces like " + o.names[0]
	case !o.certain:
		return "both may take namespaces like " + list(o.names, 2)
	case len(o.names) == 1:
		return "both take namespace " + o.names[0]
	}
	return "both take namespaces " + list(o.names, 3)
}
