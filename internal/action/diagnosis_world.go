package action

import (
	"cmp"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/veltui/veltui/internal/diagnosis"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/velero"
)

// buildWorld converts the gathered evidence to the model that verdicts are made from, so that plans apply the same
// rules. The engine knows neither the full state of the other jobs nor what was seen before.
func (e *Evidence) buildWorld() *diagnosis.World {
	found := e.JobEvidence
	found.LastServerWork = e.lastServerWork()
	w := &diagnosis.World{
		Now: e.Now, Server: e.Server, NodeAgents: e.Agents, Jobs: []*job.Job{e.Job}, MoverPods: e.MoverPods, Style: e.Style,
		Volumes: e.AllOpenVolumes, VolumesKnown: e.VolumesListed == Yes && e.AllOpenVolumesListed == Yes,
		MalformedResources: slices.Concat(e.MalformedJobs, e.MalformedVolumes),
		Listed: diagnosis.Listings{
			OwnVolumes: diagnosis.ListCompleteness(
				e.VolumesListed == Yes,
			), Locations: diagnosis.ListCompleteness(e.LocationsListed == Yes),
		},
		Evidence: map[types.UID]diagnosis.JobEvidence{e.Job.UID: found},
	}
	w.Server.SeenAt = e.Now
	if e.Job.IsTerminal() && !isStillRunning(e.Object, e.Now) {
		w.JobEnds = map[velero.VolumeRef]time.Time{}
		for _, v := range e.unendedVolumes() {
			w.JobEnds[v.Ref()] = cmp.Or(e.Job.Completed, e.Job.LastChanged)
		}
	}
	if l := e.Location; l != nil {
		w.Locations = map[string]diagnosis.LocationStatus{l.Name: *l}
		w.LocationByBackup = map[string]string{e.Job.BackupName: l.Name}
	}
	return w
}
