package preflight

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"

	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/restore/diff"
	"github.com/veltui/veltui/internal/restore/live"
)

// Outcome is what Velero does with an object that exists (pkg/restore/restore.go of
// 1.18.3, restoreItem). Outcomes are API (docs/preflight.md).
type Outcome string

// The outcomes.
const (
	// Equal: it is as in the backup. Velero leaves it without a warning; with the
	// policy update it sets its own labels.
	Equal   Outcome = "Equal"
	Left    Outcome = "Left"    // it differs. Velero leaves it as it is, with a warning.
	Patched Outcome = "Patched" // it differs, and Velero patches it
	// PatchRefused: it differs in what cannot be changed. Velero's patch
	// fails with a warning, and Velero sets only its own labels.
	PatchRefused Outcome = "PatchRefused"
	Merged       Outcome = "Merged"     // Velero adds to it what the backup has more
	Skipped      Outcome = "Skipped"    // Velero does not touch it, and does not warn
	CannotTell   Outcome = "CannotTell" // veltui cannot tell
)

// Existing is an object of the target that a restore is to restore, too.
type Existing struct {
	Resource  string  `json:"resource"`
	Namespace string  `json:"namespace,omitempty"`
	Name      string  `json:"name"`
	Outcome   Outcome `json:"outcome"`
	// Fields are those that differ, without their values: most of them at most.
	Fields []string `json:"fields,omitempty"`
	Why    string   `json:"why,omitempty"` // Why is why veltui cannot tell.
}

// Existing is all that was compared, sorted. unseen is what could not be read of the
// cluster, and broken why the backup was not read to its end, if it was not.
func (c *Comparison) Existing(unseen []live.NotSeen, broken error) []Existing {
	all := make([]Existing, 0, len(c.items))
	for at, i := range c.items {
		e := Existing{Resource: at.resource, Namespace: at.namespace, Name: at.name, Outcome: i.outcome, Why: i.why}
		if i.outcome == "" {
			e.Outcome, e.Why = CannotTell, diff.WhyUnread(at.resource, at.namespace, i.inBackup != nil, broken, unseen)
		}
		e.Fields = diff.Shown(i.fields)
		all = append(all, e)
	}
	slices.SortFunc(all, func(x, y Existing) int {
		return cmp.Or(
			strings.Compare(x.Resource, y.Resource),
			strings.Compare(x.Namespace, y.Namespace),
			strings.Compare(x.Name, y.Name),
		)
	})
	return all
}

// special are resources of which more is to say than what Velero does with the object itself.
var special = map[string]bool{claims: true, volumes: true, snapshots: true, contents: true}

// sameContent is all that differs of objects with the same content.
const sameContent = "metadata.managedFields"

// comparedGroup is objects with the same outcome and cause; their reasons are the fields that differ.
type comparedGroup struct {
	group
	outcome  Outcome
	resource string
	why      string
	same     bool // the objects have the same content
}

func (c *check) findCompared() {
	all := map[string]*comparedGroup{}
	for _, e := range c.Existing {
		if special[e.Resource] || e.Outcome == PatchRefused && c.answered(e.Resource, e.Namespace, e.Name) {
			continue
		}
		same := !slices.ContainsFunc(e.Fields, func(f string) bool { return f != sameContent })
		key := fmt.Sprint(e.Outcome, " ", e.Resource, " ", same, " ", e.Why)
		if e.Outcome == Equal {
			key, e.Resource = "", ""
		}
		g := all[key]
		if g == nil {
			g = &comparedGroup{outcome: e.Outcome, resource: e.Resource, why: e.Why, same: same}
			all[key] = g
		}
		g.add(e.Namespace, e.Name)
		g.because(e.Fields...)
	}
	for _, key := range slices.Sorted(maps.Keys(all)) {
		c.find(all[key].fill(c.compared(all[key])))
	}
}

