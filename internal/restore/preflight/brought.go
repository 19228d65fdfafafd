package preflight

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/veltui/veltui/collector"
	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/restore/live"
)

// broughtRules are the objects of a restore that decide about what Velero restores after them.
type broughtRules struct {
	quotas      map[string][]*corev1.ResourceQuota // by target namespace, as limitRanges
	limitRanges map[string][]*corev1.LimitRange
	webhooks    []broughtWebhook
	policies    []broughtPolicy
	bindings    []broughtBinding
	conversions []broughtConversion
	unanswered  map[string]bool // Services of webhooks that are missing, and that a finding names
}

// addRules notes an object that decides about others, as it is once Velero has restored it. Velero leaves one that
// exists as it is, unless the policy is update.
func (c *checker) addRules(i collector.Item, text string) {
	if c.State == nil || c.leavesExisting(i) || c.isRejected(i.Resource, i.TargetNamespace, i.Name) {
		return
	}
	if _, seen := c.findLive(i); seen == live.Unknown && !c.willCreate(i) {
		c.addUncheckedRules(i, "it is unknown whether it exists: Velero may leave another as it is")
		return
	}
	if text == "" {
		c.addUncheckedRules(i, "it is too long to read")
		return
	}
	body := []byte(text)
	_, isModified := c.modifiedNeeds(i)
	if m := c.modifier; m.Name != "" && (m.Rules == nil || m.Rules.MayChange(i.Resource)) && !isModified {
		if body = c.modifyRules(i, text); body == nil {
			c.addUncheckedRules(i, "the resource modifier "+m.Name+" may change it")
			return
		}
	}
	at, b := i.TargetNamespace, &c.brought
	var err error
	switch i.Resource {
	case live.Quotas:
		q := &corev1.ResourceQuota{}
		err = json.Unmarshal(body, q)
		q.Name, q.Namespace = i.Name, at
		b.quotas[at] = append(b.quotas[at], q)
	case live.LimitRanges:
		l := &corev1.LimitRange{}
		err = json.Unmarshal(body, l)
		l.Name, l.Namespace = i.Name, at
		b.limitRanges[at] = append(b.limitRanges[at], l)
	default:
		err = b.addAdmission(i, body)
	}
	if err != nil {
		c.addUncheckedRules(i, "it cannot be read")
	}
}

func (c *checker) addUncheckedRules(i collector.Item, why string) {
	c.addUnchecked(
		fmt.Sprintf(
			"what %s %s, which the restore brings, decides about the items after it",
			i.Resource,
			human.Namespaced(i.TargetNamespace, i.Name),
		),
		why,
	)
}

// modifyRules applies the resource modifier to a quota or a limit range, nil if its result is unknown. Of the others,
// the index does not hold all that the modifier may test.
func (c *checker) modifyRules(i collector.Item, text string) []byte {
	o := &unstructured.Unstructured{}
	if c.modifier.Rules == nil || i.Resource != live.Quotas && i.Resource != live.LimitRanges ||
		json.Unmarshal([]byte(text), &o.Object) != nil {
		return nil
	}
	o.SetName(i.Name)
	o.SetNamespace(i.Namespace)
	if errs, unsure := c.modifier.Rules.Apply(i.Resource, o); len(errs) > 0 || unsure != "" {
		return nil
	}
	body, err := json.Marshal(o.Object)
	if err != nil {
		return nil
	}
	return body
}

// quotaInForce is a quota, and what it counts: the resources that Velero restores after rank from, and not after until.
type quotaInForce struct {
	*corev1.ResourceQuota
	isBrought   bool // the restore brings it
	from, until int
}

// quotasInForce returns the quotas of the target, then those that the restore brings. With update, a quota that exists
// holds what the backup says once Velero has patched it.
func (c *checker) quotasInForce() (all []quotaInForce) {
	rank := c.Fates.Rank(live.Quotas)
	for i := range c.Environment.Quotas {
		q := &c.Environment.Quotas[i]
		until := math.MaxInt
		for _, brought := range c.brought.quotas[q.Namespace] {
			if brought.Name == q.Name {
				until = rank
				brought.Status.Used = q.Status.Used
			}
		}
		all = append(all, quotaInForce{q, false, math.MinInt, until})
	}
	for _, namespace := range slices.Sorted(maps.Keys(c.brought.quotas)) {
		for _, q := range c.brought.quotas[namespace] {
			all = append(all, quotaInForce{q, true, rank, math.MaxInt})
		}
	}
	return all
}

// demandBetween returns what the new items of a namespace request whose resources Velero restores after rank from, and
// not after until.
func (c *checker) demandBetween(namespace string, from, until int) amountsOf {
	within := func(resource string) bool {
		rank := c.Fates.Rank(resource)
		return from < rank && rank <= until
	}
	all, some := c.demands[namespace], amountsOf{&namespaceDemand{}, map[string]int{}}
	for resource, n := range c.newItems[namespace] {
		if within(resource) {
			some.created[resource] = n
		}
	}
	if all == nil {
		return some
	}
	if within(pods) {
		some.podDemand, some.scoped = all.podDemand, all.scoped
	}
	if within(claims) {
		some.storage, some.storageByClass, some.claimsByClass = all.storage, all.storageByClass, all.claimsByClass
	}
	if within(live.Services) {
		some.nodePorts, some.loadBalancers = all.nodePorts, all.loadBalancers
	}
	return some
}
