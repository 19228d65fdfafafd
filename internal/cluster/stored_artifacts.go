package cluster

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

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
	"github.com/veltui/veltui/internal/velero/veleroapi"
)

// resultsCache holds the results of the ended job that was read last: its pages share one download.
type resultsCache struct {
	mu      sync.Mutex
	jobUID  types.UID
	results artifact.Results
}

// FetchResults returns the job's warnings and errors.
func (c *Cluster) FetchResults(ctx context.Context, j *job.Job) (artifact.Results, error) {
	last := &c.resultsCache
	last.mu.Lock()
	defer last.mu.Unlock()
	if j.IsTerminal() && j.UID != "" && last.jobUID == j.UID {
		return last.results, nil
	}
	results, err := readArtifact(ctx, c, j, (*artifact.Fetcher).FetchResults)
	if err == nil && j.IsTerminal() {
		last.jobUID, last.results = j.UID, results
	}
	return results, err
}

// FetchResources returns the items that the job worked on.
func (c *Cluster) FetchResources(ctx context.Context, j *job.Job) ([]artifact.KindItems, error) {
	return readArtifact(ctx, c, j, (*artifact.Fetcher).FetchResourceList)
}

// FetchStoredVolumes returns what the job did with each volume.
func (c *Cluster) FetchStoredVolumes(ctx context.Context, j *job.Job) ([]artifact.VolumeInfo, error) {
	return readArtifact(ctx, c, j, (*artifact.Fetcher).FetchVolumes)
}

// FetchOperations returns the job's asynchronous item operations.
func (c *Cluster) FetchOperations(ctx context.Context, j *job.Job) ([]artifact.Operation, error) {
	return readArtifact(ctx, c, j, (*artifact.Fetcher).FetchItemOperations)
}

// NotFinalizedReason says that the results of a backup's operations are missing from what Velero stored, empty if
// they are not. It reads only the objects that this depends on.
func (c *Cluster) NotFinalizedReason(ctx context.Context, namespace string, b *veleroapi.Backup) (string, error) {
	if b.Status.BackupItemOperationsAttempted <= 0 {
		return "", nil
	}
	finalized, err := readArtifact(
		ctx,
		c,
		&job.Job{Kind: job.Backup, Namespace: namespace, Name: b.Name},
		func(f *artifact.Fetcher, ctx context.Context, _ job.Kind, _ string) (bool, error) {
			return f.IsFinalized(ctx, b)
		},
	)
	if finalized || err != nil {
		return "", err
	}
	return "Velero did not store its contents after its operations: what they made, such as moved volumes, cannot " +
		"be restored", nil
}

// readArtifact reads one artifact, with the current credentials, which are renewed over time.
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
	e, err := c.NewBackupStore(j.Namespace)
	if err != nil {
		return value, err
	}
	if c.ReadOnly {
		return value, ErrReadOnlyDownload
	}
	if err := e.CheckDownloadAccess(ctx); err != nil {
		return value, err
	}
	return read(e.artifacts, ctx, j.Kind, j.Name)
}

// Messages are the errors and warnings of a job from its status and its stored results.
type Messages struct {
	Sections []results.MessageSection
	// IsComplete reports whether Sections are all messages. Note says why not, or why there are none.
	IsComplete    bool
	Note          string
	IsFromResults bool // whether Sections are the results that Velero stored
}

// StatusMessages returns the messages in a job's status. Without a note, the results have to be read.
func StatusMessages(j assess.JudgedJob) Messages {
	note, complete := results.NoteBeforeResults(j.Job, j.MayHaveResults())
	return Messages{Note: note, IsComplete: complete}
}

// MessageSources reads what ReadMessages needs.
type MessageSources struct {
	FetchResults func(context.Context, *job.Job) (artifact.Results, error)
	// FetchOperations is called only if the status counts errors that the results do not have, and operations failed.
	FetchOperations func(context.Context, *job.Job) ([]artifact.Operation, error)
	Ungrouped       bool // each message is on its own
}

