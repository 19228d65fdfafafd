package preflight

import (
	"encoding/json"
	"fmt"
	"hash/maphash"
	"slices"
	"strings"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/veltui/veltui/collector"
	"github.com/veltui/veltui/restore/target"
)

const (
	maxCompared = 100_000  // how many objects are compared
	maxKept     = 64 << 20 // how many bytes are kept of what the backup holds of them
	// maxFields is how many fields of an object are named, and maxField how long they may be.
	maxFields, maxField = 8, 120
)

// Rules say what decides besides the objects themselves.
type Rules struct {
	Restore velerov1.RestoreSpec
	// Server is the version of Velero's server as [velero.ParseVersion] reads it. Where
	// it tells none, the rules are those of the newest.
	Server          string
	DefaultModifier string                         // the server's own resource modifier, empty for none
	CSI             *bool                          // CSI says whether Velero runs with EnableCSI; nil is not known
	NativeSnapshots bool                           // NativeSnapshots says whether the backup may hold native snapshots of volumes
	Plugins         map[string][]string            // the ConfigMaps of plugins (package target, Surroundings.PluginConfigs)
	Versions        func(resource string) []string // Versions says of a resource whether the backup holds it in several API versions
}

// Comparison compares objects that exist with what the backup holds of them. Of a
// body, only hashes of its fields are kept, until the object of the cluster is there.
type Comparison struct {
	Rules
	seed  maphash.Seed
	items map[place]*compared
	paths map[string]uint32
	names []string // of paths
	kept  int
	// left is how many objects are beyond maxCompared, and unkept beyond maxKept.
	left, unkept int
}

type place struct{ resource, namespace, name string }

type compared struct {
	// inBackup are its fields in the backup without what every restore resets, and
	// changed those that Velero's actions change after that.
	inBackup, changed []field
	rule              rule
	outcome           Outcome
	fields            []string
	why               string
	from              string // its namespace in the backup
	sources           int    // how many items of the backup go there
}

// field is the hash of one field; gone stands for none.
type field struct {
	path  uint32
	value uint64
}

const gone = 0

// NewComparison makes a Comparison of what a restore is to restore and is there. Its
// error is the cause of the context of fates.
func NewComparison(fates *collector.Fates, state *target.State, rules Rules) (*Comparison, error) {
	c := newComparison(rules)
	err := fates.Each(func(i collector.Item) {
		if !isRestored(i) {
			return
		}
		if object, seen := state.Find(i.Resource, i.Target, i.Name); seen != target.There || !object.Deleting.IsZero() {
			return
		}
		at := place{i.Resource, i.Target, i.Name}
		switch {
		case c.items[at] != nil:
			c.items[at].sources++
		case len(c.items) == maxCompared:
			c.left++
		default:
			c.items[at] = &compared{from: i.Namespace, sources: 1}
		}
	})
	return c, err
}

func newComparison(rules Rules) *Comparison {
	return &Comparison{Rules: rules, seed: maphash.MakeSeed(), items: map[place]*compared{}, paths: map[string]uint32{}}
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
	switch {
	case i.sources > 1:
		i.cannotTell("the restore maps several namespaces to its namespace, and Velero takes the first")
		return
	case len(c.Versions(resource)) > 1:
		i.cannotTell("the backup holds it in several API versions")
		return
	case c.kept > maxKept:
		c.unkept++
		i.cannotTell(whyUnkept)
		return
	case body == nil:
		i.cannotTell("its body in the backup is too large")
		return
	}
	var object unstructured.Unstructured
	if err := object.UnmarshalJSON(body); err != nil {
		i.cannotTell("its body in the backup cannot be read")
		return
	}
	reset(&object)
	i.inBackup = c.sign(object.Object)
	i.rule = c.act(resource, &object)
	switch {
	case resource == bindings || resource == clusterBindings: // their subjects are as in the restore
		i.inBackup = c.sign(object.Object)
	case i.rule.changes:
		i.changed = c.changes(i.inBackup, c.sign(object.Object))
	}
	c.kept += 16 * (len(i.inBackup) + len(i.changed))
}

func (i *compared) cannotTell(why string) { i.outcome, i.why = CannotTell, why }

// Question asks for the objects that can be compared.
func (c *Comparison) Question() *target.Question {
	q := &target.Question{}
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
	live := c.sign(object.Object)
	differing := c.differing(i.inBackup, live)
	against := c.differing(i.all(), live)
	if resource == serviceAccounts {
		i.merge(c.lacking(i.all(), live), against, c.Restore.ExistingResourcePolicy)
		return
	}
	volume, known := c.paths["spec.volumeName"]
	bound := known && slices.ContainsFunc(live, func(f field) bool { return f.path == volume })
	i.decide(resource, c.Restore.ExistingResourcePolicy, frozen, bound, differing, against)
	if i.outcome != Equal && i.outcome != Skipped && i.fields == nil {
		i.fields = differing
	}
	i.inBackup, i.changed = nil, nil
}

// all are the fields that Velero compares: those in the backup, as its actions change them.
func (i *compared) all() (all []field) {
	if len(i.changed) == 0 {
		return i.inBackup
	}
	over := map[uint32]bool{}
	for _, f := range i.changed {
		if over[f.path] = true; f.value != gone {
			all = append(all, f)
		}
	}
	for _, f := range i.inBackup {
		if !over[f.path] {
			all = append(all, f)
		}
	}
	slices.SortFunc(all, func(x, y field) int { return int(x.path) - int(y.path) })
	return all
}

