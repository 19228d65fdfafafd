package preflight

import (
	"slices"
	"strings"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/veltui/veltui/collector"
	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/restore/diff"
	"github.com/veltui/veltui/internal/restore/live"
	"github.com/veltui/veltui/internal/restore/prepare"
)

// Comparison compares objects that exist with what the backup holds of them. Of a
// body, only hashes of its fields are kept, until the object of the cluster is there.
type Comparison struct {
	prepare.Rules
	versions func(resource string) []string
	*diff.Table
	items map[place]*compared
	left  int // how many objects are beyond [diff.MaxObjects]
}

type place struct{ resource, namespace, name string }

type compared struct {
	// inBackup are its fields in the backup without what every restore resets, and
	// changed those that Velero's actions change after that.
	inBackup, changed []diff.Field
	prepare.Change
	bound, headless bool // bound: a claim names its volume; headless: a Service without an address
	outcome         Outcome
	fields          []string
	why             string
	from            string // its namespace in the backup
	sources         int    // how many items of the backup go there
}

// NewComparison makes a Comparison of what a restore is to restore and is there. versions says of
// a resource in which API versions the backup holds it. Its error is the cause of the context of fates.
func NewComparison(
	fates *collector.Fates,
	state *live.State,
	rules prepare.Rules,
	versions func(resource string) []string,
) (*Comparison, error) {
	c := newComparison(rules, versions)
	err := fates.Each(func(i collector.Item) {
		if !isRestored(i) {
			return
		}
		if object, seen := state.Find(i.Resource, i.Target, i.Name); seen != live.There || !object.Deleting.IsZero() {
			return
		}
		at := place{i.Resource, i.Target, i.Name}
		switch {
		case c.items[at] != nil:
			c.items[at].sources++
		case len(c.items) == diff.MaxObjects:
			c.left++
		default:
			c.items[at] = &compared{from: i.Namespace, sources: 1}
		}
	})
	return c, err
}

func newComparison(rules prepare.Rules, versions func(string) []string) *Comparison {
	rules.ClaimExists = func(string, string) bool { return true }
	return &Comparison{Rules: rules, versions: versions, Table: diff.NewTable(), items: map[place]*compared{}}
}

// Len is how many objects are compared.
func (c *Comparison) Len() int { return len(c.items) }

// at finds an item by its place in the backup. The backup may also hold an item of the
// namespace that another is mapped to, and which the restore leaves out.
func (c *Comparison) at(resource, namespace, name string) *compared {
	to := namespace
	if mapped, ok := c.Restore.NamespaceMapping[namespace]; ok && namespace != "" {
		to = mapped
	}
	i := c.items[place{resource, to, name}]
	if i == nil || i.from != namespace {
		return nil
	}
	return i
}

// Wants says whether the body of an item of the backup is needed.
func (c *Comparison) Wants(resource, namespace, name string) bool {
	i := c.at(resource, namespace, name)
	return i != nil && i.outcome == "" && i.inBackup == nil
}

// Backup takes the body of an item of the backup; nil is one that is too large.
func (c *Comparison) Backup(resource, namespace, name string, body []byte) {
	i := c.at(resource, namespace, name)
	if i == nil || i.outcome != "" || i.inBackup != nil {
		return
	}
	object, why := c.Read(body, i.sources, c.versions(resource))
	if why != "" {
		i.cannotTell(why)
		return
	}
	reset(object)
	i.inBackup = c.Sign(object.Object)
	i.bound, i.headless = nested(object, "spec", "volumeName") != "", nested(object, "spec", "clusterIP") == "None"
	object.SetNamespace(namespace)
	i.Change = c.Item(resource, object)
	reset(object)
	if resource == serviceAccounts {
		spread(object)
	}
	switch {
	case resource == bindings, resource == clusterBindings, c.Modifier != nil && i.Differs == "":
		// What the restore is told to change counts, and is named.
		i.inBackup = c.Sign(object.Object)
	case i.Changed:
		i.changed = diff.Changes(i.inBackup, c.Sign(object.Object))
	}
	c.Keep(i.inBackup, i.changed)
}

func (i *compared) cannotTell(why string) { i.outcome, i.why = CannotTell, why }

