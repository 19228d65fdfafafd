package assess

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/velero"
	"github.com/veltui/veltui/internal/velero/veleroapi"
	"github.com/veltui/veltui/watch"
)

// sizes are what one nightly run holds.
type sizes struct {
	items, volumes int
	bytes          int64 // of each volume
	phase          veleroapi.BackupPhase
	namespaces     []string
}

// nightly makes runs of a schedule, the newest first, a day apart, and judges them.
func nightly(sources watch.SourceState, all ...sizes) Schedule {
	var jobs []*job.Job
	for i, r := range all {
		b := &veleroapi.Backup{
			ObjectMeta: object(fmt.Sprintf("n-%d", len(all)-i), time.Duration(i)*24*time.Hour+10*time.Hour),
		}
		b.Labels = map[string]string{veleroapi.ScheduleNameLabel: "s"}
		b.Spec.IncludedNamespaces = r.namespaces
		b.Status = veleroapi.BackupStatus{
			Phase:          cmp.Or(r.phase, veleroapi.BackupPhaseCompleted),
			StartTimestamp: &b.CreationTimestamp,
			CompletionTimestamp: &metav1.Time{
				Time: b.CreationTimestamp.Add(time.Minute),
			},
			Progress: &veleroapi.BackupProgress{TotalItems: r.items, ItemsBackedUp: r.items},
		}
		in := job.Observation{Backup: b, ObservedAt: noon}
		for v := range r.volumes {
			in.Volumes = append(
				in.Volumes,
				job.Volume{
					Kind:  velero.PodVolumeBackup,
					Name:  fmt.Sprint(v),
					UID:   types.UID(fmt.Sprint(i, v)),
					Phase: velero.VolumeCompleted,
					Done:  r.bytes,
					Total: r.bytes,
				},
			)
		}
		jobs = append(jobs, job.Fold(nil, in))
	}
	snap := alive(jobs...)
	for _, kind := range []string{watch.PodVolumeBackups, watch.DataUploads} {
		snap.Sources = append(snap.Sources, watch.Source{Resource: kind, State: sources})
	}
	snap.Schedules = []*veleroapi.Schedule{
		{ObjectMeta: object("s", 9000*time.Hour), Spec: veleroapi.ScheduleSpec{Schedule: "0 2 * * *"},
			Status: veleroapi.ScheduleStatus{Phase: veleroapi.SchedulePhaseEnabled, LastBackup: before(10 * time.Hour)}},
	}
	var e Estimates
	return e.AssessSnapshot(snap, noon).JudgeSchedules()[0]
}

func times(n int, r sizes) []sizes { return slices.Repeat([]sizes{r}, n) }

