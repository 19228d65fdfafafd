package preflight

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/veltui/veltui/internal/restore/live"
	"github.com/veltui/veltui/internal/velero/veleroapi"
)

// crm is a backup of one namespace.
func crm() []item {
	labelled := `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"labels":{"app":"web","tier":"front"}}}`
	return []item{
		{"configmaps", "crm", "settings", labelled},
		{"configmaps", "crm", "other", ""},
		{"ingresses.networking.k8s.io", "crm", "web", ""},
		{"deployments.apps", "crm", "web", ""},
	}
}

// findingsAbout returns the findings with one of the reasons, a line each.
func findingsAbout(r *Result, reasons ...Reason) string {
	var lines []string
	for _, f := range r.Findings {
		for _, reason := range reasons {
			if f.Reason == reason {
				lines = append(lines, fmt.Sprintf("%s %s %d: %s %s", f.Severity, f.Reason, f.Count, f.Sentence, f.Remedy))
			}
		}
	}
	return strings.Join(lines, "\n")
}

func TestWordsThatMatchNothing(t *testing.T) {
	kinds := []string{"ingresses.networking.k8s.io", "deployments.apps"}
	labels := func(pairs ...string) *metav1.LabelSelector {
		s := &metav1.LabelSelector{MatchLabels: map[string]string{}}
		for _, pair := range pairs {
			key, value, _ := strings.Cut(pair, "=")
			s.MatchLabels[key] = value
		}
		return s
	}
	for name, c := range map[string]struct {
		spec veleroapi.RestoreSpec
		want []string // of one finding, none for no finding
	}{
		"all match": {veleroapi.RestoreSpec{
			IncludedNamespaces: []string{"c*"}, IncludedResources: []string{"configmaps", "ingresses", "deployments.apps", "*.apps"},
			ExcludedResources: []string{"nodes"}, LabelSelector: labels("app=web"), NamespaceMapping: map[string]string{"crm": "crm-test"},
		}, nil},
		"namespace":        {veleroapi.RestoreSpec{IncludedNamespaces: []string{"crm", "crn"}}, []string{"doubt", "--include-namespaces: crn matches no namespace", "The backup holds crm."}},
		"namespace, case":  {veleroapi.RestoreSpec{IncludedNamespaces: []string{"CRM", "crm"}}, []string{"The backup holds crm."}},
		"target namespace": {veleroapi.RestoreSpec{IncludedNamespaces: []string{"crm", "crm-test"}, NamespaceMapping: map[string]string{"crm": "crm-test"}}, []string{"crm-test is the target of a mapping, and filters go by the source, crm."}},
		"mapping":          {veleroapi.RestoreSpec{NamespaceMapping: map[string]string{"crn": "x"}}, []string{"doubt", "--namespace-mappings: crn matches no namespace"}},
		"mapping reversed": {veleroapi.RestoreSpec{NamespaceMapping: map[string]string{"crm-test": "crm"}}, []string{"names the source first, then the target"}},
		"exclude":          {veleroapi.RestoreSpec{ExcludedNamespaces: []string{"kube-system"}}, []string{"note", "--exclude-namespaces: kube-system"}},
		"exclude, case":    {veleroapi.RestoreSpec{ExcludedNamespaces: []string{"Crm"}}, []string{"doubt", "The backup holds crm."}},
		"resource":         {veleroapi.RestoreSpec{IncludedResources: []string{"configmaps", "secrets", "services"}}, []string{"doubt FilterMatchesNothing 2", "--include-resources: secrets and services match no resource"}},
		"wrong group":      {veleroapi.RestoreSpec{IncludedResources: []string{"configmaps", "ingresses.extensions"}}, []string{"The backup holds ingresses.networking.k8s.io."}},
		"status":           {veleroapi.RestoreSpec{RestoreStatus: &veleroapi.RestoreStatusSpec{IncludedResources: []string{"secrets"}}}, []string{"--status-include-resources: secrets"}},
		"selector":         {veleroapi.RestoreSpec{LabelSelector: labels("App=web")}, []string{"doubt", "--selector: App=web matches no item of the backup: no item has the label App"}},
		"together":         {veleroapi.RestoreSpec{LabelSelector: labels("app=web", "tier=back")}, []string{"each label is there, but not these together"}},
		"one of several":   {veleroapi.RestoreSpec{OrLabelSelectors: []*metav1.LabelSelector{labels("app=web"), labels("x=y")}}, []string{"--or-selector: x=y"}},
	} {
		got := findingsAbout(checked(t, given{items: crm(), served: kinds, spec: c.spec}), FilterMatchesNothing)
		if (got == "") != (c.want == nil) || strings.Contains(got, "..") {
			t.Errorf("%s: %s", name, got)
		}
		for _, part := range c.want {
			if !strings.Contains(got, part) {
				t.Errorf("%s: %s\nlacks %q", name, got, part)
			}
		}
	}
}

