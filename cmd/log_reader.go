package cmd

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"

	"github.com/veltui/veltui/job"
	"github.com/veltui/veltui/session"
	"github.com/veltui/veltui/stored/artifact"
	"github.com/veltui/veltui/stored/logs"
	"github.com/veltui/veltui/ui/jobview"
)

// Why stored logs are not read.
var (
	errReadOnlyLog    = errors.New("read-only: to read the stored log, veltui would have to create a DownloadRequest in the cluster")
	errNoArtifactsLog = errors.New("with --no-artifacts, veltui does not read the stored log")
)

// newLogReader makes a reader of jobs' logs that asks for nothing yet. notStored
// is why stored logs are not read, nil if they are.
func (c *cli) newLogReader(namespace, caFile string, notStored error, log *slog.Logger) *logs.Reader {
	o := logs.Options{Clock: c.clock, NotOpen: notStored, Pods: func() (corev1client.PodInterface, error) {
		config, err := c.restConfig()
		if err != nil {
			return nil, err
		}
		config = rest.CopyConfig(config)
		config.Timeout = 0 // a log that is followed has no end
		over, err := session.HTTPClient(config, session.TransportOptions{})
		if err != nil {
			return nil, err
		}
		client, err := corev1client.NewForConfigAndClient(config, over)
		if err != nil {
			return nil, fmt.Errorf("reading the kubeconfig: %w", err)
		}
		return client.Pods(namespace), nil
	}}
	if notStored == nil {
		o.Open = func(ctx context.Context, target artifact.Target) (logs.Stored, error) {
			config, err := c.restConfig()
			if err != nil {
				return nil, err
			}
			e, err := c.newEstimator(config, namespace, caFile, nil, log)
			if err != nil {
				return nil, err
			}
			if err := e.mayDownload(ctx); err != nil {
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

// pageLogs is what the Logs and the Results page ask. What its errors say is safe to draw.
type pageLogs struct {
	cli    *cli
	caFile string
	// notStored is why stored logs are not read, nil if they are.
	notStored error
	log       *slog.Logger
}

var (
	_ jobview.LogReader     = (*pageLogs)(nil)
	_ jobview.ProblemReader = (*pageLogs)(nil)
)

// Read brings the log of a job.
func (r *pageLogs) Read(ctx context.Context, q logs.Query, out logs.Output) error {
	if given := out.Origin; given != nil {
		out.Origin = func(from logs.Origin) {
			from.NotStored = clean(from.NotStored)
			given(from)
		}
	}
	err := r.cli.newLogReader(q.Job.Namespace, r.caFile, r.notStored, r.log).Read(ctx, q, out)
	if err != nil && ctx.Err() == nil {
		r.log.Info("reading the log of a job", "for", q.Job.Name, "error", err)
	}
	return clean(withRights(err, q.Job.Namespace))
}

// problemsTime is how long reading a job's errors and warnings from the log may take.
const problemsTime = time.Minute

// Problems reads what the server has logged so far of a job's errors and warnings.
func (r *pageLogs) Problems(ctx context.Context, j *job.Job) (logs.Problems, error) {
	reading, cancel := context.WithTimeoutCause(ctx, problemsTime, fmt.Errorf("it was not read within %s", problemsTime))
	defer cancel()
	p, err := r.cli.newLogReader(j.Namespace, r.caFile, r.notStored, r.log).Problems(reading, j)
	if reading.Err() != nil {
		err = context.Cause(reading)
	}
	if err != nil && ctx.Err() == nil {
		r.log.Info("reading errors and warnings from the log", "for", j.Name, "error", err)
	}
	return p, clean(withRights(err, j.Namespace))
}

// withRights names the rights that reading pods' logs takes, where one is missing.
func withRights(err error, namespace string) error {
	if apierrors.IsForbidden(err) {
		return fmt.Errorf("%w; to read the logs of pods you need list and get on pods, and get on pods/log, in namespace %s", err, namespace)
	}
	return err
}
