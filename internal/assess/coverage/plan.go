package coverage

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/velero"
)

// plan is what the next backup of a schedule takes. Sources are of Velero 1.18.3.
type plan struct {
	*index
	*Schedule
	spec       velerov1.BackupSpec
	policy     *Policy
	volumes    []volumePolicy // the backup's before the server's
	refused    Verdict        // why there is no next backup, else zero
	old        bool           // includedResources and the like are given, not those by scope
	namespaced velero.Namespaces
	cluster    velero.Namespaces // in old filters the same as namespaced
	selectors  []*metav1.LabelSelector

	inNamespace, ofKind map[string]Verdict
	objects             map[metav1.Object]Verdict // claims and pods
}

func newPlan(x *index, s *Schedule) *plan {
	p := &plan{
		index:       x,
		Schedule:    s,
		spec:        s.Spec.Template,
		inNamespace: map[string]Verdict{},
		ofKind:      map[string]Verdict{},
		objects:     map[metav1.Object]Verdict{},
	}
	p.selectors = p.spec.OrLabelSelectors
	if len(p.selectors) == 0 && p.spec.LabelSelector != nil {
		p.selectors = []*metav1.LabelSelector{p.spec.LabelSelector}
	}
	p.policy = p.loadPolicy(s.Policy())
	p.volumes = slices.Concat(p.policy.Volumes, p.loadPolicy(p.Server.Flags.VolumePolicies).Volumes)
	p.old = p.spec.IncludeClusterResources != nil || len(p.spec.IncludedResources)+len(p.spec.ExcludedResources) > 0
	p.makeFilters()
	if p.refused.Answer != Unknown { // what a policy says is not known then
		p.refused = cmp.Or(p.stopped(), p.refused)
	}
	p.spread()
	return p
}

func (p *plan) loadPolicy(configMap string) *Policy {
	policy := p.Policies[configMap]
	switch {
	case configMap == "":
		return &Policy{}
	case policy == nil:
		p.refused = unknown(
			NotSeen,
			"its resource policy, ConfigMap "+configMap+", cannot be read"+human.Clause(
				": ",
				p.Unseen["configmaps/"+configMap],
			),
		)
		return &Policy{}
	case policy.err != nil:
		p.refused = leftOut(
			BackupsRefused,
			fmt.Sprintf("Velero refuses its resource policy, ConfigMap %s: %v", configMap, policy.err),
		)
	}
	return policy
}

// stopped is why the schedule makes no backups, or why Velero refuses them (backup_controller.go,
// prepareBackupRequest).
func (p *plan) stopped() Verdict {
	s := p.spec
	contradict := func(included, excluded []string) bool {
		star := func(list []string) bool { return len(list) > 1 && slices.Contains(list, "*") }
		return star(included) || star(excluded) || sets.New(included...).HasAny(excluded...)
	}
	filters := [][2][]string{
		{s.IncludedResources, s.ExcludedResources},
		{s.IncludedNamespaceScopedResources, s.ExcludedNamespaceScopedResources},
		{s.IncludedClusterScopedResources, s.ExcludedClusterScopedResources},
	}
	scoped := slices.Concat(filters[1][0], filters[1][1], filters[2][0], filters[2][1])
	refuse := func(why string) Verdict { return leftOut(BackupsRefused, "Velero refuses its backups: "+why) }
	switch {
	case p.Spec.Paused:
		return leftOut(SchedulePaused, "the schedule is paused")
	case p.Invalid != "":
		return leftOut(ScheduleInvalid, p.Invalid)
	case p.Refused != "":
		return refuse(p.Refused)
	case p.old && len(scoped) > 0:
		return refuse("it mixes old and new filters of resources")
	case s.LabelSelector != nil && s.OrLabelSelectors != nil:
		return refuse("it has labelSelector and orLabelSelectors")
	case slices.Contains(s.ExcludedNamespaces, "*"), contradict(s.IncludedNamespaces, s.ExcludedNamespaces):
		return refuse("its lists of namespaces contradict each other")
	case sets.New(s.IncludedNamespaces...).HasAny(p.excluded...): // prepareBackupRequest adds them to excludedNamespaces
		return refuse("it includes a namespace by name that has the label velero.io/exclude-from-backup=true")
	case !(velero.Namespaces{Includes: s.IncludedNamespaces, Excludes: s.ExcludedNamespaces}).Valid():
		return refuse("a pattern of its namespaces is not valid")
	case p.old && (p.policy.Include != nil || p.policy.Cluster != nil || len(p.policy.Namespaced) > 0):
		return refuse("it mixes old filters with those of a resource policy")
	case p.old && slices.Contains(s.ExcludedResources, "*"):
		return refuse("excludedResources contains *")
	}
	for _, place := range s.VolumeSnapshotLocations { // validateAndGetSnapshotLocations
		if !slices.Contains(p.SnapshotPlaces, place) && p.Unseen[SnapshotPlaces] == "" {
			return refuse("there is no volume snapshot location " + place)
		}
	}
	for _, f := range filters {
		if contradict(f[0], f[1]) || len(f[0]) > 0 && slices.Contains(f[1], "*") {
			return refuse("its lists of resources contradict each other")
		}
	}
	return Verdict{}
}

