package job

import (
	"fmt"
	"testing"
	"time"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/veltui/veltui/internal/velero"
)

// TestSeenIsWhatChanged: nothing at first sight; then phases, the total once
// however often it is revised, and those phases of volumes that leave no time.
func TestSeenIsWhatChanged(t *testing.T) {
	at := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	version := 0
	look := func(prev *Job, phase velerov1.RestorePhase, total int, volumes ...Volume) *Job {
		version++
		at = at.Add(time.Second)
		r := &velerov1.Restore{
			ObjectMeta: metav1.ObjectMeta{
				Name:            "r",
				Namespace:       "velero",
				UID:             "r",
				ResourceVersion: fmt.Sprint(version),
			},
		}
		r.Status.Phase = phase
		r.Status.Progress = &velerov1.RestoreProgress{TotalItems: total, ItemsRestored: version}
		return Next(prev, Input{Restore: r, Volumes: volumes, At: at})
	}
	j := look(nil, "InProgress", 100)
	if len(j.Seen) != 0 {
		t.Fatalf("at first sight: %+v", j.Seen)
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
	want := []Seen{
		{What: SeenTotal, FromItems: 100, ToItems: 140},
		{What: SeenVolumePhase, Kind: velero.PodVolumeRestore, Volume: "a", From: "New", To: "Prepared"},
		{What: SeenPhase, From: "InProgress", To: "Finalizing"},
	}
	if len(j.Seen) != len(want) {
		t.Fatalf("seen: %+v", j.Seen)
	}
	for i, s := range j.Seen {
		if s.At.IsZero() {
			t.Errorf("%+v has no time", s)
		}
		if s.At = (time.Time{}); s != want[i] {
			t.Errorf("seen %+v, want %+v", s, want[i])
		}
	}
	if len(first.Seen) != 1 || first.Seen[0].ToItems != 120 {
		t.Errorf("an older state changed: %+v", first.Seen)
	}
	for range 2 * maxSeen {
		j = look(look(j, "Finalizing", 140), "InProgress", 140)
	}
	if len(j.Seen) != maxSeen || j.Seen[maxSeen-1].To != "InProgress" {
		t.Errorf("%d changes are kept, the last is %+v", len(j.Seen), j.Seen[len(j.Seen)-1])
	}
}
