package coverage

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/velero"
	"github.com/veltui/veltui/internal/velero/veleroapi"
)

// backupPlan is what the next backup of a schedule includes. The sources cited are of Velero 1.18.3.
type backupPlan struct {
	*clusterIndex
	*Schedule
	spec             veleroapi.BackupSpec
	policy           *Policy
	volumePolicies   []volumePolicy // the backup's before the server's
	refusal          Verdict        // why there is no next backup, else zero
	usesOldFilters   bool           // includedResources and the like are set, not the filters by scope
	namespacedFilter velero.IncludeExclude
	clusterFilter    velero.IncludeExclude // with old filters the same as namespacedFilter
	selectors        []*metav1.LabelSelector

	unpaused *backupPlan // see resume

	namespaceVerdicts, kindVerdicts map[string]Verdict
	objectVerdicts                  map[metav1.Object]Verdict // claims and pods
}

func newBackupPlan(x *clusterIndex, s *Schedule) *backupPlan {
	p := &backupPlan{
		clusterIndex:      x,
		Schedule:          s,
		spec:              s.Spec.Template,
		namespaceVerdicts: map[string]Verdict{},
		kindVerdicts:      map[string]Verdict{},
		objectVerdicts:    map[metav1.Object]Verdict{},
	}
	p.selectors = p.spec.OrLabelSelectors
	if len(p.selectors) == 0 && p.spec.LabelSelector != nil {
		p.selectors = []*metav1.LabelSelector{p.spec.LabelSelector}
	}
	p.policy = p.loadPolicy(s.PolicyName())
	p.volumePolicies = slices.Concat(p.policy.Volumes, p.loadPolicy(p.Server.Flags.GlobalVolumePolicies).Volumes)
	p.usesOldFilters = p.spec.IncludeClusterResources != nil ||
		len(p.spec.IncludedResources)+len(p.spec.ExcludedResources) > 0
	p.makeFilters()
	if p.refusal.Answer != Unknown { // otherwise what the policy says is unknown
		p.refusal = cmp.Or(p.findRefusal(), p.refusal)
	}
	p.pullInObjects()
	return p
}

// resume returns what the backups of a paused schedule include once it is unpaused.
func (p *backupPlan) resume() *backupPlan {
	if p.unpaused == nil {
		s := *p.Schedule
		s.Schedule = s.Schedule.DeepCopy()
		s.Spec.Paused = false
		p.unpaused = newBackupPlan(p.clusterIndex, &s)
	}
	return p.unpaused
}

func (p *backupPlan) loadPolicy(configMap string) *Policy {
	policy := p.Policies[configMap]
	switch {
	case configMap == "":
		return &Policy{}
	case policy == nil:
		p.refusal = unknownVerdict(
			NotSeen,
			"its resource policy, ConfigMap "+configMap+", cannot be read"+human.Prefixed(
				": ",
				p.Unchecked["configmaps/"+configMap],
			),
		)
		return &Policy{}
	case policy.err != nil:
		p.refusal = excludedVerdict(
			BackupsRefused,
			fmt.Sprintf("Velero refuses its resource policy, ConfigMap %s: %v", configMap, policy.err),
		)
	}
	return policy
}

