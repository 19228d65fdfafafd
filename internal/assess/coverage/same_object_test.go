package coverage

import (
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/veltui/veltui/internal/velero"
	"github.com/veltui/veltui/internal/velero/veleroapi"
)

// copyPlant is a claim that the only backup lists, and that has no copy there of itself, or one.
type copyPlant struct {
	plant  func(s *scene, b *veleroapi.Backup, r *Record)
	state  State
	reason Reason
	words  string
}

// copyPlants plants each case into a scene with backup b, which began an hour ago and holds claim shop/data on pv-data.
// The schedule ran half an hour ago.
var copyPlants = map[string]copyPlant{
	"the same claim": {func(*scene, *veleroapi.Backup, *Record) {}, Covered, "", ""},
	"claim made again": {func(s *scene, _ *veleroapi.Backup, _ *Record) {
		s.claim.CreationTimestamp = minutesAgo(45)
	}, Unprotected, Recreated, "backup b holds an earlier claim of this name"},
	"claim and static volume made again": {func(s *scene, _ *veleroapi.Backup, _ *Record) {
		s.claim.CreationTimestamp, s.volume.CreationTimestamp = minutesAgo(45), minutesAgo(45)
	}, Unprotected, Recreated, "an earlier claim"},
	"static volume made again alone": {func(s *scene, _ *veleroapi.Backup, _ *Record) {
		s.volume.CreationTimestamp = minutesAgo(45)
	}, Unprotected, Recreated, "with an earlier volume"},
	"made again since the last run": {func(s *scene, _ *veleroapi.Backup, _ *Record) {
		s.claim.CreationTimestamp = minutesAgo(5)
	}, CoveredWithWarning, NotYet, "takes it 12:30. Backup b holds an earlier claim of this name."},
	"volume made again since the last run": {func(s *scene, _ *veleroapi.Backup, _ *Record) {
		s.volume.CreationTimestamp = minutesAgo(5)
	}, CoveredWithWarning, NotYet, "as it was without its volume"},
	"made again, and the schedule is paused": {func(s *scene, _ *veleroapi.Backup, _ *Record) {
		s.claim.CreationTimestamp, s.schedule.Spec.Paused = minutesAgo(5), true
	}, Unprotected, SchedulePaused, "unpaused, it takes this. Backup b holds an earlier claim"},
	"made again, and labelled": {func(s *scene, _ *veleroapi.Backup, _ *Record) {
		s.claim.CreationTimestamp = minutesAgo(45)
		s.claim.Labels[veleroapi.ExcludeFromBackupLabel] = "true"
	}, Unprotected, LabelExcluded, "an earlier claim"},
	"made again, no record of volumes": {func(s *scene, _ *veleroapi.Backup, r *Record) {
		s.claim.CreationTimestamp, r.NoVolumes = minutesAgo(45), true
	}, Unprotected, Recreated, "an earlier claim"},
	"made again in the second of the backup": {func(s *scene, b *veleroapi.Backup, _ *Record) {
		s.claim.CreationTimestamp = *b.Status.StartTimestamp
	}, Covered, "", ""},
	"made while the backup ran": {func(s *scene, b *veleroapi.Backup, _ *Record) {
		b.Status.CompletionTimestamp = new(minutesAgo(40))
		s.claim.CreationTimestamp = minutesAgo(45)
	}, Undecided, MadeDuring, "backup b: it was made while this backup ran"},
	"made a moment before the backup, by another clock": {func(s *scene, b *veleroapi.Backup, _ *Record) {
		s.claim.CreationTimestamp = metav1.NewTime(b.Status.StartTimestamp.Add(2 * time.Second))
	}, Undecided, MadeDuring, "may hold an earlier one"},
	"made while the backup ran, and the backup names its volume": {func(s *scene, b *veleroapi.Backup, r *Record) {
		b.Status.CompletionTimestamp = new(minutesAgo(40))
		s.claim.CreationTimestamp, s.claim.UID = minutesAgo(45), "u1"
		s.cluster.Volumes["pvc-u1"], s.claim.Spec.VolumeName = s.volume, "pvc-u1"
		r.Saved["shop/data"] = SavedData{"pvc-u1", includedVerdict}
	}, Covered, "", ""},
	"made after the backup ended": {func(s *scene, b *veleroapi.Backup, _ *Record) {
		b.Status.CompletionTimestamp = new(minutesAgo(50))
		s.claim.CreationTimestamp = minutesAgo(45)
	}, Unprotected, Recreated, "an earlier claim"},
	"another volume, older": {func(s *scene, _ *veleroapi.Backup, r *Record) {
		r.Saved["shop/data"] = SavedData{"pv-before", includedVerdict}
	}, Unprotected, Recreated, "had another volume then, pv-before"},
	"restored from this backup": {func(s *scene, b *veleroapi.Backup, _ *Record) {
		s.restored(b.Name, "r", 5)
	}, Covered, "", ""},
	"restored from this backup, onto a new volume": {func(s *scene, b *veleroapi.Backup, r *Record) {
		s.restored(b.Name, "r", 5)
		r.Saved["shop/data"] = SavedData{"pv-before", includedVerdict}
	}, Covered, "", ""},
	"restored from this backup, which has no data": {func(s *scene, b *veleroapi.Backup, r *Record) {
		s.restored(b.Name, "r", 5)
		r.Saved = nil
	}, Unprotected, NoData, "nothing saved its data"},
	"restored from another backup": {func(s *scene, _ *veleroapi.Backup, _ *Record) {
		s.restored("other", "r", 5)
	}, CoveredWithWarning, NotYet, "an earlier claim"},
	"made after the restore from a manifest with its labels": {func(s *scene, b *veleroapi.Backup, _ *Record) {
		s.restored(b.Name, "r", 45)
		s.o.RestoreEnds = map[string]time.Time{"r": now.Add(-50 * time.Minute)}
	}, Unprotected, Recreated, "an earlier claim"},
	"restored, and the restore is known": {func(s *scene, b *veleroapi.Backup, _ *Record) {
		s.restored(b.Name, "r", 45)
		s.o.RestoreEnds = map[string]time.Time{"r": now.Add(-40 * time.Minute)}
	}, Covered, "", ""},
	"labelled with the backup alone": {func(s *scene, b *veleroapi.Backup, _ *Record) {
		s.restored(b.Name, "", 45)
	}, Unprotected, Recreated, "an earlier claim"},
	"expired": {func(s *scene, b *veleroapi.Backup, _ *Record) {
		b.Status.Expiration.Time = now.Add(-time.Minute)
	}, Unprotected, BackupExpired, "expired"},
	"expires this second": {func(s *scene, b *veleroapi.Backup, _ *Record) {
		b.Status.Expiration.Time = now
	}, Unprotected, BackupExpired, "expired"},
	"being deleted": {func(s *scene, b *veleroapi.Backup, _ *Record) {
		b.DeletionTimestamp = &metav1.Time{Time: now}
	}, Unprotected, BackupDeleted, "being deleted"},
	"deletion requested": {func(s *scene, b *veleroapi.Backup, _ *Record) {
		s.o.CopyRules.DeletionRequests = velero.GroupRequestsByBackup([]*veleroapi.DeleteBackupRequest{
			{Spec: veleroapi.DeleteBackupRequestSpec{BackupName: b.Name}},
		})
	}, Unprotected, BackupDeleted, "deletion is requested"},
	"location unavailable": {func(s *scene, b *veleroapi.Backup, _ *Record) {
		s.o.CopyRules.LocationPhases["default"] = "Unavailable"
	}, Undecided, LocationUnavailable, "cannot be read"},
	"location gone": {func(s *scene, b *veleroapi.Backup, _ *Record) {
		b.Spec.StorageLocation = "nas"
	}, Unprotected, LocationGone, "nas"},
	"the run's backup was deleted": {func(s *scene, b *veleroapi.Backup, _ *Record) {
		s.backups, s.schedule.LastRunGone = nil, now.Add(-30*time.Minute)
	}, Unprotected, BackupDeleted, "the backup that schedule hourly began 11:30 is not there any more"},
	"claim made after that run": {func(s *scene, b *veleroapi.Backup, _ *Record) {
		s.backups, s.schedule.LastRunGone = nil, now.Add(-30*time.Minute)
		s.claim.CreationTimestamp = minutesAgo(5)
	}, CoveredWithWarning, NotYet, "in no backup yet"},
}

