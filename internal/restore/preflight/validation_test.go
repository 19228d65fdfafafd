package preflight

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/veltui/veltui/internal/restore/live"
	"github.com/veltui/veltui/internal/velero/veleroapi"
)

func config(name string) *corev1.TypedLocalObjectReference {
	return &corev1.TypedLocalObjectReference{Kind: "configmap", Name: name}
}

// TestRefused has what Velero ends a restore for at once, besides its filters.
func TestRefused(t *testing.T) {
	settings := []item{{"configmaps", "shop", "settings", ""}}
	holding := func(name string, text ...string) live.Environment {
		var data map[string]string
		for _, text := range text {
			data = map[string]string{"rules": text}
		}
		return live.Environment{ConfigMapData: map[string]map[string]string{name: data}}
	}
	modified, policed := veleroapi.RestoreSpec{
		ResourceModifier: config("m"),
	}, veleroapi.RestoreSpec{
		ResourcePolicy: config("p"),
	}
	hooked := func(raw string, selector *metav1.LabelSelector) veleroapi.RestoreSpec {
		return veleroapi.RestoreSpec{
			Hooks: veleroapi.RestoreHooks{Resources: []veleroapi.RestoreResourceHookSpec{
				{
					Name:          "h",
					LabelSelector: selector,
					PostHooks: []veleroapi.RestoreResourceHook{
						{Exec: &veleroapi.ExecRestoreHook{}},
						{Init: &veleroapi.InitRestoreHook{InitContainers: []runtime.RawExtension{{Raw: []byte(raw)}}}},
					},
				},
			}},
		}
	}
	const valid = "version: v1\nresourceModifierRules:\n- conditions:\n    groupResource: configmaps\n  mergePatches:\n  - patchData: '{}'\n"
	const refused = "obstacle Refused"
	for name, c := range map[string]struct {
		given
		want, says, unseen string
	}{
		"a modifier that is missing":        {given{spec: modified, around: holding("m")}, refused, "no such ConfigMap", ""},
		"a modifier that is not valid":      {given{spec: modified, around: holding("m", "version: v2\n")}, refused, "resource modifier m: ", ""},
		"a modifier":                        {given{spec: modified, around: holding("m", valid)}, "", "", ""},
		"a modifier that was not read":      {given{spec: modified}, "", "", "what the resource modifier m changes"},
		"a modifier of another kind":        {given{spec: veleroapi.RestoreSpec{ResourceModifier: &corev1.TypedLocalObjectReference{Kind: "Secret", Name: "m"}}}, "doubt FieldIgnored", "kind Secret", ""},
		"the server's own modifier":         {given{velero: func(v *VeleroState) { v.Server.Flags.DefaultResourceModifier = "m" }, around: holding("m")}, "", "", "what the resource modifier m changes"},
		"a policy that is missing":          {given{spec: policed, around: holding("p")}, refused, "no such ConfigMap", ""},
		"a policy that cannot be read":      {given{spec: policed, around: holding("p", "version: v1\nother: 1\n")}, refused, "unknown field", ""},
		"a policy of another version":       {given{spec: policed, around: holding("p", "version: v2\n")}, refused, `"v2"`, ""},
		"a policy of volumes":               {given{spec: policed, around: holding("p", "version: v1\nvolumePolicies: [{}]\n")}, refused, "volumePolicies", ""},
		"a policy for backups":              {given{spec: policed, around: holding("p", "version: v1\nincludeExcludePolicy: {}\n")}, refused, "includeExcludePolicy", ""},
		"a policy of another kind":          {given{spec: veleroapi.RestoreSpec{ResourcePolicy: &corev1.TypedLocalObjectReference{Kind: "Secret", Name: "p"}}}, refused, "kind Secret", ""},
		"a policy":                          {given{spec: policed, around: holding("p", "version: v1\nnamespacedFilterPolicies: []\n")}, "", "", ""},
		"a policy that is too new":          {given{spec: policed, around: holding("p"), velero: func(v *VeleroState) { v.Server.Version = "v1.18.2" }}, "obstacle FieldIgnored", "", ""},
		"an unknown policy for what exists": {given{spec: veleroapi.RestoreSpec{ExistingResourcePolicy: "recreate"}}, refused, "recreate", ""},
		"a hook without an image":           {given{spec: hooked(`{"name":"a","command":["x"]}`, nil)}, refused, "restore hook h cannot be read, or lacks", ""},
		"a hook that is no container":       {given{spec: hooked(`{"name":1}`, nil)}, refused, "restore hook h cannot be read", ""},
		"a hook with a bad selector": {given{spec: hooked(`{"name":"a","image":"i","command":["x"]}`, &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "a", Operator: "Near"}}})},
			refused, "selector of restore hook h", ""},
		"a hook": {given{spec: hooked(`{"name":"a","image":"i","command":["x"]}`, nil)}, "", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			c.items = settings
			r := checked(t, c.given)
			text, unseen := "", ""
			for _, f := range r.Findings {
				text += f.Sentence
			}
			for _, n := range r.Unchecked {
				unseen += n.What
			}
			if got := kindsOf(r); got != c.want || !strings.Contains(text, c.says) || unseen != c.unseen {
				t.Errorf(
					"%s, want %s saying %q: %+v, not checked %q, want %q",
					got,
					c.want,
					c.says,
					r.Findings,
					unseen,
					c.unseen,
				)
			}
		})
	}
}
