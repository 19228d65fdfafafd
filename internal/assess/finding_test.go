package assess

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/veltui/veltui/internal/assess/coverage"
	"github.com/veltui/veltui/internal/etcd"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/velero/decode"
	"github.com/veltui/veltui/internal/velero/veleroapi"
	"github.com/veltui/veltui/watch"
)

// plan is a schedule that ran on time, changed.
func plan(name string, change ...func(*veleroapi.Schedule)) *veleroapi.Schedule {
	s := &veleroapi.Schedule{
		ObjectMeta: object(name, 900*time.Hour),
		Spec:       veleroapi.ScheduleSpec{Schedule: "15 * * * *"},
		Status:     veleroapi.ScheduleStatus{Phase: veleroapi.SchedulePhaseEnabled, LastBackup: before(40 * time.Minute)},
	}
	for _, c := range change {
		c(s)
	}
	return s
}

// expiring is a run of a schedule that began ago and expires in left.
func expiring(schedule string, ago, left time.Duration) *job.Job {
	j := runOf(schedule, "of-"+schedule, veleroapi.BackupPhaseCompleted, ago)
	j.Object.(*veleroapi.Backup).Status.Expiration = before(-left)
	return j
}

// runOf is a run of a schedule, by hand for "".
func runOf(schedule, name string, phase veleroapi.BackupPhase, began time.Duration) *job.Job {
	b := run(name, phase, began, time.Minute).Object.DeepCopyObject().(*veleroapi.Backup)
	b.Labels = map[string]string{veleroapi.ScheduleNameLabel: schedule}
	if phase == veleroapi.BackupPhaseFailedValidation {
		b.Status.StartTimestamp, b.Status.CompletionTimestamp, b.Status.ValidationErrors = nil, nil, []string{
			"the location is unavailable",
		}
	}
	if phase == veleroapi.BackupPhasePartiallyFailed {
		b.Status.Errors = 3
	}
	return job.Fold(nil, job.Observation{Backup: b, ObservedAt: noon})
}

func restored(name, namespace string, phase veleroapi.RestorePhase, began time.Duration) *job.Job {
	r := &veleroapi.Restore{
		ObjectMeta: object(name, began),
		Spec:       veleroapi.RestoreSpec{BackupName: "b", IncludedNamespaces: []string{namespace}},
		Status: veleroapi.RestoreStatus{
			Phase:               phase,
			StartTimestamp:      before(began),
			CompletionTimestamp: before(began - time.Minute),
		},
	}
	return job.Fold(nil, job.Observation{Restore: r, ObservedAt: noon})
}

func deletion(
	backup string,
	age time.Duration,
	phase veleroapi.DeleteBackupRequestPhase,
	errors ...string,
) *veleroapi.DeleteBackupRequest {
	return &veleroapi.DeleteBackupRequest{
		ObjectMeta: object(backup+"-x", age),
		Spec:       veleroapi.DeleteBackupRequestSpec{BackupName: backup},
		Status:     veleroapi.DeleteBackupRequestStatus{Phase: phase, Errors: errors},
	}
}

func unavailable(snap *watch.Snapshot) {
	snap.StorageLocations[0].Status = veleroapi.BackupStorageLocationStatus{
		Phase:              veleroapi.BackupStorageLocationPhaseUnavailable,
		LastValidationTime: before(time.Minute),
		LastSyncedTime: before(
			time.Minute,
		),
		Message: `BackupStorageLocation "default" is unavailable: rpc error: code = Unknown desc = the key is wrong`,
	}
}

func etcdOf(conditions map[string]string) *etcd.Cluster {
	var o etcd.Objects
	for name, condition := range conditions {
		u := &unstructured.Unstructured{
			Object: map[string]any{
				"spec": map[string]any{"pvcName": "claim"},
				"status": map[string]any{"conditions": []any{
					map[string]any{
						"type":               condition,
						"reason":             condition,
						"status":             "True",
						"lastTransitionTime": noon.Add(-time.Hour).Format(time.RFC3339),
					},
				}},
			},
		}
		u.SetName(name)
		u.SetUID(object(name, 0).UID)
		u.SetCreationTimestamp(metav1.NewTime(noon.Add(-time.Hour)))
		u.SetLabels(map[string]string{"state": "processed"})
		o.Backups = append(o.Backups, u)
	}
	return etcd.NewCluster(o, nil)
}

