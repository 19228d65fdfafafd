package preflight

import (
	"bytes"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/veltui/veltui/collector"
	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/restore/diff"
	"github.com/veltui/veltui/internal/restore/live"
	"github.com/veltui/veltui/internal/restore/prepare"
	"github.com/veltui/veltui/internal/velero/veleroapi"
)

// Comparison compares existing objects with their items in the backup. Of an item's body, it keeps only hashes of the
// fields until the object of the cluster has been read.
type Comparison struct {
	prepare.Rules
	versions func(resource string) []string
	*diff.FieldTable
	items        map[itemKey]*comparedItem
	omittedCount int // how many objects are beyond [diff.MaxObjects]
	resources    map[string]bool
	// transitionRules are the custom resources whose CRD, as the backup holds it, has rules about the change of an
	// object.
	transitionRules map[string]bool
}

type itemKey struct{ resource, namespace, name string }

type comparedItem struct {
	// backupFields are the item's fields in the backup without what every restore resets; changedFields are those that
	// Velero's actions change after that.
	backupFields, changedFields []diff.FieldHash
	prepare.Change
	bound, headless bool // bound: a claim names its volume; headless: a Service without an address
	outcome         ExistingOutcome
	differingFields []string
	reason          string
	backupNamespace string // its namespace in the backup
	sourceCount     int    // how many items of the backup go there
}

// NewComparison makes a Comparison of the items that a restore is to restore and that exist. versions returns the API
// versions in which the backup holds a resource. The error is the cause of the fates' context.
func NewComparison(
	fates *collector.Fates,
	state *live.State,
	rules prepare.Rules,
	versions func(resource string) []string,
) (*Comparison, error) {
	c := newComparison(rules, versions)
	err := fates.EachItem(func(i collector.Item) {
		if !isRestored(i) {
			return
		}
		if object, seen := state.FindItem(i.Resource, i.TargetNamespace, i.Name); seen != live.Present ||
			!object.DeletingSince.IsZero() {
			return
		}
		at := itemKey{i.Resource, i.TargetNamespace, i.Name}
		switch {
		case c.items[at] != nil:
			c.items[at].sourceCount++
		case len(c.items) == diff.MaxObjects:
			c.omittedCount++
		default:
			c.items[at] = &comparedItem{backupNamespace: i.Namespace, sourceCount: 1}
			c.resources[i.Resource] = true
		}
	})
	return c, err
}

func newComparison(rules prepare.Rules, versions func(string) []string) *Comparison {
	rules.ClaimExists = func(string, string) bool { return true }
	return &Comparison{
		Rules:      rules,
		versions:   versions,
		FieldTable: diff.NewFieldTable(),
		items:      map[itemKey]*comparedItem{},

		resources:       map[string]bool{},
		transitionRules: map[string]bool{},
	}
}

// Len returns the number of compared objects.
func (c *Comparison) Len() int { return len(c.items) }

// findByBackup finds an item by its place in the backup. If another namespace is mapped to the item's namespace, the
// backup may also hold an item there that the restore leaves out.
func (c *Comparison) findByBackup(resource, namespace, name string) *comparedItem {
	to := namespace
	if mapped, ok := c.Restore.NamespaceMapping[namespace]; ok && namespace != "" {
		to = mapped
	}
	i := c.items[itemKey{resource, to, name}]
	if i == nil || i.backupNamespace != namespace {
		return nil
	}
	return i
}

// WantsBody reports whether the body of an item of the backup is needed.
func (c *Comparison) WantsBody(resource, namespace, name string) bool {
	i := c.findByBackup(resource, namespace, name)
	return i != nil && i.outcome == "" && i.backupFields == nil || c.isComparedCRD(resource, name)
}

// isComparedCRD reports whether an item is the CRD of objects whose patches are compared.
func (c *Comparison) isComparedCRD(resource, name string) bool {
	return resource == crds && c.resources[name] && c.Restore.ExistingResourcePolicy == veleroapi.PolicyTypeUpdate
}

// AddBackupItem adds the body of an item of the backup; nil stands for a body that is too large.
func (c *Comparison) AddBackupItem(resource, namespace, name string, body []byte) {
	if c.isComparedCRD(resource, name) && hasTransitionRules(body) {
		c.transitionRules[name] = true
	}
	i := c.findByBackup(resource, namespace, name)
	if i == nil || i.outcome != "" || i.backupFields != nil {
		return
	}
	object, why := c.ReadItem(body, i.sourceCount, c.versions(resource))
	if why != "" {
		i.setCannotTell(why)
		return
	}
	resetForComparison(object)
	i.backupFields = c.HashFields(object.Object)
	i.bound, i.headless = nestedString(
		object,
		"spec",
		"volumeName",
	) != "", nestedString(
		object,
		"spec",
		"clusterIP",
	) == "None"
	object.SetNamespace(namespace)
	i.Change = c.PrepareItem(resource, object)
	resetForComparison(object)
	if resource == serviceAccounts {
		indexSecretNames(object)
	}
	switch {
	case resource == roleBindings, resource == clusterRoleBindings, c.Modifier != nil && i.Difference == "":
		// What the restore is told to change counts as a difference, and is named.
		i.backupFields = c.HashFields(object.Object)
	case i.Changed:
		i.changedFields = diff.ChangedFields(i.backupFields, c.HashFields(object.Object))
	}
	c.AddKept(i.backupFields, i.changedFields)
}

