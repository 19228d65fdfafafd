package preflight

import (
	"cmp"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/veltui/veltui/collector"
	"github.com/veltui/veltui/internal/human"
)

// Severity is how bad a finding is.
type Severity string

// The severities.
const (
	Obstacle Severity = "obstacle" // without a change, something of the restore fails
	Doubt    Severity = "doubt"    // something may go wrong, or do what you do not want
	Note     Severity = "note"     // Velero treats something in a way that is good to know
)

// Reason says what was found. Reasons are API (docs/preflight.md).
type Reason string

// The reasons of findings.
const (
	Refused                 Reason = "Refused"
	FieldIgnored            Reason = "FieldIgnored"
	BackupMissing           Reason = "BackupMissing"
	BackupNotReady          Reason = "BackupNotReady"
	BackupPartiallyFailed   Reason = "BackupPartiallyFailed"
	BackupNotFinalized      Reason = "BackupNotFinalized"
	BackupExpired           Reason = "BackupExpired"
	BackupExpiresSoon       Reason = "BackupExpiresSoon"
	BackupDeleting          Reason = "BackupDeleting"
	LocationMissing         Reason = "LocationMissing"
	LocationUnavailable     Reason = "LocationUnavailable"
	ServerNotRunning        Reason = "ServerNotRunning"
	RestoresAhead           Reason = "RestoresAhead"
	ObjectsExist            Reason = "ObjectsExist"
	ObjectsPatched          Reason = "ObjectsPatched"
	ObjectsEqual            Reason = "ObjectsEqual"
	ObjectsSkipped          Reason = "ObjectsSkipped"
	PatchesRefused          Reason = "PatchesRefused"
	ObjectsTerminating      Reason = "ObjectsTerminating"
	ClaimsExist             Reason = "ClaimsExist"
	ServiceAccountsMerged   Reason = "ServiceAccountsMerged"
	VolumesExist            Reason = "VolumesExist"
	KindNotServed           Reason = "KindNotServed"
	VersionNotServed        Reason = "VersionNotServed"
	NamespaceTerminating    Reason = "NamespaceTerminating"
	GroupsSilent            Reason = "GroupsSilent"
	KindNotListable         Reason = "KindNotListable"
	ClaimsNeverBind         Reason = "ClaimsNeverBind"
	NodeAgentMissing        Reason = "NodeAgentMissing"
	SnapshotLocationMissing Reason = "SnapshotLocationMissing"
	StorageClassMissing     Reason = "StorageClassMissing"
	DefaultClassMissing     Reason = "DefaultClassMissing"
	SnapshotClassMissing    Reason = "SnapshotClassMissing"
	DriverMissing           Reason = "DriverMissing"
	QuotaExceeded           Reason = "QuotaExceeded"
	QuotaNeedsResources     Reason = "QuotaNeedsResources"
	LimitRangeViolated      Reason = "LimitRangeViolated"
	NodePortTaken           Reason = "NodePortTaken"
	PodSecurityViolated     Reason = "PodSecurityViolated"
	PluginConfigAmbiguous   Reason = "PluginConfigAmbiguous"
	VolumesEmpty            Reason = "VolumesEmpty"
	WebhookServiceMissing   Reason = "WebhookServiceMissing"
	WebhookRestoredWithout  Reason = "WebhookRestoredWithoutService"
	Rejected                Reason = "Rejected"
	DryRunCarriedOut        Reason = "DryRunCarriedOut"
	FilterMatchesNothing    Reason = "FilterMatchesNothing"
	RuleMatchesNothing      Reason = "RuleMatchesNothing"
	RuleInvalid             Reason = "RuleInvalid"
	ItemsMerged             Reason = "ItemsMerged"
	ReferencesMissing       Reason = "ReferencesMissing"
	StatusLost              Reason = "StatusLost"
)

// Finding is one thing that was found.
type Finding struct {
	Severity Severity `json:"severity"`
	Reason   Reason   `json:"reason"`
	// Resource is plural and group, as "deployments.apps"; empty where it is about no kind.
	Resource string `json:"resource,omitempty"`
	// Namespace is the one of the target; empty where it is about none, or several.
	Namespace string `json:"namespace,omitempty"`
	// Names are some of the items, as "namespace/name" where Namespace does not tell.
	Names []string `json:"names,omitempty"`
	Count int      `json:"count"` // Count is how many items it is about.
	// Kinds are the resources of the items where there are several, the most frequent first.
	Kinds []KindCount `json:"kinds,omitempty"`
	// OverwritesData is true where Velero may write over data that is in the target.
	OverwritesData bool   `json:"overwritesData,omitempty"`
	Sentence       string `json:"sentence"`
	Remedy         string `json:"remedy,omitempty"` // Remedy is what you can do, empty where nothing needs to be done.

	isClusterWide bool // the items have no namespace
}

