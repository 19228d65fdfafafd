package collector

import (
	"slices"

	"github.com/veltui/veltui/internal/glob"
	"github.com/veltui/veltui/internal/job"
)

// simulation replays what Velero's restore adds to its list of restored items, whose length is the count that it
// reports (pkg/restore/restore.go).
type simulation struct {
	budget             *workBudget
	index              *Index
	input              RestoreInput
	version            version
	resourceFilter     *glob.Filter
	namespaceFilter    *glob.Filter
	selection          *labelSelection
	policy             *filterPolicy // nil for none
	mustHave           []string
	targetResources    []Resource // the resources that discovery knows once the CRDs are restored
	existingNamespaces map[string]bool
	isLive             bool
	isCSIEnabled       bool

	restored          []uint64            // one bit per item: whether it is in Velero's list
	mergedNamespaces  map[string]bool     // targets that several namespaces are mapped to
	itemsByTarget     map[targetItem]bool // items in such targets
	ensuredNamespaces map[string]bool     // target namespaces known to exist
	byResource        map[string]*ResourceCount
	resourceOrder     []string
	currentResource   string // the resource of the current step
	steps             []Step
	additionalItems   []AdditionalItems
	countSteps        []job.CountStep
	countedBefore     int
	mayExist          int // of the total
	total             int
	selected          int

	createdNamespaces []string
	unknownWords      []string
	undecodableCount  int
	uncheckedCount    int
	overBudgetCount   int // items on whose labels the selectors take too long
	usesSnapshots     bool
	forcedSnapshots   int // snapshots that only the claim's action brings along, in namespaces that exist
}

type targetItem struct{ resource, namespace, name string }

func newSimulation(w *workBudget, x *Index, spec RestoreInput, d Discovery) (*simulation, error) {
	r := &simulation{
		budget: w, index: x, input: spec, existingNamespaces: spec.ExistingNamespaces.nameSet(), isLive: d.IsLive,
		restored: make(
			[]uint64,
			(x.ItemCount()+63)/64,
		), mergedNamespaces: map[string]bool{}, itemsByTarget: map[targetItem]bool{},
		ensuredNamespaces: map[string]bool{}, byResource: map[string]*ResourceCount{},
	}
	if r.version = version(spec.Server.Version); r.version == (version{}) {
		r.version = currentVersion
	}
	r.mustHave = r.version.mustHaveResources()
	r.isCSIEnabled = spec.Server.CSIEnabled == nil || *spec.Server.CSIEnabled
	r.targetResources = d.Resources
	if !d.IsLive && len(d.Resources) == 0 {
		r.targetResources = defaultResources(x.Kinds)
	}
	var err error
	if r.selection, err = newLabelSelection(w, x, spec.Restore); err != nil {
		return nil, err
	}
	if r.namespaceFilter, err = namespaceFilter(
		r.version,
		spec.Restore.IncludedNamespaces,
		spec.Restore.ExcludedNamespaces,
		x.Namespaces(),
		w,
	); err != nil {
		return nil, err
	}
	// Velero resolves the words before it restores the first CRD.
	known := newResolver(r.targetResources)
	r.resourceFilter = resourceFilter(
		known,
		spec.Restore.IncludedResources,
		slices.Concat(spec.Restore.ExcludedResources, nonRestorable),
		w,
	)
	if r.input.Policy != nil && r.version.readsPolicies() {
		if r.policy, err = r.newPolicy(r.input.Policy, known); err != nil {
			return nil, err
		}
	}
	if d.IsLive {
		r.noteUnknownWords(known)
	}
	r.findMerged()
	return r, nil
}

// noteUnknownWords records the words that only a CRD of the backup would explain.
func (r *simulation) noteUnknownWords(known *resolver) {
	later := newResolver(withDefinitions(r.targetResources, r.index.Kinds))
	for _, word := range slices.Concat(r.input.Restore.IncludedResources, r.input.Restore.ExcludedResources) {
		if !r.budget.canContinue(1) {
			return
		}
		if _, now := known.resolveWord(word, r.budget); now || word == "*" {
			continue
		}
		if known, ok := later.resolveWord(word, r.budget); ok && known.GroupResource() != word {
			r.unknownWords = append(r.unknownWords, word)
		}
	}
}

// findMerged records the target namespaces to which several namespaces are mapped.
func (r *simulation) findMerged() {
	sources := map[string]int{}
	for _, namespace := range r.index.Namespaces() {
		if !r.budget.canContinue(1) {
			return
		}
		target := r.mappedNamespace(namespace)
		if sources[target]++; sources[target] > 1 {
			r.mergedNamespaces[target] = true
		}
	}
}

