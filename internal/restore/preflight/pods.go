package preflight

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/veltui/veltui/collector"
	"github.com/veltui/veltui/internal/restore/live"
	"github.com/veltui/veltui/internal/restore/prepare"
)

// resourceAmounts holds CPU request, memory request, CPU limit and memory limit, and which of them are given.
type resourceAmounts struct {
	values [4]int64
	given  [4]bool
}

func (a *resourceAmounts) setAmount(i int, n int64) { a.values[i], a.given[i] = n, true }

func (a *resourceAmounts) addAmounts(b resourceAmounts) {
	for i := range b.values {
		if b.given[i] {
			addCapped(&a.values[i], b.values[i])
			a.given[i] = true
		}
	}
}

// raiseAmounts raises each amount to that of b where b's is higher.
func (a *resourceAmounts) raiseAmounts(b resourceAmounts) {
	for i := range b.values {
		if b.given[i] {
			a.setAmount(i, max(a.values[i], b.values[i]))
		}
	}
}

// withDefaults returns the amounts of a, with those of b where a gives none.
func (a resourceAmounts) withDefaults(b resourceAmounts) resourceAmounts {
	for i := range a.values {
		if !a.given[i] && b.given[i] {
			a.setAmount(i, b.values[i])
		}
	}
	return a
}

type podNeeds struct {
	containers         []container
	podLevel, overhead resourceAmounts
	hasPodLevel        bool
	security           string
	scope              podScope
}

// container is a container of a pod; sidecar is true for an init container that keeps running.
type container struct {
	resourceAmounts
	init, sidecar bool
}

// setNeeds reads a pod from the facts of a backup. It reuses the pod's slices.
func (p *podNeeds) setNeeds(needs []collector.Need) {
	*p = podNeeds{containers: p.containers[:0]}
	at := &p.podLevel
	for _, n := range needs {
		switch n.Kind {
		case collector.NeedContainer, collector.NeedInitContainer, collector.NeedSidecar:
			p.containers = append(
				p.containers,
				container{init: n.Kind != collector.NeedContainer, sidecar: n.Kind == collector.NeedSidecar},
			)
			at = &p.containers[len(p.containers)-1].resourceAmounts
		case collector.NeedPodResources:
			at, p.hasPodLevel = &p.podLevel, true
		case collector.NeedOverhead:
			at = &p.overhead
		case collector.NeedCPURequest, collector.NeedMemoryRequest, collector.NeedCPULimit, collector.NeedMemoryLimit:
			at.setAmount(int(n.Kind-collector.NeedCPURequest), n.Amount)
		case collector.NeedPodSecurity:
			p.security = n.Name
		case collector.NeedPriorityClass:
			p.scope.class = n.Name
		case collector.NeedActiveDeadline:
			p.scope.terminating = true
		}
	}
}

// totalAmounts returns what a pod requests without its overhead, as limit ranges count it
// (k8s.io/component-helpers/resource, PodRequests and PodLimits).
func (p *podNeeds) totalAmounts() (all resourceAmounts) {
	var running, start resourceAmounts
	for _, c := range p.containers {
		if !c.init {
			all.addAmounts(c.resourceAmounts)
			continue
		}
		now := running
		now.addAmounts(c.resourceAmounts)
		if c.sidecar {
			all.addAmounts(c.resourceAmounts)
			running = now
		}
		start.raiseAmounts(now)
	}
	all.raiseAmounts(start)
	return p.podLevel.withDefaults(all)
}

// quotaAmounts returns what a quota counts of a pod with the given total.
func (p *podNeeds) quotaAmounts(all resourceAmounts) resourceAmounts {
	for i := range 2 {
		if !p.overhead.given[i] {
			continue
		}
		all.setAmount(i, all.values[i])
		addCapped(&all.values[i], p.overhead.values[i])
		if all.values[i+2] > 0 {
			addCapped(&all.values[i+2], p.overhead.values[i])
		}
	}
	return all
}

// missingAmounts returns the amounts that some container does not give, so that a quota refuses the pod
// (k8s.io/kubernetes/pkg/quota/v1/evaluator/core/pods.go, Constraints).
func (p *podNeeds) missingAmounts() (missing [4]bool) {
	if p.hasPodLevel {
		return missing
	}
	for _, c := range p.containers {
		for i, given := range c.given {
			missing[i] = missing[i] || !given
		}
	}
	return missing
}

