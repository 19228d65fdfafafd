package modifier

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	jsonpatch "github.com/evanphx/json-patch/v5"
	gobwas "github.com/gobwas/glob"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/yaml"

	"github.com/veltui/veltui/internal/glob"
	"github.com/veltui/veltui/internal/velero/veleroapi"
)

// Rules are the rules of one resource modifier. They may be used by several goroutines.
type Rules struct {
	mu      sync.Mutex // guards the filters
	Version string     `json:"version"`
	Rules   []rule     `json:"resourceModifierRules"`
}

type rule struct {
	Conditions struct {
		Namespaces        []string              `json:"namespaces"`
		GroupResource     string                `json:"groupResource"`
		ResourceNameRegex string                `json:"resourceNameRegex"`
		LabelSelector     *metav1.LabelSelector `json:"labelSelector"`
		Matches           []struct {
			Path  string `json:"path"`
			Value string `json:"value"`
		} `json:"matches"`
	} `json:"conditions"`
	Patches          []jsonPatch `json:"patches"`
	MergePatches     []patchData `json:"mergePatches"`
	StrategicPatches []patchData `json:"strategicPatches"`

	namespaces *glob.Filter
}

// ConfigMapName returns the name of the ConfigMap that applies to a restore: its own, or the server's default.
func ConfigMapName(r veleroapi.RestoreSpec, byDefault string) string {
	if r.ResourceModifier != nil {
		return r.ResourceModifier.Name
	}
	return byDefault
}

// maxGlobSteps is the number of steps that the wildcards of all namespaces may take together; maxWildcards is how many
// wildcards a resource may have.
const maxGlobSteps, maxWildcards = 1 << 24, 4

// Parse reads the data of a ConfigMap. Its error is Velero's reason to refuse a restore with that ConfigMap
// (resource_modifiers.go, GetResourceModifiersFromConfig, and resource_modifiers_validator.go, 1.14 to 1.18).
func Parse(data map[string]string) (*Rules, error) {
	if len(data) != 1 {
		return nil, fmt.Errorf("it must have one key, and has %d", len(data))
	}
	r := &Rules{}
	for _, text := range data {
		if err := yaml.UnmarshalStrict([]byte(text), r); err != nil {
			return nil, fmt.Errorf("reading its YAML: %w", err)
		}
	}
	if !strings.EqualFold(r.Version, "v1") {
		return nil, fmt.Errorf("its version is %q, and Velero reads v1", r.Version)
	}
	if len(r.Rules) == 0 {
		return nil, errors.New("it has no rules")
	}
	budget := &glob.Budget{StepsLeft: maxGlobSteps}
	for i := range r.Rules {
		if err := r.Rules[i].checkRule(); err != nil {
			return nil, err
		}
		r.Rules[i].namespaces = glob.NewFilter(r.Rules[i].Conditions.Namespaces, nil, budget)
	}
	return r, nil
}

func (r *rule) checkRule() error {
	if r.Conditions.GroupResource == "" {
		return errors.New("a rule has no groupResource")
	}
	if min(len(r.Patches), 1)+min(len(r.MergePatches), 1)+min(len(r.StrategicPatches), 1) > 1 {
		return errors.New("a rule has more than one kind of patches")
	}
	for _, p := range r.Patches {
		if !slices.Contains(
			[]string{"add", "remove", "replace", "test", "move", "copy"},
			strings.ToLower(p.Operation),
		) {
			return fmt.Errorf("no patch has the operation %q", p.Operation)
		}
		if p.Path == "" {
			return errors.New("a patch has no path")
		}
	}
	return nil
}

// errResultUnknown marks errors about rules whose result veltui cannot tell.
var errResultUnknown = errors.New("veltui cannot tell what the resource modifier makes of it")

// Apply changes o in place. errs are the errors that Velero reports for the item; Velero still restores the item, as
// the other rules change it (pkg/restore/restore.go, restoreItem). unsure says why veltui cannot tell the result of
// the rules, empty if it can.
func (r *Rules) Apply(resource string, o *unstructured.Unstructured) (errs []error, unsure string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	original := o
	if len(r.Rules) > 1 { // conditions are checked against the object before any rule
		original = o.DeepCopy()
	}
	for i := range r.Rules {
		matched, err := r.Rules[i].matchesItem(resource, original)
		if matched {
			err = r.Rules[i].applyPatches(o)
		}
		if errors.Is(err, errResultUnknown) {
			return errs, err.Error()
		} else if err != nil {
			errs = append(errs, err)
		}
	}
	return errs, ""
}

// matchesItem reports whether an item meets the rule's conditions. A missing path matches nothing; in 1.14 it was an
// error of the item.
func (r *rule) matchesItem(resource string, o *unstructured.Unstructured) (bool, error) {
	c := &r.Conditions
	if namespace := o.GetNamespace(); namespace != "" && !r.namespaces.Matches(namespace) {
		return false, nil
	}
	if len(r.namespaces.CostlyPatterns()) > 0 {
		return false, fmt.Errorf("%w: too many wildcards", errResultUnknown)
	}
	if matched, err := matchResource(c.GroupResource, resource); !matched {
		return false, err
	}
	if matched, err := regexp.MatchString(c.ResourceNameRegex, o.GetName()); !matched {
		return false, err
	}
	if c.LabelSelector != nil {
		selector, err := metav1.LabelSelectorAsSelector(c.LabelSelector)
		if err != nil || !selector.Matches(labels.Set(o.GetLabels())) {
			return false, err
		}
	}
	var tests []jsonPatch
	for _, m := range c.Matches {
		if m.Path == "" {
			return false, errors.New("a match has no path")
		}
		tests = append(tests, jsonPatch{Operation: "test", Path: m.Path, Value: m.Value})
	}
	if len(tests) == 0 {
		return true, nil
	}
	_, err := applyJSONPatches(tests, o)
	if errors.Is(err, jsonpatch.ErrTestFailed) || errors.Is(err, jsonpatch.ErrMissing) {
		return false, nil
	}
	return err == nil, err
}

// matchResource reports whether a resource matches a pattern whose wildcards stop at dots.
func matchResource(pattern, resource string) (matched bool, err error) {
	if strings.Count(pattern, "*")+strings.Count(pattern, "{") > maxWildcards {
		return false, fmt.Errorf("%w: too many wildcards", errResultUnknown)
	}
	defer func() {
		if recover() != nil { // the library indexes beyond its slices
			matched, err = false, errResultUnknown
		}
	}()
	compiled, err := gobwas.Compile(pattern, '.')
	return err == nil && compiled.Match(resource), err
}

// MayChange reports whether a rule may change items of a resource.
func (r *Rules) MayChange(resource string) bool {
	return slices.ContainsFunc(r.Rules, func(one rule) bool {
		matched, err := matchResource(one.Conditions.GroupResource, resource)
		return matched || err != nil
	})
}
