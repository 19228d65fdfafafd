package preflight

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// podScope is what the scopes of quotas go by.
type podScope struct {
	class                   string
	terminating, bestEffort bool
}

// within sums up the pods that the scopes of a quota select, and says whether they are known; scoped is
// false of a quota without scopes.
func (d *demand) within(q *corev1.ResourceQuota) (sum podDemand, scoped, known bool) {
	all := scopesOf(q)
	known = true
	for scope, pods := range d.scoped {
		if !slices.ContainsFunc(all, func(r corev1.ScopedResourceSelectorRequirement) bool {
			in, sure := scope.matches(r)
			known = known && sure
			return !in
		}) {
			sum.add(*pods)
		}
	}
	return sum, len(all) > 0, known
}

func scopesOf(q *corev1.ResourceQuota) (all []corev1.ScopedResourceSelectorRequirement) {
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

// ofClaims says whether the scopes of a quota select claims, and no pods
// (k8s.io/kubernetes/pkg/quota/v1/evaluator/core/persistent_volume_claims.go, pvcMatchesScopeFunc).
func ofClaims(q *corev1.ResourceQuota) bool {
	return slices.ContainsFunc(scopesOf(q), func(r corev1.ScopedResourceSelectorRequirement) bool {
		return r.ScopeName == corev1.ResourceQuotaScopeVolumeAttributesClass
	})
}

// matches says whether a quota's scope is about a pod, and whether that is known
// (k8s.io/kubernetes/pkg/quota/v1/evaluator/core/pods.go, podMatchesScopeFunc).
func (s podScope) matches(r corev1.ScopedResourceSelectorRequirement) (in, known bool) {
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

// isBestEffort says whether nothing of a pod asks for CPU or memory
// (k8s.io/kubernetes/pkg/apis/core/v1/helper/qos, ComputePodQOS).
func (p *pod) isBestEffort() bool {
	asks := func(a asks) bool { return slices.Max(a.n[:]) > 0 }
	return !asks(p.level) && !slices.ContainsFunc(p.containers, func(c container) bool { return asks(c.asks) })
}
