package preflight

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/veltui/veltui/internal/restore/live"
	"github.com/veltui/veltui/internal/velero/veleroapi"
)

// TestItemsMerged has items of which only one object comes, and items that only look so.
func TestItemsMerged(t *testing.T) {
	both := func(resource, name string) []item {
		return []item{{resource, "a", name, ""}, {resource, "b", name, ""}}
	}
	merge := veleroapi.RestoreSpec{NamespaceMapping: map[string]string{"a": "shop", "b": "shop"}}
	updated := func(spec veleroapi.RestoreSpec) veleroapi.RestoreSpec {
		spec.ExistingResourcePolicy = veleroapi.PolicyTypeUpdate
		return spec
	}
	onto := veleroapi.RestoreSpec{NamespaceMapping: map[string]string{"a": "b"}}
	pair := []item{{"configmaps", "shop", "x", ""}, {"configmaps", "shop", "y", ""}}
	rename := func(rules string, update ...veleroapi.PolicyType) (veleroapi.RestoreSpec, live.Environment) {
		spec := veleroapi.RestoreSpec{ResourceModifier: &corev1.TypedLocalObjectReference{Kind: "ConfigMap", Name: "m"}}
		for _, policy := range update {
			spec.ExistingResourcePolicy = policy
		}
		return spec, live.Environment{ConfigMapData: map[string]map[string]string{
			"m": {"rules": "version: v1\nresourceModifierRules:\n- {conditions: {groupResource: configmaps" + rules + "}]}"},
		}}
	}
	const bindings = "rolebindings.rbac.authorization.k8s.io"
	const replace = `}, patches: [{operation: replace, path: /metadata/name, value: z`
	const merged = `}, mergePatches: [{patchData: '{"metadata":{"name":"z"}}'`
	csi := func(v *VeleroState) { v.Server.Version, v.Server.Flags.Features = "v1.18.3", []string{"EnableCSI"} }
	for name, c := range map[string]struct {
		items  []item
		spec   veleroapi.RestoreSpec
		rules  string
		policy veleroapi.PolicyType
		velero func(*VeleroState)
		names  string // of the obstacle
		words  string // in what is found, or unchecked
		doubt  bool
		none   bool // whether no namespace is there
		there  func(resource, namespace, name string) *live.Object
	}{
		"two namespaces become one": {items: both("configmaps", "x"), spec: merge, names: "a/x b/x",
			words: "Namespaces a and b become shop"},
		"a namespace becomes another of the backup": {items: both("secrets", "x"), spec: onto, names: "a/x b/x",
			words: "Namespaces a and b become b"},
		"different names":           {items: []item{{"configmaps", "a", "x", ""}, {"configmaps", "b", "y", ""}}, spec: merge},
		"the namespaces themselves": {items: []item{{"namespaces", "", "a", ""}, {"namespaces", "", "b", ""}}, spec: merge, none: true},
		"different kinds":           {items: []item{{"configmaps", "a", "x", ""}, {"secrets", "b", "x", ""}}, spec: merge},
		"what Kubernetes makes":     {items: both("configmaps", "kube-root-ca.crt"), spec: merge},
		"the account that Kubernetes makes": {items: both(serviceAccounts, "default"), spec: merge, names: "a/default b/default",
			words: "Kubernetes makes these", doubt: true},
		"what OpenShift makes": {items: both("configmaps", "openshift-service-ca.crt"), spec: merge},
		"what Istio makes":     {items: both("configmaps", "istio-ca-root-cert"), spec: merge},
		"an account that OpenShift makes": {items: both(serviceAccounts, "builder"), spec: merge,
			names: "a/builder b/builder", words: "OpenShift makes these", doubt: true},
		"a role binding that OpenShift makes": {items: both(bindings, "system:deployers"), spec: merge,
			names: "a/system:deployers b/system:deployers", words: "OpenShift makes these", doubt: true},
		"what the cluster keeps writing to": {items: both("leases.coordination.k8s.io", "leader"), spec: merge},
		"another account":                   {items: both(serviceAccounts, "app"), spec: merge, names: "a/app b/app"},
		"one is left out": {items: both("configmaps", "x"), spec: veleroapi.RestoreSpec{
			NamespaceMapping: merge.NamespaceMapping, ExcludedNamespaces: []string{"b"}}},
		"it is there already": {items: both("configmaps", "x"), spec: merge, there: always},
		"it is there already, and patched": {items: both("configmaps", "x"), spec: updated(merge), there: always,
			names: "a/x b/x", words: "patches the object that exists to what the first"},
		"an account that is there already": {items: both(serviceAccounts, "app"), spec: merge, there: always,
			names: "a/app b/app", words: "adds to the object that exists", doubt: true},
		"snapshots of Velero's get new names": {items: both(snapshots, "s"), spec: merge, there: always, velero: csi,
			names: "a/s b/s"},
		"the new name is there already": {items: append([]item{{"configmaps", "shop", "z", ""}}, pair...), rules: merged,
			there: always, names: "x y z", words: "restores none of shop/x", doubt: true},
		"the new name is there already, and patched": {items: append([]item{{"configmaps", "shop", "z", ""}}, pair...),
			rules: merged, policy: veleroapi.PolicyTypeUpdate, there: always, names: "x y z", words: "only the last stays"},
		"not mapped":          {items: both("configmaps", "x")},
		"one name by a patch": {items: pair, rules: replace, names: "x y", words: "restores shop/x. The object then exists"},
		"the order of the files": {items: []item{{"configmaps", "shop", "web", ""}, {"configmaps", "shop", "web-old", ""}},
			rules: replace, names: "web web-old", words: "restores shop/web-old. The object then exists"},
		"by a merge patch": {items: pair, rules: merged, names: "x y", words: "one name, shop/z"},
		"with the policy update": {items: pair, rules: merged, policy: veleroapi.PolicyTypeUpdate, names: "x y",
			words: "patches that object to what shop/y holds:"},
		"the name of another item": {items: pair, rules: ", resourceNameRegex: x" + strings.ReplaceAll(replace, "value: z", "value: '\"y\"'"),
			names: "x y"},
		"each in a namespace of its own": {items: both("configmaps", "x"), rules: replace},
		"only one is renamed":            {items: pair, rules: ", resourceNameRegex: x" + replace},
		"the contents decide": {items: pair, rules: ", matches: [{path: /data/a, value: b}]" + replace,
			words: "which names the resource modifier m gives 2 items"},
		"a name from a label": {items: pair, rules: `}, patches: [{operation: copy, from: /metadata/labels/a, path: /metadata/name`,
			words: "which names the resource modifier m gives 2 items"},
		"contents of snapshots": {items: both(snapshots, "daily"), velero: csi, names: "a/daily b/daily",
			words: "No claim comes from them", doubt: true},
		"contents of snapshots before 1.16": {items: both(snapshots, "daily"),
			velero: func(v *VeleroState) { csi(v); v.Server.Version = "v1.15.2" }},
		"snapshots without CSI": {items: both(snapshots, "daily")},
	} {
		t.Run(name, func(t *testing.T) {
			g := given{items: c.items, spec: c.spec, velero: c.velero, none: c.none, there: c.there}
			if c.rules != "" {
				g.spec, g.around = rename(c.rules, c.policy)
			}
			r := checked(t, g)
			var names []string
			text, severity := "", Obstacle
			for _, f := range r.Findings {
				if f.Reason == ItemsMerged {
					names, text, severity = append(names, f.Names...), text+f.Sentence, f.Severity
				}
			}
			for _, u := range r.Unchecked {
				text += u.What
			}
			slices.Sort(names)
			if got := strings.Join(names, " "); got != c.names || !strings.Contains(text, c.words) {
				t.Errorf("%q, %q", got, text)
			}
			if c.names != "" && (severity == Doubt) != c.doubt {
				t.Error(severity)
			}
		})
	}
}