// merge is what Velero does with a ServiceAccount, whatever the policy: it adds what
// is lacking. Where nothing is, it does not even set its labels.
func (i *compared) merge(lacking, differing []string, policy velerov1.PolicyType) {
	i.inBackup, i.changed = nil, nil
	if i.rule.unsure != "" {
		i.cannotTell(i.rule.unsure)
		return
	}
	i.outcome = Equal
	if policy == velerov1.PolicyTypeUpdate || slices.ContainsFunc(differing, func(f string) bool { return f != sameContent }) {
		i.outcome = Skipped
	}
	for _, path := range lacking {
		if slices.ContainsFunc(merged, func(f string) bool { return strings.HasPrefix(path, f+".") }) {
			i.outcome, i.fields = Merged, append(i.fields, path)
		}
	}
}

func (c *Comparison) lacking(x, y []field) (names []string) {
	both(x, y, func(path uint32, _, y uint64) {
		if y == gone {
			names = append(names, c.names[path])
		}
	})
	slices.Sort(names)
	return names
}

// reset removes what Velero removes of both objects before it compares them (pkg/restore/restore.go,
// resetMetadataAndStatus), and its own labels, which it makes the same in both.
func reset(object *unstructured.Unstructured) {
	for _, name := range []string{"generateName", "selfLink", "uid", "resourceVersion", "generation", "creationTimestamp",
		"deletionTimestamp", "deletionGracePeriodSeconds", "ownerReferences"} {
		unstructured.RemoveNestedField(object.Object, "metadata", name)
	}
	unstructured.RemoveNestedField(object.Object, "status")
	unstructured.RemoveNestedField(object.Object, "metadata", "namespace") // Velero sets that of the target
	unstructured.RemoveNestedField(object.Object, "metadata", "labels", velerov1.RestoreNameLabel)
	unstructured.RemoveNestedField(object.Object, "metadata", "labels", velerov1.BackupNameLabel)
}

var whyUnkept = fmt.Sprintf("veltui keeps at most %d MiB of what the backup holds", maxKept>>20)

// Unlooked is what was not compared because it is too much, once the backup has been read.
func (c *Comparison) Unlooked() (unlooked []NotLooked) {
	if c.left > 0 {
		unlooked = append(unlooked, NotLooked{What: fmt.Sprintf("how %d more objects differ from the backup", c.left), Why: fmt.Sprintf("veltui compares at most %d objects", maxCompared)})
	}
	if c.unkept > 0 {
		unlooked = append(unlooked, NotLooked{What: fmt.Sprintf("how %d more objects differ from the backup", c.unkept), Why: whyUnkept})
	}
	return unlooked
}

// sign hashes the fields of an object, one level deep: spec.replicas, data.level, metadata.labels.app. Two
// objects are equal for Velero where all these are (k8s.io/apimachinery/pkg/api/equality: a field that is there
// and empty is not one that is not there).
func (c *Comparison) sign(object map[string]any) []field {
	var all []field
	add := func(path string, value any) {
		all = append(all, field{c.path(path), c.hash(value)})
	}
	for name, value := range object {
		below, isMap := value.(map[string]any)
		if !isMap || len(below) == 0 {
			add(name, value)
			continue
		}
		for key, value := range below {
			pairs, isMap := value.(map[string]any)
			if name != "metadata" || key != "labels" && key != "annotations" || !isMap || len(pairs) == 0 && key == "annotations" {
				add(name+"."+key, value)
				continue
			}
			for pair, value := range pairs {
				add(name+"."+key+"."+pair, value)
			}
		}
	}
	slices.SortFunc(all, func(x, y field) int { return int(x.path) - int(y.path) })
	return all
}

func (c *Comparison) path(name string) uint32 {
	id, known := c.paths[name]
	if !known {
		id = uint32(len(c.names))
		c.paths[name], c.names = id, append(c.names, name)
		c.kept += 2*len(name) + 64
	}
	return id
}

func (c *Comparison) hash(value any) uint64 {
	text, err := json.Marshal(value) // maps in the order of their keys
	if err != nil {
		text = []byte(err.Error())
	}
	if h := maphash.Bytes(c.seed, text); h != gone {
		return h
	}
	return gone + 1
}

func (c *Comparison) changes(before, after []field) (changed []field) {
	both(before, after, func(path uint32, x, y uint64) {
		if x != y {
			changed = append(changed, field{path, y})
		}
	})
	return changed
}

func (c *Comparison) differing(x, y []field) []string {
	var names []string
	for _, f := range c.changes(x, y) {
		names = append(names, c.names[f.path])
	}
	slices.Sort(names)
	return names
}

// both goes through the fields of two objects, sorted by path.
func both(x, y []field, visit func(path uint32, x, y uint64)) {
	for len(x) > 0 || len(y) > 0 {
		switch {
		case len(y) == 0 || len(x) > 0 && x[0].path < y[0].path:
			visit(x[0].path, x[0].value, gone)
			x = x[1:]
		case len(x) == 0 || y[0].path < x[0].path:
			visit(y[0].path, gone, y[0].value)
			y = y[1:]
		default:
			visit(x[0].path, x[0].value, y[0].value)
			x, y = x[1:], y[1:]
		}
	}
}
