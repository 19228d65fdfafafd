package preflight

import (
	"fmt"
	"maps"
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
	for i := range c.Environment.Quotas {
		c.checkQuota(&c.Environment.Quotas[i])
	}
}

func (c *checker) checkQuota(q *corev1.ResourceQuota) {
	d, created := c.demands[q.Namespace], c.newItems[q.Namespace]
	if d == nil {
		d = &namespaceDemand{}
	}
	severity, scopes := Obstacle, ""
	sum, scoped, known := d.sumInScopes(q)
	switch {
	case !scoped:
	case isClaimQuota(q):
		d, created = &namespaceDemand{
			storage:        d.storage,
			storageByClass: d.storageByClass,
			claimsByClass:  d.claimsByClass,
		}, map[string]int{
			claims: created[claims],
		}
		known = false
	default: // the quota counts only pods
		d, created = &namespaceDemand{podDemand: sum}, map[string]int{pods: sum.pods}
	}
	if scoped && !known {
		severity, scopes = Doubt, " It has scopes, which may leave some of them out."
	}
	var over, unnamed, others []string
	sure := false // whether something surely does not fit
	for _, name := range sortedResourceNames(q.Status.Hard, q.Spec.Hard) {
		hard, ok := q.Status.Hard[name]
		if !ok {
			hard = q.Spec.Hard[name]
		}
		used := q.Status.Used[name]
		want, counted := quotaDemand(string(name), d, created)
		if !counted && d.pods > 0 {
			others = append(others, string(name))
		}
		if want.n > 0 && exceedsQuota(hard, used, want) {
			// The node ports include that of a load balancer's health check, which does not count.
			least := want
			if name == corev1.ResourceServicesNodePorts {
				least.n -= int64(d.loadBalancers)
			}
			sure = sure || least.n > 0 && exceedsQuota(hard, used, least)
			over = append(
				over,
				fmt.Sprintf("%s: %s of %s used, %s more wanted", name, used.String(), hard.String(), want),
			)
		}
		if i := computeIndex(string(name)); i >= 0 && d.missingCount[i] > 0 {
			unnamed = append(unnamed, fmt.Sprintf("%s: %s", name, human.Count(d.missingCount[i], "pod")))
		}
	}
	if len(others) > 0 {
		c.addUnchecked(
			"how much the restore takes of quota "+q.Name+inNamespaceText(q.Namespace)+": "+strings.Join(others, ", "),
			"veltui does not count these",
		)
	}
	if len(over) > 0 {
		exceeded := severity
		if !sure {
			exceeded = Doubt
		}
		c.addFinding(
			Finding{
				Severity:  exceeded,
				Reason:    QuotaExceeded,
				Resource:  live.Quotas,
				Namespace: q.Namespace,
				Names:     []string{q.Name},
				Count:     1,
				Sentence: fmt.Sprintf(
					"Quota %s in namespace %s is too small (%s). Kubernetes refuses what does not fit.%s",
					q.Name,
					q.Namespace,
					strings.Join(over, "; "),
					scopes,
				),
				Remedy: "Raise the quota for the restore, or restore less.",
			},
		)
	}
	if len(unnamed) > 0 {
		c.addFinding(
			Finding{
				Severity:  severity,
				Reason:    QuotaNeedsResources,
				Resource:  live.Quotas,
				Namespace: q.Namespace,
				Names:     []string{q.Name},
				Count:     1,
				Sentence: fmt.Sprintf(
					"Quota %s in namespace %s wants each container to say what it needs, and some do not (%s). Kubernetes "+
						"refuses these pods.%s",
					q.Name,
					q.Namespace,
					strings.Join(unnamed, "; "),
					scopes,
				),
				Remedy: "Add a LimitRange with defaults to the namespace, or lift the quota for the restore.",
			},
		)
	}
}

// computeIndex returns the index in demand.compute of the number that a quota counts, -1 for none.
func computeIndex(name string) int {
	return slices.Index([]string{"cpu", "memory", "limits.cpu", "limits.memory"}, strings.TrimPrefix(name, "requests."))
}

const storageClassInfix = ".storageclass.storage.k8s.io/"

// quotaDemand returns what the new items add to one number of a quota, and whether veltui counts that number
// (https://kubernetes.io/docs/concepts/policy/resource-quotas/).
func quotaDemand(name string, d *namespaceDemand, created map[string]int) (want quotaAmount, counted bool) {
	if counted, ok := strings.CutPrefix(name, "count/"); ok {
		return quotaAmount{n: int64(created[counted])}, true
	}
	if class, what, ok := strings.Cut(name, storageClassInfix); ok {
		switch what {
		case "requests.storage":
			return quotaAmount{n: d.storageByClass[class], isBytes: true}, true
		case "persistentvolumeclaims":
			return quotaAmount{n: int64(d.claimsByClass[class])}, true
		}
		return quotaAmount{}, false
	}
	if i := computeIndex(name); i >= 0 {
		return quotaAmount{n: d.compute[i], isMilli: i%2 == 0, isBytes: i%2 == 1}, true
	}
	switch name {
	case "requests.storage":
		return quotaAmount{n: d.storage, isBytes: true}, true
	case "services.nodeports":
		return quotaAmount{n: int64(d.nodePorts)}, true
	case "services.loadbalancers":
		return quotaAmount{n: int64(d.loadBalancers)}, true
	case pods, claims, "services", "secrets", "configmaps", "replicationcontrollers", "resourcequotas":
		return quotaAmount{n: int64(created[name])}, true
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
		for i, l := range r.all {
			of := &r.refused[i]
			for _, claim := range c.demands[namespace].claims {
				for _, item := range l.Spec.Limits {
					if c.isAnswered(claims, namespace, claim.name) {
						continue
					}
					if says := claimRangeViolation(
						"storage",
						item,
						quotaAmount{n: claim.storage, isBytes: true},
					); item.Type == corev1.LimitTypePersistentVolumeClaim &&
						says != "" {
						of.claims.addItem(namespace, claim.name)
						of.claims.addReasons(says)
					}
				}
			}
			if others := uncountedResources(l); len(others) > 0 && c.demands[namespace].unansweredPods > 0 {
				c.addUnchecked(
					"whether pods keep to limit range "+l.Name+inNamespaceText(namespace)+": "+strings.Join(others, ", "),
					"veltui does not count these",
				)
			}
			c.addLimitViolations(l, pods, &of.pods)
			c.addLimitViolations(l, claims, &of.claims)
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

func (c *checker) addLimitViolations(l *corev1.LimitRange, resource string, g *group) {
	if g.count == 0 {
		return
	}
	c.addFinding(g.fillFinding(Finding{
		Severity: Obstacle,
		Reason:   LimitRangeViolated,
		Resource: resource,
		Sentence: fmt.Sprintf(
			"Limit range %s in namespace %s refuses %s (it wants %s).",
			l.Name,
			l.Namespace,
			countText(g.count, resource),
			g.joinReasons("; "),
		),
		Remedy: "Change the limit range for the restore, or restore into another namespace.",
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
