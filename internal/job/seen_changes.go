package job

import (
	"cmp"
	"slices"
	"time"

	"github.com/veltui/veltui/internal/velero"
)

type ChangeKind string

// The changes for which a resource has no time of its own.
const (
	SeenPhase       ChangeKind = "phase"
	SeenTotal       ChangeKind = "total"
	SeenVolumePhase ChangeKind = "volume phase"
)

// SeenChange is a change that this process saw happen.
type SeenChange struct {
	// At is when it happened, in the cluster's clock.
	At         time.Time
	ChangeKind ChangeKind
	// VolumeKind and Volume identify the volume, empty for the job's own changes.
	VolumeKind velero.VolumeKind
	Volume     string
	// From and To are phases; FromItems and ToItems are totals.
	From, To           string
	FromItems, ToItems int
}

// maxSeenChanges is how many changes of a job are kept: the newest.
const maxSeenChanges = 200

// recordSeenChanges records what changed since prev was seen; nothing when the job is first seen.
func (j *Job) recordSeenChanges(prev *Job, sameVolumes bool, at time.Time) {
	if prev == nil {
		return
	}
	if j.Phase != prev.Phase {
		j.addSeenChange(SeenChange{At: at, ChangeKind: SeenPhase, From: prev.Phase, To: j.Phase})
	}
	if from, to := prev.Items.Total, j.Items.Total; prev.Items.Known && from > 0 && from != to {
		if last := len(j.SeenChanges) - 1; last >= 0 && j.SeenChanges[last].ChangeKind == SeenTotal {
			// Velero may revise it with every item.
			from, j.SeenChanges = j.SeenChanges[last].FromItems, j.SeenChanges[:last]
		}
		if from != to {
			j.addSeenChange(SeenChange{At: at, ChangeKind: SeenTotal, FromItems: from, ToItems: to})
		}
	}
	if !sameVolumes {
		j.recordVolumePhases(prev.Volumes, at)
	}
}

// recordVolumePhases records phases for which the resource has no time. Both lists are sorted by kind and name.
func (j *Job) recordVolumePhases(old []Volume, at time.Time) {
	for i := range j.Volumes {
		v := &j.Volumes[i]
		for len(old) > 0 && compareVolumes(&old[0], v) < 0 {
			old = old[1:]
		}
		if len(old) == 0 || compareVolumes(&old[0], v) != 0 || old[0].Phase == v.Phase {
			continue
		}
		timed := v.Phase == velero.VolumeInProgress && !v.Started.IsZero() || v.HasEnded() && !v.Completed.IsZero() ||
			v.Phase == velero.VolumeAccepted && !v.Accepted.IsZero()
		if !timed {
			j.addSeenChange(
				SeenChange{
					At:         at,
					ChangeKind: SeenVolumePhase,
					VolumeKind: v.Kind,
					Volume:     v.Name,
					From:       old[0].Phase,
					To:         v.Phase,
				},
			)
		}
	}
}

func compareVolumes(a, b *Volume) int {
	return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name))
}

// addSeenChange appends to a copy of the list: older states of the job share theirs.
func (j *Job) addSeenChange(s SeenChange) {
	from := max(0, len(j.SeenChanges)+1-maxSeenChanges)
	j.SeenChanges = append(slices.Clone(j.SeenChanges[from:]), s)
}
