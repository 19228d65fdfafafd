package preflight

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/restore/diff"
	"github.com/veltui/veltui/internal/restore/live"
	"github.com/veltui/veltui/internal/velero/veleroapi"
)

// ExistingOutcome is what Velero does with an object that exists (pkg/restore/restore.go of
// 1.18.3, restoreItem). Outcomes are API (docs/preflight.md).
type ExistingOutcome string

// The outcomes.
const (
	// OutcomeEqual: it is as in the backup. Velero leaves it without a warning; with the
	// policy update it sets its own labels.
	OutcomeEqual     ExistingOutcome = "Equal"
	OutcomeUnchanged ExistingOutcome = "Left"    // it differs. Velero leaves it as it is, with a warning.
	OutcomePatched   ExistingOutcome = "Patched" // it differs, and Velero patches it
	// OutcomePatchRefused: it differs in what cannot be changed. Velero's patch
	// fails with a warning, and Velero sets only its own labels.
	OutcomePatchRefused ExistingOutcome = "PatchRefused"
	OutcomeMerged       ExistingOutcome = "Merged"     // Velero adds to it what the backup has more
	OutcomeSkipped      ExistingOutcome = "Skipped"    // Velero does not touch it, and does not warn
	OutcomeUnknown      ExistingOutcome = "CannotTell" // veltui cannot tell
)

// ExistingObject is an object of the target that a restore is to restore, too.
type ExistingObject struct {
	Resource  string          `json:"resource"`
	Namespace string          `json:"namespace,omitempty"`
	Name      string          `json:"name"`
	Outcome   ExistingOutcome `json:"outcome"`
	// Fields are those that differ, without their values: most of them at most.
	Fields []string `json:"fields,omitempty"`
	// Why is why veltui cannot tell, or why the API server refuses the patch in a dry run.
	Why string `json:"why,omitempty"`
}

// ExistingObjects returns all compared objects, sorted. unseen is what could not be read of the cluster; broken is why
// the backup was not read to its end, nil if it was.
func (c *Comparison) ExistingObjects(unseen []live.Unchecked, broken error) []ExistingObject {
	all := make([]ExistingObject, 0, len(c.items))
	for at, i := range c.items {
		e := ExistingObject{Resource: at.resource, Namespace: at.namespace, Name: at.name, Outcome: i.outcome, Why: i.reason}
		if e.Outcome == OutcomePatched && c.transitionRules[at.resource] {
			e.Outcome, e.Why = OutcomeUnknown, "the CRD has rules that compare an object with what was there (oldSelf), and "+
				"may refuse Velero's patch"
		}
		if i.outcome == "" {
			e.Outcome, e.Why = OutcomeUnknown, diff.UnreadReason(
				at.resource,
				at.namespace,
				i.backupFields != nil,
				broken,
				unseen,
			)
		}
		e.Fields = diff.ShownFields(i.differingFields)
		all = append(all, e)
	}
	slices.SortFunc(all, func(x, y ExistingObject) int {
		return cmp.Or(
			strings.Compare(x.Resource, y.Resource),
			strings.Compare(x.Namespace, y.Namespace),
			strings.Compare(x.Name, y.Name),
		)
	})
	return all
}

// correctExisting returns the existing objects with the outcomes that a dry run found: the API server's answer to
// Velero's patch counts more than what the fields tell. An accepted patch of a claim or a volume proves nothing: how
// the data comes back may change the patch; nor does a patch of fields that the API server silently keeps.
func correctExisting(existing []ExistingObject, d *DryRun) []ExistingObject {
	if d == nil {
		return existing
	}
	type key struct{ resource, namespace, name string }
	refused, failed := map[key]string{}, map[key]bool{}
	for _, r := range d.Rejected {
		at := key{r.Resource, r.Namespace, r.Name}
		if failed[at] = r.ByVelero; !r.ByVelero {
			refused[at] = r.Message
		}
	}
	existing = slices.Clone(existing)
	for n := range existing {
		e := &existing[n]
		at := key{e.Resource, e.Namespace, e.Name}
		why, isRefused := refused[at]
		switch {
		case failed[at]: // Velero sends no patch
		case isRefused:
			e.Outcome, e.Why = OutcomePatchRefused, why
		case e.Outcome != OutcomePatchRefused && e.Outcome != OutcomeUnknown || specialResources[e.Resource] ||
			revertedFields[e.Resource] != nil:
		case d.Answered(e.Resource, e.Namespace, e.Name):
			e.Outcome, e.Why = OutcomePatched, ""
		}
	}
	return existing
}

// specialResources are the resources with more to report than what Velero does with the object itself.
var specialResources = map[string]bool{claims: true, volumes: true, snapshots: true, snapshotContents: true}

// managedFieldsPath is the only field that differs between objects with the same content.
const managedFieldsPath = "metadata.managedFields"

// comparedGroup is a group of objects with the same outcome and cause; its reasons are the fields that differ.
type comparedGroup struct {
	group
	outcome     ExistingOutcome
	resource    string
	reason      string
	sameContent bool // the objects have the same content
}

