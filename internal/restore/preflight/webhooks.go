package preflight

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/restore/live"
)

// checkWebhooks finds the cluster's webhooks that will refuse items because nothing answers for them.
func (c *checker) checkWebhooks() {
	if c.Environment == nil {
		return
	}
	for _, w := range c.Environment.Webhooks {
		there, known := c.Environment.Services[w.Service]
		if w.Service == "" || !w.FailsClosed || there {
			continue
		}
		n, resources, sure := c.countMatches(w)
		switch {
		case n == 0:
			continue
		case !known:
			namespace, _, _ := strings.Cut(w.Service, "/")
			c.addUnchecked(
				"the Service "+w.Service+" of webhook "+w.Name,
				c.Environment.UncheckedReason(live.Services, namespace),
			)
			continue
		}
		kind, name, _ := strings.Cut(w.Configuration, "/")
		f := Finding{
			Severity: Obstacle,
			Reason:   WebhookServiceMissing,
			Resource: kind,
			Count:    1,
			Names:    []string{name},
			Sentence: fmt.Sprintf(
				"Webhook %s of %s has no Service %s, and its failure policy is Fail: "+
					"Kubernetes is expected to refuse %s that it applies to (%s).",
				w.Name,
				name,
				w.Service,
				human.Count(n, "item"),
				human.JoinNames(resources, 3),
			),
			Remedy: "Install what answers for the webhook first, or delete its configuration if nobody needs it: kubectl " +
				"delete " + strings.Replace(
				w.Configuration,
				"/",
				" ",
				1,
			) + ".",
		}
		switch {
		case c.provided[live.Services][w.Service]:
			f.Severity = Doubt
			f.Sentence += " The restore brings the Service; until pods answer behind it, items are refused."
			f.Remedy = "Restore the webhook's namespace first, and the rest when its pods are ready."
		case !sure:
			f.Severity = Doubt
			f.Sentence += " Its selectors may leave these items out."
		}
		c.addFinding(f)
	}
}

// checkStandIn leaves open what webhooks say that are asked about a new namespace, and were not about the one that
// stands in for it in the dry run.
func (c *checker) checkStandIn() {
	if c.Environment == nil || c.DryRun == nil || c.DryRun.StandInNamespace == "" {
		return
	}
	for _, w := range c.Environment.Webhooks {
		if asked, _ := c.selectsNamespace(w.NamespaceSelector, c.DryRun.StandInNamespace); asked {
			continue
		}
		for _, namespace := range slices.Sorted(maps.Keys(c.unansweredItems)) {
			if _, exists := c.Environment.Namespaces[namespace]; exists || namespace == "" {
				continue
			}
			selected, _ := c.selectsNamespace(w.NamespaceSelector, namespace)
			n := 0
			for resource, items := range c.unansweredItems[namespace] {
				if applies, _ := c.appliesToCreate(w, resource, true); applies && selected {
					n += items
				}
			}
			if n == 0 {
				continue
			}
			c.addUnchecked(
				fmt.Sprintf("what webhook %s says of %s in namespace %s", w.Name, human.Count(n, "item"), namespace),
				"its selector leaves out namespace "+c.DryRun.StandInNamespace+", which stands in for it in the dry run",
			)
		}
	}
}

// countMatches counts the new items that a webhook applies to and for which no dry run has asked it; sure is false
// where labels are unknown. No dry run asks a webhook that applies to updates alone, which Velero's patches are of what
// it has created (pkg/restore/restore.go, restoreItem).
func (c *checker) countMatches(w live.Webhook) (n int, resources []string, sure bool) {
	patched := w
	patched.Rules = asCreate(w.Rules)
	for namespace, created := range c.newItems {
		selected, known := c.selectsNamespace(w.NamespaceSelector, namespace)
		for resource, items := range created {
			if !selected {
				continue
			}
			applies, sameVersion := c.appliesToCreate(w, resource, namespace != "")
			if applies {
				items = c.unansweredItems[namespace][resource]
			} else {
				applies, sameVersion = c.appliesToCreate(patched, resource, namespace != "")
			}
			if applies && items > 0 {
				sure = sure || known && sameVersion && !w.SelectsObjects
				n += items
				resources = append(resources, resource)
			}
		}
	}
	slices.Sort(resources)
	return n, slices.Compact(resources), sure
}

// selectsNamespace reports whether a selector selects a namespace, and whether that is known.
func (c *checker) selectsNamespace(selector *metav1.LabelSelector, namespace string) (selected, known bool) {
	if selector == nil || namespace == "" {
		return true, true
	}
	s, err := metav1.LabelSelectorAsSelector(selector)
	if err != nil {
		return true, false
	}
	has, known := c.namespaceLabels(namespace)
	return !known || s.Matches(labels.Set(has)), known
}

// namespaceLabels returns the labels of a namespace when items come into it. Velero gives a namespace that it creates
// the labels from the backup (pkg/restore/restore.go, getNamespace), and Kubernetes adds its name.
func (c *checker) namespaceLabels(namespace string) (has map[string]string, known bool) {
	if there, exists := c.Environment.Namespaces[namespace]; exists {
		return there.Labels, true
	}
	if !c.Environment.WasChecked(live.Namespaces, "") || c.Index.NamesOnly {
		return nil, false
	}
	has = map[string]string{}
	maps.Copy(has, c.newNamespaces[namespace])
	has[corev1.LabelMetadataName] = namespace
	return has, true
}

// appliesToCreate reports whether a webhook applies to the creation of a resource in the version that the backup
// holds; sure is false where the versions that the cluster serves are unknown
// (k8s.io/apiserver/pkg/admission/plugin/webhook/generic/webhook.go, ShouldCallHook).
func (c *checker) appliesToCreate(w live.Webhook, resource string, namespaced bool) (applies, sure bool) {
	if !asksWebhooks(resource) {
		return false, true
	}
	return c.matchesRules(w, resource, namespaced)
}