func (r *simulation) mappedNamespace(namespace string) string {
	if target, ok := r.input.Restore.NamespaceMapping[namespace]; ok {
		return target
	}
	return namespace
}

// processAll restores the CRDs first, then everything in order.
func (r *simulation) processAll() {
	processed := map[string]bool{}
	r.processPass([]string{"customresourcedefinitions"}, processed)
	// Velero counts the first pass silently, and processes its items once more in the second.
	r.countedBefore, r.countSteps = r.total, []job.CountStep{{Processed: r.selected, Skipped: r.selected}}
	if r.isLive {
		// Discovery is refreshed once CRDs were restored.
		r.targetResources = withDefinitions(
			r.targetResources,
			slices.DeleteFunc(slices.Clone(r.index.Kinds), func(d definition) bool { return !r.isDone(d.Item) }),
		)
	}
	r.processPass(r.orderedWords(), processed)
}

// orderedWords returns the priorities with the backup's other resources between them. A resource that a priority
// names by another word occurs twice; the second time it has already been processed.
func (r *simulation) orderedWords() []string {
	p := r.version.defaultPriorities()
	if r.input.Server.Priorities != nil {
		p = *r.input.Server.Priorities
	}
	named := setOf(slices.Concat(p.High, p.Low))
	var middle []string
	for _, b := range r.index.Buckets {
		resource := r.index.Strings.string(b.Resource)
		if r.budget.canContinue(1) && !named[resource] &&
			(len(middle) == 0 || middle[len(middle)-1] != resource) {
			middle = append(middle, resource)
		}
	}
	return slices.Concat(p.High, middle, p.Low)
}

func (r *simulation) processPass(words []string, processed map[string]bool) {
	target := newResolver(r.targetResources)
	for _, word := range words {
		if !r.budget.canContinue(1) {
			return
		}
		resource := word
		if known, ok := target.resolveWord(word, r.budget); ok {
			resource = known.GroupResource()
		}
		if processed[resource] {
			continue
		}
		r.resourceOrder = append(r.resourceOrder, resource)
		must := slices.Contains(r.mustHave, resource)
		buckets := r.index.resourceBuckets(resource)
		if !must && !r.resourceFilter.Matches(resource) || len(buckets) == 0 {
			continue
		}
		processed[resource] = true
		before, mayExistBefore := r.total, r.mayExist
		r.currentResource = resource
		r.countSteps = append(r.countSteps, job.CountStep{})
		for _, b := range buckets {
			if r.budget.canContinue(1) && r.includesBucket(b, must) {
				r.restoreBucket(b, resource, must)
			}
		}
		if r.total > before {
			r.steps = append(r.steps, Step{Resource: resource, Items: r.total - before, MayExist: r.mayExist - mayExistBefore})
		}
	}
}

// includesBucket reports whether the rules for a whole namespace, or for cluster scope, include a bucket.
func (r *simulation) includesBucket(b bucket, must bool) bool {
	if namespace := r.index.Strings.string(b.Namespace); namespace != "" {
		return must || r.namespaceFilter.Matches(namespace)
	}
	if cluster := r.input.Restore.IncludeClusterResources; cluster != nil {
		return *cluster
	}
	return r.namespaceFilter.MatchesAll()
}

func (r *simulation) restoreBucket(b bucket, resource string, must bool) {
	namespace := r.index.Strings.string(b.Namespace)
	if resource == dirNamespaces && r.version.isBefore(1, 13, 0) { // Namespace objects were not items of their own
		return
	}
	filter, limited := r.policy.findFilter(resource, namespace)
	if limited && filter == nil && !must {
		return
	}
	for item := b.First; item < b.End && r.budget.canContinue(1); item++ {
		if r.index.Flags[item]&flagUndecodable != 0 {
			r.undecodableCount++
			continue
		}
		if !must && !r.selectsItem(item, filter) {
			continue
		}
		r.selected++
		before, counts := r.total, &r.countSteps[len(r.countSteps)-1]
		if resource == dirNamespaces {
			r.ensureNamespace(r.mappedNamespace(r.index.Names.string(item)))
			counts.Added += r.total - before
			continue
		}
		r.restoreItem(item, resource, namespace)
		counts.Processed++
		if added := r.total - before; added > 0 {
			counts.Added += added - 1
		} else {
			counts.Skipped++
		}
	}
}

// selectsItem reports whether the label selectors, or the resource policy's filter that replaces them, select an
// item. An item with unknown labels counts as selected.
func (r *simulation) selectsItem(item uint32, filter *objectFilter) bool {
	selection := r.selection
	if filter != nil {
		if !filter.names.Matches(r.index.Names.string(item)) {
			return false
		}
		selection = filter.selection
	}
	switch {
	case selection == nil:
		r.overBudgetCount++
		return true
	case selection.selectsAll:
		return true
	}
	if r.index.Flags[item]&flagUnchecked != 0 {
		r.uncheckedCount++
		return true
	}
	selected, known := selection.isSelected(item)
	if !known {
		r.overBudgetCount++
	}
	return selected || !known
}

