package preflight

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/veltui/veltui/collector"
	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/restore/live"
)

// The admission policies of Kubernetes, by resource.
const (
	validatingPolicies = "validatingadmissionpolicies.admissionregistration.k8s.io"
	validatingBindings = "validatingadmissionpolicybindings.admissionregistration.k8s.io"
	mutatingPolicies   = "mutatingadmissionpolicies.admissionregistration.k8s.io"
	mutatingBindings   = "mutatingadmissionpolicybindings.admissionregistration.k8s.io"
)

// broughtWebhook is a webhook that the restore brings. One type fits what is read of validating and mutating ones.
type broughtWebhook struct {
	collector.Item
	admissionv1.ValidatingWebhook
}

// broughtPolicy is an admission policy that the restore brings, and broughtBinding a binding. One type fits what is
// read of validating and mutating ones.
type (
	broughtPolicy struct {
		collector.Item
		admissionv1.ValidatingAdmissionPolicySpec
	}
	broughtBinding struct {
		collector.Item
		admissionv1.ValidatingAdmissionPolicyBindingSpec
	}
)

// broughtConversion is a CRD that the restore brings, and whose conversion webhook has to answer for items in
// versions that are not stored.
type broughtConversion struct {
	collector.Item
	resource, stored string // of the custom resources
	client           admissionv1.WebhookClientConfig
}

// definitionRules are the fields of a CRD that decide about its conversions.
type definitionRules struct {
	Spec struct {
		Group      string
		Names      struct{ Plural string }
		Conversion struct {
			Webhook struct {
				ClientConfig admissionv1.WebhookClientConfig
			}
		}
		Versions []struct {
			Name    string
			Storage bool
		}
	}
}

// addAdmission notes what decides about items when they are created, or converts them.
func (b *broughtRules) addAdmission(i collector.Item, body []byte) error {
	switch i.Resource {
	case live.ValidatingWebhooks, live.MutatingWebhooks:
		var configuration admissionv1.ValidatingWebhookConfiguration
		if err := json.Unmarshal(body, &configuration); err != nil {
			return err
		}
		for _, w := range configuration.Webhooks {
			b.webhooks = append(b.webhooks, broughtWebhook{i, w})
		}
	case validatingPolicies, mutatingPolicies:
		var policy admissionv1.ValidatingAdmissionPolicy
		if err := json.Unmarshal(body, &policy); err != nil {
			return err
		}
		b.policies = append(b.policies, broughtPolicy{i, policy.Spec})
	case validatingBindings, mutatingBindings:
		var binding admissionv1.ValidatingAdmissionPolicyBinding
		if err := json.Unmarshal(body, &binding); err != nil {
			return err
		}
		b.bindings = append(b.bindings, broughtBinding{i, binding.Spec})
	default:
		var definition definitionRules
		if err := json.Unmarshal(body, &definition); err != nil {
			return err
		}
		b.addConversion(i, &definition)
	}
	return nil
}

func (b *broughtRules) addConversion(i collector.Item, d *definitionRules) {
	c := broughtConversion{
		Item:     i,
		resource: strings.TrimSuffix(d.Spec.Names.Plural+"."+d.Spec.Group, "."),
		client:   d.Spec.Conversion.Webhook.ClientConfig,
	}
	for _, version := range d.Spec.Versions {
		if version.Storage {
			c.stored = version.Name
		}
	}
	b.conversions = append(b.conversions, c)
}

// checkBroughtAdmission finds what the restore brings that decides about the items after it: nobody knows what it
// will say, except of a webhook without a Service.
func (c *checker) checkBroughtAdmission() {
	if c.Environment == nil || c.State == nil {
		return
	}
	for i := range c.brought.webhooks {
		c.checkBroughtWebhook(&c.brought.webhooks[i])
	}
	for i := range c.brought.bindings {
		c.checkBroughtBinding(&c.brought.bindings[i])
	}
	for i := range c.brought.conversions {
		c.checkConversion(&c.brought.conversions[i])
	}
}

