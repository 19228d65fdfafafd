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

// containerTail is a container whose log is read, and how far it was read.
type containerTail struct {
	container
	filter        *jobFilter
	position      logPosition
	openLog       *podLog // open while its past lines are read
	readsPrevious bool    // whether log is that of the previous container
	pending       []Entry // the next entries
	err           error
	lastReported  string // the error that was last reported
}

// readPods passes on what the pods logged about a job, ordered by time, and follows the logs if the query says so.
func (r *Reader) readPods(ctx context.Context, q Query, out Output, from Origin) error {
	all, left, err := r.listContainers(ctx, q)
	if err != nil {
		return err
	}
	if from.Stored { // it has everything that the server logged
		all = slices.DeleteFunc(all, func(c container) bool { return c.source == "" })
		if len(all) == 0 {
			return nil
		}
		if err := out.writeNotice("From here on: what the node-agents and mover pods still have"); err != nil {
			return err
		}
	}
	if len(all) == 0 {
		return errors.New("no pod of Velero's server was seen in its namespace")
	}
	for _, c := range all {
		from.Pods = append(from.Pods, c.pod)
	}
	out.reportOrigin(from)
	if left > 0 {
		if err := out.writeNotice(
			"The logs of %s are not read: %d at most are",
			human.Count(left, "more pod"),
			maxPods,
		); err != nil {
			return err
		}
	}
	f := &logMerger{reader: r, query: q, out: out}
	defer f.closeLogs()
	if err := f.mergePast(ctx, all); err != nil || !q.Follow {
		return err
	}
	return f.followLogs(ctx)
}

func (o Output) writeNotice(format string, args ...any) error {
	return o.OnLine(newNotice(fmt.Sprintf(format, args...)))
}

// newNotice returns a sentence of veltui's own as an entry of the log.
func newNotice(text string) Entry { return Entry{Raw: []byte(sanitize.String(text)), Level: Notice} }

// logMerger merges the logs of all containers.
type logMerger struct {
	reader *Reader
	query  Query
	out    Output
	tails  []*containerTail
}

func (f *logMerger) closeLogs() {
	for _, t := range f.tails {
		if t.openLog != nil {
			t.openLog.closeLog()
		}
	}
}

// mergePast merges the existing lines of all logs by time.
func (f *logMerger) mergePast(ctx context.Context, all []container) error {
	var failed error
	readable := false
	for _, c := range all {
		t := &containerTail{container: c, filter: newJobFilter(f.query, c)}
		f.tails = append(f.tails, t)
		if err := f.openOldest(ctx, t); err != nil {
			return err
		}
		f.advanceTail(ctx, t)
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
		var first *containerTail
		for _, t := range f.tails {
			if len(t.pending) > 0 && (first == nil || t.pending[0].At.Before(first.pending[0].At)) {
				first = t
			}
		}
		if first == nil {
			break
		}
		for _, e := range first.pending {
			if err := f.out.OnLine(e); err != nil {
				return err
			}
		}
		if f.advanceTail(ctx, first); ctx.Err() != nil {
			return ctx.Err()
		}
	}
	for _, t := range f.tails {
		if t.err != nil && (t.source != "" || readable) {
			if err := f.out.writeNotice("The log of pod %s is not all here: %v", t.pod, t.err); err != nil {
				return err
			}
			t.lastReported = t.err.Error()
		}
	}
	return nil
}

// openOldest opens the oldest log of a container that may have lines of the job, and marks missing lines.
func (f *logMerger) openOldest(ctx context.Context, t *containerTail) error {
	began := f.query.startTime()
	t.position = logPosition{at: began.Add(-velero.ClockMargin)}
	if f.query.Since.Equal(began) {
		t.position.at = began
	}
	if t.restarts == 0 || !t.started.After(began) {
		return f.noteMissingStart(ctx, t, began)
	}
	var err error
	t.openLog, err = f.reader.openPodLog(ctx, t.container, t.position, corev1.PodLogOptions{Previous: true})
	switch {
	case err == nil:
		t.readsPrevious = true
		return f.noteMissingStart(ctx, t, began)
	case ctx.Err() != nil:
		return ctx.Err()
	case apierrors.IsForbidden(err): // reported by the log that is read next
		return nil
	case apierrors.IsBadRequest(err), apierrors.IsNotFound(err):
		return f.out.writeNotice(
			"Lines from before %s are missing: the log of the container that ran before in pod %s is gone",
			human.MomentUTC(t.started),
			t.pod,
		)
	}
	return f.out.writeNotice("Lines from before %s are missing: %v", human.MomentUTC(t.started), err)
}

// noteMissingStart marks that the first lines of a server's log, or the log of the previous container, are missing.
func (f *logMerger) noteMissingStart(ctx context.Context, t *containerTail, began time.Time) error {
	if t.source != "" || !f.query.Since.IsZero() {
		return nil
	}
	if t.created.After(began.Add(velero.ClockMargin)) {
		return f.out.writeNotice(
			"Pod %s was made at %s; what a server's pod before it logged is gone",
			t.pod,
			human.MomentUTC(t.created),
		)
	}
	few := int64(64)
	head, err := f.reader.openPodLog(
		ctx,
		t.container,
		logPosition{},
		corev1.PodLogOptions{LimitBytes: &few, Previous: t.readsPrevious},
	)
	if err != nil {
		return nil // the next request says why
	}
	defer head.closeLog()
	line, err := head.readWhole()
	if err != nil || line.at.IsZero() || t.started.IsZero() {
		return nil
	}
	switch {
	case !line.at.After(began.Add(velero.ClockMargin)):
	case t.readsPrevious:
		return f.out.writeNotice(
			"Lines from before %s are missing: the container in pod %s has started again %s, and only the log before the "+
				"last start is kept",
			human.MomentUTC(line.at),
			t.pod,
			human.Count(t.restarts, "time"),
		)
	case line.at.After(t.started.Add(velero.ClockMargin)):
		return f.out.writeNotice(
			"Lines from before %s are missing: the log of pod %s was rotated",
			human.MomentUTC(line.at),
			t.pod,
		)
	}
	return nil
}

// advanceTail reads up to the container's next line about the job.
func (f *logMerger) advanceTail(ctx context.Context, t *containerTail) {
	t.pending = nil
	for t.err == nil {
		if t.openLog == nil {
			if t.openLog, t.err = f.reader.openPodLog(ctx, t.container, t.position, corev1.PodLogOptions{}); t.err != nil {
				return
			}
		}
		line, _, err := t.openLog.nextLine() // there is no gap: nothing was read before
		if err != nil {
			t.openLog.closeLog()
			t.openLog = nil
			switch {
			case errors.Is(err, io.EOF) && t.readsPrevious:
				t.readsPrevious, t.position = false, logPosition{at: t.position.at}
				continue
			case errors.Is(err, io.EOF):
			case ctx.Err() == nil && errors.Is(err, context.Canceled):
				t.err = errNoAnswer
			default:
				t.err = err
			}
			return
		}
		t.position.advanceTo(line.at)
		if t.pending = line.toEntries(t.filter); len(t.pending) > 0 {
			return
		}
	}
}
