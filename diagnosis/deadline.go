package diagnosis

import (
	"time"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"

	"github.com/veltui/veltui/job"
	"github.com/veltui/veltui/velero"
)

// Deadline is when Velero itself gives up on a job's present stage, in the
// cluster's clock, and the setting that says so; zero if nothing bounds it
// (docs/velero.md#limits).
func Deadline(j *job.Job, env Environment) (at time.Time, setting string) {
	return deadline(j, j.Stage, env.Server.Flags)
}

func deadline(j *job.Job, stage job.Stage, flags velero.ServerFlags) (at time.Time, setting string) {
	began := j.Record(stage).Began
	if began.IsZero() || j.Object == nil {
		return time.Time{}, ""
	}
	switch stage {
	case job.StageVolumes:
		// One time-out for all pod volumes, counted from the start of the job.
		if !j.Started.IsZero() {
			return j.Started.Add(velero.PodVolumeTimeout(j.Object, flags)), "fs-backup-timeout"
		}
	case job.StageOperations:
		// Counted from the creation of each operation, so from the beginning of
		// the stage at the latest.
		return began.Add(velero.ItemOperationTimeout(j.Object, flags)), "itemOperationTimeout"
	case job.StageFinalizing:
		// Three workers bind volumes, each waits up to the time-out for one.
		// Hooks are waited for without limit.
		if j.Kind == job.Restore && !hasHooks(j) {
			return began.Add(bindingLimit(j, flags)), "resource-timeout"
		}
	}
	return time.Time{}, ""
}

// maxRounds bounds what is multiplied: a limit of years says nothing.
const maxRounds = 1000

// bindingLimit is how long finalizing a restore may take to bind its volumes:
// three workers do, and each waits up to the time-out for one
// (pkg/controller/restore_finalizer_controller.go).
func bindingLimit(j *job.Job, flags velero.ServerFlags) time.Duration {
	rounds := min((max(1, j.VolumeCount())+2)/3, maxRounds)
	return time.Duration(rounds) * velero.ResourceTimeout(j.Object, flags)
}

// hasHooks reports whether the resource itself asks for hooks; annotations of
// pods may ask for more.
func hasHooks(j *job.Job) bool {
	switch o := j.Object.(type) {
	case *velerov1.Backup:
		return len(o.Spec.Hooks.Resources) > 0
	case *velerov1.Restore:
		return len(o.Spec.Hooks.Resources) > 0
	}
	return false
}