// reachedItems are the new items that something in the restore decides about.
type reachedItems struct {
	count     int
	resources []string
	sure      bool // whether some are surely reached
}

// reachAfter returns the new items that a selector and rules match, of resources that Velero restores after one.
func (c *checker) reachAfter(
	after string,
	selector *metav1.LabelSelector,
	matches func(resource string, namespaced bool) (matched, sure bool),
) (r reachedItems) {
	for namespace, created := range c.newItems {
		selected, known := c.selectsNamespace(selector, namespace)
		for resource, n := range created {
			if n <= 0 || !selected || c.Fates.Rank(resource) <= c.Fates.Rank(after) {
				continue
			}
			if matched, sure := matches(resource, namespace != ""); matched {
				r.count += n
				r.sure = r.sure || known && sure
				r.resources = append(r.resources, resource)
			}
		}
	}
	slices.Sort(r.resources)
	r.resources = slices.Compact(r.resources)
	return r
}

func (r reachedItems) String() string {
	return human.Count(r.count, "item") + " (" + human.JoinNames(r.resources, 3) + ")"
}

// appliesToRestored reports whether rules apply to an item that Velero creates, and whether that is sure: Velero
// patches the managed fields of what it has created (pkg/restore/restore.go, restoreItem).
func (c *checker) appliesToRestored(
	policy *admissionv1.MatchPolicyType,
	rules []admissionv1.RuleWithOperations,
	resource string,
	namespaced bool,
) (applies, sure bool) {
	w := live.Webhook{MatchesExactly: policy != nil && *policy == admissionv1.Exact, Rules: asCreate(rules)}
	return c.matchesRules(w, resource, namespaced)
}

// asCreate returns rules that apply to a creation where the given ones apply to an update or a creation.
func asCreate(rules []admissionv1.RuleWithOperations) (all []admissionv1.RuleWithOperations) {
	for _, r := range rules {
		if slices.Contains(r.Operations, admissionv1.Update) {
			r.Operations = []admissionv1.OperationType{admissionv1.Create}
		}
		all = append(all, r)
	}
	return all
}

func (c *checker) checkBroughtWebhook(w *broughtWebhook) {
	reached := c.reachAfter(w.Resource, w.NamespaceSelector, func(resource string, namespaced bool) (bool, bool) {
		matched, sure := c.appliesToRestored(w.MatchPolicy, w.Rules, resource, namespaced)
		return matched && asksWebhooks(resource), sure
	})
	if reached.count == 0 || c.isInForce(w) {
		return
	}
	name := w.ValidatingWebhook.Name
	subject := fmt.Sprintf("Webhook %s of %s, which the restore brings,", name, w.Item.Name)
	fails := w.FailurePolicy == nil || *w.FailurePolicy == admissionv1.Fail
	if w.ClientConfig.Service != nil {
		service := w.ClientConfig.Service.Namespace + "/" + w.ClientConfig.Service.Name
		switch there, known := c.Environment.Services[service]; {
		case !known && !fails, there, c.provided[live.Services][service]:
		case !known:
		case !fails:
			return // Kubernetes does without the answer
		default:
			f := Finding{
				Severity: Obstacle,
				Reason:   WebhookServiceMissing,
				Resource: w.Resource,
				Count:    1,
				Names:    []string{w.Item.Name},
				Sentence: fmt.Sprintf("%s asks Service %s, which neither exists nor is restored%s, and its failure policy "+
					"is Fail. Kubernetes is expected to refuse %s that Velero restores after it.", subject, service,
					c.mappedAwayText(service), reached),
				Remedy: "Leave it out: --exclude-resources " + w.Resource + ".",
			}
			c.brought.unanswered[service] = true
			if !reached.sure || live.HasRequirements(w.ObjectSelector) || len(w.MatchConditions) > 0 {
				f.Severity = Doubt
				f.Sentence += " Its selectors may leave these items out."
			}
			c.addFinding(f)
			return
		}
	}
	c.addUnchecked(
		fmt.Sprintf("what webhook %s of %s, which the restore brings, answers for %s", name, w.Item.Name, reached),
		"it comes before them",
	)
}