func listed(found []Finding) (lines []string) {
	for _, f := range found {
		line := fmt.Sprintf("%s %s %s", f.Severity, f.Reason, f.Ref())
		if f.Count > 1 {
			line += fmt.Sprintf(" x%d", f.Count)
		}
		if len(f.Affects) > 0 {
			line += " affects " + strings.Join(f.Affects, " ")
		}
		lines = append(lines, line)
	}
	return lines
}

// Each thing that needs someone is one finding, what has the same cause is part of it, and a healthy cluster has none.
func TestAttention(t *testing.T) {
	completed, partly, failed, invalid := veleroapi.BackupPhaseCompleted, veleroapi.BackupPhasePartiallyFailed, veleroapi.BackupPhaseFailed, veleroapi.BackupPhaseFailedValidation
	day := 24 * time.Hour
	for name, c := range map[string]struct {
		jobs []*job.Job // newest first
		age  time.Duration
		snap func(*watch.Snapshot)
		want []string
	}{
		"healthy": {jobs: []*job.Job{runOf("s", "b", completed, time.Hour), runOf("s", "a", completed, 2*time.Hour)}, snap: func(s *watch.Snapshot) {
			s.Schedules = []*veleroapi.Schedule{plan("s"), plan("off", func(s *veleroapi.Schedule) { s.Spec.Paused = true })}
			s.DeleteRequests = []*veleroapi.DeleteBackupRequest{deletion("gone", time.Minute, veleroapi.DeleteBackupRequestPhaseProcessed)}
		}},
		"the same failure night after night": {jobs: []*job.Job{runOf("s", "d", partly, time.Hour), runOf("s", "c", partly, day), runOf("s", "b", partly, 2*day), runOf("s", "a", completed, 3*day)},
			snap: func(s *watch.Snapshot) { s.Schedules = []*veleroapi.Schedule{plan("s")} }, want: []string{"warning FailingRepeatedly schedule/s x3"}},
		"the last run failed": {jobs: []*job.Job{runOf("s", "b", failed, time.Hour), runOf("s", "a", completed, 3*day)},
			snap: func(s *watch.Snapshot) { s.Schedules = []*veleroapi.Schedule{plan("s")} }, want: []string{"warning LastRunFailed schedule/s"}},
		"a later run went well": {jobs: []*job.Job{runOf("s", "b", completed, time.Hour), runOf("s", "a", failed, 2*time.Hour)},
			snap: func(s *watch.Snapshot) { s.Schedules = []*veleroapi.Schedule{plan("s")} }},
		"too old": {jobs: []*job.Job{runOf("s", "b", failed, time.Hour), runOf("s", "a", completed, 3*day)}, age: day,
			snap: func(s *watch.Snapshot) { s.Schedules = []*veleroapi.Schedule{plan("s")} }, want: []string{"critical BackupTooOld schedule/s"}},
		"rejected, late, forgotten": {jobs: []*job.Job{runOf("late", "l", completed, 3*time.Hour)}, snap: func(s *watch.Snapshot) {
			s.Schedules = []*veleroapi.Schedule{
				plan("bad", func(s *veleroapi.Schedule) {
					s.Status.Phase, s.Status.ValidationErrors = veleroapi.SchedulePhaseFailedValidation, []string{"no cron"}
				}),
				plan("late", func(s *veleroapi.Schedule) { s.Status.LastBackup = before(3 * time.Hour) }),
				plan("dead", func(s *veleroapi.Schedule) { s.Status.LastBackup = before(3 * day) }),
				plan("off", func(s *veleroapi.Schedule) { s.Spec.Paused, s.Status.LastBackup = true, before(3*day) })}
		}, want: []string{"critical ScheduleMissed schedule/dead", "critical ScheduleInvalid schedule/bad", "warning ForgottenPause schedule/off", "warning ScheduleMissed schedule/late"}},
		"one location, many schedules": {jobs: []*job.Job{runOf("s", "c", invalid, time.Hour), runOf("s", "b", invalid, day), runOf("s", "a", completed, 2*day), runOf("r", "x", completed, 2*day), runOf("", "hand", invalid, 3*time.Hour)},
			snap: func(s *watch.Snapshot) {
				unavailable(s)
				s.Schedules = []*veleroapi.Schedule{plan("s"), plan("r"), plan("elsewhere", func(s *veleroapi.Schedule) { s.Spec.Template.StorageLocation = "typo" })}
				s.Repositories = []*veleroapi.BackupRepository{{ObjectMeta: object("repo", day), Spec: veleroapi.BackupRepositorySpec{BackupStorageLocation: "default", VolumeNamespace: "shop"},
					Status: veleroapi.BackupRepositoryStatus{Phase: veleroapi.BackupRepositoryPhaseNotReady}}}
			}, want: []string{"critical LocationUnavailable storage/default x2 affects backup/hand repository/repo schedule/r schedule/s", "critical LocationMissing storage/typo affects schedule/elsewhere"}},
		"an unused location": {snap: func(s *watch.Snapshot) {
			unavailable(s)
			s.StorageLocations[0].Spec.Default = false
		}, want: []string{"warning LocationUnavailable storage/default"}},
		"read-only, but for restores": {snap: func(s *watch.Snapshot) {
			s.StorageLocations[0].Spec.AccessMode = veleroapi.BackupStorageLocationAccessModeReadOnly
		}},
		"read-only, and used": {snap: func(s *watch.Snapshot) {
			s.StorageLocations[0].Spec.AccessMode = veleroapi.BackupStorageLocationAccessModeReadOnly
			s.Schedules = []*veleroapi.Schedule{plan("s")}
		}, want: []string{"warning LocationReadOnly storage/default affects schedule/s"}},
		"by hand, yesterday and before": {jobs: []*job.Job{runOf("", "b", partly, time.Hour), runOf("", "a", failed, 30*time.Hour)}, want: []string{"warning PartiallyFailed backup/b"}},
		"a restore that is tried again": {jobs: []*job.Job{restored("c", "shop", veleroapi.RestorePhaseFailed, time.Hour), restored("b", "shop", veleroapi.RestorePhaseFailed, 2*time.Hour), restored("a", "shop", veleroapi.RestorePhaseCompleted, 3*time.Hour), restored("other", "crm", veleroapi.RestorePhaseFailed, 4*time.Hour)},
			want: []string{"warning Failed restore/other", "warning Failed restore/c x2"}},
		"a restore that came back at last": {jobs: []*job.Job{restored("b", "shop", veleroapi.RestorePhaseCompleted, time.Hour), restored("a", "shop", veleroapi.RestorePhaseFailed, 2*time.Hour)}},
		"a schedule that is gone":          {jobs: []*job.Job{runOf("gone", "b", completed, time.Hour), runOf("gone", "a", failed, 2*time.Hour)}},
		"no server": {jobs: []*job.Job{run("long", veleroapi.BackupPhaseInProgress, time.Hour, 0)}, snap: func(s *watch.Snapshot) {
			s.Server.Running, s.Server.WaitingReason, s.Server.Restarts, s.Server.Created = false, "CrashLoopBackOff", 9, noon.Add(-time.Hour)
			s.Schedules = []*veleroapi.Schedule{plan("s", func(s *veleroapi.Schedule) { s.Status.LastBackup = before(3 * time.Hour) })}
			s.DeleteRequests = []*veleroapi.DeleteBackupRequest{deletion("long", time.Hour, veleroapi.DeleteBackupRequestPhaseNew)}
		}, want: []string{"critical ServerCrashLooping server/velero-1 affects backup/long deletion/long-x schedule/s"}},
		"the server restarts": {snap: func(s *watch.Snapshot) { s.Server.Running, s.Server.LastTerminationAt = false, noon.Add(-time.Second) }},
		"repositories": {snap: func(s *watch.Snapshot) {
			bad := veleroapi.BackupRepositoryMaintenanceStatus{Result: veleroapi.BackupRepositoryMaintenanceFailed, StartTimestamp: before(time.Hour), Message: "killed"}
			for name, status := range map[string]veleroapi.BackupRepositoryStatus{
				"a": {Phase: veleroapi.BackupRepositoryPhaseNotReady}, "b": {Phase: veleroapi.BackupRepositoryPhaseReady, RecentMaintenance: []veleroapi.BackupRepositoryMaintenanceStatus{bad, bad}},
				"c": {Phase: veleroapi.BackupRepositoryPhaseReady, RecentMaintenance: []veleroapi.BackupRepositoryMaintenanceStatus{bad}}} {
				s.Repositories = append(s.Repositories, &veleroapi.BackupRepository{ObjectMeta: object(name, day), Status: status})
			}
		}, want: []string{"critical RepositoryNotReady repository/a", "warning MaintenanceFailing repository/b x2"}},
		"deletions": {jobs: []*job.Job{runOf("", "b", completed, 2*day)}, snap: func(s *watch.Snapshot) {
			s.DeleteRequests = []*veleroapi.DeleteBackupRequest{deletion("b", 2*time.Hour, veleroapi.DeleteBackupRequestPhaseProcessed, "denied"), deletion("z", time.Hour, veleroapi.DeleteBackupRequestPhaseNew)}
			again := deletion("b", 3*time.Hour, veleroapi.DeleteBackupRequestPhaseProcessed, "denied")
			again.Name, again.UID = "b-y", "b-y"
			s.DeleteRequests = append(s.DeleteRequests, again)
		}, want: []string{"warning DeletionFailed deletion/b-x x2", "warning DeletionStuck deletion/z-x"}},
		"a deletion whose location is away": {jobs: []*job.Job{runOf("", "b", completed, 2*day)}, snap: func(s *watch.Snapshot) {
			unavailable(s)
			s.DeleteRequests = []*veleroapi.DeleteBackupRequest{deletion("b", 2*time.Hour, veleroapi.DeleteBackupRequestPhaseProcessed,
				"cannot delete backup because backup storage location default is currently in Unavailable state")}
		}, want: []string{"critical LocationUnavailable storage/default affects deletion/b-x"}},
		"failing, and dead for days": {jobs: []*job.Job{runOf("s", "b", failed, 3*day), runOf("s", "a", completed, 4*day)}, snap: func(s *watch.Snapshot) {
			s.Schedules = []*veleroapi.Schedule{plan("s", func(s *veleroapi.Schedule) { s.Status.LastBackup = before(3 * day) })}
		}, want: []string{"critical ScheduleMissed schedule/s"}},
		"a date that never comes": {snap: func(s *watch.Snapshot) {
			s.Schedules = []*veleroapi.Schedule{plan("s", func(s *veleroapi.Schedule) { s.Spec.Schedule = "0 0 31 2 *" }),
				plan("leap", func(s *veleroapi.Schedule) { s.Spec.Schedule, s.Status.LastBackup = "0 0 29 2 *", nil }),
				plan("off", func(s *veleroapi.Schedule) { s.Spec.Schedule, s.Spec.Paused = "0 0 31 2 *", true })}
		}, want: []string{"critical ImpossibleCron schedule/s"}},
		"backups that expire before the next run": {jobs: []*job.Job{expiring("dated", 40*time.Minute, 5*time.Minute), expiring("daily", 9*time.Hour+59*time.Minute, 14*time.Hour+time.Minute)},
			snap: func(s *watch.Snapshot) {
				s.Schedules = []*veleroapi.Schedule{plan("dated"), plan("weekly", func(s *veleroapi.Schedule) {
					s.Spec.Schedule, s.Spec.Template.TTL.Duration, s.Status.LastBackup = "0 2 * * 0", 3*day, before(130*time.Hour)
				}), plan("daily", func(s *veleroapi.Schedule) {
					s.Spec.Schedule, s.Spec.Template.TTL.Duration, s.Status.LastBackup = "0 2 * * *", day, before(10*time.Hour)
				}), plan("off", func(s *veleroapi.Schedule) { s.Spec.Paused, s.Spec.Template.TTL.Duration = true, time.Minute })}
			}, want: []string{"warning ExpiresFirst schedule/dated", "warning ExpiresFirst schedule/weekly"}},
		"malformed": {snap: func(s *watch.Snapshot) {
			s.Schedules = []*veleroapi.Schedule{plan("s", func(s *veleroapi.Schedule) { s.Status.LastBackup = before(3 * day) })}
			s.Malformed = []watch.MalformedObject{{Resource: watch.Schedules, Kind: "Schedule", Name: "s", UID: "s", Fields: []decode.MalformedField{{Field: "spec.ttl"}}},
				{Resource: "datauploads.velero.io", Kind: "DataUpload", Name: "d", UID: "d", Fields: []decode.MalformedField{{Field: "spec.x"}}}}
		}, want: []string{"critical MalformedSpec dataupload/d", "critical MalformedSpec schedule/s"}},
		"etcd": {snap: func(s *watch.Snapshot) {
			s.Etcd = etcdOf(map[string]string{"bad": etcd.ConditionFailed, "lost": etcd.ConditionPending})
		}, want: []string{"critical StatusLost etcdbackup/lost", "warning BackupFailed etcdbackup/bad"}},
	} {
		t.Run(name, func(t *testing.T) {
			snap := alive(c.jobs...)
			snap.Server.Name = "velero-1"
			if c.snap != nil {
				c.snap(snap)
			}
			e := Estimates{BackupAge: c.age}
			found := e.AssessSnapshot(snap, noon).ListFindings()
			if got := listed(found); !slices.Equal(got, c.want) {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(c.want, "\n"))
			}
			keys := map[string]bool{}
			for _, f := range found {
				if keys[f.Key()] || f.Summary == "" || f.Namespace == "" ||
					!slices.Contains(FindingReasons(), f.Reason) {
					t.Errorf("%s: %+v", f.Key(), f)
				}
				keys[f.Key()] = true
			}
		})
	}
}

