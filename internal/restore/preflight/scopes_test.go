package preflight

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/veltui/veltui/internal/restore/live"
	"github.com/veltui/veltui/internal/restore/prepare"
	"github.com/veltui/veltui/internal/stored/artifact"
)

// TestScopes counts the pods that the scopes of a quota select.
func TestScopes(t *testing.T) {
	items := []item{
		{pods, "shop", "plain", `,"spec":{"containers":[{}]}`},
		{pods, "shop", "big", oneCPU},
		{
			pods,
			"shop",
			"high",
			`,"spec":{"priorityClassName":"high","containers":[{"resources":{"limits":{"memory":"1Gi"}}}]}`,
		},
		{
			pods,
			"shop",
			"low",
			`,"spec":{"priorityClassName":"low","activeDeadlineSeconds":60,"containers":[{"resources":{"requests":{"cpu":"0"}}}]}`,
		},
		{"configmaps", "shop", "settings", ""},
	}
	selector := func(operator corev1.ScopeSelectorOperator, values ...string) live.Environment {
		s := quota("pods", "0", "0")
		s.Quotas[0].Spec.ScopeSelector = &corev1.ScopeSelector{
			MatchExpressions: []corev1.ScopedResourceSelectorRequirement{
				{ScopeName: corev1.ResourceQuotaScopePriorityClass, Operator: operator, Values: values},
			},
		}
		return s
	}
	scope := func(scopes ...corev1.ResourceQuotaScope) live.Environment {
		return quota("pods", "0", "0", scopes...)
	}
	for name, c := range map[string]struct {
		around live.Environment
		want   string
	}{
		"all":                    {scope(), "4 more wanted"},
		"best effort":            {scope(corev1.ResourceQuotaScopeBestEffort), "2 more wanted"},
		"not best effort":        {scope(corev1.ResourceQuotaScopeNotBestEffort), "2 more wanted"},
		"terminating":            {scope(corev1.ResourceQuotaScopeTerminating), "1 more wanted"},
		"not terminating":        {scope(corev1.ResourceQuotaScopeNotTerminating), "3 more wanted"},
		"two scopes":             {scope(corev1.ResourceQuotaScopeNotTerminating, corev1.ResourceQuotaScopeBestEffort), "1 more wanted"},
		"none is in both":        {scope(corev1.ResourceQuotaScopeNotBestEffort, corev1.ResourceQuotaScopeTerminating), ""},
		"of a class":             {scope(corev1.ResourceQuotaScopePriorityClass), "2 more wanted"},
		"of one class":           {selector(corev1.ScopeSelectorOpIn, "high", "other"), "1 more wanted"},
		"of none but one":        {selector(corev1.ScopeSelectorOpNotIn, "high"), "3 more wanted"},
		"of any class":           {selector(corev1.ScopeSelectorOpExists), "2 more wanted"},
		"of no class":            {selector(corev1.ScopeSelectorOpDoesNotExist), "2 more wanted"},
		"of a class that is not": {selector(corev1.ScopeSelectorOpIn, "other"), ""},
		"a scope that is new":    {scope("Sideways"), "4 more wanted"},
	} {
		t.Run(name, func(t *testing.T) {
			classesExist := func(resource, _, _ string) *live.Object {
				if resource == priorityClasses {
					return &live.Object{}
				}
				return nil
			}
			r := checked(t, given{items: items, around: c.around, there: classesExist, served: []string{priorityClasses}})
			text := ""
			for _, f := range r.Findings {
				if f.Reason != QuotaExceeded || (f.Severity == Doubt) != (name == "a scope that is new") {
					t.Errorf("%+v", f)
				}
				text += f.Sentence
			}
			if !strings.Contains(text, c.want) || (text == "") != (c.want == "") {
				t.Errorf("%q, want %q", text, c.want)
			}
		})
	}
}

