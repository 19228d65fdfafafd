package diagnosis

import (
	"fmt"
	"strings"

	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/job"
	"github.com/veltui/veltui/velero"
)

// progressText says how far the job is.
func progressText(j *job.Job) string {
	switch j.Stage {
	case job.StageQueued:
		return "has not begun"
	case job.StageItems:
		return itemsText(j)
	case job.StageVolumes:
		return volumesText(j.PodVolumes())
	case job.StageOperations:
		if j.DataMovements().Count > 0 {
			return volumesText(j.DataMovements())
		}
		return fmt.Sprintf("items done; %d of %s ended", j.Operations.Ended(),
			human.Count(j.Operations.Attempted, "operation"))
	case job.StageFinalizing:
		if strings.HasSuffix(j.Phase, velero.PhasePartiallyFailed) {
			return "all work done, with errors; Velero finalizes"
		}
		return "all work done, Velero finalizes"
	case job.StageDeleting:
		return "being deleted"
	}
	return "phase " + human.Shorten(j.Phase, 40)
}

func itemsText(j *job.Job) string {
	switch {
	case !j.Items.Known && j.Kind == job.Restore:
		return "reading the backup, no count yet"
	case !j.Items.Known:
		return "collecting what to back up, no count yet"
	case j.Items.Done >= j.Items.Total:
		return human.All(j.Items.Total, "item") + " done"
	}
	return fmt.Sprintf("%s of %s", human.Number(j.Items.Done), human.Count(j.Items.Total, "item"))
}

func volumesText(t job.Tally) string {
	switch {
	case t.Active() == 0:
		return fmt.Sprintf("items done; %s ended", human.Count(t.Count, "volume"))
	case t.Sized():
		return fmt.Sprintf("items done; %s of %s in %s", human.Bytes(t.Done), human.Bytes(t.Total), human.Count(t.Count, "volume"))
	}
	return fmt.Sprintf("items done; %d of %s ended", t.Ended, human.Count(t.Count, "volume"))
}

// verb is what the job does to its items.
func verb(j *job.Job) string {
	if j.Kind == job.Restore {
		return "restored"
	}
	return "backed up"
}