// A finding is another one once its reason, severity or beginning is, and the same for a longer row of failures.
// A finding whose time is that of the first of several says how many it stands for.
func TestRepeatsAreNamed(t *testing.T) {
	failed := veleroapi.RestorePhaseFailed
	snap := alive(
		restored("c", "shop", failed, time.Hour), restored("b", "shop", failed, 2*time.Hour),
		restored("a", "shop", failed, 3*time.Hour), restored("other", "crm", failed, 4*time.Hour),
	)
	for i, name := range []string{"x", "y"} {
		d := deletion("b", time.Duration(2+i)*time.Hour, veleroapi.DeleteBackupRequestPhaseProcessed, "denied")
		d.Name, d.UID = name, types.UID(name)
		snap.DeleteRequests = append(snap.DeleteRequests, d)
	}
	for _, f := range new(Estimates).AssessSnapshot(snap, noon).ListFindings() {
		want := map[string]string{"restore/c": " (3 runs)", "deletion/x": " (2 requests)", "restore/other": ""}[f.Ref()]
		if !strings.HasSuffix(f.Summary, want) || want == "" && strings.Contains(f.Summary, "run") {
			t.Errorf("%s: %q, want it to end in %q", f.Ref(), f.Summary, want)
		}
	}
}

func TestFindingKey(t *testing.T) {
	nights := func(n int) Finding {
		var jobs []*job.Job
		for i := range n {
			jobs = append(
				jobs,
				runOf(
					"s",
					fmt.Sprint("night-", 9-i),
					veleroapi.BackupPhaseFailed,
					time.Duration(24*(9-n+i)+1)*time.Hour,
				),
			)
		}
		jobs = append(jobs, runOf("s", "good", veleroapi.BackupPhaseCompleted, 300*time.Hour))
		snap := alive(jobs...)
		snap.Schedules = []*veleroapi.Schedule{plan("s")}
		return new(Estimates).AssessSnapshot(snap, noon).ListFindings()[0]
	}
	if a, b := nights(3), nights(4); a.Key() != b.Key() || a.Count == b.Count {
		t.Errorf("after one more night: %s, %s", a.Key(), b.Key())
	}
	if a, b := nights(1), nights(2); a.Key() == b.Key() {
		t.Errorf("the second failure in a row changes nothing: %s", a.Key())
	}
}

