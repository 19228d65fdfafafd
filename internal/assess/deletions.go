package assess

import (
	"cmp"
	"slices"
	"strings"
	"time"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/veltui/veltui/internal/diagnosis"
	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/velero"
	"github.com/veltui/veltui/watch"
)

type Deletion struct {
	*velerov1.DeleteBackupRequest
	// Backup is what it deletes, nil if that is missing.
	Backup *job.Job
	// Restores counts the restores from that backup: Velero deletes them, too.
	Restores int
	Notes    []Note

	finding Finding
}

// State is failed, hangs, or Velero's phase.
func (d Deletion) State() string {
	switch {
	case len(d.Status.Errors) > 0:
		return DeletionFailed
	case Alarmed(d.Notes):
		return DeletionHangs
	}
	return cmp.Or(string(d.Status.Phase), velero.PhaseNew)
}

const (
	DeletionFailed = "failed"
	DeletionHangs  = "hangs"
)

// deletionWaits is how long a request may be New: one worker makes one deletion at a time.
const deletionWaits = 10 * time.Minute

// Deletions are all requests, newest first.
func (a *Assessment) Deletions() []Deletion {
	found := make([]Deletion, len(a.Snapshot.Deletions))
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
	for i, d := range a.Snapshot.Deletions {
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

// judgeDeletion goes by pkg/controller/backup_deletion_controller.go Reconcile (1.16 to 1.18.3;
// docs/dev/velero.md#deletion).
func (a *Assessment) judgeDeletion(d *Deletion) {
	say := noteTo(&d.Notes)
	need := func(reason diagnosis.Reason, format string, args ...any) {
		d.finding = Finding{
			Severity: Warning,
			Reason:   reason,
			Since:    d.CreationTimestamp.Time,
			Summary:  human.Shorten(say(Alarming, format, args...), 300),
		}
	}
	again := "velero backup delete " + d.Spec.BackupName
	switch server := a.Environment.Server; d.Status.Phase {
	case velerov1.DeleteBackupRequestPhaseProcessed:
		unsure, errors := a.Incomplete(watch.Backups), human.Count(len(d.Status.Errors), "error")
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
			if expired(d.Backup, a.Environment.Now) { // pkg/controller/gc_controller.go Reconcile
				retry = " The backup has expired, so Velero's garbage collector makes a new request every hour."
			}
			say(
				Unusual,
				"Velero does not try this request again. Fix the cause, then delete it again: %s.%s",
				again,
				retry,
			)
		}
	case velerov1.DeleteBackupRequestPhaseInProgress:
		var judged Judged
		if d.Backup != nil && !d.Backup.Terminal() {
			judged = a.Of(d.Backup)
		}
		switch began := job.LastWritten(d); {
		case judged.Troubled():
			need(DeletionStuck, "%s. %s", judged.Verdict.Summary(), judged.Verdict.Advice)
		case server.Visible && server.StartedAt.After(began):
			need(
				DeletionStuck,
				"The Velero server restarted %s ago, after it began with this. It looks at the request again only when that "+
					"is a day old, and then drops it. Delete it again: %s",
				a.ago(server.StartedAt),
				again,
			)
		default:
			say(Fine, "Velero has been deleting the backup for %s%s", a.ago(began), a.left(d))
		}
	default:
		switch waits := a.ahead(d); {
		case server.Visible && !server.Running:
			need(DeletionStuck, "No Velero server runs, so nothing is deleted.")
		case waits != "":
			say(Unusual, "Waiting for the deletion of %s: Velero deletes one backup at a time.", waits)
		case a.Environment.Now.Sub(d.CreationTimestamp.Time) > deletionWaits:
			need(DeletionStuck, "Velero has not begun with it for %s", a.ago(d.CreationTimestamp.Time))
		default:
			say(Fine, "Not started yet.")
		}
	}
}

func (a *Assessment) left(d *Deletion) string {
	switch {
	case a.Incomplete(watch.Backups):
		return ""
	case d.Backup == nil:
		return ": the backup itself is gone"
	case d.Restores == 0 && d.Backup.VolumeCount() == 0:
		return ": the backup is still there"
	}
	parts := []string{"the backup"}
	if d.Restores > 0 {
		atLeast := map[bool]string{true: "at least "}[a.Incomplete(watch.Restores)]
		parts = append(parts, atLeast+human.Count(d.Restores, "restore"))
	}
	if n := d.Backup.VolumeCount(); n > 0 {
		parts = append(parts, human.Count(n, "volume"))
	}
	return ": " + human.List(parts, len(parts)) + " are still there"
}

func expired(j *job.Job, now time.Time) bool {
	b, ok := j.Object.(*velerov1.Backup)
	return ok && velero.Expired(b, now)
}

// ahead is the backup whose deletion is under way before this one can begin.
func (a *Assessment) ahead(d *Deletion) string {
	server := a.Environment.Server
	for _, other := range a.Snapshot.Deletions {
		if server.Visible && server.StartedAt.After(job.LastWritten(other)) {
			continue // nothing works on it
		}
		if other.UID != d.UID && other.Status.Phase == velerov1.DeleteBackupRequestPhaseInProgress {
			return other.Spec.BackupName
		}
	}
	return ""
}

// periodOf is a period of a location, Velero's default where it sets none.
func periodOf(d *metav1.Duration) time.Duration {
	if d == nil || d.Duration < 0 {
		return storeCheck
	}
	return d.Duration
}

// deletionAt is when a deletion under way was requested: timestamp or DeleteBackupRequest
// (docs/dev/velero.md#deletion).
func deletionAt(j *job.Job, env diagnosis.Environment) (at time.Time) {
	if deleted := j.Object.GetDeletionTimestamp(); deleted != nil {
		at = deleted.Time
	}
	for _, d := range env.Deletions {
		ofJob := j.Kind == job.Backup && d.Backup == j.Name && !d.Created.Before(j.Created)
		if ofJob && d.Phase != velero.DeletionProcessed && (at.IsZero() || d.Created.Before(at)) {
			at = d.Created
		}
	}
	return at
}

// noteDeletion completes the verdict's sentence while the job is being deleted.
func (j *Judged) noteDeletion(env diagnosis.Environment) {
	j.DeletionAt = deletionAt(j.Job, env)
	noted := j.Stage == job.StageDeleting || j.Deleting && j.Terminal() || j.Verdict.Reason == diagnosis.Deleting
	if !j.DeletionAt.IsZero() && !noted {
		j.Verdict.Text += "; its deletion was requested " + env.Style.Duration(env.Now.Sub(j.DeletionAt)) + " ago"
	}
}
