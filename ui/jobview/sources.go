package jobview

import (
	"context"
	"time"

	"github.com/veltui/veltui/assess"
	"github.com/veltui/veltui/inspect"
	"github.com/veltui/veltui/job"
	"github.com/veltui/veltui/restore/target"
	"github.com/veltui/veltui/restore/verify"
	"github.com/veltui/veltui/stored/artifact"
	"github.com/veltui/veltui/stored/logs"
	"github.com/veltui/veltui/stored/outcome"
	"github.com/veltui/veltui/ui/fetch"
	"github.com/veltui/veltui/ui/keys"
	"github.com/veltui/veltui/velero"
)

// Sources are what the pages read through. What is nil is not read: the page says so.
// Answers and errors are safe to draw, and errors are on one line. Reads take as long as downloads, and end with ctx.
type Sources struct {
	// Artifacts reads what Velero has stored of a job, and WhyNoArtifacts says why it is nil.
	Artifacts      Artifacts
	WhyNoArtifacts string
	Objects        Objects
	// Items are a backup's contents, or what a restore did with each and did not restore of its backup, which
	// depends on the server's version and flags. The job has ended, or is a backup whose items are done.
	Items func(ctx context.Context, j *job.Job, server velero.Server) (outcome.Items, error)
	// Verify compares the cluster with a restore; one goroutine at a time calls progress.
	Verify   func(ctx context.Context, j *job.Job, in *assess.Assessment, progress func(target.Progress)) (verify.Result, error)
	Reporter Reporter
	Logs     func(ctx context.Context, q logs.Query, out logs.Output) error
	// Problems reads the errors and warnings that the server has logged so far.
	Problems func(ctx context.Context, j *job.Job) (logs.Problems, error)
	// Volumes reads all volumes of a job, sorted by kind and name; nil where jobs leave none out.
	Volumes func(ctx context.Context, j *job.Job) ([]job.Volume, error)
	// WhyNoClipboard says why nothing can be copied, and what to do instead; else empty.
	WhyNoClipboard string
	// Keys are those that sentences name.
	Keys  keys.Map
	Start fetch.Start
	Clock func() time.Time
}

// withVolumes returns a job with the volumes that it leaves out.
func (s *Sources) withVolumes(ctx context.Context, j *job.Job) (*job.Job, error) {
	if s.Volumes == nil || j.LeftOut() == 0 {
		return j, nil
	}
	all, err := s.Volumes(ctx, j)
	if err != nil {
		return nil, err
	}
	return j.WithVolumes(all), nil
}

// Artifacts reads what Velero has stored of a job. All but the operations are known once it has ended.
type Artifacts interface {
	Results(ctx context.Context, j *job.Job) (artifact.Results, error)
	// Resources are the items that the job worked on.
	Resources(ctx context.Context, j *job.Job) ([]artifact.Resources, error)
	// Volumes are what the job did with each volume.
	Volumes(ctx context.Context, j *job.Job) ([]artifact.Volume, error)
	Operations(ctx context.Context, j *job.Job) ([]artifact.Operation, error)
}

// Objects reads volumes' resources from the cluster.
type Objects interface {
	Volume(ctx context.Context, namespace string, volume velero.VolumeRef) (inspect.Document, error)
	// Volumes are a job's, maxDocuments at most, without unreadable ones; it fails if none can be read.
	Volumes(ctx context.Context, j *job.Job, maxDocuments int) ([]inspect.Document, error)
}

// Reporter makes the document of `veltui report`, in Markdown.
type Reporter interface {
	Report(ctx context.Context, a *assess.Assessment, j assess.Judged) (string, error)
	// Save writes a new file, mode 0600, and returns its full path. It overwrites no file.
	Save(name, text string) (path string, err error)
}