func (c *check) compared(g *comparedGroup) Finding {
	f := Finding{Severity: Note, Reason: ObjectsExist, Resource: g.resource}
	what, exist, differ := some(
		g.count,
		g.resource,
	), verb(
		g.count,
		"exists",
		"exist",
	), verb(
		g.count,
		"differs",
		"differ",
	)
	it, them := verb(g.count, "it", "they"), verb(g.count, "it", "them")
	update := c.Restore.ExistingResourcePolicy == velerov1.PolicyTypeUpdate
	switch g.outcome {
	case Equal:
		f.Reason = ObjectsEqual
		f.Sentence = fmt.Sprintf(
			"%s %s already and %s as the backup holds %s. Velero leaves %s and does not warn.",
			human.Count(g.count, "object"),
			exist,
			is(g.count),
			them,
			them,
		)
		if update {
			f.Sentence = fmt.Sprintf(
				"%s %s already and %s as the backup holds %s. Velero sets only its own labels.",
				human.Count(g.count, "object"),
				exist,
				is(g.count),
				them,
			)
		}
	case Skipped:
		f.Reason = ObjectsSkipped
		f.Sentence = fmt.Sprintf("%s %s already. Velero does not touch %s and does not warn.", what, exist, them)
	case Merged:
		f.Reason = ServiceAccountsMerged
		f.Sentence = fmt.Sprintf(
			"%s %s already. Velero adds what %s %s: %s.",
			what,
			exist,
			it,
			verb(g.count, "lacks", "lack"),
			g.fieldNames(),
		)
	case PatchRefused:
		f.Severity, f.Reason = Doubt, PatchesRefused
		f.Sentence = fmt.Sprintf(
			"%s %s already. Velero's patch changes fields that Kubernetes lets nobody change, so it fails with a "+
				"warning, and Velero sets only its own labels.%s",
			what,
			exist,
			g.from(),
		)
		f.Remedy = "To restore them anew, delete them first; to keep both, map the namespace to a new name."
	case CannotTell:
		f = c.exists(g.resource, g.count)
		f.Sentence += " veltui cannot tell more: " + g.why + "."
	case Patched:
		f.Reason = ObjectsPatched
		if g.same {
			f.Sentence = fmt.Sprintf(
				"%s %s already with the same content. Velero patches %s all the same: %s.",
				what,
				exist,
				them,
				g.nothing(),
			)
			break
		}
		f.Severity = Doubt
		f.Sentence = fmt.Sprintf(
			"%s %s already and %s from the backup. Velero patches %s to what the backup holds.%s%s",
			what,
			exist,
			differ,
			them,
			g.from(),
			c.moved(g, "lose to those of the new one what these bindings allow"),
		)
		f.Remedy = "To keep them as they are, restore with existingResourcePolicy none."
	case Left:
		if g.same {
			f.Sentence = fmt.Sprintf(
				"%s %s already with the same content. Velero leaves %s, but warns that %s %s: %s.",
				what,
				exist,
				them,
				it,
				differ,
				g.nothing(),
			)
			break
		}
		f.Severity = Doubt
		f.Sentence = fmt.Sprintf(
			"%s %s already and %s from the backup. Velero leaves %s with a warning.%s%s",
			what,
			exist,
			differ,
			them,
			g.from(),
			c.moved(g, "keep what these bindings allow, and those of the new one do not get it"),
		)
		f.Remedy = c.exists(g.resource, g.count).Remedy
	}
	return f
}

// moved: Velero maps the namespaces in the subjects of the bindings that it restores.
func (c *check) moved(g *comparedGroup, then string) string {
	if g.resource != clusterBindings || g.reasons["subjects"] == 0 || len(c.Restore.NamespaceMapping) == 0 {
		return ""
	}
	return " Velero maps the namespaces in the subjects of what it restores: accounts of the old namespace may " +
		then + "."
}

// nothing is the difference that Velero sees in objects with the same content.
func (g *comparedGroup) nothing() string {
	if len(g.reasons) > 0 {
		return "it also compares metadata.managedFields, which says who set a field and when"
	}
	return "what it changes in " + g.resource + " before it compares always makes a difference"
}

func (g *comparedGroup) from() string {
	if len(g.reasons) == 0 {
		return ""
	}
	return " Different: " + g.fieldNames() + "."
}

func (g *comparedGroup) fieldNames() string {
	names := slices.SortedFunc(maps.Keys(g.reasons), func(x, y string) int {
		return cmp.Or(g.reasons[y]-g.reasons[x], strings.Compare(x, y))
	})
	more := len(names) - maxNames
	names = names[:min(len(names), maxNames)]
	for i, name := range names {
		if n := g.reasons[name]; g.count > 1 {
			names[i] = fmt.Sprintf("%s (%d)", name, n)
		}
	}
	text := strings.Join(names, ", ")
	if more > 0 {
		text += fmt.Sprintf(" and %s", human.Count(more, "more field"))
	}
	return text
}
