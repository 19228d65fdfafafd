package job

import (
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/veltui/veltui/internal/velero"
)

func manyVolumes(n int) []Volume {
	volumes := make([]Volume, n)
	for i := range volumes {
		volumes[i] = volume(
			velero.DataUpload,
			fmt.Sprintf("du-%05d", i),
			velero.VolumeInProgress,
			int64(i),
			1<<20,
			9,
			1,
		)
	}
	return volumes
}

// BenchmarkNextItems is one progress patch of a job without volumes.
func BenchmarkNextItems(b *testing.B) {
	in := spec{name: "b", phase: velero.PhaseInProgress, started: 9, total: 1 << 30}.input()
	j := Fold(nil, in)
	for i := 0; b.Loop(); i++ {
		in.Backup = in.Backup.DeepCopy()
		in.Backup.ResourceVersion = strconv.Itoa(i)
		in.Backup.Status.Progress.ItemsBackedUp = i
		in.ObservedAt = in.ObservedAt.Add(time.Second)
		j = Fold(j, in)
	}
	if j.Items.Done == 0 {
		b.Fatal("nothing moved")
	}
}

// BenchmarkNextVolume is one volume's update, by how many volumes the job has.
// The copy of the slice, which the caller makes, is part of it.
func BenchmarkNextVolume(b *testing.B) {
	for _, n := range []int{2, 50, 1500} {
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			in := spec{
				name:    "b",
				phase:   velero.PhaseWaitingForPluginOperations,
				started: 9,
				done:    9,
				total:   9,
				volumes: manyVolumes(n),
			}.input()
			j := Fold(nil, in)
			for i := 0; b.Loop(); i++ {
				in.Volumes = slices.Clone(in.Volumes)
				in.Volumes[i%n].Done++
				in.ObservedAt = in.ObservedAt.Add(time.Second)
				j = Fold(j, in)
			}
		})
	}
}

// BenchmarkNextUnchanged is what a relist costs for each job.
func BenchmarkNextUnchanged(b *testing.B) {
	in := spec{name: "b", phase: velero.PhaseWaitingForPluginOperations, started: 9, done: 9, total: 9, volumes: manyVolumes(20)}.input()
	j := Fold(nil, in)
	again := in
	again.Backup, again.Volumes = in.Backup.DeepCopy(), slices.Clone(in.Volumes)
	for b.Loop() {
		if Fold(j, again) != j {
			b.Fatal("a job that did not change is another one")
		}
	}
}
