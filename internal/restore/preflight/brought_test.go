package preflight

import (
	"slices"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/veltui/veltui/collector"
	"github.com/veltui/veltui/internal/restore/live"
	"github.com/veltui/veltui/internal/velero/veleroapi"
)

const widgets = "widgets.example.com"

func broughtQuota(hard string) item {
	return item{live.Quotas, "shop", "few", `,"spec":{"hard":{` + hard + `}}`}
}

func broughtLimits(limits string) item {
	return item{live.LimitRanges, "shop", "limits", `,"spec":{"limits":[` + limits + `]}`}
}

func broughtHook(resource, name, rest string) item {
	return item{resource, "", name, `,"webhooks":[{"name":"w.example.com","rules":[{"operations":["CREATE"],` +
		`"apiGroups":["*"],"apiVersions":["*"],"resources":["*"]}],` + rest + `}]`}
}

func broughtPolicyPair(rules, binding string) []item {
	return []item{
		{validatingPolicies, "", "p", `,"spec":{"matchConstraints":{` + rules + `}}`},
		{validatingBindings, "", "b", `,"spec":{"policyName":"p","validationActions":["Deny"]` + binding + `}`},
	}
}

// standIn is a cluster with a webhook that selects namespaces with label a, and a namespace without.
func standIn(change func(*live.Webhook)) live.Environment {
	a := webhook(func(w *live.Webhook) {
		w.NamespaceSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"a": "b"}}
		change(w)
	}, nil)
	a.Namespaces = map[string]live.Namespace{"other": {}}
	return a
}

// nobodyThere is a Service that does not exist.
func nobodyThere() live.Environment {
	return live.Environment{Services: map[string]bool{"shop/nobody": false}}
}