func minutesAgo(n int) metav1.Time { return metav1.NewTime(now.Add(-time.Duration(n) * time.Minute)) }

// restored makes the claim and its volume look restored.
func (s *scene) restored(backup, restore string, ago int) {
	s.claim.CreationTimestamp, s.volume.CreationTimestamp = minutesAgo(ago), minutesAgo(ago)
	s.claim.Labels[veleroapi.BackupNameLabel] = backup
	if restore != "" {
		s.claim.Labels[veleroapi.RestoreNameLabel] = restore
	}
}

// TestCopyIsOfThisObject holds that a backup of another object of the same name is no copy.
func TestCopyIsOfThisObject(t *testing.T) {
	for name, c := range copyPlants {
		t.Run(name, func(t *testing.T) {
			s := newScene()
			r := listing(entry(nil))
			c.plant(s, s.backup("b", time.Hour, 24*time.Hour, veleroapi.BackupPhaseCompleted, r), r)
			if _, got := s.judge(t); got.State != c.state || got.Reason != c.reason ||
				!strings.Contains(strings.ToLower(got.Sentence), strings.ToLower(c.words)) {
				t.Errorf("%s %s %q, want %s %s %q", got.State, got.Reason, got.Sentence, c.state, c.reason, c.words)
			}
		})
	}
}

