package jobview

import (
	"context"
	"time"

	"github.com/veltui/veltui/internal/cluster"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/ui/fetch"
	"github.com/veltui/veltui/ui/keys"
)

// Sources are what the pages read through.
type Sources struct {
	cluster.Inspector
	// WhyNoClipboard says why nothing can be copied, and what to do instead; else empty.
	WhyNoClipboard string
	// Keys are those that sentences name.
	Keys  keys.Map
	Start fetch.Start
	Clock func() time.Time
}

// withVolumes returns a job with the volumes that it leaves out.
func (s *Sources) withVolumes(ctx context.Context, j *job.Job) (*job.Job, error) {
	if j.LeftOut() == 0 {
		return j, nil
	}
	all, err := s.ReadVolumes(ctx, j)
	if err != nil {
		return nil, err
	}
	return j.WithVolumes(all), nil
}