// ReadMessages returns the messages of a job. It reads the results only if the status does not contain them, and
// returns the error of that unless it says that nothing is stored.
func ReadMessages(ctx context.Context, j assess.JudgedJob, from MessageSources) (Messages, error) {
	m := StatusMessages(j)
	if m.Note != "" {
		return m, nil
	}
	stored, err := from.FetchResults(ctx, j.Job)
	if from.Ungrouped {
		m.Sections = results.ListMessages(stored)
	} else {
		m.Sections = results.GroupMessages(stored, results.ObjectNames(j.Job)...)
	}
	var operations []artifact.Operation
	var noOperations error
	m.Note, err = results.NotStoredNote(j.Job, err)
	if err == nil && results.HasOperationErrors(j.Job, m.Sections) && j.HasStoredLists() {
		operations, noOperations = from.FetchOperations(ctx, j.Job)
	}
	m.Sections = results.AddOperationErrors(j.Job, m.Sections, operations)
	switch caveat := results.CountCaveat(j.Job, m.Sections); {
	case err != nil:
		m.Note = results.NotRead + "."
	case m.Note == "":
		m.IsFromResults, m.IsComplete, m.Note = true, j.IsTerminal(), caveat
	case j.IsTerminal() && j.Errors > 0:
		m.Note += " " + caveat
	}
	if noOperations != nil {
		m.Note += " The list of item operations cannot be read: " + noOperations.Error()
	}
	return m, err
}

// NeedsLog reports whether the server's log has to be read for the messages of the job so far.
func (m Messages) NeedsLog(j *job.Job) bool {
	return !m.IsFromResults && !j.IsTerminal() && j.Stage != job.StageQueued
}

// LoggedMessages are the errors and warnings of a job that the server has logged so far.
type LoggedMessages struct {
	logs.Problems
	Sections []results.MessageSection
}

// NewLoggedMessages groups the messages read from a log.
func NewLoggedMessages(p logs.Problems) LoggedMessages {
	return LoggedMessages{p, results.GroupMessages(p.ToResults())}
}

// AllMessages are the messages of a job, from every available source.
type AllMessages struct {
	Messages
	Err error // why the results cannot be read
	// Log is nil if the server's log was not needed, and LogErr why it cannot be read.
	Log    *LoggedMessages
	LogErr error
}

// FetchMessages returns the messages of a job as [ReadMessages] does, and reads the server's log if that brings none.
// Once ctx has ended, the answer is void.
func (c *Cluster) FetchMessages(ctx context.Context, j assess.JudgedJob, from MessageSources) AllMessages {
	var all AllMessages
	all.Messages, all.Err = ReadMessages(ctx, j, from)
	if all.NeedsLog(j.Job) && ctx.Err() == nil {
		found, err := c.FetchProblems(ctx, j.Job)
		logged := NewLoggedMessages(found)
		all.Log, all.LogErr = &logged, err
	}
	return all
}

// fetchItemMessages returns what a job's results say about its items, if anything.
func (c *Cluster) fetchItemMessages(ctx context.Context, j *job.Job) ([]results.MessageSection, error) {
	if note, _ := results.NoteBeforeResults(j, false); note != "" {
		return nil, nil
	}
	stored, err := c.FetchResults(ctx, j)
	return results.ListMessages(stored), err
}

// FetchItems returns what became of a job's items, once they are processed. Whatever is read beside its list may be
// missing, with a note.
func (c *Cluster) FetchItems(ctx context.Context, j *job.Job, server velero.Server) (results.Items, error) {
	list, err := c.FetchResources(ctx, j)
	if errors.Is(err, artifact.ErrAbsent) {
		err = errors.New("none is stored")
	}
	if err != nil || j.Kind == job.Backup {
		return results.ListItems(list, nil), err
	}
	sections, noReasons := c.fetchItemMessages(ctx, j)
	items, _, err := c.compareItems(
		ctx,
		j,
		server,
		list,
		sections,
		func(ctx context.Context, e *BackupStore) (collector.Discovery, error) {
			kinds, _, err := e.FetchKinds(ctx)
			return kinds, err
		},
	)
	if err != nil {
		if ctx.Err() != nil {
			return results.Items{}, context.Cause(ctx)
		}
		items = results.ListItems(list, sections)
		items.CompareUnavailable = sanitize.String(err.Error())
	}
	if noReasons != nil {
		items.ReasonsUnavailable = noReasons.Error()
	}
	return items, nil
}

