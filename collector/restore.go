package collector

import (
	"slices"

	"github.com/veltui/veltui/internal/glob"
)

// restore plays through what Velero's restore does to its list of restored
// items, whose length is what it reports (pkg/restore/restore.go).
type restore struct {
	work      *work
	x         *Index
	spec      RestoreSpec
	version   version
	resources *glob.Filter
	spaces    *glob.Filter
	selection *selection
	policy    *policy // nil for none
	mustHave  []string
	target    []Resource // what discovery knows once the CRDs are restored
	existing  map[string]bool
	live      bool
	csi       bool

	done       []uint64            // a bit for each item that is in Velero's list
	merged     map[string]bool     // targets that several namespaces are mapped to
	byTarget   map[targetItem]bool // items in such targets
	ensured    map[string]bool     // target namespaces known to be there
	byResource map[string]*ResourceCount
	order      []string
	turn       string // the resource of the present step
	steps      []Step
	brought    []Brought
	total      int
	selected   int

	made          []string
	unknownWords  []string
	undecodable   int
	unread        int
	unjudged      int // items whose labels the selectors take too long for
	usesSnapshots bool
	forced        int // snapshots that only the claim's action brings, in namespaces that exist
}

type targetItem struct{ resource, namespace, name string }

func newRestore(w *work, x *Index, spec RestoreSpec, d Discovery) (*restore, error) {
	r := &restore{
		work: w, x: x, spec: spec, existing: spec.Existing.set(), live: d.Live,
		done: make([]uint64, (x.Items()+63)/64), merged: map[string]bool{}, byTarget: map[targetItem]bool{},
		ensured: map[string]bool{}, byResource: map[string]*ResourceCount{},
	}
	if r.version = version(spec.Server.Version); r.version == (version{}) {
		r.version = currentVersion
	}
	r.mustHave = r.version.mustHave()
	r.csi = spec.Server.CSI == nil || *spec.Server.CSI
	r.target = d.Resources
	if !d.Live && len(d.Resources) == 0 {
		r.target = offline(x.Kinds)
	}
	var err error
	if r.selection, err = newSelection(w, x, spec.Restore); err != nil {
		return nil, err
	}
	if r.spaces, err = namespaceFilter(
		r.version,
		spec.Restore.IncludedNamespaces,
		spec.Restore.ExcludedNamespaces,
		x.Namespaces(),
		w,
	); err != nil {
		return nil, err
	}
	// Velero resolves the words before it restores any CRD.
	known := newResolver(r.target)
	r.resources = resourceFilter(
		known,
		spec.Restore.IncludedResources,
		slices.Concat(spec.Restore.ExcludedResources, nonRestorable),
		w,
	)
	if r.spec.Policy != nil && r.version.readsPolicies() {
		if r.policy, err = r.newPolicy(r.spec.Policy, known); err != nil {
			return nil, err
		}
	}
	if d.Live {
		r.noteUnknownWords(known)
	}
	r.findMerged()
	return r, nil
}

// noteUnknownWords finds words that only a CRD of the backup would explain.
func (r *restore) noteUnknownWords(known *resolver) {
	later := newResolver(with(r.target, r.x.Kinds))
	for _, word := range slices.Concat(r.spec.Restore.IncludedResources, r.spec.Restore.ExcludedResources) {
		if !r.work.goOn(1) {
			return
		}
		if _, now := known.resolve(word, r.work); now || word == "*" {
			continue
		}
		if known, ok := later.resolve(word, r.work); ok && known.GroupResource() != word {
			r.unknownWords = append(r.unknownWords, word)
		}
	}
}

// findMerged finds target namespaces in which items of several namespaces meet.
func (r *restore) findMerged() {
	sources := map[string]int{}
	for _, namespace := range r.x.Namespaces() {
		if !r.work.goOn(1) {
			return
		}
		target := r.mapped(namespace)
		if sources[target]++; sources[target] > 1 {
			r.merged[target] = true
		}
	}
}

func (r *restore) mapped(namespace string) string {
	if target, ok := r.spec.Restore.NamespaceMapping[namespace]; ok {
		return target
	}
	return namespace
}

