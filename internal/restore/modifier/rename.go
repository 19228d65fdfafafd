package modifier

import (
	"encoding/json"
	"errors"
	"regexp"
	"strings"

	jsonpatch "github.com/evanphx/json-patch/v5"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/yaml"
)

// namePath is the field that holds the name of an object.
const namePath = "/metadata/name"

// MayRename reports whether a rule that may apply to a resource writes the names of objects.
func (r *Rules) MayRename(resource string) bool {
	for i := range r.Rules {
		matched, err := matchResource(r.Rules[i].Conditions.GroupResource, resource)
		if (matched || errors.Is(err, errResultUnknown)) && r.Rules[i].touchesName() {
			return true
		}
	}
	return false
}

// Rename returns the name that the rules give an item of a backup; namespace and name are those in the backup. known
// is false where the body of the item decides.
func (r *Rules) Rename(
	resource, namespace, name string,
	itemLabels func() (map[string]string, bool),
) (renamed string, known bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	renamed = name
	for i := range r.Rules {
		rule := &r.Rules[i]
		if !rule.touchesName() {
			continue
		}
		matched, sure := rule.matchesName(resource, namespace, name, itemLabels)
		if !matched && sure {
			continue
		}
		to, fixed := rule.fixedName()
		if !matched || !sure || !fixed {
			return name, false
		}
		renamed = to
	}
	return renamed, true
}

// matchesName reports whether an item meets the conditions of a rule; sure is false where its body decides.
func (r *rule) matchesName(
	resource, namespace, name string,
	itemLabels func() (map[string]string, bool),
) (matched, sure bool) {
	c := &r.Conditions
	if len(r.namespaces.CostlyPatterns()) > 0 {
		return false, false
	}
	if namespace != "" && !r.namespaces.Matches(namespace) {
		return false, true
	}
	if matched, err := matchResource(c.GroupResource, resource); !matched {
		return false, !errors.Is(err, errResultUnknown)
	}
	if matched, err := regexp.MatchString(c.ResourceNameRegex, name); !matched || err != nil {
		return false, true
	}
	if c.LabelSelector != nil {
		selector, err := metav1.LabelSelectorAsSelector(c.LabelSelector)
		if err != nil {
			return false, true
		}
		set, known := itemLabels()
		if !known {
			return false, false
		}
		if !selector.Matches(labels.Set(set)) {
			return false, true
		}
	}
	return true, len(c.Matches) == 0
}

// touchesName reports whether the patches of a rule write the name of an object, or an object around the name.
func (r *rule) touchesName() bool {
	for _, p := range r.Patches {
		switch strings.ToLower(p.Operation) {
		case "test":
			continue
		case "move":
			if isAroundName(p.From) {
				return true
			}
		}
		if isAroundName(p.Path) {
			return true
		}
	}
	for _, data := range append(r.MergePatches, r.StrategicPatches...) {
		if _, touches := data.readName(); touches {
			return true
		}
	}
	return false
}

// isAroundName reports whether a JSON pointer leads to the name of an object, or to what holds the name.
func isAroundName(path string) bool { return path == "/metadata" || path == namePath || path == "" }

// fixedName returns the name that a rule writes whatever an item holds; false if the item decides.
func (r *rule) fixedName() (name string, fixed bool) {
	for _, p := range r.Patches {
		operation := strings.ToLower(p.Operation)
		if p.Path != namePath || operation != "replace" && operation != "add" {
			return "", false // another patch may fail, and then none of the rule's is applied
		}
		if json.Unmarshal([]byte(quoteValue(p.Value)), &name) != nil {
			return "", false
		}
		fixed = true
	}
	for _, data := range append(r.MergePatches, r.StrategicPatches...) {
		if to, touches := data.readName(); touches {
			name, fixed = to, to != ""
		}
	}
	return name, fixed && name != ""
}

// readName returns the name that a merge patch writes; touches is true also where the patch writes none and removes
// the name.
func (p patchData) readName() (name string, touches bool) {
	text, err := yaml.YAMLToJSON([]byte(p.PatchData))
	if err != nil {
		return "", false // Velero has an error, and leaves the item as it is
	}
	var patch struct {
		Metadata json.RawMessage `json:"metadata"`
	}
	if json.Unmarshal(text, &patch) != nil || len(patch.Metadata) == 0 {
		return "", false
	}
	merged, err := jsonpatch.MergePatch([]byte(`{"name":""}`), patch.Metadata)
	if err != nil {
		return "", true
	}
	var metadata struct {
		Name *string `json:"name"`
	}
	if json.Unmarshal(merged, &metadata) != nil || metadata.Name == nil {
		return "", true
	}
	return *metadata.Name, *metadata.Name != ""
}