func (c *checker) checkCompared() {
	all := map[string]*comparedGroup{}
	for _, e := range c.Existing {
		if specialResources[e.Resource] || e.Outcome == OutcomePatchRefused && c.isAnswered(e.Resource, e.Namespace, e.Name) {
			continue
		}
		same := !slices.ContainsFunc(e.Fields, func(f string) bool { return f != managedFieldsPath })
		key := fmt.Sprint(e.Outcome, " ", e.Resource, " ", same, " ", e.Why)
		if e.Outcome == OutcomeEqual {
			key, e.Resource = "", ""
		}
		g := all[key]
		if g == nil {
			g = &comparedGroup{outcome: e.Outcome, resource: e.Resource, reason: e.Why, sameContent: same}
			all[key] = g
		}
		g.addItem(e.Namespace, e.Name)
		g.addReasons(e.Fields...)
	}
	for _, key := range slices.Sorted(maps.Keys(all)) {
		c.addFinding(all[key].fillFinding(c.comparedFinding(all[key])))
	}
}

func (c *checker) comparedFinding(g *comparedGroup) Finding {
	f := Finding{Severity: Note, Reason: ObjectsExist, Resource: g.resource}
	what, exist, differ := countText(
		g.count,
		g.resource,
	), pluralVerb(
		g.count,
		"exists",
		"exist",
	), pluralVerb(
		g.count,
		"differs",
		"differ",
	)
	it, them := pluralVerb(g.count, "it", "they"), pluralVerb(g.count, "it", "them")
	update := c.Restore.ExistingResourcePolicy == veleroapi.PolicyTypeUpdate
	switch g.outcome {
	case OutcomeEqual:
		f.Reason = ObjectsEqual
		f.Sentence = fmt.Sprintf(
			"%s %s already and %s as the backup holds %s. Velero leaves %s and does not warn.",
			human.Count(g.count, "object"),
			exist,
			isOrAre(g.count),
			them,
			them,
		)
		if update {
			f.Sentence = fmt.Sprintf(
				"%s %s already and %s as the backup holds %s. Velero sets only its own labels.",
				human.Count(g.count, "object"),
				exist,
				isOrAre(g.count),
				them,
			)
		}
	case OutcomeSkipped:
		f.Reason = ObjectsSkipped
		f.Sentence = fmt.Sprintf("%s %s already. Velero does not touch %s and does not warn.", what, exist, them)
	case OutcomeMerged:
		f.Reason = ServiceAccountsMerged
		f.Sentence = fmt.Sprintf(
			"%s %s already. Velero adds what %s %s: %s.",
			what,
			exist,
			it,
			pluralVerb(g.count, "lacks", "lack"),
			g.fieldNames(),
		)
	case OutcomePatchRefused:
		f.Severity, f.Reason = Doubt, PatchesRefused
		f.Sentence = fmt.Sprintf(
			"%s %s already. Velero's patch changes fields that Kubernetes lets nobody change, so it fails with a "+
				"warning, and Velero sets only its own labels.%s",
			what,
			exist,
			g.differingText(),
		)
		f.Remedy = "To restore them anew, delete them first" + g.keepBothText() + "."
	case OutcomeUnknown:
		f = c.existingFinding(g.resource, &g.group)
		f.Sentence += " veltui cannot tell more: " + g.reason + "."
	case OutcomePatched:
		f.Reason = ObjectsPatched
		if g.sameContent {
			f.Sentence = fmt.Sprintf(
				"%s %s already with the same content. Velero patches %s all the same: %s.",
				what,
				exist,
				them,
				g.hiddenDifference(),
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
			g.differingText(),
			c.movedSubjectsText(g, "lose to those of the new one what these bindings allow"),
		)
		f.Remedy = keepRemedy
	case OutcomeUnchanged:
		if g.sameContent {
			f.Sentence = fmt.Sprintf(
				"%s %s already with the same content. Velero leaves %s, but warns that %s %s: %s.",
				what,
				exist,
				them,
				it,
				differ,
				g.hiddenDifference(),
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
			g.differingText(),
			c.movedSubjectsText(g, "keep what these bindings allow, and those of the new one do not get it"),
		)
		f.Remedy = c.existingFinding(g.resource, &g.group).Remedy
	}
	return f
}

// movedSubjectsText says that Velero maps the namespaces in the subjects of the bindings that it restores.
func (c *checker) movedSubjectsText(g *comparedGroup, then string) string {
	if g.resource != clusterRoleBindings || g.reasons["subjects"] == 0 || len(c.Restore.NamespaceMapping) == 0 {
		return ""
	}
	return " Velero maps the namespaces in the subjects of what it restores: accounts of the old namespace may " +
		then + "."
}

// hiddenDifference returns the difference that Velero sees between objects with the same content.
func (g *comparedGroup) hiddenDifference() string {
	if len(g.reasons) > 0 {
		return "it also compares metadata.managedFields, which says who set a field and when"
	}
	return "what it changes in " + g.resource + " before it compares always makes a difference"
}

func (g *comparedGroup) differingText() string {
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
