package assess

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/velero"
	"github.com/veltui/veltui/internal/velero/veleroapi"
	"github.com/veltui/veltui/watch"
)

// ScheduleRun is one run of a schedule, compared with the run before it.
type ScheduleRun struct {
	*job.Job
	// Volumes counts the volumes with data or a snapshot, and Bytes is the size of the data that Velero moved.
	Volumes, Bytes int64
	// VolumesKnown is false if volumes could not be listed; Volumes and Bytes then lack them.
	VolumesKnown bool
	// AddedNamespaces are the namespaces that were requested for this run but not for the run before, and
	// RemovedNamespaces the reverse.
	AddedNamespaces, RemovedNamespaces []string
}

// Loss is what Completed runs lack compared with the runs before them.
type Loss struct {
	// Runs are the newest runs, each of which lost something, newest first.
	Runs     []*job.Job
	Measures []LossMeasure
	// IsSevere is true if half or more of something is missing.
	IsSevere bool
}

// LossMeasure is a size of the newest run, and its median over the earlier ones.
type LossMeasure struct {
	Name           string // items, volumes or bytes
	Newest, Median int64
}

func (m LossMeasure) String() string {
	if m.Name == "bytes" {
		return human.Bytes(m.Newest) + " of volume data, usually " + human.Bytes(m.Median)
	}
	return human.Count(m.Newest, strings.TrimSuffix(m.Name, "s")) + ", usually " + human.Number(m.Median)
}

// A run is compared with the median of up to maxComparedRuns good runs before it, and not at all if there are fewer
// than minComparedRuns: two runs can differ for any reason.
const (
	maxComparedRuns = 7
	minComparedRuns = 3
	maxJudgedRuns   = 40
)

// lossMeasures are what a run may lose. A loss is below all earlier runs, and below their median by more than four
// times their median deviation, by the share of it, and by least: one pod or event more or less is no loss.
var lossMeasures = []struct {
	name  string
	value func(ScheduleRun) (n int64, known bool)
	share float64
	least float64
}{
	{"items", func(r ScheduleRun) (int64, bool) { return int64(r.Items.Done), r.Items.Known }, 0.25, 10},
	{"volumes", func(r ScheduleRun) (int64, bool) { return r.Volumes, r.VolumesKnown }, 0, 0},
	{"bytes", func(r ScheduleRun) (int64, bool) { return r.Bytes, r.VolumesKnown }, 0.25, 1 << 20},
}

// runVolumeKinds are the kinds of the volumes of runs.
var runVolumeKinds = []string{watch.PodVolumeBackups, watch.DataUploads}

// NeededVolumeKinds returns the kinds without which [Schedule.ComparedRuns] is unknown, nil if no schedule has a run.
func NeededVolumeKinds(jobs []*job.Job) []string {
	if slices.ContainsFunc(jobs, func(j *job.Job) bool { return j.ScheduleName != "" && j.IsTerminal() }) {
		return runVolumeKinds
	}
	return nil
}

// compareAdjacentRuns compares each run with the one before, newest first.
func (a *Assessment) compareAdjacentRuns(jobs []*job.Job) []ScheduleRun {
	known := true
	for _, kind := range runVolumeKinds {
		state := a.sourceState(kind)
		known = known && (state == watch.SourceLive || state == watch.SourceStale || state == watch.SourceMissing)
	}
	runs := make([]ScheduleRun, len(jobs))
	for i, j := range jobs {
		runs[i] = ScheduleRun{
			Job:          j,
			VolumesKnown: known,
			Volumes:      int64(j.VolumeCount()),
			Bytes:        max(0, j.PodVolumes().Done+j.DataMovements().Done),
		}
		b, ok := j.Object.(*veleroapi.Backup)
		if !ok {
			continue
		}
		if runs[i].Volumes += int64(
			b.Status.VolumeSnapshotsCompleted,
		); b.Spec.SnapshotMoveData == nil ||
			!*b.Spec.SnapshotMoveData {
			runs[i].Volumes += int64(b.Status.CSIVolumeSnapshotsCompleted)
		}
		if i+1 < len(jobs) {
			if before, ok := jobs[i+1].Object.(*veleroapi.Backup); ok {
				runs[i].AddedNamespaces, runs[i].RemovedNamespaces = addedNamespaces(
					b.Spec,
					before.Spec,
				), addedNamespaces(
					before.Spec,
					b.Spec,
				)
			}
		}
	}
	return runs
}

