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

	"github.com/veltui/veltui/internal/velero"
	"github.com/veltui/veltui/retry"
)

// relist is how often the pods are listed while logs are followed.
const relist = 10 * time.Second

// follow brings what is logged from now on, also by new pods, until ctx ends.
func (f *following) follow(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	var group sync.WaitGroup
	defer group.Wait()
	defer cancel()
	lines := make(chan []Entry)
	found := make(chan []container)
	known := map[string]bool{}
	start := func(t *tail) {
		known[t.pod] = true
		group.Go(func() { f.reader.keep(ctx, t, lines) })
	}
	for _, t := range f.tails {
		start(t)
	}
	group.Go(func() {
		for retry.Sleep(ctx, relist) {
			all, _, err := f.reader.containers(ctx, f.query)
			if err != nil {
				continue // the logs go on
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
				if err := f.out.Line(e); err != nil {
					return err
				}
			}
		case all := <-found:
			for _, c := range all {
				if !known[c.pod] && len(known) < 4*maxPods {
					start(
						&tail{
							container: c,
							belongs:   newBelongs(f.query, c),
							at:        place{at: f.query.began().Add(-velero.ClockMargin)},
						},
					)
				}
			}
		}
	}
}

// keep follows a container's log, through restarts of the API server and of the container, until the pod is gone.
func (r *Reader) keep(ctx context.Context, t *tail, lines chan<- []Entry) {
	say := func(format string, args ...any) { send(ctx, lines, []Entry{mark(fmt.Sprintf(format, args...))}) }
	pause := r.o.Pause
	for ctx.Err() == nil {
		got, err := r.drain(ctx, t, corev1.PodLogOptions{Follow: true}, lines, say)
		if got {
			pause, t.failed = r.o.Pause, ""
		}
		if ctx.Err() != nil {
			return
		}
		over, changed := r.lookAgain(ctx, t, lines, say)
		switch {
		case over:
			return
		case changed:
			pause = r.o.Pause
		case err != nil && t.failed != err.Error():
			t.failed = err.Error()
			say("The log of pod %s does not come: %v; veltui asks again", t.pod, err)
		}
		if !retry.Sleep(ctx, pause) {
			return
		}
		pause = min(2*pause, 10*r.o.Pause)
	}
}

// drain sends the lines of a log until it ends; got is true if some are new.
func (r *Reader) drain(
	ctx context.Context,
	t *tail,
	o corev1.PodLogOptions,
	lines chan<- []Entry,
	say func(string, ...any),
) (got bool, err error) {
	log, err := r.open(ctx, t.container, t.at, o)
	if err != nil {
		return false, err
	}
	defer log.close()
	for {
		line, gap, err := log.next()
		if errors.Is(err, io.EOF) {
			return got, nil
		}
		if err != nil {
			return got, err
		}
		got = true
		if gap && o.Follow {
			last := t.at.at
			// The pod's state may tell of a container that started again only now.
			if _, changed := r.lookAgain(ctx, t, lines, say); !changed {
				say(
					"Lines between %s and %s may be missing: the log of pod %s was rotated",
					clock(last),
					clock(line.at),
					t.pod,
				)
			}
		}
		t.at.next(line.at)
		if entries := line.entries(t.belongs); len(entries) > 0 && !send(ctx, lines, entries) {
			return got, ctx.Err()
		}
	}
}

// send hands over entries with text of their own.
func send(ctx context.Context, lines chan<- []Entry, entries []Entry) bool {
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

// lookAgain finds out why a log ended. over is true if nothing more comes, changed if
// the container started again: the last lines of the one before are sent then.
func (r *Reader) lookAgain(
	ctx context.Context,
	t *tail,
	lines chan<- []Entry,
	say func(string, ...any),
) (over, changed bool) {
	pods, err := r.o.Pods()
	if err != nil {
		return false, false
	}
	ask, cancel := context.WithTimeout(ctx, r.o.Patience)
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
		_, _ = r.drain(ctx, t, corev1.PodLogOptions{}, lines, say) // what came after the log ended
		say("Pod %s has ended: %s", t.pod, pod.Status.Phase)
		return true, false
	}
	before := t.restarts
	t.state(pod)
	if t.restarts == before {
		return false, false
	}
	if _, err := r.drain(
		ctx,
		t,
		corev1.PodLogOptions{Previous: true},
		lines,
		say,
	); err != nil ||
		t.restarts > before+1 {
		say("Lines may be missing: the container in pod %s started more than once, or its log is gone", t.pod)
	}
	t.at = place{at: t.at.at}
	what := "ended"
	if !t.started.IsZero() {
		what = "started again at " + clock(t.started)
	}
	say("The container in pod %s %s", t.pod, what)
	return false, true
}
