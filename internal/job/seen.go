package job

import (
	"cmp"
	"slices"
	"time"

	"github.com/veltui/veltui/internal/velero"
)

type SeenWhat string

// The changes that leave no time of their own in a resource.
const (
	SeenPhase       SeenWhat = "phase"
	SeenTotal       SeenWhat = "total"
	SeenVolumePhase SeenWhat = "volume phase"
)

// Seen is a change that this process saw happen.
type Seen struct {
	// At is when, in the cluster's clock.
	At   time.Time
	What SeenWhat
	// Kind and Volume are those of the volume, empty for the job's own changes.
	Kind   velero.VolumeKind
	Volume string
	// From and To are phases, FromItems and ToItems totals.
	From, To           string
	FromItems, ToItems int
}

// maxSeen is how many changes are kept of a job: the newest.
const maxSeen = 200

// remember notes what changed since prev was seen; nothing at the first look.
func (j *Job) remember(prev *Job, sameVolumes bool, at time.Time) {
	if prev == nil {
		return
	}
	if j.Phase != prev.Phase {
		j.note(Seen{At: at, What: SeenPhase, From: prev.Phase, To: j.Phase})
	}
	if from, to := prev.Items.Total, j.Items.Total; prev.Items.Known && from > 0 && from != to {
		if last := len(j.Seen) - 1; last >= 0 && j.Seen[last].What == SeenTotal {
			// Velero may revise it with every item.
			from, j.Seen = j.Seen[last].FromItems, j.Seen[:last]
		}
		if from != to {
			j.note(Seen{At: at, What: SeenTotal, FromItems: from, ToItems: to})
		}
	}
	if !sameVolumes {
		j.rememberVolumes(prev.Volumes, at)
	}
}

// rememberVolumes notes phases for which the resource has no time. Both lists are sorted by kind and name.
func (j *Job) rememberVolumes(old []Volume, at time.Time) {
	for i := range j.Volumes {
		v := &j.Volumes[i]
		for len(old) > 0 && compareVolumes(&old[0], v) < 0 {
			old = old[1:]
		}
		if len(old) == 0 || compareVolumes(&old[0], v) != 0 || old[0].Phase == v.Phase {
			continue
		}
		timed := v.Phase == velero.VolumeInProgress && !v.Started.IsZero() || v.Ended() && !v.Completed.IsZero() ||
			v.Phase == velero.VolumeAccepted && !v.Accepted.IsZero()
		if !timed {
			j.note(Seen{At: at, What: SeenVolumePhase, Kind: v.Kind, Volume: v.Name, From: old[0].Phase, To: v.Phase})
		}
	}
}

func compareVolumes(a, b *Volume) int {
	return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name))
}

// note appends to a list of its own: older states of the job share theirs.
func (j *Job) note(s Seen) {
	from := max(0, len(j.Seen)+1-maxSeen)
	j.Seen = append(slices.Clone(j.Seen[from:]), s)
}