func TestRulesThatMatchNothing(t *testing.T) {
	const patch = "\n  mergePatches: [{patchData: '{}'}]\n"
	rule := func(conditions string) string {
		return "version: v1\nresourceModifierRules:\n- conditions: {" + conditions + "}" + patch
	}
	mapped := map[string]string{"crm": "crm-test"}
	for name, c := range map[string]struct {
		rules string
		spec  veleroapi.RestoreSpec
		want  []string
	}{
		"matches":            {rule(`groupResource: ingresses.networking.k8s.io, resourceNameRegex: "^we", namespaces: [crm]`), veleroapi.RestoreSpec{}, nil},
		"labels":             {rule(`groupResource: configmaps, labelSelector: {matchLabels: {app: web}}`), veleroapi.RestoreSpec{}, nil},
		"all":                {rule(`groupResource: "*", resourceNameRegex: ".*"`), veleroapi.RestoreSpec{}, nil},
		"group":              {rule(`groupResource: ingresses`), veleroapi.RestoreSpec{}, []string{"doubt RuleMatchesNothing", "Rule 1 of the resource modifier m (ingresses)", "the backup holds ingresses.networking.k8s.io", "Write groupResource: ingresses.networking.k8s.io"}},
		"kind":               {rule(`groupResource: ConfigMaps`), veleroapi.RestoreSpec{}, []string{"Write groupResource: configmaps in the rule."}},
		"dots":               {rule(`groupResource: "deployments*"`), veleroapi.RestoreSpec{}, []string{"it holds no deployments*"}},
		"target":             {rule(`groupResource: configmaps, namespaces: [crm-test]`), veleroapi.RestoreSpec{NamespaceMapping: mapped}, []string{"its configmaps are in crm, and the rule takes crm-test; rules go by the namespace in the backup, and crm-test is where crm is restored", "Name namespace crm in the rule."}},
		"name":               {rule(`groupResource: configmaps, resourceNameRegex: "^web$"`), veleroapi.RestoreSpec{}, []string{"none of its 2 configmaps there has a name that matches ^web$"}},
		"no labels":          {rule(`groupResource: configmaps, labelSelector: {matchLabels: {app: db}}`), veleroapi.RestoreSpec{}, []string{"has the labels app=db"}},
		"left out":           {rule(`groupResource: deployments.apps`), veleroapi.RestoreSpec{IncludedResources: []string{"configmaps"}}, []string{"note", "matches 1 item of the backup, and this restore restores none of them"}},
		"regex":              {rule(`groupResource: configmaps, resourceNameRegex: "[web"`), veleroapi.RestoreSpec{}, []string{"obstacle RuleInvalid 1", "missing closing ]", "Velero reports 2 errors, one for each item"}},
		"regex, no":          {rule(`groupResource: secrets, resourceNameRegex: "[web"`), veleroapi.RestoreSpec{}, []string{"doubt RuleInvalid 1", "missing closing ]"}},
		"glob":               {rule(`groupResource: "[a"`), veleroapi.RestoreSpec{}, []string{"obstacle RuleInvalid 1", "groupResource"}},
		"selector":           {rule(`groupResource: configmaps, labelSelector: {matchExpressions: [{key: a, operator: Like}]}`), veleroapi.RestoreSpec{}, []string{"obstacle RuleInvalid 1", "labelSelector"}},
		"no patches":         {strings.ReplaceAll(rule(`groupResource: configmaps`), patch, "\n"), veleroapi.RestoreSpec{}, []string{"obstacle RuleInvalid 1", "it has no patches"}},
		"strategic":          {strings.ReplaceAll(rule(`groupResource: "*.*.k8s.io"`), "mergePatches", "strategicPatches"), veleroapi.RestoreSpec{}, []string{"obstacle RuleInvalid 1", "does not apply those to ingresses.networking.k8s.io. It reports 1 error"}},
		"strategic, known":   {strings.ReplaceAll(rule(`groupResource: "{configmaps,deployments.apps}"`), "mergePatches", "strategicPatches"), veleroapi.RestoreSpec{}, nil},
		"strategic, perhaps": {strings.ReplaceAll(rule(`groupResource: "*.*.k8s.io", matches: [{path: /spec/a, value: b}]`), "mergePatches", "strategicPatches"), veleroapi.RestoreSpec{}, []string{"doubt RuleInvalid 1"}},
		"many": {rule(`groupResource: a`) + strings.Repeat("- conditions: {groupResource: b}"+patch, 30), veleroapi.RestoreSpec{},
			[]string{"Of the resource modifier m, 21 more rules cannot be applied or match nothing."}},
	} {
		c.spec.ResourceModifier = &corev1.TypedLocalObjectReference{Kind: "ConfigMap", Name: "m"}
		around := live.Environment{ConfigMapData: map[string]map[string]string{"m": {"rules": c.rules}}}
		r := checked(t, given{items: crm(), served: []string{"ingresses.networking.k8s.io", "deployments.apps"}, spec: c.spec, around: around})
		got := findingsAbout(r, RuleMatchesNothing, RuleInvalid, Refused)
		if (got == "") != (c.want == nil) {
			t.Errorf("%s: %s", name, got)
		}
		for _, part := range c.want {
			if !strings.Contains(got, part) {
				t.Errorf("%s: %s\nlacks %q", name, got, part)
			}
		}
	}
}

