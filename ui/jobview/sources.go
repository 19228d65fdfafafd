package jobview

import (
	"context"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/veltui/veltui/assess"
	"github.com/veltui/veltui/inspect"
	"github.com/veltui/veltui/job"
	"github.com/veltui/veltui/restore/target"
	"github.com/veltui/veltui/restore/verify"
	"github.com/veltui/veltui/stored/artifact"
	"github.com/veltui/veltui/stored/logs"
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
	// Objects reads resources as they are in the cluster; nil if nobody does.
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

// errorAge is how long an answer that is an error stands.
const errorAge = time.Minute

// answer is what a page has asked for: nothing yet, still to come, a value, or
// why there is none. After an error, or when it is asked for anew, the last
// value stays.
type answer[T any] struct {
	value T
	// known is true once there is a value; at is when it, or the error, came.
	known bool
	err   error
	at    time.Time
	// read is when the value came.
	read time.Time
	// since is when it was asked for, zero unless it is still to come.
	since  time.Time
	cancel context.CancelFunc
}

// answered brings an answer to the page that asked.
type answered[T any] struct {
	to    *answer[T]
	since time.Time
	value T
	err   error
	at    time.Time
}

// delivery is any answered: the screen need not know whose it is.
type delivery interface{ deliver() }

// ask makes the command that reads, nil if there is nothing to ask: it is on its
// way, has been answered within the last age (0 for any time ago), or failed
// less than a minute ago.
func (a *answer[T]) ask(s Sources, age time.Duration, read func(context.Context) (T, error)) tea.Cmd {
	now := s.Clock()
	switch {
	case !a.since.IsZero(),
		a.err != nil && now.Sub(a.at) < errorAge,
		a.err == nil && a.known && !a.at.IsZero() && (age == 0 || now.Sub(a.at) < age):
		return nil
	}
	a.since = now
	since := now
	cmd, cancel := s.Start(func(ctx context.Context) tea.Msg {
		value, err := read(ctx)
		return answered[T]{a, since, value, err, s.Clock()}
	})
	a.cancel = cancel
	return cmd
}

// deliver takes the answer, unless the question was withdrawn.
func (m answered[T]) deliver() {
	a := m.to
	if a.cancel == nil || !a.since.Equal(m.since) {
		return
	}
	a.cancel()
	a.cancel, a.since = nil, time.Time{}
	if a.err, a.at = m.err, m.at; m.err == nil {
		a.value, a.known, a.read = m.value, true, m.at
	}
}

// close withdraws the question.
func (a *answer[T]) close() {
	if a.cancel != nil {
		a.cancel()
		a.cancel, a.since = nil, time.Time{}
	}
}

// forget makes what could not be answered be asked anew at once.
func (a *answer[T]) forget() {
	if a.err != nil {
		a.err, a.at = nil, time.Time{} // a value that is known is older than any age
	}
}

// pending reports whether it is still to come.
func (a *answer[T]) pending() bool { return !a.since.IsZero() }

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
