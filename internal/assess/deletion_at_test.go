package assess

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/velero"
	"github.com/veltui/veltui/internal/velero/veleroapi"
)

// A job whose deletion was requested says so, whatever else is true of it.
func TestDeletionIsInTheVerdict(t *testing.T) {
	now := noon.Add(time.Minute)
	asked := metav1.NewTime(now.Add(-20 * time.Second))
	request := func(backup string, phase veleroapi.DeleteBackupRequestPhase, at metav1.Time) *veleroapi.DeleteBackupRequest {
		return &veleroapi.DeleteBackupRequest{
			ObjectMeta: metav1.ObjectMeta{Name: "d", CreationTimestamp: at},
			Spec: veleroapi.DeleteBackupRequestSpec{
				BackupName: backup,
			},
			Status: veleroapi.DeleteBackupRequestStatus{Phase: phase},
		}
	}
	backup := func(name string, phase veleroapi.BackupPhase) *job.Job {
		b := &veleroapi.Backup{
			ObjectMeta: metav1.ObjectMeta{
				Namespace:         "velero",
				Name:              name,
				UID:               "b",
				CreationTimestamp: metav1.NewTime(noon.Add(-time.Hour)),
			},
			Status: veleroapi.BackupStatus{Phase: phase},
		}
		return job.Fold(nil, job.Observation{Backup: b, ObservedAt: now})
	}
	deleted := func(phase veleroapi.RestorePhase) *job.Job {
		r := restore(phase, 900, 300).Object.(*veleroapi.Restore).DeepCopy()
		r.DeletionTimestamp, r.Finalizers = &asked, []string{"restores.velero.io/external-resources-finalizer"}
		return job.Fold(nil, job.Observation{Restore: r, ObservedAt: now})
	}
	for name, c := range map[string]struct {
		job     *job.Job
		request *veleroapi.DeleteBackupRequest
		deletes bool
	}{
		"a running restore":             {deleted(veleroapi.RestorePhaseInProgress), nil, true},
		"a new restore":                 {deleted(""), nil, true},
		"a finalizing restore":          {deleted(veleroapi.RestorePhaseFinalizing), nil, true},
		"a completed restore":           {deleted(veleroapi.RestorePhaseCompleted), nil, true},
		"a restore that nobody deletes": {restore(veleroapi.RestorePhaseInProgress, 900, 300), request("shop", "", asked), false},
		"a backup":                      {backup("nightly", veleroapi.BackupPhaseInProgress), request("nightly", veleroapi.DeleteBackupRequestPhaseInProgress, asked), true},
		"one named after deletions":     {backup("before-deletion", veleroapi.BackupPhaseInProgress), request("before-deletion", veleroapi.DeleteBackupRequestPhaseInProgress, asked), true},
		"a new request":                 {backup("nightly", veleroapi.BackupPhaseCompleted), request("nightly", veleroapi.DeleteBackupRequestPhaseNew, asked), true},
		"a request without a phase":     {backup("nightly", veleroapi.BackupPhaseCompleted), request("nightly", "", asked), true},
		"a request that failed":         {backup("nightly", veleroapi.BackupPhaseCompleted), request("nightly", veleroapi.DeleteBackupRequestPhaseProcessed, asked), false},
		"a request for another":         {backup("nightly", veleroapi.BackupPhaseCompleted), request("weekly", veleroapi.DeleteBackupRequestPhaseInProgress, asked), false},
		"a request for its predecessor": {backup("nightly", veleroapi.BackupPhaseCompleted), request("nightly", "", metav1.NewTime(noon.Add(-2*time.Hour))), false},
	} {
		for server, pod := range map[string]velero.ServerPod{"running": snapshotOf(now).Server.ServerPod, "down": {Name: "velero", LastTerminationReason: "Error"}} {
			snap := snapshotOf(now, c.job)
			snap.Server.ServerPod = pod
			if c.request != nil {
				snap.DeleteRequests = append(snap.DeleteRequests, c.request)
			}
			a := new(Estimates).AssessSnapshot(snap, now)
			judged := a.AssessJob(c.job)
			says := strings.Contains(judged.Verdict.Summary(), "its deletion was requested 20s ago") ||
				strings.Contains(judged.Verdict.Summary(), "being deleted")
			if says != c.deletes || judged.DeletionRequestedAt.IsZero() == c.deletes {
				t.Errorf("%s, server %s: deletion at %v: %s", name, server, judged.DeletionRequestedAt, judged.Verdict.Summary())
			}
		}
	}
}
