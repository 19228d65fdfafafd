package action

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/veltui/veltui/job"
	"github.com/veltui/veltui/sanitize"
	"github.com/veltui/veltui/velero"
)

// What is read of a server's log. It may be large, and only its beginning and
// its end matter: the server gives up soon after it last wrote to the job, and
// the newest lines show whether it lives.
const (
	logNewest  = 2000    // lines
	logBytes   = 4 << 20 // of one request
	logTimeout = 5 * time.Second
	// logMost is how many servers' logs are read: more than one runs only
	// during a roll-out.
	logMost = 3
	// logKept is how long an answer serves.
	logKept = 5 * time.Second
)

// logCache keeps what the log last told, so that looking twice asks once.
type logCache struct {
	mu   sync.Mutex
	uid  types.UID
	from time.Time
	at   time.Time
	log  velero.JobLog
}

// log reads what the servers' logs tell of a job that Velero has begun with. It
// is never needed: whatever keeps us from reading it is named, and fails nothing.
func (g *gathering) log() error {
	j := g.e.Job
	if j.Terminal() || j.Stage == job.StageQueued {
		return nil
	}
	if len(g.e.Server.Running) == 0 {
		g.e.LogWhy = "no running server was seen"
		return nil
	}
	// The server gives up minutes after it last wrote; clocks differ.
	since := job.Latest(g.e.began(), g.e.VeleroWrote).Add(-clockMargin)
	if log, ok := g.logs.get(j.UID, since, g.clock.Now()); ok {
		g.e.Log, g.e.LogSeen = log, Yes
		return nil
	}
	ctx, cancel := context.WithTimeout(g.ctx, logTimeout)
	defer cancel()
	for _, c := range g.e.Server.Running[max(0, len(g.e.Server.Running)-logMost):] {
		if err := g.containerLog(ctx, c, since); err != nil {
			if g.ctx.Err() != nil {
				return g.ctx.Err()
			}
			g.e.LogSeen, g.e.LogWhy, g.e.Log = Unknown, sanitize.String(err.Error()), velero.JobLog{}
			return nil
		}
	}
	g.e.LogSeen = Yes
	g.logs.put(j.UID, since, g.clock.Now(), g.e.Log)
	return nil
}

// containerLog adds what the log of a server's container tells, and of the one
// that ran before it in the same pod if the job was there then.
func (g *gathering) containerLog(ctx context.Context, c Container, since time.Time) error {
	read := func(o corev1.PodLogOptions) (lines int, err error) {
		o.Container, o.SinceTime = c.Name, &metav1.Time{Time: since}
		text, err := readLog(ctx, g.pods.Pods(g.namespace), c.Pod, &o)
		if err != nil {
			return 0, fmt.Errorf("reading the log of pod %s: %w", c.Pod, err)
		}
		j := g.e.Job
		g.e.Log = g.e.Log.Merge(cleanLog(velero.ReadJobLog(text, string(j.Kind), j.Namespace, j.Name, g.e.began())))
		return strings.Count(text, "\n"), nil
	}
	if c.Restarts > 0 && c.StartedAt.After(since) {
		if _, err := read(corev1.PodLogOptions{Previous: true}); err != nil && errors.Is(err, context.DeadlineExceeded) {
			return err // others mean that its log is gone
		}
	}
	newest := int64(logNewest)
	lines, err := read(corev1.PodLogOptions{TailLines: &newest})
	if err == nil && lines >= logNewest {
		_, err = read(corev1.PodLogOptions{})
	}
	return err
}

// readLog reads a bounded part of a log.
func readLog(ctx context.Context, pods corev1client.PodInterface, name string, o *corev1.PodLogOptions) (text string, err error) {
	limit := int64(logBytes)
	o.LimitBytes = &limit
	body, err := pods.GetLogs(name, o).Stream(ctx)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, body.Close()) }()
	raw, err := io.ReadAll(io.LimitReader(body, limit)) // not every server heeds the limit
	return string(raw), err
}

// cleanLog makes what a log says harmless.
func cleanLog(l velero.JobLog) velero.JobLog {
	for _, text := range []*string{&l.Last.Level, &l.Last.Text, &l.Last.Error, &l.GaveUp.Level, &l.GaveUp.Text, &l.GaveUp.Error,
		&l.Failure, &l.Hook.Pod, &l.Hook.Container, &l.Hook.Name, &l.Hook.Phase} {
		*text = sanitize.String(*text)
	}
	return l
}

func (c *logCache) get(uid types.UID, from, now time.Time) (velero.JobLog, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.log, c.uid == uid && c.from.Equal(from) && !c.at.IsZero() && now.Sub(c.at) < logKept
}

func (c *logCache) put(uid types.UID, from, now time.Time, log velero.JobLog) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.uid, c.from, c.at, c.log = uid, from, now, log
}

// gaveUp reports whether the server's log says that it gave up writing the job's
// last status, and nothing speaks against it.
func (e *Evidence) gaveUp() bool {
	if e.LogSeen != Yes || e.Job.Phase != velero.PhaseInProgress || e.owner() != ownerAlive {
		return false
	}
	started := time.Time{}
	for _, c := range e.Server.Running {
		started = job.Latest(started, c.StartedAt)
	}
	return e.Log.Final(e.VeleroWrote, started)
}
