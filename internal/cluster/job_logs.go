package cluster

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"

	"github.com/veltui/veltui/internal/client"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/stored/artifact"
	"github.com/veltui/veltui/internal/stored/logs"
)

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
