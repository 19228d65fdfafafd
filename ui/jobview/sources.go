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
	// Artifacts reads what Velero has stored of a job.
	Artifacts Artifacts
	// WhyNoArtifacts says why Artifacts is nil.
	WhyNoArtifacts string
	// Objects reads resources as they are in the cluster; nil for none.
	Objects Objects
	// Items reads what became of a job's items; nil where Artifacts is.
	Items Items
	// Verifier holds restores against the cluster; nil where that is not done.
	Verifier Verifier
	// Reporter makes reports; nil where that is not done.
	Reporter Reporter
	// Logs reads what was logged of a job; nil where that is not done.
	Logs LogReader
	// Problems reads the server's log of a job that has not ended.
	Problems ProblemReader
	// Volumes reads those that a job leaves out; nil where none does.
	Volumes VolumeReader
	// WhyNoClipboard says why nothing can be copied, and what to do instead; else empty.
	WhyNoClipboard string
	// Keys are those that sentences name.
	Keys keys.Map
	// Start makes the commands that read.
	Start fetch.Start
	// Clock is our own clock.
	Clock func() time.Time
}

// withVolumes returns a job with the volumes that it leaves out.
func (s *Sources) withVolumes(ctx context.Context, j *job.Job) (*job.Job, error) {
	if s.Volumes == nil || j.LeftOut() == 0 {
		return j, nil
	}
	all, err := s.Volumes.ReadVolumes(ctx, j)
	if err != nil {
		return nil, err
	}
	return j.WithVolumes(all), nil
}

// Artifacts reads what Velero has stored of a job.
type Artifacts interface {
	// Results are the job's warnings and errors, known once it has ended.
	Results(ctx context.Context, j *job.Job) (artifact.Results, error)
	// Resources are the items that the job worked on, known once it has ended.
	Resources(ctx context.Context, j *job.Job) ([]artifact.Resources, error)
	// Volumes are what the job did with each volume, known once it has ended.
	Volumes(ctx context.Context, j *job.Job) ([]artifact.Volume, error)
	// Operations are its asynchronous item operations.
	Operations(ctx context.Context, j *job.Job) ([]artifact.Operation, error)
}

// ProblemReader reads the errors and warnings that the server has logged so far.
type ProblemReader interface {
	Problems(ctx context.Context, j *job.Job) (logs.Problems, error)
}

// VolumeReader reads all volumes of a job, sorted by kind and name.
type VolumeReader interface {
	ReadVolumes(ctx context.Context, j *job.Job) ([]job.Volume, error)
}

// Objects reads volumes' resources from the cluster.
type Objects interface {
	// Volume is the resource of one volume.
	Volume(ctx context.Context, namespace string, volume velero.VolumeRef) (inspect.Document, error)
	// Volumes are a job's, maxDocuments at most, without unreadable ones; it fails if none can be read.
	Volumes(ctx context.Context, j *job.Job, maxDocuments int) ([]inspect.Document, error)
}

// Verifier compares the cluster with a restore; one goroutine at a time calls progress.
type Verifier interface {
	Verify(ctx context.Context, j *job.Job, in *assess.Assessment, progress func(target.Progress)) (verify.Result, error)
}

// Reporter makes the document of `veltui report`.
type Reporter interface {
	// Report is the document, as Markdown.
	Report(ctx context.Context, a *assess.Assessment, j assess.Judged) (string, error)
	// Save writes a new file, mode 0600, and returns its full path. It overwrites no file.
	Save(name, text string) (path string, err error)
}

// Items reads what became of a job's items.
type Items interface {
	// Items are a backup's contents, or what a restore did with each and did not restore of its backup, which
	// depends on the server's version and flags. The job has ended, or is a backup whose items are done.
	Items(ctx context.Context, j *job.Job, server velero.Server) (outcome.Items, error)
}
