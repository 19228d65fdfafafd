package collector

import (
	"fmt"
	"slices"
	"strings"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"

	"github.com/veltui/veltui/internal/velero"
)

// RestoreSpec is the question that Estimate answers.
type RestoreSpec struct {
	Restore  velerov1.RestoreSpec
	Policy   *velero.FilterPolicy // what spec.resourcePolicy names, nil if it was not read
	Existing Namespaces           // the namespaces of the target: one that a restore makes counts as an item
	Server   Server               // how the Velero server was set up. Its zero value is 1.18.3 with its defaults.
}

// Namespaces are those that exist in the target cluster.
type Namespaces struct {
	All   bool // every namespace exists
	Known bool // Names are all there are; otherwise Estimate states what it assumes
	Names []string
}

// everyCluster are the namespaces that each Kubernetes cluster makes itself.
var everyCluster = []string{"default", "kube-node-lease", "kube-public", "kube-system"}

// ParseNamespaces reads what a user gives: "*" for all, or names with commas between, to which the
// four come that every cluster has. Empty means that nothing is known but those four.
func ParseNamespaces(list string) Namespaces {
	if strings.TrimSpace(list) == "*" {
		return Namespaces{All: true, Known: true}
	}
	n := Namespaces{Names: slices.Clone(everyCluster)}
	for name := range strings.SplitSeq(list, ",") {
		if name = strings.TrimSpace(name); name != "" {
			n.Known = true
			n.Names = append(n.Names, name)
		}
	}
	return n
}

func (n Namespaces) set() map[string]bool {
	if !n.Known {
		return setOf(slices.Concat(n.Names, everyCluster))
	}
	return setOf(n.Names)
}

// Server is what a Velero server does that its version and flags decide.
type Server struct {
	Version    [3]int      // major, minor and patch; zero is unknown and taken for 1.18.3, as Estimate notes
	Tag        string      // what was given as the version, for what Estimate says of one that is not known
	Priorities *Priorities // --restore-resource-priorities; nil means the default
	// CSI says whether the feature flag EnableCSI is set. Nil means that it is deduced from the
	// backup: claims that name their snapshot were backed up with it.
	CSI *bool
}

// Priorities is the order in which resources are restored: High, then all others by name, then Low.
type Priorities struct{ High, Low []string }

// DefaultPriorities are those of Velero 1.17 and later (pkg/cmd/server/config/config.go).
func DefaultPriorities() Priorities {
	return Priorities{
		High: []string{
			"customresourcedefinitions", "namespaces", "storageclasses",
			"volumesnapshotclass.snapshot.storage.k8s.io", "volumesnapshotcontents.snapshot.storage.k8s.io",
			"volumesnapshots.snapshot.storage.k8s.io", "datauploads.velero.io", "persistentvolumes",
			"persistentvolumeclaims", "clusterroles", "roles", "serviceaccounts", "clusterrolebindings",
			"rolebindings", "secrets", "configmaps", "limitranges", "priorityclasses", "pods", "replicasets.apps",
			"clusterclasses.cluster.x-k8s.io", "endpoints", "services",
		},
		Low: []string{
			"clusterbootstraps.run.tanzu.vmware.com", "clusters.cluster.x-k8s.io",
			"clusterresourcesets.addons.cluster.x-k8s.io", "apps.kappctrl.k14s.io",
			"packageinstalls.packaging.carvel.dev",
		},
	}
}

// ParsePriorities reads the value of --restore-resource-priorities: names with commas between, and a "-" before
// the low ones. What it leaves out keeps its default, as in Velero (pkg/types/priority.go).
func ParsePriorities(value string) (Priorities, error) {
	p := DefaultPriorities()
	if value == "" {
		return p, nil
	}
	words := strings.Split(value, ",")
	dash := slices.Index(words, "-")
	if dash < 0 {
		p.High = words
		return p, nil
	}
	if slices.Contains(words[dash+1:], "-") {
		return Priorities{}, fmt.Errorf("resource priorities %q: more than one %q", value, "-")
	}
	if dash > 0 {
		p.High = words[:dash]
	}
	if dash+1 < len(words) {
		p.Low = words[dash+1:]
	}
	return p, nil
}