// Every reason that the code declares and a finding may have can be ignored.
func TestFindingReasonsAreDeclared(t *testing.T) {
	declared := map[string]bool{}
	for _, path := range []string{"finding_reason.go", "../diagnosis/reason.go", "../etcd/reason.go"} {
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if literal, ok := n.(*ast.BasicLit); ok && literal.Kind == token.STRING {
				value, _ := strconv.Unquote(literal.Value)
				declared[value] = true
			}
			return true
		})
	}
	for _, r := range FindingReasons() {
		if !declared[r.String()] {
			t.Errorf("%s is declared nowhere", r)
		}
	}
}

// A list of thousands is made in a moment: the dashboard makes one every second.
func BenchmarkAttention(b *testing.B) {
	var jobs []*job.Job
	snap := alive()
	for i := range 1000 {
		name := fmt.Sprint("s", i)
		snap.Schedules = append(snap.Schedules, plan(name))
		for n := range 20 {
			jobs = append(
				jobs,
				runOf(name, fmt.Sprint(name, "-", n), veleroapi.BackupPhaseFailed, time.Duration(n+1)*time.Hour),
			)
		}
	}
	snap.Jobs = jobs
	a := new(Estimates).AssessSnapshot(snap, noon)
	for b.Loop() {
		if len(a.ListFindings()) != 1000 {
			b.Fatal("not all are listed")
		}
	}
}

