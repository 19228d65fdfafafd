package jobview

import (
	"context"
	"time"

	"github.com/veltui/veltui/internal/assess"
	"github.com/veltui/veltui/internal/cluster"
	"github.com/veltui/veltui/internal/diagnosis"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/restore/live"
	"github.com/veltui/veltui/internal/restore/verify"
	"github.com/veltui/veltui/internal/stored/artifact"
	"github.com/veltui/veltui/internal/stored/logs"
	"github.com/veltui/veltui/internal/stored/results"
	"github.com/veltui/veltui/internal/velero"
	"github.com/veltui/veltui/ui/fetch"
	"github.com/veltui/veltui/ui/keys"
)

// Backend answers what the pages of a job ask of its cluster. Questions end with ctx, and may take as long as
// downloads. Answers and errors are safe to draw, and errors are on one line.
type Backend interface {
	// UnavailableReason returns why a capability is unavailable, or an empty string.
	UnavailableReason(p cluster.Capability) string
	volumeReader
	endReader
	storedReader
	logReader
	reporter
}

// volumeReader reads the volumes of a job from the API server.
type volumeReader interface {
	ReadVolumes(ctx context.Context, j *job.Job) ([]job.Volume, error)
	FetchVolumeObject(ctx context.Context, namespace string, volume velero.VolumeRef) (cluster.ObjectDocument, error)
	FetchVolumeObjects(ctx context.Context, j *job.Job, most int) ([]cluster.ObjectDocument, error)
}

// endReader reads what says why a job ended badly.
type endReader interface {
	// GatherEndEvidence reads it where nothing at hand says why, and says what it could not read.
	GatherEndEvidence(ctx context.Context, a *assess.Assessment, j *job.Job) diagnosis.EndEvidence
}

// storedReader reads what Velero stored of a job in the object store.
type storedReader interface {
	FetchResults(ctx context.Context, j *job.Job) (artifact.Results, error)
	FetchStoredVolumes(ctx context.Context, j *job.Job) ([]artifact.VolumeInfo, error)
	FetchOperations(ctx context.Context, j *job.Job) ([]artifact.Operation, error)
	FetchItems(ctx context.Context, j *job.Job, server velero.Server) (results.Items, error)
	VerifyRestore(
		ctx context.Context,
		j *job.Job,
		in *assess.Assessment,
		progress func(live.Progress),
		far func(string),
	) (verify.Result, error)
}

// logReader reads what Velero logged of a job.
type logReader interface {
	ReadLog(ctx context.Context, q logs.Query, out logs.Output) error
	FetchProblems(ctx context.Context, j *job.Job) (logs.Problems, error)
}

// reporter makes the report of a job and saves it.
type reporter interface {
	// BuildReport makes the document of `veltui report`, in Markdown.
	BuildReport(ctx context.Context, a *assess.Assessment, j assess.JudgedJob) (string, error)
	SaveFile(path string, data []byte) (saved string, err error) // as a new file
}

// Dependencies are what the pages read through.
type Dependencies struct {
	Backend
	// ClipboardUnavailable says why nothing can be copied, and what to do instead; else empty.
	ClipboardUnavailable string
	// MayChange reports whether the user may change anything at all from here.
	MayChange bool
	// Keys are the keys that sentences name.
	Keys  keys.Overrides
	Start fetch.StartFunc
	Clock func() time.Time
}

// withVolumes returns a job together with the volumes that it only sums up.
func (s *Dependencies) withVolumes(ctx context.Context, j *job.Job) (*job.Job, error) {
	if j.SummedVolumeCount() == 0 {
		return j, nil
	}
	all, err := s.ReadVolumes(ctx, j)
	if err != nil {
		return nil, err
	}
	return j.WithVolumes(all), nil
}
