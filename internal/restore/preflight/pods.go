package preflight

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/veltui/veltui/collector"
	"github.com/veltui/veltui/internal/restore/prepare"
)

// asks are CPU request, memory request, CPU limit and memory limit, and which of them are given.
type asks struct {
	n     [4]int64
	given [4]bool
}

func (a *asks) set(i int, n int64) { a.n[i], a.given[i] = n, true }

func (a *asks) add(b asks) {
	for i := range b.n {
		if b.given[i] {
			add(&a.n[i], b.n[i])
			a.given[i] = true
		}
	}
}

// most takes what another asks for where that is more.
func (a *asks) most(b asks) {
	for i := range b.n {
		if b.given[i] {
			a.set(i, max(a.n[i], b.n[i]))
		}
	}
}

// or takes from another what there is none of.
func (a asks) or(b asks) asks {
	for i := range a.n {
		if !a.given[i] && b.given[i] {
			a.set(i, b.n[i])
		}
	}
	return a
}

type pod struct {
	containers      []container
	level, overhead asks
	hasLevel        bool
	security        string
	scope           podScope
}

// container is one of a pod; sidecar is true of an init container that goes on running.
type container struct {
	asks
	init, sidecar bool
}

// read takes a pod out of the facts of a backup; its slices are used again.
func (p *pod) read(needs []collector.Need) {
	*p = pod{containers: p.containers[:0]}
	at := &p.level
	for _, n := range needs {
		switch n.Kind {
		case collector.NeedContainer, collector.NeedInitContainer, collector.NeedSidecar:
			p.containers = append(
				p.containers,
				container{init: n.Kind != collector.NeedContainer, sidecar: n.Kind == collector.NeedSidecar},
			)
			at = &p.containers[len(p.containers)-1].asks
		case collector.NeedPodResources:
			at, p.hasLevel = &p.level, true
		case collector.NeedOverhead:
			at = &p.overhead
		case collector.NeedCPURequest, collector.NeedMemoryRequest, collector.NeedCPULimit, collector.NeedMemoryLimit:
			at.set(int(n.Kind-collector.NeedCPURequest), n.Amount)
		case collector.NeedPodSecurity:
			p.security = n.Name
		case collector.NeedPriorityClass:
			p.scope.class = n.Name
		case collector.NeedDeadline:
			p.scope.terminating = true
		}
	}
}

// total is what a pod asks for, but for its overhead, as limit ranges count it
// (k8s.io/component-helpers/resource, PodRequests and PodLimits).
func (p *pod) total() (all asks) {
	var running, start asks
	for _, c := range p.containers {
		if !c.init {
			all.add(c.asks)
			continue
		}
		now := running
		now.add(c.asks)
		if c.sidecar {
			all.add(c.asks)
			running = now
		}
		start.most(now)
	}
	all.most(start)
	return p.level.or(all)
}

// charged is what a quota counts, of which a total is given.
func (p *pod) charged(all asks) asks {
	for i := range 2 {
		if !p.overhead.given[i] {
			continue
		}
		all.set(i, all.n[i])
		add(&all.n[i], p.overhead.n[i])
		if all.n[i+2] > 0 {
			add(&all.n[i+2], p.overhead.n[i])
		}
	}
	return all
}

// without says what some container does not say, so that a quota refuses the pod
// (k8s.io/kubernetes/pkg/quota/v1/evaluator/core/pods.go, Constraints).
func (p *pod) without() (missing [4]bool) {
	if p.hasLevel {
		return missing
	}
	for _, c := range p.containers {
		for i, given := range c.given {
			missing[i] = missing[i] || !given
		}
	}
	return missing
}

type ranges struct {
	all      []*corev1.LimitRange
	defaults asks
	refused  []refusal // one for each of all
}

type refusal struct{ pods, claims group }

func (c *check) rangesOf(namespace string) *ranges {
	if r := c.ranges[namespace]; r != nil {
		return r
	}
	r := &ranges{}
	c.ranges[namespace] = r
	if c.Around == nil {
		return r
	}
	for i := range c.Around.LimitRanges {
		if l := &c.Around.LimitRanges[i]; l.Namespace == namespace {
			r.all = append(r.all, l)
			r.refused = append(r.refused, refusal{})
			r.defaults = r.defaults.or(defaultsOf(l))
		}
	}
	return r
}

