package cluster

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/veltui/veltui/collector"
	"github.com/veltui/veltui/internal/assess"
	"github.com/veltui/veltui/internal/client"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/sanitize"
	"github.com/veltui/veltui/internal/stored/artifact"
	"github.com/veltui/veltui/internal/stored/logs"
	"github.com/veltui/veltui/internal/stored/results"
	"github.com/veltui/veltui/internal/velero"
)

// lastResults are those of the job that ended and was read last: its pages share one download.
type lastResults struct {
	mu      sync.Mutex
	job     types.UID
	results artifact.Results
}

// Results are the job's warnings and errors.
func (c *Cluster) Results(ctx context.Context, j *job.Job) (artifact.Results, error) {
	last := &c.lastResults
	last.mu.Lock()
	defer last.mu.Unlock()
	if j.Terminal() && j.UID != "" && last.job == j.UID {
		return last.results, nil
	}
	results, err := readArtifact(ctx, c, j, (*artifact.Fetcher).Results)
	if err == nil && j.Terminal() {
		last.job, last.results = j.UID, results
	}
	return results, err
}

// Resources are the items that the job worked on.
func (c *Cluster) Resources(ctx context.Context, j *job.Job) ([]artifact.Resources, error) {
	return readArtifact(ctx, c, j, (*artifact.Fetcher).ResourceList)
}

// StoredVolumes are what the job did with each volume.
func (c *Cluster) StoredVolumes(ctx context.Context, j *job.Job) ([]artifact.Volume, error) {
	return readArtifact(ctx, c, j, (*artifact.Fetcher).Volumes)
}

// Operations are its asynchronous item operations.
func (c *Cluster) Operations(ctx context.Context, j *job.Job) ([]artifact.Operation, error) {
	return readArtifact(ctx, c, j, (*artifact.Fetcher).ItemOperations)
}

// WhyNotFinalized says that what a backup's operations made is missing in what Velero
// stored of it, empty if it is not. Only the objects that are asked of are read.
func (c *Cluster) WhyNotFinalized(ctx context.Context, namespace string, b *velerov1.Backup) (string, error) {
	if b.Status.BackupItemOperationsAttempted <= 0 {
		return "", nil
	}
	finalized, err := readArtifact(
		ctx,
		c,
		&job.Job{Kind: job.Backup, Namespace: namespace, Name: b.Name},
		func(f *artifact.Fetcher, ctx context.Context, _ job.Kind, _ string) (bool, error) {
			return f.Finalized(ctx, b)
		},
	)
	if finalized || err != nil {
		return "", err
	}
	return "Velero did not store its contents after its operations: what they made, such as moved volumes, cannot " +
		"be restored", nil
}

// readArtifact reads one artifact, with the credentials of now: they are renewed meanwhile.
func readArtifact[T any](
	ctx context.Context,
	c *Cluster,
	j *job.Job,
	read func(*artifact.Fetcher, context.Context, job.Kind, string) (T, error),
) (value T, err error) {
	defer func() {
		c.logFailure(ctx, "reading what is stored of a job", j.Name, err)
		err = sanitize.Error(err)
	}()
	e, err := c.Store(j.Namespace)
	if err != nil {
		return value, err
	}
	if c.ReadOnly {
		return value, ErrReadOnlyDownload
	}
	if err := e.MayDownload(ctx); err != nil {
		return value, err
	}
	return read(e.artifacts, ctx, j.Kind, j.Name)
}

// Messages are the errors and warnings of a job as its status and its stored results tell them.
type Messages struct {
	Sections []results.Section
	// Complete reports whether Sections are all there are. Note says why not, or why none are.
	Complete bool
	Note     string
	Stored   bool // Stored reports whether Sections are the results that Velero stored
}

// StatusMessages returns what a job's status tells. Without a note, the results have to be read.
func StatusMessages(j assess.Judged) Messages {
	note, complete := results.WithoutResults(j.Job, j.MayBeStored())
	return Messages{Note: note, Complete: complete}
}

