package preflight

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// podScope holds the properties of a pod that the scopes of quotas select by.
type podScope struct {
	class                   string
	terminating, bestEffort bool
}

// sumInScopes sums up the pods that the scopes of a quota select, and reports whether they are known; scoped is false
// for a quota without scopes.
func (d *namespaceDemand) sumInScopes(q *corev1.ResourceQuota) (sum podDemand, scoped, known bool) {
	all := quotaScopes(q)
	known = true
	for scope, pods := range d.scoped {
		if !slices.ContainsFunc(all, func(r corev1.ScopedResourceSelectorRequirement) bool {
			in, sure := scope.matchesScope(r)
			known = known && sure
			return !in
		}) {
			sum.addDemand(*pods)
		}
	}
	return sum, len(all) > 0, known
}

func quotaScopes(q *corev1.ResourceQuota) (all []corev1.ScopedResourceSelectorRequirement) {
	for _, scope := range q.Spec.Scopes {
		all = append(
			all,
			corev1.ScopedResourceSelectorRequirement{ScopeName: scope, Operator: corev1.ScopeSelectorOpExists},
		)
	}
	if q.Spec.ScopeSelector != nil {
		all = append(all, q.Spec.ScopeSelector.MatchExpressions...)
	}
	return all
}

// isClaimQuota reports whether the scopes of a quota select claims, and no pods
// (k8s.io/kubernetes/pkg/quota/v1/evaluator/core/persistent_volume_claims.go, pvcMatchesScopeFunc).
func isClaimQuota(q *corev1.ResourceQuota) bool {
	return slices.ContainsFunc(quotaScopes(q), func(r corev1.ScopedResourceSelectorRequirement) bool {
		return r.ScopeName == corev1.ResourceQuotaScopeVolumeAttributesClass
	})
}

// matchesScope reports whether a quota's scope selects a pod, and whether that is known
// (k8s.io/kubernetes/pkg/quota/v1/evaluator/core/pods.go, podMatchesScopeFunc).
func (s podScope) matchesScope(r corev1.ScopedResourceSelectorRequirement) (in, known bool) {
	in, known = map[corev1.ResourceQuotaScope]bool{
		corev1.ResourceQuotaScopeTerminating:    s.terminating,
		corev1.ResourceQuotaScopeNotTerminating: !s.terminating,
		corev1.ResourceQuotaScopeBestEffort:     s.bestEffort,
		corev1.ResourceQuotaScopeNotBestEffort:  !s.bestEffort,
	}[r.ScopeName]
	if r.ScopeName == corev1.ResourceQuotaScopePriorityClass {
		in, known = map[corev1.ScopeSelectorOperator]bool{
			corev1.ScopeSelectorOpExists:       s.class != "",
			corev1.ScopeSelectorOpDoesNotExist: s.class == "",
			corev1.ScopeSelectorOpIn:           slices.Contains(r.Values, s.class),
			corev1.ScopeSelectorOpNotIn:        !slices.Contains(r.Values, s.class),
		}[r.Operator]
	}
	return in || !known, known
}

// isBestEffort reports whether nothing in a pod requests CPU or memory
// (k8s.io/kubernetes/pkg/apis/core/v1/helper/qos, ComputePodQOS).
func (p *podNeeds) isBestEffort() bool {
	asks := func(a resourceAmounts) bool { return slices.Max(a.values[:]) > 0 }
	return !asks(p.podLevel) &&
		!slices.ContainsFunc(p.containers, func(c container) bool { return asks(c.resourceAmounts) })
}