// hasTransitionRules reports whether a CRD has validation rules that compare an object with what was there before
// (k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel/validation.go, oldSelf).
func hasTransitionRules(crd []byte) bool {
	_, rules, found := bytes.Cut(crd, []byte("x-kubernetes-validations"))
	return found && bytes.Contains(rules, []byte("oldSelf"))
}

func (i *comparedItem) setCannotTell(why string) { i.outcome, i.reason = OutcomeUnknown, why }

// BuildQuery returns the query for the objects that can be compared.
func (c *Comparison) BuildQuery() *live.Query {
	q := &live.Query{}
	for at, i := range c.items {
		if i.backupFields != nil && i.outcome == "" {
			q.AddItem(at.resource, at.namespace, at.name)
		}
	}
	return q
}

// CompareLive compares an object of the cluster, and changes it.
func (c *Comparison) CompareLive(resource string, object *unstructured.Unstructured) {
	i := c.items[itemKey{resource, object.GetNamespace(), object.GetName()}]
	if i == nil || i.backupFields == nil || i.outcome != "" {
		return
	}
	frozen, _, _ := unstructured.NestedBool(object.Object, "immutable")
	resetForComparison(object)
	if resource == serviceAccounts {
		indexSecretNames(object)
	}
	live := c.HashFields(object.Object)
	opposed := diff.ChangedFields(i.expectedFields(), live)
	against := c.FieldNames(opposed)
	differing := slices.DeleteFunc(
		c.FieldNames(diff.ChangedFields(i.backupFields, live)),
		func(f string) bool { return !slices.Contains(against, f) },
	)
	if resource == serviceAccounts {
		lacking := slices.DeleteFunc(opposed, func(f diff.FieldHash) bool { return f.Value != diff.Absent })
		i.mergeServiceAccount(c.FieldNames(lacking), against, c.Restore.ExistingResourcePolicy)
		return
	}
	bound := c.HasPath("spec.volumeName", live)
	i.decideOutcome(resource, c.Restore.ExistingResourcePolicy, frozen, bound, differing, against)
	if i.outcome != OutcomeEqual && i.outcome != OutcomeSkipped && i.differingFields == nil {
		i.differingFields = differing
	}
	i.backupFields, i.changedFields = nil, nil
}

// expectedFields returns the fields that Velero compares: those in the backup, as its actions change them.
func (i *comparedItem) expectedFields() []diff.FieldHash {
	over := diff.ValuesByPath(i.changedFields)
	all := slices.DeleteFunc(slices.Clone(i.backupFields), func(f diff.FieldHash) bool {
		_, changed := over[f.Path]
		return changed
	})
	return append(
		all,
		slices.DeleteFunc(slices.Clone(i.changedFields), func(f diff.FieldHash) bool { return f.Value == diff.Absent })...)
}

// mergeServiceAccount sets the outcome for a ServiceAccount, whatever the policy: Velero adds what is missing. Where
// nothing is missing, Velero does not even set its labels.
func (i *comparedItem) mergeServiceAccount(lacking, differing []string, policy veleroapi.PolicyType) {
	i.backupFields, i.changedFields = nil, nil
	if i.UnsureReason != "" {
		i.setCannotTell(i.UnsureReason)
		return
	}
	i.outcome = OutcomeEqual
	if policy == veleroapi.PolicyTypeUpdate ||
		slices.ContainsFunc(differing, func(f string) bool { return f != managedFieldsPath }) {
		i.outcome = OutcomeSkipped
	}
	for _, path := range lacking {
		if slices.ContainsFunc(mergedFields, func(f string) bool { return strings.HasPrefix(path, f+".") }) {
			i.outcome, i.differingFields = OutcomeMerged, append(i.differingFields, path)
		}
	}
}

// resetForComparison removes the fields that Velero does not compare, or makes them the same in both objects.
func resetForComparison(object *unstructured.Unstructured) {
	prepare.ResetMetadata(object)
	for _, path := range [][]string{
		{"namespace"},
		{"labels", veleroapi.RestoreNameLabel},
		{"labels", veleroapi.BackupNameLabel},
	} {
		unstructured.RemoveNestedField(object.Object, append([]string{"metadata"}, path...)...)
	}
}

func nestedString(o *unstructured.Unstructured, path ...string) string {
	s, _, _ := unstructured.NestedString(o.Object, path...)
	return s
}

func uncomparedText(n int) string {
	return "how " + human.CountForms(n, "more object differs", "more objects differ") + " from the backup"
}

// UncheckedItems returns what was not compared because it is too much. It is known once the backup has been read.
func (c *Comparison) UncheckedItems() (unlooked []Unchecked) {
	if c.omittedCount > 0 {
		unlooked = append(
			unlooked,
			Unchecked{
				What: uncomparedText(c.omittedCount),
				Why:  "veltui compares at most " + human.Count(diff.MaxObjects, "object"),
			},
		)
	}
	if c.UnkeptCount > 0 {
		unlooked = append(unlooked, Unchecked{What: uncomparedText(c.UnkeptCount), Why: diff.UnkeptReason})
	}
	return unlooked
}