// makeFilters resolves the words of filters (includes_excludes.go, GetResourceIncludesExcludes and
// GetScopeResourceIncludesExcludes).
func (p *plan) makeFilters() {
	s, yes, no := p.spec, true, false
	if p.old {
		p.namespaced = p.resolve(s.IncludedResources, s.ExcludedResources, nil)
		p.cluster = p.namespaced
		return
	}
	p.namespaced = p.resolve(s.IncludedNamespaceScopedResources, s.ExcludedNamespaceScopedResources, &yes)
	p.cluster = p.resolve(s.IncludedClusterScopedResources, s.ExcludedClusterScopedResources, &no)
	if i := p.policy.Include; i != nil { // CombineWithPolicy: the backup's own words come first
		combine(&p.namespaced, p.resolve(i.IncludedNamespaced, i.ExcludedNamespaced, &yes))
		combine(&p.cluster, p.resolve(i.IncludedCluster, i.ExcludedCluster, &no))
	}
}

// resolve replaces the words of a filter by the resources that they stand for, and drops those of the other scope.
func (p *plan) resolve(included, excluded []string, namespaced *bool) velero.Namespaces {
	resources := func(words []string) (out []string) {
		for _, word := range words {
			r, ok := p.Kinds.Lookup(word)
			switch {
			case word == "*" || !ok: // an unknown word stands for itself
				out = append(out, word)
			case namespaced == nil || *namespaced == r.Namespaced:
				out = append(out, r.GroupResource())
			}
		}
		return out
	}
	return velero.Namespaces{Includes: resources(included), Excludes: resources(excluded)}
}

func combine(f *velero.Namespaces, policy velero.Namespaces) {
	names := func(list []string, word string) bool { return !(velero.Namespaces{Excludes: list}).Takes(word) }
	add := func(to *[]string, words []string) {
		for _, word := range words {
			if !names(f.Includes, word) && !names(f.Excludes, word) {
				*to = append(*to, word)
			}
		}
	}
	add(&f.Excludes, policy.Excludes)
	add(&f.Includes, policy.Includes)
}

// everywhere is as NamespaceIncludesExcludes.IncludeEverything: no namespace is left out, not even by its label.
func (p *plan) everywhere() bool {
	in := p.spec.IncludedNamespaces
	return len(p.spec.ExcludedNamespaces)+len(p.excluded) == 0 && (len(in) == 0 || slices.Equal(in, []string{"*"}))
}

func memo[K comparable](m map[K]Verdict, key K, make func() Verdict) Verdict {
	v, ok := m[key]
	if !ok {
		v = make()
		m[key] = v
	}
	return v
}

// namespace is whether what is in a namespace is taken (item_backupper.go, itemInclusionChecks).
func (p *plan) namespace(n string) Verdict {
	return memo(p.inNamespace, n, func() Verdict {
		included := velero.Namespaces{Includes: p.spec.IncludedNamespaces}
		switch {
		case !included.Takes(n): // also if it is paused or refused: it would not take it anyway
			return leftOut(
				NamespaceNotIncluded,
				"includedNamespaces ("+human.List(p.spec.IncludedNamespaces, 3)+") does not name the namespace",
			)
		case p.refused.Answer != "":
			return p.refused
		case !(velero.Namespaces{Excludes: p.spec.ExcludedNamespaces}).Takes(n):
			return leftOut(
				NamespaceExcluded,
				"excludedNamespaces ("+human.List(p.spec.ExcludedNamespaces, 3)+") names the namespace",
			)
		case slices.Contains(p.excluded, n):
			return leftOut(NamespaceLabelled, "the namespace has the label velero.io/exclude-from-backup=true")
		}
		return taken
	})
}

