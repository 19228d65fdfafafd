package restorespec

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/veltui/veltui/collector"
	"github.com/veltui/veltui/internal/glob"
	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/velero"
	"github.com/veltui/veltui/internal/velero/veleroapi"
)

// Item is an object of a backup. Resource is its plural and group, such as "deployments.apps".
type Item struct{ Resource, Namespace, Name string }

func (i Item) String() string { return i.Resource + "/" + human.Namespaced(i.Namespace, i.Name) }

// ParseItem reads RESOURCE/NAMESPACE/NAME, or RESOURCE/NAME for an item without a namespace.
func ParseItem(text string) (Item, error) {
	parts := strings.Split(strings.TrimSpace(text), "/")
	if len(parts) == 2 {
		parts = []string{parts[0], "", parts[1]}
	}
	if len(parts) != 3 || parts[0] == "" || parts[2] == "" {
		return Item{}, errExpected(text, "RESOURCE/NAMESPACE/NAME, or RESOURCE/NAME without a namespace")
	}
	return Item{strings.ToLower(parts[0]), parts[1], parts[2]}, nil
}

// emptySelector returns a selector that selects nothing: a key cannot be both present and absent. It applies to what
// the policy does not list; a server that reads no policy restores nothing.
func emptySelector() *metav1.LabelSelector {
	const key = "veltui.io/selected"
	return &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
		{Key: key, Operator: metav1.LabelSelectorOpExists}, {Key: key, Operator: metav1.LabelSelectorOpDoesNotExist},
	}}
}

// SelectsListedItems reports whether a restore's selector is the one that selects nothing, because a policy lists the
// items.
func SelectsListedItems(spec veleroapi.RestoreSpec) bool {
	return spec.LabelSelector != nil && reflect.DeepEqual(spec.LabelSelector, emptySelector())
}

// SelectItems makes the draft restore exactly these items, and what Velero's plugins add to them: additional items
// pass the filters of kinds and namespaces, but not selectors and policies (pkg/restore/restore.go restoreItem,
// 1.18.3).
func (d *Draft) SelectItems(items []Item) error {
	for _, i := range items {
		if slices.Contains(collector.NonRestorable(), i.Resource) {
			return fmt.Errorf("velero never restores %s", i.Resource)
		}
	}
	s := &d.Restore.Spec
	s.IncludedNamespaces, s.ExcludedNamespaces, s.IncludedResources, s.ExcludedResources = nil, nil, nil, nil
	s.IncludeClusterResources, s.ResourcePolicy, s.OrLabelSelectors, s.LabelSelector = nil, nil, nil, emptySelector()
	d.Selected = slices.Clone(items)
	return nil
}

// BuildPolicy returns the resource policy that selects the items, nil if none are selected.
func (d *Draft) BuildPolicy() *velero.FilterPolicy {
	if len(d.Selected) == 0 {
		return nil
	}
	items := slices.Clone(d.Selected)
	slices.SortFunc(items, func(a, b Item) int {
		return cmp.Or(
			strings.Compare(a.Namespace, b.Namespace),
			strings.Compare(a.Resource, b.Resource),
			strings.Compare(a.Name, b.Name),
		)
	})
	p := &velero.FilterPolicy{Version: velero.PolicyVersion}
	var filters *[]velero.ObjectFilter
	for n, i := range slices.Compact(items) {
		switch {
		case n > 0 && i.Namespace == items[n-1].Namespace:
		case i.Namespace == "":
			p.Cluster = &velero.ClusterFilters{}
			filters = &p.Cluster.Filters
		default:
			p.Namespaced = append(p.Namespaced, velero.NamespaceFilters{Namespaces: []string{i.Namespace}})
			filters = &p.Namespaced[len(p.Namespaced)-1].Filters
		}
		if last := len(*filters) - 1; last < 0 || (*filters)[last].Kinds[0] != i.Resource {
			*filters = append(*filters, velero.ObjectFilter{Kinds: []string{i.Resource}})
		}
		f := &(*filters)[len(*filters)-1]
		f.Names = append(f.Names, glob.Quote(i.Name)) // names of roles may contain wildcards
	}
	return p
}