type namespaceLimitRanges struct {
	all      []limitRangeInForce
	defaults resourceAmounts
}

// limitRangeInForce is a limit range, and what it refuses.
type limitRangeInForce struct {
	*corev1.LimitRange
	isBrought    bool // the restore brings it: no dry run has asked about it
	pods, claims group
}

func (c *checker) findLimitRanges(namespace string) *namespaceLimitRanges {
	if r := c.limitRanges[namespace]; r != nil {
		return r
	}
	r := &namespaceLimitRanges{}
	c.limitRanges[namespace] = r
	if c.Environment == nil {
		return r
	}
	brought := c.brought.limitRanges[namespace]
	if c.Fates.Rank(live.LimitRanges) > c.Fates.Rank(pods) { // as another server's priorities may have it
		brought = nil
	}
	for i := range c.Environment.LimitRanges {
		l := &c.Environment.LimitRanges[i]
		replaced := slices.ContainsFunc(brought, func(b *corev1.LimitRange) bool { return b.Name == l.Name })
		if l.Namespace == namespace && !replaced {
			r.all = append(r.all, limitRangeInForce{LimitRange: l})
		}
	}
	for _, l := range brought {
		r.all = append(r.all, limitRangeInForce{LimitRange: l, isBrought: true})
	}
	for _, l := range r.all {
		r.defaults = r.defaults.withDefaults(limitRangeDefaults(l.LimitRange))
	}
	return r
}

// computeResources are the resources that limit ranges and pods have in common, in the order of [resourceAmounts].
var computeResources = [2]corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory}

func quantityAmount(q resource.Quantity, which int) int64 {
	if which == 0 {
		return min(q.MilliValue(), maxSum)
	}
	return min(q.Value(), maxSum)
}

// limitRangeDefaults returns what a limit range sets for a container that does not give an amount
// (k8s.io/kubernetes/plugin/pkg/admission/limitranger and pkg/apis/core/v1/defaults.go): a maximum is the default
// limit, a default limit is the default request, and so is a minimum.
func limitRangeDefaults(l *corev1.LimitRange) (all resourceAmounts) {
	for _, item := range l.Spec.Limits {
		if item.Type != corev1.LimitTypeContainer {
			continue
		}
		var one resourceAmounts
		for i, name := range computeResources {
			for _, from := range []struct {
				list corev1.ResourceList
				to   int
			}{
				{item.Default, i + 2},
				{item.Max, i + 2},
				{item.DefaultRequest, i},
				{item.Default, i},
				{item.Max, i},
				{item.Min, i},
			} {
				if q, ok := from.list[name]; ok && !one.given[from.to] {
					one.setAmount(from.to, quantityAmount(q, i))
				}
			}
		}
		all = one.withDefaults(all) // the last item counts
	}
	return all
}

// waitContainer is the container that Velero adds to a pod with file-system backups, unless a ConfigMap changes it
// (pkg/restore/actions/pod_volume_restore_action.go, Execute).
var waitContainer = container{
	init:            true,
	resourceAmounts: resourceAmounts{[4]int64{100, 128 << 20, 100, 128 << 20}, [4]bool{true, true, true, true}},
}

func (c *checker) collectPod(s *storageNeeds, d *namespaceDemand, i collector.Item, needs []collector.Need) {
	p, r := &c.scratchPod, c.findLimitRanges(i.TargetNamespace)
	p.setNeeds(needs)
	if c.podsWithVolumeBackups[i.Namespace+"/"+i.Name] {
		s.agentPods.addItem(i.TargetNamespace, i.Name)
		if c.Environment != nil && len(c.Environment.PluginConfigs[prepare.PodVolumeRestoreLabel]) == 0 {
			p.containers = slices.Insert(p.containers, 0, waitContainer)
		}
	}
	// Kubernetes supports spec.resources of pods since 1.34.
	if _, minor, known := c.Served.KubernetesVersion(); p.hasPodLevel && known && minor < 34 {
		p.podLevel, p.hasPodLevel = resourceAmounts{}, false
	}
	for n, c := range p.containers {
		p.containers[n].resourceAmounts = c.withDefaults(r.defaults)
	}
	total := p.totalAmounts()
	charged := p.quotaAmounts(total)
	answered := c.isAnswered(pods, i.TargetNamespace, i.Name)
	if r.refusePod(p, total, i, answered) {
		c.newItems[i.TargetNamespace][pods]--
		return
	}
	one := podDemand{compute: charged.values, pods: 1}
	for n, missing := range p.missingAmounts() {
		if missing && !answered {
			one.missingCount[n]++
		}
	}
	d.addDemand(one)
	p.scope.bestEffort = p.isBestEffort()
	if d.scoped[p.scope] == nil {
		d.scoped[p.scope] = &podDemand{}
	}
	d.scoped[p.scope].addDemand(one)
	if answered {
		return
	}
	d.unansweredPods++
	c.judgePodSecurity(i, p.security)
}