// TestScopesOfClaims: a quota by VolumeAttributesClass counts claims, and which is not known.
func TestScopesOfClaims(t *testing.T) {
	of := []item{
		{claims, "shop", "data", `,"spec":{"storageClassName":"fast","resources":{"requests":{"storage":"1Gi"}}}`},
		{pods, "shop", "plain", `,"spec":{"containers":[{}]}`},
	}
	scoped := func(name, hard string) live.Environment {
		s := quota(name, hard, "0", corev1.ResourceQuotaScopeVolumeAttributesClass)
		s.StorageClasses = map[string]bool{"fast": false}
		return s
	}
	for name, c := range map[string]struct {
		items  []item
		around live.Environment
		want   string
	}{
		"claims":          {of, scoped(claims, "0"), "doubt QuotaExceeded"},
		"count of claims": {of, scoped("count/persistentvolumeclaims", "0"), "doubt QuotaExceeded"},
		"storage":         {of, scoped("requests.storage", "0"), "doubt QuotaExceeded"},
		"a class":         {of, scoped("fast.storageclass.storage.k8s.io/requests.storage", "0"), "doubt QuotaExceeded"},
		"they fit":        {of, scoped(claims, "1"), ""},
		"no claims":       {of[1:], scoped(claims, "0"), ""},
		"it has no pods":  {of, scoped(pods, "0"), ""},
		"two such scopes": {of, func() live.Environment {
			s := scoped(claims, "0")
			s.Quotas[0].Spec.ScopeSelector = &corev1.ScopeSelector{MatchExpressions: []corev1.ScopedResourceSelectorRequirement{{ScopeName: corev1.ResourceQuotaScopeVolumeAttributesClass, Operator: corev1.ScopeSelectorOpDoesNotExist}}}
			return s
		}(), "doubt QuotaExceeded"},
	} {
		t.Run(name, func(t *testing.T) {
			if r := checked(t, given{items: c.items, around: c.around}); kindsOf(r) != c.want {
				t.Errorf("%s, want %s: %+v", kindsOf(r), c.want, r.Findings)
			}
		})
	}
}

// TestWaits: Velero's own container in a pod with file-system backups counts as any other.
func TestWaits(t *testing.T) {
	items := []item{
		{
			pods,
			"shop",
			"p",
			`,"spec":{"containers":[{"resources":{"requests":{"cpu":"1","memory":"1Gi"},"limits":{"cpu":"1","memory":"1Gi"}}}]}`,
		},
	}
	least := func(configs ...string) live.Environment {
		return live.Environment{
			PluginConfigs: map[string][]string{prepare.PodVolumeRestoreLabel: configs},
			LimitRanges: []corev1.LimitRange{limitRange(corev1.LimitRangeItem{
				Type: corev1.LimitTypeContainer,
				Min: corev1.ResourceList{
					corev1.ResourceCPU:    resource.MustParse("200m"),
					corev1.ResourceMemory: resource.MustParse("128Mi"),
				},
			})},
		}
	}
	copied := func(pod string) func(*VeleroState) {
		return func(v *VeleroState) {
			v.Volumes, v.AgentsUnchecked = []artifact.VolumeInfo{
				{Method: artifact.MethodPodVolumeBackup, PodNamespace: "shop", Pod: pod, Result: "succeeded"},
			}, "not looked"
		}
	}
	for name, c := range map[string]struct {
		given
		want string
	}{
		"by default":                  {given{items: items, around: least(), velero: copied("p")}, "obstacle LimitRangeViolated"},
		"a ConfigMap says otherwise":  {given{items: items, around: least("helper"), velero: copied("p")}, ""},
		"a pod without such a backup": {given{items: items, around: least(), velero: copied("q")}, ""},
		"a quota of best effort":      {given{items: []item{{pods, "shop", "p", `,"spec":{"containers":[{}]}`}}, around: quota("pods", "0", "0", corev1.ResourceQuotaScopeBestEffort), velero: copied("p")}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			if r := checked(t, c.given); kindsOf(r) != c.want {
				t.Errorf("%s, want %s: %+v", kindsOf(r), c.want, r.Findings)
			}
		})
	}
}

// TestLegacyClass: Velero changes spec.storageClassName, and Kubernetes goes by the annotation of old.
func TestLegacyClass(t *testing.T) {
	legacy := `,"metadata":{"annotations":{"volume.beta.kubernetes.io/storage-class":"fast"}},"spec":{}`
	for name, c := range map[string]struct {
		body string
		want string
	}{"spec": {claimOfFast, ""}, "annotation": {legacy, "obstacle StorageClassMissing"}} {
		around := live.Environment{
			StorageClasses:  map[string]bool{"slow": false},
			StorageClassMap: map[string]string{"fast": "slow"},
		}
		if r := checked(
			t,
			given{items: []item{{claims, "shop", "data", c.body}}, around: around},
		); kindsOf(
			r,
		) != c.want {
			t.Errorf("%s: %s, want %s", name, kindsOf(r), c.want)
		}
	}
}
