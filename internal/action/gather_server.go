package action

import (
	"cmp"
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

	"github.com/veltui/veltui/internal/client"
	"github.com/veltui/veltui/internal/diagnosis"
	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/sanitize"
	"github.com/veltui/veltui/internal/velero"
)

// These constants limit how much of a server's log is read. Only its beginning and its end matter: the server gives
// up soon after it last wrote to the job, and the newest lines show whether it is alive.
const (
	logTailLines  = 2000    // lines
	maxLogBytes   = 4 << 20 // of one request
	logTimeout    = 5 * time.Second
	maxLogServers = 3               // servers; more than one run only during a rollout
	logCacheAge   = 5 * time.Second // how long a log is reused
)

type logCache struct {
	mu            sync.Mutex
	uid           types.UID
	since, readAt time.Time
	log           velero.JobLog
}

// fetchServerLogs reads what the servers' logs say about a job that has not ended. A log that cannot be read is not
// an error.
func (g *gatherer) fetchServerLogs() {
	j := g.evidence.Job
	if j.IsTerminal() {
		return
	}
	if len(g.evidence.Server.Pods) == 0 {
		g.evidence.LogUnchecked = "no running server was seen"
		return
	}
	// The server gives up minutes after it last wrote; clocks differ.
	since := job.LatestTime(g.evidence.startTime(), g.evidence.LastVeleroWrite).Add(-velero.ClockMargin)
	if log, ok := g.logCache.findLog(j.UID, since, g.options.Now()); ok {
		g.evidence.ServerLog, g.evidence.LogChecked = log, true
		return
	}
	ctx, cancel := context.WithTimeout(g.ctx, logTimeout)
	defer cancel()
	var all velero.JobLog
	for i, c := range g.evidence.Server.Pods[max(0, len(g.evidence.Server.Pods)-maxLogServers):] {
		found, err := g.fetchContainerLog(ctx, c, since)
		if err != nil {
			if g.err = g.ctx.Err(); g.err == nil {
				g.evidence.LogUnchecked = sanitize.String(err.Error())
			}
			return
		}
		if i == 0 {
			all = found
		} else {
			all = all.MergeServer(found)
		}
	}
	all = withoutRetriedGiveUp(all, g.evidence.Server)
	g.evidence.LogChecked, g.evidence.ServerLog = true, all
	g.logCache.storeLog(j.UID, since, g.options.Now(), all)
}

// fetchContainerLog reads a container's log, and its predecessor's log if the job existed then.
func (g *gatherer) fetchContainerLog(
	ctx context.Context,
	c velero.ServerPod,
	since time.Time,
) (found velero.JobLog, err error) {
	read := func(o corev1.PodLogOptions) (part velero.JobLog, text string, err error) {
		o.Container, o.SinceTime = c.Container, &metav1.Time{Time: since}
		if text, err = fetchPodLog(ctx, g.client.Pods(g.options.Namespace), c.Name, &o); err != nil {
			return part, "", fmt.Errorf("reading the log of pod %s: %w", c.Name, err)
		}
		j := g.evidence.Job
		return sanitizeLog(velero.ReadJobLog(text, string(j.Kind), j.Namespace, j.Name, g.evidence.startTime())), text, nil
	}
	if c.Restarts > 0 && c.StartedAt.After(since) {
		found, _, err = read(corev1.PodLogOptions{Previous: true})
		found.ByPredecessor = !found.First.IsZero()
		if errors.Is(err, context.DeadlineExceeded) {
			return found, err // any other error means that its log no longer exists
		}
	}
	newest := int64(logTailLines)
	tail, text, err := read(corev1.PodLogOptions{TailLines: &newest})
	tail.NoteStart(c.StartedAt)
	switch {
	case err != nil:
		return found, err
	case len(text) == maxLogBytes:
		return found, fmt.Errorf(
			"the newest %d lines of the log of pod %s are more than %s",
			logTailLines,
			c.Name,
			human.Bytes(maxLogBytes),
		)
	case strings.Count(text, "\n") < logTailLines:
		return found.MergeLater(tail), nil
	}
	head, _, err := read(corev1.PodLogOptions{})
	head.NoteStart(c.StartedAt)
	return found.MergeLater(head).MergeLater(tail), err
}

