package preflight

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/veltui/veltui/collector"
	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/restore/live"
)

const (
	runtimeClasses  = "runtimeclasses.node.k8s.io"
	priorityClasses = "priorityclasses.scheduling.k8s.io"
)

// referencedResources are the resources of the objects that pods need to start, by need.
var referencedResources = map[collector.NeedKind]string{
	collector.NeedServiceAccount: serviceAccounts,
	collector.NeedPullSecret:     secrets,
	collector.NeedSecret:         secrets,
	collector.NeedConfigMap:      live.ConfigMaps,
	collector.NeedClaim:          claims,
	collector.NeedRuntimeClass:   runtimeClasses,
	collector.NeedPriorityClass:  priorityClasses,
}

// reference is an object that pods need to start.
type reference struct{ resource, namespace, name string }

// referenceOf returns the object that an item needs, if the need is one of an object.
func referenceOf(i collector.Item, n collector.Need) (r reference, found bool) {
	resource, found := referencedResources[n.Kind]
	r = reference{resource, i.TargetNamespace, n.Name}
	if resource == runtimeClasses || resource == priorityClasses {
		r.namespace = ""
	}
	return r, found
}

// targetOf returns the place of an item in the target.
func targetOf(i collector.Item) reference { return reference{i.Resource, i.TargetNamespace, i.Name} }

// addReferences adds the objects to a query that the restored items need and the restore does not bring.
func addReferences(q *live.Query, fates *collector.Fates) error {
	wanted := map[reference]bool{}
	err := fates.EachItemNeeds(func(i collector.Item, needs []collector.Need) {
		for _, n := range needs {
			if r, found := referenceOf(i, n); found {
				wanted[r] = true
			}
		}
	})
	if err != nil || len(wanted) == 0 {
		return err
	}
	err = fates.EachItem(func(i collector.Item) {
		if isRestored(i) {
			delete(wanted, targetOf(i))
		}
	})
	for r := range wanted {
		q.AddItem(r.resource, r.namespace, r.name)
	}
	return err
}

// madeNeeds is what pods and claims need that Kubernetes makes later.
type madeNeeds struct {
	classes      groups // classes of claims, by class and resource of the items
	defaultClass group
	references   map[reference]*group // the items that need an object
	pullSecrets  map[reference]*group // the items that name a pull secret
}

func newMadeNeeds() *madeNeeds {
	return &madeNeeds{references: map[reference]*group{}, pullSecrets: map[reference]*group{}}
}

// collectMade collects what an item needs once it is restored. The API server itself looks up the account and the
// classes of a pod: where a dry run has asked, its answer counts.
func (c *checker) collectMade(s *storageNeeds, m *madeNeeds, i collector.Item, needs []collector.Need) {
	answered := i.Resource == pods && c.isAnswered(i.Resource, i.TargetNamespace, i.Name)
	for _, n := range needs {
		switch n.Kind {
		case collector.NeedMadeClass:
			class := n.Name
			if c.Environment != nil && i.Resource == statefulSets && n.Amount == 0 { // prepare.changeStorageClass
				if to := c.Environment.StorageClassMap[class]; to != "" {
					if _, there := c.Environment.StorageClasses[to]; !c.isAvailable(live.StorageClasses, to, there) {
						s.changedTemplates.addItem(class+" to "+to, i.TargetNamespace, i.Name)
						continue
					}
					class = to
				}
			}
			m.classes.addItem(class, i.TargetNamespace, i.Name)
			continue
		case collector.NeedMadeDefaultClass:
			m.defaultClass.addItem(i.TargetNamespace, i.Name)
			continue
		case collector.NeedServiceAccount, collector.NeedRuntimeClass, collector.NeedPriorityClass:
			if answered {
				continue
			}
		}
		if r, found := referenceOf(i, n); found {
			to := m.references
			if n.Kind == collector.NeedPullSecret {
				to = m.pullSecrets
			}
			if to[r] == nil {
				to[r] = &group{}
			}
			to[r].addItem(i.TargetNamespace, i.Name)
		}
	}
}

