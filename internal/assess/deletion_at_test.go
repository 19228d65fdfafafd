package assess

import (
	"strings"
	"testing"
	"time"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/velero"
)

// A job whose deletion was requested says so, whatever else is true of it.
func TestDeletionIsInTheVerdict(t *testing.T) {
	now := noon.Add(time.Minute)
	asked := metav1.NewTime(now.Add(-20 * time.Second))
	request := func(backup string, phase velerov1.DeleteBackupRequestPhase, at metav1.Time) *velerov1.DeleteBackupRequest {
		return &velerov1.DeleteBackupRequest{
			ObjectMeta: metav1.ObjectMeta{Name: "d", CreationTimestamp: at},
			Spec: velerov1.DeleteBackupRequestSpec{
				BackupName: backup,
			},
			Status: velerov1.DeleteBackupRequestStatus{Phase: phase},
		}
	}
	backup := func(name string, phase velerov1.BackupPhase) *job.Job {
		b := &velerov1.Backup{
			ObjectMeta: metav1.ObjectMeta{
				Namespace:         "velero",
				Name:              name,
				UID:               "b",
				CreationTimestamp: metav1.NewTime(noon.Add(-time.Hour)),
			},
			Status: velerov1.BackupStatus{Phase: phase},
		}
		return job.Next(nil, job.Input{Backup: b, At: now})
	}
	deleted := func(phase velerov1.RestorePhase) *job.Job {
		r := restore(phase, 900, 300).Object.(*velerov1.Restore).DeepCopy()
		r.DeletionTimestamp, r.Finalizers = &asked, []string{"restores.velero.io/external-resources-finalizer"}
		return job.Next(nil, job.Input{Restore: r, At: now})
	}
	for name, c := range map[string]struct {
		job     *job.Job
		request *velerov1.DeleteBackupRequest
		deletes bool
	}{
		"a running restore":             {deleted(velerov1.RestorePhaseInProgress), nil, true},
		"a new restore":                 {deleted(""), nil, true},
		"a finalizing restore":          {deleted(velerov1.RestorePhaseFinalizing), nil, true},
		"a completed restore":           {deleted(velerov1.RestorePhaseCompleted), nil, true},
		"a restore that nobody deletes": {restore(velerov1.RestorePhaseInProgress, 900, 300), request("shop", "", asked), false},
		"a backup":                      {backup("nightly", velerov1.BackupPhaseInProgress), request("nightly", velerov1.DeleteBackupRequestPhaseInProgress, asked), true},
		"one named after deletions":     {backup("before-deletion", velerov1.BackupPhaseInProgress), request("before-deletion", velerov1.DeleteBackupRequestPhaseInProgress, asked), true},
		"a new request":                 {backup("nightly", velerov1.BackupPhaseCompleted), request("nightly", velerov1.DeleteBackupRequestPhaseNew, asked), true},
		"a request without a phase":     {backup("nightly", velerov1.BackupPhaseCompleted), request("nightly", "", asked), true},
		"a request that failed":         {backup("nightly", velerov1.BackupPhaseCompleted), request("nightly", velerov1.DeleteBackupRequestPhaseProcessed, asked), false},
		"a request for another":         {backup("nightly", velerov1.BackupPhaseCompleted), request("weekly", velerov1.DeleteBackupRequestPhaseInProgress, asked), false},
		"a request for its predecessor": {backup("nightly", velerov1.BackupPhaseCompleted), request("nightly", "", metav1.NewTime(noon.Add(-2*time.Hour))), false},
	} {
		for server, pod := range map[string]velero.ServerPod{"running": snapshotOf(now).Server.ServerPod, "down": {Name: "velero", LastTermination: "Error"}} {
			snap := snapshotOf(now, c.job)
			snap.Server.ServerPod = pod
			if c.request != nil {
				snap.Deletions = append(snap.Deletions, c.request)
			}
			a := new(Estimates).Assess(snap, now)
			judged := a.Of(c.job)
			says := strings.Contains(judged.Verdict.Summary(), "its deletion was requested 20s ago") ||
				strings.Contains(judged.Verdict.Summary(), "being deleted")
			if says != c.deletes || judged.DeletionAt.IsZero() == c.deletes {
				t.Errorf("%s, server %s: deletion at %v: %s", name, server, judged.DeletionAt, judged.Verdict.Summary())
			}
		}
	}
}
