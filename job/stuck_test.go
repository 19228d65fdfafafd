package job

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// readStuck reads a recorded resource. The recordings hold no managed fields:
// written says when Velero last wrote it.
func readStuck(t *testing.T, name string, written time.Time) Input {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("testdata", "stuck", filepath.FromSlash(name)+".yaml"))
	if err != nil {
		t.Fatal(err)
	}
	in := readObject(t, raw)
	in.At = written
	stamp := metav1.NewTime(written)
	object, _ := in.object()
	object.SetManagedFields([]metav1.ManagedFieldsEntry{{Manager: "velero-server", Time: &stamp}})
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
	up := func(now, since string) Surroundings {
		s := healthy()
		s.Now, s.Server.SeenAt, s.Server.StartedAt = at(now), at(now), at(since)
		return s
	}
	down := up("02:10:00", "01:00:00")
	down.Now = at("01:58:00")
	down.Server.Running, down.Server.LastTermination, down.Server.LastTerminationAt = false, "Error", at("01:54:50")
	store := up("02:00:00", "01:00:00")
	storeIs := func(phase string) Surroundings {
		s := store
		s.Locations = map[string]Location{"default": {Name: "default", Phase: phase}}
		return s
	}
	for _, c := range []struct {
		file    string
		written string
		s       Surroundings
		want    State
		says    string
		full    float64
	}{
		// s1: the server was killed in the middle, and was down for a while.
		{"s1/at-kill", "01:54:49", up("01:54:50", "01:00:00"), Progressing, "117 of 242 items", 117. / 242},
		{"s1/12s-later-still-down", "01:54:49", down, Stuck, "no Velero server runs (Error); when it is back it marks this Failed", 117. / 242},
		{"s1/12s-later-still-down", "01:54:49", up("02:30:00", "02:00:00"), Orphaned, "nobody works on it", 117. / 242},
		{"s1/after-restart", "01:55:09", up("02:00:00", "01:55:00"), "", "Failed after 24s at 117 of 242 items", 117. / 242},
		// s2: terminated after the items; a restart goes on with finalizing.
		{"s2/after-term", "01:55:15", up("01:55:20", "01:55:18"), Progressing, "Velero finalizes", almost},
		{"s2/after-restart", "01:55:17", up("02:00:00", "01:55:16"), "", "Completed in 7s, 242 items, 4 warnings", 1},
		// s3, s13, s14, s15: the last status patches were lost on a live server.
		{"s3/apiserver-back", "01:56:00", up("01:56:30", "01:50:00"), Progressing, "215 of 242 items", 215. / 242},
		{"s3/20s-later", "01:56:00", up("02:00:00", "01:50:00"), Quiet, "215 of 242 items, quiet for 4m", 215. / 242},
		{"s13/after-240s", "02:40:10", up("02:45:30", "02:00:00"), Quiet, "204 of 229 items, quiet for 5m20s", 204. / 229},
		{"s13/after-240s", "02:40:10", up("03:10:10", "02:00:00"), Stuck, "204 of 229 items, quiet for 30m", 204. / 229},
		{"s14/stuck", "02:56:00", up("03:20:00", "02:00:00"), Stuck, "longer than Velero waits for any item", 204. / 229},
		{"s14/after-nudge", "02:57:11", up("03:20:00", "02:00:00"), "", "PartiallyFailed after 1m26s, 204 of 229 items counted, 27 errors", 204. / 229},
		{"s15/stuck", "02:57:20", up("03:20:00", "02:00:00"), Stuck, "0 of 2363 items, quiet for 22m", 0},
		{"s15/after-nudge", "02:59:03", up("03:20:00", "02:00:00"), "", "PartiallyFailed after 1m52s", 0},
		// s7: the object store is gone while the restore is finalized.
		{"s7/while-s3-down-3min", "01:57:00", storeIs("Unavailable"), Stuck, "waits to be finalized: storage location default is unavailable", almost},
		{"s7/while-s3-down-3min", "01:57:00", storeIs("Available"), Waiting, "finalizing for 3m", almost},
		{"s7/end", "02:02:00", storeIs("Available"), "", "PartiallyFailed after", 1},
		// s10: the API server was away, but came back in time.
		{"s10/apiserver-back", "02:06:40", up("02:07:10", "02:00:00"), Progressing, "215 of 242", 215. / 242},
		{"s10/end", "02:07:36", up("02:10:00", "02:00:00"), "", "PartiallyFailed after 1m23s, 215 of 242 items counted, 27 errors", 215. / 242},
		// a6: an operation that never ends, which a restart of the server does not change.
		{"a6/waiting-for-ever", "02:05:05", up("02:30:00", "02:00:00"), Waiting, "waits for 5 of 5 operations; Velero gives up at 06:05 UTC", 0},
		{"a6/after-velero-restart", "02:05:05", up("02:30:00", "02:20:00"), Waiting, "waits for 5 of 5 operations", 0},
		{"a6/after-velero-restart", "02:05:05", up("06:30:00", "02:20:00"), Stuck, "5 operations not ended 24m after Velero's own limit", 0},
		{"a6/after-restart-plugin-missing", "02:05:19", up("02:30:00", "02:20:00"), "", "PartiallyFailed after 19s, 95 items, 5 errors", 1},
	} {
		t.Run(c.file+" "+string(c.want), func(t *testing.T) {
			j := Next(nil, readStuck(t, c.file, at(c.written)))
			checkVerdict(t, j, j.Verdict(c.s), c.want, c.says)
			if j.Fraction != c.full {
				t.Errorf("fraction %v, want %v", j.Fraction, c.full)
			}
		})
	}
}

// What was done about the stuck ones leads on, never back.
func TestStuckRecordingsGoOn(t *testing.T) {
	at := time.Date(2026, 11, 21, 3, 0, 0, 0, time.UTC)
	for _, files := range [][]string{
		{"s1/at-kill", "s1/12s-later-still-down", "s1/after-restart"},
		{"s2/after-term", "s2/after-restart"},
		{"s3/apiserver-back", "s3/20s-later", "s3/after-cli-delete"},
		{"s7/while-s3-down-3min", "s7/end"},
		{"s10/apiserver-back", "s10/end"},
		{"s14/stuck", "s14/after-nudge"},
		{"s15/stuck", "s15/after-nudge"},
		{"a6/waiting-for-ever", "a6/after-velero-restart", "a6/after-restart-plugin-missing"},
	} {
		var j *Job
		for i, file := range files {
			prev := j
			j = Next(prev, readStuck(t, file, at.Add(time.Duration(i)*time.Minute)))
			checkStep(t, prev, j)
		}
	}
}