// compareItems joins a restore's list with the contents of its backup. It returns the fates of the backup's items, too.
func (c *Cluster) compareItems(
	ctx context.Context,
	j *job.Job,
	server velero.Server,
	list []artifact.KindItems,
	sections []results.MessageSection,
	served func(context.Context, *BackupStore) (collector.Discovery, error),
) (results.Items, *collector.Fates, error) {
	restore, err := FindRestoreSpec(j)
	if err != nil {
		return results.Items{}, nil, err
	}
	e, index, err := c.readIndex(ctx, j.Namespace, restore.BackupName, func(int64, int64) {})
	if err != nil {
		return results.Items{}, nil, err
	}
	spec := collector.RestoreInput{Restore: restore, Policy: SelectionPolicy(j), Server: BuildCollectorServer(server)}
	spec.ExistingNamespaces, err = e.FetchExistingNamespaces(ctx, j.Started)
	if err != nil { // the former namespaces only change a reason
		spec.ExistingNamespaces = collector.TargetNamespaces{}
	}
	kinds, err := served(ctx, e)
	if err != nil {
		return results.Items{}, nil, err
	}
	if err := e.ReadPolicy(ctx, &spec); err != nil {
		return results.Items{}, nil, err
	}
	fates, err := index.DetermineFates(ctx, spec, kinds)
	if err != nil {
		return results.Items{}, nil, err
	}
	items, err := results.CompareItems(list, sections, fates)
	return items, fates, err
}

// These errors say why stored logs are not read.
var (
	ErrReadOnlyLog = errors.New(
		"read-only: to read the stored log, veltui would have to create a DownloadRequest in the cluster",
	)
	ErrNoArtifactsLog = errors.New("with --no-artifacts, veltui does not read the stored log")
)

// NewLogReader returns a reader of logs that has sent no request yet; notStored says why it does not read stored
// logs.
func (c *Cluster) NewLogReader(namespace string, notStored error) *logs.Reader {
	o := logs.Options{OpenUnavailable: notStored, PodsClient: func() (*client.Pods, error) {
		config, err := c.RESTConfig()
		if err != nil {
			return nil, err
		}
		config = rest.CopyConfig(config)
		config.Timeout = 0 // a followed log has no end
		api, err := c.newClient(config)
		if err != nil {
			return nil, err
		}
		return api.Pods(namespace), nil
	}}
	if notStored == nil {
		o.OpenArtifact = func(ctx context.Context, target artifact.Target) (logs.ArtifactStream, error) {
			e, err := c.NewBackupStore(namespace)
			if err != nil {
				return nil, err
			}
			if err := e.CheckDownloadAccess(ctx); err != nil {
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

func (c *Cluster) storedLogUnavailable() error {
	switch {
	case c.NoArtifacts:
		return ErrNoArtifactsLog
	case c.ReadOnly:
		return ErrReadOnlyLog
	}
	return nil
}

// ReadLog reads the log of a job.
func (c *Cluster) ReadLog(ctx context.Context, q logs.Query, out logs.Output) error {
	if given := out.OnOrigin; given != nil {
		out.OnOrigin = func(from logs.Origin) {
			from.NotStored = SanitizeError(from.NotStored)
			given(from)
		}
	}
	err := c.NewLogReader(q.Job.Namespace, c.storedLogUnavailable()).Read(ctx, q, out)
	c.logFailure(ctx, "reading the log of a job", q.Job.Name, err)
	return SanitizeError(WithLogRightsAdvice(err, q.Job.Namespace))
}

// problemsTimeout is how long reading a job's errors and warnings from the log may take.
const problemsTimeout = time.Minute

// FetchProblems reads a job's errors and warnings that the server has logged so far.
func (c *Cluster) FetchProblems(ctx context.Context, j *job.Job) (logs.Problems, error) {
	reading, cancel := context.WithTimeoutCause(
		ctx,
		problemsTimeout,
		fmt.Errorf("it was not read within %s", problemsTimeout),
	)
	defer cancel()
	p, err := c.NewLogReader(j.Namespace, c.storedLogUnavailable()).ReadProblems(reading, j)
	if reading.Err() != nil {
		err = context.Cause(reading)
	}
	c.logFailure(ctx, "reading errors and warnings from the log", j.Name, err)
	return p, SanitizeError(WithLogRightsAdvice(err, j.Namespace))
}

// WithLogRightsAdvice names the rights needed to read pods' logs, if one is missing.
func WithLogRightsAdvice(err error, namespace string) error {
	if apierrors.IsForbidden(err) {
		return fmt.Errorf(
			"%w; to read the logs of pods you need list and get on pods, and get on pods/log, in namespace %s",
			err,
			namespace,
		)
	}
	return err
}