// TestWhatTheRestoreBringsCounts has what comes along and decides about what comes after it.
func TestWhatTheRestoreBringsCounts(t *testing.T) {
	set, widget := item{statefulSets, "shop", "db", ""}, item{widgets, "shop", "w", ""}
	pod := item{pods, "shop", "p", oneCPU}
	nobody := `"clientConfig":{"service":{"namespace":"shop","name":"nobody"}}`
	allWidgets := `"resourceRules":[{"operations":["CREATE"],"apiGroups":["example.com"],"apiVersions":["*"],` +
		`"resources":["widgets"]}]`
	crd := func(stored string) item {
		return item{"customresourcedefinitions.apiextensions.k8s.io", "", widgets,
			`,"spec":{"group":"example.com","names":{"plural":"widgets","kind":"Widget"},"conversion":{"strategy":` +
				`"Webhook","webhook":{` + nobody + `}},"versions":[{"name":"` + stored + `","storage":true}]}`}
	}
	defaultClass := item{live.StorageClasses, "", "fast",
		`,"metadata":{"annotations":{"storageclass.kubernetes.io/is-default-class":"true"}},"provisioner":"d"`}
	only := func(resource string) func(string, string, string) *live.Object {
		return func(of, _, _ string) *live.Object {
			if of == resource {
				return &live.Object{}
			}
			return nil
		}
	}
	update := veleroapi.RestoreSpec{ExistingResourcePolicy: veleroapi.PolicyTypeUpdate}
	for name, c := range map[string]struct {
		given
		finds string // "severity Reason", and a part of the sentence; empty for none
		says  string
		open  string // a part of what stays open; empty for nothing about it
	}{
		"quota: what comes after it": {
			given: given{items: []item{broughtQuota(`"count/statefulsets.apps":"0"`), set}, none: true},
			finds: "obstacle QuotaExceeded", says: "count/statefulsets.apps: 0 of 0 used, 1 more wanted",
		},
		"quota: what comes before it": {
			given: given{items: []item{broughtQuota(`"pods":"0","count/configmaps":"0"`), pod,
				{live.ConfigMaps, "shop", "c", ""}}, none: true},
		},
		"quota: the sum of both": {
			given: given{items: []item{broughtQuota(`"count/widgets.example.com":"1"`), widget,
				{widgets, "shop", "w2", ""}}, none: true},
			finds: "obstacle QuotaExceeded", says: "0 of 1 used, 2 more wanted",
		},
		"quota: room enough": {
			given: given{items: []item{broughtQuota(`"count/statefulsets.apps":"1"`), set}, none: true},
		},
		"quota: in a namespace with others": {
			given: given{items: []item{broughtQuota(`"count/statefulsets.apps":"9"`), set}, around: withShop(live.Environment{})},
			open:  "whether quota few, which the restore brings in namespace shop, leaves room",
		},
		"quota: it exists, and stays": {
			given: given{items: []item{broughtQuota(`"count/statefulsets.apps":"0"`), set},
				there: only(live.Quotas), around: withShop(live.Environment{})},
		},
		"quota: nobody knows whether it exists": {
			given: given{items: []item{broughtQuota(`"count/statefulsets.apps":"0"`), set},
				unseen: []live.Unchecked{{Resource: live.Quotas, Namespace: "shop", Why: "you may not list it"}},
				around: withShop(live.Environment{})},
			open: "what resourcequotas shop/few, which the restore brings, decides",
		},
		"quota: it exists, and is changed": {
			given: given{items: []item{broughtQuota(`"count/statefulsets.apps":"0"`), set}, spec: update,
				there: only(live.Quotas), around: withShop(live.Environment{})},
			finds: "obstacle QuotaExceeded", says: "which the restore brings",
		},
		"quota: what is there counts": {
			given: given{items: []item{broughtQuota(`"count/widgets.example.com":"1"`), widget,
				{widgets, "shop", "w2", ""}},
				there: func(resource, _, name string) *live.Object {
					if name == "w" {
						return &live.Object{}
					}
					return nil
				}, around: withShop(live.Environment{})},
			finds: "obstacle QuotaExceeded", says: "1 of 1 used, 1 more wanted",
		},
		"limit range: pods": {
			given: given{items: []item{broughtLimits(`{"type":"Container","max":{"cpu":"500m"}}`), pod}, none: true},
			finds: "obstacle LimitRangeViolated", says: "that the restore brings to namespace shop",
		},
		"limit range: a pod that the API server accepts today": {
			given: given{items: []item{broughtLimits(`{"type":"Container","max":{"cpu":"500m"}}`), pod},
				around: withShop(live.Environment{}), dry: &DryRun{AsVelero: true, Answered: func(resource, _, _ string) bool {
					return resource == pods
				}}},
			finds: "obstacle LimitRangeViolated",
		},
		"limit range: claims come before it": {
			given: given{items: []item{broughtLimits(`{"type":"PersistentVolumeClaim","max":{"storage":"1Gi"}}`),
				{claims, "shop", "c", `,"spec":{"storageClassName":"","volumeName":"v","resources":{"requests":{"storage":"10Gi"}}}`}}, none: true},
		},
		"limit range: its defaults fill a quota of the target": {
			given: given{items: []item{broughtLimits(`{"type":"Container","defaultRequest":{"cpu":"2"}}`),
				{pods, "shop", "p", `,"spec":{"containers":[{"name":"a"}]}`}}, around: withShop(quota("requests.cpu", "1", "0"))},
			finds: "obstacle QuotaExceeded", says: "2 more wanted",
		},
		"webhook: no Service": {
			given: given{items: []item{broughtHook(live.MutatingWebhooks, "c", nobody), set}, around: nobodyThere()},
			finds: "obstacle WebhookServiceMissing", says: "1 item (statefulsets.apps) that Velero restores after it",
		},
		"webhook: the cluster has it already": {
			given: given{items: []item{broughtHook(live.MutatingWebhooks, "c", nobody), set}, spec: update,
				there: only(live.MutatingWebhooks), around: live.Environment{
					Services: map[string]bool{"shop/nobody": true}, Webhooks: []live.Webhook{{
						Configuration: live.MutatingWebhooks + "/c", Name: "w.example.com", Service: "shop/nobody",
						FailsClosed: true, Rules: []admissionv1.RuleWithOperations{{
							Operations: []admissionv1.OperationType{"CREATE"},
							Rule:       admissionv1.Rule{APIGroups: []string{"*"}, APIVersions: []string{"*"}, Resources: []string{"*"}},
						}},
					}},
				}},
		},
		"webhook: it replaces another": {
			given: given{items: []item{broughtHook(live.MutatingWebhooks, "c", nobody), set}, spec: update,
				there: only(live.MutatingWebhooks), around: live.Environment{Services: map[string]bool{"shop/nobody": true}}},
			open: "what webhook w.example.com of c",
		},
		"webhook: no Service, failures ignored": {
			given: given{items: []item{broughtHook(live.MutatingWebhooks, "c", nobody+`,"failurePolicy":"Ignore"`), set},
				around: nobodyThere()},
		},
		"webhook: Kubernetes asks none about webhooks": {
			given: given{items: []item{broughtHook(live.MutatingWebhooks, "c", nobody),
				broughtHook(live.ValidatingWebhooks, "d", `"clientConfig":{"url":"https://x"}`)}, around: nobodyThere()},
		},
		"policy: Kubernetes asks none about policies": {
			given: given{items: broughtPolicyPair("", "")},
		},
		"policy: of webhooks": {
			given: given{items: append(broughtPolicyPair("", ""),
				broughtHook(live.ValidatingWebhooks, "d", `"clientConfig":{"url":"https://x"}`))},
			open: "what policy p, which the restore binds with b, says of 1 item (validatingwebhook",
		},
		"webhook: it comes last": {
			given: given{items: []item{broughtHook(live.ValidatingWebhooks, "c", `"clientConfig":{"url":"https://x"}`), set}},
		},
		"webhook: nobody knows what it says": {
			given: given{items: []item{broughtHook(live.ValidatingWebhooks, "c", `"clientConfig":{"url":"https://x"}`), widget}},
			open:  "what webhook w.example.com of c, which the restore brings, answers for 1 item (widgets.example.com)",
		},
		"webhook: its selector leaves the namespace out": {
			given: given{items: []item{
				broughtHook(live.ValidatingWebhooks, "c", `"clientConfig":{"url":"https://x"},"namespaceSelector":{"matchLabels":{"a":"b"}}`),
				widget, {live.Namespaces, "", "shop", ""}}, none: true},
		},
		"webhook: its selector takes the labels that the namespace gets": {
			given: given{items: []item{
				broughtHook(live.ValidatingWebhooks, "c", `"clientConfig":{"url":"https://x"},"namespaceSelector":{"matchLabels":{"a":"b"}}`),
				widget, {live.Namespaces, "", "shop", `,"metadata":{"labels":{"a":"b"}}`}}, none: true},
			open: "what webhook w.example.com of c",
		},
		"webhook: its selector takes the new name": {
			given: given{items: []item{
				broughtHook(live.ValidatingWebhooks, "c", `"clientConfig":{"url":"https://x"},"namespaceSelector":{"matchLabels":{"kubernetes.io/metadata.name":"new"}}`),
				widget, {live.Namespaces, "", "shop", `,"metadata":{"labels":{"kubernetes.io/metadata.name":"shop"}}`}},
				spec: veleroapi.RestoreSpec{NamespaceMapping: map[string]string{"shop": "new"}}, none: true},
			open: "what webhook w.example.com of c",
		},
		"policy: nobody knows what it says": {
			given: given{items: append(broughtPolicyPair(allWidgets, ""), widget)},
			open:  "what policy p, which the restore binds with b, says of 1 item (widgets.example.com)",
		},
		"policy: on updates, which Velero's patches are": {
			given: given{items: append(broughtPolicyPair(strings.ReplaceAll(allWidgets, "CREATE", "UPDATE"), ""), widget)},
			open:  "what policy p",
		},
		"policy: of other kinds":  {given: given{items: append(broughtPolicyPair(allWidgets, ""), set)}},
		"policy: only warns":      {given: given{items: append(broughtPolicyPair(allWidgets, `,"validationActions":["Warn"]`), widget)}},
		"conversion: none needed": {given: given{items: []item{crd("v1"), widget}, around: nobodyThere()}},
		"conversion: no Service": {
			given: given{items: []item{crd("v2"), widget}, around: nobodyThere()},
			finds: "obstacle WebhookServiceMissing", says: "stores version v2, and the backup holds 1 object of widgets",
		},
		"conversion: of what comes along": {
			given: given{items: []item{crd("v2"), widget, {live.Services, "shop", "nobody", ""}}, around: nobodyThere()},
			open:  "whether 1 object of widgets.example.com can be stored",
		},
		"stand-in: a webhook of the labels of the new namespace": {
			given: given{items: []item{{live.ConfigMaps, "shop", "c", ""}, {live.Namespaces, "", "shop", `,"metadata":{"labels":{"a":"b"}}`}},
				none: true, around: standIn(func(w *live.Webhook) { w.Service = "" }),
				dry: &DryRun{AsVelero: true, StandInNamespace: "other", Answered: func(string, string, string) bool { return false }}},
			open: "what webhook w says of 1 item in namespace shop",
		},
		"storage class: it is there, and no default": {
			given: given{items: []item{{claims, "shop", "c", `,"spec":{}`}, defaultClass},
				there: only(live.StorageClasses), around: live.Environment{StorageClasses: map[string]bool{"fast": false}}},
			finds: "obstacle DefaultClassMissing",
		},
		"storage class: it is there, and made the default": {
			given: given{items: []item{{claims, "shop", "c", `,"spec":{}`}, defaultClass}, spec: update,
				there: only(live.StorageClasses), around: live.Environment{StorageClasses: map[string]bool{"fast": false}}},
		},
		"storage class: the default comes along": {
			given: given{items: []item{{claims, "shop", "c", `,"spec":{}`}, defaultClass}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			c.served = append(c.served, statefulSets, widgets, live.LimitRanges, live.MutatingWebhooks, validatingPolicies,
				validatingBindings, "customresourcedefinitions.apiextensions.k8s.io")
			r := checked(t, c.given)
			got := findingsAbout(r, QuotaExceeded, LimitRangeViolated, WebhookServiceMissing, DefaultClassMissing)
			if (got == "") != (c.finds == "") || !strings.Contains(got, c.finds) || !strings.Contains(got, c.says) {
				t.Errorf("found %q, want %q %q", got, c.finds, c.says)
			}
			open := ""
			for _, u := range r.Unchecked {
				if strings.Contains(u.What, "the restore b") || strings.HasPrefix(u.What, "what webhook") {
					open += u.What + "\n"
				}
			}
			if (open == "") != (c.open == "") || !strings.Contains(open, c.open) {
				t.Errorf("open is %q, want %q", open, c.open)
			}
		})
	}
}

