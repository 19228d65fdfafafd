package modifier

import (
	"errors"
	"fmt"
	"regexp"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// Coverage counts the items of a backup that meet the conditions of each rule.
type Coverage struct {
	Rules []RuleCoverage
	// Incomplete is true if there was too much to compare: a rule without a match may have one.
	Incomplete bool
	stepsLeft  int
	mu         *sync.Mutex // of the rules
}

// RuleCoverage is what one rule matches. The counts go from condition to condition: each is of the items that meet its
// condition and those before it. Items that the restore leaves out count, too.
type RuleCoverage struct {
	GroupResource, NameRegex string
	Namespaces               []string
	Selector                 string // as flags write it

	InResource, InNamespace, Named, Matched int
	// Restored is the number of matched items that the restore restores. Of rules with conditions on fields, it counts
	// the items that meet the others.
	Restored int
	// Err is why the rule cannot be applied: Velero reports an error for each item that it reaches, of which there are
	// Failed.
	Err    error
	Failed int
	// Unpatchable is a resource that the rule reaches and whose kind does not take the rule's kind of patches, empty for
	// none. Velero reports an error for each such item that is restored; they count as Failed, too.
	Unpatchable  string
	MayMatchLess bool // MayMatchLess is true for a rule with conditions on fields, of which nothing is known here.
	// SourceNamespaces are some namespaces of the items that meet the condition on the resource.
	SourceNamespaces []string

	rule     *rule
	resource map[string]resourceMatch
	regex    *regexp.Regexp
	selector labels.Selector
	failsAt  condition
}

type resourceMatch struct {
	matched bool
	err     error
}

// condition is a condition of a rule, in the order in which Velero checks them (resource_modifiers.go, match).
type condition int

const (
	onNothing condition = iota
	onResource
	onName
	onLabels
	onPatches
)

// maxCoverageSteps is the number of comparisons of items with rules; maxSourceNamespaces is how many namespaces are
// kept for a rule.
const maxCoverageSteps, maxSourceNamespaces = 20_000_000, 3

// NewCoverage compiles the rules, once for all items.
func (r *Rules) NewCoverage() *Coverage {
	c := &Coverage{stepsLeft: maxCoverageSteps, mu: &r.mu, Rules: make([]RuleCoverage, len(r.Rules))}
	for i := range r.Rules {
		c.Rules[i].compile(&r.Rules[i])
	}
	return c
}

func (c *RuleCoverage) compile(r *rule) {
	on := &r.Conditions
	*c = RuleCoverage{
		GroupResource: on.GroupResource,
		NameRegex:     on.ResourceNameRegex,
		Namespaces:    on.Namespaces,
		rule:          r,
		resource:      map[string]resourceMatch{},
		selector:      labels.Everything(),
		MayMatchLess:  len(on.Matches) > 0,
	}
	fail := func(at condition, err error) {
		if err != nil && c.Err == nil {
			c.failsAt, c.Err = at, err
		}
	}
	if _, err := matchResource(on.GroupResource, "pods"); !errors.Is(err, errResultUnknown) {
		fail(onResource, wrapFieldError("groupResource", err))
	}
	var err error
	c.regex, err = regexp.Compile(on.ResourceNameRegex)
	fail(onName, wrapFieldError("resourceNameRegex", err))
	if on.LabelSelector != nil {
		selector, err := metav1.LabelSelectorAsSelector(on.LabelSelector)
		fail(onLabels, wrapFieldError("labelSelector", err))
		if err == nil {
			c.selector, c.Selector = selector, selector.String()
		}
	}
	if len(r.Patches)+len(r.MergePatches)+len(r.StrategicPatches) == 0 {
		fail(onPatches, errors.New("it has no patches"))
	}
}

func wrapFieldError(field string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", field, err)
}

// AddItem compares an item of the backup with the rules. namespace is the one in the backup: Velero applies the rules
// before it maps namespaces. itemLabels returns false for labels that are unknown; such an item counts as matched.
func (c *Coverage) AddItem(
	resource, namespace, name string,
	restored bool,
	itemLabels func() (map[string]string, bool),
) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range c.Rules {
		if c.stepsLeft--; c.stepsLeft < 0 {
			c.Incomplete = true
			return
		}
		c.Rules[i].addItem(resource, namespace, name, restored, itemLabels)
	}
}

func (c *RuleCoverage) addItem(
	resource, namespace, name string,
	restored bool,
	itemLabels func() (map[string]string, bool),
) {
	if c.Restored > 0 && c.Err == nil && len(c.rule.StrategicPatches) == 0 {
		return // enough is known
	}
	namespaces := c.rule.namespaces
	inNamespace := namespace == "" || namespaces.Matches(namespace) || len(namespaces.CostlyPatterns()) > 0
	fails := func(at condition) bool {
		if c.failsAt != at {
			return false
		}
		if inNamespace && restored {
			c.Failed++
		}
		return true
	}
	if fails(onResource) {
		return
	}
	m, known := c.resource[resource]
	if !known {
		m.matched, m.err = matchResource(c.GroupResource, resource)
		c.resource[resource] = m
	}
	if !m.matched && m.err == nil {
		return
	}
	c.InResource++
	c.noteNamespace(namespace)
	if !inNamespace {
		return
	}
	if c.InNamespace++; fails(onName) || !c.regex.MatchString(name) {
		return
	}
	if c.Named++; fails(onLabels) {
		return
	}
	if !c.selector.Empty() {
		if set, known := itemLabels(); known && !c.selector.Matches(labels.Set(set)) {
			return
		}
	}
	if c.Matched++; fails(onPatches) || !restored {
		return
	}
	if c.Restored++; len(c.rule.StrategicPatches) > 0 && !takesStrategicPatches(resource) {
		c.Unpatchable = resource
		c.Failed++
	}
}

func (c *RuleCoverage) noteNamespace(namespace string) {
	n := len(c.SourceNamespaces) // items come sorted by namespace within a resource
	if namespace != "" && n < maxSourceNamespaces && (n == 0 || c.SourceNamespaces[n-1] != namespace) {
		c.SourceNamespaces = append(c.SourceNamespaces, namespace)
	}
}
