package inspect

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"

	"github.com/veltui/veltui/internal/client"
	"github.com/veltui/veltui/job"
	"github.com/veltui/veltui/stored/artifact"
	"github.com/veltui/veltui/stored/logs"
)

// Why stored logs are not read.
var (
	ErrReadOnlyLog    = errors.New("read-only: to read the stored log, veltui would have to create a DownloadRequest in the cluster")
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

// Logs is what the Logs and the Results page ask. What its errors say is safe to draw.
type Logs struct {
	*Cluster
	NotStored error // why stored logs are not read, nil if they are
}

// Read brings the log of a job.
func (r *Logs) Read(ctx context.Context, q logs.Query, out logs.Output) error {
	if given := out.Origin; given != nil {
		out.Origin = func(from logs.Origin) {
			from.NotStored = Clean(from.NotStored)
			given(from)
		}
	}
	err := r.LogReader(q.Job.Namespace, r.NotStored).Read(ctx, q, out)
	if err != nil && ctx.Err() == nil {
		r.Log.Info("reading the log of a job", "for", q.Job.Name, "error", err)
	}
	return Clean(WithRights(err, q.Job.Namespace))
}

// problemsTime is how long reading a job's errors and warnings from the log may take.
const problemsTime = time.Minute

// Problems reads what the server has logged so far of a job's errors and warnings.
func (r *Logs) Problems(ctx context.Context, j *job.Job) (logs.Problems, error) {
	reading, cancel := context.WithTimeoutCause(ctx, problemsTime, fmt.Errorf("it was not read within %s", problemsTime))
	defer cancel()
	p, err := r.LogReader(j.Namespace, r.NotStored).Problems(reading, j)
	if reading.Err() != nil {
		err = context.Cause(reading)
	}
	if err != nil && ctx.Err() == nil {
		r.Log.Info("reading errors and warnings from the log", "for", j.Name, "error", err)
	}
	return p, Clean(WithRights(err, j.Namespace))
}

// WithRights names the rights that reading pods' logs takes, where one is missing.
func WithRights(err error, namespace string) error {
	if apierrors.IsForbidden(err) {
		return fmt.Errorf("%w; to read the logs of pods you need list and get on pods, and get on pods/log, in namespace %s", err, namespace)
	}
	return err
}
