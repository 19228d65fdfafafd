package job

import (
	"fmt"
	"strings"
)

// standing is how far the job is, in words.
func (j *Job) standing() string {
	switch j.Stage {
	case StageQueued:
		return "has not begun"
	case StageItems:
		return j.itemsStanding()
	case StageVolumes:
		return j.track.filesystem.standing("items done; ")
	case StageOperations:
		if j.track.movers.count > 0 {
			return j.track.movers.standing("items done; ")
		}
		return fmt.Sprintf("items done; %d of %s ended", j.Operations.ended(),
			plural(j.Operations.Attempted, "operation"))
	case StageFinalizing:
		if strings.HasSuffix(j.Phase, "PartiallyFailed") {
			return "all work done, with errors; Velero finalizes"
		}
		return "all work done, Velero finalizes"
	case StageDeleting:
		return "being deleted"
	}
	return "phase " + cut(j.Phase, 40)
}

func (j *Job) itemsStanding() string {
	switch {
	case !j.Items.Known && j.Kind == Restore:
		return "reading the backup, no count yet"
	case !j.Items.Known:
		return "collecting what to back up, no count yet"
	case j.Items.Done >= j.Items.Total:
		return fmt.Sprintf("all %s done", plural(j.Items.Total, "item"))
	}
	return fmt.Sprintf("%d of %s", j.Items.Done, plural(j.Items.Total, "item"))
}

func (t tally) standing(prefix string) string {
	if t.active() == 0 {
		return prefix + plural(t.count, "volume") + " ended"
	}
	if t.sized() {
		return prefix + fmt.Sprintf("%s of %s in %s", Size(t.done), Size(t.total), plural(t.count, "volume"))
	}
	return prefix + fmt.Sprintf("%d of %s ended", t.ended, plural(t.count, "volume"))
}

// verb is what the job does to its items.
func (j *Job) verb() string {
	if j.Kind == Restore {
		return "restored"
	}
	return "backed up"
}