func TestRunsThatLostSomething(t *testing.T) {
	full, gib := sizes{items: 900, volumes: 5, bytes: 1 << 30}, int64(1<<30)
	partly := sizes{items: 100, volumes: 1, bytes: gib, phase: veleroapi.BackupPhasePartiallyFailed}
	for name, c := range map[string]struct {
		runs   []sizes // newest first
		source watch.SourceState
		want   string // of the note, empty for none
	}{
		"as ever":              {runs: times(8, full)},
		"half of the items":    {append([]sizes{{items: 400, volumes: 5, bytes: gib}}, times(5, full)...), "", "! The last run is Completed, but holds less than the runs before: 400 items, usually 900."},
		"one volume of five":   {append([]sizes{{items: 890, volumes: 4, bytes: gib}}, times(5, full)...), "", "~ The last run is Completed, but holds less than the runs before: 4 volumes, usually 5."},
		"all volumes":          {append([]sizes{{items: 900}}, times(5, full)...), "", "! The last run is Completed, but holds less than the runs before: 0 volumes, usually 5; 0B of volume data, usually 5.0G."},
		"bytes":                {append([]sizes{{items: 900, volumes: 5, bytes: gib / 2}}, times(5, full)...), "", "! The last run is Completed, but holds less than the runs before: 2.5G of volume data, usually 5.0G."},
		"volumes are not seen": {append([]sizes{{items: 900}}, times(5, full)...), watch.SourceForbidden, ""},
		"volumes are read":     {append([]sizes{{items: 900}}, times(5, full)...), watch.SourceSyncing, ""},
		"too few before":       {append([]sizes{{items: 9}}, times(2, full)...), "", ""},
		"since three nights": {append(times(3, sizes{items: 300, volumes: 5, bytes: gib}), times(5, full)...), "",
			"! Every run since Wed Nov 18 (3 runs) is Completed, but holds less than the runs before: 300 items, usually 900."},
		"for two weeks": {append(times(14, sizes{items: 300, volumes: 5, bytes: gib}), times(5, full)...), "",
			"! Every run since Sat Nov 7 (14 runs) is Completed, but holds less than the runs before: 300 items, usually 900."},
		"bad runs are no measure":   {append([]sizes{full, partly, partly, partly}, times(3, full)...), "", ""},
		"behind a bad run":          {append([]sizes{{items: 300, volumes: 5, bytes: gib}, partly}, times(3, full)...), "", "! The last run is Completed, but holds less than the runs before: 300 items, usually 900."},
		"the template was narrowed": {append([]sizes{{items: 300, volumes: 1, namespaces: []string{"shop"}}}, times(5, full)...), "", ""},
		"one run of many lost":      {append([]sizes{full, {items: 300}}, times(5, full)...), "", ""},
		"a bad run is another note": {append([]sizes{partly}, times(5, full)...), "", ""},
	} {
		source := c.source
		if source == "" {
			source = watch.SourceLive
		}
		s := nightly(source, c.runs...)
		got := ""
		for _, line := range strings.Split(said(s.Notes), "\n") {
			if strings.Contains(line, "holds less") {
				got = line
			}
		}
		if got != c.want || (s.Loss != nil) != (c.want != "") {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// TestHealthyRunsAreSilent: what grows, shrinks slowly or varies by chance is no loss.
func TestHealthyRunsAreSilent(t *testing.T) {
	for seed := range uint64(1000) {
		r := rand.New(rand.NewPCG(seed, 24))
		items, volumes, bytes := 20+r.Float64()*5000, r.IntN(30), float64(uint64(1)<<(16+r.IntN(24)))
		drift, noise := 0.99+r.Float64()*0.04, r.Float64()*0.1
		around := func(n float64) float64 { return n * (1 + noise*(2*r.Float64()-1)) }
		var runs []sizes
		for range 4 + r.IntN(40) {
			items, bytes = items*drift, bytes*drift
			if r.IntN(10) == 0 {
				volumes++
			}
			runs = append(runs, sizes{items: int(around(items)), volumes: volumes, bytes: int64(around(bytes))})
			if r.IntN(8) == 0 {
				runs = append(runs, sizes{items: 1, phase: veleroapi.BackupPhaseFailed})
			}
		}
		slices.Reverse(runs)
		if s := nightly(watch.SourceLive, runs...); s.Loss != nil {
			t.Errorf("seed %d: %v of %v", seed, s.Loss.Measures, runs[:min(len(runs), 9)])
		}
	}
}

func TestTrendShowsNamespaces(t *testing.T) {
	for name, c := range map[string]struct {
		newest, before, added, removed []string
	}{
		"the same":    {newest: []string{"a", "b"}, before: []string{"b", "a"}},
		"one more":    {newest: []string{"a", "b"}, before: []string{"a"}, added: []string{"b"}},
		"one less":    {newest: []string{"a"}, before: []string{"a", "b"}, removed: []string{"b"}},
		"all at last": {before: []string{"a", "b"}, added: []string{"*"}},
		"only some":   {newest: []string{"a", "b"}, before: []string{"*"}, removed: []string{"*"}},
	} {
		s := nightly(watch.SourceLive, sizes{namespaces: c.newest}, sizes{namespaces: c.before})
		if got := s.ComparedRuns[0]; !slices.Equal(got.AddedNamespaces, c.added) || !slices.Equal(got.RemovedNamespaces, c.removed) ||
			s.ComparedRuns[1].AddedNamespaces != nil {
			t.Errorf("%s: added %q, removed %q", name, got.AddedNamespaces, got.RemovedNamespaces)
		}
	}
	spec, than := veleroapi.BackupSpec{}, veleroapi.BackupSpec{ExcludedNamespaces: []string{"dev"}}
	if got := addedNamespaces(spec, than); !slices.Equal(got, []string{"dev"}) || addedNamespaces(than, spec) != nil {
		t.Errorf("without an exclusion: %q", got)
	}
}

func TestTheSameFailureIsOneNote(t *testing.T) {
	failed, full := sizes{phase: veleroapi.BackupPhaseFailedValidation}, sizes{items: 9}
	s := nightly(watch.SourceLive, append(times(5, failed), full, full)...)
	if got := said(s.Notes); !strings.Contains(got, "! Every run since Mon Nov 16 (5 runs) is FailedValidation.") {
		t.Errorf("%s", got)
	}
}

// Volumes are read where a schedule has runs.
func TestNeedsVolumes(t *testing.T) {
	for name, c := range map[string]struct {
		jobs []*job.Job
		want int
	}{
		"none": {}, "by hand": {[]*job.Job{runOf("", "b", veleroapi.BackupPhaseCompleted, time.Hour)}, 0},
		"has not ended": {[]*job.Job{runOf("s", "b", veleroapi.BackupPhaseInProgress, time.Hour)}, 0},
		"a run":         {[]*job.Job{runOf("s", "b", veleroapi.BackupPhaseCompleted, time.Hour)}, 2},
	} {
		if got := NeededVolumeKinds(c.jobs); len(got) != c.want {
			t.Errorf("%s: %q", name, got)
		}
	}
}
