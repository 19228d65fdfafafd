package collector

import (
	"fmt"
	"slices"
	"strings"

	"github.com/veltui/veltui/internal/velero"
	"github.com/veltui/veltui/internal/velero/veleroapi"
)

// RestoreInput is the input of Estimate.
type RestoreInput struct {
	Restore veleroapi.RestoreSpec
	Policy  *velero.FilterPolicy // the policy that spec.resourcePolicy names, nil if it was not read
	// the target's namespaces: a namespace that the restore creates counts as an item
	ExistingNamespaces TargetNamespaces
	Server             VeleroServer // the Velero server's setup; the zero value is 1.18.3 with its defaults
}

// TargetNamespaces are the namespaces that exist in the target cluster.
type TargetNamespaces struct {
	AllExist   bool // every namespace exists
	IsComplete bool // Names lists them all; otherwise Estimate states what it assumes
	Names      []string
}

// defaultNamespaces are the namespaces that every Kubernetes cluster creates itself.
var defaultNamespaces = []string{"default", "kube-node-lease", "kube-public", "kube-system"}

// ParseNamespaces parses user input: "*" for all, or comma-separated names, to which it adds the four namespaces that
// every cluster has. Empty means that only these four are known.
func ParseNamespaces(list string) TargetNamespaces {
	if strings.TrimSpace(list) == "*" {
		return TargetNamespaces{AllExist: true, IsComplete: true}
	}
	n := TargetNamespaces{Names: slices.Clone(defaultNamespaces)}
	for name := range strings.SplitSeq(list, ",") {
		if name = strings.TrimSpace(name); name != "" {
			n.IsComplete = true
			n.Names = append(n.Names, name)
		}
	}
	return n
}

func (n TargetNamespaces) nameSet() map[string]bool {
	if !n.IsComplete {
		return setOf(slices.Concat(n.Names, defaultNamespaces))
	}
	return setOf(n.Names)
}

// VeleroServer describes a Velero server by its version and flags.
type VeleroServer struct {
	// Version is major, minor and patch; zero is unknown and counts as 1.18.3, which Estimate notes as an assumption
	Version    [3]int
	Tag        string      // the version as given, for Estimate's note on an unknown version
	Priorities *Priorities // --restore-resource-priorities; nil means the default
	// CSIEnabled tells whether the feature flag EnableCSI is set. If nil, it is deduced from the backup: claims that name
	// their snapshot were backed up with the flag.
	CSIEnabled *bool
}

// Priorities is the order in which resources are restored: High, then all others by name, then Low.
type Priorities struct{ High, Low []string }

// DefaultPriorities returns the priorities of Velero 1.17 and later (pkg/cmd/server/config/config.go).
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

// ParsePriorities parses the value of --restore-resource-priorities: comma-separated names, with a "-" before the low
// ones. A missing part keeps its default, as in Velero (pkg/types/priority.go).
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

// currentVersion stands in for an unknown version.
var currentVersion = version{1, 18, 3}

func (v version) String() string { return fmt.Sprintf("%d.%d.%d", v[0], v[1], v[2]) }

func (v version) isBefore(major, minor, patch int) bool {
	return slices.Compare(v[:], []int{major, minor, patch}) < 0
}

// defaultPriorities returns a version's default priorities: before 1.17 roles, bindings and priority classes come
// among the other resources, by name; before 1.15 kapp's packages do, too (pkg/cmd/server/config/config.go; in 1.14
// pkg/cmd/server/server.go).
func (v version) defaultPriorities() Priorities {
	p := DefaultPriorities()
	without := func(words []string, later ...string) []string {
		return slices.DeleteFunc(words, func(word string) bool { return slices.Contains(later, word) })
	}
	if v.isBefore(1, 17, 0) {
		p.High = without(p.High, "clusterroles", "roles", "clusterrolebindings", "rolebindings", "priorityclasses")
	}
	if v.isBefore(1, 15, 0) {
		p.Low = without(p.Low, "apps.kappctrl.k14s.io", "packageinstalls.packaging.carvel.dev")
	}
	return p
}

// mustHaveResources returns the resources that pass the resource, namespace and label filters of every restore
// (pkg/restore/restore.go, resourceMustHave).
func (v version) mustHaveResources() []string {
	switch {
	case v.isBefore(1, 12, 0):
		return nil
	case v.isBefore(1, 16, 1) || !v.isBefore(1, 18, 3):
		return []string{dirDataUploads}
	default:
		return []string{dirDataUploads, dirContents}
	}
}

// expandsNamespaces reports whether the patterns in the namespace lists are first replaced by the namespaces they
// match. Only release 1.18.0 does so in a restore (pkg/util/wildcard/expand.go).
func (v version) expandsNamespaces() bool { return v == version{1, 18, 0} }

// forcesSnapshots reports whether a claim's snapshot and its content are restored even if the filters exclude them.
func (v version) forcesSnapshots() bool { return !v.isBefore(1, 18, 3) }

// readsPolicies reports whether a restore's resource policy is read (pkg/apis/velero/v1/restore_types.go,
// ResourcePolicy).
func (v version) readsPolicies() bool { return velero.Version(v).ReadsRestorePolicies() }

// RefusalReasons returns the reasons why Velero's validation would fail a Restore, as far as the spec alone shows them
// (pkg/controller/restore_controller.go, validateAndComplete).
func RefusalReasons(spec veleroapi.RestoreSpec) (reasons []string) {
	included := setOf(spec.IncludedResources)
	for _, word := range nonRestorable {
		if included[word] {
			reasons = append(reasons, fmt.Sprintf("%s cannot be restored.", word))
		}
	}
	excludes := slices.Concat(spec.ExcludedResources, nonRestorable)
	reasons = append(reasons, listFilterRefusals("resources", spec.IncludedResources, excludes)...)
	reasons = append(reasons, listFilterRefusals("namespaces", spec.IncludedNamespaces, spec.ExcludedNamespaces)...)
	if spec.OrLabelSelectors != nil && spec.LabelSelector != nil {
		reasons = append(reasons, "labelSelector and orLabelSelectors cannot both be given.")
	}
	return reasons
}

func listFilterRefusals(what string, includes, excludes []string) (reasons []string) {
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
		reasons = append(reasons, fmt.Sprintf("Both included and excluded: %s %s.", what, joinSome(both)))
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
