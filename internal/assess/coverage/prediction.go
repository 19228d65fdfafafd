package coverage

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/veltui/veltui/internal/velero"
)

// Prediction is what the next backup of a schedule takes, sorted; Unknown are those that cannot be decided.
type Prediction struct {
	Schedule   string   `json:"schedule"`
	Namespaces []string `json:"namespaces"`
	// Claims and Workloads are as NAMESPACE/NAME, Workloads by kind. Data are the claims whose data is taken.
	Claims    []string            `json:"claims"`
	Data      []string            `json:"data"`
	Workloads map[string][]string `json:"workloads"`
	Unknown   []string            `json:"unknown"`
	// Refused is why there is no next backup.
	Refused string `json:"refused,omitempty"`
}

// List is some of what a backup takes, in words.
type List struct {
	Title string
	Items []string
}

// Lists are all that it takes, and what is unknown.
func (p Prediction) Lists() []List {
	claims := slices.Clone(p.Claims)
	for i, name := range claims {
		if !slices.Contains(p.Data, name) {
			claims[i] += ", without its data"
		}
	}
	lists := []List{{"Namespaces", p.Namespaces}, {"Claims", claims}}
	for _, kind := range slices.Sorted(maps.Keys(p.Workloads)) {
		lists = append(lists, List{kind + "s", p.Workloads[kind]})
	}
	return append(lists, List{"Unknown", p.Unknown})
}

// Predict returns what the next backup of a schedule takes.
func Predict(c *Cluster, s *Schedule) Prediction {
	p := newPlan(newIndex(c), s)
	out := Prediction{
		Schedule:   s.Name,
		Namespaces: []string{},
		Claims:     []string{},
		Data:       []string{},
		Workloads:  map[string][]string{},
		Unknown:    []string{},
		Refused:    p.refused.Why,
	}
	add := func(list []string, what, name string, v Verdict) []string {
		switch v.Answer {
		case Yes:
			return append(list, name)
		case Unknown:
			out.Unknown = append(out.Unknown, what+" "+name+": "+v.Why)
		}
		return list
	}
	for name, n := range c.Objects[Namespaces] {
		out.Namespaces = add(out.Namespaces, "namespace", name, p.namespaceItself(n))
	}
	for name, claim := range c.Objects[Claims] {
		v := p.object(Claims, claim)
		out.Claims = add(out.Claims, "claim", name, v)
		if v.Answer == Yes {
			out.Data = add(out.Data, "data of claim", name, p.data(claim.(*corev1.PersistentVolumeClaim)))
		}
	}
	for _, resource := range append([]string{Pods}, Workloads...) {
		var list []string
		for name, o := range c.Objects[resource] {
			if !owned(o) {
				list = add(list, kinds[resource], name, p.object(resource, o))
			}
		}
		if len(list) > 0 {
			out.Workloads[kinds[resource]] = list
		}
	}
	out.Unknown = append(out.Unknown, c.unread()...)
	workloads := slices.Collect(maps.Values(out.Workloads))
	for _, list := range append(workloads, out.Namespaces, out.Claims, out.Data, out.Unknown) {
		slices.Sort(list)
	}
	return out
}

// Selects returns the selectors of a schedule and the resources in which what they select decides which namespaces
// its next backup takes; nothing where that is known without.
func Selects(c *Cluster, s *Schedule) (selectors, resources []string) {
	p := newPlan(newIndex(c), s)
	if !p.everywhere() || p.refused.Answer != "" || len(p.policy.Namespaced) > 0 {
		return nil, nil
	}
	for _, selector := range p.selectors {
		if velero.HasConditions(selector) {
			selectors = append(selectors, metav1.FormatLabelSelector(selector))
		}
	}
	for _, r := range c.Kinds.Resources {
		if resource := r.GroupResource(); r.Namespaced && p.kind(resource).Answer == Yes {
			resources = append(resources, resource)
		}
	}
	return selectors, resources
}