// run restores the CRDs first, then everything in order.
func (r *restore) run() {
	processed := map[string]bool{}
	r.pass([]string{"customresourcedefinitions"}, processed)
	if r.live {
		// Discovery is refreshed once CRDs were restored.
		r.target = with(
			r.target,
			slices.DeleteFunc(slices.Clone(r.x.Kinds), func(d definition) bool { return !r.isDone(d.Item) }),
		)
	}
	r.pass(r.orderedWords(), processed)
}

// orderedWords are the priorities with the backup's other resources between them. A resource that a
// priority only names otherwise occurs twice; the second time it has been processed.
func (r *restore) orderedWords() []string {
	p := r.version.priorities()
	if r.spec.Server.Priorities != nil {
		p = *r.spec.Server.Priorities
	}
	named := setOf(slices.Concat(p.High, p.Low))
	var middle []string
	for _, b := range r.x.Buckets {
		resource := r.x.Strings.string(b.Resource)
		if r.work.goOn(1) && !named[resource] &&
			(len(middle) == 0 || middle[len(middle)-1] != resource) {
			middle = append(middle, resource)
		}
	}
	return slices.Concat(p.High, middle, p.Low)
}

func (r *restore) pass(words []string, processed map[string]bool) {
	target := newResolver(r.target)
	for _, word := range words {
		if !r.work.goOn(1) {
			return
		}
		resource := word
		if known, ok := target.resolve(word, r.work); ok {
			resource = known.GroupResource()
		}
		if processed[resource] {
			continue
		}
		r.order = append(r.order, resource)
		must := slices.Contains(r.mustHave, resource)
		buckets := r.x.resourceBuckets(resource)
		if !must && !r.resources.Takes(resource) || len(buckets) == 0 {
			continue
		}
		processed[resource] = true
		before := r.total
		r.turn = resource
		for _, b := range buckets {
			if r.work.goOn(1) && r.takes(b, must) {
				r.restoreBucket(b, resource, must)
			}
		}
		if r.total > before {
			r.steps = append(r.steps, Step{Resource: resource, Items: r.total - before})
		}
	}
}

// takes applies the rules for a whole namespace, or for cluster scope.
func (r *restore) takes(b bucket, must bool) bool {
	if namespace := r.x.Strings.string(b.Namespace); namespace != "" {
		return must || r.spaces.Takes(namespace)
	}
	if cluster := r.spec.Restore.IncludeClusterResources; cluster != nil {
		return *cluster
	}
	return r.spaces.TakesAll()
}

func (r *restore) restoreBucket(b bucket, resource string, must bool) {
	namespace := r.x.Strings.string(b.Namespace)
	if resource == dirNamespaces && r.version.before(1, 13, 0) { // Namespace objects were no items of their own
		return
	}
	filter, limited := r.policy.filter(resource, namespace)
	if limited && filter == nil && !must {
		return
	}
	for item := b.First; item < b.End && r.work.goOn(1); item++ {
		if r.x.Flags[item]&flagUndecodable != 0 {
			r.undecodable++
			continue
		}
		if !must && !r.selects(item, filter) {
			continue
		}
		r.selected++
		if resource == dirNamespaces {
			r.ensure(r.mapped(r.x.Names.string(item)))
			continue
		}
		r.restoreItem(item, resource, namespace)
	}
}

// selects applies the label selectors, or the filter of the resource policy that replaces them. An item whose labels
// are not known is taken as selected.
func (r *restore) selects(item uint32, filter *objectFilter) bool {
	selection := r.selection
	if filter != nil {
		if !filter.names.Takes(r.x.Names.string(item)) {
			return false
		}
		selection = filter.selection
	}
	switch {
	case selection == nil:
		r.unjudged++
		return true
	case selection.all:
		return true
	}
	if r.x.Flags[item]&flagUnread != 0 {
		r.unread++
		return true
	}
	selected, known := selection.selects(item)
	if !known {
		r.unjudged++
	}
	return selected || !known
}

// ensure makes a namespace of the target if it is not there; then it counts.
func (r *restore) ensure(namespace string) {
	if r.ensured[namespace] {
		return
	}
	r.ensured[namespace] = true
	if !r.namespaceExists(namespace) {
		r.made = append(r.made, namespace)
		r.count(dirNamespaces, "", 1)
	}
}

