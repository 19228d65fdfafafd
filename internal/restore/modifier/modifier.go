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
	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/yaml"

	"github.com/veltui/veltui/internal/glob"
)

// Rules are the rules of one resource modifier. They may be used by several goroutines.
type Rules struct {
	mu      sync.Mutex // of the filters
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

// Name returns the name of the ConfigMap that applies to a restore: its own, or the server's default.
func Name(r velerov1.RestoreSpec, byDefault string) string {
	if r.ResourceModifier != nil {
		return r.ResourceModifier.Name
	}
	return byDefault
}

// globSteps is how many steps the wildcards of all namespaces get, and maxWildcards how many those of a
// resource may be.
const globSteps, maxWildcards = 1 << 24, 4

// Parse reads the data of a ConfigMap. Its error is why Velero refuses a restore with it (resource_modifiers.go,
// GetResourceModifiersFromConfig, and resource_modifiers_validator.go, 1.14 to 1.18).
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
	budget := &glob.Budget{Left: globSteps}
	for i := range r.Rules {
		if err := r.Rules[i].validate(); err != nil {
			return nil, err
		}
		r.Rules[i].namespaces = glob.NewFilter(r.Rules[i].Conditions.Namespaces, nil, budget)
	}
	return r, nil
}

func (r *rule) validate() error {
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

// errUnknown is what veltui cannot tell.
var errUnknown = errors.New("veltui cannot tell what the resource modifier makes of it")

// Apply changes o in place. Errors are those that Velero reports of the item; it restores it all the same, as the
// other rules make it (pkg/restore/restore.go, restoreItem). unsure is why veltui cannot tell what the rules make of
// it, empty if it can.
func (r *Rules) Apply(resource string, o *unstructured.Unstructured) (errs []error, unsure string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	original := o
	if len(r.Rules) > 1 { // conditions go by the object before any rule
		original = o.DeepCopy()
	}
	for i := range r.Rules {
		matched, err := r.Rules[i].match(resource, original)
		if matched {
			err = r.Rules[i].patch(o)
		}
		if errors.Is(err, errUnknown) {
			return errs, err.Error()
		} else if err != nil {
			errs = append(errs, err)
		}
	}
	return errs, ""
}

// match goes by the conditions. A path that is not there matches nothing; in 1.14 it was an error of the item.
func (r *rule) match(resource string, o *unstructured.Unstructured) (bool, error) {
	c := &r.Conditions
	if namespace := o.GetNamespace(); namespace != "" && !r.namespaces.Takes(namespace) {
		return false, nil
	}
	if len(r.namespaces.Beyond()) > 0 {
		return false, fmt.Errorf("%w: too many wildcards", errUnknown)
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
	_, err := applyJSON(tests, o)
	if errors.Is(err, jsonpatch.ErrTestFailed) || errors.Is(err, jsonpatch.ErrMissing) {
		return false, nil
	}
	return err == nil, err
}

// matchResource matches with wildcards that stop at dots.
func matchResource(pattern, resource string) (matched bool, err error) {
	if strings.Count(pattern, "*")+strings.Count(pattern, "{") > maxWildcards {
		return false, fmt.Errorf("%w: too many wildcards", errUnknown)
	}
	defer func() {
		if recover() != nil { // the library indexes beyond its slices
			matched, err = false, errUnknown
		}
	}()
	compiled, err := gobwas.Compile(pattern, '.')
	return err == nil && compiled.Match(resource), err
}

// Touches reports whether a rule may change items of a resource.
func (r *Rules) Touches(resource string) bool {
	return slices.ContainsFunc(r.Rules, func(one rule) bool {
		matched, err := matchResource(one.Conditions.GroupResource, resource)
		return matched || err != nil
	})
}
