package preflight

import (
	"cmp"
	"fmt"
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
	Names    []string `json:"names,omitempty"`
	Count    int      `json:"count"` // Count is how many items it is about.
	Sentence string   `json:"sentence"`
	Remedy   string   `json:"remedy,omitempty"` // Remedy is what you can do, empty where nothing needs to be done.
}

// NotLooked is something that could not be looked at. It is never a no.
type NotLooked struct {
	What string `json:"what"`
	// Resource and Namespace are what could not be listed; they are empty where it is
	// something else, and Namespace for the whole cluster.
	Resource  string `json:"resource,omitempty"`
	Namespace string `json:"namespace,omitempty"`
	Why       string `json:"why"`
}

// Admission is what was not looked at without a dry run.
const Admission = "admission: webhooks, policies, Pod Security, schemas, names of namespaces, priority and " +
	"runtime classes"

// Result is what a preflight found.
type Result struct {
	Items     *int // how many items the restore would try to restore, nil if that could not be found out
	Findings  []Finding
	NotLooked []NotLooked
	Existing  []Existing       // what Velero does with each object that exists, if that was compared
	DryRun    *DryRun          // what the API server answered, if it was asked
	Fates     *collector.Fates // what becomes of the backup's items, nil if that could not be found out
}

// MatchesNothing reports whether the restore is known to restore nothing.
func (r *Result) MatchesNothing() bool { return r.Items != nil && *r.Items == 0 }

// Count is how many findings have a severity.
func (r *Result) Count(s Severity) (n int) {
	for _, f := range r.Findings {
		if f.Severity == s {
			n++
		}
	}
	return n
}

const maxNames = 5

var order = map[Severity]int{Obstacle: 0, Doubt: 1, Note: 2}

// sorted puts the worst first.
func sorted(findings []Finding) []Finding {
	slices.SortStableFunc(findings, func(x, y Finding) int {
		return cmp.Or(order[x.Severity]-order[y.Severity], strings.Compare(string(x.Reason), string(y.Reason)),
			strings.Compare(x.Resource, y.Resource), strings.Compare(x.Namespace, y.Namespace))
	})
	return findings
}

// group is items of one sort.
type group struct {
	count int
	names []string
	// space is the namespace of all; several is true where there are more.
	space   string
	several bool
	reasons map[string]int // reasons count the items by what is said of them
}

func (g *group) because(reasons ...string) {
	if g.reasons == nil {
		g.reasons = map[string]int{}
	}
	for _, reason := range reasons {
		g.reasons[reason]++
	}
}

func (g *group) why(separator string) string {
	return strings.Join(slices.Sorted(maps.Keys(g.reasons)), separator)
}

func (g *group) add(namespace, name string) {
	if g.count++; g.count == 1 {
		g.space = namespace
	}
	g.several = g.several || g.space != namespace
	if len(g.names) < maxNames {
		g.names = append(g.names, human.Namespaced(namespace, name))
	}
}

func (g *group) fill(f Finding) Finding {
	f.Count, f.Names = g.count, g.names
	if !g.several {
		f.Namespace = g.space
		for i, name := range f.Names {
			f.Names[i] = strings.TrimPrefix(name, g.space+"/")
		}
	}
	return f
}

type groups map[string]*group

func (g *groups) add(key, namespace, name string) *group {
	if *g == nil {
		*g = groups{}
	}
	if (*g)[key] == nil {
		(*g)[key] = &group{}
	}
	(*g)[key].add(namespace, name)
	return (*g)[key]
}

// sorted goes through the groups in the order of their keys.
func (g groups) sorted() iter.Seq2[string, *group] {
	return func(yield func(string, *group) bool) {
		for _, key := range slices.Sorted(maps.Keys(g)) {
			if !yield(key, g[key]) {
				return
			}
		}
	}
}

// Consequences are what was found of a restore, as lines of its plan: a summary, and the first obstacles.
// Asked is true if the API server was asked in a dry run, whole if nothing was left out.
func Consequences(items *int, findings []Finding, asked, whole bool) (lines []string) {
	what := "an unknown number of items"
	if items != nil {
		what = human.Count(*items, "item")
	}
	counts := map[Severity]int{}
	for _, f := range findings {
		if counts[f.Severity]++; f.Severity == Obstacle && counts[Obstacle] <= 5 {
			lines = append(lines, "meet an obstacle: "+strings.TrimSuffix(f.Sentence, "."))
		}
	}
	text := fmt.Sprintf(
		"try to restore %s: preflight found %s and %s",
		what,
		human.Count(counts[Obstacle], "obstacle"),
		human.Count(counts[Doubt], "doubt"),
	)
	if !asked {
		text += ", without a dry run"
	}
	if !whole {
		text += ", and could not look at everything"
	}
	return append([]string{text}, lines...)
}