// namespaceExists reports whether a namespace of the target is there before the restore.
func (r *restore) namespaceExists(namespace string) bool {
	return r.spec.Existing.All || r.existing[namespace]
}

func (r *restore) count(resource, namespace string, n int) {
	r.total += n
	if resource != r.turn {
		i := slices.IndexFunc(
			r.brought,
			func(b Brought) bool { return b.Step == len(r.steps) && b.Resource == resource },
		)
		if i < 0 {
			i, r.brought = len(r.brought), append(r.brought, Brought{Step: len(r.steps), Resource: resource})
		}
		r.brought[i].Items += n
	}
	c := r.byResource[resource]
	if c == nil {
		c = &ResourceCount{Resource: resource}
		r.byResource[resource] = c
	}
	c.Items += n
	if namespace != "" {
		if c.Namespaces == nil {
			c.Namespaces = map[string]int{}
		}
		c.Namespaces[namespace] += n
	}
}

func (r *restore) isDone(item uint32) bool { return r.done[item/64]&(1<<(item%64)) != 0 }

// restoreItem restores one item that passed the filters, and what it brings along.
func (r *restore) restoreItem(item uint32, resource, namespace string) {
	target := namespace
	if namespace != "" {
		target = r.mapped(namespace)
		r.ensure(target)
	}
	flags := r.x.Flags[item]
	if flags&flagCompleted != 0 || r.isDone(item) {
		return
	}
	r.done[item/64] |= 1 << (item % 64)
	if r.merged[target] {
		key := targetItem{resource, target, r.x.Names.string(item)}
		if r.byTarget[key] {
			return
		}
		r.byTarget[key] = true
	}
	r.count(resource, target, 1)
	if flags&flagMirror == 0 {
		r.bringAlong(item, namespace)
	}
}

// brings says of each kind of reference what it brings along: its resource, whether that
// is in the item's namespace, and whether it takes the CSI actions (pkg/restore/actions).
var brings = [refKinds]struct {
	resource        string
	namespaced, csi bool
}{
	refClaim: {
		dirClaims,
		true,
		false,
	},
	refPriority: {dirPriorityClasses, false, false},
	refVolume:   {dirVolumes, false, false},
	refSnapshot: {
		dirSnapshots,
		true,
		true,
	},
	refContent: {dirContents, false, true},
	refSecret:  {dirSecrets, false, true},
}

// bringAlong restores the items that Velero's own actions name, whatever their labels.
func (r *restore) bringAlong(item uint32, namespace string) {
	snapshots := r.csi && (r.spec.Restore.RestorePVs == nil || *r.spec.Restore.RestorePVs)
	for _, ref := range r.x.refsOf(item) {
		brought := brings[ref.Kind]
		if !r.work.goOn(1) {
			return
		}
		if brought.csi && !snapshots {
			continue
		}
		into := r.x.Strings.string(ref.Namespace) // of a secret
		if brought.namespaced {
			into = namespace
		}
		must := r.version.forcesSnapshots() && (ref.Kind == refSnapshot || ref.Kind == refContent)
		if ref.Kind == refSnapshot {
			r.usesSnapshots = true
			if must && r.namespaceExists(r.mapped(namespace)) && !r.passes(dirSnapshots, namespace) {
				r.forced++
			}
		}
		r.additional(brought.resource, into, r.x.Strings.string(ref.Name), must)
	}
}

// additional restores an item that another one names, if the backup has it and the filters pass it.
func (r *restore) additional(resource, namespace, name string, must bool) {
	if item, ok := r.x.find(
		resource,
		namespace,
		name,
	); ok && r.x.Flags[item]&flagUndecodable == 0 &&
		(must || r.passes(resource, namespace)) {
		r.restoreItem(item, resource, namespace)
	}
}

func (r *restore) passes(resource, namespace string) bool {
	must := slices.Contains(r.mustHave, resource)
	if !must && !r.resources.Takes(resource) {
		return false
	}
	if namespace != "" {
		return must || r.spaces.Takes(namespace)
	}
	cluster := r.spec.Restore.IncludeClusterResources
	return cluster == nil || *cluster
}
