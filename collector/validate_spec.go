package collector

import (
	"fmt"
	"slices"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
)

// Refusals says why Velero's validation would fail a Restore, as far as the
// spec alone shows it (pkg/controller/restore_controller.go,
// validateAndComplete).
func Refusals(spec velerov1.RestoreSpec) (reasons []string) {
	included := setOf(spec.IncludedResources)
	for _, word := range nonRestorable {
		if included[word] {
			reasons = append(reasons, fmt.Sprintf("%s cannot be restored.", word))
		}
	}
	excludes := slices.Concat(spec.ExcludedResources, nonRestorable)
	reasons = append(reasons, listRefusals("resources", spec.IncludedResources, excludes)...)
	reasons = append(reasons, listRefusals("namespaces", spec.IncludedNamespaces, spec.ExcludedNamespaces)...)
	if spec.OrLabelSelectors != nil && spec.LabelSelector != nil {
		reasons = append(reasons, "labelSelector and orLabelSelectors cannot both be given.")
	}
	return reasons
}

func listRefusals(what string, includes, excludes []string) (reasons []string) {
	if slices.Contains(includes, "*") && slices.ContainsFunc(includes, func(s string) bool { return s != "*" }) {
		reasons = append(reasons, fmt.Sprintf("The included %s hold \"*\" and something else.", what))
	}
	if slices.Contains(excludes, "*") {
		reasons = append(reasons, fmt.Sprintf("The excluded %s hold \"*\".", what))
	}
	included := setOf(includes)
	var both []string
	for _, word := range slices.Compact(slices.Sorted(slices.Values(excludes))) {
		if included[word] {
			both = append(both, word)
		}
	}
	if len(both) > 0 {
		reasons = append(reasons, fmt.Sprintf("Both included and excluded: %s %s.", what, someOf(both)))
	}
	return reasons
}

func setOf(words []string) map[string]bool {
	set := make(map[string]bool, len(words))
	for _, word := range words {
		set[word] = true
	}
	return set
}