// hasStorageClass reports whether the target has a storage class, or the restore brings it.
func (c *checker) hasStorageClass(name string) bool {
	_, there := c.Environment.StorageClasses[name]
	return c.isAvailable(live.StorageClasses, name, there)
}

// hasDefaultClass reports whether the target has a default storage class, or the restore brings one.
func (c *checker) hasDefaultClass() bool {
	return c.bringsDefaultClass || slices.Contains(slices.Collect(maps.Values(c.Environment.StorageClasses)), true)
}

// checkMade finds what the pods and claims lack that Kubernetes makes later.
func (c *checker) checkMade(m *madeNeeds) error {
	a := c.Environment
	if a.WasChecked(live.StorageClasses, "") {
		for class, g := range m.classes.sortedByKey() {
			if c.hasStorageClass(class) {
				continue
			}
			c.addFinding(g.fillFinding(Finding{
				Severity: Doubt,
				Reason:   StorageClassMissing,
				Resource: claims,
				Sentence: fmt.Sprintf("Storage class %s does not exist, and the claim templates of %s name it. Each claim "+
					"made of them stays Pending, and its pod with it.", class, human.Count(g.count, "item")),
				Remedy: "Create the class, or change it in the template with a resource modifier.",
			}))
		}
		if m.defaultClass.count > 0 && !c.hasDefaultClass() {
			c.addFinding(m.defaultClass.fillFinding(Finding{
				Severity: Doubt,
				Reason:   DefaultClassMissing,
				Resource: claims,
				Sentence: fmt.Sprintf("The claim templates of %s name no class, and the cluster has no default one. Each "+
					"claim made of them stays Pending, and its pod with it.", human.Count(m.defaultClass.count, "item")),
				Remedy: "Mark a storage class as the default (annotation storageclass.kubernetes.io/is-default-class: \"true\").",
			}))
		}
	}
	if err := c.checkReferences(m.references, "Without them, the pods do not start."); err != nil {
		return err
	}
	return c.checkReferences(m.pullSecrets, pullText)
}

// pullText says what pods without their pull secrets do (k8s.io/kubernetes/pkg/kubelet/kubelet_pods.go,
// getPullSecretsForPod).
const pullText = "They are pull secrets: pods whose images need them do not start, others do."

// checkReferences finds the objects that pods need, and that neither exist nor come; then says what becomes of the
// pods.
func (c *checker) checkReferences(references map[reference]*group, then string) error {
	if c.State == nil || len(references) == 0 {
		return nil
	}
	err := c.Fates.EachItem(func(i collector.Item) {
		if isRestored(i) {
			delete(references, targetOf(i))
		}
	})
	missing := groups{}
	for _, r := range slices.SortedFunc(maps.Keys(references), compareReferences) {
		if _, seen := c.State.FindItem(r.resource, r.namespace, r.name); seen != live.Absent {
			continue
		}
		key := r.resource + " " + r.namespace
		if missing[key] == nil {
			missing[key] = &group{}
		}
		missing[key].addGroup(references[r])
		missing[key].addReasons(r.name)
	}
	for key, g := range missing.sortedByKey() {
		resource, _, _ := strings.Cut(key, " ")
		c.addFinding(g.fillFinding(Finding{
			Severity: Doubt,
			Reason:   ReferencesMissing,
			Resource: resource,
			Sentence: fmt.Sprintf("Pods of %s name objects of %s that neither exist nor are restored: %s. %s",
				human.Count(g.count, "item"), resource, human.Shorten(g.joinReasons(", "), 300), then),
			Remedy: "Restore them, too, or make sure that something else makes them.",
		}))
	}
	return err
}

func compareReferences(a, b reference) int {
	return cmp.Or(
		strings.Compare(a.resource, b.resource),
		strings.Compare(a.namespace, b.namespace),
		strings.Compare(a.name, b.name),
	)
}
