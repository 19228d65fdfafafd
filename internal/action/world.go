package action

import (
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/veltui/veltui/internal/diagnosis"
	"github.com/veltui/veltui/internal/job"
)

// world is what was gathered as the model that verdicts are made of, so that plans ask the same rules. The engine knows
// neither the other jobs as a whole nor what was seen before.
func (e *Evidence) world() *diagnosis.Environment {
	found := e.Evidence
	found.LastWork = e.lastWork()
	w := &diagnosis.Environment{
		Now: e.At, Server: e.Server, NodeAgents: e.Agents, Jobs: []*job.Job{e.Job}, Movers: e.Movers, Style: e.Style,
		Volumes: e.Moving, VolumesKnown: e.Volumes == Yes && e.MovingKnown == Yes,
		Malformed: slices.Concat(e.Malformed, e.MalformedVolumes),
		Listed: diagnosis.Listings{
			OwnVolumes: diagnosis.Listing(e.Volumes == Yes), Locations: diagnosis.Listing(e.Locations == Yes),
		},
		Evidence: map[types.UID]diagnosis.Evidence{e.Job.UID: found},
	}
	w.Server.SeenAt = e.At
	if l := e.Location; l != nil {
		w.Locations = map[string]diagnosis.Location{l.Name: *l}
		w.BackupLocations = map[string]string{e.Job.BackupName: l.Name}
	}
	return w
}
