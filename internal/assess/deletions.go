package assess

import (
	"cmp"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/veltui/veltui/internal/diagnosis"
	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/velero"
	"github.com/veltui/veltui/internal/velero/veleroapi"
	"github.com/veltui/veltui/watch"
)

type Deletion struct {
	*veleroapi.DeleteBackupRequest
	// Backup is the backup to delete, nil if it is missing.
	Backup *job.Job
	// Restores counts the restores of that backup: Velero deletes them, too.
	Restores int
	Notes    []Note

	finding Finding
}

// State returns failed, hangs, or Velero's phase.
func (d Deletion) State() string {
	switch {
	case len(d.Status.Errors) > 0:
		return DeletionFailed
	case IsAlarming(d.Notes):
		return DeletionHangs
	}
	return cmp.Or(string(d.Status.Phase), velero.PhaseNew)
}

const (
	DeletionFailed = "failed"
	DeletionHangs  = "hangs"
)

// maxDeletionWait is how long a request may be New: one worker handles one deletion at a time.
const maxDeletionWait = 10 * time.Minute

// maxDeletionTime is how long a deletion may take. Velero sets no limit, deletes one backup at a time, and waits for
// the jobs that use the same repository (pkg/repository/locker.go).
const maxDeletionTime = 4 * time.Hour

// JudgeDeletions returns all requests, newest first.
func (a *Assessment) JudgeDeletions() []Deletion {
	found := make([]Deletion, len(a.Snapshot.DeleteRequests))
	backups, restores := map[string]*job.Job{}, map[string]int{}
	if len(found) > 0 {
		for _, j := range a.Snapshot.Jobs {
			if j.Kind == job.Backup {
				backups[j.Name] = j
			} else {
				restores[j.BackupName]++
			}
		}
	}
	for i, d := range a.Snapshot.DeleteRequests {
		found[i] = Deletion{
			DeleteBackupRequest: d,
			Backup:              backups[d.Spec.BackupName],
			Restores:            restores[d.Spec.BackupName],
		}
		a.judgeDeletion(&found[i])
	}
	slices.SortStableFunc(found, func(a, b Deletion) int {
		return cmp.Or(b.CreationTimestamp.Compare(a.CreationTimestamp.Time), strings.Compare(a.Name, b.Name))
	})
	return found
}

// judgeDeletion follows pkg/controller/backup_deletion_controller.go Reconcile (1.16 to 1.18.3;
// docs/dev/velero.md#deletion).
func (a *Assessment) judgeDeletion(d *Deletion) {
	say := noteAdder(&d.Notes)
	need := func(reason diagnosis.Reason, format string, args ...any) {
		d.finding = Finding{
			Severity: Warning,
			Reason:   reason,
			Since:    d.CreationTimestamp.Time,
			Summary:  human.Shorten(say(Alarming, format, args...), 300),
		}
	}
	again := "velero backup delete " + d.Spec.BackupName
	switch server := a.World.Server; d.Status.Phase {
	case veleroapi.DeleteBackupRequestPhaseProcessed:
		unsure, errors := a.IsIncomplete(watch.Backups), human.Count(len(d.Status.Errors), "error")
		switch {
		case len(d.Status.Errors) == 0 && d.Backup == nil && !unsure:
			say(Fine, "The backup is deleted.")
		case len(d.Status.Errors) == 0:
			say(Fine, "Velero says that the backup is deleted.")
		case unsure:
			need(diagnosis.DeletionFailed, "It ended with %s: %s", errors, human.Shorten(d.Status.Errors[0], 300))
		case d.Backup == nil:
			say(Unusual, "It ended with %s, but backup %s no longer exists.", errors, d.Spec.BackupName)
		default:
			need(diagnosis.DeletionFailed, "The backup is not deleted: %s", human.Shorten(d.Status.Errors[0], 300))
			retry := ""
			if isExpired(d.Backup, a.World.Now) { // pkg/controller/gc_controller.go Reconcile
				retry = " The backup has expired, so Velero's garbage collector makes a new request every hour."
			}
			say(
				Unusual,
				"Velero does not try this request again. Fix the cause, then delete it again: %s.%s",
				again,
				retry,
			)
		}
	case veleroapi.DeleteBackupRequestPhaseInProgress:
		var judged JudgedJob
		if d.Backup != nil && !d.Backup.IsTerminal() {
			judged = a.AssessJob(d.Backup)
		}
		switch began := job.LastWritten(d); {
		case judged.IsTroubled():
			need(DeletionStuck, "%s. %s", judged.Verdict.Summary(), judged.Verdict.Advice)
		case server.Visible && server.StartedAt.After(began):
			need(
				DeletionStuck,
				"The Velero server restarted %s ago, after it began with this. It looks at the request again only when that "+
					"is a day old, and then drops it. Delete it again: %s",
				a.formatAge(server.StartedAt),
				again,
			)
		case a.World.Now.Sub(began) > maxDeletionTime:
			need(DeletionStuck, "Velero has been deleting the backup for %s, and other deletions wait for it%s",
				a.formatAge(began), a.remainingText(d))
		default:
			say(Fine, "Velero has been deleting the backup for %s%s", a.formatAge(began), a.remainingText(d))
		}
	default:
		switch waits := a.deletionAhead(d); {
		case server.Visible && !server.Running:
			need(DeletionStuck, "No Velero server runs, so nothing is deleted.")
		case waits != "":
			say(Unusual, "Waiting for the deletion of %s: Velero deletes one backup at a time.", waits)
		case a.World.Now.Sub(d.CreationTimestamp.Time) > maxDeletionWait:
			need(DeletionStuck, "Velero has not begun with it for %s", a.formatAge(d.CreationTimestamp.Time))
		default:
			say(Fine, "Not started yet.")
		}
	}
}

