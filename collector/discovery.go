package collector

import (
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Resource is one kind of object that an API server serves.
type Resource struct {
	Group      string // empty for the core group
	Name       string // plural
	Singular   string
	Kind       string
	ShortNames []string
	Namespaced bool
}

// groupResource is how Velero writes a resource: plural, then the group if there is one.
func (r Resource) groupResource() string {
	if r.Group == "" {
		return r.Name
	}
	return r.Name + "." + r.Group
}

// Discovery is what the target cluster serves: the resources in the order of their groups'
// priority, the core group first. Its zero value means that the target is not known: then Estimate
// takes a plain Kubernetes with Velero's own kinds and the CRDs of the backup.
type Discovery struct {
	Resources []Resource
	// Live says that Resources come from the target cluster. A name that it does not know is then
	// taken literally, as Velero does, even if a CRD in the backup would explain it.
	Live bool
}

// LiveDiscovery makes a Discovery of what client-go's ServerPreferredResources
// returns. Like Velero (pkg/discovery/helper.go) it keeps what can be listed,
// created, got and deleted, without subresources.
func LiveDiscovery(lists []*metav1.APIResourceList) Discovery {
	d := Discovery{Live: true}
	var rest []Resource
	for _, list := range lists {
		if list == nil {
			continue
		}
		group, _, found := strings.Cut(list.GroupVersion, "/")
		if !found { // v1
			group = ""
		}
		for _, r := range list.APIResources {
			if strings.Contains(r.Name, "/") || !hasVerbs(r.Verbs) {
				continue
			}
			resource := Resource{
				Group: group, Name: r.Name, Singular: r.SingularName, Kind: r.Kind,
				ShortNames: r.ShortNames, Namespaced: r.Namespaced,
			}
			if resource.Singular == "" {
				resource.Singular = strings.ToLower(r.Kind)
			}
			if group == "" {
				d.Resources = append(d.Resources, resource)
			} else {
				rest = append(rest, resource)
			}
		}
	}
	d.Resources = append(d.Resources, rest...)
	return d
}

func hasVerbs(verbs metav1.Verbs) bool {
	return !slices.ContainsFunc([]string{"list", "create", "get", "delete"}, func(verb string) bool { return !slices.Contains(verbs, verb) })
}

// resolver finds resources by what people call them.
type resolver struct {
	resources []Resource
	named     map[string][]int // plural and singular -> resources, in their order
	short     map[string][]int
}

func newResolver(resources []Resource) *resolver {
	r := &resolver{resources: resources, named: map[string][]int{}, short: map[string][]int{}}
	for i, resource := range resources {
		r.named[resource.Name] = append(r.named[resource.Name], i)
		if resource.Singular != resource.Name {
			r.named[resource.Singular] = append(r.named[resource.Singular], i)
		}
		for _, short := range resource.ShortNames {
			r.short[short] = append(r.short[short], i)
		}
	}
	return r
}

// resolve finds the resource that a word stands for: plural or singular, with
// or without a group (of which a beginning is enough), or a short name. The
// rules are those of Velero's REST mapper (pkg/discovery/helper.go and
// client-go's restmapper): short names first, and of several the first group.
func (r *resolver) resolve(word string, w *work) (Resource, bool) {
	name, group, _ := strings.Cut(word, ".")
	name = strings.ToLower(r.expandShort(name, group, w))
	for _, i := range r.named[name] {
		if !w.filters.Spend(1) {
			break
		}
		if strings.HasPrefix(r.resources[i].Group, group) {
			return r.resources[i], true
		}
	}
	return Resource{}, false
}

// expandShort turns a short name into the plural. Short names are matched as
// they are written; an exact group goes before one that only begins so.
func (r *resolver) expandShort(name, group string, w *work) string {
	for _, exact := range []bool{true, false} {
		for _, i := range r.short[name] {
			if !w.filters.Spend(1) {
				return name
			}
			of := r.resources[i].Group
			if exact && (group == "" || of == group) || !exact && strings.HasPrefix(of, group) {
				return r.resources[i].Name
			}
		}
	}
	return name
}

func with(resources []Resource, more []definition) []Resource {
	all := resources[:len(resources):len(resources)]
	known := make(map[[2]string]bool, len(resources))
	for _, r := range resources {
		known[[2]string{r.Group, r.Name}] = true
	}
	for _, d := range more {
		if !known[[2]string{d.Resource.Group, d.Resource.Name}] {
			all = append(all, d.Resource)
		}
	}
	return all
}
