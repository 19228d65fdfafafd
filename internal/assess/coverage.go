package assess

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"

	"github.com/veltui/veltui/internal/assess/coverage"
	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/velero"
	"github.com/veltui/veltui/watch"
)

// staleCoverage is how old a reading may be before its age is said.
const staleCoverage = 5 * time.Minute

// chosen are the reasons by which somebody decided that something is in no backup.
var chosen = []coverage.Reason{
	coverage.NamespaceTerminating,
	coverage.BeingDeleted,
	coverage.OptedOut,
	coverage.PolicySkips,
	coverage.PolicyFilter,
	coverage.LabelExcluded,
	coverage.NamespaceLabelled,
	coverage.NamespaceExcluded,
	coverage.KindExcluded,
}

// NeedsCoverage reports whether the finding with a key is known only once coverage was read.
func NeedsCoverage(key string) bool {
	return strings.HasPrefix(key, "/namespace/") || strings.Contains(key, " "+string(CopyAtRisk)+" ")
}

// addCoverage adds what the last reading says of namespaces. A namespace is one finding; its page names what is in it.
func (l *attention) addCoverage() {
	if l.Coverage == nil || l.Coverage.Result == nil {
		return
	}
	result, asOf := l.Coverage.Result, ""
	if age := l.Environment.Now.Sub(result.At); age >= staleCoverage {
		asOf = "As of " + l.Environment.Style.Duration(age) + " ago: "
	}
	for i := range result.Namespaces {
		n := &result.Namespaces[i]
		if len(n.Claims)+len(n.Workloads) == 0 || n.Reason.Minor() ||
			n.State == coverage.Warned && l.aboutSchedule(n, asOf).causes("namespace/"+n.Name) {
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
		f.Summary = asOf + human.Capital(n.Sentence)
		l.add(f)
	}
}

// late and stopped are the reasons that concern the runs of a schedule and thus all that it takes, or took
// until it stopped.
var (
	late    = []coverage.Reason{coverage.TooOld, coverage.ExpiresFirst, coverage.BackupFailed}
	stopped = []coverage.Reason{coverage.SchedulePaused, coverage.ScheduleInvalid, coverage.BackupsRefused}
)

// aboutSchedule is the finding about the schedule by whose runs, or by the lack of them, a namespace's copies
// are at risk; nil for none. A schedule that has stopped and is no finding becomes one.
func (l *attention) aboutSchedule(n *coverage.Namespace, asOf string) *Finding {
	name, stops := n.Schedule, slices.Contains(stopped, n.Reason)
	if stops {
		name = n.Rule
	}
	if !stops && !slices.Contains(late, n.Reason) {
		return nil
	}
	about := func(f *Finding) bool {
		return f.Kind == "schedule" && f.Name == name || slices.Contains(f.Affects, "schedule/"+name)
	}
	if i := slices.IndexFunc(l.found, about); i >= 0 {
		return l.found[i]
	}
	all := l.Snapshot.Schedules
	if i := slices.IndexFunc(all, func(s *velerov1.Schedule) bool { return stops && s.Name == name }); i >= 0 {
		return l.addOf(
			watch.Schedules,
			all[i],
			Finding{
				Severity: Warning,
				Reason:   CopyAtRisk,
				Summary:  asOf + "It makes no backups, and no other schedule takes what it took",
			},
		)
	}
	return nil
}

// CoverageSchedules are the schedules with what coverage needs of them.
func (a *Assessment) CoverageSchedules() []*coverage.Schedule {
	var all []*coverage.Schedule
	for _, s := range a.Schedules() {
		c := &coverage.Schedule{
			Schedule: s.Schedule,
			Next:     s.Next,
			After:    s.table.After,
			Refused:  a.whyRefused(s.Spec.Template.StorageLocation),
		}
		if last := s.Last(); last != nil {
			c.Last = last.Began()
		} else if len(s.Runs) == 0 && s.Status.LastBackup != nil { // its runs are deleted
			c.Last = s.Status.LastBackup.Time
		}
		switch {
		case s.State == ScheduleNotValid:
			c.Invalid = "Velero rejected the schedule" + strings.TrimSuffix(
				": "+strings.Join(s.Status.ValidationErrors, "; "),
				": ",
			)
		case s.NextErr != nil:
			c.Invalid = fmt.Sprintf("its next run is not known: %v", s.NextErr)
		}
		all = append(all, c)
	}
	return all
}

// Copies are the rules by which a backup counts as a copy, whoever made it. What was not read is unknown.
func (a *Assessment) Copies() velero.Copies {
	c := velero.Copies{
		Now:       a.Environment.Now,
		Requests:  velero.RequestsByBackup(a.Snapshot.Deletions),
		Locations: map[string]velerov1.BackupStorageLocationPhase{},
	}
	for name, l := range a.Environment.Locations {
		c.Locations[name] = velerov1.BackupStorageLocationPhase(l.Phase)
	}
	if a.Unseen(watch.Deletions) || a.sourceOf(watch.Deletions) == "" {
		c.RequestsUnknown = watch.Deletions + " were not read"
	}
	if a.Unseen(watch.Locations) || a.sourceOf(watch.Locations) == "" {
		c.LocationsUnknown = watch.Locations + " were not read"
	}
	return c
}

// Backups are the Backups, the one that began last first.
func (a *Assessment) Backups() []*velerov1.Backup {
	var all []*velerov1.Backup
	for _, j := range a.Snapshot.Jobs {
		if b, ok := j.Object.(*velerov1.Backup); ok && j.Kind == job.Backup {
			all = append(all, b)
		}
	}
	slices.SortStableFunc(all, func(x, y *velerov1.Backup) int {
		return cmp.Compare(coverage.Began(y).UnixNano(), coverage.Began(x).UnixNano())
	})
	return all
}
