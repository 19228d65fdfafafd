package cmd

import (
	"encoding/csv"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/pflag"
	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// restoreFilters are those flags of `velero restore create` that decide what
// is restored, spelled and read as Velero does (pkg/cmd/cli/restore/create.go
// and pkg/cmd/util/flag).
type restoreFilters struct {
	includeNamespaces, excludeNamespaces listFlag
	includeResources, excludeResources   listFlag
	mappings                             mapFlag
	selector                             selectorFlag
	orSelector                           orSelectorFlag
	clusterResources, volumes            boolFlag
	policies                             string
}

func (f *restoreFilters) addTo(flags *pflag.FlagSet) {
	flags.Var(&f.includeNamespaces, "include-namespaces", "Namespaces to restore, by their names in the backup ('*' for all)")
	flags.Var(&f.excludeNamespaces, "exclude-namespaces", "Namespaces not to restore")
	flags.Var(&f.includeResources, "include-resources", "Resources to restore, such as deployments.apps ('*' for all)")
	flags.Var(&f.excludeResources, "exclude-resources", "Resources not to restore")
	flags.Var(&f.mappings, "namespace-mappings", "New names for namespaces in the target: src1:dst1,src2:dst2,...")
	flags.VarP(&f.selector, "selector", "l", "Restore only items that match this label selector")
	flags.Var(&f.orSelector, "or-selector", "Restore items that match any of these label selectors, separated by ' or '")
	flags.VarPF(&f.clusterResources, "include-cluster-resources", "", "Restore cluster-scoped resources").NoOptDefVal = "true"
	flags.VarPF(&f.volumes, "restore-volumes", "", "Restore volumes from snapshots").NoOptDefVal = "true"
	flags.StringVar(&f.policies, "resource-policies-configmap", "", "ConfigMap with the restore's resource policies (not read: the items it excludes are counted)")
}

// apply puts what was given into spec; what was not stays as it is there.
func (f *restoreFilters) apply(spec *velerov1.RestoreSpec) error {
	if f.selector.LabelSelector != nil && f.orSelector != nil {
		return usagef("use either --selector or --or-selector, not both")
	}
	for _, list := range []struct {
		given listFlag
		field *[]string
	}{
		{f.includeNamespaces, &spec.IncludedNamespaces},
		{f.excludeNamespaces, &spec.ExcludedNamespaces},
		{f.includeResources, &spec.IncludedResources},
		{f.excludeResources, &spec.ExcludedResources},
	} {
		if list.given != nil {
			*list.field = list.given
		}
	}
	if f.mappings != nil {
		spec.NamespaceMapping = f.mappings
	}
	if f.selector.LabelSelector != nil {
		spec.LabelSelector = f.selector.LabelSelector
	}
	if f.orSelector != nil {
		spec.OrLabelSelectors = f.orSelector
	}
	if f.clusterResources.value != nil {
		spec.IncludeClusterResources = f.clusterResources.value
	}
	if f.volumes.value != nil {
		spec.RestorePVs = f.volumes.value
	}
	if f.policies != "" {
		spec.ResourcePolicy = &corev1.TypedLocalObjectReference{Kind: "configmap", Name: f.policies}
	}
	return nil
}

// listFlag is words with commas between. Given again it replaces them.
type listFlag []string

func (l *listFlag) String() string { return strings.Join(*l, ",") }
func (l *listFlag) Type() string   { return "stringArray" }
func (l *listFlag) Set(s string) error {
	*l = strings.Split(s, ",")
	return nil
}

// mapFlag is pairs with a colon inside and commas between, read as a line of
// CSV. Given again it adds to them.
type mapFlag map[string]string

func (m *mapFlag) String() string {
	var pairs []string
	for key, value := range *m {
		pairs = append(pairs, key+":"+value)
	}
	return strings.Join(pairs, ",")
}
func (m *mapFlag) Type() string { return "mapStringString" }
func (m *mapFlag) Set(s string) error {
	pairs, err := csv.NewReader(strings.NewReader(s)).Read()
	if err != nil {
		return fmt.Errorf("parsing %q: %w", s, err)
	}
	if *m == nil {
		*m = mapFlag{}
	}
	for _, pair := range pairs {
		key, value, found := strings.Cut(pair, ":")
		if !found {
			return fmt.Errorf("%q: expected src:dst", pair)
		}
		(*m)[key] = value
	}
	return nil
}

// boolFlag is true, false or, if nil, not given.
type boolFlag struct{ value *bool }

func (b *boolFlag) String() string {
	if b.value == nil {
		return ""
	}
	return strconv.FormatBool(*b.value)
}
func (b *boolFlag) Type() string { return "optionalBool" }
func (b *boolFlag) Set(s string) error {
	if s == "" {
		b.value = nil
		return nil
	}
	value, err := strconv.ParseBool(s)
	if err != nil {
		return err
	}
	b.value = &value
	return nil
}

type selectorFlag struct{ *metav1.LabelSelector }

func (l *selectorFlag) String() string {
	if l.LabelSelector == nil {
		return ""
	}
	return metav1.FormatLabelSelector(l.LabelSelector)
}
func (l *selectorFlag) Type() string { return "labelSelector" }
func (l *selectorFlag) Set(s string) (err error) {
	l.LabelSelector, err = metav1.ParseToLabelSelector(s)
	return err
}

type orSelectorFlag []*metav1.LabelSelector

func (o *orSelectorFlag) String() string {
	var all []string
	for _, selector := range *o {
		all = append(all, metav1.FormatLabelSelector(selector))
	}
	return strings.Join(all, " or ")
}
func (o *orSelectorFlag) Type() string { return "orLabelSelector" }
func (o *orSelectorFlag) Set(s string) error {
	*o = orSelectorFlag{}
	for word := range strings.SplitSeq(s, " or ") {
		selector, err := metav1.ParseToLabelSelector(word)
		if err != nil {
			return err
		}
		*o = append(*o, selector)
	}
	return nil
}