// TestAttentionToCoverage: what the last reading says is in the list, with its age once it is old; nothing is before a
// reading. What is merely new, or holds neither claims nor workloads, needs nobody, and what the runs of a schedule
// cause belongs to the finding about these.
func TestAttentionToCoverage(t *testing.T) {
	item := func(name string, s coverage.State, why coverage.Reason) coverage.Namespace {
		return coverage.Namespace{
			Item: coverage.Item{
				Kind:     "Namespace",
				Name:     name,
				State:    s,
				Reason:   why,
				Sentence: "in no backup.",
				Schedule: "s",
			},
			Workloads: []coverage.Item{{}},
		}
	}
	a := new(Estimates).AssessSnapshot(&watch.Snapshot{At: noon}, noon)
	a.Coverage = &coverage.Reading[coverage.Result]{}
	if found := a.ListFindings(); len(found) > 0 {
		t.Errorf("%v", listed(found))
	}
	empty := item("default", coverage.Unprotected, coverage.NamespaceNotIncluded)
	empty.Workloads = nil
	a.Coverage.Result = &coverage.Result{
		At: noon.Add(-time.Hour),
		Namespaces: []coverage.Namespace{
			item("ok", coverage.Covered, ""),
			item("unread", coverage.Undecided, coverage.NotRead),
			item("old", coverage.CoveredWithWarning, coverage.TooOld),
			item(
				"bare",
				coverage.Unprotected,
				coverage.NotInBackup,
			),
			item("chosen", coverage.Unprotected, coverage.OptedOut),
			item("new", coverage.CoveredWithWarning, coverage.NotYet),
			empty,
		},
	}
	found := a.ListFindings()
	if got := fmt.Sprint(
		listed(found),
	); got != "[critical NamespaceUnprotected namespace/bare warning NamespaceUnprotected namespace/chosen warning CopyAtRisk namespace/old]" {
		t.Errorf("%s", got)
	}
	if !NeedsCoverage(found[0].Key()) {
		t.Errorf("%s", found[0].Key())
	}
	if found[0].Summary != "As of 1h ago: In no backup" {
		t.Errorf("%s", found[0].Summary)
	}
	snap := alive(
		runOf("s", "b", veleroapi.BackupPhaseFailed, time.Hour),
		runOf("s", "a", veleroapi.BackupPhaseFailed, 2*time.Hour),
	)
	snap.Schedules = []*veleroapi.Schedule{plan("s")}
	b := new(Estimates).AssessSnapshot(snap, noon)
	b.Coverage = a.Coverage
	if got := fmt.Sprint(
		listed(b.ListFindings()),
	); got != "[critical NamespaceUnprotected namespace/bare warning FailingRepeatedly schedule/s x2 affects namespace/old warning NamespaceUnprotected namespace/chosen]" {
		t.Errorf("%s", got)
	}
}