// Question asks for the objects that can be compared.
func (c *Comparison) Question() *live.Question {
	q := &live.Question{}
	for at, i := range c.items {
		if i.inBackup != nil && i.outcome == "" {
			q.Add(at.resource, at.namespace, at.name)
		}
	}
	return q
}

// Live takes an object of the cluster, and changes it.
func (c *Comparison) Live(resource string, object *unstructured.Unstructured) {
	i := c.items[place{resource, object.GetNamespace(), object.GetName()}]
	if i == nil || i.inBackup == nil || i.outcome != "" {
		return
	}
	frozen, _, _ := unstructured.NestedBool(object.Object, "immutable")
	reset(object)
	if resource == serviceAccounts {
		spread(object)
	}
	live := c.Sign(object.Object)
	opposed := diff.Changes(i.all(), live)
	against := c.Names(opposed)
	differing := slices.DeleteFunc(
		c.Names(diff.Changes(i.inBackup, live)),
		func(f string) bool { return !slices.Contains(against, f) },
	)
	if resource == serviceAccounts {
		lacking := slices.DeleteFunc(opposed, func(f diff.Field) bool { return f.Value != diff.Gone })
		i.merge(c.Names(lacking), against, c.Restore.ExistingResourcePolicy)
		return
	}
	bound := c.Has("spec.volumeName", live)
	i.decide(resource, c.Restore.ExistingResourcePolicy, frozen, bound, differing, against)
	if i.outcome != Equal && i.outcome != Skipped && i.fields == nil {
		i.fields = differing
	}
	i.inBackup, i.changed = nil, nil
}

// all are the fields that Velero compares: those in the backup, as its actions change them.
func (i *compared) all() []diff.Field {
	over := diff.ByPath(i.changed)
	all := slices.DeleteFunc(slices.Clone(i.inBackup), func(f diff.Field) bool {
		_, changed := over[f.Path]
		return changed
	})
	return append(
		all,
		slices.DeleteFunc(slices.Clone(i.changed), func(f diff.Field) bool { return f.Value == diff.Gone })...)
}

// merge is what Velero does with a ServiceAccount, whatever the policy: it adds what
// is lacking. Where nothing is, it does not even set its labels.
func (i *compared) merge(lacking, differing []string, policy velerov1.PolicyType) {
	i.inBackup, i.changed = nil, nil
	if i.Unsure != "" {
		i.cannotTell(i.Unsure)
		return
	}
	i.outcome = Equal
	if policy == velerov1.PolicyTypeUpdate ||
		slices.ContainsFunc(differing, func(f string) bool { return f != sameContent }) {
		i.outcome = Skipped
	}
	for _, path := range lacking {
		if slices.ContainsFunc(merged, func(f string) bool { return strings.HasPrefix(path, f+".") }) {
			i.outcome, i.fields = Merged, append(i.fields, path)
		}
	}
}

// reset removes what Velero does not compare, or makes the same in both.
func reset(object *unstructured.Unstructured) {
	prepare.Reset(object)
	for _, path := range [][]string{
		{"namespace"},
		{"labels", velerov1.RestoreNameLabel},
		{"labels", velerov1.BackupNameLabel},
	} {
		unstructured.RemoveNestedField(object.Object, append([]string{"metadata"}, path...)...)
	}
}

func nested(o *unstructured.Unstructured, path ...string) string {
	s, _, _ := unstructured.NestedString(o.Object, path...)
	return s
}

func uncompared(n int) string {
	return "how " + human.Plural(n, "more object differs", "more objects differ") + " from the backup"
}

// Unlooked is what was not compared because it is too much, once the backup has been read.
func (c *Comparison) Unlooked() (unlooked []NotLooked) {
	if c.left > 0 {
		unlooked = append(
			unlooked,
			NotLooked{
				What: uncompared(c.left),
				Why:  "veltui compares at most " + human.Count(diff.MaxObjects, "object"),
			},
		)
	}
	if c.Unkept > 0 {
		unlooked = append(unlooked, NotLooked{What: uncompared(c.Unkept), Why: diff.WhyUnkept})
	}
	return unlooked
}