// KindCount is the number of items of a resource.
type KindCount struct {
	Resource string `json:"resource"` // Resource is plural and group, as "deployments.apps".
	Count    int    `json:"count"`
}

// Unchecked is something that could not be looked at. It is never a no.
type Unchecked struct {
	What string `json:"what"`
	// Resource and Namespace are what could not be listed; they are empty where it is
	// something else, and Namespace for the whole cluster.
	Resource  string `json:"resource,omitempty"`
	Namespace string `json:"namespace,omitempty"`
	Why       string `json:"why"`
}

// UncheckedAdmission is what is not checked without a dry run.
const UncheckedAdmission = "admission: webhooks, policies, Pod Security, schemas, names of namespaces, priority and " +
	"runtime classes"

// Result is what a preflight found.
type Result struct {
	Items     *int // the number of items that the restore would try to restore, nil if unknown
	Findings  []Finding
	Unchecked []Unchecked
	Existing  []ExistingObject // what Velero does with each object that exists, if that was compared
	DryRun    *DryRun          // what the API server answered, if it was asked
	Fates     *collector.Fates // what becomes of the backup's items, nil if unknown
}

// MatchesNothing reports whether the restore is known to restore nothing.
func (r *Result) MatchesNothing() bool { return r.Items != nil && *r.Items == 0 }

// CountSeverity returns the number of findings with a severity.
func (r *Result) CountSeverity(s Severity) (n int) {
	for _, f := range r.Findings {
		if f.Severity == s {
			n++
		}
	}
	return n
}

const maxNames = 5

var severityOrder = map[Severity]int{Obstacle: 0, Doubt: 1, Note: 2}

// dangerOrder puts what may overwrite data before the other findings of its severity.
func dangerOrder(f Finding) int {
	if f.OverwritesData {
		return 0
	}
	return 1
}

// sortFindings sorts findings, the worst first.
func sortFindings(findings []Finding) []Finding {
	slices.SortStableFunc(findings, func(x, y Finding) int {
		return cmp.Or(
			severityOrder[x.Severity]-severityOrder[y.Severity],
			dangerOrder(x)-dangerOrder(y),
			strings.Compare(string(x.Reason), string(y.Reason)),
			strings.Compare(x.Resource, y.Resource),
			strings.Compare(x.Namespace, y.Namespace),
		)
	})
	return findings
}

// group collects items with something in common.
type group struct {
	count int
	names []string
	// namespace is the namespace of all items; multiNamespace is true if they have several.
	namespace      string
	multiNamespace bool
	reasons        map[string]int // the number of items by reason
}

func (g *group) addReasons(reasons ...string) {
	if g.reasons == nil {
		g.reasons = map[string]int{}
	}
	for _, reason := range reasons {
		g.reasons[reason]++
	}
}

func (g *group) joinReasons(separator string) string {
	return strings.Join(slices.Sorted(maps.Keys(g.reasons)), separator)
}

func (g *group) addItem(namespace, name string) {
	if g.count++; g.count == 1 {
		g.namespace = namespace
	}
	g.multiNamespace = g.multiNamespace || g.namespace != namespace
	if len(g.names) < maxNames {
		g.names = append(g.names, human.Namespaced(namespace, name))
	}
}

// addGroup adds the items of another group.
func (g *group) addGroup(other *group) {
	if g.count == 0 {
		g.namespace = other.namespace
	}
	g.count += other.count
	g.multiNamespace = g.multiNamespace || other.multiNamespace || g.namespace != other.namespace
	for _, name := range other.names {
		if len(g.names) < maxNames && !slices.Contains(g.names, name) {
			g.names = append(g.names, name)
		}
	}
}

func (g *group) fillFinding(f Finding) Finding {
	f.Count, f.Names = g.count, g.names
	if !g.multiNamespace {
		f.Namespace = g.namespace
		for i, name := range f.Names {
			f.Names[i] = strings.TrimPrefix(name, g.namespace+"/")
		}
	}
	return f
}

type groups map[string]*group

func (g *groups) addItem(key, namespace, name string) *group {
	if *g == nil {
		*g = groups{}
	}
	if (*g)[key] == nil {
		(*g)[key] = &group{}
	}
	(*g)[key].addItem(namespace, name)
	return (*g)[key]
}

// sortedByKey iterates over the groups in the order of their keys.
func (g groups) sortedByKey() iter.Seq2[string, *group] {
	return func(yield func(string, *group) bool) {
		for _, key := range slices.Sorted(maps.Keys(g)) {
			if !yield(key, g[key]) {
				return
			}
		}
	}
}