// TestStoppedScheduleIsOneFinding: what a schedule took that makes no backups any more is at risk together, whatever
// else is wrong with the schedule; what no backup holds stays a finding of its own.
func TestStoppedScheduleIsOneFinding(t *testing.T) {
	item := func(name string, s coverage.State) coverage.Namespace {
		return coverage.Namespace{
			Item: coverage.Item{
				Kind:         "Namespace",
				Name:         name,
				State:        s,
				Reason:       coverage.SchedulePaused,
				RuleSchedule: "off",
			},
			Workloads: []coverage.Item{{}},
		}
	}
	reading := &coverage.Reading[coverage.Result]{
		Result: &coverage.Result{
			At: noon,
			Namespaces: []coverage.Namespace{
				item("a", coverage.CoveredWithWarning),
				item("b", coverage.CoveredWithWarning),
				item("c", coverage.Unprotected),
			},
		},
	}
	for _, c := range []struct {
		last time.Duration
		want string
	}{
		{time.Hour, "[critical NamespaceUnprotected namespace/c warning CopyAtRisk schedule/off affects namespace/a namespace/b]"},
		{72 * time.Hour, "[critical NamespaceUnprotected namespace/c warning ForgottenPause schedule/off affects namespace/a namespace/b]"},
	} {
		snap := alive()
		snap.Schedules = []*veleroapi.Schedule{
			plan("off", func(s *veleroapi.Schedule) { s.Spec.Paused, s.Status.LastBackup = true, before(c.last) }),
		}
		a := new(Estimates).AssessSnapshot(snap, noon)
		a.Coverage = reading
		found := a.ListFindings()
		if got := fmt.Sprint(listed(found)); got != c.want {
			t.Errorf("paused after a run %s ago: %s", c.last, got)
		}
		for _, f := range found {
			if f.Reason == CopyAtRisk && !NeedsCoverage(f.Key()) {
				t.Errorf("%s is known without coverage", f.Key())
			}
		}
	}
}