// findRefusal returns why the schedule makes no backups, or why Velero refuses them (backup_controller.go,
// prepareBackupRequest).
func (p *backupPlan) findRefusal() Verdict {
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
	refuse := func(why string) Verdict { return excludedVerdict(BackupsRefused, "Velero refuses its backups: "+why) }
	switch {
	case p.Spec.Paused:
		return excludedVerdict(SchedulePaused, "the schedule is paused")
	case p.InvalidReason != "":
		return excludedVerdict(ScheduleInvalid, p.InvalidReason)
	case p.RefusalReason != "":
		return refuse(p.RefusalReason)
	case p.usesOldFilters && len(scoped) > 0:
		return refuse("it mixes old and new filters of resources")
	case s.LabelSelector != nil && s.OrLabelSelectors != nil:
		return refuse("it has labelSelector and orLabelSelectors")
	case slices.Contains(s.ExcludedNamespaces, "*"), contradict(s.IncludedNamespaces, s.ExcludedNamespaces):
		return refuse("its lists of namespaces contradict each other")
	case sets.New(s.IncludedNamespaces...).HasAny(p.excluded...):
		// prepareBackupRequest adds them to excludedNamespaces.
		return refuse("it includes a namespace by name that has the label velero.io/exclude-from-backup=true")
	case !(velero.IncludeExclude{Includes: s.IncludedNamespaces, Excludes: s.ExcludedNamespaces}).IsValid():
		return refuse("a pattern of its namespaces is not valid")
	case p.usesOldFilters && (p.policy.Include != nil || p.policy.Cluster != nil || len(p.policy.Namespaced) > 0):
		return refuse("it mixes old filters with those of a resource policy")
	case p.usesOldFilters && slices.Contains(s.ExcludedResources, "*"):
		return refuse("excludedResources contains *")
	}
	if p.takesNothing() {
		return excludedVerdict(
			NamespaceNotIncluded,
			"Velero "+p.Server.Version+" takes no namespace if includedNamespaces is empty and excludedNamespaces ("+
				human.JoinNames(s.ExcludedNamespaces, 3)+") has a pattern: it makes an empty one. Set includedNamespaces to *",
		)
	}
	for _, place := range s.VolumeSnapshotLocations { // validateAndGetSnapshotLocations
		if !slices.Contains(p.VolumeSnapshotLocations, place) && p.Unchecked[VolumeSnapshotLocations] == "" {
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
func (p *backupPlan) makeFilters() {
	s, yes, no := p.spec, true, false
	if p.usesOldFilters {
		p.namespacedFilter = p.resolveResources(s.IncludedResources, s.ExcludedResources, nil)
		p.clusterFilter = p.namespacedFilter
		return
	}
	p.namespacedFilter = p.resolveResources(s.IncludedNamespaceScopedResources, s.ExcludedNamespaceScopedResources, &yes)
	p.clusterFilter = p.resolveResources(s.IncludedClusterScopedResources, s.ExcludedClusterScopedResources, &no)
	if i := p.policy.Include; i != nil { // CombineWithPolicy: the backup's own words come first
		combineFilters(&p.namespacedFilter, p.resolveResources(i.IncludedNamespaced, i.ExcludedNamespaced, &yes))
		combineFilters(&p.clusterFilter, p.resolveResources(i.IncludedCluster, i.ExcludedCluster, &no))
	}
}

// resolveResources replaces the words of a filter by the resources that they mean, and drops resources of the other
// scope.
func (p *backupPlan) resolveResources(included, excluded []string, namespaced *bool) velero.IncludeExclude {
	resources := func(words []string) (out []string) {
		for _, word := range words {
			r, ok := p.Kinds.FindResource(word)
			switch {
			case word == "*" || !ok: // an unknown word stands for itself
				out = append(out, word)
			case namespaced == nil || *namespaced == r.Namespaced:
				out = append(out, r.GroupResource())
			}
		}
		return out
	}
	return velero.IncludeExclude{Includes: resources(included), Excludes: resources(excluded)}
}

func combineFilters(f *velero.IncludeExclude, policy velero.IncludeExclude) {
	names := func(list []string, word string) bool { return !(velero.IncludeExclude{Excludes: list}).Matches(word) }
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

// includesEverywhere follows NamespaceIncludesExcludes.IncludeEverything: no namespace is left out, not even by its
// label.
func (p *backupPlan) includesEverywhere() bool {
	in := p.spec.IncludedNamespaces
	return len(p.spec.ExcludedNamespaces)+len(p.excluded) == 0 && (len(in) == 0 || slices.Equal(in, []string{"*"}))
}

func memoizeVerdict[K comparable](m map[K]Verdict, key K, make func() Verdict) Verdict {
	v, ok := m[key]
	if !ok {
		v = make()
		m[key] = v
	}
	return v
}

// judgeNamespace judges whether the contents of a namespace are included (item_backupper.go, itemInclusionChecks).
func (p *backupPlan) judgeNamespace(n string) Verdict {
	return memoizeVerdict(p.namespaceVerdicts, n, func() Verdict {
		included := velero.IncludeExclude{Includes: p.spec.IncludedNamespaces}
		switch {
		case !included.Matches(n): // also for a paused or refused schedule: it would not include it anyway
			return excludedVerdict(
				NamespaceNotIncluded,
				"includedNamespaces ("+human.JoinNames(p.spec.IncludedNamespaces, 3)+") does not name the namespace",
			)
		case p.refusal.Answer != "":
			return p.refusal
		case !(velero.IncludeExclude{Excludes: p.spec.ExcludedNamespaces}).Matches(n):
			return excludedVerdict(
				NamespaceExcluded,
				"excludedNamespaces ("+human.JoinNames(p.spec.ExcludedNamespaces, 3)+") names the namespace",
			)
		case slices.Contains(p.excluded, n):
			return excludedVerdict(NamespaceLabelled, "the namespace has the label velero.io/exclude-from-backup=true")
		}
		return includedVerdict
	})
}

// takesNothing reports whether the server's version makes an empty backup of these lists of namespaces.
func (p *backupPlan) takesNothing() bool {
	version, known := velero.ParseVersion(p.Server.Version)
	hasPattern := func(name string) bool { return strings.ContainsAny(name, "*?[") }
	return known && version.TakesNothingByExcludePatterns() && len(p.spec.IncludedNamespaces) == 0 &&
		slices.ContainsFunc(p.spec.ExcludedNamespaces, hasPattern)
}

// judgeKind judges whether objects of a resource are collected (includes_excludes.go, ShouldInclude).
func (p *backupPlan) judgeKind(resource string) Verdict {
	return memoizeVerdict(p.kindVerdicts, resource, func() Verdict {
		clusterScoped := resource == Namespaces || resource == Volumes
		f := p.namespacedFilter
		if clusterScoped {
			f = p.clusterFilter
		}
		switch {
		case clusterScoped && p.usesOldFilters && p.spec.IncludeClusterResources != nil && !*p.spec.IncludeClusterResources:
			return excludedVerdict(KindExcluded, "includeClusterResources is false")
		case !(velero.IncludeExclude{Excludes: f.Excludes}).Matches(resource):
		case resource == Volumes && p.spec.IncludeClusterResources != nil: // ShouldExclude: a claim brings its volume
			return includedVerdict
		case clusterScoped && !p.usesOldFilters: // namespaces by default, volumes with the claims that have them
			return includedVerdict
		case f.Matches(resource):
			return includedVerdict
		}
		return excludedVerdict(KindExcluded, "the schedule's filters of resources leave out "+resource)
	})
}

// judgeObject judges whether an object of a namespace is included, by itself or because another object brings it in.
func (p *backupPlan) judgeObject(resource string, o metav1.Object) Verdict {
	if v, ok := p.objectVerdicts[o]; ok {
		return v
	}
	if v := p.judgeNamespace(o.GetNamespace()); v.Answer != Yes {
		return v
	}
	if v := p.judgeKind(resource); v.Answer != Yes {
		return v
	}
	switch {
	case isExcludedByLabel(o):
		return excludedVerdict(LabelExcluded, "the label velero.io/exclude-from-backup=true excludes it")
	case o.GetDeletionTimestamp() != nil:
		return excludedVerdict(BeingDeleted, "it is being deleted")
	}
	return p.judgeCollected(resource, o)
}

// judgeCollected judges whether the selectors, or the policy's filters, which replace them, select an object. An
// object that only the collection leaves out (item_collector.go) can be brought in by another object.
func (p *backupPlan) judgeCollected(resource string, o metav1.Object) Verdict {
	if filters, ok := p.namespaceFilters(o.GetNamespace()); ok {
		f := p.findFilter(filters, resource)
		switch {
		case f == nil:
			return Verdict{
				No,
				PolicyFilter,
				"namespacedFilterPolicies of its resource policy leave out " + resource + " in the namespace",
				true,
			}
		case !f.MatchesName(o.GetName()):
			return excludedVerdict(PolicyFilter, "namespacedFilterPolicies of its resource policy leave out the name")
		case !f.MatchesLabels(o.GetLabels()):
			return Verdict{No, PolicyFilter, "a selector of namespacedFilterPolicies does not select it", true}
		}
		return includedVerdict
	}
	switch {
	case len(p.selectors) == 0:
		return includedVerdict
	case slices.ContainsFunc(p.selectors, func(s *metav1.LabelSelector) bool { return !velero.HasConditions(s) }):
		// FormatLabelSelector writes <none> for an empty selector, which no API server accepts: nothing is listed.
		return Verdict{
			No,
			SelectorMismatch,
			"a label selector of the schedule is empty, and Velero cannot list with it",
			true,
		}
	case p.selectsObject(o):
		return includedVerdict
	}
	return Verdict{No, SelectorMismatch, "its labels do not match " + p.selectorText(), true}
}

func (p *backupPlan) selectsObject(o metav1.Object) bool {
	return slices.ContainsFunc(p.selectors, func(s *metav1.LabelSelector) bool {
		selector, err := metav1.LabelSelectorAsSelector(s)
		return err == nil && selector.Matches(labels.Set(o.GetLabels()))
	})
}

func (p *backupPlan) selectorText() string {
	var texts []string
	for _, s := range p.selectors {
		texts = append(texts, metav1.FormatLabelSelector(s))
	}
	return human.Shorten(strings.Join(texts, " or "), 80)
}

// namespaceFilters returns the policy's filters for a namespace: an exact name takes precedence (request.go,
// GetNamespaceFilter).
func (p *backupPlan) namespaceFilters(namespace string) (filters []velero.ObjectFilter, ok bool) {
	for _, n := range p.policy.Namespaced {
		if slices.Contains(n.Namespaces, namespace) {
			return n.Filters, true
		}
		if !ok && (velero.IncludeExclude{Includes: n.Namespaces}).Matches(namespace) {
			filters, ok = n.Filters, true
		}
	}
	return filters, ok
}

// findFilter returns the filter of a resource, else the filter for all others; nil for none.
func (p *backupPlan) findFilter(filters []velero.ObjectFilter, resource string) *velero.ObjectFilter {
	var rest *velero.ObjectFilter
	for i := range filters {
		if filters[i].IsCatchAll() {
			rest = &filters[i]
		}
		for _, word := range filters[i].Kinds {
			if r, ok := p.Kinds.FindResource(word); ok && r.GroupResource() == resource {
				return &filters[i]
			}
		}
	}
	return rest
}

// pullInObjects finds the pods and claims that are included: a pod brings in its claims
// (actionhelpers/pod_helper.go), and a bound claim the running pods that mount it and its group
// (itemblock/actions/pvc_action.go).
func (p *backupPlan) pullInObjects() {
	var queue []metav1.Object
	for _, resource := range []string{Pods, Claims} {
		for _, o := range p.Objects[resource] {
			if p.objectVerdicts[o] = p.judgeObject(resource, o); p.objectVerdicts[o].Answer == Yes {
				queue = append(queue, o)
			}
		}
	}
	bring := func(o metav1.Object) {
		if p.objectVerdicts[o].canBePulledIn {
			p.objectVerdicts[o] = includedVerdict
			queue = append(queue, o)
		}
	}
	for ; len(queue) > 0; queue = queue[1:] {
		switch o := queue[0].(type) {
		case *corev1.Pod:
			for claim := range mountedClaims(o) {
				bring(p.Objects[Claims][claim])
			}
		case *corev1.PersistentVolumeClaim:
			if !isBound(o) {
				continue
			}
			for _, m := range p.mounts[o.Namespace+"/"+o.Name] {
				if isPodRunning(m.pod) {
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

// judgeNamespaceObject judges whether the Namespace itself is included (item_collector.go, nsTracker).
func (p *backupPlan) judgeNamespaceObject(n metav1.Object) Verdict {
	v, kind := p.judgeNamespace(n.GetName()), p.judgeKind(Namespaces)
	switch {
	case p.refusal.Answer != "":
		return p.refusal
	case n.GetDeletionTimestamp() != nil:
		return excludedVerdict(NamespaceTerminating, "the namespace is being deleted")
	case isExcludedByLabel(n):
		return excludedVerdict(NamespaceLabelled, "the namespace has the label velero.io/exclude-from-backup=true")
	case kind.Answer != Yes:
		return kind
	}
	if c := p.policy.Cluster; c != nil {
		if f := p.findFilter(c.Filters, Namespaces); f != nil && !f.MatchesName(n.GetName()) {
			return excludedVerdict(PolicyFilter, "clusterScopedFilterPolicy of its resource policy leaves out the name")
		}
	}
	switch {
	case p.selectsObject(n), v.Answer == Yes && !(p.includesEverywhere() && len(p.selectors) > 0):
		return includedVerdict
	case v.Answer != Yes:
		return v
	case p.collectsAny(n.GetName()), p.SelectedNamespaces[n.GetName()]:
		return includedVerdict
	case p.SelectedNamespaces != nil:
		return excludedVerdict(SelectorMismatch, "neither its labels nor those of what is in it match "+p.selectorText())
	}
	return unknownVerdict(SelectorMismatch, "it depends on whether anything in it matches "+p.selectorText())
}

// collectsAny reports whether a claim, pod or workload of a namespace is collected, even if it is dropped later.
func (p *backupPlan) collectsAny(namespace string) bool {
	for resource, objects := range p.Objects {
		for _, o := range objects {
			if o.GetNamespace() == namespace && p.judgeKind(resource).Answer == Yes &&
				p.judgeCollected(resource, o).Answer == Yes {
				return true
			}
		}
	}
	return false
}