// ReadMessages returns the messages of a job. It calls read only if the status does not
// tell them, and returns the error of read unless that says that nothing is stored.
func ReadMessages(
	ctx context.Context,
	j assess.Judged,
	read func(context.Context, *job.Job) (artifact.Results, error),
) (Messages, error) {
	m := StatusMessages(j)
	if m.Note != "" {
		return m, nil
	}
	stored, err := read(ctx, j.Job)
	m.Sections = results.Group(stored)
	switch m.Note, err = results.NotStored(j.Job, err); {
	case err != nil:
		m.Note = "The results cannot be read."
	case m.Note == "":
		m.Stored, m.Complete, m.Note = true, j.Terminal(), results.Caveat(j.Job, m.Sections)
	}
	return m, err
}

// NeedsLog reports whether the server's log has to be read for what the job says so far.
func (m Messages) NeedsLog(j *job.Job) bool {
	return !m.Stored && !j.Terminal() && j.Stage != job.StageQueued
}

// Logged are the errors and warnings that the server has logged so far of a job.
type Logged struct {
	logs.Problems
	Sections []results.Section
}

// NewLogged groups what was read of a log.
func NewLogged(p logs.Problems) Logged { return Logged{p, results.Group(p.Results())} }

// AllMessages are the messages of a job, from wherever they can be had.
type AllMessages struct {
	Messages
	Err error // why the results cannot be read
	// Log is nil if the server's log was not needed, and LogErr why it cannot be read.
	Log    *Logged
	LogErr error
}

// Messages returns the messages of a job. It calls read as [ReadMessages] does, and reads
// the server's log where that brings none. Once ctx has ended, the answer is void.
func (c *Cluster) Messages(
	ctx context.Context,
	j assess.Judged,
	read func(context.Context, *job.Job) (artifact.Results, error),
) AllMessages {
	var all AllMessages
	all.Messages, all.Err = ReadMessages(ctx, j, read)
	if all.NeedsLog(j.Job) && ctx.Err() == nil {
		found, err := c.Problems(ctx, j.Job)
		logged := NewLogged(found)
		all.Log, all.LogErr = &logged, err
	}
	return all
}

// reasons returns what a job's results say of its items, if they say anything.
func (c *Cluster) reasons(ctx context.Context, j *job.Job) ([]results.Section, error) {
	if note, _ := results.WithoutResults(j, false); note != "" {
		return nil, nil
	}
	stored, err := c.Results(ctx, j)
	return results.Group(stored), err
}

// Items are what became of a job's items, once they are done. What is read beside its list may be missing, with a note.
func (c *Cluster) Items(ctx context.Context, j *job.Job, server velero.Server) (results.Items, error) {
	list, err := c.Resources(ctx, j)
	if errors.Is(err, artifact.ErrAbsent) {
		err = errors.New("none is stored")
	}
	if err != nil || j.Kind == job.Backup {
		return results.Listed(list, nil), err
	}
	sections, noReasons := c.reasons(ctx, j)
	items, err := c.compareItems(
		ctx,
		j,
		server,
		list,
		sections,
		func(ctx context.Context, e *Store) (collector.Discovery, error) {
			kinds, _, err := e.Kinds(ctx)
			return kinds, err
		},
	)
	if err != nil {
		if ctx.Err() != nil {
			return results.Items{}, context.Cause(ctx)
		}
		items = results.Listed(list, sections)
		items.NotCompared = sanitize.String(err.Error())
	}
	if noReasons != nil {
		items.NoReasons = noReasons.Error()
	}
	return items, nil
}