// kind is whether objects of a resource are collected (includes_excludes.go, ShouldInclude).
func (p *plan) kind(resource string) Verdict {
	return memo(p.ofKind, resource, func() Verdict {
		clusterScoped := resource == Namespaces || resource == Volumes
		f := p.namespaced
		if clusterScoped {
			f = p.cluster
		}
		switch {
		case clusterScoped && p.old && p.spec.IncludeClusterResources != nil && !*p.spec.IncludeClusterResources:
			return leftOut(KindExcluded, "includeClusterResources is false")
		case !(velero.Namespaces{Excludes: f.Excludes}).Takes(resource):
		case resource == Volumes && p.spec.IncludeClusterResources != nil: // ShouldExclude: a claim brings its volume
			return taken
		case clusterScoped && !p.old: // namespaces by default, volumes with the claims that have them
			return taken
		case f.Takes(resource):
			return taken
		}
		return leftOut(KindExcluded, "the schedule's filters of resources leave out "+resource)
	})
}

// object is whether an object of a namespace is taken, by itself or because another brings it in.
func (p *plan) object(resource string, o metav1.Object) Verdict {
	if v, ok := p.objects[o]; ok {
		return v
	}
	if v := p.namespace(o.GetNamespace()); v.Answer != Yes {
		return v
	}
	if v := p.kind(resource); v.Answer != Yes {
		return v
	}
	switch {
	case labelledOut(o):
		return leftOut(LabelExcluded, "the label velero.io/exclude-from-backup=true excludes it")
	case o.GetDeletionTimestamp() != nil:
		return leftOut(BeingDeleted, "it is being deleted")
	}
	return p.collected(resource, o)
}

// collected is whether the selectors and the policy's filters, which replace them, select an object. What only
// the collection leaves out (item_collector.go), another object can bring in.
func (p *plan) collected(resource string, o metav1.Object) Verdict {
	if filters, ok := p.filters(o.GetNamespace()); ok {
		f := p.filter(filters, resource)
		switch {
		case f == nil:
			return Verdict{
				No,
				PolicyFilter,
				"namespacedFilterPolicies of its resource policy leave out " + resource + " in the namespace",
				true,
			}
		case !f.Named(o.GetName()):
			return leftOut(PolicyFilter, "namespacedFilterPolicies of its resource policy leave out the name")
		case !f.Selects(o.GetLabels()):
			return Verdict{No, PolicyFilter, "a selector of namespacedFilterPolicies does not select it", true}
		}
		return taken
	}
	switch {
	case len(p.selectors) == 0:
		return taken
	case slices.ContainsFunc(p.selectors, func(s *metav1.LabelSelector) bool { return !velero.HasConditions(s) }):
		// FormatLabelSelector writes <none> for an empty one, which no API server takes: nothing is listed.
		return Verdict{
			No,
			SelectorMismatch,
			"a label selector of the schedule is empty, and Velero cannot list with it",
			true,
		}
	case p.selects(o):
		return taken
	}
	return Verdict{No, SelectorMismatch, "its labels do not match " + p.selectorText(), true}
}

func (p *plan) selects(o metav1.Object) bool {
	return slices.ContainsFunc(p.selectors, func(s *metav1.LabelSelector) bool {
		selector, err := metav1.LabelSelectorAsSelector(s)
		return err == nil && selector.Matches(labels.Set(o.GetLabels()))
	})
}

func (p *plan) selectorText() string {
	var texts []string
	for _, s := range p.selectors {
		texts = append(texts, metav1.FormatLabelSelector(s))
	}
	return human.Shorten(strings.Join(texts, " or "), 80)
}

