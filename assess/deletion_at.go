package assess

import (
	"strings"
	"time"

	"github.com/veltui/veltui/diagnosis"
	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/job"
	"github.com/veltui/veltui/velero"
)

// deletionAt returns when the deletion of a job was requested, and is still under way:
// by its deletion timestamp, or for a backup by a DeleteBackupRequest that is not
// processed (docs/dev/velero.md#deletion).
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

// noteDeletion completes the verdict's sentence: how a job moves is half of the truth
// while it is being deleted.
func (j *Judged) noteDeletion(env diagnosis.Environment) {
	j.DeletionAt = deletionAt(j.Job, env)
	if !j.DeletionAt.IsZero() && !strings.Contains(j.Verdict.Summary, "deletion") && !strings.Contains(j.Verdict.Summary, "being deleted") {
		j.Verdict.Summary += "; its deletion was requested " + human.Duration(max(0, env.Now.Sub(j.DeletionAt))) + " ago"
	}
}
