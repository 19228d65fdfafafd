package assess

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/veltui/veltui/internal/assess/coverage"
	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/velero"
	"github.com/veltui/veltui/internal/velero/veleroapi"
	"github.com/veltui/veltui/watch"
)

// staleCoverageAge is how old a reading may be before its age is mentioned.
const staleCoverageAge = 5 * time.Minute

// deliberateReasons are the reasons that mean that somebody decided to keep something out of backups.
var deliberateReasons = []coverage.Reason{
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

// NeedsCoverage reports whether the finding with a key is known only after coverage was read.
func NeedsCoverage(key string) bool {
	return strings.HasPrefix(key, "/namespace/") || strings.Contains(key, " "+CopyAtRisk.String()+" ")
}

// addCoverage adds what the last reading says about namespaces. A namespace is one finding; its page names what is in
// it.
func (l *findingBuilder) addCoverage() {
	if l.Coverage == nil || l.Coverage.Result == nil {
		return
	}
	result, asOf := l.Coverage.Result, ""
	if age := l.World.Now.Sub(result.At); age >= staleCoverageAge {
		asOf = "As of " + l.World.Style.Duration(age) + " ago: "
	}
	for i := range result.Namespaces {
		n := &result.Namespaces[i]
		if len(n.Claims)+len(n.Workloads) == 0 || n.Reason.IsMinor() ||
			n.State == coverage.CoveredWithWarning && l.findScheduleCause(n, asOf).addAffected("namespace/"+n.Name) {
			continue
		}
		f := Finding{Kind: "namespace", Name: n.Name, Tab: TabCoverage, Severity: Warning, Reason: CopyAtRisk}
		switch n.State {
		case coverage.Unprotected:
			if f.Reason = NamespaceUnprotected; !slices.Contains(deliberateReasons, n.Reason) {
				f.Severity = Critical
			}
		case coverage.CoveredWithWarning:
		default:
			continue
		}
		f.Summary = asOf + human.Capitalize(n.Sentence)
		l.addFinding(f)
	}
}

// lateReasons and stoppedReasons concern the runs of a schedule, and thus everything that it includes, or included
// until it stopped.
var (
	lateReasons    = []coverage.Reason{coverage.TooOld, coverage.ExpiresFirst, coverage.BackupFailed}
	stoppedReasons = []coverage.Reason{coverage.SchedulePaused, coverage.ScheduleInvalid, coverage.BackupsRefused}
)

// findScheduleCause returns the finding about the schedule whose runs, or lack of runs, put a namespace's copies at
// risk; nil for none. A schedule that has stopped and has no finding gets one.
func (l *findingBuilder) findScheduleCause(n *coverage.Namespace, asOf string) *Finding {
	name, stops := n.Schedule, slices.Contains(stoppedReasons, n.Reason)
	if stops {
		name = n.RuleSchedule
	}
	if !stops && !slices.Contains(lateReasons, n.Reason) {
		return nil
	}
	about := func(f *Finding) bool {
		return f.Kind == "schedule" && f.Name == name || slices.Contains(f.Affects, "schedule/"+name)
	}
	if i := slices.IndexFunc(l.findings, about); i >= 0 {
		return l.findings[i]
	}
	all := l.Snapshot.Schedules
	if i := slices.IndexFunc(all, func(s *veleroapi.Schedule) bool { return stops && s.Name == name }); i >= 0 {
		return l.addObjectFinding(
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

// CoverageSchedules returns the schedules with what coverage needs to know about them.
func (a *Assessment) CoverageSchedules() []*coverage.Schedule {
	var all []*coverage.Schedule
	for _, s := range a.JudgeSchedules() {
		c := &coverage.Schedule{
			Schedule:      s.Schedule,
			NextRun:       s.NextRun,
			RunAfter:      s.timetable.NextAfter,
			RefusalReason: a.refusalReason(s.Spec.Template.StorageLocation),
		}
		if last := s.LastEnded(); last != nil {
			c.LastEndedRunStart = last.BeganAt()
		} else if len(s.Runs) == 0 && s.Status.LastBackup != nil { // its runs are deleted
			c.LastEndedRunStart = s.Status.LastBackup.Time
		}
		if last := s.Status.LastBackup; last != nil && !slices.ContainsFunc(s.Runs, func(r *job.Job) bool {
			return !r.Created.Before(last.Add(-lastBackupTolerance))
		}) {
			c.LastRunGone = last.Time
		}
		switch long := nameTooLongText(s.Name); {
		case long != "":
			c.InvalidReason = long
		case s.State == ScheduleNotValid:
			c.InvalidReason = "Velero rejected the schedule" + strings.TrimSuffix(
				": "+strings.Join(s.Status.ValidationErrors, "; "),
				": ",
			)
		case s.NextRunErr != nil:
			c.InvalidReason = fmt.Sprintf("its next run is not known: %v", s.NextRunErr)
		}
		all = append(all, c)
	}
	return all
}

// lastBackupTolerance is how much earlier a run may be created than status.lastBackup says: Velero's clock sets that,
// and the API server's the creation.
const lastBackupTolerance = time.Minute

// RestoreEnds returns when restores ended, by name; zero for restores in progress.
func (a *Assessment) RestoreEnds() map[string]time.Time {
	ends := map[string]time.Time{}
	for _, j := range a.Snapshot.Jobs {
		if j.Kind == job.Restore {
			ends[j.Name] = j.Completed
		}
	}
	return ends
}

// CopyRules returns the rules by which a backup counts as a copy, whoever made it. What was not read is unknown.
func (a *Assessment) CopyRules() velero.CopyRules {
	c := velero.CopyRules{
		Now:              a.World.Now,
		DeletionRequests: velero.GroupRequestsByBackup(a.Snapshot.DeleteRequests),
		LocationPhases:   map[string]veleroapi.BackupStorageLocationPhase{},
	}
	for name, l := range a.World.Locations {
		c.LocationPhases[name] = veleroapi.BackupStorageLocationPhase(l.Phase)
	}
	if a.IsUnchecked(watch.DeleteRequests) || a.sourceState(watch.DeleteRequests) == "" {
		c.DeletionRequestsUnchecked = watch.DeleteRequests + " were not read"
	}
	if a.IsUnchecked(watch.StorageLocations) || a.sourceState(watch.StorageLocations) == "" {
		c.LocationsUnchecked = watch.StorageLocations + " were not read"
	}
	return c
}

// SortedBackups returns the Backups, the one that began last first.
func (a *Assessment) SortedBackups() []*veleroapi.Backup {
	var all []*veleroapi.Backup
	for _, j := range a.Snapshot.Jobs {
		if b, ok := j.Object.(*veleroapi.Backup); ok && j.Kind == job.Backup {
			all = append(all, b)
		}
	}
	slices.SortStableFunc(all, func(x, y *veleroapi.Backup) int {
		return cmp.Compare(coverage.BackupStart(y).UnixNano(), coverage.BackupStart(x).UnixNano())
	})
	return all
}