// compareItems joins a restore's list with what its backup holds.
func (c *Cluster) compareItems(
	ctx context.Context,
	j *job.Job,
	server velero.Server,
	list []artifact.Resources,
	sections []results.Section,
	served func(context.Context, *Store) (collector.Discovery, error),
) (results.Items, error) {
	restore, err := RestoreSpec(j)
	if err != nil {
		return results.Items{}, err
	}
	e, index, err := c.readIndex(ctx, j.Namespace, restore.BackupName, func(int64, int64) {})
	if err != nil {
		return results.Items{}, err
	}
	spec := collector.RestoreSpec{Restore: restore, Policy: SelectedBy(j), Server: ServerOf(server)}
	spec.Existing, err = e.Existing(ctx, j.Started)
	if err != nil { // which namespaces were there only changes a reason
		spec.Existing = collector.Namespaces{}
	}
	kinds, err := served(ctx, e)
	if err != nil {
		return results.Items{}, err
	}
	if err := e.ReadPolicy(ctx, &spec); err != nil {
		return results.Items{}, err
	}
	fates, err := index.Fates(ctx, spec, kinds)
	if err != nil {
		return results.Items{}, err
	}
	return results.Compare(list, sections, fates)
}

// Why stored logs are not read.
var (
	ErrReadOnlyLog = errors.New(
		"read-only: to read the stored log, veltui would have to create a DownloadRequest in the cluster",
	)
	ErrNoArtifactsLog = errors.New("with --no-artifacts, veltui does not read the stored log")
)

// LogReader makes a reader of logs that asks for nothing yet; notStored is why not for stored ones.
func (c *Cluster) LogReader(namespace string, notStored error) *logs.Reader {
	o := logs.Options{NotOpen: notStored, Pods: func() (*client.Pods, error) {
		config, err := c.Config()
		if err != nil {
			return nil, err
		}
		config = rest.CopyConfig(config)
		config.Timeout = 0 // a log that is followed has no end
		api, err := c.client(config)
		if err != nil {
			return nil, err
		}
		return api.Pods(namespace), nil
	}}
	if notStored == nil {
		o.Open = func(ctx context.Context, target artifact.Target) (logs.Stored, error) {
			e, err := c.Store(namespace)
			if err != nil {
				return nil, err
			}
			if err := e.MayDownload(ctx); err != nil {
				return nil, err
			}
			text, err := e.artifacts.OpenText(ctx, target)
			if err != nil {
				return nil, err
			}
			return text, nil
		}
	}
	return logs.New(o)
}

func (c *Cluster) logNotStored() error {
	switch {
	case c.NoArtifacts:
		return ErrNoArtifactsLog
	case c.ReadOnly:
		return ErrReadOnlyLog
	}
	return nil
}

// ReadLog brings the log of a job.
func (c *Cluster) ReadLog(ctx context.Context, q logs.Query, out logs.Output) error {
	if given := out.Origin; given != nil {
		out.Origin = func(from logs.Origin) {
			from.NotStored = Clean(from.NotStored)
			given(from)
		}
	}
	err := c.LogReader(q.Job.Namespace, c.logNotStored()).Read(ctx, q, out)
	c.logFailure(ctx, "reading the log of a job", q.Job.Name, err)
	return Clean(WithRights(err, q.Job.Namespace))
}

// problemsTime is how long reading a job's errors and warnings from the log may take.
const problemsTime = time.Minute

// Problems reads what the server has logged so far of a job's errors and warnings.
func (c *Cluster) Problems(ctx context.Context, j *job.Job) (logs.Problems, error) {
	reading, cancel := context.WithTimeoutCause(
		ctx,
		problemsTime,
		fmt.Errorf("it was not read within %s", problemsTime),
	)
	defer cancel()
	p, err := c.LogReader(j.Namespace, c.logNotStored()).Problems(reading, j)
	if reading.Err() != nil {
		err = context.Cause(reading)
	}
	c.logFailure(ctx, "reading errors and warnings from the log", j.Name, err)
	return p, Clean(WithRights(err, j.Namespace))
}

// WithRights names the rights that reading pods' logs takes, where one is missing.
func WithRights(err error, namespace string) error {
	if apierrors.IsForbidden(err) {
		return fmt.Errorf(
			"%w; to read the logs of pods you need list and get on pods, and get on pods/log, in namespace %s",
			err,
			namespace,
		)
	}
	return err
}
