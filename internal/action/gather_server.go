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

// How much is read of a server's log. Only its beginning and its end matter: the server
// gives up soon after it last wrote to the job, and the newest lines show whether it lives.
const (
	logNewest  = 2000    // lines
	logBytes   = 4 << 20 // of one request
	logTimeout = 5 * time.Second
	logMost    = 3               // servers; more than one runs only during a roll-out
	logKept    = 5 * time.Second // for a second look
)

type logCache struct {
	mu       sync.Mutex
	uid      types.UID
	from, at time.Time
	log      velero.JobLog
}

// log reads what the servers' logs tell of a job that has not ended. A log that cannot be read fails nothing.
func (g *gathering) log() {
	j := g.e.Job
	if j.Terminal() {
		return
	}
	if len(g.e.Server.Pods) == 0 {
		g.e.LogWhy = "no running server was seen"
		return
	}
	// The server gives up minutes after it last wrote; clocks differ.
	since := job.Latest(g.e.began(), g.e.VeleroWrote).Add(-velero.ClockMargin)
	if log, ok := g.logs.get(j.UID, since, g.o.Now()); ok {
		g.e.Log, g.e.LogSeen = log, true
		return
	}
	ctx, cancel := context.WithTimeout(g.ctx, logTimeout)
	defer cancel()
	var all velero.JobLog
	for i, c := range g.e.Server.Pods[max(0, len(g.e.Server.Pods)-logMost):] {
		found, err := g.containerLog(ctx, c, since)
		if err != nil {
			if g.err = g.ctx.Err(); g.err == nil {
				g.e.LogWhy = sanitize.String(err.Error())
			}
			return
		}
		if i == 0 {
			all = found
		} else {
			all = all.Beside(found)
		}
	}
	if v, known := g.e.version(); known && !v.GivesUpLastStatus() {
		all.GaveUp, all.LostPhase = velero.LogLine{}, ""
	}
	g.e.LogSeen, g.e.Log = true, all
	g.logs.put(j.UID, since, g.o.Now(), all)
}

// containerLog reads a container's log, and its predecessor's if the job was there then.
func (g *gathering) containerLog(
	ctx context.Context,
	c velero.ServerPod,
	since time.Time,
) (found velero.JobLog, err error) {
	read := func(o corev1.PodLogOptions) (part velero.JobLog, text string, err error) {
		o.Container, o.SinceTime = c.Container, &metav1.Time{Time: since}
		if text, err = readLog(ctx, g.client.Pods(g.o.Namespace), c.Name, &o); err != nil {
			return part, "", fmt.Errorf("reading the log of pod %s: %w", c.Name, err)
		}
		j := g.e.Job
		return cleanLog(velero.ReadJobLog(text, string(j.Kind), j.Namespace, j.Name, g.e.began())), text, nil
	}
	if c.Restarts > 0 && c.StartedAt.After(since) {
		found, _, err = read(corev1.PodLogOptions{Previous: true})
		found.ByPredecessor = !found.First.IsZero()
		if errors.Is(err, context.DeadlineExceeded) {
			return found, err // others mean that its log is gone
		}
	}
	newest := int64(logNewest)
	tail, text, err := read(corev1.PodLogOptions{TailLines: &newest})
	tail.NoteStart(c.StartedAt)
	switch {
	case err != nil:
		return found, err
	case len(text) == logBytes:
		return found, fmt.Errorf(
			"the newest %d lines of the log of pod %s are more than %s",
			logNewest,
			c.Name,
			human.Bytes(logBytes),
		)
	case strings.Count(text, "\n") < logNewest:
		return found.Then(tail), nil
	}
	head, _, err := read(corev1.PodLogOptions{})
	head.NoteStart(c.StartedAt)
	return found.Then(head).Then(tail), err
}

func readLog(ctx context.Context, pods *client.Pods, name string, o *corev1.PodLogOptions) (text string, err error) {
	limit := int64(logBytes)
	o.LimitBytes = &limit
	body, err := pods.Log(ctx, name, *o)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, body.Close()) }()
	raw, err := io.ReadAll(io.LimitReader(body, limit)) // not every server heeds the limit
	return string(raw), err
}

func cleanLog(l velero.JobLog) velero.JobLog {
	for _, text := range []*string{
		&l.Last.Level, &l.Last.Text, &l.Last.Error,
		&l.GaveUp.Level, &l.GaveUp.Text, &l.GaveUp.Error,
		&l.Refused.Text, &l.Refused.Error,
		&l.Unlisted.Text, &l.Unlisted.Error,
		&l.Failure,
		&l.Hook.Pod, &l.Hook.Container, &l.Hook.Name, &l.Hook.Phase,
	} {
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

func (e *Evidence) logMoves() bool {
	return !e.Log.Last.At.IsZero() && e.At.Sub(e.Log.Last.At) < velero.Lifeless
}

// gaveUp reports whether the server surely gave up writing the job's last status.
func (e *Evidence) gaveUp() bool { return diagnosis.GaveUp(e.Job, e.world()) }

func (g *gathering) server() {
	var pods []*corev1.Pod
	raw, err := g.list(corev1.SchemeGroupVersion.WithKind("Pod"), g.o.Namespace)
	for i := range raw {
		pods = append(pods, &corev1.Pod{})
		_, failed := convert(&raw[i], pods[i])
		err = cmp.Or(err, failed)
	}
	if g.seen("listing pods", err, &g.e.PodsWhy) {
		g.e.Server, g.e.Agents, g.e.Movers = velero.ServerOf(pods, g.e.At), velero.AgentsOf(pods), velero.MoversOf(pods)
	}
}
