package coverage

import (
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/veltui/veltui/internal/velero"
)

// Prediction is what the next backup of a schedule takes, sorted; Unknown are those that cannot be decided.
type Prediction struct {
	Schedule   string   `json:"schedule"`
	Namespaces []string `json:"namespaces"`
	// Claims and Workloads are as NAMESPACE/NAME, Workloads by kind. Data are the claims whose data is taken.
	Claims         []string            `json:"claims"`
	ClaimsWithData []string            `json:"data"`
	Workloads      map[string][]string `json:"workloads"`
	Undecided      []string            `json:"unknown"`
	// RefusalReason is why there is no next backup.
	RefusalReason string `json:"refused,omitempty"`
	// MissingNamespaces are the includedNamespaces that do not exist: Velero counts an error for each of them, so that
	// the backup ends PartiallyFailed (pkg/backup/item_collector.go, collectNamespaces, 1.18.3).
	MissingNamespaces []string `json:"missingNamespaces,omitempty"`
}

// ItemList is a part of what a backup includes, in words.
type ItemList struct {
	Title string
	Items []string
}

// TitledLists returns everything that the backup includes, and what is unknown.
func (p Prediction) TitledLists() []ItemList {
	claims := slices.Clone(p.Claims)
	for i, name := range claims {
		if !slices.Contains(p.ClaimsWithData, name) {
			claims[i] += ", without its data"
		}
	}
	lists := []ItemList{{"Namespaces", p.Namespaces}, {"Claims", claims}}
	for _, kind := range slices.Sorted(maps.Keys(p.Workloads)) {
		lists = append(lists, ItemList{kind + "s", p.Workloads[kind]})
	}
	if len(p.MissingNamespaces) > 0 {
		missing := slices.Clone(p.MissingNamespaces)
		for i := range missing {
			missing[i] += ": includedNamespaces names it, and it does not exist, so the run ends PartiallyFailed"
		}
		lists = append(lists, ItemList{"Missing", missing})
	}
	return append(lists, ItemList{"Unknown", p.Undecided})
}

// Predict returns what the next backup of a schedule includes.
func Predict(c *Cluster, s *Schedule) Prediction {
	p := newBackupPlan(newClusterIndex(c), s)
	out := Prediction{
		Schedule:       s.Name,
		Namespaces:     []string{},
		Claims:         []string{},
		ClaimsWithData: []string{},
		Workloads:      map[string][]string{},
		Undecided:      []string{},
		RefusalReason:  p.refusal.ReasonText,
	}
	if out.RefusalReason == "" && c.Unchecked[Namespaces] == "" {
		out.MissingNamespaces = p.missingNamespaces()
	}
	add := func(list []string, what, name string, v Verdict) []string {
		switch v.Answer {
		case Yes:
			return append(list, name)
		case Unknown:
			out.Undecided = append(out.Undecided, what+" "+name+": "+v.ReasonText)
		}
		return list
	}
	for name, n := range c.Objects[Namespaces] {
		out.Namespaces = add(out.Namespaces, "namespace", name, p.judgeNamespaceObject(n))
	}
	for name, claim := range c.Objects[Claims] {
		v := p.judgeObject(Claims, claim)
		out.Claims = add(out.Claims, "claim", name, v)
		if v.Answer == Yes {
			out.ClaimsWithData = add(
				out.ClaimsWithData,
				"data of claim",
				name,
				p.judgeData(claim.(*corev1.PersistentVolumeClaim)),
			)
		}
	}
	for _, resource := range append([]string{Pods}, Workloads...) {
		var list []string
		for name, o := range c.Objects[resource] {
			if !hasController(o) {
				list = add(list, kinds[resource], name, p.judgeObject(resource, o))
			}
		}
		if len(list) > 0 {
			out.Workloads[kinds[resource]] = list
		}
	}
	out.Undecided = append(out.Undecided, c.uncheckedTexts()...)
	workloads := slices.Collect(maps.Values(out.Workloads))
	for _, list := range append(workloads, out.Namespaces, out.Claims, out.ClaimsWithData, out.Undecided) {
		slices.Sort(list)
	}
	return out
}

// missingNamespaces returns the included namespaces that do not exist. A pattern without a match is no error, nor is a
// name that a pattern excludes (pkg/util/wildcard/expand.go, GetWildcardResult).
func (p *backupPlan) missingNamespaces() (missing []string) {
	excluded := velero.IncludeExclude{Excludes: p.spec.ExcludedNamespaces}
	for _, name := range p.spec.IncludedNamespaces {
		if excluded.Matches(name) && !strings.ContainsAny(name, "*?[") && p.Objects[Namespaces][name] == nil {
			missing = append(missing, name)
		}
	}
	slices.Sort(missing)
	return slices.Compact(missing)
}

// DecisiveSelectors returns the selectors of a schedule and the resources whose selected objects decide which
// namespaces its next backup includes; nothing if that is known without them.
func DecisiveSelectors(c *Cluster, s *Schedule) (selectors, resources []string) {
	p := newBackupPlan(newClusterIndex(c), s)
	if !p.includesEverywhere() || p.refusal.Answer != "" || len(p.policy.Namespaced) > 0 {
		return nil, nil
	}
	for _, selector := range p.selectors {
		if velero.HasConditions(selector) {
			selectors = append(selectors, metav1.FormatLabelSelector(selector))
		}
	}
	for _, r := range c.Kinds.Resources {
		if resource := r.GroupResource(); r.Namespaced && p.judgeKind(resource).Answer == Yes {
			resources = append(resources, resource)
		}
	}
	return selectors, resources
}