// filters are those of the policy for a namespace: an exact name goes first (request.go, GetNamespaceFilter).
func (p *plan) filters(namespace string) (filters []velero.ObjectFilter, ok bool) {
	for _, n := range p.policy.Namespaced {
		if slices.Contains(n.Namespaces, namespace) {
			return n.Filters, true
		}
		if !ok && (velero.Namespaces{Includes: n.Namespaces}).Takes(namespace) {
			filters, ok = n.Filters, true
		}
	}
	return filters, ok
}

// filter is the one of a resource, else the one for all others; nil for none.
func (p *plan) filter(filters []velero.ObjectFilter, resource string) *velero.ObjectFilter {
	var rest *velero.ObjectFilter
	for i := range filters {
		if filters[i].CatchAll() {
			rest = &filters[i]
		}
		for _, word := range filters[i].Kinds {
			if r, ok := p.Kinds.Lookup(word); ok && r.GroupResource() == resource {
				return &filters[i]
			}
		}
	}
	return rest
}

// spread finds the pods and claims that are taken: a pod brings its claims (actionhelpers/pod_helper.go), and a bound
// claim the running pods that mount it and its group (itemblock/actions/pvc_action.go).
func (p *plan) spread() {
	var queue []metav1.Object
	for _, resource := range []string{Pods, Claims} {
		for _, o := range p.Objects[resource] {
			if p.objects[o] = p.object(resource, o); p.objects[o].Answer == Yes {
				queue = append(queue, o)
			}
		}
	}
	bring := func(o metav1.Object) {
		if p.objects[o].pulled {
			p.objects[o] = taken
			queue = append(queue, o)
		}
	}
	for ; len(queue) > 0; queue = queue[1:] {
		switch o := queue[0].(type) {
		case *corev1.Pod:
			for claim := range claimsOf(o) {
				bring(p.Objects[Claims][claim])
			}
		case *corev1.PersistentVolumeClaim:
			if !bound(o) {
				continue
			}
			for _, m := range p.mounts[o.Namespace+"/"+o.Name] {
				if running(m.pod) {
					bring(m.pod)
				}
			}
			label := cmp.Or(p.spec.VolumeGroupSnapshotLabelKey, "velero.io/volume-group") // getGroupedPVCs
			for _, other := range p.Objects[Claims] {
				if o.Labels[label] != "" && other.GetNamespace() == o.Namespace &&
					other.GetLabels()[label] == o.Labels[label] {
					bring(other)
				}
			}
		}
	}
}

// namespaceItself is whether the Namespace itself is taken (item_collector.go, nsTracker).
func (p *plan) namespaceItself(n metav1.Object) Verdict {
	v, kind := p.namespace(n.GetName()), p.kind(Namespaces)
	switch {
	case p.refused.Answer != "":
		return p.refused
	case n.GetDeletionTimestamp() != nil:
		return leftOut(NamespaceTerminating, "the namespace is being deleted")
	case labelledOut(n):
		return leftOut(NamespaceLabelled, "the namespace has the label velero.io/exclude-from-backup=true")
	case kind.Answer != Yes:
		return kind
	}
	if c := p.policy.Cluster; c != nil {
		if f := p.filter(c.Filters, Namespaces); f != nil && !f.Named(n.GetName()) {
			return leftOut(PolicyFilter, "clusterScopedFilterPolicy of its resource policy leaves out the name")
		}
	}
	switch {
	case p.selects(n), v.Answer == Yes && !(p.everywhere() && len(p.selectors) > 0):
		return taken
	case v.Answer != Yes:
		return v
	case p.anyCollected(n.GetName()), p.Selected[n.GetName()]:
		return taken
	case p.Selected != nil:
		return leftOut(SelectorMismatch, "neither its labels nor those of what is in it match "+p.selectorText())
	}
	return unknown(SelectorMismatch, "it depends on whether anything in it matches "+p.selectorText())
}

// anyCollected reports whether a claim, pod or workload of a namespace is collected: what is dropped later counts, too.
func (p *plan) anyCollected(namespace string) bool {
	for resource, objects := range p.Objects {
		for _, o := range objects {
			if o.GetNamespace() == namespace && p.kind(resource).Answer == Yes &&
				p.collected(resource, o).Answer == Yes {
				return true
			}
		}
	}
	return false
}