// TestWorkloadMadeAgain: the manifest of an earlier Deployment of the name is no copy of this one.
func TestWorkloadMadeAgain(t *testing.T) {
	s := newScene()
	s.backup("b", time.Hour, 24*time.Hour, veleroapi.BackupPhaseCompleted, listing(entry(nil)))
	s.cluster.Objects["deployments.apps"]["shop/web"].SetCreationTimestamp(minutesAgo(45))
	r, _ := s.judge(t)
	web := r.Namespaces[0].Workloads[0]
	if web.Reason != Recreated || !strings.Contains(web.Sentence, "Backup b holds an earlier Deployment of this name.") {
		t.Errorf("%+v", web)
	}
}

// TestPausedScheduleThatWouldDo: of a schedule that leaves a claim out and a paused one that takes it, the paused one
// is named. One that is paused and leaves it out, too, is not.
func TestPausedScheduleThatWouldDo(t *testing.T) {
	for _, leavesOut := range []bool{false, true} {
		s := newScene()
		s.spec.ExcludedResources = []string{"persistentvolumeclaims"}
		paused := &Schedule{Schedule: &veleroapi.Schedule{ObjectMeta: meta("velero", "all")}, RunAfter: hourly}
		paused.Spec.Paused = true
		want, words := SchedulePaused, "schedule all: the schedule is paused; unpaused, it takes this"
		if leavesOut {
			paused.Spec.Template.ExcludedResources = []string{"pvc"}
			want, words = KindExcluded, "schedule hourly"
		}
		for _, order := range [][]*Schedule{{paused, s.schedule}, {s.schedule, paused}} {
			claim := NewJudge(s.cluster, order, nil, s.o).JudgeAll().Namespaces[0].Claims[0]
			if claim.Reason != want || !strings.Contains(claim.Sentence, words) {
				t.Errorf("leaves out: %t: %+v", leavesOut, claim)
			}
		}
	}
}

// TestNoScheduleNamesTheNamespace: then no schedule is to blame, and all its items have one sentence.
func TestNoScheduleNamesTheNamespace(t *testing.T) {
	s := newScene()
	s.spec.IncludedNamespaces = []string{"a"}
	other := &Schedule{Schedule: &veleroapi.Schedule{ObjectMeta: meta("velero", "other")}, RunAfter: hourly}
	other.Spec.Template.IncludedNamespaces = []string{"b*"}
	n := NewJudge(s.cluster, []*Schedule{s.schedule, other}, nil, s.o).JudgeAll().Namespaces[0]
	const want = "In no backup: the includedNamespaces of all 2 schedules do not name the namespace."
	for _, i := range slices.Concat(n.Claims, n.Workloads) {
		if i.Reason != NamespaceNotIncluded || i.Sentence != want || i.RuleSchedule != "" {
			t.Errorf("%+v", i)
		}
	}
}

// TestPredictMissingNamespaces: Velero counts an error for each included namespace that does not exist.
func TestPredictMissingNamespaces(t *testing.T) {
	for want, plant := range map[string]func(*scene){
		"":       func(s *scene) { s.spec.IncludedNamespaces = []string{"shop", "no-*"} },
		"shpo":   func(s *scene) { s.spec.IncludedNamespaces = []string{"shop", "shpo"} },
		"a shpo": func(s *scene) { s.spec.IncludedNamespaces = []string{"shpo", "a", "x[ab]"} },
		" excluded": func(s *scene) {
			s.spec.IncludedNamespaces, s.spec.ExcludedNamespaces = []string{"shop", "shpo"}, []string{"shp*"}
		},
		" unseen": func(s *scene) { s.spec.IncludedNamespaces = []string{"shpo"}; s.cluster.Unchecked[Namespaces] = "no" },
		" paused": func(s *scene) { s.spec.IncludedNamespaces = []string{"shpo"}; s.schedule.Spec.Paused = true },
		" all":    func(*scene) {},
	} {
		s := newScene()
		plant(s)
		p := Predict(s.cluster, s.schedule)
		if got := strings.Join(p.MissingNamespaces, " "); got != want && !strings.HasPrefix(want, " ") ||
			got != "" && strings.HasPrefix(want, " ") {
			t.Errorf("missing %q, want %q", got, want)
		}
		named := slices.ContainsFunc(p.TitledLists(), func(l ItemList) bool { return l.Title == "Missing" })
		if named != (len(p.MissingNamespaces) > 0) {
			t.Errorf("%q: %+v", want, p.TitledLists())
		}
	}
}

// TestUnreadBackupThatCannotHoldIt: an item that was made after an unread backup ended waits for its schedule.
func TestUnreadBackupThatCannotHoldIt(t *testing.T) {
	for made, want := range map[int]Reason{5: NotYet, 50: NotRead, 90: NotRead} {
		s := newScene()
		s.schedule.LastEndedRunStart = now.Add(-time.Hour)
		b := s.backup("b", time.Hour, 24*time.Hour, veleroapi.BackupPhaseCompleted, nil)
		b.Status.CompletionTimestamp = new(minutesAgo(45))
		s.cluster.Objects["deployments.apps"]["shop/web"].SetCreationTimestamp(minutesAgo(made))
		r, _ := s.judge(t)
		if web := r.Namespaces[0].Workloads[0]; web.Reason != want {
			t.Errorf("made %d minutes ago: %+v, want %s", made, web, want)
		}
	}
}
