package logs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/veltui/veltui/internal/client"
	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/stored/artifact"
)

// Options are what a Reader needs.
type Options struct {
	// Pods is called for each connection, because credentials are renewed while a log is followed.
	Pods func() (*client.Pods, error)
	// Open opens an artifact; nil where that must not be, and then NotOpen is why.
	Open    func(context.Context, artifact.Target) (Stored, error)
	NotOpen error
	// Pause is how long to wait before a log is asked for again; it doubles up to ten times. Default 2 s.
	Pause time.Duration
	// Patience is how long a log may take to begin, and to go on. Default 30 s.
	Patience time.Duration
}

// Reader reads the logs of jobs. It may be used by several goroutines.
type Reader struct{ o Options }

// New makes a Reader; it asks for nothing yet.
func New(o Options) *Reader {
	o.Pause, o.Patience = cmp.Or(o.Pause, 2*time.Second), cmp.Or(o.Patience, 30*time.Second)
	if o.Open == nil && o.NotOpen == nil {
		o.NotOpen = errors.New("stored logs are not read")
	}
	return &Reader{o: o}
}

// Query is what is asked of a job's log.
type Query struct {
	Job   *job.Job
	Since time.Time // leaves out earlier lines
	// Follow goes on with new lines of a job that has not ended, until the context ends.
	Follow bool
	// Volumes adds the lines of node-agents about the job's volumes, and the logs of their movers.
	Volumes bool
}

// began is from when on there can be lines of the job.
func (q Query) began() time.Time {
	began := q.Job.Began()
	if c := q.Job.Created; !c.IsZero() && c.Before(began) {
		began = c
	}
	if q.Since.After(began) {
		return q.Since
	}
	return began
}

// Output takes what a Reader brings. Its functions are called by one goroutine.
type Output struct {
	Line func(Entry) error // an error ends the reading
	// Origin takes where the lines come from, before the first and when that changes; it may be nil.
	Origin func(Origin)
}

func (o Output) origin(from Origin) {
	if o.Origin != nil {
		o.Origin(from)
	}
}

// Origin is where lines come from.
type Origin struct {
	// Stored is true for the log in the object store, with Size bytes (-1 if unknown); Done have come.
	Stored bool
	Size   int64
	Done   func() int64

	Pods []string // whose logs are read
	// NotStored is why the stored log of a job that has ended is not shown, else nil.
	NotStored error
}

// Read brings the log of a job: the stored one if it has ended, else, and where that cannot be read,
// the server pods' lines about it. With Follow it returns when ctx ends.
func (r *Reader) Read(ctx context.Context, q Query, out Output) error {
	if !q.Job.Terminal() { // its stored log is incomplete
		return r.live(ctx, q, out, Origin{})
	}
	lines := 0
	line := out.Line
	out.Line = func(e Entry) error { lines++; return line(e) }
	q.Follow = false
	err := r.stored(ctx, q, out)
	switch {
	case err == nil && q.Volumes:
		return r.live(ctx, q, out, Origin{Stored: true})
	case err == nil, lines > 0, ctx.Err() != nil:
		return err
	}
	pods := r.live(ctx, q, out, Origin{NotStored: err})
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case lines > 0 && pods == nil:
		return nil
	case pods != nil:
		return fmt.Errorf("%w; and not from the pods either: %w", err, pods)
	}
	return fmt.Errorf("%w; the pods of the server have no line about it any more", err)
}

// maxProblems is how many lines Problems returns.
const maxProblems = 2000

// Problems are the warnings and errors that the server logged of a job.
type Problems struct {
	// Lines are the newest, oldest first; Errors and Warnings count all.
	Lines            []Line
	Errors, Warnings int
	// Gaps say which lines could not be had.
	Gaps []string
}

// Problems reads the warnings and errors of a job that has not ended from the server pods' logs.
func (r *Reader) Problems(ctx context.Context, j *job.Job) (Problems, error) {
	var p Problems
	err := r.live(ctx, Query{Job: j}, Output{Line: func(e Entry) error {
		switch {
		case e.More:
			return nil
		case e.Level == Mark:
			p.Gaps = append(p.Gaps, Parse(string(e.Raw)).Text)
			return nil
		case e.Level == Warning:
			p.Warnings++
		case e.Level == Error:
			p.Errors++
		default:
			return nil
		}
		if len(p.Lines) >= 2*maxProblems {
			p.Lines = append(p.Lines[:0], p.Lines[maxProblems:]...)
		}
		p.Lines = append(p.Lines, Parse(string(e.Raw)))
		return nil
	}}, Origin{})
	p.Lines = p.Lines[max(0, len(p.Lines)-maxProblems):]
	return p, err
}

// Results are the Lines as Velero stores a backup's (pkg/util/logging/log_counter_hook.go, 1.18.3). A restore's
// lines name the resource in other fields (restoreItem in pkg/restore/restore.go).
func (p Problems) Results() artifact.Results {
	var r artifact.Results
	for _, l := range p.Lines {
		to := &r.Errors
		if l.Level == Warning {
			to = &r.Warnings
		}
		message := l.Text
		kind, name := cmp.Or(
			l.field("resource"),
			l.field("groupResource"),
		), cmp.Or(
			l.field("name"),
			l.field("original name"),
		)
		named, cause := kind != "" && name != "", ": "
		if named {
			message, cause = "resource: /"+kind+" name: /"+name+" message: /"+l.Text, " error: /"
		}
		if l.Error != "" {
			message += cause + l.Error
		}
		namespace := l.field("namespace")
		in, rest, again := repeated(message)
		if again {
			namespace, message = in, rest
		}
		switch {
		case again && strings.HasPrefix(l.Text, "Cluster"):
			to.Cluster = append(to.Cluster, message)
		case namespace != "":
			if to.Namespaces == nil {
				to.Namespaces = map[string][]string{}
			}
			to.Namespaces[namespace] = append(to.Namespaces[namespace], message)
		case named:
			to.Cluster = append(to.Cluster, message)
		default:
			to.Velero = append(to.Velero, message)
		}
	}
	return r
}

// repeated reads the lines that log a restore's results once more when its items are done
// (pkg/controller/restore_controller.go, runValidatedRestore, 1.18.3).
func repeated(text string) (namespace, message string, ok bool) {
	for _, severity := range []string{"error", "warning"} {
		before, message, found := strings.Cut(text, " restore "+severity+": ")
		if !found {
			continue
		}
		if before == "Velero" || before == "Cluster resource" {
			return "", message, true
		}
		namespace, named := strings.CutPrefix(before, "Namespace ")
		if namespace, resource := strings.CutSuffix(
			namespace,
			", resource",
		); named && resource &&
			!strings.Contains(namespace, " ") {
			return namespace, message, true
		}
	}
	return "", "", false
}

// Summary says how many there are, and that these may not be all.
func (p Problems) Summary() string {
	n := p.Errors + p.Warnings
	if n == 0 {
		return "So far, the server's log has no error and no warning about this job. Kubernetes deletes the oldest " +
			"lines of a log."
	}
	text := fmt.Sprintf(
		"So far, from the server's log: %s, %s.",
		human.Count(p.Errors, "error"),
		human.Count(p.Warnings, "warning"),
	)
	if n > len(p.Lines) {
		text += fmt.Sprintf(" Of these, the newest %d are shown.", len(p.Lines))
	}
	return text + " These are not exact counts: Velero logs some twice and some late, and Kubernetes deletes the " +
		"oldest lines of a log."
}
