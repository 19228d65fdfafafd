package job

import (
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/veltui/veltui/internal/velero"
	"github.com/veltui/veltui/internal/velero/veleroapi"
)

// TestSeenIsWhatChanged: nothing at first sight; then phases, the total once
// however often it is revised, and those phases of volumes that leave no time.
func TestSeenIsWhatChanged(t *testing.T) {
	at := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	version := 0
	look := func(prev *Job, phase veleroapi.RestorePhase, total int, volumes ...Volume) *Job {
		version++
		at = at.Add(time.Second)
		r := &veleroapi.Restore{
			ObjectMeta: metav1.ObjectMeta{
				Name:            "r",
				Namespace:       "velero",
				UID:             "r",
				ResourceVersion: fmt.Sprint(version),
			},
		}
		r.Status.Phase = phase
		r.Status.Progress = &veleroapi.RestoreProgress{TotalItems: total, ItemsRestored: version}
		return Fold(prev, Observation{Restore: r, Volumes: volumes, ObservedAt: at})
	}
	j := look(nil, "InProgress", 100)
	if len(j.SeenChanges) != 0 {
		t.Fatalf("at first sight: %+v", j.SeenChanges)
	}
	first := look(
		j,
		"InProgress",
		120,
		Volume{Kind: velero.PodVolumeRestore, Name: "a", Phase: "New"},
		Volume{Kind: velero.PodVolumeRestore, Name: "b", Phase: "New"},
	)
	j = look(
		first,
		"InProgress",
		140,
		Volume{Kind: velero.PodVolumeRestore, Name: "a", Phase: "Prepared"},
		Volume{Kind: velero.PodVolumeRestore, Name: "b", Phase: "InProgress", Started: at},
	)
	j = look(j, "Finalizing", 140, Volume{Kind: velero.PodVolumeRestore, Name: "b", Phase: "Completed", Completed: at})
	want := []SeenChange{
		{ChangeKind: SeenTotal, FromItems: 100, ToItems: 140},
		{ChangeKind: SeenVolumePhase, VolumeKind: velero.PodVolumeRestore, Volume: "a", From: "New", To: "Prepared"},
		{ChangeKind: SeenPhase, From: "InProgress", To: "Finalizing"},
	}
	if len(j.SeenChanges) != len(want) {
		t.Fatalf("seen: %+v", j.SeenChanges)
	}
	for i, s := range j.SeenChanges {
		if s.At.IsZero() {
			t.Errorf("%+v has no time", s)
		}
		if s.At = (time.Time{}); s != want[i] {
			t.Errorf("seen %+v, want %+v", s, want[i])
		}
	}
	if len(first.SeenChanges) != 1 || first.SeenChanges[0].ToItems != 120 {
		t.Errorf("an older state changed: %+v", first.SeenChanges)
	}
	for range 2 * maxSeenChanges {
		j = look(look(j, "Finalizing", 140), "InProgress", 140)
	}
	if len(j.SeenChanges) != maxSeenChanges || j.SeenChanges[maxSeenChanges-1].To != "InProgress" {
		t.Errorf("%d changes are kept, the last is %+v", len(j.SeenChanges), j.SeenChanges[len(j.SeenChanges)-1])
	}
}