// matchesRules reports whether rules match the creation of a resource, as appliesToCreate.
func (c *checker) matchesRules(w live.Webhook, resource string, namespaced bool) (applies, sure bool) {
	stored := ""
	if c.Index != nil {
		stored = c.Index.PreferredVersion(resource)
	}
	for _, r := range w.Rules {
		if !appliesToCreate(r, resource, namespaced) {
			continue
		}
		all := slices.Contains(r.APIVersions, "*") || len(r.APIVersions) == 0
		served := append(slices.Clone(c.Versions[resource]), c.Served.PreferredVersion(resource))
		switch {
		case all, slices.Contains(r.APIVersions, stored):
			return true, true
		case w.MatchesExactly && stored != "":
		case stored == "":
			applies = true
		case slices.ContainsFunc(r.APIVersions, func(v string) bool { return slices.Contains(served, v) }):
			return true, true
		case len(c.Versions) == 0:
			applies = true
		}
	}
	return applies, false
}

// asksWebhooks reports whether Kubernetes asks webhooks about a resource
// (k8s.io/apiserver/pkg/admission/plugin/webhook/predicates/rules/rules.go, IsExemptAdmissionConfigurationResource).
func asksWebhooks(resource string) bool {
	return asksPolicies(resource) && resource != live.ValidatingWebhooks && resource != live.MutatingWebhooks
}

// asksPolicies reports whether Kubernetes asks admission policies about a resource
// (k8s.io/apiserver/pkg/admission/plugin/policy/generic/plugin.go, isExcludedFromAPIHooks).
func asksPolicies(resource string) bool {
	switch resource {
	case validatingPolicies, validatingBindings, mutatingPolicies, mutatingBindings:
		return false
	}
	return true
}

// appliesToCreate reports whether a webhook's rule applies to the creation of a resource in any version.
func appliesToCreate(r admissionv1.RuleWithOperations, resource string, namespaced bool) bool {
	name, group, _ := strings.Cut(resource, ".")
	has := func(list []string, words ...string) bool {
		return slices.ContainsFunc(list, func(s string) bool { return slices.Contains(words, s) })
	}
	if r.Scope != nil &&
		(*r.Scope == admissionv1.ClusterScope && namespaced || *r.Scope == admissionv1.NamespacedScope && !namespaced) {
		return false
	}
	return slices.ContainsFunc(r.Operations, func(o admissionv1.OperationType) bool {
		return o == admissionv1.Create || o == admissionv1.OperationAll
	}) && has(r.APIGroups, group, "*") && has(r.Resources, name, "*", "*/*", name+"/*")
}

// checkRestoredWebhooks finds webhooks of the backup that will have no pod to answer.
func (c *checker) checkRestoredWebhooks(s *storageNeeds) {
	for service, g := range s.webhooks.sortedByKey() {
		there, known := c.Environment.Services[service]
		switch {
		case there || c.provided[live.Services][service] || c.brought.unanswered[service]:
			continue
		case !known:
			namespace, _, _ := strings.Cut(service, "/")
			c.addUnchecked(
				"the Service "+service+" of webhooks that the restore brings",
				c.Environment.UncheckedReason(live.Services, namespace),
			)
			continue
		}
		c.addFinding(g.fillFinding(Finding{
			Severity: Doubt,
			Reason:   WebhookRestoredWithout,
			Resource: "webhook configurations",
			Sentence: fmt.Sprintf(
				"The restore brings webhooks that ask Service %s, which neither exists nor is restored%s. Once they are "+
					"there, Kubernetes is expected to refuse what they apply to.",
				service,
				c.mappedAwayText(service),
			),
			Remedy: "Leave them out: --exclude-resources validatingwebhookconfigurations,mutatingwebhookconfigurations.",
		}))
	}
}

// mappedAwayText says that Velero does not change the namespace of a Service in a webhook, empty if it is not mapped.
func (c *checker) mappedAwayText(service string) string {
	namespace, _, _ := strings.Cut(service, "/")
	if to, mapped := c.Restore.NamespaceMapping[namespace]; mapped {
		return " there: the restore maps " + namespace + " to " + to + ", and Velero does not change that in webhooks"
	}
	return ""
}

func (c *checker) addUncheckedEnvironment() {
	if c.Environment == nil {
		c.addUnchecked(
			"namespaces, classes, quotas, node ports and webhooks of the cluster",
			"the cluster was not checked",
		)
		return
	}
	about := map[string]string{
		live.Namespaces:         "whether namespaces are being deleted, or refuse pods",
		live.StorageClasses:     "storage classes",
		live.SnapshotClasses:    "volume snapshot classes",
		live.CSIDrivers:         "CSI drivers",
		live.Quotas:             "quotas",
		live.LimitRanges:        "limit ranges",
		live.Services:           "node ports",
		live.ValidatingWebhooks: "validating webhooks",
		live.MutatingWebhooks:   "mutating webhooks",
		live.ConfigMaps:         "the ConfigMaps of Velero's restore actions",
		live.PersistentVolumes:  "whether claims can bind to the volumes that they name",
		live.SnapshotLocations:  "Velero's snapshot locations",
	}
	for _, n := range c.Environment.Unchecked {
		if n.Namespace != "" && (n.Resource == live.Services || n.Resource == live.ConfigMaps) {
			continue // a webhook's Service, a resource modifier or policy: reported where it matters
		}
		c.addUncheckedList(about[n.Resource], n)
	}
}