func (a *Assessment) remainingText(d *Deletion) string {
	switch {
	case a.IsIncomplete(watch.Backups):
		return ""
	case d.Backup == nil:
		return ": the backup itself is gone"
	case d.Restores == 0 && d.Backup.VolumeCount() == 0:
		return ": the backup is still there"
	}
	parts := []string{"the backup"}
	if d.Restores > 0 {
		atLeast := map[bool]string{true: "at least "}[a.IsIncomplete(watch.Restores)]
		parts = append(parts, atLeast+human.Count(d.Restores, "restore"))
	}
	if n := d.Backup.VolumeCount(); n > 0 {
		parts = append(parts, human.Count(n, "volume"))
	}
	return ": " + human.JoinNames(parts, len(parts)) + " are still there"
}

func isExpired(j *job.Job, now time.Time) bool {
	b, ok := j.Object.(*veleroapi.Backup)
	return ok && velero.IsExpired(b, now)
}

// deletionAhead returns the backup whose deletion is under way and must end before this one can begin.
func (a *Assessment) deletionAhead(d *Deletion) string {
	server := a.World.Server
	for _, other := range a.Snapshot.DeleteRequests {
		if server.Visible && server.StartedAt.After(job.LastWritten(other)) {
			continue // nothing works on that deletion
		}
		if other.UID != d.UID && other.Status.Phase == veleroapi.DeleteBackupRequestPhaseInProgress {
			return other.Spec.BackupName
		}
	}
	return ""
}

// periodOrDefault returns a period of a location, Velero's default if the location sets none.
func periodOrDefault(d *metav1.Duration) time.Duration {
	if d == nil || d.Duration < 0 {
		return storeCheckPeriod
	}
	return d.Duration
}

// deletionRequestedAt returns when a deletion under way was requested: timestamp or DeleteBackupRequest
// (docs/dev/velero.md#deletion).
func deletionRequestedAt(j *job.Job, env diagnosis.World) (at time.Time) {
	if deleted := j.Object.GetDeletionTimestamp(); deleted != nil {
		at = deleted.Time
	}
	for _, d := range env.DeletionRequests {
		ofJob := j.Kind == job.Backup && d.Backup == j.Name && !d.Created.Before(j.Created)
		if ofJob && d.Phase != velero.DeletionProcessed && (at.IsZero() || d.Created.Before(at)) {
			at = d.Created
		}
	}
	return at
}

// noteDeletion completes the verdict's sentence while the job is being deleted.
func (j *JudgedJob) noteDeletion(env diagnosis.World) {
	j.DeletionRequestedAt = deletionRequestedAt(j.Job, env)
	noted := j.Stage == job.StageDeleting || j.Deleting && j.IsTerminal() || j.Verdict.Reason == diagnosis.Deleting
	if !j.DeletionRequestedAt.IsZero() && !noted {
		j.Verdict.Text += "; its deletion was requested " + env.Style.Duration(env.Now.Sub(j.DeletionRequestedAt)) + " ago"
	}
}
