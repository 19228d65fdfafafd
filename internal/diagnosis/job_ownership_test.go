package diagnosis

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/velero"
)

// Who works on a job is decided by the starts of all servers, by what shows that a start is later than the job, and by
// the work since.
func TestOwnershipOf(t *testing.T) {
	// It last moved half a minute after its start, so that no later write hides what is asked.
	j := spec{kind: job.Restore, phase: velero.PhaseInProgress, started: 60, changed: 59.5, done: 4, total: 9}.job(t)
	started := j.Started
	pod := func(after time.Duration, change ...func(*velero.ServerPod)) velero.ServerPod {
		p := velero.ServerPod{
			Name:      "velero-1",
			Running:   true,
			StartedAt: started.Add(after),
			Created:   started.Add(-time.Hour),
		}
		for _, c := range change {
			c(&p)
		}
		return p
	}
	younger := func(p *velero.ServerPod) { p.Created = started.Add(time.Second) }
	ended := func(p *velero.ServerPod) { p.LastTerminationAt = started.Add(time.Second) }
	unknown := func(p *velero.ServerPod) { p.StartedAt = time.Time{} }
	const before, soon, later = -time.Minute, time.Minute, 20 * time.Minute
	for _, c := range []struct {
		name string
		pods []velero.ServerPod
		e    JobEvidence
		want Ownership
	}{
		{"it was there before", []velero.ServerPod{pod(before)}, JobEvidence{}, Owned},
		{"it started long after the last write", []velero.ServerPod{pod(later)}, JobEvidence{}, Disowned},
		{"it started shortly after", []velero.ServerPod{pod(soon)}, JobEvidence{}, OwnershipUnknown},
		{"the same, in a younger pod", []velero.ServerPod{pod(soon, younger)}, JobEvidence{}, Disowned},
		{"the same, and its last container ended since", []velero.ServerPod{pod(soon, ended)}, JobEvidence{}, DisownedByOneClock},
		{"the same, and that one logged about the job", []velero.ServerPod{pod(soon, ended)}, JobEvidence{ServerLog: velero.JobLog{ByPredecessor: true}}, Disowned},
		{"its log speaks of the job before its start", []velero.ServerPod{pod(later)}, JobEvidence{ServerLog: velero.JobLog{BeforeStart: true}}, OwnershipUnknown},
		{"a file was stored since", []velero.ServerPod{pod(later)}, JobEvidence{LastServerWork: noon}, Owned},
		{"an older one runs beside it", []velero.ServerPod{pod(before), pod(later)}, JobEvidence{}, Owned},
		{"two started after", []velero.ServerPod{pod(later), pod(later)}, JobEvidence{}, Disowned},
		{"one of two may have been there", []velero.ServerPod{pod(soon), pod(later)}, JobEvidence{}, OwnershipUnknown},
		{"when one started is not known", []velero.ServerPod{pod(later), pod(later, unknown)}, JobEvidence{}, OwnershipUnknown},
		{"none runs", nil, JobEvidence{}, OwnershipUnknown},
	} {
		env := World{
			Now:      noon,
			Server:   velero.NewServer(c.pods, noon),
			Evidence: map[types.UID]JobEvidence{j.UID: c.e},
		}
		if got := OwnershipOf(j, &env); got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
	}
}
