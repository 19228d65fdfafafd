package logs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/sanitize"
	"github.com/veltui/veltui/internal/velero"
)

// tail is a container whose log is read, and how far.
type tail struct {
	container
	belongs *belongs
	at      place
	log     *podLog // open while its past is read
	older   bool    // log is that of the container before
	next    []Entry // to come next
	err     error
	failed  string // the error that was last reported
}

// live brings what the pods logged of a job, in the order of time, and follows them if the query says so.
func (r *Reader) live(ctx context.Context, q Query, out Output, from Origin) error {
	all, left, err := r.containers(ctx, q)
	if err != nil {
		return err
	}
	if from.Stored { // all that the server has logged is there
		all = slices.DeleteFunc(all, func(c container) bool { return c.source == "" })
		if len(all) == 0 {
			return nil
		}
		if err := out.mark("From here on: what the node-agents and mover pods still have"); err != nil {
			return err
		}
	}
	if len(all) == 0 {
		return errors.New("no pod of Velero's server was seen in its namespace")
	}
	for _, c := range all {
		from.Pods = append(from.Pods, c.pod)
	}
	out.origin(from)
	if left > 0 {
		if err := out.mark(
			"The logs of %s are not read: %d at most are",
			human.Count(left, "more pod"),
			maxPods,
		); err != nil {
			return err
		}
	}
	f := &following{reader: r, query: q, out: out}
	defer f.close()
	if err := f.past(ctx, all); err != nil || !q.Follow {
		return err
	}
	return f.follow(ctx)
}

func (o Output) mark(format string, args ...any) error {
	return o.Line(mark(fmt.Sprintf(format, args...)))
}

// mark is a sentence of veltui's own in the log.
func mark(text string) Entry { return Entry{Raw: []byte(sanitize.String(text)), Level: Mark} }

// following merges the logs of all containers.
type following struct {
	reader *Reader
	query  Query
	out    Output
	tails  []*tail
}

func (f *following) close() {
	for _, t := range f.tails {
		if t.log != nil {
			t.log.close()
		}
	}
}

// past merges what there is of all logs by time.
func (f *following) past(ctx context.Context, all []container) error {
	var failed error
	readable := false
	for _, c := range all {
		t := &tail{container: c, belongs: newBelongs(f.query, c)}
		f.tails = append(f.tails, t)
		if err := f.begin(ctx, t); err != nil {
			return err
		}
		f.advance(ctx, t)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case t.err == nil:
			readable = readable || c.source == ""
		case c.source == "":
			failed = errors.Join(failed, fmt.Errorf("the log of pod %s: %w", t.pod, t.err))
		}
	}
	if failed != nil && !readable {
		return failed
	}
	for {
		var first *tail
		for _, t := range f.tails {
			if len(t.next) > 0 && (first == nil || t.next[0].At.Before(first.next[0].At)) {
				first = t
			}
		}
		if first == nil {
			break
		}
		for _, e := range first.next {
			if err := f.out.Line(e); err != nil {
				return err
			}
		}
		if f.advance(ctx, first); ctx.Err() != nil {
			return ctx.Err()
		}
	}
	for _, t := range f.tails {
		if t.err != nil && (t.source != "" || readable) {
			if err := f.out.mark("The log of pod %s is not all here: %v", t.pod, t.err); err != nil {
				return err
			}
			t.failed = t.err.Error()
		}
	}
	return nil
}

// begin opens the oldest log of a container that may have lines of the job, and marks what is gone.
func (f *following) begin(ctx context.Context, t *tail) error {
	began := f.query.began()
	t.at = place{at: began.Add(-velero.ClockMargin)}
	if f.query.Since.Equal(began) {
		t.at.at = began
	}
	if t.restarts == 0 || !t.started.After(began) {
		return f.beginning(ctx, t, began)
	}
	var err error
	t.log, err = f.reader.open(ctx, t.container, t.at, corev1.PodLogOptions{Previous: true})
	switch {
	case err == nil:
		t.older = true
		return f.beginning(ctx, t, began)
	case ctx.Err() != nil:
		return ctx.Err()
	case apierrors.IsForbidden(err): // said of the log that is read next
		return nil
	case apierrors.IsBadRequest(err), apierrors.IsNotFound(err):
		return f.out.mark(
			"Lines from before %s are missing: the log of the container that ran before in pod %s is gone",
			clock(t.started),
			t.pod,
		)
	}
	return f.out.mark("Lines from before %s are missing: %v", clock(t.started), err)
}

// beginning marks that the first lines of a server's log are gone, or of the log of the container before.
func (f *following) beginning(ctx context.Context, t *tail, began time.Time) error {
	if t.source != "" || !f.query.Since.IsZero() {
		return nil
	}
	if t.created.After(began.Add(velero.ClockMargin)) {
		return f.out.mark(
			"Pod %s was made at %s; what a server's pod before it logged is gone",
			t.pod,
			clock(t.created),
		)
	}
	few := int64(64)
	head, err := f.reader.open(ctx, t.container, place{}, corev1.PodLogOptions{LimitBytes: &few, Previous: t.older})
	if err != nil {
		return nil // the next question says why
	}
	defer head.close()
	line, err := head.whole()
	if err != nil || line.at.IsZero() || t.started.IsZero() {
		return nil
	}
	switch {
	case !line.at.After(began.Add(velero.ClockMargin)):
	case t.older:
		return f.out.mark(
			"Lines from before %s are missing: the container in pod %s has started again %s, and only the log before the "+
				"last start is kept",
			clock(line.at),
			t.pod,
			human.Count(t.restarts, "time"),
		)
	case line.at.After(t.started.Add(velero.ClockMargin)):
		return f.out.mark("Lines from before %s are missing: the log of pod %s was rotated", clock(line.at), t.pod)
	}
	return nil
}

// clock is a moment in a mark: with its day, because the log may be of another.
func clock(t time.Time) string { return t.UTC().Format(time.DateTime) + " UTC" }

// advance reads on to the container's next line about the job.
func (f *following) advance(ctx context.Context, t *tail) {
	t.next = nil
	for t.err == nil {
		if t.log == nil {
			if t.log, t.err = f.reader.open(ctx, t.container, t.at, corev1.PodLogOptions{}); t.err != nil {
				return
			}
		}
		line, _, err := t.log.next() // there is no gap: nothing was read before
		if err != nil {
			t.log.close()
			t.log = nil
			switch {
			case errors.Is(err, io.EOF) && t.older:
				t.older, t.at = false, place{at: t.at.at}
				continue
			case errors.Is(err, io.EOF):
			case ctx.Err() == nil && errors.Is(err, context.Canceled):
				t.err = errNoAnswer
			default:
				t.err = err
			}
			return
		}
		t.at.next(line.at)
		if t.next = line.entries(t.belongs); len(t.next) > 0 {
			return
		}
	}
}