// ReadServerLogs reads what the newest lines of the servers' logs say about jobs of the namespace that have not ended:
// one request for each server, however many jobs there are.
func (f *Engine) ReadServerLogs(
	ctx context.Context, server velero.Server, jobs []*job.Job,
) (map[types.UID]velero.JobLog, error) {
	if len(server.Pods) == 0 {
		return nil, errors.New("no running server was seen")
	}
	ctx, cancel := context.WithTimeout(ctx, logTimeout)
	defer cancel()
	since := f.options.Now()
	for _, j := range jobs {
		if last := lastKnownWrite(j).Add(-velero.ClockMargin); last.Before(since) {
			since = last
		}
	}
	newest, found := int64(logTailLines), map[types.UID]velero.JobLog{}
	pods := f.connection.currentClient().Pods(f.options.Namespace)
	for i, c := range server.Pods[max(0, len(server.Pods)-maxLogServers):] {
		o := corev1.PodLogOptions{Container: c.Container, SinceTime: &metav1.Time{Time: since}, TailLines: &newest}
		text, err := fetchPodLog(ctx, pods, c.Name, &o)
		if err != nil {
			return nil, fmt.Errorf("reading the log of pod %s: %w", c.Name, err)
		}
		for _, j := range jobs {
			log := sanitizeLog(velero.ReadJobLog(text, string(j.Kind), j.Namespace, j.Name, cmp.Or(j.Started, j.Created)))
			log.NoteStart(c.StartedAt)
			if i > 0 {
				log = found[j.UID].MergeServer(log)
			}
			found[j.UID] = withoutRetriedGiveUp(log, server)
		}
	}
	return found, nil
}

// lastKnownWrite returns when a server last wrote to a job as far as the watch has shown, else when it began.
func lastKnownWrite(j *job.Job) time.Time {
	moved, _ := j.MovedAt()
	return job.LatestTime(j.Created, j.Started, moved)
}

// withoutRetriedGiveUp leaves out the line with which a server gives up, if its version tries again.
func withoutRetriedGiveUp(log velero.JobLog, server velero.Server) velero.JobLog {
	if v, known := velero.ParseVersion(server.Version); known && !v.GivesUpLastStatus() {
		log.GaveUp, log.LostPhase = velero.LogLine{}, ""
	}
	return log
}

func fetchPodLog(
	ctx context.Context,
	pods *client.Pods,
	name string,
	o *corev1.PodLogOptions,
) (text string, err error) {
	limit := int64(maxLogBytes)
	o.LimitBytes = &limit
	body, err := pods.StreamLog(ctx, name, *o)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, body.Close()) }()
	raw, err := io.ReadAll(io.LimitReader(body, limit)) // not every server obeys the limit
	return string(raw), err
}

func sanitizeLog(l velero.JobLog) velero.JobLog {
	for _, text := range []*string{
		&l.Last.Level, &l.Last.Text, &l.Last.Error,
		&l.GaveUp.Level, &l.GaveUp.Text, &l.GaveUp.Error,
		&l.Refusal.Text, &l.Refusal.Error,
		&l.StoreFailure.Text, &l.StoreFailure.Error,
		&l.ListFailure.Text, &l.ListFailure.Error,
		&l.Failure,
		&l.Hook.Pod, &l.Hook.Container, &l.Hook.Name, &l.Hook.Phase,
	} {
		*text = sanitize.String(*text)
	}
	return l
}

func (c *logCache) findLog(uid types.UID, from, now time.Time) (velero.JobLog, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.log, c.uid == uid && c.since.Equal(from) && !c.readAt.IsZero() && now.Sub(c.readAt) < logCacheAge
}

func (c *logCache) storeLog(uid types.UID, from, now time.Time, log velero.JobLog) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.uid, c.since, c.readAt, c.log = uid, from, now, log
}

func (e *Evidence) isLogFresh() bool {
	return !e.ServerLog.Last.At.IsZero() && e.Now.Sub(e.ServerLog.Last.At) < velero.LifelessAfter
}

// hasServerGivenUp reports whether the server has certainly given up writing the job's last status.
func (e *Evidence) hasServerGivenUp() bool { return diagnosis.HasServerGivenUp(e.Job, e.buildWorld()) }

func (g *gatherer) fetchServer() {
	var pods []*corev1.Pod
	raw, err := g.listObjects(corev1.SchemeGroupVersion.WithKind("Pod"), g.options.Namespace)
	for i := range raw {
		pods = append(pods, &corev1.Pod{})
		_, failed := convertObject(&raw[i], pods[i])
		err = cmp.Or(err, failed)
	}
	if g.checkAnswer("listing pods", err, &g.evidence.PodsUnchecked) {
		g.evidence.Server, g.evidence.Agents, g.evidence.MoverPods = velero.ServerOf(
			pods,
			g.evidence.Now,
		), velero.NodeAgentsOf(
			pods,
		), velero.FindMovers(
			pods,
		)
	}
}