// TestCompletedJobsCostNoAttention: what needs someone is found at each snapshot, so the jobs that went well, of which
// there may be tens of thousands, add no work but a look at their phase.
func TestCompletedJobsCostNoAttention(t *testing.T) {
	allocated := func(completed int, failed ...*job.Job) float64 {
		jobs := failed
		for i := range completed {
			done := finished("r"+strconv.Itoa(i), veleroapi.RestorePhaseCompleted, time.Duration(i+30)*time.Hour)
			jobs = append(jobs, done)
		}
		a := new(Estimates).AssessSnapshot(alive(jobs...), noon)
		if found := a.ListFindings(); len(found) != len(failed) {
			t.Fatalf("%d findings about %d failed restores", len(found), len(failed))
		}
		return testing.AllocsPerRun(20, func() { a.ListFindings() })
	}
	bad := finished("bad", veleroapi.RestorePhaseFailed, time.Hour)
	for name, failed := range map[string][]*job.Job{"none failed": nil, "one failed": {bad}} {
		// An allocation for each job would be 1,000; the runtime adds some of its own.
		if few, many := allocated(10, failed...), allocated(1000, failed...); many > few+100 {
			t.Errorf("%s: %v allocations with 1,000 completed restores, %v with 10", name, many, few)
		}
	}
}

// finished is a restore that began ago and took a minute.
func finished(name string, phase veleroapi.RestorePhase, ago time.Duration) *job.Job {
	r := &veleroapi.Restore{ObjectMeta: object(name, ago)}
	r.Spec.BackupName = "of-" + name
	r.Status = veleroapi.RestoreStatus{
		Phase: phase, StartTimestamp: before(ago), CompletionTimestamp: before(ago - time.Minute),
	}
	return job.Fold(nil, job.Observation{Restore: r, ObservedAt: noon})
}