// addedNamespaces lists the namespaces of a backup that another one excludes or does not name. * stands for all.
func addedNamespaces(spec, than veleroapi.BackupSpec) (found []string) {
	names := func(s veleroapi.BackupSpec) []string {
		if len(s.IncludedNamespaces) == 0 {
			return []string{"*"}
		}
		return s.IncludedNamespaces
	}
	lacks := func(s veleroapi.BackupSpec, name string) bool {
		return slices.Contains(s.ExcludedNamespaces, name) ||
			!slices.Contains(names(s), name) && !slices.Contains(names(s), "*")
	}
	for _, name := range slices.Concat(names(spec), than.ExcludedNamespaces) {
		if lacks(than, name) && !lacks(spec, name) && !slices.Contains(found, name) {
			found = append(found, name)
		}
	}
	slices.SortFunc(found, human.CompareNames)
	return found
}

// findLoss finds what the newest runs lack compared with those before them, nil for nothing. Runs with another spec,
// and runs that are not Completed, do not count.
func findLoss(runs []ScheduleRun) *Loss {
	ended := slices.IndexFunc(runs, func(r ScheduleRun) bool { return r.IsTerminal() })
	if ended < 0 || runs[ended].Phase != velero.PhaseCompleted {
		return nil
	}
	asked, ok := comparableSpec(runs[ended].Job)
	good := slices.DeleteFunc(slices.Clone(runs), func(r ScheduleRun) bool {
		other, is := comparableSpec(r.Job)
		return r.Phase != velero.PhaseCompleted || ok != is || !reflect.DeepEqual(asked, other)
	})
	var found *Loss
	for n := 1; n+minComparedRuns <= len(good); n++ {
		earlier := good[n:min(n+maxComparedRuns, len(good))]
		lost := &Loss{}
		for i := n - 1; i >= 0 && (i == n-1 || lost.Measures != nil); i-- {
			lost.Runs = slices.Insert(lost.Runs, 0, good[i].Job)
			lost.compareRun(good[i], earlier)
		}
		if lost.Measures != nil {
			found = lost
		}
	}
	return found
}

// compareRun records what a run lost compared with earlier ones.
func (l *Loss) compareRun(r ScheduleRun, earlier []ScheduleRun) {
	l.Measures, l.IsSevere = nil, false
	for _, m := range lossMeasures {
		newest, known := m.value(r)
		var values []int64
		for _, e := range earlier {
			n, is := m.value(e)
			values, known = append(values, n), known && is
		}
		usual := medianOf(values)
		deviations := make([]int64, len(values))
		for i, n := range values {
			deviations[i] = max(n-usual, usual-n)
		}
		allowed := max(4*float64(medianOf(deviations)), m.share*float64(usual), m.least)
		if known && newest < slices.Min(values) && float64(usual-newest) > allowed {
			l.Measures = append(l.Measures, LossMeasure{m.name, newest, usual})
			l.IsSevere = l.IsSevere || newest <= usual/2
		}
	}
}

func medianOf(values []int64) int64 { return slices.Sorted(slices.Values(values))[len(values)/2] }

// comparableSpec returns the part of the spec that decides what a backup holds.
func comparableSpec(j *job.Job) (spec veleroapi.BackupSpec, ok bool) {
	b, ok := j.Object.(*veleroapi.Backup)
	if ok {
		spec = b.Spec
		spec.TTL, spec.CSISnapshotTimeout, spec.ItemOperationTimeout = metav1.Duration{}, metav1.Duration{}, metav1.Duration{}
		spec.Metadata, spec.StorageLocation = veleroapi.Metadata{}, ""
	}
	return spec, ok
}