// PolicyName returns the name of the ConfigMap that holds the selection of a Restore.
func PolicyName(restore string) string { return "veltui-" + restore }

// SelectionLabel marks the ConfigMaps that hold the selection of a Restore.
const SelectionLabel = "veltui.io/selection"

// ConfigMap returns the ConfigMap with the policy, nil without a policy. The policy is JSON, in which every name is
// quoted.
func (d *Draft) ConfigMap(namespace string) *unstructured.Unstructured {
	p := d.BuildPolicy()
	if p == nil {
		return nil
	}
	data, _ := json.MarshalIndent(p, "", " ") // none of its types fails
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1",
		"kind":       "ConfigMap",
		"data":       map[string]any{"policy": string(data)},
		"metadata": map[string]any{
			"name":      PolicyName(d.Restore.Name),
			"namespace": namespace,
			"labels":    map[string]any{SelectionLabel: "true"},
		},
	}}
}

// selectionAnnotation is the annotation that lists what a Restore selects: its ConfigMap is deleted once Velero has
// read it. maxSelectionBytes is the most bytes that it may have; all annotations together may have 256 KiB.
const selectionAnnotation, maxSelectionBytes = "selection.veltui.io/items", 128 << 10

func (d *Draft) buildAnnotations() map[string]string {
	var names []string
	for _, i := range d.Selected {
		names = append(names, i.String())
	}
	text, _ := json.Marshal(names) // a string never fails
	notes := map[string]string{}
	maps.Copy(notes, d.Restore.Annotations)
	if delete(notes, selectionAnnotation); len(names) > 0 && len(text) <= maxSelectionBytes {
		notes[selectionAnnotation] = string(text)
	}
	return notes
}

// SelectedItems returns the items that a restore of veltui's selects, nil if it does not select items or does not
// list them.
func SelectedItems(of any) (items []Item) {
	var names []string
	r, ok := of.(*veleroapi.Restore)
	if !ok || r.Spec.ResourcePolicy == nil || r.Spec.ResourcePolicy.Name != PolicyName(r.Name) ||
		json.Unmarshal([]byte(r.Annotations[selectionAnnotation]), &names) != nil {
		return nil
	}
	for _, name := range names {
		i, err := ParseItem(name)
		if err != nil {
			return nil
		}
		items = append(items, i)
	}
	return items
}

func (d *Draft) policyReference() *corev1.TypedLocalObjectReference {
	if len(d.Selected) == 0 {
		return d.Restore.Spec.ResourcePolicy
	}
	return &corev1.TypedLocalObjectReference{Kind: "configmap", Name: PolicyName(d.Restore.Name)}
}

// DescribeSelection says what a restore of the selected items restores besides them, and which of them it leaves out;
// nothing if none are selected, or if their fates are unknown.
func (d *Draft) DescribeSelection(fates *collector.Fates) (sentences []string, err error) {
	if len(d.Selected) == 0 || fates == nil {
		return nil, nil
	}
	missing := map[string]bool{}
	for _, i := range d.Selected {
		missing[i.String()] = true
	}
	names := slices.Sorted(maps.Keys(missing))
	sentences = append(
		sentences,
		fmt.Sprintf(
			"Of the backup, %s selected: %s.",
			human.CountForms(len(names), "item is", "items are"),
			human.JoinNames(names, 5),
		),
	)
	var added []string
	err = fates.EachItem(func(i collector.Item) {
		if i.Fate != collector.ToRestore {
			return
		}
		name := Item{i.Resource, i.Namespace, i.Name}.String()
		if !missing[name] {
			added = append(added, name)
		}
		delete(missing, name)
	})
	if len(added) > 0 {
		sentences = append(
			sentences,
			fmt.Sprintf("Velero adds %s: %s.", human.Count(len(added), "item"), human.JoinNames(added, 5)),
		)
	}
	if lost := slices.Sorted(maps.Keys(missing)); len(lost) > 0 {
		sentences = append(
			sentences,
			fmt.Sprintf(
				"Of what is selected, the restore leaves out %s: %s.",
				human.Count(len(lost), "item"),
				human.JoinNames(lost, 5),
			),
		)
	}
	return sentences, err
}