func TestPolicyFiltersThatMatchNothing(t *testing.T) {
	policy := "version: v1\nnamespacedFilterPolicies:\n- namespaces: [crm, crm-test]\n  resourceFilters:\n" +
		"  - {kinds: [configmaps]}\n  - {kinds: [ingresses.extensions]}\n"
	r := checked(t, given{
		items: crm(), served: []string{"ingresses.networking.k8s.io", "deployments.apps"},
		spec:   veleroapi.RestoreSpec{ResourcePolicy: &corev1.TypedLocalObjectReference{Kind: "configmap", Name: "p"}},
		around: live.Environment{ConfigMapData: map[string]map[string]string{"p": {"policy": policy}}},
	})
	got := findingsAbout(r, RuleMatchesNothing)
	for _, part := range []string{
		"Resource policy p: namespace crm-test matches nothing",
		"kind ingresses.extensions matches nothing in the backup. The backup holds ingresses.networking.k8s.io.",
	} {
		if !strings.Contains(got, part) {
			t.Errorf("%s\nlacks %q", got, part)
		}
	}
	if strings.Count(got, "\n") != 1 {
		t.Errorf("want two findings: %s", got)
	}
}

func TestPolicyConditionsThatMatchNothing(t *testing.T) {
	policy := "version: v1\nnamespacedFilterPolicies:\n- namespaces: ['crm*']\n  resourceFilters:\n" +
		"  - {kinds: [deployments], names: [web, 'we*', wbe, 'api-*']}\n" +
		"  - {kinds: [configmaps], labelSelector: {matchLabels: {no: such}}}\n"
	r := checked(t, given{
		items: crm(), served: []string{"ingresses.networking.k8s.io", "deployments.apps"},
		spec:   veleroapi.RestoreSpec{ResourcePolicy: &corev1.TypedLocalObjectReference{Kind: "configmap", Name: "p"}},
		around: live.Environment{ConfigMapData: map[string]map[string]string{"p": {"policy": policy}}},
	})
	got := findingsAbout(r, RuleMatchesNothing)
	for _, part := range []string{
		"Resource policy p: name wbe (deployments) matches nothing", "name api-* (deployments) matches nothing",
		"the label selector of configmaps matches nothing",
	} {
		if !strings.Contains(got, part) {
			t.Errorf("%s\nlacks %q", got, part)
		}
	}
	if strings.Count(got, "\n") != 2 {
		t.Errorf("want three findings: %s", got)
	}
}