// computes are the resources that limit ranges and pods have in common, in the order of asks.
var computes = [2]corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory}

func amountOf(q resource.Quantity, which int) int64 {
	if which == 0 {
		return min(q.MilliValue(), most)
	}
	return min(q.Value(), most)
}

// defaultsOf is what a limit range gives to a container that does not say it
// (k8s.io/kubernetes/plugin/pkg/admission/limitranger and pkg/apis/core/v1/defaults.go): a
// maximum is the default limit, that is the default request, and so is a minimum.
func defaultsOf(l *corev1.LimitRange) (all asks) {
	for _, item := range l.Spec.Limits {
		if item.Type != corev1.LimitTypeContainer {
			continue
		}
		var one asks
		for i, name := range computes {
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
					one.set(from.to, amountOf(q, i))
				}
			}
		}
		all = one.or(all) // the last item counts
	}
	return all
}

// waits is the container that Velero adds to a pod with file-system backups, unless a ConfigMap
// says otherwise (pkg/restore/actions/pod_volume_restore_action.go, Execute).
var waits = container{init: true, asks: asks{[4]int64{100, 128 << 20, 100, 128 << 20}, [4]bool{true, true, true, true}}}

func (c *check) addPod(s *storage, d *demand, i collector.Item, needs []collector.Need) {
	p, r := &c.pod, c.rangesOf(i.Target)
	p.read(needs)
	if c.podData[i.Namespace+"/"+i.Name] {
		s.pods.add(i.Target, i.Name)
		if c.Around != nil && len(c.Around.PluginConfigs[prepare.PodVolumes]) == 0 {
			p.containers = slices.Insert(p.containers, 0, waits)
		}
	}
	// Kubernetes knows spec.resources of pods since 1.34.
	if _, minor, known := c.Served.Kubernetes(); p.hasLevel && known && minor < 34 {
		p.level, p.hasLevel = asks{}, false
	}
	for n, c := range p.containers {
		p.containers[n].asks = c.or(r.defaults)
	}
	total := p.total()
	charged := p.charged(total)
	answered := c.answered(pods, i.Target, i.Name)
	one := podDemand{compute: charged.n, pods: 1}
	for n, missing := range p.without() {
		if missing && !answered {
			one.without[n]++
		}
	}
	d.add(one)
	p.scope.bestEffort = p.isBestEffort()
	if d.scoped[p.scope] == nil {
		d.scoped[p.scope] = &podDemand{}
	}
	d.scoped[p.scope].add(one)
	if answered {
		return
	}
	d.unasked++
	for n, l := range r.all {
		if says := p.violates(l, total); says != "" {
			r.refused[n].pods.add(i.Target, i.Name)
			r.refused[n].pods.because(says)
		}
	}
	c.secure(i, p.security)
}

// violates says how a pod breaks a limit range, if it does.
func (p *pod) violates(l *corev1.LimitRange, total asks) string {
	for _, item := range l.Spec.Limits {
		switch item.Type {
		case corev1.LimitTypePod:
			if says := total.outside(item); says != "" {
				return says
			}
		case corev1.LimitTypeContainer:
			for _, c := range p.containers {
				if says := c.outside(item); says != "" {
					return says
				}
			}
		}
	}
	return ""
}

// outside says what of an item is not kept. A minimum wants a request, a maximum a limit, a ratio both.
func (a asks) outside(item corev1.LimitRangeItem) string {
	of := strings.ToLower(string(item.Type))
	for i, name := range computes {
		request, hasRequest, limit, hasLimit := a.n[i], a.given[i], a.n[i+2], a.given[i+2]
		if q, ok := item.Min[name]; ok {
			least := amountOf(q, i)
			switch {
			case !hasRequest:
				return fmt.Sprintf("at least %s %s for a %s, and no request says how much", q.String(), name, of)
			case request < least, hasLimit && limit < least:
				return fmt.Sprintf("at least %s %s for a %s", q.String(), name, of)
			}
		}
		if q, ok := item.Max[name]; ok {
			top := amountOf(q, i)
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