type version [3]int

// currentVersion stands in for a version that is not known.
var currentVersion = version{1, 18, 3}

func (v version) String() string { return fmt.Sprintf("%d.%d.%d", v[0], v[1], v[2]) }

func (v version) before(major, minor, patch int) bool {
	return slices.Compare(v[:], []int{major, minor, patch}) < 0
}

// priorities are a version's defaults: before 1.17 roles, bindings and priority classes come with all others, by
// name, before 1.15 the packages of kapp too (pkg/cmd/server/config/config.go; in 1.14 pkg/cmd/server/server.go).
func (v version) priorities() Priorities {
	p := DefaultPriorities()
	without := func(words []string, later ...string) []string {
		return slices.DeleteFunc(words, func(word string) bool { return slices.Contains(later, word) })
	}
	if v.before(1, 17, 0) {
		p.High = without(p.High, "clusterroles", "roles", "clusterrolebindings", "rolebindings", "priorityclasses")
	}
	if v.before(1, 15, 0) {
		p.Low = without(p.Low, "apps.kappctrl.k14s.io", "packageinstalls.packaging.carvel.dev")
	}
	return p
}

// mustHave are resources that pass the resource, namespace and label filters
// of every restore (pkg/restore/restore.go, resourceMustHave).
func (v version) mustHave() []string {
	switch {
	case v.before(1, 12, 0):
		return nil
	case v.before(1, 16, 1) || !v.before(1, 18, 3):
		return []string{dirDataUploads}
	default:
		return []string{dirDataUploads, dirContents}
	}
}

// expandsNamespaces says whether patterns in the namespace lists are replaced by the namespaces they match
// before anything else is done. Of the releases only 1.18.0 does it in a restore (pkg/util/wildcard/expand.go).
func (v version) expandsNamespaces() bool { return v == version{1, 18, 0} }

// forcesSnapshots: a claim's snapshot and its content are restored even if the filters exclude them.
func (v version) forcesSnapshots() bool { return !v.before(1, 18, 3) }

// readsPolicies: a restore's resource policy is read (pkg/apis/velero/v1/restore_types.go, ResourcePolicy).
func (v version) readsPolicies() bool { return velero.Version(v).ReadsRestorePolicies() }

// Refusals says why Velero's validation would fail a Restore, as far as the spec alone shows it
// (pkg/controller/restore_controller.go, validateAndComplete).
func Refusals(spec velerov1.RestoreSpec) (reasons []string) {
	included := setOf(spec.IncludedResources)
	for _, word := range nonRestorable {
		if included[word] {
			reasons = append(reasons, fmt.Sprintf("%s cannot be restored.", word))
		}
	}
	excludes := slices.Concat(spec.ExcludedResources, nonRestorable)
	reasons = append(reasons, listRefusals("resources", spec.IncludedResources, excludes)...)
	reasons = append(reasons, listRefusals("namespaces", spec.IncludedNamespaces, spec.ExcludedNamespaces)...)
	if spec.OrLabelSelectors != nil && spec.LabelSelector != nil {
		reasons = append(reasons, "labelSelector and orLabelSelectors cannot both be given.")
	}
	return reasons
}

func listRefusals(what string, includes, excludes []string) (reasons []string) {
	if slices.Contains(includes, "*") && slices.ContainsFunc(includes, func(s string) bool { return s != "*" }) {
		reasons = append(reasons, fmt.Sprintf("The included %s hold \"*\" and something else.", what))
	}
	if slices.Contains(excludes, "*") {
		reasons = append(reasons, fmt.Sprintf("The excluded %s hold \"*\".", what))
	}
	included := setOf(includes)
	var both []string
	for _, word := range slices.Compact(slices.Sorted(slices.Values(excludes))) {
		if included[word] {
			both = append(both, word)
		}
	}
	if len(both) > 0 {
		reasons = append(reasons, fmt.Sprintf("Both included and excluded: %s %s.", what, someOf(both)))
	}
	return reasons
}

func setOf(words []string) map[string]bool {
	set := make(map[string]bool, len(words))
	for _, word := range words {
		set[word] = true
	}
	return set
}
