package preflight

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/restore/live"
)

// quotaAmount is what new items add to one number of a quota.
type quotaAmount struct {
	n       int64
	isMilli bool // n is in thousandths
	isBytes bool
}

// checkQuotas finds the quotas that the new items exceed: Kubernetes then refuses items.
func (c *checker) checkQuotas() {
	if c.Environment == nil || c.State == nil {
		return
	}
	for _, q := range c.quotasInForce() {
		c.checkQuota(q)
	}
}

// quotaDemand is what a restore asks of a quota.
type quotaDemand struct {
	before, after amountsOf // what was created when the quota comes, and what it decides about
	scopesUnknown bool      // scopes may leave some of that out
}

// amountsOf is the demand of some items of a namespace, and their number by resource.
type amountsOf struct {
	*namespaceDemand
	created map[string]int
}

// inScopes returns what the scopes of a quota select, and whether that is known.
func (a amountsOf) inScopes(q *corev1.ResourceQuota) (selected amountsOf, known bool) {
	sum, scoped, known := a.sumInScopes(q)
	switch {
	case !scoped:
		return a, true
	case isClaimQuota(q):
		d := &namespaceDemand{storage: a.storage, storageByClass: a.storageByClass, claimsByClass: a.claimsByClass}
		return amountsOf{d, map[string]int{claims: a.created[claims]}}, false
	}
	// the quota counts only pods
	return amountsOf{&namespaceDemand{podDemand: sum}, map[string]int{pods: sum.pods}}, known
}

func (c *checker) demandOf(q quotaInForce) (d quotaDemand) {
	var known bool
	d.after, known = c.demandBetween(q.Namespace, q.from, q.until).inScopes(q.ResourceQuota)
	d.scopesUnknown = !known
	d.before = amountsOf{&namespaceDemand{}, nil}
	if q.isBrought {
		before := c.demandBetween(q.Namespace, math.MinInt, q.from)
		for resource, n := range c.existingItems[q.Namespace] {
			if q.Status.Used == nil { // it counts what exists
				before.created[resource] += n
			}
		}
		d.before, _ = before.inScopes(q.ResourceQuota)
	}
	return d
}

func (c *checker) checkQuota(q quotaInForce) {
	d := c.demandOf(q)
	severity, scopes := Obstacle, ""
	if d.scopesUnknown {
		severity, scopes = Doubt, " It has scopes, which may leave some of them out."
	}
	var over, unnamed, others, unknown []string
	sure := false // whether something surely does not fit
	for _, name := range sortedResourceNames(q.Status.Hard, q.Spec.Hard) {
		hard, ok := q.Status.Hard[name]
		if !ok {
			hard = q.Spec.Hard[name]
		}
		want, counted := d.after.count(string(name))
		if !counted && d.after.pods > 0 {
			others = append(others, string(name))
		}
		used := q.Status.Used[name]
		had, _ := d.before.count(string(name))
		used.Add(*had.toQuantity())
		switch {
		case want.n <= 0:
		case exceedsQuota(hard, used, want):
			// The node ports include that of a load balancer's health check, which does not count.
			least := want
			if name == corev1.ResourceServicesNodePorts {
				least.n -= int64(d.after.loadBalancers)
			}
			sure = sure || least.n > 0 && exceedsQuota(hard, used, least)
			over = append(
				over,
				fmt.Sprintf("%s: %s of %s used, %s more wanted", name, used.String(), hard.String(), want),
			)
		case c.countsUnknown(q):
			unknown = append(unknown, string(name))
		}
		if i := computeIndex(string(name)); i >= 0 && d.after.missingCount[i] > 0 {
			unnamed = append(unnamed, fmt.Sprintf("%s: %s", name, human.Count(d.after.missingCount[i], "pod")))
		}
	}
	if len(others) > 0 {
		c.addUnchecked(
			"how much the restore takes of quota "+q.Name+inNamespaceText(q.Namespace)+": "+strings.Join(others, ", "),
			"veltui does not count these",
		)
	}
	if len(unknown) > 0 {
		c.addUnchecked(
			fmt.Sprintf("whether quota %s, which the restore brings%s, leaves room for what comes after it: %s", q.Name,
				inNamespaceText(q.Namespace), strings.Join(unknown, ", ")),
			"the namespace exists, and veltui does not count what it holds",
		)
	}
	f := Finding{
		Severity:  severity,
		Resource:  live.Quotas,
		Namespace: q.Namespace,
		Names:     []string{q.Name},
		Count:     1,
	}
	if len(over) > 0 {
		f := f
		if !sure {
			f.Severity = Doubt
		}
		f.Reason = QuotaExceeded
		f.Sentence = fmt.Sprintf("%s is too small (%s). Kubernetes is expected to refuse what does not fit.%s",
			q.title(), strings.Join(over, "; "), scopes)
		f.Remedy = "Raise the quota for the restore, or restore less."
		if q.isBrought {
			f.Remedy = "Leave the quota out (--exclude-resources resourcequotas), and create it after the restore."
		}
		c.addFinding(f)
	}
	if len(unnamed) > 0 {
		f.Reason = QuotaNeedsResources
		f.Sentence = fmt.Sprintf("%s wants each container to say what it needs, and some do not (%s). Kubernetes is "+
			"expected to refuse these pods.%s", q.title(), strings.Join(unnamed, "; "), scopes)
		f.Remedy = "Add a LimitRange with defaults to the namespace, or lift the quota for the restore."
		c.addFinding(f)
	}
}

// title begins a sentence about a quota.
func (q quotaInForce) title() string {
	if q.isBrought {
		return fmt.Sprintf("Quota %s, which the restore brings to namespace %s before other items,", q.Name, q.Namespace)
	}
	return fmt.Sprintf("Quota %s in namespace %s", q.Name, q.Namespace)
}