// TestRejectedItemsUseUpNothing has a quota that the API server applies itself, and what is left then.
func TestRejectedItemsUseUpNothing(t *testing.T) {
	maps := []item{{live.ConfigMaps, "shop", "a", ""}, {live.ConfigMaps, "shop", "b", ""}}
	rejects := func(names ...string) *DryRun {
		d := &DryRun{AsVelero: true, Answered: func(string, string, string) bool { return true }}
		for _, name := range names {
			d.Rejected = append(d.Rejected, Rejection{Resource: live.ConfigMaps, Namespace: "shop", Name: name, Message: "no"})
		}
		return d
	}
	for want, dry := range map[string]*DryRun{
		"obstacle Rejected":      rejects("a", "b"),
		"obstacle QuotaExceeded": rejects(),
	} {
		around := withShop(quota("count/configmaps", "1", "0"))
		if got := kindsOf(checked(t, given{items: maps, around: around, dry: dry})); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	around := withShop(live.Environment{
		LimitRanges: []corev1.LimitRange{limitRange(corev1.LimitRangeItem{
			Type: corev1.LimitTypePersistentVolumeClaim, Max: list("storage", "1Gi"),
		})},
		Quotas: quota("requests.storage", "5Gi", "0").Quotas,
	})
	big := item{claims, "shop", "c", `,"spec":{"storageClassName":"","volumeName":"v","resources":{"requests":{"storage":"10Gi"}}}`}
	if got := findingsAbout(checked(t, given{items: []item{big}, around: around}), QuotaExceeded); got != "" {
		t.Errorf("a claim that the limit range refuses fills no quota: %s", got)
	}
}

// TestRulesAskAboutWhatTheModifierMakes has a quota that only the modified pods exceed, and one that they do not.
func TestRulesAskAboutWhatTheModifierMakes(t *testing.T) {
	rules := "version: v1\nresourceModifierRules:\n- {conditions: {groupResource: pods}, mergePatches: [{patchData: '{}'}]}\n" +
		"- {conditions: {groupResource: resourcequotas}, mergePatches: [{patchData: '{\"spec\":{\"hard\":{\"count/statefulsets.apps\":\"1\"}}}'}]}\n"
	around := withShop(quota("requests.cpu", "3", "0"))
	around.ConfigMapData = map[string]map[string]string{"m": {"rules": rules}}
	spec := veleroapi.RestoreSpec{ResourceModifier: config("m")}
	needs := func(cpu string) func(string, string, string) ([]collector.Need, bool) {
		body := `{"kind":"Pod","spec":{"containers":[{"resources":{"requests":{"cpu":"` + cpu + `"}}}]}}`
		return func(resource, _, _ string) ([]collector.Need, bool) {
			return collector.ReadNeeds(resource, []byte(body)), resource == pods
		}
	}
	two := []item{{pods, "shop", "p", oneCPU}, {pods, "shop", "q", oneCPU}}
	for cpu, want := range map[string]string{"2": "obstacle QuotaExceeded", "1": "", "": "doubt QuotaExceeded"} {
		g := given{items: two, spec: spec, around: around, dry: &DryRun{
			AsVelero: true, Answered: func(resource, _, _ string) bool { return resource == pods },
			ModifiedNeeds: needs(cpu),
		}}
		if cpu == "" { // as if nothing were known, of a quota that the pods of the backup exceed
			g.dry.ModifiedNeeds = nil
			g.around.Quotas = quota("requests.cpu", "1", "0").Quotas
		}
		got := findingsAbout(checked(t, g), QuotaExceeded)
		if (got == "") != (want == "") || !strings.HasPrefix(got, want) {
			t.Errorf("%q: %q, want %q", cpu, got, want)
		}
	}
	own := given{items: []item{broughtQuota(`"count/statefulsets.apps":"0"`), {statefulSets, "shop", "db", ""}}, spec: spec,
		served: []string{statefulSets}, around: live.Environment{ConfigMapData: around.ConfigMapData}, none: true}
	if got := findingsAbout(checked(t, own), QuotaExceeded); got != "" {
		t.Errorf("the modifier raises the quota: %s", got)
	}
}

// TestServicesOfConversionsAreAskedFor: nothing is known of a Service that nobody asks for.
func TestServicesOfConversionsAreAskedFor(t *testing.T) {
	index := indexOf(t, item{"customresourcedefinitions.apiextensions.k8s.io", "", widgets,
		`,"spec":{"conversion":{"strategy":"Webhook","webhook":{"clientConfig":{"service":{"namespace":"ops","name":"c"}}}}}`})
	fates, err := index.DetermineFates(t.Context(), collector.RestoreInput{},
		collector.LiveDiscovery(served("customresourcedefinitions.apiextensions.k8s.io").ResourceLists))
	if err != nil {
		t.Fatal(err)
	}
	_, around, err := BuildQuery(fates, veleroapi.RestoreSpec{}, "velero")
	if err != nil || !slices.Contains(around.WebhookServices, "ops/c") {
		t.Error(around.WebhookServices, err)
	}
}
