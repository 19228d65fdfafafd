package assess

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/velero"
	"github.com/veltui/veltui/watch"
)

// Run is one run of a schedule, beside the one before it.
type Run struct {
	*job.Job
	// Volumes counts those with data or a snapshot, and Bytes is the size of the data that Velero moved.
	Volumes, Bytes int64
	// VolumesKnown is false where volumes could not be listed; Volumes and Bytes then miss them.
	VolumesKnown bool
	// Added and Removed are the namespaces that the run was asked for and the run before was not, and the reverse.
	Added, Removed []string
}

// Loss is what Completed runs hold less than the runs before them.
type Loss struct {
	// Runs are the newest ones, each of which lost something, newest first.
	Runs   []*job.Job
	Losses []Measure
	// Severe is true if half or more of something is missing.
	Severe bool
}

// Measure is a size of the newest run, and the median of the earlier ones.
type Measure struct {
	Name           string // items, volumes or bytes
	Newest, Median int64
}

func (m Measure) String() string {
	if m.Name == "bytes" {
		return human.Bytes(m.Newest) + " of volume data, usually " + human.Bytes(m.Median)
	}
	return human.Count(m.Newest, strings.TrimSuffix(m.Name, "s")) + ", usually " + human.Number(m.Median)
}

// A run is compared with the median of up to comparedRuns good ones before it, and with none if there are fewer than
// fewestRuns: two can differ for any reason.
const (
	comparedRuns = 7
	fewestRuns   = 3
	judgedRuns   = 40
)

// measures are what a run may lose. A loss is below all earlier runs, and below their median by more than four times
// their median deviation, by the share of it, and by least: a pod or an event more or less is none.
var measures = []struct {
	name  string
	value func(Run) (n int64, known bool)
	share float64
	least float64
}{
	{"items", func(r Run) (int64, bool) { return int64(r.Items.Done), r.Items.Known }, 0.25, 10},
	{"volumes", func(r Run) (int64, bool) { return r.Volumes, r.VolumesKnown }, 0, 0},
	{"bytes", func(r Run) (int64, bool) { return r.Bytes, r.VolumesKnown }, 0.25, 1 << 20},
}

// volumeKinds are those of the volumes of runs.
var volumeKinds = []string{watch.PodVolumeBackups, watch.DataUploads}

// NeedsVolumes returns the kinds without which [Schedule.Trend] is not known, nil if no schedule has a run.
func NeedsVolumes(jobs []*job.Job) []string {
	if slices.ContainsFunc(jobs, func(j *job.Job) bool { return j.ScheduleName != "" && j.Terminal() }) {
		return volumeKinds
	}
	return nil
}

// trend sets the runs side by side, newest first.
func (a *Assessment) trend(jobs []*job.Job) []Run {
	known := true
	for _, kind := range volumeKinds {
		state := a.sourceOf(kind)
		known = known && (state == watch.SourceLive || state == watch.SourceStale || state == watch.SourceMissing)
	}
	runs := make([]Run, len(jobs))
	for i, j := range jobs {
		runs[i] = Run{
			Job:          j,
			VolumesKnown: known,
			Volumes:      int64(j.VolumeCount()),
			Bytes:        max(0, j.PodVolumes().Done+j.DataMovements().Done),
		}
		b, ok := j.Object.(*velerov1.Backup)
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
			if before, ok := jobs[i+1].Object.(*velerov1.Backup); ok {
				runs[i].Added, runs[i].Removed = wider(b.Spec, before.Spec), wider(before.Spec, b.Spec)
			}
		}
	}
	return runs
}

// wider lists the namespaces of a backup that another one excludes or does not name. * stands for all.
func wider(spec, than velerov1.BackupSpec) (found []string) {
	names := func(s velerov1.BackupSpec) []string {
		if len(s.IncludedNamespaces) == 0 {
			return []string{"*"}
		}
		return s.IncludedNamespaces
	}
	lacks := func(s velerov1.BackupSpec, name string) bool {
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

// loss finds what the newest runs hold less than those before them, nil for nothing. Runs that were asked for
// something else, and those that are not Completed, do not count.
func loss(runs []Run) *Loss {
	ended := slices.IndexFunc(runs, func(r Run) bool { return r.Terminal() })
	if ended < 0 || runs[ended].Phase != velero.PhaseCompleted {
		return nil
	}
	asked, ok := askedFor(runs[ended].Job)
	good := slices.DeleteFunc(slices.Clone(runs), func(r Run) bool {
		other, is := askedFor(r.Job)
		return r.Phase != velero.PhaseCompleted || ok != is || !reflect.DeepEqual(asked, other)
	})
	var found *Loss
	for n := 1; n+fewestRuns <= len(good); n++ {
		earlier := good[n:min(n+comparedRuns, len(good))]
		lost := &Loss{}
		for i := n - 1; i >= 0 && (i == n-1 || lost.Losses != nil); i-- {
			lost.Runs = slices.Insert(lost.Runs, 0, good[i].Job)
			lost.compare(good[i], earlier)
		}
		if lost.Losses != nil {
			found = lost
		}
	}
	return found
}

// compare sets what a run lost against earlier ones.
func (l *Loss) compare(r Run, earlier []Run) {
	l.Losses, l.Severe = nil, false
	for _, m := range measures {
		newest, known := m.value(r)
		var values []int64
		for _, e := range earlier {
			n, is := m.value(e)
			values, known = append(values, n), known && is
		}
		usual := median(values)
		deviations := make([]int64, len(values))
		for i, n := range values {
			deviations[i] = max(n-usual, usual-n)
		}
		allowed := max(4*float64(median(deviations)), m.share*float64(usual), m.least)
		if known && newest < slices.Min(values) && float64(usual-newest) > allowed {
			l.Losses = append(l.Losses, Measure{m.name, newest, usual})
			l.Severe = l.Severe || newest <= usual/2
		}
	}
}

func median(values []int64) int64 { return slices.Sorted(slices.Values(values))[len(values)/2] }

// askedFor is what decides what a backup holds.
func askedFor(j *job.Job) (spec velerov1.BackupSpec, ok bool) {
	b, ok := j.Object.(*velerov1.Backup)
	if ok {
		spec = b.Spec
		spec.TTL, spec.CSISnapshotTimeout, spec.ItemOperationTimeout = metav1.Duration{}, metav1.Duration{}, metav1.Duration{}
		spec.Metadata, spec.StorageLocation = velerov1.Metadata{}, ""
	}
	return spec, ok
}

func (a *Assessment) judgeLoss(s *Schedule) {
	if s.Loss = loss(s.Trend[:min(len(s.Trend), judgedRuns)]); s.Loss == nil {
		return
	}
	mood, what, runs := Unusual, "The last run", s.Loss.Runs
	if s.Loss.Severe {
		mood = Alarming
	}
	if len(runs) > 1 {
		what = everySince(runs, a.Environment.Now)
	}
	lost := make([]string, len(s.Loss.Losses))
	for i, m := range s.Loss.Losses {
		lost[i] = m.String()
	}
	text := noteTo(
		&s.Notes,
	)(
		mood,
		"%s is Completed, but holds less than the runs before: %s",
		what,
		strings.Join(lost, "; "),
	)
	s.find(Finding{Reason: RunsLostData, Since: runs[len(runs)-1].Began(), Count: len(runs), Summary: text})
}

// everySince names runs, newest first, as one.
func everySince(runs []*job.Job, now time.Time) string {
	since := runs[len(runs)-1].Began().In(now.Location())
	return fmt.Sprintf("Every run since %s (%d runs)", since.Format("Mon Jan 2"), len(runs))
}
