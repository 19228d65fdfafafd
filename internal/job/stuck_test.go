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
func readStuck(t *testing.T, name string, written time.Time) Observation {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("testdata", "stuck", filepath.FromSlash(name)+".yaml"))
	if err != nil {
		t.Fatal(err)
	}
	in := readObject(t, raw)
	in.ObservedAt = written
	stamp := metav1.NewTime(written)
	object, _ := in.customResource()
	object.SetManagedFields([]metav1.ManagedFieldsEntry{{Manager: "velero-server", Time: &stamp}})
	return in
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
			j = Fold(prev, readStuck(t, file, at.Add(time.Duration(i)*time.Minute)))
			checkStep(t, prev, j)
		}
	}
}
