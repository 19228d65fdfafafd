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

// amount is what new items add to one number of a quota.
type amount struct {
	n     int64
	milli bool // n is in thousandths
	bytes bool
}

// quotas finds those that the new items do not fit into: Kubernetes then refuses items.
func (c *check) quotas() {
	if c.Around == nil || c.State == nil {
		return
	}
	for i := range c.Around.Quotas {
		c.quota(&c.Around.Quotas[i])
	}
}

func (c *check) quota(q *corev1.ResourceQuota) {
	d, created := c.wants[q.Namespace], c.created[q.Namespace]
	if d == nil {
		d = &demand{}
	}
	severity, scopes := Obstacle, ""
	sum, scoped, known := d.within(q)
	switch {
	case !scoped:
	case ofClaims(q):
		d, created = &demand{
			storage:   d.storage,
			storageOf: d.storageOf,
			claimsOf:  d.claimsOf,
		}, map[string]int{
			claims: created[claims],
		}
		known = false
	default: // it is about pods alone
		d, created = &demand{podDemand: sum}, map[string]int{pods: sum.pods}
	}
	if scoped && !known {
		severity, scopes = Doubt, " It has scopes, which may leave some of them out."
	}
	var over, unnamed, others []string
	sure := false // that something does not fit
	for _, name := range sortedNames(q.Status.Hard, q.Spec.Hard) {
		hard, ok := q.Status.Hard[name]
		if !ok {
			hard = q.Spec.Hard[name]
		}
		used := q.Status.Used[name]
		want, counted := wantOf(string(name), d, created)
		if !counted && d.pods > 0 {
			others = append(others, string(name))
		}
		if want.n > 0 && beyond(hard, used, want) {
			// The node port of a load balancer's health check is among them, and does not count.
			least := want
			if name == corev1.ResourceServicesNodePorts {
				least.n -= int64(d.loadBalancers)
			}
			sure = sure || least.n > 0 && beyond(hard, used, least)
			over = append(
				over,
				fmt.Sprintf("%s: %s of %s used, %s more wanted", name, used.String(), hard.String(), want),
			)
		}
		if i := computedBy(string(name)); i >= 0 && d.without[i] > 0 {
			unnamed = append(unnamed, fmt.Sprintf("%s: %s", name, human.Count(d.without[i], "pod")))
		}
	}
	if len(others) > 0 {
		c.notLooked(
			"how much the restore takes of quota "+q.Name+in(q.Namespace)+": "+strings.Join(others, ", "),
			"veltui does not count these",
		)
	}
	if len(over) > 0 {
		exceeded := severity
		if !sure {
			exceeded = Doubt
		}
		c.find(
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
		c.find(
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

// computedBy is which number of demand.compute a quota counts, -1 for none.
func computedBy(name string) int {
	return slices.Index([]string{"cpu", "memory", "limits.cpu", "limits.memory"}, strings.TrimPrefix(name, "requests."))
}

const storageClassInfix = ".storageclass.storage.k8s.io/"

// wantOf is what the new items add to one number of a quota, and whether veltui counts that number
// (https://kubernetes.io/docs/concepts/policy/resource-quotas/).
func wantOf(name string, d *demand, created map[string]int) (want amount, counted bool) {
	if counted, ok := strings.CutPrefix(name, "count/"); ok {
		return amount{n: int64(created[counted])}, true
	}
	if class, what, ok := strings.Cut(name, storageClassInfix); ok {
		switch what {
		case "requests.storage":
			return amount{n: d.storageOf[class], bytes: true}, true
		case "persistentvolumeclaims":
			return amount{n: int64(d.claimsOf[class])}, true
		}
		return amount{}, false
	}
	if i := computedBy(name); i >= 0 {
		return amount{n: d.compute[i], milli: i%2 == 0, bytes: i%2 == 1}, true
	}
	switch name {
	case "requests.storage":
		return amount{n: d.storage, bytes: true}, true
	case "services.nodeports":
		return amount{n: int64(d.nodePorts)}, true
	case "services.loadbalancers":
		return amount{n: int64(d.loadBalancers)}, true
	case pods, claims, "services", "secrets", "configmaps", "replicationcontrollers", "resourcequotas":
		return amount{n: int64(created[name])}, true
	}
	return amount{}, false
}

func (a amount) quantity() *resource.Quantity {
	switch {
	case a.milli:
		return resource.NewMilliQuantity(a.n, resource.DecimalSI)
	case a.bytes:
		return resource.NewQuantity(a.n, resource.BinarySI)
	}
	return resource.NewQuantity(a.n, resource.DecimalSI)
}

func (a amount) String() string { return a.quantity().String() }

func beyond(hard, used resource.Quantity, want amount) bool {
	total := used.DeepCopy()
	total.Add(*want.quantity())
	return total.Cmp(hard) > 0
}

func sortedNames(lists ...corev1.ResourceList) (names []corev1.ResourceName) {
	for _, list := range lists {
		for name := range list {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func (c *check) limits() {
	for _, namespace := range slices.Sorted(maps.Keys(c.ranges)) {
		r := c.ranges[namespace]
		for i, l := range r.all {
			of := &r.refused[i]
			for _, claim := range c.wants[namespace].claims {
				for _, item := range l.Spec.Limits {
					if c.answered(claims, namespace, claim.name) {
						continue
					}
					if says := outside(
						"storage",
						item,
						amount{n: claim.storage, bytes: true},
					); item.Type == corev1.LimitTypePersistentVolumeClaim &&
						says != "" {
						of.claims.add(namespace, claim.name)
						of.claims.because(says)
					}
				}
			}
			if others := uncounted(l); len(others) > 0 && c.wants[namespace].unasked > 0 {
				c.notLooked(
					"whether pods keep to limit range "+l.Name+in(namespace)+": "+strings.Join(others, ", "),
					"veltui does not count these",
				)
			}
			c.refusedBy(l, pods, &of.pods)
			c.refusedBy(l, claims, &of.claims)
		}
	}
}

// uncounted are the resources that a limit range bounds for pods and that veltui does not count.
func uncounted(l *corev1.LimitRange) (names []string) {
	for _, item := range l.Spec.Limits {
		if item.Type != corev1.LimitTypePod && item.Type != corev1.LimitTypeContainer {
			continue
		}
		for _, name := range sortedNames(item.Min, item.Max, item.MaxLimitRequestRatio) {
			if !slices.Contains(computes[:], name) && !slices.Contains(names, string(name)) {
				names = append(names, string(name))
			}
		}
	}
	return names
}

func (c *check) refusedBy(l *corev1.LimitRange, resource string, g *group) {
	if g.count == 0 {
		return
	}
	c.find(g.fill(Finding{
		Severity: Obstacle,
		Reason:   LimitRangeViolated,
		Resource: resource,
		Sentence: fmt.Sprintf(
			"Limit range %s in namespace %s refuses %s (it wants %s).",
			l.Name,
			l.Namespace,
			some(g.count, resource),
			g.why("; "),
		),
		Remedy: "Change the limit range for the restore, or restore into another namespace.",
	}))
}

// outside says whether what a claim asks for is above a maximum or below a minimum.
func outside(name corev1.ResourceName, item corev1.LimitRangeItem, want amount) string {
	if limit, ok := item.Max[name]; ok && want.quantity().Cmp(limit) > 0 {
		return fmt.Sprintf("at most %s %s for a claim", limit.String(), name)
	}
	if limit, ok := item.Min[name]; ok && want.quantity().Cmp(limit) < 0 {
		return fmt.Sprintf("at least %s %s for a claim", limit.String(), name)
	}
	return ""
}
