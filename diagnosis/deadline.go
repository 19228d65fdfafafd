package diagnosis

import (
	"time"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"

	"github.com/veltui/veltui/job"
	"github.com/veltui/veltui/velero"
)

// maxRounds bounds what is multiplied: a limit of years says nothing.
const maxRounds = 1000

// decisive is the wait that gives a stage its deadline.
var decisive = map[job.Stage]velero.WaitName{
	job.StageVolumes: velero.WaitPodVolumes, job.StageOperations: velero.WaitOperations, job.StageFinalizing: velero.WaitBinding,
}

// Deadline is when Velero itself gives up on a job's present stage, in the
// cluster's clock, and the setting that says so; zero if nothing bounds it
// (docs/dev/velero.md#waits).
func Deadline(j *job.Job, env Environment) (at time.Time, setting string) {
	if j.Object == nil || j.Record(j.Stage).Began.IsZero() {
		return time.Time{}, ""
	}
	a := &assessment{j: j, env: &env}
	name := decisive[j.Stage]
	if j.Stage == job.StageFinalizing && hasHooks(j) {
		name = velero.WaitRestoreHooks
	}
	for _, w := range a.waits() {
		if w.row.Name == name && !w.until.IsZero() {
			return w.until.Add(-w.row.Limit.After), w.row.Limit.Setting
		}
	}
	return time.Time{}, ""
}

// firstPodVolume is when the first of the job's pod volumes was created, zero if it
// has none.
func firstPodVolume(j *job.Job) time.Time {
	var first time.Time
	for i := range j.Volumes {
		if v := &j.Volumes[i]; v.Kind.IsPodVolume() && !v.Created.IsZero() && (first.IsZero() || v.Created.Before(first)) {
			first = v.Created
		}
	}
	return first
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