func (a *Assessment) judgeLoss(s *Schedule) {
	if s.Loss = findLoss(s.ComparedRuns[:min(len(s.ComparedRuns), maxJudgedRuns)]); s.Loss == nil {
		a.judgeEmptyRuns(s)
		return
	}
	tone, what, runs := Unusual, "The last run", s.Loss.Runs
	if s.Loss.IsSevere {
		tone = Alarming
	}
	if len(runs) > 1 {
		what = everyRunText(runs, a.World.Now)
	}
	text := noteAdder(
		&s.Notes,
	)(
		tone,
		"%s is Completed, but holds less than the runs before: %s",
		what,
		s.Loss,
	)
	f := Finding{Reason: RunsLostData, Since: runs[len(runs)-1].BeganAt(), Count: len(runs), Summary: text}
	if runs[0].IsEmpty() {
		f.Severity = Critical
	}
	s.addFinding(f)
}

// judgeEmptyRuns finds runs that are Completed and hold nothing, where there are no earlier ones to compare them with.
func (a *Assessment) judgeEmptyRuns(s *Schedule) {
	ended := slices.DeleteFunc(slices.Clone(s.Runs), func(j *job.Job) bool { return !j.IsTerminal() })
	n := 0
	for n < len(ended) && ended[n].IsEmpty() {
		n++
	}
	if n == 0 {
		return
	}
	what, runs := "The last run", ended[:n]
	if n > 1 {
		what = everyRunText(runs, a.World.Now)
	}
	s.addFinding(Finding{
		Severity: Critical, Reason: CompletedEmpty, Since: runs[n-1].BeganAt(), Count: n,
		Summary: noteAdder(&s.Notes)(Alarming, "%s is Completed, but nothing is in it: 0 items", what),
	})
}

// everyRunText describes several runs, newest first, as one.
func everyRunText(runs []*job.Job, now time.Time) string {
	since := runs[len(runs)-1].BeganAt().In(now.Location())
	return fmt.Sprintf("Every run since %s (%d runs)", since.Format("Mon Jan 2"), len(runs))
}

// maxJudgedByHand is how many backups that nobody's schedule made are compared with earlier ones, at each snapshot.
const maxJudgedByHand = 5

// addSmallerBackups lists the newest Completed backups that nobody's schedule made, and that hold less than earlier
// ones of the same spec.
func (l *findingBuilder) addSmallerBackups() {
	made := l.listNewestByHand(maxJudgedByHand + maxComparedRuns)
	var done []veleroapi.BackupSpec
	for i, j := range made[:min(maxJudgedByHand, len(made))] {
		spec, _ := comparableSpec(j)
		isSame := func(other veleroapi.BackupSpec) bool { return reflect.DeepEqual(spec, other) }
		if j.Phase != velero.PhaseCompleted || l.World.Now.Sub(endTime(j)) >= maxFailureAge ||
			l.hasFinding(j.UID) || slices.ContainsFunc(done, isSame) {
			continue
		}
		done = append(done, spec)
		loss := findLoss(l.compareAdjacentRuns(made[i:]))
		if loss == nil {
			continue
		}
		l.addJob(j, Finding{
			Severity: Warning, Reason: RunsLostData, Since: loss.Runs[len(loss.Runs)-1].BeganAt(), Count: len(loss.Runs),
			Summary: "Completed, but holds less than earlier backups with the same spec: " + loss.String(),
		})
	}
}

// listNewestByHand returns up to n backups that no schedule made, newest first.
func (l *findingBuilder) listNewestByHand(n int) []*job.Job {
	var made []*job.Job
	for _, j := range l.Snapshot.Jobs {
		if len(made) == n {
			break
		}
		if isByHand(j) {
			made = append(made, j)
		}
	}
	return made
}

// isByHand reports whether no schedule made a backup.
func isByHand(j *job.Job) bool { return j.Kind == job.Backup && j.ScheduleName == "" && !isSynced(j) }

// String names what is less.
func (l *Loss) String() string {
	lost := make([]string, len(l.Measures))
	for i, m := range l.Measures {
		lost[i] = m.String()
	}
	return strings.Join(lost, "; ")
}