// refusePod notes the limit ranges that refuse a pod, and reports whether one does. A pod that the API server has
// answered for is still to be judged by those that the restore brings.
func (r *namespaceLimitRanges) refusePod(
	p *podNeeds,
	total resourceAmounts,
	i collector.Item,
	answered bool,
) (refused bool) {
	for n := range r.all {
		l := &r.all[n]
		if answered && !l.isBrought {
			continue
		}
		if says := p.findRangeViolation(l.LimitRange, total); says != "" {
			l.pods.addItem(i.TargetNamespace, i.Name)
			l.pods.addReasons(says)
			refused = true
		}
	}
	return refused
}

// refuseClaim notes the limit ranges that refuse a claim, and reports whether one does.
func (c *checker) refuseClaim(i collector.Item, size int64) (refused bool) {
	r := c.findLimitRanges(i.TargetNamespace)
	for n := range r.all {
		l := &r.all[n]
		late := l.isBrought && c.Fates.Rank(live.LimitRanges) > c.Fates.Rank(claims)
		if late || !l.isBrought && c.isAnswered(claims, i.TargetNamespace, i.Name) {
			continue
		}
		for _, item := range l.Spec.Limits {
			says := claimRangeViolation("storage", item, quotaAmount{n: size, isBytes: true})
			if item.Type == corev1.LimitTypePersistentVolumeClaim && says != "" {
				l.claims.addItem(i.TargetNamespace, i.Name)
				l.claims.addReasons(says)
				refused = true
			}
		}
	}
	return refused
}

// findRangeViolation says how a pod violates a limit range, empty if it does not.
func (p *podNeeds) findRangeViolation(l *corev1.LimitRange, total resourceAmounts) string {
	for _, item := range l.Spec.Limits {
		switch item.Type {
		case corev1.LimitTypePod:
			if says := total.rangeViolation(item); says != "" {
				return says
			}
		case corev1.LimitTypeContainer:
			for _, c := range p.containers {
				if says := c.rangeViolation(item); says != "" {
					return says
				}
			}
		}
	}
	return ""
}

// rangeViolation says which limit of an item the amounts violate. A minimum requires a request, a maximum a limit, a
// ratio both.
func (a resourceAmounts) rangeViolation(item corev1.LimitRangeItem) string {
	of := strings.ToLower(string(item.Type))
	for i, name := range computeResources {
		request, hasRequest, limit, hasLimit := a.values[i], a.given[i], a.values[i+2], a.given[i+2]
		if q, ok := item.Min[name]; ok {
			least := quantityAmount(q, i)
			switch {
			case !hasRequest:
				return fmt.Sprintf("at least %s %s for a %s, and no request says how much", q.String(), name, of)
			case request < least, hasLimit && limit < least:
				return fmt.Sprintf("at least %s %s for a %s", q.String(), name, of)
			}
		}
		if q, ok := item.Max[name]; ok {
			top := quantityAmount(q, i)
			switch {
			case !hasLimit:
				return fmt.Sprintf("at most %s %s for a %s, and no limit says how much", q.String(), name, of)
			case limit > top, hasRequest && request > top:
				return fmt.Sprintf("at most %s %s for a %s", q.String(), name, of)
			}
		}
		if q, ok := item.MaxLimitRequestRatio[name]; ok &&
			(request == 0 || limit == 0 || float64(limit)/float64(request)*1000 > float64(q.MilliValue())) {
			return fmt.Sprintf("a %s limit of at most %s times the request for a %s", name, q.String(), of)
		}
	}
	return ""
}
