package assess

import (
	"slices"
	"strings"
	"time"

	"github.com/veltui/veltui/assess/coverage"
	"github.com/veltui/veltui/internal/human"
)

// staleCoverage is how old a reading may be before its age is said.
const staleCoverage = 5 * time.Minute

// chosen are the reasons by which somebody decided that something is in no backup.
var chosen = []coverage.Reason{coverage.NamespaceTerminating, coverage.BeingDeleted, coverage.OptedOut, coverage.PolicySkips, coverage.PolicyFilter, coverage.LabelExcluded, coverage.NamespaceLabelled, coverage.NamespaceExcluded, coverage.KindExcluded}

// NeedsCoverage reports whether the finding with a key is known only once coverage was read.
func NeedsCoverage(key string) bool { return strings.HasPrefix(key, "/namespace/") }

// addCoverage adds what the last reading says of namespaces. A namespace is one finding; its page names what is in it.
func (l *attention) addCoverage() {
	if l.Coverage == nil || l.Coverage.Result == nil {
		return
	}
	result := l.Coverage.Result
	for i := range result.Namespaces {
		n := &result.Namespaces[i]
		if len(n.Claims)+len(n.Workloads) == 0 || n.Reason.Minor() || n.State == coverage.Warned && l.aboutSchedule(n.Schedule, n.Reason).causes("namespace/"+n.Name) {
			continue
		}
		f := Finding{Kind: "namespace", Name: n.Name, In: InCoverage, Severity: Warning, Reason: CopyAtRisk}
		switch n.State {
		case coverage.Unprotected:
			if f.Reason = NamespaceUnprotected; !slices.Contains(chosen, n.Reason) {
				f.Severity = Critical
			}
		case coverage.Warned:
		default:
			continue
		}
		if age := l.Environment.Now.Sub(result.At); age >= staleCoverage {
			f.Summary = "As of " + l.Environment.Style.Duration(age) + " ago: "
		}
		f.Summary += human.Capital(n.Sentence)
		l.add(f)
	}
}

// aboutSchedule is the finding about the runs of a schedule that makes copies too old, or late, for that reason; nil for none.
func (l *attention) aboutSchedule(name string, why coverage.Reason) *Finding {
	late := []coverage.Reason{coverage.TooOld, coverage.ExpiresFirst, coverage.BackupFailed}
	i := slices.IndexFunc(l.found, func(f *Finding) bool { return f.In == InSchedules && f.Name == name && f.Kind == "schedule" })
	if i < 0 || !slices.Contains(late, why) {
		return nil
	}
	return l.found[i]
}
