package logs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/velero"
	"github.com/veltui/veltui/retry"
)

// relistInterval is how often the pods are listed while logs are followed.
const relistInterval = 10 * time.Second

// followLogs passes on what is logged from now on, also by new pods, until ctx ends.
func (f *logMerger) followLogs(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	var group sync.WaitGroup
	defer group.Wait()
	defer cancel()
	lines := make(chan []Entry)
	found := make(chan []container)
	known := map[string]bool{}
	start := func(t *containerTail) {
		known[t.pod] = true
		group.Go(func() { f.reader.followContainer(ctx, t, lines) })
	}
	for _, t := range f.tails {
		start(t)
	}
	group.Go(func() {
		for retry.SleepContext(ctx, relistInterval) {
			all, _, err := f.reader.listContainers(ctx, f.query)
			if err != nil {
				continue // the logs that are followed continue
			}
			select {
			case found <- all:
			case <-ctx.Done():
			}
		}
	})
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case entries := <-lines:
			for _, e := range entries {
				if err := f.out.OnLine(e); err != nil {
					return err
				}
			}
		case all := <-found:
			for _, c := range all {
				if !known[c.pod] && len(known) < 4*maxPods {
					start(
						&containerTail{
							container: c,
							filter:    newJobFilter(f.query, c),
							position:  logPosition{at: f.query.startTime().Add(-velero.ClockMargin)},
						},
					)
				}
			}
		}
	}
}

// followContainer follows a container's log, through restarts of the API server and of the container, until the pod
// is deleted.
func (r *Reader) followContainer(ctx context.Context, t *containerTail, lines chan<- []Entry) {
	say := func(format string, args ...any) {
		sendEntries(ctx, lines, []Entry{newNotice(fmt.Sprintf(format, args...))})
	}
	pause := r.options.RetryDelay
	for ctx.Err() == nil {
		got, err := r.drainLog(ctx, t, corev1.PodLogOptions{Follow: true}, lines, say)
		if got {
			pause, t.lastReported = r.options.RetryDelay, ""
		}
		if ctx.Err() != nil {
			return
		}
		over, changed := r.checkContainer(ctx, t, lines, say)
		switch {
		case over:
			return
		case changed:
			pause = r.options.RetryDelay
		case err != nil && t.lastReported != err.Error():
			t.lastReported = err.Error()
			say("The log of pod %s does not come: %v; veltui asks again", t.pod, err)
		}
		if !retry.SleepContext(ctx, pause) {
			return
		}
		pause = min(2*pause, 10*r.options.RetryDelay)
	}
}

// drainLog sends the lines of a log until it ends; got is true if any are new.
func (r *Reader) drainLog(
	ctx context.Context,
	t *containerTail,
	o corev1.PodLogOptions,
	lines chan<- []Entry,
	say func(string, ...any),
) (got bool, err error) {
	log, err := r.openPodLog(ctx, t.container, t.position, o)
	if err != nil {
		return false, err
	}
	defer log.closeLog()
	for {
		line, gap, err := log.nextLine()
		if errors.Is(err, io.EOF) {
			return got, nil
		}
		if err != nil {
			return got, err
		}
		got = true
		if gap && o.Follow {
			last := t.position.at
			// The pod's status may show a restart of the container only now.
			if _, changed := r.checkContainer(ctx, t, lines, say); !changed {
				say(
					"Lines between %s and %s may be missing: the log of pod %s was rotated",
					human.MomentUTC(last),
					human.MomentUTC(line.at),
					t.pod,
				)
			}
		}
		t.position.advanceTo(line.at)
		if entries := line.toEntries(t.filter); len(entries) > 0 && !sendEntries(ctx, lines, entries) {
			return got, ctx.Err()
		}
	}
}

// sendEntries sends entries with a copy of their text.
func sendEntries(ctx context.Context, lines chan<- []Entry, entries []Entry) bool {
	for i := range entries {
		entries[i].Raw = bytes.Clone(entries[i].Raw)
	}
	select {
	case lines <- entries:
		return true
	case <-ctx.Done():
		return false
	}
}

// checkContainer finds out why a log ended. over is true if nothing more will come, changed if the container was
// restarted: then the last lines of the previous container are sent.
func (r *Reader) checkContainer(
	ctx context.Context,
	t *containerTail,
	lines chan<- []Entry,
	say func(string, ...any),
) (over, changed bool) {
	pods, err := r.options.PodsClient()
	if err != nil {
		return false, false
	}
	ask, cancel := context.WithTimeout(ctx, r.options.IdleTimeout)
	pod, err := pods.Get(ask, t.pod)
	cancel()
	switch {
	case apierrors.IsNotFound(err):
		say("Pod %s is gone", t.pod)
		return true, false
	case err != nil:
		return false, false
	}
	if pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed {
		_, _ = r.drainLog(ctx, t, corev1.PodLogOptions{}, lines, say) // what came after the log ended
		say("Pod %s has ended: %s", t.pod, pod.Status.Phase)
		return true, false
	}
	before := t.restarts
	t.updateState(pod)
	if t.restarts == before {
		return false, false
	}
	if _, err := r.drainLog(
		ctx,
		t,
		corev1.PodLogOptions{Previous: true},
		lines,
		say,
	); err != nil ||
		t.restarts > before+1 {
		say("Lines may be missing: the container in pod %s started more than once, or its log is gone", t.pod)
	}
	t.position = logPosition{at: t.position.at}
	what := "ended"
	if !t.started.IsZero() {
		what = "started again at " + human.MomentUTC(t.started)
	}
	say("The container in pod %s %s", t.pod, what)
	return false, true
}