// countsUnknown reports whether a quota that the restore brings counts more than the items of the restore.
func (c *checker) countsUnknown(q quotaInForce) bool {
	_, exists := c.Environment.Namespaces[q.Namespace]
	return q.isBrought && q.Status.Used == nil && (exists || !c.Environment.WasChecked(live.Namespaces, ""))
}

// computeIndex returns the index in demand.compute of the number that a quota counts, -1 for none.
func computeIndex(name string) int {
	return slices.Index([]string{"cpu", "memory", "limits.cpu", "limits.memory"}, strings.TrimPrefix(name, "requests."))
}

const storageClassInfix = ".storageclass.storage.k8s.io/"

// count returns what the items add to one number of a quota, and whether veltui counts that number
// (https://kubernetes.io/docs/concepts/policy/resource-quotas/).
func (a amountsOf) count(name string) (want quotaAmount, counted bool) {
	if counted, ok := strings.CutPrefix(name, "count/"); ok {
		return quotaAmount{n: int64(a.created[counted])}, true
	}
	if class, what, ok := strings.Cut(name, storageClassInfix); ok {
		switch what {
		case "requests.storage":
			return quotaAmount{n: a.storageByClass[class], isBytes: true}, true
		case "persistentvolumeclaims":
			return quotaAmount{n: int64(a.claimsByClass[class])}, true
		}
		return quotaAmount{}, false
	}
	if i := computeIndex(name); i >= 0 {
		return quotaAmount{n: a.compute[i], isMilli: i%2 == 0, isBytes: i%2 == 1}, true
	}
	switch name {
	case "requests.storage":
		return quotaAmount{n: a.storage, isBytes: true}, true
	case "services.nodeports":
		return quotaAmount{n: int64(a.nodePorts)}, true
	case "services.loadbalancers":
		return quotaAmount{n: int64(a.loadBalancers)}, true
	case pods, claims, "services", "secrets", "configmaps", "replicationcontrollers", "resourcequotas":
		return quotaAmount{n: int64(a.created[name])}, true
	}
	return quotaAmount{}, false
}

func (a quotaAmount) toQuantity() *resource.Quantity {
	switch {
	case a.isMilli:
		return resource.NewMilliQuantity(a.n, resource.DecimalSI)
	case a.isBytes:
		return resource.NewQuantity(a.n, resource.BinarySI)
	}
	return resource.NewQuantity(a.n, resource.DecimalSI)
}

func (a quotaAmount) String() string { return a.toQuantity().String() }

func exceedsQuota(hard, used resource.Quantity, want quotaAmount) bool {
	total := used.DeepCopy()
	total.Add(*want.toQuantity())
	return total.Cmp(hard) > 0
}

func sortedResourceNames(lists ...corev1.ResourceList) (names []corev1.ResourceName) {
	for _, list := range lists {
		for name := range list {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func (c *checker) checkLimitRanges() {
	for _, namespace := range slices.Sorted(maps.Keys(c.limitRanges)) {
		r := c.limitRanges[namespace]
		for i := range r.all {
			l := &r.all[i]
			d := c.demands[namespace]
			others := uncountedResources(l.LimitRange)
			if len(others) > 0 && d != nil && (d.unansweredPods > 0 || l.isBrought && d.pods > 0) {
				c.addUnchecked(
					"whether pods keep to limit range "+l.Name+inNamespaceText(l.Namespace)+": "+strings.Join(others, ", "),
					"veltui does not count these",
				)
			}
			c.addLimitViolations(l, pods, &l.pods)
			c.addLimitViolations(l, claims, &l.claims)
		}
	}
}

// uncountedResources returns the resources that a limit range bounds for pods and that veltui does not count.
func uncountedResources(l *corev1.LimitRange) (names []string) {
	for _, item := range l.Spec.Limits {
		if item.Type != corev1.LimitTypePod && item.Type != corev1.LimitTypeContainer {
			continue
		}
		for _, name := range sortedResourceNames(item.Min, item.Max, item.MaxLimitRequestRatio) {
			if !slices.Contains(computeResources[:], name) && !slices.Contains(names, string(name)) {
				names = append(names, string(name))
			}
		}
	}
	return names
}

func (c *checker) addLimitViolations(l *limitRangeInForce, resource string, g *group) {
	if g.count == 0 {
		return
	}
	where, remedy := "in", "Change the limit range for the restore, or restore into another namespace."
	if l.isBrought {
		where = "that the restore brings to"
		remedy = "Leave the limit range out (--exclude-resources limitranges), and create it after the restore."
	}
	c.addFinding(g.fillFinding(Finding{
		Severity: Obstacle,
		Reason:   LimitRangeViolated,
		Resource: resource,
		Sentence: fmt.Sprintf(
			"Limit range %s %s namespace %s is expected to refuse %s (it wants %s).",
			l.Name,
			where,
			l.Namespace,
			countText(g.count, resource),
			g.joinReasons("; "),
		),
		Remedy: remedy,
	}))
}

// claimRangeViolation says how a claim's request is above a maximum or below a minimum, empty if it is neither.
func claimRangeViolation(name corev1.ResourceName, item corev1.LimitRangeItem, want quotaAmount) string {
	if limit, ok := item.Max[name]; ok && want.toQuantity().Cmp(limit) > 0 {
		return fmt.Sprintf("at most %s %s for a claim", limit.String(), name)
	}
	if limit, ok := item.Min[name]; ok && want.toQuantity().Cmp(limit) < 0 {
		return fmt.Sprintf("at least %s %s for a claim", limit.String(), name)
	}
	return ""
}
