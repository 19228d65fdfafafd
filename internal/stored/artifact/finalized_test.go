package artifact

import (
	"net/http"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/velero/veleroapi"
)

// endedBackup ended an hour after the store's files were modified, with operations.
func endedBackup(attempted int) *veleroapi.Backup {
	ended := metav1.NewTime(modified.Add(time.Hour))
	return &veleroapi.Backup{
		ObjectMeta: metav1.ObjectMeta{Name: backupName},
		Status: veleroapi.BackupStatus{
			Phase:                         veleroapi.BackupPhaseCompleted,
			CompletionTimestamp:           &ended,
			BackupItemOperationsAttempted: attempted,
		},
	}
}

func TestFinalized(t *testing.T) {
	stored := func(after time.Duration) job.Presence {
		return job.Presence{State: job.Present, LastModified: modified.Add(after)}
	}
	for name, c := range map[string]struct {
		contents, results job.Presence
		want              bool
	}{
		"stored once more at its end":       {stored(time.Hour), stored(0), true},
		"the first upload alone":            {stored(0), stored(time.Second), false},
		"the first upload within a second":  {stored(0), stored(0), false},
		"finalized in the second it stored": {stored(59 * time.Minute), stored(59 * time.Minute), true},
		"a copy of the bucket":              {stored(2 * time.Hour), stored(3 * time.Hour), true},
		"no results":                        {stored(0), job.Presence{State: job.Absent}, true},
		"the store does not say when":       {job.Presence{State: job.Present}, stored(0), true},
	} {
		if got := isFinalized(endedBackup(1), c.contents, c.results); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestFinalizedAsksTheStore(t *testing.T) {
	asked := 0
	b := newBed(t, false, func(w http.ResponseWriter, r *http.Request) {
		asked++
		at := modified
		if strings.Contains(r.URL.Path, "results") {
			at = modified.Add(time.Second)
		}
		http.ServeContent(w, r, "x", at, strings.NewReader(string(zip("{}"))))
	})
	if ok, err := b.fetcher().IsFinalized(t.Context(), endedBackup(0)); err != nil || !ok || asked > 0 {
		t.Errorf("a backup without operations: %v, %v, asked %d times", ok, err, asked)
	}
	running := endedBackup(1)
	running.Status.Phase = veleroapi.BackupPhaseFinalizing
	if ok, err := b.fetcher().IsFinalized(t.Context(), running); err != nil || !ok || asked > 0 {
		t.Errorf("a backup that is being finalized: %v, %v, asked %d times", ok, err, asked)
	}
	if ok, err := b.fetcher().IsFinalized(t.Context(), endedBackup(1)); err != nil || ok || asked != 2 {
		t.Errorf("its contents are older than its results: %v, %v, asked %d times", ok, err, asked)
	}
	b.noneLeft()
}
