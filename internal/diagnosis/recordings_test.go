package diagnosis

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/velero/veleroapi"
)

// almost is what a bar shows at most of a job that has not ended.
const almost = 0.99

// readStuck reads a resource recorded from a real Velero. The recordings hold no
// managed fields: written says when Velero last wrote it.
func readStuck(t *testing.T, name string, written time.Time) job.Observation {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("..", "job", "testdata", "stuck", filepath.FromSlash(name)+".yaml"))
	if err != nil {
		t.Fatal(err)
	}
	stamp := metav1.NewTime(written)
	fields := []metav1.ManagedFieldsEntry{{Manager: "velero-server", Time: &stamp}}
	in := job.Observation{ObservedAt: written}
	if strings.Contains(string(raw), "kind: Restore") {
		in.Restore = &veleroapi.Restore{}
		err = yaml.Unmarshal(raw, in.Restore)
		in.Restore.ManagedFields = fields
	} else {
		in.Backup = &veleroapi.Backup{}
		err = yaml.Unmarshal(raw, in.Backup)
		in.Backup.ManagedFields = fields
	}
	if err != nil {
		t.Fatal(err)
	}
	return in
}

func TestStuckRecordings(t *testing.T) {
	const day = "2026-11-21T"
	at := func(clock string) time.Time {
		when, err := time.Parse(time.RFC3339, day+clock+"Z")
		if err != nil {
			t.Fatal(err)
		}
		return when
	}
	up := func(now, since string) World {
		s := healthy()
		s.Now, s.Server.SeenAt, s.Server.StartedAt = at(now), at(now), at(since)
		return s
	}
	down := up("02:10:00", "01:00:00")
	down.Now = at("01:58:00")
	down.Server.Running, down.Server.LastTerminationReason, down.Server.LastTerminationAt = false, "Error", at("01:54:50")
	gone := down
	gone.Now = at("02:03:00")
	store := up("02:00:00", "01:00:00")
	storeIs := func(phase string) World {
		s := store
		s.Locations = map[string]LocationStatus{"default": {Name: "default", Phase: phase}}
		return s
	}
	for _, c := range []struct {
		file    string
		written string
		s       World
		want    State
		reason  Reason
		full    float64
	}{
		// s1: the server was killed in the middle, and was down for a while.
		{"s1/at-kill", "01:54:49", up("01:54:50", "01:00:00"), Progressing, ItemsMoving, 117. / 242},
		{"s1/12s-later-still-down", "01:54:49", down, Waiting, ServerStarting, 117. / 242},
		{"s1/12s-later-still-down", "01:54:49", gone, Stuck, ServerDown, 117. / 242},
		{"s1/12s-later-still-down", "01:54:49", up("02:30:00", "02:00:00"), Orphaned, ServerRestarted, 117. / 242},
		{"s1/after-restart", "01:55:09", up("02:00:00", "01:55:00"), "", Failed, 117. / 242},
		// s2: terminated after the items; a restart goes on with finalizing.
		{"s2/after-term", "01:55:15", up("01:55:20", "01:55:18"), Progressing, Finalizing, almost},
		{"s2/after-restart", "01:55:17", up("02:00:00", "01:55:16"), "", Completed, 1},
		// s3, s13, s14, s15: the last status patches were lost on a live server, which only
		// its log and the object store show.
		{"s3/apiserver-back", "01:56:00", up("01:56:30", "01:50:00"), Progressing, ItemsMoving, 215. / 242},
		{"s3/20s-later", "01:56:00", up("02:00:00", "01:50:00"), Quiet, SlowItem, 215. / 242},
		{"s13/after-240s", "02:40:10", up("02:45:30", "02:00:00"), Quiet, SlowItem, 204. / 229},
		{"s13/after-240s", "02:40:10", up("03:10:10", "02:00:00"), Quiet, SlowItem, 204. / 229},
		{"s14/stuck", "02:56:00", up("03:20:00", "02:00:00"), Quiet, SlowItem, 204. / 229},
		{"s14/after-nudge", "02:57:11", up("03:20:00", "02:00:00"), "", PartiallyFailed, 204. / 229},
		// Of a backup a hook that a pod asks for may explain the silence.
		{"s15/stuck", "02:57:20", up("03:20:00", "02:00:00"), Quiet, SlowItem, 0},
		{"s15/after-nudge", "02:59:03", up("03:20:00", "02:00:00"), "", PartiallyFailed, 0},
		// s7: the object store is gone while the restore is finalized.
		{"s7/while-s3-down-3min", "01:57:00", storeIs("Unavailable"), Waiting, LocationUnavailable, almost},
		{"s7/while-s3-down-3min", "01:57:00", storeIs("Available"), Waiting, Finalizing, almost},
		{"s7/end", "02:02:00", storeIs("Available"), "", PartiallyFailed, 1},
		// s10: the API server was away, but came back in time.
		{"s10/apiserver-back", "02:06:40", up("02:07:10", "02:00:00"), Progressing, ItemsMoving, 215. / 242},
		{"s10/end", "02:07:36", up("02:10:00", "02:00:00"), "", PartiallyFailed, 215. / 242},
		// a6: an operation that never ends, which a restart of the server does not change.
		{"a6/waiting-for-ever", "02:05:05", up("02:30:00", "02:00:00"), Waiting, WaitingForOperations, 0},
		{"a6/after-velero-restart", "02:05:05", up("02:30:00", "02:20:00"), Waiting, WaitingForOperations, 0},
		{"a6/after-velero-restart", "02:05:05", up("06:30:00", "02:20:00"), Stuck, LimitPassed, 0},
		{"a6/after-restart-plugin-missing", "02:05:19", up("02:30:00", "02:20:00"), "", PartiallyFailed, 1},
	} {
		t.Run(c.file+" "+string(c.want), func(t *testing.T) {
			j := job.Fold(nil, readStuck(t, c.file, at(c.written)))
			c.s.Evidence = map[types.UID]JobEvidence{j.UID: {NamespacesChecked: true}}
			checkVerdict(t, j, Judge(j, c.s), c.want, c.reason)
			if j.Fraction != c.full {
				t.Errorf("fraction %v, want %v", j.Fraction, c.full)
			}
		})
	}
}