// ensureNamespace creates a namespace of the target if it does not exist, and then counts it.
func (r *simulation) ensureNamespace(namespace string) {
	if r.ensuredNamespaces[namespace] {
		return
	}
	r.ensuredNamespaces[namespace] = true
	if !r.namespaceExists(namespace) {
		r.createdNamespaces = append(r.createdNamespaces, namespace)
		r.addCount(dirNamespaces, "", 1)
	}
}

// namespaceExists reports whether a namespace of the target exists before the restore.
func (r *simulation) namespaceExists(namespace string) bool {
	return r.input.ExistingNamespaces.AllExist || r.existingNamespaces[namespace]
}

func (r *simulation) addCount(resource, namespace string, n int) {
	r.total += n
	if resource != dirNamespaces && (namespace == "" || r.namespaceExists(namespace)) {
		r.mayExist += n
	}
	if resource != r.currentResource {
		i := slices.IndexFunc(
			r.additionalItems,
			func(b AdditionalItems) bool { return b.Step == len(r.steps) && b.Resource == resource },
		)
		if i < 0 {
			i, r.additionalItems = len(
				r.additionalItems,
			), append(
				r.additionalItems,
				AdditionalItems{Step: len(r.steps), Resource: resource},
			)
		}
		r.additionalItems[i].Items += n
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

func (r *simulation) isDone(item uint32) bool { return r.restored[item/64]&(1<<(item%64)) != 0 }

// restoreItem restores an item that passed the filters, and the items that it brings along.
func (r *simulation) restoreItem(item uint32, resource, namespace string) {
	target := namespace
	if namespace != "" {
		target = r.mappedNamespace(namespace)
		r.ensureNamespace(target)
	}
	flags := r.index.Flags[item]
	if flags&flagCompleted != 0 || r.isDone(item) {
		return
	}
	r.restored[item/64] |= 1 << (item % 64)
	if r.mergedNamespaces[target] {
		key := targetItem{resource, target, r.index.Names.string(item)}
		if r.itemsByTarget[key] {
			return
		}
		r.itemsByTarget[key] = true
	}
	r.addCount(resource, target, 1)
	if flags&flagMirror == 0 {
		r.restoreAdditionalItems(item, namespace)
	}
}

// additionalResources tells for each kind of reference what it brings along: the resource, whether it is in the item's
// namespace, and whether only the CSI actions bring it (pkg/restore/actions).
var additionalResources = [refKinds]struct {
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

// restoreAdditionalItems restores the items that Velero's own actions name, whatever their labels.
func (r *simulation) restoreAdditionalItems(item uint32, namespace string) {
	snapshots := r.isCSIEnabled && (r.input.Restore.RestorePVs == nil || *r.input.Restore.RestorePVs)
	for _, ref := range r.index.refsOf(item) {
		brought := additionalResources[ref.Kind]
		if !r.budget.canContinue(1) {
			return
		}
		if brought.csi && !snapshots {
			continue
		}
		into := r.index.Strings.string(ref.Namespace) // the secret's namespace
		if brought.namespaced {
			into = namespace
		}
		must := r.version.forcesSnapshots() && (ref.Kind == refSnapshot || ref.Kind == refContent)
		if ref.Kind == refSnapshot {
			r.usesSnapshots = true
			if must && r.namespaceExists(r.mappedNamespace(namespace)) && !r.passesFilters(dirSnapshots, namespace) {
				r.forcedSnapshots++
			}
		}
		r.restoreAdditionalItem(brought.resource, into, r.index.Strings.string(ref.Name), must)
	}
}

// restoreAdditionalItem restores an item that another item names, if the backup has it and the filters include it.
func (r *simulation) restoreAdditionalItem(resource, namespace, name string, must bool) {
	if item, ok := r.index.findItem(
		resource,
		namespace,
		name,
	); ok && r.index.Flags[item]&flagUndecodable == 0 &&
		(must || r.passesFilters(resource, namespace)) {
		r.restoreItem(item, resource, namespace)
	}
}

func (r *simulation) passesFilters(resource, namespace string) bool {
	must := slices.Contains(r.mustHave, resource)
	if !must && !r.resourceFilter.Matches(resource) {
		return false
	}
	if namespace != "" {
		return must || r.namespaceFilter.Matches(namespace)
	}
	cluster := r.input.Restore.IncludeClusterResources
	return cluster == nil || *cluster
}
