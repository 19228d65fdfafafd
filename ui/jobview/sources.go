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

// Sources are what the pages read through. What is nil is not read: the page
// says so.
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
	// Problems reads what the server has logged of a job that has not ended; nil
	// where that is not done.
	Problems ProblemReader
	// Volumes reads those that a job leaves out; nil where none does.
	Volumes VolumeReader
	// WhyNoClipboard says why nothing can be copied, and what to do instead; empty
	// where the terminal may have a clipboard.
	WhyNoClipboard string
	// Keys are those that sentences name.
	Keys keys.Map
	// Start makes the commands that read.
	Start fetch.Start
	// Clock is our own clock.
	Clock func() time.Time
}

// Artifacts reads what Velero has stored of a job. Its methods take as long as
// a download and end with ctx. All that they answer is safe to draw, and so are
// their errors, which are on one line.
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

// ProblemReader reads the errors and warnings that Velero's server has logged so
// far of a job that has not ended. Those that it returns and its errors are safe
// to draw, and the errors are on one line.
type ProblemReader interface {
	Problems(ctx context.Context, j *job.Job) (logs.Problems, error)
}

// VolumeReader reads all volumes of a job, sorted by kind and name. Its errors are
// safe to draw and on one line.
type VolumeReader interface {
	ReadVolumes(ctx context.Context, j *job.Job) ([]job.Volume, error)
}

// Objects reads volumes' resources as they are in the cluster. What it answers is
// safe to draw, and so are its errors, which are on one line.
type Objects interface {
	// Volume is the resource of one volume.
	Volume(ctx context.Context, namespace string, volume velero.VolumeRef) (inspect.Document, error)
	// Volumes are those of a job's volumes, maxDocuments at most. Those that cannot
	// be read are missing; it fails if none can.
	Volumes(ctx context.Context, j *job.Job, maxDocuments int) ([]inspect.Document, error)
}

// Verifier holds what a restore was to bring back against the cluster. It takes as
// long as downloads and lists do, and ends with ctx. What it answers is safe to draw,
// and so is its error, which is on one line; progress is called by one goroutine at a
// time.
type Verifier interface {
	Verify(ctx context.Context, j *job.Job, in *assess.Assessment, progress func(target.Progress)) (verify.Result, error)
}

// Reporter makes the document about a job that `veltui report` makes. What it answers
// is safe to draw, and so are its errors, which are on one line.
type Reporter interface {
	// Report is the document, as Markdown. It takes as long as downloads do, and ends
	// with ctx.
	Report(ctx context.Context, a *assess.Assessment, j assess.Judged) (string, error)
	// Save writes it to a new file of that name, which only the user can read, and says
	// the full path. It overwrites no file.
	Save(name, text string) (path string, err error)
}

// Items reads what became of a job's items. It takes as long as the downloads
// that it needs, and ends with ctx. What it answers is safe to draw, and so is
// its error, which is on one line.
type Items interface {
	// Items are the items of a job that has ended, or of a backup whose items are
	// done: of a backup those that it holds, of a restore what it did with each, and
	// those of its backup that it did not restore. The version and flags of Velero's
	// server decide on that.
	Items(ctx context.Context, j *job.Job, server velero.Server) (outcome.Items, error)
}