// isInForce reports whether the cluster has a webhook already, as the restore brings it: checkWebhooks judges that.
func (c *checker) isInForce(w *broughtWebhook) bool {
	l := live.NewWebhook(w.Resource+"/"+w.Item.Name, &w.ValidatingWebhook)
	return l.Service != "" && !l.SelectsObjects &&
		slices.ContainsFunc(c.Environment.Webhooks, func(there live.Webhook) bool { return reflect.DeepEqual(there, l) })
}

// checkBroughtBinding leaves open what a policy says once it is bound. What a validating one only warns of, or notes,
// refuses nothing.
func (c *checker) checkBroughtBinding(b *broughtBinding) {
	if b.Resource == validatingBindings && !slices.Contains(b.ValidationActions, admissionv1.Deny) {
		return
	}
	var constraints *admissionv1.MatchResources
	for i := range c.brought.policies {
		p := &c.brought.policies[i]
		if p.Name == b.PolicyName && (p.Resource == validatingPolicies) == (b.Resource == validatingBindings) {
			constraints = p.MatchConstraints
		}
	}
	matches := func(resource string, namespaced bool) (matched, sure bool) {
		return asksPolicies(resource) && c.matchesResources(constraints, resource, namespaced) &&
			c.matchesResources(b.MatchResources, resource, namespaced), false
	}
	reached := c.reachAfter(b.Resource, namespaceSelectorOf(constraints), matches)
	if reached.count == 0 {
		return
	}
	c.addUnchecked(
		fmt.Sprintf("what policy %s, which the restore binds with %s, says of %s", b.PolicyName, b.Item.Name, reached),
		"it comes before them",
	)
}

func namespaceSelectorOf(m *admissionv1.MatchResources) *metav1.LabelSelector {
	if m == nil {
		return nil
	}
	return m.NamespaceSelector
}

// matchesResources reports whether the rules of a policy or a binding may match a new item; no rules match all.
func (c *checker) matchesResources(m *admissionv1.MatchResources, resource string, namespaced bool) bool {
	if m == nil || len(m.ResourceRules) == 0 {
		return true
	}
	var rules []admissionv1.RuleWithOperations
	for _, r := range m.ResourceRules {
		rules = append(rules, r.RuleWithOperations)
	}
	applies, _ := c.appliesToRestored(m.MatchPolicy, rules, resource, namespaced)
	return applies
}

// checkConversion finds items that the conversion webhook of their restored CRD has to convert: those that the backup
// holds in another version than the CRD stores.
func (c *checker) checkConversion(v *broughtConversion) {
	version := c.Index.PreferredVersion(v.resource)
	n := 0
	for _, created := range c.newItems {
		n += created[v.resource]
	}
	if n == 0 || version == v.stored || version == "" {
		return
	}
	items := countText(n, v.resource)
	if client := v.client; client.Service != nil {
		service := client.Service.Namespace + "/" + client.Service.Name
		if there, known := c.Environment.Services[service]; known && !there && !c.provided[live.Services][service] {
			c.addFinding(Finding{
				Severity: Obstacle,
				Reason:   WebhookServiceMissing,
				Resource: v.Resource,
				Count:    1,
				Names:    []string{v.Name},
				Sentence: fmt.Sprintf("The restore brings CRD %s, which stores version %s, and the backup holds %s in version "+
					"%s. Service %s of the conversion webhook neither exists nor is restored: Kubernetes is expected to "+
					"refuse them.", v.Name, v.stored, items, version, service),
				Remedy: "Install what answers for the conversion webhook first.",
			})
			return
		}
	}
	c.addUnchecked(
		fmt.Sprintf("whether %s can be stored: the restore brings CRD %s, whose webhook converts them from %s to %s",
			items, v.Name, version, v.stored),
		"it answers only once its pods are ready",
	)
}
